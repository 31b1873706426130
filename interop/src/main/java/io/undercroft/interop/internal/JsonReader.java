package io.undercroft.interop.internal;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.format.FormatException;
import java.util.Arrays;
import java.util.BitSet;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/// Reads JSON (RFC 8259) from its first byte to its last, one value after the other, each as what the caller expects it
/// to be. Nothing else is taken: no comments, no trailing commas, no text that is not UTF-8. Values that the caller
/// does not care about are skipped without recursion.
///
/// Nothing but strings and literals is allocated, short ones of them once, so a text needs no more memory than its own
/// size. For use by one thread.
public final class JsonReader {
    private static final Pattern LITERAL = Pattern
            .compile("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?|true|false|null");
    /// The maximum length of an invalid literal in a message.
    private static final int SHOWN = 40;
    private static final int FEW = 4;

    /// Short strings come again and again as names of members and as values, so each is made once; a power of two.
    private static final int REMEMBERED = 64;
    private static final int SHORT = 16;

    private final byte[] text;
    private final long base;
    private final @Nullable String[] remembered = new String[REMEMBERED];
    private final Matcher literals = LITERAL.matcher("");
    /// The numbers of the array that is being read.
    private long[] numbers = new long[FEW];
    private int at;

    /// A reader of a text.
    ///
    /// @param text the text in UTF-8
    /// @param base its offset in its file, in bytes, for messages
    public JsonReader(byte[] text, long base) {
        this.text = text;
        this.base = base;
    }

    /// {@return the offset of the next byte in the file}
    public long position() {
        return base + at;
    }

    /// Reads an object.
    ///
    /// @param member is given the name of each member in turn, and reads its value; the same name may come twice
    /// @throws FormatException if there is no well-formed object
    public void object(Consumer<String> member) {
        expect('{');
        if (take('}')) {
            return;
        }
        do {
            member.accept(name());
        } while (take(','));
        expect('}');
    }

    /// Reads an array.
    ///
    /// @param element reads the next element
    /// @throws FormatException if there is no well-formed array
    public void array(Runnable element) {
        expect('[');
        if (take(']')) {
            return;
        }
        do {
            element.run();
        } while (take(','));
        expect(']');
    }

    /// Reads an array of whole numbers.
    ///
    /// @param longest the maximum number
    /// @return the numbers, 0 or more each
    /// @throws FormatException if there is no such array
    public long[] naturals(int longest) {
        expect('[');
        if (take(']')) {
            return new long[0];
        }
        int count = 0;
        do {
            if (count == longest) {
                throw malformed("an array has more than " + longest + " numbers");
            }
            if (count == numbers.length) {
                numbers = Arrays.copyOf(numbers, 2 * count);
            }
            numbers[count++] = natural();
        } while (take(','));
        expect(']');
        return Arrays.copyOf(numbers, count);
    }

    /// Reads a string.
    ///
    /// @return the string
    /// @throws FormatException if there is none
    public String string() {
        expect('"');
        int start = at;
        boolean ascii = true;
        for (; at < text.length; at++) {
            byte next = text[at];
            if (next == '"') {
                at++;
                return ascii ? ascii(start, at - 1) : utf8(start, at - 1);
            }
            if (next == '\\') {
                return escaped(start);
            }
            if (next < ' ') {
                if (next >= 0) {
                    throw malformed("a control character in a string");
                }
                ascii = false;
            }
        }
        throw malformed("the text ends within a string");
    }

    private String ascii(int start, int end) {
        if (end - start > SHORT) {
            return new String(text, start, end - start, ISO_8859_1);
        }
        int hash = 0;
        for (int i = start; i < end; i++) {
            hash = 31 * hash + text[i];
        }
        int slot = hash & (REMEMBERED - 1);
        String known = remembered[slot];
        if (known != null && known.hashCode() == hash && isAt(known, start, end)) {
            return known;
        }
        String string = new String(text, start, end - start, ISO_8859_1);
        remembered[slot] = string;
        return string;
    }

    private boolean isAt(String string, int start, int end) {
        boolean same = string.length() == end - start;
        for (int i = start; i < end && same; i++) {
            same = string.charAt(i - start) == text[i];
        }
        return same;
    }

    /// Reads a whole number without a sign, fraction or exponent.
    ///
    /// @return the number, from 0 to 2^63-1
    /// @throws FormatException if there is none
    public long natural() {
        skipSpace();
        int start = at;
        long number = 0;
        while (at < text.length && text[at] >= '0' && text[at] <= '9') {
            int digit = text[at] - '0';
            if (number > (Long.MAX_VALUE - digit) / 10) {
                throw malformed("a number is more than 2^63-1");
            }
            number = 10 * number + digit;
            at++;
        }
        boolean more = at < text.length && isOfLiteral(text[at]);
        if (at == start || more || (text[start] == '0' && at > start + 1)) {
            throw malformed("a whole number without sign is due");
        }
        return number;
    }

