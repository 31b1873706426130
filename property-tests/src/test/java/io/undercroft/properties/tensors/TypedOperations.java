package io.undercroft.properties.tensors;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.properties.Choices;
import io.undercroft.properties.states.JavaSource;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.DType.Kind;
import io.undercroft.storage.TypedStorage;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/// What can be done to a [TypedStorage], each operation with the bytes that it should leave, by [Encoding].
final class TypedOperations {
    static final List<DType> DTYPES = List.of(DType.UINT8, DType.INT8, DType.INT16, DType.INT32, DType.INT64,
            DType.UINT16, DType.UINT32, DType.UINT64, DType.QUINT8, DType.FLOAT16,
            DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64, DType.COMPLEX32, DType.COMPLEX64, DType.COMPLEX128);
    private static final List<Double> DOUBLES = List.of(0.0, 1.0, -1.0, 300.7, -300.7, 1e10, -1e10, 0x1p31, 0x1p63,
            0x1.8p63, -0x1p63, 1e300, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 2147483647.9);

    private final Choices choices;
    private final TypedStorage storage;
    private final DType dtype;
    private final int itemsize;
    private final int size;
    private final byte[] bytes;
    private final Consumer<String> story;

    private TypedOperations(Choices choices, TypedStorage storage, Consumer<String> story, byte... bytes) {
        this.choices = choices;
        this.story = story;
        this.storage = storage;
        this.dtype = storage.dtype();
        this.itemsize = dtype.itemsize();
        this.size = bytes.length / itemsize;
        this.bytes = bytes;
    }

    /// Does one thing to a storage, and changes bytes as it should change those of the storage.
    ///
    /// @param story takes each call on the storage before it is made
    static void apply(Choices choices, TypedStorage storage, Consumer<String> story, byte... bytes) {
        var operations = new TypedOperations(choices, storage, story, bytes);
        operations.step();
        operations.compare();
    }

    private void step() {
        switch (choices.below(10)) {
            case 0 -> setLong();
            case 1 -> setDouble();
            case 2 -> setComplex();
            case 3 -> fill();
            case 4 -> copyFromOther();
            case 5 -> copyFromSlice();
            case 6 -> writeThroughSlice();
            case 7 -> convert();
            case 8 -> byteswap();
            default -> outside();
        }
    }

    private void put(int index, List<Long> parts) {
        Encoding.write(bytes, dtype, index * dtype.bits(), parts);
    }

    private List<Long> at(int index) {
        return Encoding.read(bytes, dtype, index * dtype.bits());
    }

    private boolean isInteger() {
        return Encoding.isInteger(dtype);
    }

    private boolean isHalf() {
        return dtype.kind() == Kind.FLOATING
                ? dtype.bits() == Short.SIZE
                : dtype.kind() == Kind.COMPLEX && dtype.bits() == 2 * Short.SIZE;
    }

    private int small() {
        return choices.below(201) - 100;
    }

    private void setLong() {
        if (size > 0) {
            int index = choices.below(size);
            // Halves hold small integers only without rounding.
            long value = isInteger() ? choices.bits() : small();
            story.accept("setLong(" + index + ", " + JavaSource.of(value) + ")");
            storage.setLong(index, value);
            put(index, isInteger() ? List.of(value & mask()) : Encoding.number(dtype, (int) value, 0));
        }
    }

    private void setDouble() {
        if (size > 0) {
            int index = choices.below(size);
            double value = isHalf() ? small() : choices.of(DOUBLES);
            boolean isFloat = choices.yes() && (float) value == value;
            story.accept((isFloat ? "setFloat(" : "setDouble(") + index + ", " + (isFloat ? "(float) " : "")
                    + JavaSource.of(value) + ")");
            if (isFloat) {
                storage.setFloat(index, (float) value);
            } else {
                storage.setDouble(index, value);
            }
            put(index, stored(value));
        }
    }

