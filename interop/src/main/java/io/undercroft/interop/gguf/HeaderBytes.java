package io.undercroft.interop.gguf;

import io.undercroft.interop.internal.Utf8;
import io.undercroft.interop.internal.StateValues;
import io.undercroft.serializer.internal.tree.RepeatedTexts;
import io.undercroft.serializer.state.Typed;
import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// A header that is being written.
final class HeaderBytes {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final RepeatedTexts texts = new RepeatedTexts();

    byte[] toByteArray() {
        return bytes.toByteArray();
    }

    HeaderBytes u32(int value) {
        return number(Integer.BYTES, value);
    }

    HeaderBytes u64(long value) {
        return number(Long.BYTES, value);
    }

    /// Writes a string.
    ///
    /// @param path where it is in the state, for messages
    /// @param text the string
    HeaderBytes string(String path, String text) {
        return string(Utf8.bytes(path, text));
    }

    private HeaderBytes string(byte[] text) {
        return u64(text.length).bytes(text);
    }

    HeaderBytes bytes(byte[] more) {
        bytes.writeBytes(more);
        return this;
    }

    private HeaderBytes number(int size, long value) {
        byte[] all = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN).putLong(value).array();
        bytes.write(all, 0, size);
        return this;
    }

    /// Writes a value with its type before it.
    ///
    /// @param path its key, for messages
    /// @param value the value of the state
    void value(String path, @Nullable Object value) {
        if (value instanceof Typed typed) {
            ValueType elements = ValueType.ofElements(typed.type());
            if (elements != null) {
                u32(ValueType.ARRAY.code());
                array(path, elements, typed.value(), 1);
                return;
            }
        }
        ValueType type = typeOf(path, value);
        u32(type.code());
        scalar(path, type, value instanceof Typed typed ? typed.value() : value);
    }

    private static ValueType typeOf(String path, @Nullable Object value) {
        ValueType type = switch (value) {
            case Byte _ -> ValueType.INT8;
            case Short _ -> ValueType.INT16;
            case Integer _ -> ValueType.INT32;
            case Long _ -> ValueType.INT64;
            case Float _ -> ValueType.FLOAT32;
            case Double _ -> ValueType.FLOAT64;
            case Boolean _ -> ValueType.BOOL;
            case String _ -> ValueType.STRING;
            case byte[] _ -> ValueType.STRING;
            case Typed typed -> ValueType.ofScalar(typed.type());
            case null, default -> null;
        };
        if (type == null || (value instanceof Typed && !type.isUnsigned())) {
            throw unfit(path, value);
        }
        return type;
    }

    private void array(String path, ValueType type, @Nullable Object elements, int depth) {
        if (!(elements instanceof List<?> list) || depth > GgufInput.DEEPEST) {
            throw unfit(path, elements);
        }
        u32(type.code());
        u64(list.size());
        for (Object element : list) {
            if (type == ValueType.ARRAY) {
                inner(path, element, depth + 1);
            } else {
                scalar(path, type, element);
            }
        }
    }

    private void inner(String path, @Nullable Object element, int depth) {
        ValueType type = element instanceof Typed typed ? ValueType.ofElements(typed.type()) : null;
        if (type == null || !(element instanceof Typed array)) {
            throw unfit(path, element);
        }
        array(path, type, array.value(), depth);
    }

    private void scalar(String path, ValueType type, @Nullable Object value) {
        switch (type) {
            case UINT8 -> number(1, unsigned(path, value, 8));
            case UINT16 -> number(2, unsigned(path, value, 16));
            case UINT32 -> number(4, unsigned(path, value, 32));
            case UINT64 -> number(8, unsigned(path, value, 64));
            case INT8 -> number(1, as(path, Byte.class, value));
            case INT16 -> number(2, as(path, Short.class, value));
            case INT32 -> number(4, as(path, Integer.class, value));
            case INT64 -> number(8, as(path, Long.class, value));
            case FLOAT32 -> number(4, Float.floatToRawIntBits(as(path, Float.class, value)));
            case FLOAT64 -> number(8, Double.doubleToRawLongBits(as(path, Double.class, value)));
            case BOOL -> number(1, as(path, Boolean.class, value) ? 1 : 0);
            case STRING -> string(value instanceof byte[] raw
                    ? counted(path, raw, () -> texts.add(raw))
                    : text(path, as(path, String.class, value)));
            case ARRAY -> throw unfit(path, value);
        }
    }

    private byte[] text(String path, String text) {
        return counted(path, Utf8.bytes(path, text), () -> texts.add(text));
    }

    private static byte[] counted(String path, byte[] bytes, Runnable counting) {
        try {
            counting.run();
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(path + ": " + e.getMessage(), e);
        }
        return bytes;
    }

    private static long unsigned(String path, @Nullable Object value, int bits) {
        BigInteger number = switch (value) {
            case BigInteger big -> big;
            case Long whole -> BigInteger.valueOf(whole);
            case Integer whole -> BigInteger.valueOf(whole);
            case null, default -> throw unfit(path, value);
        };
        if (number.signum() < 0 || number.bitLength() > bits) {
            throw new IllegalArgumentException(
                    path + ": " + number + " is no unsigned number of " + bits + " bits");
        }
        return number.longValue();
    }

    private static <T> T as(String path, Class<T> wanted, @Nullable Object value) {
        if (!wanted.isInstance(value)) {
            throw unfit(path, value);
        }
        return wanted.cast(value);
    }

    private static IllegalArgumentException unfit(String path, @Nullable Object value) {
        return new IllegalArgumentException(path + ": a gguf file has no metadata such as "
                + (value instanceof Typed typed ? typed.type() : StateValues.describe(value)) + " here");
    }
}