    /// Reads a null if one is next.
    ///
    /// @return whether there was one
    public boolean takeNull() {
        skipSpace();
        boolean isPresent = at + 4 <= text.length && text[at] == 'n'
                && "null".equals(new String(text, at, 4, ISO_8859_1));
        at += isPresent ? 4 : 0;
        return isPresent;
    }

    /// {@return whether the next value is a string}
    public boolean isString() {
        skipSpace();
        return at < text.length && text[at] == '"';
    }

    /// {@return whether the next value is a number, a truth value or null}
    public boolean isLiteral() {
        skipSpace();
        return at < text.length && isOfLiteral(text[at]);
    }

    /// Reads a number, a truth value or null.
    ///
    /// @return the text
    /// @throws FormatException if there is none
    public String literal() {
        skipSpace();
        int start = at;
        while (at < text.length && isOfLiteral(text[at])) {
            at++;
        }
        String literal = ascii(start, at);
        if (!literals.reset(literal).matches()) {
            at = start;
            throw malformed("a value is due, not "
                    + FormatException.quote(new String(text, at, Math.min(SHOWN, text.length - at), ISO_8859_1)));
        }
        return literal;
    }

    /// Skips a value of any kind.
    ///
    /// @throws FormatException if it is malformed
    public void skip() {
        BitSet objects = new BitSet();
        int depth = 0;
        do {
            boolean opened = false;
            if (take('{')) {
                opened = !take('}');
                objects.set(depth);
            } else if (take('[')) {
                opened = !take(']');
                objects.clear(depth);
            } else if (isString()) {
                string();
            } else {
                literal();
            }
            depth += opened ? 1 : 0;
            while (!opened && depth > 0 && !take(',')) {
                expect(objects.get(--depth) ? '}' : ']');
            }
            if (depth > 0 && objects.get(depth - 1)) {
                name();
            }
        } while (depth > 0);
    }

    /// Makes sure that nothing but white space is left.
    ///
    /// @throws FormatException if there is more
    public void end() {
        skipSpace();
        if (at < text.length) {
            throw malformed("there is more text after the end");
        }
    }

    private String name() {
        String name = string();
        expect(':');
        return name;
    }

    private void expect(char wanted) {
        if (!take(wanted)) {
            throw malformed("'" + wanted + "' is due");
        }
    }

    private boolean take(char wanted) {
        skipSpace();
        boolean isPresent = at < text.length && text[at] == wanted;
        at += isPresent ? 1 : 0;
        return isPresent;
    }

    private void skipSpace() {
        while (at < text.length && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) {
            at++;
        }
    }

    private static boolean isOfLiteral(byte next) {
        return (next >= '0' && next <= '9') || (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z')
                || next == '-' || next == '+' || next == '.';
    }

    /// Reads on where the first backslash of a string is.
    private String escaped(int start) {
        StringBuilder string = new StringBuilder(utf8(start, at));
        int plain = at;
        for (; at < text.length; at++) {
            byte next = text[at];
            if (next == '"' || next == '\\') {
                string.append(utf8(plain, at));
                at++;
                if (next == '"') {
                    return checkPaired(string.toString());
                }
                string.append(escape());
                plain = at + 1;
            } else if (next >= 0 && next < ' ') {
                throw malformed("a control character in a string");
            }
        }
        throw malformed("the text ends within a string");
    }

    /// Reads an escape after its backslash, up to its last byte.
    private char escape() {
        if (at >= text.length) {
            throw malformed("the text ends within a string");
        }
        return switch (text[at]) {
            case '"', '\\', '/' -> (char) text[at];
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> unit();
            default -> throw malformed("no such escape in a string");
        };
    }

    private char unit() {
        int unit = 0;
        for (int i = 0; i < 4; i++) {
            at++;
            int digit = at < text.length ? Character.digit((char) text[at], 16) : -1;
            if (digit < 0) {
                throw malformed("four hexadecimal digits are due");
            }
            unit = 16 * unit + digit;
        }
        return (char) unit;
    }

    /// Half a surrogate pair is no character, and has no bytes in UTF-8 that it could be written back as.
    private String checkPaired(String string) {
        if (Utf8.encode(string).isEmpty()) {
            throw malformed("half a surrogate pair in a string");
        }
        return string;
    }

    private String utf8(int start, int end) {
        return Utf8.decode(Arrays.copyOfRange(text, start, end)).orElseThrow(() -> {
            at = start;
            return malformed("a string is not UTF-8");
        });
    }

    private FormatException malformed(String what) {
        return new FormatException("JSON", what, position(),
                "The text is incomplete or damaged; get the file again from its source");
    }
}
