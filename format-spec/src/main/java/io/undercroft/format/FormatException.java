package io.undercroft.format;

import java.io.Serial;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/// Thrown if the contents of a file violate its format. It has the problem, its offset in the file, and a remedy.
///
/// The message is one line, `FILE: WHAT (at byte 0x1A2B) [CODE]. REMEDY`, and safe to print: [#printable] is applied to
/// each part of it. Text taken from the file is quoted with [#quote].
public final class FormatException extends RuntimeException {
    /// The offset of a fault that has no offset in the file.
    public static final long NO_OFFSET = -1;

    @Serial
    private static final long serialVersionUID = 1;
    private static final int LONGEST_QUOTE = 80;

    private final String code;
    private final String what;
    private final long offset;
    private final Remedy remedy;
    private final @Nullable String file;

    /// Creates an exception.
    ///
    /// @param code a short upper-case word such as `V5-STRIDE-RANGE`
    /// @param what the problem, without a full stop
    /// @param offset the offset of the fault in the file, in bytes, or [#NO_OFFSET]
    /// @param remedy the remedy, without a full stop
    public FormatException(String code, String what, long offset, String remedy) {
        this(code, what, offset, Remedy.of(remedy), null, null);
    }

    /// Creates an exception whose remedy may name options.
    ///
    /// @param code a short upper-case word such as `V5-STRIDE-RANGE`
    /// @param what the problem, without a full stop
    /// @param offset the offset of the fault in the file, in bytes, or [#NO_OFFSET]
    /// @param remedy the remedy
    public FormatException(String code, String what, long offset, Remedy remedy) {
        this(code, what, offset, remedy, null, null);
    }

    /// Creates an exception with a cause.
    ///
    /// @param code a short upper-case word such as `V5-STRIDE-RANGE`
    /// @param what the problem, without a full stop
    /// @param offset the offset of the fault in the file, in bytes, or [#NO_OFFSET]
    /// @param remedy the remedy, without a full stop
    /// @param cause the cause
    public FormatException(String code, String what, long offset, String remedy, Throwable cause) {
        this(code, what, offset, Remedy.of(remedy), null, cause);
    }

    /// Creates an exception with a cause, whose remedy may name options.
    ///
    /// @param code a short upper-case word such as `V5-STRIDE-RANGE`
    /// @param what the problem, without a full stop
    /// @param offset the offset of the fault in the file, in bytes, or [#NO_OFFSET]
    /// @param remedy the remedy
    /// @param cause the cause
    public FormatException(String code, String what, long offset, Remedy remedy, Throwable cause) {
        this(code, what, offset, remedy, null, cause);
    }

    private FormatException(String code, String what, long offset, Remedy remedy, @Nullable String file,
            @Nullable Throwable cause) {
        super(message(code, printable(what), offset, remedy.toString(), file), cause);
        this.code = Objects.requireNonNull(code, "code");
        this.what = printable(what);
        this.offset = offset;
        this.remedy = remedy;
        this.file = file;
    }

    /// {@return the short upper-case word that programs may compare}
    public String code() {
        return code;
    }

    /// {@return the problem, safe to print}
    public String what() {
        return what;
    }

    /// {@return the offset of the fault in the file, in bytes, or [#NO_OFFSET]}
    public long offset() {
        return offset;
    }

    /// {@return the remedy}
    public Remedy remedy() {
        return remedy;
    }

    /// {@return the message, with names of the caller for the options of the remedy}
    ///
    /// @param words returns the name of an option
    public String message(Function<? super Remedy.Option, String> words) {
        return message(code, what, offset, remedy.in(words), file);
    }

    /// {@return the name of the file, or null if it is not set}
    public @Nullable String file() {
        return file;
    }

    /// Returns a copy that names the file, for the code that opened the file.
    ///
    /// @param name the name of the file
    /// @return a copy of this exception, with its stack trace and cause, that names the file; this exception if it
    ///     names a file already
    public FormatException withFile(String name) {
        if (file != null) {
            return this;
        }
        FormatException named = new FormatException(code, what, offset, remedy, name, getCause());
        named.setStackTrace(getStackTrace());
        return named;
    }

    /// Quotes text of a file for a message on one line: in single quotes, with control and invisible characters
    /// escaped, and shortened if it is long.
    ///
    /// @param text any text
    /// @return the quoted text
    public static String quote(String text) {
        if (text.length() <= LONGEST_QUOTE && isPlain(text)) {
            return "'" + text + "'";
        }
        StringBuilder quoted = new StringBuilder("'");
        boolean whole = text.codePointCount(0, text.length()) <= LONGEST_QUOTE;
        int end = whole ? text.length() : text.offsetByCodePoints(0, LONGEST_QUOTE);
        text.substring(0, end).codePoints().forEach(point -> appendPrintable(quoted, point));
        return quoted.append(whole ? "'" : "…'").toString();
    }

    /// {@return whether a text is printable ASCII, as most are} Reports call it for each cell.
    private static boolean isPlain(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) < ' ' || text.charAt(i) > '~') {
                return false;
            }
        }
        return true;
    }

    private static void appendPrintable(StringBuilder out, int point) {
        if (isPrintable(point)) {
            out.appendCodePoint(point);
        } else {
            out.append("\\u{").append(Integer.toHexString(point)).append('}');
        }
    }

    private static boolean isPrintable(int point) {
        return switch (Character.getType(point)) {
            case Character.CONTROL, Character.FORMAT, Character.SURROGATE, Character.PRIVATE_USE,
                    Character.UNASSIGNED, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR ->
                false;
            default -> true;
        };
    }

    private static String message(String code, String what, long offset, String remedy, @Nullable String file) {
        return (file == null ? "" : printable(file) + ": ")
                + what
                + (offset == NO_OFFSET ? "" : " (at byte 0x" + Long.toHexString(offset).toUpperCase(Locale.ROOT) + ")")
                + " [" + code + "]. " + remedy;
    }

    /// {@return text in which characters that break a line, control a terminal or reorder text are escaped as numbers
    /// in braces} Text of files must be printed in this form. Printable text is not changed.
    ///
    /// @param text any text
    public static String printable(String text) {
        if (isPlain(text) || text.codePoints().allMatch(FormatException::isPrintable)) {
            return text;
        }
        StringBuilder out = new StringBuilder();
        text.codePoints().forEach(point -> appendPrintable(out, point));
        return out.toString();
    }
}
