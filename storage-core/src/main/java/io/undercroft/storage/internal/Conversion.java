package io.undercroft.storage.internal;

import io.undercroft.storage.DType;
import io.undercroft.storage.DType.Kind;
import io.undercroft.storage.internal.Block.Step;
import io.undercroft.storage.internal.Block.Values;
import java.lang.foreign.MemorySegment;
import java.util.Map;

/// Converts runs of elements from one dtype to another, in three steps: elements become values of a block, the values
/// get the Java type that the other dtype uses, and are written as its elements. So there is code for each dtype, not
/// for each pair. Several threads share long runs ([ParallelRanges]).
///
/// Results are those of PyTorch 2.13 or Torch7 on x86-64. Floating-point types round to nearest, ties to even; types
/// other than float64 are converted to narrower ones through float32. [FloatToInteger] defines how they become
/// integers. Integers keep their lower bits. Complex numbers lose their imaginary part when they are converted to other
/// types, and are true if either part is not 0. Quantized types are treated as the stored integers.
///
/// Where PyTorch has different results for few and for many elements, because its vectorised loops differ, ours is
/// always the same: that for many elements for NaNs from float16 to float32 and from float64 to bfloat16, and
/// that for one element from floating-point types to uint32 out of range. Otherwise ours are PyTorch's, bit for bit,
/// but for two oddities: PyTorch makes 0 of a NaN of the float8 formats that have only one, on the way to int32, int64
/// and uint64, and leaves signalling NaNs as they are from complex32 to float16.
public final class Conversion {
    private static final Map<DType, DType> PARTS = Map.of(DType.COMPLEX128, DType.FLOAT64, DType.COMPLEX64,
            DType.FLOAT32, DType.COMPLEX32, DType.FLOAT16);

    private final Run reader;
    private final Step step;
    private final Run writer;

    private Conversion(Run reader, Step step, Run writer) {
        this.reader = reader;
        this.step = step;
        this.writer = writer;
    }

    /// Reads a run of elements to the first values of a block, or writes them.
    private interface Run {
        void apply(MemorySegment bytes, long position, Block block, int count);
    }

    /// Converts adjacent elements.
    ///
    /// @param from the dtype of the source
    /// @param source the elements, the first at byte 0
    /// @param to the dtype of the target
    /// @param target the destination of the converted elements, the first at byte 0; not overlapping the source
    /// @param numel number of elements
    /// @param convention the convention for the results
    /// @throws IndexOutOfBoundsException if the source or the target is too small
    /// @throws UnsupportedOperationException if the dtypes differ and one of them has no numbers
    public static void convert(DType from, MemorySegment source, DType to, MemorySegment target, long numel,
            Convention convention) {
        if (haveSameBits(from, to)) {
            MemorySegment.copy(source, 0, target, 0, from.nbytes(numel));
            return;
        }
        if (from.kind() == Kind.COMPLEX && to.kind() == Kind.COMPLEX) {
            convert(part(from), source, part(to), target, Math.multiplyExact(numel, 2), convention);
            return;
        }
        Elements.checkNumbers(from);
        Elements.checkNumbers(to);
        runs(of(from, to, convention), from, source, to, target, numel);
    }

    /// Converts the numbers of adjacent blocks.
    ///
    /// @param from the dtype of the source, of [blocks][Elements#blockSize]
    /// @param source the blocks, the first at byte 0
    /// @param to the dtype of the target
    /// @param target the destination of the numbers, the first at byte 0; not overlapping the source
    /// @param numel the number of numbers, a multiple of the size of a block
    /// @throws IndexOutOfBoundsException if the source or the target is too small
    /// @throws UnsupportedOperationException if the dtype of the target has no numbers
    public static void decode(DType from, MemorySegment source, DType to, MemorySegment target, long numel) {
        Elements.checkNumbers(to);
        runs(of(from, to, Convention.PYTORCH), from, source, to, target, numel);
    }

    private static void runs(Conversion conversion, DType from, MemorySegment source, DType to, MemorySegment target,
            long numel) {
        int itemsize = Math.max(from.itemsize() / from.blockSize(), to.itemsize());
        int parts = from.kind() == Kind.COMPLEX || to.kind() == Kind.COMPLEX ? 2 : 1;
        // A whole block begins at a whole byte, also of elements that do not.
        int elements = Block.elements(itemsize, parts);
        ParallelRanges.run(Math.ceilDiv(numel, elements), (long) elements * itemsize,
                (first, end) -> conversion.run(source, target, first * elements, Math.min(end * elements, numel),
                        elements),
                source, target);
    }

