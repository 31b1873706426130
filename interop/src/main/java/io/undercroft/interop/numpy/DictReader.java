package io.undercroft.interop.numpy;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.numpy.NumpyType.Field;
import io.undercroft.interop.internal.numpy.NumpyType.Kind;
import io.undercroft.interop.internal.numpy.NumpyType;
import io.undercroft.interop.internal.numpy.PythonText;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.storage.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/// The text of a header: a Python dictionary of three entries, for instance `{'descr': '<f4', 'fortran_order': False,
/// 'shape': (2, 3), }`. It is read entry by entry; nothing else that Python could evaluate is understood.
final class DictReader {
    private static final int DECIMAL = 10;
    private static final Pattern GAP = Pattern.compile("[<>|=]?V([0-9]{1,18})");

    private final String text;
    private final long base;
    private final ReadBudget budget;
    /// The types that are no lists of fields, by their texts.
    private final Map<String, NumpyType> types = new HashMap<>();
    private int at;
    private @Nullable NumpyType type;
    private @Nullable Boolean fortran;
    private long @Nullable [] shape;

    /// Reads a text.
    ///
    /// @param text the text
    /// @param base where it starts in the file, for messages
    /// @param budget what reading the file may cost
    DictReader(String text, long base, ReadBudget budget) {
        this.text = text;
        this.base = base;
        this.budget = budget;
        try {
            read();
        } catch (ArithmeticException | IllegalArgumentException e) {
            throw NpyHeader.impossible(e, position());
        }
    }

    private DictReader(String text) {
        this.text = text;
        this.base = FormatException.NO_OFFSET;
        this.budget = ReadBudget.of(text.length());
    }

    /// {@return the type that a text describes, as it is in a header}
    ///
    /// @param descr the text
    static NumpyType type(String descr) {
        DictReader reader = new DictReader(descr);
        try {
            NumpyType type = reader.descr(0);
            reader.skipSpace();
            if (reader.at < descr.length()) {
                throw reader.malformed("there is more behind the end of the type");
            }
            return type;
        } catch (ArithmeticException | IllegalArgumentException e) {
            throw NpyHeader.impossible(e, FormatException.NO_OFFSET);
        }
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
                type = descr(0);
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

    /// @param depth in how many records the type is
    private NumpyType descr(int depth) {
        skipSpace();
        long position = position();
        if (!take('[')) {
            return types.computeIfAbsent(string(), descr -> NumpyType.parseAll(descr, position, budget, depth > 0));
        }
        if (depth == NumpyType.DEEPEST) {
            throw malformed("records are in records more than " + NumpyType.DEEPEST + " deep");
        }
        List<Field> fields = new ArrayList<>();
        Set<String> names = new HashSet<>();
        long end = 0;
        while (!take(']')) {
            budget.takeMemory(Field.COST);
            Field field = field(end, depth + 1);
            end = field.end();
            if (!isGap(field)) {
                if (!names.add(field.name())) {
                    throw malformed("a record has two fields " + FormatException.quote(field.name()));
                }
                fields.add(field);
            }
            if (!take(',')) {
                expect(']');
                break;
            }
        }
        return NumpyType.record(List.copyOf(fields), end);
    }

    private Field field(long offset, int depth) {
        expect('(');
        String title = null;
        String name;
        if (take('(')) {
            title = string();
            expect(',');
            name = string();
            expect(')');
        } else {
            name = string();
        }
        expect(',');
        NumpyType elements = name.isEmpty() ? unnamed(depth) : descr(depth);
        Shape sizes = Shape.SCALAR;
        if (take(',') && !isNext(')')) {
            sizes = Shape.of(sizes());
            take(',');
        }
        expect(')');
        return new Field(name, title, offset, elements, sizes);
    }

    /// Gaps between fields have an empty name, and are bytes of any number.
    private NumpyType unnamed(int depth) {
        skipSpace();
        int start = at;
        if (!isNext('[')) {
            Matcher gap = GAP.matcher(string());
            if (gap.matches()) {
                return NumpyType.record(List.of(), Long.parseLong(gap.group(1)));
            }
            at = start;
        }
        return descr(depth);
    }

    private static boolean isGap(Field field) {
        return field.name().isEmpty() && field.type().kind() == Kind.RECORD && field.type().fields().isEmpty();
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
        long[] sizes = new long[0];
        int count = 0;
        expect('(');
        boolean ended = take(')');
        while (!ended) {
            if (count == Shape.MAX_RANK) {
                throw malformed("the array has more than " + Shape.MAX_RANK + " dimensions");
            }
            sizes = Arrays.copyOf(sizes, ++count);
            sizes[count - 1] = natural();
            boolean comma = take(',');
            ended = take(')');
            if (!comma && (!ended || count == 1)) {
                throw malformed("a comma is due");
            }
        }
        return sizes;
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
        int end = quote == '\'' || quote == '"' ? closing(quote) : -1;
        String string = end < 0 ? null : PythonText.unescape(text.substring(at + 1, end)).orElse(null);
        if (string == null || text.substring(at, end).indexOf('\n') >= 0) {
            throw malformed("a string is due");
        }
        at = end + 1;
        return string;
    }

    /// {@return where the quotation mark is that ends a literal, or -1}
    private int closing(char quote) {
        for (int end = at + 1; end < text.length(); end++) {
            if (text.charAt(end) == quote) {
                return end;
            }
            end += text.charAt(end) == '\\' ? 1 : 0;
        }
        return -1;
    }

    private void expect(char wanted) {
        if (!take(wanted)) {
            throw malformed("'" + wanted + "' is due");
        }
    }

    private boolean take(char wanted) {
        boolean isPresent = isNext(wanted);
        at += isPresent ? 1 : 0;
        return isPresent;
    }

    private boolean isNext(char wanted) {
        skipSpace();
        return at < text.length() && text.charAt(at) == wanted;
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
