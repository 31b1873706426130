package io.undercroft.interop.numpy;

import io.undercroft.format.FormatException;
import io.undercroft.storage.Shape;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/// The text of a header: a Python dictionary of three entries, for instance `{'descr': '<f4', 'fortran_order': False,
/// 'shape': (2, 3), }`. It is read entry by entry, without recursion; nothing else that Python could evaluate is
/// understood.
final class DictReader {
    private static final int DECIMAL = 10;

    private final String text;
    private final long base;
    private int at;
    private @Nullable NumpyType type;
    private @Nullable Boolean fortran;
    private long @Nullable [] shape;

    /// Reads a text.
    ///
    /// @param text the text
    /// @param base where it starts in the file, for messages
    DictReader(String text, long base) {
        this.text = text;
        this.base = base;
        read();
    }

    NumpyType type() {
        return due(type, "descr");
    }

    boolean isFortran() {
        return due(fortran, "fortran_order");
    }

    long[] shape() {
        return due(shape, "shape");
    }

    private <T> T due(@Nullable T value, String name) {
        if (value == null) {
            throw malformed("the header has no " + name);
        }
        return value;
    }

    private void read() {
        expect('{');
        while (!take('}')) {
            entry(string());
            if (!take(',')) {
                expect('}');
                break;
            }
        }
        skipSpace();
        if (at < text.length()) {
            throw malformed("there is more behind the end of the header");
        }
    }

    private void entry(String key) {
        expect(':');
        switch (key) {
            case "descr" -> {
                checkFirst(type, key);
                type = descr();
            }
            case "fortran_order" -> {
                checkFirst(fortran, key);
                fortran = truth();
            }
            case "shape" -> {
                checkFirst(shape, key);
                shape = sizes();
            }
            default -> throw malformed("the header has an entry " + FormatException.quote(key));
        }
    }

    private void checkFirst(@Nullable Object before, String key) {
        if (before != null) {
            throw malformed("the header has two entries " + key);
        }
    }

    private NumpyType descr() {
        skipSpace();
        long position = position();
        if (at < text.length() && (text.charAt(at) == '[' || text.charAt(at) == '(')) {
            throw new FormatException("NPY-DTYPE", "the array is structured: its elements are records of fields",
                    position,
                    "In Python, save its fields as arrays of their own");
        }
        return NumpyType.parse(string(), position);
    }

    private boolean truth() {
        skipSpace();
        for (String word : new String[]{"True", "False"}) {
            if (text.startsWith(word, at)) {
                at += word.length();
                return word.equals("True");
            }
        }
        throw malformed("True or False is due");
    }

    private long[] sizes() {
        long[] sizes = new long[Shape.MAX_RANK];
        int count = 0;
        expect('(');
        boolean ended = take(')');
        while (!ended) {
            if (count == sizes.length) {
                throw malformed("the array has more than " + Shape.MAX_RANK + " dimensions");
            }
            sizes[count++] = natural();
            boolean comma = take(',');
            ended = take(')');
            if (!comma && (!ended || count == 1)) {
                throw malformed("a comma is due");
            }
        }
        return Arrays.copyOf(sizes, count);
    }

    private long natural() {
        skipSpace();
        int start = at;
        long number = 0;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            int digit = text.charAt(at) - '0';
            if (number > (Long.MAX_VALUE - digit) / DECIMAL) {
                throw malformed("a size is more than 2^63-1");
            }
            number = DECIMAL * number + digit;
            at++;
        }
        // Python 2 takes a number with a zero before it for an octal one, and Python 3 takes none.
        if (at == start || (text.charAt(start) == '0' && at > start + 1)) {
            throw malformed("a size is due");
        }
        // Python 2 wrote long integers so.
        take('L');
        return number;
    }

    private String string() {
        skipSpace();
        char quote = at < text.length() ? text.charAt(at) : ' ';
        int end = quote == '\'' || quote == '"' ? text.indexOf(quote, at + 1) : -1;
        if (end < 0 || text.substring(at, end).indexOf('\\') >= 0) {
            throw malformed("a string without escapes is due");
        }
        String string = text.substring(at + 1, end);
        at = end + 1;
        return string;
    }

    private void expect(char wanted) {
        if (!take(wanted)) {
            throw malformed("'" + wanted + "' is due");
        }
    }

    private boolean take(char wanted) {
        skipSpace();
        boolean there = at < text.length() && text.charAt(at) == wanted;
        at += there ? 1 : 0;
        return there;
    }

    private void skipSpace() {
        while (at < text.length() && (text.charAt(at) == ' ' || text.charAt(at) == '\n' || text.charAt(at) == '\r'
                || text.charAt(at) == '\t')) {
            at++;
        }
    }

    private long position() {
        return base == FormatException.NO_OFFSET ? base : base + at;
    }

    private FormatException malformed(String what) {
        return NpyHeader.damaged("NPY-HEADER", what, position());
    }
}
