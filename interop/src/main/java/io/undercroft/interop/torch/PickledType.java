package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.numpy.NumpyType;
import io.undercroft.interop.internal.numpy.NumpyType.Field;
import io.undercroft.interop.internal.numpy.NumpyType.Kind;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/// A `dtype` of NumPy that a pickle makes of a code, for instance `f8`, and then completes by BUILD with a tuple: its
/// byte order, its fields, the unit of its dates. A type that NumPy has and this library does not is kept with the
/// reason; an array of it cannot be read, and the others of the file can.
final class PickledType {
    /// The longest description of a type, in characters, as in the header of a file of NumPy.
    private static final int LONGEST = 0xFFFF;
    /// The memory of the description of a field, without its name.
    private static final int FIELD = 16;
    private static final String ORDERS = "<>|=";
    /// The class of the records of a `recarray`, by the names that versions of NumPy give it.
    private static final Set<String> RECORDS = Set.of("numpy.record", "numpy.rec.record", "numpy.core.records.record");
    /// The module of types that NumPy itself does not have.
    private static final String EXTENSIONS = "ml_dtypes.";
    /// The key of the names of fields in the dict of the fields, in the first versions.
    private static final long NAMES = -1;

    /// Without its byte order.
    private final String code;
    private final @Nullable DType extension;
    private @Nullable NumpyType type;
    private @Nullable FormatException unsupported;
    /// The sizes of the array that an element is. Only a field of a record is one.
    private Shape inner = Shape.SCALAR;
    /// In how many records its innermost fields are.
    private int depth;
    private int length = FIELD;
    private boolean hasObjects;

    private PickledType(String code, @Nullable DType extension) {
        this.code = code;
        this.extension = extension;
    }

    /// {@return a type whose state is not set}
    ///
    /// @param code what `numpy.dtype` is called with first
    /// @return null if that is no type
    static @Nullable PickledType of(@Nullable Object code) {
        PickledType made = switch (code) {
            case String text -> new PickledType(text.isEmpty() || ORDERS.indexOf(text.charAt(0)) < 0
                    ? text
                    : text.substring(1), null);
            case Symbol symbol when RECORDS.contains(symbol.name()) -> new PickledType("V", null);
            case Symbol symbol when symbol.name().startsWith(EXTENSIONS) -> extension(symbol);
            case null, default -> null;
        };
        if (made != null) {
            made.set(text(code).startsWith(">") ? ">" : "<", "");
        }
        return made;
    }

    private static String text(@Nullable Object code) {
        return code instanceof String text ? text : "";
    }

    private static @Nullable PickledType extension(Symbol symbol) {
        String name = symbol.name().substring(EXTENSIONS.length());
        return DType.values().stream().filter(dtype -> dtype.kind() == DType.Kind.FLOATING && dtype.name().equals(name))
                .findFirst().map(dtype -> new PickledType(name, dtype)).orElse(null);
    }

    /// {@return the type of the elements of an array}
    ///
    /// @throws FormatException if it is not supported
    NumpyType elements() {
        NumpyType known = type;
        if (known == null || unsupported != null) {
            throw unsupported == null ? refused("no type of elements") : unsupported;
        }
        if (inner.rank() > 0) {
            throw refused("an array of elements that are arrays");
        }
        return known;
    }

    /// {@return whether an element has or is an object of Python, so that an array of them is a list}
    boolean hasObjects() {
        return hasObjects;
    }

    /// {@return how many characters describe it, and the records in it}
    long cost() {
        return (long) (depth + 1) * length;
    }

    /// {@return the type as NumPy writes it in a file, or its code if it is not supported}
    String descr() {
        if (type == null || unsupported != null || extension != null) {
            return code;
        }
        String descr = type.descr();
        return descr.startsWith("'") ? descr.substring(1, descr.length() - 1) : descr;
    }

    /// Sets the state: `(version, byte order, subarray, names, fields, size, alignment[, flags[, metadata]])`. Version
    /// 1 has the names in the dict of the fields, version 0 no version.
    ///
    /// @param state what BUILD has
    /// @param known gives the type that a value of the pickle is, or null
    void setState(@Nullable Object state, Function<@Nullable Object, @Nullable PickledType> known) {
        if (!(state instanceof Tuple values) || values.size() < 5 || values.size() > 9) {
            throw PickleFault.malformed("the state of a dtype is a tuple of 5 to 9 values, not "
                    + CallArguments.describe(state));
        }
        int order = values.size() == 5 ? 0 : 1;
        boolean hasNames = values.size() > 6;
        Object fields = values.get(order + (hasNames ? 3 : 2));
        Object names = hasNames
                ? values.get(order + 2)
                : fields instanceof Map<?, ?> map ? map.get(NAMES) : null;
        Object size = values.get(order + (hasNames ? 4 : 3));
        if (!(size instanceof Long itemsize)) {
            throw PickleFault.malformed("the size of a dtype is an integer, not " + CallArguments.describe(size));
        }
        inner = Shape.SCALAR;
        unsupported = null;
        Object subarray = values.get(order + 1);
        if (subarray != null) {
            setArray(subarray, known);
        } else if (names instanceof List<?> list && fields instanceof Map<?, ?> map) {
            setFields(list, map, itemsize, known);
        } else {
            String mark = string(values.get(order), "the byte order of a dtype");
            set(mark.equals(">") ? ">" : "<", suffix(itemsize, values.size() == 9 ? values.get(8) : null));
        }
    }

