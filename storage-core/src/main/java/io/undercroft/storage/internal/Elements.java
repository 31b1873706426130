package io.undercroft.storage.internal;

import io.undercroft.storage.DType;
import io.undercroft.storage.internal.Block.Values;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/// The encoding of the elements of one dtype: reads and writes single elements, and runs of them by way of a [Block]. A
/// position counts elements from the start of the segment.
///
/// Bytes are little-endian and need no alignment. Values are converted as PyTorch's `to(dtype)` converts them.
/// Instances have no state; a position outside the segment throws [IndexOutOfBoundsException].
public abstract class Elements {
    /// The encodings of known dtypes that were used.
    private static final Map<DType, Elements> MADE = new ConcurrentHashMap<>();
    /// The start of the names of blocks of numbers.
    static final String BLOCKS = "gguf:";

    Elements() {}

    /// {@return the encoding of elements of a dtype; for dtypes without numbers, one that always throws
    /// [UnsupportedOperationException]}
    ///
    /// @param dtype the type of the elements
    public static Elements of(DType dtype) {
        Elements made = MADE.get(dtype);
        if (made != null) {
            return made;
        }
        // Others may have any name, so they are not kept.
        if (!DType.find(dtype.name()).equals(Optional.of(dtype))) {
            Object opaque = dtype.name().startsWith(BLOCKS) ? BlockElements.blocks(dtype) : new Opaque(dtype);
            return (Elements) opaque;
        }
        Elements known = make(dtype);
        MADE.put(dtype, known);
        return known;
    }

    /// {@return the encoding of elements of a dtype, whose values are converted by a convention}
    ///
    /// @param dtype the type of the elements
    /// @param convention the convention for the results
    public static Elements of(DType dtype, Convention convention) {
        Elements different = convention == Convention.TORCH7 ? Torch7.ELEMENTS.get(dtype) : null;
        return different == null ? of(dtype) : different;
    }

    /// {@return the encoding of elements of a tensor, its lazy negation and conjugation included}
    ///
    /// @param dtype the type of the elements
    /// @param lazy the flags of the tensor
    public static Elements of(DType dtype, LazyFlags lazy) {
        Elements stored = of(dtype);
        Elements conjugated = lazy.isConjugated() ? stored.conjugated() : stored;
        return lazy.isNegated() ? conjugated.negated() : conjugated;
    }

    /// Makes elements. They are made as objects, since the verifier loads each subclass that is passed on as one of
    /// this class, and the first open needs one of them (docs/decisions/0065).
    private static Elements make(DType known) {
        Object made;
        switch (known.name()) {
            case "float64" -> made = new Float64();
            case "float32" -> made = new FloatElements.Float32();
            case "float16" -> made = new FloatElements.Float16(false);
            case "bfloat16" -> made = new FloatElements.BFloat16(FloatElements.BFloat16.NAN);
            case "float8_e4m3fn" -> made = new FloatElements.Float8(Float8Format.E4M3FN);
            case "float8_e5m2" -> made = new FloatElements.Float8(Float8Format.E5M2);
            case "float8_e4m3fnuz" -> made = new FloatElements.Float8(Float8Format.E4M3FNUZ);
            case "float8_e5m2fnuz" -> made = new FloatElements.Float8(Float8Format.E5M2FNUZ);
            case "float8_e8m0fnu" -> made = new FloatElements.Float8(Float8Format.E8M0FNU);
            case "complex128", "complex64", "complex32" -> {
                Elements part = of(Conversion.part(known));
                made = new Complexes(part, part);
            }
            case "bool" -> made = new Booleans();
            case "int64", "int32", "int16", "int8", "qint32", "qint8" -> made = integers(known, true);
            case "uint64", "uint32", "uint16", "uint8", "quint8" -> made = integers(known, false);
            case "quint4x2" -> made = new SubBytes(4);
            case "quint2x4" -> made = new SubBytes(2);
            default -> made = new Opaque(known);
        }
        return (Elements) made;
    }

