package io.undercroft.cli.internal;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.internal.analysis.Sizes;
import java.util.Collection;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/// Small texts.
public final class Text {
    private static final int SHOWN_NAMES = 12;
    private static final String[] UNITS = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    private static final Pattern SIZE = Pattern.compile("([0-9]{1,9}) ?([KMG]?)(?:I?B)?");

    private static final Pattern PLAIN_ARGUMENT = Pattern.compile("[\\w./:@%+=,-][\\w./:@%+=,~-]*");

    private Text() {}

    /// {@return a number of bytes for people, for instance `1.6 MiB`}
    ///
    /// @param nbytes the number of bytes, 0 or more
    public static String bytes(long nbytes) {
        if (nbytes < 1024) {
            return nbytes + " B";
        }
        double value = nbytes;
        int unit = -1;
        while (value >= 1023.95 && unit < UNITS.length - 1) {
            value /= 1024;
            unit++;
        }
        return withOneDigit(value) + " " + UNITS[unit];
    }

    /// {@return the size of a file as text; with the files that it names, if it is the index of a set}
    ///
    /// @param checkpoint the open file
    public static String size(Checkpoint checkpoint) {
        Collection<Long> sizes = checkpoint.fileSizes().values();
        return bytes(Sizes.sum(sizes.stream().mapToLong(Long::longValue)))
                + (sizes.size() == 1 ? "" : " in " + sizes.size() + " files");
    }

    /// {@return a number, 0 or more, with one digit after the point}
    private static String withOneDigit(double value) {
        long tenths = Math.round(10 * value);
        return tenths / 10 + "." + tenths % 10;
    }

    /// {@return a count with its digits in groups, for instance `1,234,567`}
    ///
    /// @param count 0 or more
    public static String number(long count) {
        // The first use of java.util.Formatter takes as long as opening a file: docs/decisions/0073.
        StringBuilder digits = new StringBuilder(Long.toString(count));
        for (int end = digits.length() - 3; end > 0; end -= 3) {
            digits.insert(end, ',');
        }
        return digits.toString();
    }

    /// {@return a number of bytes as users write it, for instance `65536`, `256K` or `1 MiB`; empty if it is none}
    ///
    /// @param text digits, and perhaps a unit, always a power of 1024
    public static OptionalLong parseBytes(String text) {
        Matcher size = SIZE.matcher(text.toUpperCase(Locale.ROOT));
        if (!size.matches()) {
            return OptionalLong.empty();
        }
        int unit = " KMG".indexOf(size.group(2));
        return OptionalLong.of(Long.parseLong(size.group(1)) << (10 * unit));
    }

    /// {@return a part of a whole, for instance `12.5 %`}
    ///
    /// @param part 0 or more
    /// @param whole more than 0
    public static String percent(long part, long whole) {
        double percent = 100.0 * part / whole;
        return part > 0 && percent < 0.05 ? "< 0.1 %" : withOneDigit(percent) + " %";
    }

    /// {@return a count with its noun, for instance `1 tensor` or `2 tensors`}
    ///
    /// @param count the count
    /// @param noun in the singular, of those that get an `s`
    public static String count(long count, String noun) {
        return number(count) + " " + noun + (count == 1 ? "" : "s");
    }

    /// {@return the first of many names, and how many more there are, for instance `a, b and 3 more`}
    ///
    /// @param names any number of names
    public static String names(Collection<String> names) {
        String shown = names.stream().limit(SHOWN_NAMES).collect(Collectors.joining(", "));
        return names.size() <= SHOWN_NAMES ? shown : shown + " and " + (names.size() - SHOWN_NAMES) + " more";
    }

    /// {@return a text as a shell takes it for one argument, in quotes if it needs them}
    ///
    /// @param text any text
    public static String argument(String text) {
        return PLAIN_ARGUMENT.matcher(text).matches() ? text : "'" + text.replace("'", "'\\''") + "'";
    }

    /// {@return text without its middle, so that it has a width: the ends of names and paths tell most}
    ///
    /// @param text any text
    /// @param width at most so many characters, 1 or more
    static String withoutMiddle(String text, int width) {
        int length = text.codePointCount(0, text.length());
        if (length <= width) {
            return text;
        }
        int tail = width / 2;
        return text.substring(0, text.offsetByCodePoints(0, width - 1 - tail)) + "…"
                + text.substring(text.offsetByCodePoints(0, length - tail));
    }

    /// {@return text cut to a width, with an ellipsis where something is missing}
    ///
    /// @param text any text
    /// @param width at most so many characters
    public static String shortened(String text, int width) {
        int length = text.codePointCount(0, text.length());
        return length <= width ? text : text.substring(0, text.offsetByCodePoints(0, width - 1)) + "…";
    }

    /// {@return one line about a part of a file that its state does not contain; it may have text of the file in it}
    ///
    /// @param part the part
    public static String unread(UnreadPart part) {
        if (part.kind() == UnreadPart.Kind.FILE) {
            return part.what();
        }
        String way = part.setting() == null || part.kind() != UnreadPart.Kind.STATE
                ? ""
                : "; --set %s=N opens another one".formatted(part.setting());
        String place = part.nbytes() == 0
                ? ""
                : ", %s at byte 0x%X".formatted(bytes(part.nbytes()), part.offset());
        return part.what() + place + way;
    }
}