    private void set(String order, String suffix) {
        if (extension != null) {
            type = new NumpyType(Kind.NUMBER, extension, 1,
                    order.equals(">") ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN, "", List.of());
            return;
        }
        String start = suffix.isEmpty() || suffix.startsWith("[") ? code : code.substring(0, 1);
        try {
            type = NumpyType.parse((code.startsWith("V") ? "|" : order) + start + suffix, FormatException.NO_OFFSET);
            hasObjects = type.kind() == Kind.OBJECT;
        } catch (FormatException e) {
            unsupported = e;
        }
    }

    /// {@return what a state says of the length or the unit of elements}
    private String suffix(long size, @Nullable Object metadata) {
        char kind = code.isEmpty() ? ' ' : code.charAt(0);
        return switch (kind) {
            case 'U' -> size < 0 ? "" : String.valueOf(size / Integer.BYTES);
            case 'S', 'a', 'V' -> size < 0 ? "" : String.valueOf(size);
            case 'M', 'm' -> unit(metadata);
            default -> "";
        };
    }

    /// @param metadata `({…}, (unit, count, 1, 1))`
    private static String unit(@Nullable Object metadata) {
        if (!(metadata instanceof Tuple pair && pair.size() == 2 && pair.get(1) instanceof Tuple unit
                && unit.size() == 4 && unit.get(1) instanceof Long count)) {
            return "";
        }
        String name = string(unit.get(0), "a unit of time");
        if (!Long.valueOf(1).equals(unit.get(2))) {
            throw PickleFault.malformed("a part of a unit of time");
        }
        return name.equals(NumpyType.GENERIC) ? "" : "[" + (count == 1 ? "" : count) + name + "]";
    }

    private void setArray(Object subarray, Function<@Nullable Object, @Nullable PickledType> known) {
        Tuple pair = subarray instanceof Tuple tuple && tuple.size() == 2 ? tuple : Tuple.of(null, null);
        PickledType of = known.apply(pair.get(0));
        if (of == null) {
            throw PickleFault.malformed("the elements of a dtype of arrays are a dtype and a shape");
        }
        take(of);
        long[] sizes = switch (pair.get(1)) {
            case Long size -> new long[]{size};
            case Tuple tuple when tuple.size() <= Shape.MAX_RANK ->
                tuple.stream().mapToLong(PickledType::size).toArray();
            case null, default -> throw PickleFault.malformed("the shape of a dtype of arrays is a tuple");
        };
        if (of.inner.rank() > 0) {
            unsupported = refused("arrays of arrays");
            return;
        }
        try {
            inner = Shape.of(sizes);
        } catch (IllegalArgumentException e) {
            unsupported = refused(String.valueOf(e.getMessage()));
        }
    }

    private static long size(@Nullable Object value) {
        if (value instanceof Long size) {
            return size;
        }
        throw PickleFault.malformed("a size is an integer, not " + CallArguments.describe(value));
    }

    private void take(PickledType of) {
        type = of.type;
        unsupported = of.unsupported;
        depth = of.depth;
        length = of.length;
        hasObjects = of.hasObjects;
    }

    private void setFields(List<?> names, Map<?, ?> fields, long itemsize,
            Function<@Nullable Object, @Nullable PickledType> known) {
        List<Field> made = new ArrayList<>();
        Set<String> seen = new HashSet<>();
        // A field may be of this type as it was before, which these still describe.
        int deepest = 0;
        int total = FIELD;
        boolean objects = false;
        for (Object each : names) {
            String name = string(each, "the name of a field");
            Tuple field = fields.get(each) instanceof Tuple tuple && tuple.size() >= 2 ? tuple : Tuple.of(null, null);
            PickledType of = known.apply(field.get(0));
            if (of == null || !(field.get(1) instanceof Long offset)) {
                throw PickleFault.malformed("the field " + FormatException.quote(name) + " of a dtype has no dtype and"
                        + " no offset");
            }
            String title = field.size() > 2 && field.get(2) instanceof String text ? text : null;
            deepest = Math.max(deepest, of.depth + 1);
            total = Math.min(LONGEST + 1, total + name.length() + (title == null ? 0 : title.length()) + of.length);
            objects |= of.hasObjects;
            if (!seen.add(name) || of.extension != null || of.type == null || of.unsupported != null
                    || total > LONGEST || deepest > NumpyType.DEEPEST) {
                type = null;
                length = total;
                unsupported = refused("records whose field " + FormatException.quote(name) + " has an unknown type, or"
                        + " which have too many fields");
                return;
            }
            made.add(new Field(name, title, offset, of.type, of.inner));
        }
        depth = deepest;
        length = total;
        hasObjects = objects;
        type = null;
        made.sort(Comparator.comparingLong(Field::offset));
        setRecord(made, itemsize);
    }

    private void setRecord(List<Field> made, long itemsize) {
        long end = 0;
        try {
            for (Field field : made) {
                if (field.offset() < end) {
                    unsupported = refused("records with fields that overlap");
                    return;
                }
                end = field.end();
            }
        } catch (ArithmeticException _) {
            unsupported = refused("records with fields behind 2^63-1 bytes");
            return;
        }
        if (end > itemsize) {
            unsupported = refused("records of " + itemsize + " bytes with fields behind that");
            return;
        }
        type = NumpyType.record(List.copyOf(made), itemsize);
    }

    private FormatException refused(String what) {
        return NumpyType.unsupported(code, what, FormatException.NO_OFFSET);
    }

    private static String string(@Nullable Object value, String what) {
        return switch (value) {
            case String text -> text;
            case byte[] bytes when bytes.length <= LONGEST -> new String(bytes, ISO_8859_1);
            case null, default ->
                throw PickleFault.malformed(what + " is a string, not " + CallArguments.describe(value));
        };
    }
}