    /// What a double becomes: as in C on x86-64, where it is an integer.
    private List<Long> stored(double value) {
        if (isInteger()) {
            if (dtype.equals(DType.UINT64) && value >= 0x1p63) {
                return List.of(value < 0x1p64 ? (long) (value - 0x1p63) ^ Long.MIN_VALUE : 0);
            }
            boolean isWide = dtype.bits() == Long.SIZE || dtype.equals(DType.UINT32);
            double limit = isWide ? 0x1p63 : 0x1p31;
            double whole = value < 0 ? Math.ceil(value) : Math.floor(value);
            boolean fits = whole >= -limit && whole < limit;
            return List.of((fits ? (long) whole : isWide ? Long.MIN_VALUE : Integer.MIN_VALUE) & mask());
        }
        return Encoding.convert(DType.FLOAT64, List.of(Double.doubleToRawLongBits(value)), dtype);
    }

    private long mask() {
        return -1L >>> (Long.SIZE - dtype.bits());
    }

    private void setComplex() {
        if (size > 0) {
            int index = choices.below(size);
            int real = small();
            int imaginary = small();
            story.accept("setComplex(" + index + ", new Complex(" + real + ", " + imaginary + "))");
            storage.setComplex(index, new Complex(real, imaginary));
            put(index, Encoding.number(dtype, real, imaginary));
        }
    }

    private void fill() {
        int value = small();
        int way = choices.below(3);
        story.accept("fill(" + List.of((double) value, value + "L", "new Complex(" + value + ", 0)").get(way) + ")");
        switch (way) {
            case 0 -> storage.fill((double) value);
            case 1 -> storage.fill((long) value);
            default -> storage.fill(new Complex(value, 0));
        }
        IntStream.range(0, size).forEach(i -> put(i, Encoding.number(dtype, value, 0)));
    }

    /// Small numbers of another type, which are the same numbers here.
    private void copyFromOther() {
        DType other = choices.of(DTYPES);
        long[] numbers = new long[size];
        Arrays.setAll(numbers, _ -> choices.below(100));
        story.accept("copyFrom(TypedStorage.of(" + JavaSource.of(other) + ", " + JavaSource.numbers(numbers) + "))");
        assertThat(storage.copyFrom(TypedStorage.of(other, numbers))).isEqualTo(storage);
        IntStream.range(0, size).forEach(i -> put(i, Encoding.number(dtype, (int) numbers[i], 0)));
        assertThatThrownBy(() -> storage.copyFrom(TypedStorage.allocate(other, size + 1L)))
                .isInstanceOf(IllegalArgumentException.class);
    }

    /// Of the same bytes, some elements further on: as if through another place.
    private void copyFromSlice() {
        int count = choices.below(size + 1);
        int from = choices.below(size - count + 1);
        int to = choices.below(size - count + 1);
        story.accept("slice(" + to + ", " + count + ").copyFrom(slice(" + from + ", " + count + ") of it)");
        TypedStorage target = storage.slice(to, count);
        TypedStorage source = storage.slice(from, count);
        target.copyFrom(source);
        source.release();
        target.release();
        System.arraycopy(bytes, from * itemsize, bytes, to * itemsize, count * itemsize);
    }

    private void writeThroughSlice() {
        int from = choices.below(size + 1);
        boolean isRest = choices.yes();
        int count = isRest ? size - from : choices.below(size - from + 1);
        story.accept("slice(" + from + (isRest ? "" : ", " + count) + ").fill(7L)");
        TypedStorage slice = isRest ? storage.slice(from) : storage.slice(from, count);
        assertThat(slice.size()).isEqualTo(count);
        slice.fill(7L);
        IntStream.range(from, from + count).forEach(i -> put(i, Encoding.number(dtype, 7, 0)));
        assertThat(slice.untyped().base()).contains(storage.untyped().base().orElse(storage.untyped()));
        slice.release();
    }

