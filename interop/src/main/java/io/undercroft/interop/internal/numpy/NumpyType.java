package io.undercroft.interop.internal.numpy;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// The type of an array's elements, a `dtype` of NumPy.
///
/// @param kind what an element is
/// @param dtype the type of the numbers that an element consists of; of a record, that of bytes
/// @param length how many of these numbers an element has
/// @param order the byte order of the numbers in the file
/// @param unit the unit of dates and of spans of time, for instance `ns` or `25s`; else empty
/// @param fields the fields of a record in the order of their offsets; else empty
public record NumpyType(Kind kind, DType dtype, long length, ByteOrder order, String unit, List<Field> fields) {
    /// The maximum depth of nested records.
    public static final int DEEPEST = 16;
    /// The unit of dates that have none.
    public static final String GENERIC = "generic";

    private static final String OPAQUE = "numpy:";
    private static final Map<String, DType> BY_CODE = Map.ofEntries(Map.entry("b1", DType.BOOL),
            Map.entry("i1", DType.INT8), Map.entry("i2", DType.INT16), Map.entry("i4", DType.INT32),
            Map.entry("i8", DType.INT64), Map.entry("u1", DType.UINT8), Map.entry("u2", DType.UINT16),
            Map.entry("u4", DType.UINT32), Map.entry("u8", DType.UINT64), Map.entry("f2", DType.FLOAT16),
            Map.entry("f4", DType.FLOAT32), Map.entry("f8", DType.FLOAT64), Map.entry("c8", DType.COMPLEX64),
            Map.entry("c16", DType.COMPLEX128));
    private static final Map<DType, String> BY_DTYPE = byDType();
    /// The codes that NumPy writes, each with the other names that `numpy.dtype` takes for it on 64-bit machines.
    private static final Map<String, String> BY_NAME = byName("b1 ? bool bool_", "i1 b byte int8", "i2 h short int16",
            "i4 i intc int32", "i8 l q p n int int_ long longlong intp int64", "u1 B ubyte uint8", "u2 H ushort uint16",
            "u4 I uintc uint32", "u8 L Q P N uint ulong ulonglong uintp uint64", "f2 e half float16",
            "f4 f single float32", "f8 d double float float64", "f16 g longdouble float128", "c8 F csingle complex64",
            "c16 D cdouble complex complex128", "c32 G clongdouble complex256", "S0 S a bytes bytes_", "S1 c",
            "U0 U str str_ unicode", "V0 V void", "O object object_", "M8 M datetime64", "m8 m timedelta64");
    /// Byte order, name, and unit.
    private static final Pattern DESCR = Pattern.compile("([<>|=]?)([A-Za-z] +[0-9]+|[A-Za-z0-9_?]+)"
            + "(?:\\[([^\\[\\]]*)])?");
    private static final Pattern CODE = Pattern.compile("([A-Za-z]) *([0-9]*)");
    /// A field among several that commas separate: byte order, sizes in brackets or one size, byte order, and type.
    /// Without backtracking, whose time is not linear.
    private static final Pattern ITEM = Pattern.compile(" *+([<>|=]?+) *+(?:\\(([ ,0-9]*+)\\)|([0-9]*+)) *+([<>|=]?+)"
            + "([A-Za-z_?][A-Za-z0-9_?]*+(?:\\[[A-Za-z0-9]*+])?+) *+");
    private static final Pattern UNIT = Pattern.compile("[0-9]{0,9}(?:Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)");
    /// Types that NumPy also reads, as `s/2`.
    private static final Pattern PART_OF_UNIT = Pattern.compile("([0-9]{0,9})([A-Za-z]+)(?:/([0-9]{1,9}))?");
    /// The smaller units that a part of a unit is counted in, the first one that fits.
    private static final Map<String, List<String>> SMALLER = Map.ofEntries(
            Map.entry("Y", List.of("12M", "52W", "365D")), Map.entry("M", List.of("4W", "30D", "720h")),
            Map.entry("W", List.of("7D", "168h", "10080m")), Map.entry("D", List.of("24h", "1440m", "86400s")),
            Map.entry("h", List.of("60m", "3600s")), Map.entry("m", List.of("60s", "60000ms")),
            Map.entry("s", List.of("1000ms", "1000000us")), Map.entry("ms", List.of("1000us", "1000000ns")),
            Map.entry("us", List.of("1000ns", "1000000ps")), Map.entry("ns", List.of("1000ps", "1000000fs")),
            Map.entry("ps", List.of("1000fs", "1000000as")), Map.entry("fs", List.of("1000as")));
    /// A single type with sizes before it.
    private static final Pattern SIZES = Pattern.compile("[<>|=]?[0-9(]");
    /// A size of more digits is none of an element in a file.
    private static final int MOST_DIGITS = 18;
    private static final int DATE_SIZE = 8;
    /// The bytes of an object in the memory of Python.
    private static final int POINTER = 8;
    private static final int WIDEST = 1 << 17;