    private static Object integers(DType dtype, boolean isSigned) {
        return new IntegerElements(dtype.bits(), isSigned, FloatToInteger.of(dtype.bits(), isSigned));
    }

    /// Throws if elements of a type are converted that have no numbers.
    ///
    /// @param dtype any type
    static void checkNumbers(DType dtype) {
        if (of(dtype) instanceof Opaque opaque) {
            throw opaque.noNumbers();
        }
    }

    /// The elements that differ in Torch7. (Made when they are first needed, as subclasses cannot be made before this
    /// class.)
    private static final class Torch7 {
        private static final FloatElements HALF = new FloatElements.Float16(true);
        private static final Map<DType, Elements> ELEMENTS = Map.of(DType.FLOAT16, HALF, DType.COMPLEX32,
                new Complexes(HALF, HALF), DType.BFLOAT16, FloatElements.BFloat16.OF_VECTORS, DType.UINT8,
                new IntegerElements(8, false, FloatToInteger.TO_INT));
    }

    /// {@return the dtype of blocks of quantized numbers; null if none is known}
    ///
    /// @param name their name in ggml, for instance `Q4_0`
    public static @Nullable DType blocks(String name) {
        return BlockElements.dtype(BLOCKS + name);
    }

    /// {@return how many numbers an element holds: 1, unless it is a block of quantized numbers}
    public int blockSize() {
        return 1;
    }

    // ---- single elements ----

    /// {@return an element as a double; the real part of a complex one}
    ///
    /// @param bytes the bytes that contain it
    /// @param position its position
    public abstract double getDouble(MemorySegment bytes, long position);

    /// {@return the imaginary part of an element; 0 unless it is complex}
    ///
    /// @param bytes the bytes that contain it
    /// @param position its position
    public double getImaginary(MemorySegment bytes, long position) {
        return 0;
    }

    /// {@return an element as a long; floating-point ones as a Java cast makes them, uint64 ones from 2^63 on negative}
    ///
    /// @param bytes the bytes that contain it
    /// @param position its position
    public abstract long getLong(MemorySegment bytes, long position);

    /// Writes an element, rounded to the nearest value of the dtype; integer dtypes take the lower bits of the value
    /// without its fraction.
    ///
    /// @param bytes the bytes that contain it
    /// @param position its position
    /// @param value the value to write
    public abstract void setDouble(MemorySegment bytes, long position, double value);

    /// Writes an element; integer dtypes take the lower bits of the value.
    ///
    /// @param bytes the bytes that contain it
    /// @param position its position
    /// @param value the value to write
    public abstract void setLong(MemorySegment bytes, long position, long value);

    /// Writes an element; dtypes that are not complex drop the imaginary part, and truth values are true if either part
    /// is not 0.
    ///
    /// @param bytes the bytes that contain it
    /// @param position its position
    /// @param real the real part
    /// @param imaginary the imaginary part
    public void setComplex(MemorySegment bytes, long position, double real, double imaginary) {
        setDouble(bytes, position, real);
    }

    /// Returns the encoding of the negatives of these elements; for truth values and opaque bits, unchanged.
    Elements negated() {
        Object negated = new Negated(this);
        return (Elements) negated;
    }

    /// Returns the encoding of the complex conjugates of these elements; unchanged for elements that are not complex.
    Elements conjugated() {
        return this;
    }

    // ---- runs ----

    /// Returns the values of a block that represent a run of elements.
    Values values() {
        return Values.LONGS;
    }

    /// Returns the way in which floating-point numbers become elements, if those are integers or truth values.
    FloatToInteger truncation() {
        return FloatToInteger.TO_LONG;
    }

    /// Reads elements to the first values of a block. One at a time, unless a subclass has a loop that is vectorised.
    ///
    /// @param bytes the bytes that contain them
    /// @param position the position of the first element
    /// @param block the block for the values
    /// @param count the number of elements
    void read(MemorySegment bytes, long position, Block block, int count) {
        long[] longs = block.longs();
        for (int i = 0; i < count; i++) {
            longs[i] = getLong(bytes, position + i);
        }
    }