    /// To another type and back: the numbers are small.
    private void convert() {
        IntStream.range(0, size).forEach(i -> {
            int value = choices.below(100);
            story.accept("setLong(" + i + ", " + value + ")");
            storage.setLong(i, value);
            put(i, Encoding.number(dtype, value, 0));
        });
        DType other = choices.of(DTYPES);
        story.accept("to(" + JavaSource.of(other) + ")");
        TypedStorage converted = storage.to(other);
        assertThat(converted.dtype()).isEqualTo(other);
        assertThat(converted.size()).isEqualTo(size);
        assertThat(converted.untyped()).isNotSameAs(storage.untyped());
        // A copy has the bytes that fill no element too.
        byte[] expected = other.equals(dtype) ? bytes.clone() : new byte[size * other.itemsize()];
        for (int i = 0; i < size; i++) {
            Encoding.write(expected, other, i * other.bits(), Encoding.convert(dtype, at(i), other));
            assertThat(converted.getComplex(i)).isEqualTo(Encoding.number(dtype, at(i)));
        }
        assertThat(bytesOf(converted)).isEqualTo(expected);
    }

    private void byteswap() {
        story.accept("untyped().byteswap(" + JavaSource.of(dtype) + ")");
        if (bytes.length % itemsize != 0) {
            assertThatThrownBy(() -> storage.untyped().byteswap(dtype)).isInstanceOf(IllegalArgumentException.class);
            return;
        }
        assertThat(storage.untyped().byteswap(dtype)).isSameAs(storage.untyped());
        int part = dtype.kind() == Kind.COMPLEX ? itemsize / 2 : itemsize;
        byte[] before = bytes.clone();
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = before[i / part * part + part - 1 - i % part];
        }
    }

    private void outside() {
        long[] wrong = {-1, size, Long.MIN_VALUE, Long.MAX_VALUE, Long.MAX_VALUE / itemsize + 1};
        long index = wrong[choices.below(wrong.length)];
        story.accept("get(" + JavaSource.of(index) + ")");
        List.<ThrowingCallable>of(() -> storage.get(index),
                () -> storage.setLong(index, 1), () -> storage.setDouble(index, 1),
                () -> storage.setComplex(index, new Complex(1, 1)), () -> storage.slice(index, 1))
                .forEach(use -> assertThatThrownBy(use).isInstanceOf(IndexOutOfBoundsException.class));
    }

    private void compare() {
        assertThat(storage.size()).isEqualTo(size);
        assertThat(storage.nbytes()).isEqualTo(bytes.length);
        assertThat(storage.elementSize()).isEqualTo(itemsize);
        assertThat(bytesOf(storage)).isEqualTo(bytes);
        List<Object> list = storage.toList();
        for (int i = 0; i < size; i++) {
            Complex number = Encoding.number(dtype, at(i));
            assertThat(storage.getDouble(i)).isEqualTo((Double) number.real());
            assertThat(storage.getFloat(i)).isEqualTo((Float) (float) number.real());
            assertThat(storage.getComplex(i)).isEqualTo(number);
            assertThat(storage.getLong(i)).isEqualTo(Encoding.whole(dtype, at(i)));
            Object value = switch (dtype.kind()) {
                case FLOATING -> number.real();
                case COMPLEX -> number;
                default -> Encoding.whole(dtype, at(i));
            };
            assertThat(storage.get(i)).isEqualTo(dtype.equals(DType.UINT64)
                    ? new BigInteger(Long.toUnsignedString((Long) value))
                    : value);
            assertThat(list.get(i)).isEqualTo(storage.get(i));
        }
        assertThat(bytesOf(storage.copy())).isEqualTo(bytes);
        if (dtype.equals(DType.UINT8) || dtype.equals(DType.INT8)) {
            assertThat(storage.string(ISO_8859_1)).isEqualTo(new String(bytes, ISO_8859_1));
        }
    }

    private static byte[] bytesOf(TypedStorage storage) {
        byte[] bytes = new byte[Math.toIntExact(storage.nbytes())];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = storage.untyped().get(i);
        }
        return bytes;
    }
}