    /// The kind of an element, with the name of NumPy's class for it.
    public enum Kind {
        /// A number, or bits without meaning here.
        NUMBER(""),
        /// Characters, 4 bytes each.
        TEXT("numpy.str_"),
        /// Bytes that are characters, as a rule.
        BYTES("numpy.bytes_"),
        /// Bytes without meaning here, none or more than an opaque dtype has.
        VOID("numpy.void"),
        /// A point in time.
        DATE("numpy.datetime64"),
        /// A span of time.
        SPAN("numpy.timedelta64"),
        /// Several fields.
        RECORD("numpy.record"),
        /// An object of Python. The elements of such an array are a list.
        OBJECT("numpy.object_");

        private final String type;

        Kind(String type) {
            this.type = type;
        }

        /// {@return the type of such an array in a state; empty if it is a tensor}
        public String type() {
            return type;
        }

        /// {@return the kind whose arrays have a type in a state, or null}
        ///
        /// @param type the type
        public static @Nullable Kind of(String type) {
            return Arrays.stream(values()).filter(kind -> !type.isEmpty() && kind.type.equals(type)).findFirst()
                    .orElse(null);
        }

        /// {@return whether an element is a text}
        public boolean isText() {
            return this == TEXT || this == BYTES;
        }

        /// {@return whether an element is a point or a span of time}
        public boolean isTime() {
            return this == DATE || this == SPAN;
        }
    }

    /// A field of a record.
    ///
    /// @param name its name
    /// @param title its second name, or null
    /// @param offset where it starts in the record, in bytes
    /// @param type the type of its elements
    /// @param shape the sizes of the array that it is, if it is one
    public record Field(String name, @Nullable String title, long offset, NumpyType type, Shape shape) {
        /// The memory of a field without its name, in bytes.
        public static final long COST = 256;

        /// {@return where it ends in the record}
        public long end() {
            return Math.addExact(offset, Math.multiplyExact(shape.numel(), type.itemsize()));
        }
    }

    private static Map<String, String> byName(String... lines) {
        Map<String, String> codes = new HashMap<>();
        for (String line : lines) {
            String[] names = line.split(" ");
            Arrays.stream(names).skip(1).forEach(name -> codes.put(name, names[0]));
        }
        return codes;
    }

    private static Map<DType, String> byDType() {
        Map<DType, String> codes = new HashMap<>();
        BY_CODE.forEach((code, dtype) -> codes.put(dtype, code));
        return codes;
    }