    /// Writes the first values of a block as elements. One at a time, unless a subclass has a loop that is vectorised.
    ///
    /// @param bytes the destination of the elements
    /// @param position the position of the first element
    /// @param block the values
    /// @param count the number of elements
    void write(MemorySegment bytes, long position, Block block, int count) {
        long[] longs = block.longs();
        for (int i = 0; i < count; i++) {
            setLong(bytes, position + i, longs[i]);
        }
    }

    /// IEEE binary64.
    private static final class Float64 extends Elements {
        @Override
        public double getDouble(MemorySegment bytes, long position) {
            return bytes.get(Layouts.DOUBLE, Layouts.at(position, Double.BYTES));
        }

        @Override
        public long getLong(MemorySegment bytes, long position) {
            return (long) getDouble(bytes, position);
        }

        @Override
        public void setDouble(MemorySegment bytes, long position, double value) {
            bytes.set(Layouts.DOUBLE, Layouts.at(position, Double.BYTES), value);
        }

        @Override
        public void setLong(MemorySegment bytes, long position, long value) {
            setDouble(bytes, position, (double) value);
        }

        @Override
        Values values() {
            return Values.DOUBLES;
        }

        @Override
        void read(MemorySegment bytes, long position, Block block, int count) {
            MemorySegment.copy(bytes, Layouts.DOUBLE, Layouts.at(position, Double.BYTES), block.doubles(), 0, count);
        }

        @Override
        void write(MemorySegment bytes, long position, Block block, int count) {
            MemorySegment.copy(block.doubles(), 0, bytes, Layouts.DOUBLE, Layouts.at(position, Double.BYTES), count);
        }
    }

    /// Truth values: a byte that is not 0 is true, and true is written as 1.
    private static final class Booleans extends Elements {
        @Override
        public double getDouble(MemorySegment bytes, long position) {
            return getLong(bytes, position);
        }

        @Override
        public long getLong(MemorySegment bytes, long position) {
            return bytes.get(Layouts.BYTE, position) == 0 ? 0 : 1;
        }

        @Override
        public void setDouble(MemorySegment bytes, long position, double value) {
            setLong(bytes, position, value == 0 ? 0 : 1);
        }

        @Override
        public void setLong(MemorySegment bytes, long position, long value) {
            bytes.set(Layouts.BYTE, position, (byte) (value == 0 ? 0 : 1));
        }

        @Override
        public void setComplex(MemorySegment bytes, long position, double real, double imaginary) {
            setLong(bytes, position, real == 0 && imaginary == 0 ? 0 : 1);
        }

        @Override
        Elements negated() {
            return this;
        }

        @Override
        FloatToInteger truncation() {
            return FloatToInteger.TO_TRUTH;
        }

        @Override
        void read(MemorySegment bytes, long position, Block block, int count) {
            byte[] stored = block.readBytes(bytes, position, count);
            long[] longs = block.longs();
            for (int i = 0; i < count; i++) {
                long value = stored[i];
                longs[i] = (value | -value) >>> 63;
            }
        }

        @Override
        void write(MemorySegment bytes, long position, Block block, int count) {
            long[] longs = block.longs();
            byte[] stored = block.storedBytes();
            for (int i = 0; i < count; i++) {
                stored[i] = (byte) ((longs[i] | -longs[i]) >>> 63);
            }
            block.writeBytes(bytes, position, count);
        }
    }

    /// Unsigned integers narrower than a byte; the first element of a byte is in its lowest bits.
    private static final class SubBytes extends Elements {
        private final int bits;

        /// @param bits width of an element, a divisor of 8
        SubBytes(int bits) {
            this.bits = bits;
        }

        @Override
        public double getDouble(MemorySegment bytes, long position) {
            return getLong(bytes, position);
        }

        @Override
        public long getLong(MemorySegment bytes, long position) {
            return bytes.get(Layouts.BYTE, position / perByte()) >> shift(position) & mask();
        }

        @Override
        public void setDouble(MemorySegment bytes, long position, double value) {
            setLong(bytes, position, FloatToInteger.TO_LONG.of(value));
        }

