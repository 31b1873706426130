package io.undercroft.interop.internal.numpy;

import java.util.Optional;

/// Texts as literals of Python.
public final class PythonText {
    private static final int HEX = 16;

    private PythonText() {}

    /// {@return a text as Python's `repr` writes it}
    ///
    /// @param text any text
    public static String quote(String text) {
        char mark = text.indexOf('\'') >= 0 && text.indexOf('"') < 0 ? '"' : '\'';
        StringBuilder literal = new StringBuilder().append(mark);
        text.codePoints().forEach(c -> {
            switch (c) {
                case '\n' -> literal.append("\\n");
                case '\r' -> literal.append("\\r");
                case '\t' -> literal.append("\\t");
                default -> {
                    if (c == mark || c == '\\') {
                        literal.append('\\').appendCodePoint(c);
                    } else if (isPrintable(c)) {
                        literal.appendCodePoint(c);
                    } else {
                        literal.append(c < 0x100
                                ? "\\x%02x".formatted(c)
                                : c < 0x10000 ? "\\u%04x".formatted(c) : "\\U%08x".formatted(c));
                    }
                }
            }
        });
        return literal.append(mark).toString();
    }

    private static boolean isPrintable(int c) {
        return switch (Character.getType(c)) {
            case Character.CONTROL, Character.FORMAT, Character.SURROGATE, Character.PRIVATE_USE,
                    Character.UNASSIGNED, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR ->
                false;
            case Character.SPACE_SEPARATOR -> c == ' ';
            default -> true;
        };
    }

    /// {@return the text that the inside of a literal means, or nothing if an escape is not one of those that `repr`
    /// writes}
    ///
    /// @param inside what is between the quotation marks
    public static Optional<String> unescape(String inside) {
        StringBuilder text = new StringBuilder(inside.length());
        int at = 0;
        while (at < inside.length()) {
            char c = inside.charAt(at++);
            if (c != '\\') {
                text.append(c);
                continue;
            }
            char kind = at < inside.length() ? inside.charAt(at++) : ' ';
            int digits = switch (kind) {
                case 'x' -> 2;
                case 'u' -> 4;
                case 'U' -> 8;
                default -> 0;
            };
            int code = digits > 0 ? hex(inside, at, digits) : switch (kind) {
                case '\\', '\'', '"' -> kind;
                case 'n' -> '\n';
                case 'r' -> '\r';
                case 't' -> '\t';
                default -> -1;
            };
            if (!Character.isValidCodePoint(code)) {
                return Optional.empty();
            }
            text.appendCodePoint(code);
            at += digits;
        }
        return Optional.of(text.toString());
    }

    /// {@return the number of some hexadecimal digits, or -1 if there are others or fewer}
    private static int hex(String text, int start, int digits) {
        long number = text.length() - start < digits ? -1 : 0;
        for (int i = 0; i < digits && number >= 0; i++) {
            int digit = Character.digit(text.charAt(start + i), HEX);
            number = digit < 0 ? -1 : HEX * number + digit;
        }
        return number > Character.MAX_CODE_POINT ? -1 : (int) number;
    }
}