    /// Returns the type that a header describes by a text.
    ///
    /// @param descr a type that [#parse] takes, also with the sizes `()`, or several that commas separate: `f4,(2,)i4`,
    ///     which NumPy calls `f0`, `f1` and so on. A comma may follow the last one
    /// @param position where it is in the file, for messages
    /// @param budget what reading the file may cost
    /// @param isField whether it is the type of a field. The type of a whole array may also have sizes of 1: `1f4`
    public static NumpyType parseAll(String descr, long position, ReadBudget budget, boolean isField) {
        if (descr.indexOf(',') < 0 && !SIZES.matcher(descr).lookingAt()) {
            return parse(descr, position);
        }
        boolean isOne = comma(descr, 0) == descr.length();
        List<Field> fields = new ArrayList<>();
        Map<String, NumpyType> types = new HashMap<>();
        Matcher item = ITEM.matcher(descr);
        long end = 0;
        try {
            for (int start = 0; start < descr.length();) {
                budget.takeMemory(Field.COST);
                int comma = comma(descr, start);
                if (!item.region(start, comma).matches() || (isOne && isNoTuple(item.group(2)))) {
                    throw unknown(descr, position);
                }
                String order = item.group(1).replace('=', '<');
                String second = item.group(4).replace('=', '<');
                if (!order.isEmpty() && !second.isEmpty() && !order.equals(second)) {
                    throw unknown(descr, position);
                }
                String code = ((order + second).startsWith(">") ? ">" : "") + item.group(5);
                NumpyType type = types.computeIfAbsent(code, each -> parse(each, position));
                Field field = new Field("f" + fields.size(), null, end, type, sizes(item));
                fields.add(field);
                end = field.end();
                start = comma + 1;
            }
        } catch (ArithmeticException | IllegalArgumentException _) {
            throw unknown(descr, position);
        }
        if (!isOne) {
            return record(List.copyOf(fields), end);
        }
        Shape sizes = fields.getFirst().shape();
        if (sizes.numel() != 1 || (isField && sizes.rank() > 0)) {
            throw unknown(descr, position);
        }
        return fields.getFirst().type();
    }

    /// {@return whether sizes in brackets are one number for Python}
    private static boolean isNoTuple(@Nullable String sizes) {
        return sizes != null && !sizes.isEmpty() && sizes.indexOf(',') < 0;
    }

    /// {@return the next comma that is not in brackets, or the end}
    private static int comma(String descr, int start) {
        boolean isInBrackets = false;
        int at = start;
        while (at < descr.length() && (isInBrackets || descr.charAt(at) != ',')) {
            isInBrackets = isInBrackets ? descr.charAt(at) != ')' : descr.charAt(at) == '(';
            at++;
        }
        return at;
    }

    /// {@return the sizes of a field that matches, before its type}
    private static Shape sizes(Matcher item) {
        String sizes = item.group(2) == null ? item.group(3) : item.group(2);
        return sizes.isBlank()
                ? Shape.SCALAR
                : Shape.of(Arrays.stream(sizes.split(",")).map(String::strip).mapToLong(Long::parseLong).toArray());
    }

    /// Returns the type of elements that are one number, text or time.
    ///
    /// @param descr as NumPy writes it, for instance `<f4`, or by another name that `numpy.dtype` takes: `float32`, `d`
    /// @param position where it is in the file, for messages
    public static NumpyType parse(String descr, long position) {
        Matcher parts = DESCR.matcher(descr);
        if (!parts.matches()) {
            throw unknown(descr, position);
        }
        String name = parts.group(2);
        // Only the short names and those of times have a byte order.
        boolean isTime = name.endsWith("64") && name.contains("time");
        boolean isName = parts.group(1).isEmpty() || name.length() == 1 || isTime;
        Matcher named = CODE.matcher(isName ? BY_NAME.getOrDefault(name, name) : name);
        String unit = parts.group(3) == null ? null : unit(parts.group(3));
        if (!named.matches() || named.group(2).length() > MOST_DIGITS
                || (unit != null && (name.length() == 1 || name.indexOf(' ') > 0))) {
            throw unknown(descr, position);
        }
        ByteOrder order = parts.group(1).equals(">") ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
        String code = named.group(1);
        String digits = named.group(2);
        DType dtype = unit == null ? BY_CODE.get(code + digits) : null;
        if (dtype != null) {
            return new NumpyType(Kind.NUMBER, dtype, 1, order, "", List.of());
        }
        if (code.equalsIgnoreCase("m") && digits.equals("8")
                && (unit == null || unit.equals(GENERIC) || UNIT.matcher(unit).matches())) {
            return time(code.equals("M") ? Kind.DATE : Kind.SPAN, unit == null ? GENERIC : unit, order);
        }
        if (code.equals("O")) {
            return new NumpyType(Kind.OBJECT, DType.UINT8, POINTER, ByteOrder.nativeOrder(), "", List.of());
        }
        if (unit != null || digits.isEmpty()) {
            throw unknown(descr, position);
        }
        long size = Long.parseLong(digits);
        return switch (code) {
            case "U" -> new NumpyType(Kind.TEXT, DType.UINT32, size, order, "", List.of());
            case "S", "a" -> new NumpyType(Kind.BYTES, DType.UINT8, size, order, "", List.of());
            case "V" -> size < 1 || size > WIDEST
                    ? ofVoid(size)
                    : opaque(marked(parts.group(1), "|") + code + size, size);
            case "f" -> longDouble(marked(parts.group(1), "<") + code + size, size, size, position);
            case "c" -> longDouble(marked(parts.group(1), "<") + code + size, size, size / 2, position);
            default -> throw unknown(descr, position);
        };
    }