        @Override
        public void setLong(MemorySegment bytes, long position, long value) {
            int others = bytes.get(Layouts.BYTE, position / perByte()) & ~(mask() << shift(position));
            int own = ((int) value & mask()) << shift(position);
            bytes.set(Layouts.BYTE, position / perByte(), (byte) (others | own));
        }

        private int perByte() {
            return 8 / bits;
        }

        private int mask() {
            return (1 << bits) - 1;
        }

        private int shift(long position) {
            return (int) (position % perByte()) * bits;
        }
    }

    /// Complex numbers: the real part, then the imaginary part. Positions of parts count parts. [Conversion] reads and
    /// writes runs of parts.
    private static final class Complexes extends Elements {
        private final Elements real;
        private final Elements imaginary;

        Complexes(Elements real, Elements imaginary) {
            this.real = real;
            this.imaginary = imaginary;
        }

        @Override
        public double getDouble(MemorySegment bytes, long position) {
            return real.getDouble(bytes, realPart(position));
        }

        @Override
        public double getImaginary(MemorySegment bytes, long position) {
            return imaginary.getDouble(bytes, imaginaryPart(position));
        }

        @Override
        public long getLong(MemorySegment bytes, long position) {
            return real.getLong(bytes, realPart(position));
        }

        @Override
        public void setDouble(MemorySegment bytes, long position, double value) {
            setComplex(bytes, position, value, 0);
        }

        @Override
        public void setLong(MemorySegment bytes, long position, long value) {
            real.setLong(bytes, realPart(position), value);
            imaginary.setDouble(bytes, imaginaryPart(position), 0);
        }

        @Override
        public void setComplex(MemorySegment bytes, long position, double realValue, double imaginaryValue) {
            real.setDouble(bytes, realPart(position), realValue);
            imaginary.setDouble(bytes, imaginaryPart(position), imaginaryValue);
        }

        @Override
        Elements negated() {
            return new Complexes(real.negated(), imaginary.negated());
        }

        @Override
        Elements conjugated() {
            return new Complexes(real, imaginary.negated());
        }

        private static long realPart(long position) {
            return Math.multiplyExact(position, 2);
        }

        private static long imaginaryPart(long position) {
            return realPart(position) + 1;
        }
    }

    /// The negatives of stored elements.
    private static final class Negated extends Elements {
        private final Elements stored;

        Negated(Elements stored) {
            this.stored = stored;
        }

        @Override
        public double getDouble(MemorySegment bytes, long position) {
            return -stored.getDouble(bytes, position);
        }

        @Override
        public long getLong(MemorySegment bytes, long position) {
            // Negated first, limited to the range of long then.
            return (long) getDouble(bytes, position);
        }

        @Override
        public void setDouble(MemorySegment bytes, long position, double value) {
            stored.setDouble(bytes, position, -value);
        }

        @Override
        public void setLong(MemorySegment bytes, long position, long value) {
            if (value == Long.MIN_VALUE) {
                // Its negative is no long.
                stored.setDouble(bytes, position, 0x1p63);
            } else {
                stored.setLong(bytes, position, -value);
            }
        }

        @Override
        Elements negated() {
            return stored;
        }
    }

    /// Elements of bits without a numeric value.
    static class Opaque extends Elements {
        private final DType dtype;

        /// @param dtype their type, for the message
        Opaque(DType dtype) {
            this.dtype = dtype;
        }

        final DType dtype() {
            return dtype;
        }

        @Override
        public double getDouble(MemorySegment bytes, long position) {
            throw noNumbers();
        }

        @Override
        public long getLong(MemorySegment bytes, long position) {
            throw noNumbers();
        }

        @Override
        public void setDouble(MemorySegment bytes, long position, double value) {
            throw noNumbers();
        }

        @Override
        public void setLong(MemorySegment bytes, long position, long value) {
            throw noNumbers();
        }

        @Override
        Elements negated() {
            return this;
        }

        UnsupportedOperationException noNumbers() {
            return new UnsupportedOperationException(
                    "elements of " + dtype + " are bits without a numeric value; use bytes() to read or write them");
        }
    }
}