    private void run(MemorySegment source, MemorySegment target, long first, long end, int elements) {
        Block block = Block.take();
        for (long position = first; position < end; position += elements) {
            int count = (int) Math.min(elements, end - position);
            reader.apply(source, position, block, count);
            step.apply(block, count);
            writer.apply(target, position, block, count);
        }
        block.release();
    }

    private static Conversion of(DType from, DType to, Convention convention) {
        Elements source = Elements.of(part(from), convention);
        Elements target = Elements.of(part(to), convention);
        Run reader = source::read;
        Values has = source.values();
        if (source instanceof IntegerElements small && small.areShort() && target.values().areFloats()) {
            reader = small::readFloats;
            has = Values.FLOATS;
        } else if (from.equals(DType.FLOAT32) && to.equals(DType.BFLOAT16)) {
            reader = FloatElements.Float32::readPairs;
            has = Values.FLOAT_PAIRS;
        }
        Run writer = target::write;
        Values wants = target.values();
        if (target instanceof IntegerElements small && small.areShort() && has.areFloats()) {
            writer = small::writeFloats;
            wants = Values.FLOATS;
        } else if (to.equals(DType.FLOAT32) && has == Values.FLOAT_PAIRS) {
            writer = FloatElements.Float32::writePairs;
            wants = Values.FLOAT_PAIRS;
        } else if (to.equals(DType.BFLOAT16)
                && (from.equals(DType.FLOAT32) || from.equals(DType.FLOAT64) || source.blockSize() > 1)) {
            writer = FloatElements.BFloat16.OF_VECTORS::write;
        }
        if (from.kind() == Kind.COMPLEX) {
            reader = oneOfTwo(reader, has, to.equals(DType.BOOL));
        } else if (to.kind() == Kind.COMPLEX) {
            writer = withImaginary(writer, wants);
        }
        return new Conversion(reader, step(from, has, target, wants), writer);
    }

    /// Reads complex numbers as their real parts, or as something that is 0 only if both parts are.
    private static Run oneOfTwo(Run parts, Values values, boolean isEither) {
        return (bytes, position, block, count) -> {
            parts.apply(bytes, Math.multiplyExact(position, 2), block, 2 * count);
            block.keepOneOfTwo(values, isEither, count);
        };
    }

    /// Writes complex numbers without an imaginary part.
    private static Run withImaginary(Run parts, Values values) {
        return (bytes, position, block, count) -> {
            block.addImaginary(values, count);
            parts.apply(bytes, Math.multiplyExact(position, 2), block, 2 * count);
        };
    }

    private static boolean haveSameBits(DType from, DType to) {
        boolean onlySigns = from.kind().isInteger() && to.kind().isInteger() && from.bits() == to.bits();
        return from.isByteSized() && (from.equals(to) || onlySigns);
    }

    /// {@return the type of the parts of complex elements; the type itself of others}
    ///
    /// @param dtype any type
    public static DType part(DType dtype) {
        return PARTS.getOrDefault(dtype, dtype);
    }

    private static Step step(DType from, Values has, Elements target, Values wants) {
        FloatToInteger truncation = target.truncation();
        if (has == wants) {
            return (block, count) -> {};
        }
        if (has == Values.FLOAT_PAIRS) {
            return ((Step) Block::pairsToFloats).then(step(from, Values.FLOATS, target, wants));
        }
        Step toLongs = has == Values.FLOATS ? truncation::floatsToLongs : truncation::doublesToLongs;
        return switch (wants) {
            case INTS -> switch (has) {
                case LONGS -> Block::longsToInts;
                case FLOATS -> truncation::floatsToInts;
                default -> toLongs.then(Block::longsToInts);
            };
            case LONGS -> has == Values.INTS ? Block::intsToLongs : toLongs;
            case FLOATS -> toFloats(from, has);
            case FLOAT_PAIRS -> has == Values.FLOATS
                    ? Block::floatsToPairs
                    : toFloats(from, has).then(Block::floatsToPairs);
            case DOUBLES -> switch (has) {
                case INTS -> Block::intsToDoubles;
                case LONGS -> from.equals(DType.UINT64) ? Block::unsignedLongsToDoubles : Block::longsToDoubles;
                default -> Block::floatsToDoubles;
            };
        };
    }

    private static Step toFloats(DType from, Values has) {
        return switch (has) {
            case INTS -> Block::intsToFloats;
            case LONGS -> from.equals(DType.UINT64) ? Block::unsignedLongsToFloats : Block::longsToFloats;
            default -> Block::doublesToFloats;
        };
    }
}