    /// {@return a unit of time as NumPy writes it, for instance `500ms` for `s/2`; the text itself if it is no unit}
    private static String unit(String read) {
        Matcher parts = PART_OF_UNIT.matcher(read.replace('\u03BC', 'u'));
        if (!parts.matches()) {
            return read;
        }
        long divisor = parts.group(3) == null ? 1 : Long.parseLong(parts.group(3));
        if (divisor == 1) {
            return parts.group(1) + parts.group(2);
        }
        long count = parts.group(1).isEmpty() ? 1 : Long.parseLong(parts.group(1));
        for (String smaller : SMALLER.getOrDefault(parts.group(2), List.of())) {
            Matcher units = PART_OF_UNIT.matcher(smaller);
            if (units.matches() && divisor > 0 && Long.parseLong(units.group(1)) % divisor == 0) {
                long number = count * (Long.parseLong(units.group(1)) / divisor);
                return (number == 1 ? "" : number) + units.group(2);
            }
        }
        return read;
    }

    private static String marked(String order, String absent) {
        return order.isEmpty() || order.equals("=") || order.equals("|") ? absent : order;
    }

    private static NumpyType time(Kind kind, String unit, ByteOrder order) {
        return new NumpyType(kind, DType.INT64, 1, order, unit, List.of());
    }

    /// The `long double` of C, whose layout depends on the machine.
    private static NumpyType longDouble(String descr, long size, long width, long position) {
        if (width != 12 && width != 16) {
            throw unknown(descr, position);
        }
        return opaque(descr, size);
    }

    private static NumpyType opaque(String descr, long size) {
        return new NumpyType(Kind.NUMBER, DType.opaque(OPAQUE + descr, (int) size * Byte.SIZE), 1,
                ByteOrder.nativeOrder(), "", List.of());
    }

    /// {@return the type of raw bytes}
    ///
    /// @param size how many of them an element has
    public static NumpyType ofVoid(long size) {
        return new NumpyType(Kind.VOID, DType.UINT8, size, ByteOrder.nativeOrder(), "", List.of());
    }

    /// Returns the type of records.
    ///
    /// @param fields their fields, in the order of their offsets
    /// @param itemsize the bytes of a record
    public static NumpyType record(List<Field> fields, long itemsize) {
        return new NumpyType(Kind.RECORD, DType.UINT8, itemsize, ByteOrder.nativeOrder(), "", fields);
    }

    /// {@return NumPy's type for elements of a dtype, if it has one}
    ///
    /// @param dtype the dtype
    public static Optional<NumpyType> of(DType dtype) {
        String code = BY_DTYPE.get(dtype);
        if (code != null) {
            return Optional.of(new NumpyType(Kind.NUMBER, dtype, 1, ByteOrder.LITTLE_ENDIAN, "", List.of()));
        }
        if (!dtype.name().startsWith(OPAQUE)) {
            return Optional.empty();
        }
        try {
            NumpyType type = parse(dtype.name().substring(OPAQUE.length()), FormatException.NO_OFFSET);
            return Optional.of(type).filter(same -> same.dtype.equals(dtype));
        } catch (FormatException _) {
            return Optional.empty();
        }
    }

    /// {@return the type of texts}
    ///
    /// @param kind of which kind
    /// @param length how many characters or bytes each has
    public static NumpyType ofTexts(Kind kind, long length) {
        DType dtype = kind == Kind.TEXT ? DType.UINT32 : DType.UINT8;
        return new NumpyType(kind, dtype, length, ByteOrder.LITTLE_ENDIAN, "", List.of());
    }

    /// {@return the type of dates or of spans of time, if the unit is one of NumPy}
    ///
    /// @param kind of which kind
    /// @param unit their unit
    public static Optional<NumpyType> ofTimes(Kind kind, String unit) {
        return unit.equals(GENERIC) || UNIT.matcher(unit).matches()
                ? Optional.of(time(kind, unit, ByteOrder.LITTLE_ENDIAN))
                : Optional.empty();
    }

    /// {@return the bytes of an element}
    ///
    /// @throws ArithmeticException if that is more than 2^63-1
    public long itemsize() {
        return dtype.nbytes(length);
    }

    /// {@return whether an element is an object of Python, or has one in a field}
    public boolean hasObjects() {
        return kind == Kind.OBJECT || fields.stream().anyMatch(field -> field.type.hasObjects());
    }

    /// {@return the sizes that an element adds to those of its array}
    public Shape inner() {
        return kind.isText() || kind == Kind.VOID ? Shape.of(length) : Shape.SCALAR;
    }

    /// {@return whether the elements have the same bytes in the file and in memory}
    public boolean isNative() {
        return order == ByteOrder.nativeOrder() || dtype.itemsize() == 1;
    }

    /// {@return the description of the type as NumPy writes it, in the byte order that we write}
    public String descr() {
        return switch (kind) {
            case NUMBER -> {
                String code = BY_DTYPE.get(dtype);
                String mark = dtype.itemsize() == 1 ? "|" : "<";
                yield quoted(code == null ? dtype.name().substring(OPAQUE.length()) : mark + code);
            }
            case TEXT -> quoted("<U" + length);
            case BYTES -> quoted("|S" + length);
            case VOID -> quoted("|V" + length);
            case DATE, SPAN -> quoted("<" + (kind == Kind.DATE ? "M" : "m") + DATE_SIZE
                    + (unit.equals(GENERIC) ? "" : "[" + unit + "]"));
            case RECORD -> describedFields();
            case OBJECT -> quoted("|O");
        };
    }

    private static String quoted(String code) {
        return "'" + code + "'";
    }

    private String describedFields() {
        StringBuilder text = new StringBuilder("[");
        long end = 0;
        for (Field field : fields) {
            pad(text, field.offset - end);
            String name = PythonText.quote(field.name);
            text.append(text.length() > 1 ? ", " : "").append('(')
                    .append(field.title == null ? name : "(" + PythonText.quote(field.title) + ", " + name + ")")
                    .append(", ").append(field.type.descr());
            if (field.shape.rank() > 0) {
                text.append(", ").append(tuple(field.shape));
            }
            text.append(')');
            end = field.end();
        }
        pad(text, length - end);
        return text.append(']').toString();
    }

    private static void pad(StringBuilder text, long gap) {
        if (gap > 0) {
            text.append(text.length() > 1 ? ", " : "").append("('', '|V").append(gap).append("')");
        }
    }

    /// {@return sizes as Python writes a tuple}
    ///
    /// @param shape the sizes
    public static String tuple(Shape shape) {
        return Arrays.stream(shape.toArray()).mapToObj(Long::toString)
                .collect(Collectors.joining(", ", "(", shape.rank() == 1 ? ",)" : ")"));
    }

    private static FormatException unknown(String descr, long position) {
        return unsupported(descr, "nothing that is known here", position);
    }

    /// {@return the exception for elements of a type that is not supported}
    ///
    /// @param code the type in the file
    /// @param what what it is
    /// @param position where it is in the file, or [FormatException#NO_OFFSET]
    public static FormatException unsupported(String code, String what, long position) {
        return new FormatException("NPY-DTYPE", "the elements are " + FormatException.quote(code) + ": " + what,
                position, "In Python, convert the array with astype to numbers, texts or dates, and save it again");
    }
}
