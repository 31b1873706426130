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
/// other than float64 are converted to narrower ones through float32. [Truncation] defines how they become integers.
/// Integers keep their lower bits. Complex numbers lose their imaginary part when they are converted to other types,
/// and are true if either part is not 0. Quantized types are treated as the stored integers.
///
/// Where PyTorch has different results for few and for many elements, because its vectorised loops differ, ours is
/// always the same: that for many elements for NaNs from float16 to float32 and from float64 to bfloat16, and
/// that for one element from floating-point types to uint32 out of range. Otherwise ours are PyTorch's, bit for bit,
/// but for two oddities: PyTorch makes 0 of a NaN of the float8 formats that have only one, on the way to int32, int64
/// and uint64, and leaves signalling NaNs as they are from complex32 to float16.
public final class Conversion {
    private static final Map<DType, DType> PARTS = Map.of(DType.COMPLEX128, DType.FLOAT64, DType.COMPLEX64,
            DType.FLOAT32, DType.COMPLEX32, DType.FLOAT16);

    private final BlockReader reader;
    private final BlockWriter writer;
    private final Step step;

    private Conversion(BlockReader reader, BlockWriter writer, Step step) {
        this.reader = reader;
        this.writer = writer;
        this.step = step;
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
        Conversion conversion = of(from, to, convention);
        int itemsize = Math.max(from.itemsize(), to.itemsize());
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
            reader.read(source, position, block, count);
            step.apply(block, count);
            writer.write(block, target, position, count);
        }
        block.release();
    }

    private static Conversion of(DType from, DType to, Convention convention) {
        OpaqueElements.check(from);
        OpaqueElements.check(to);
        BlockReader reader = reader(from, to, convention);
        BlockWriter writer = writer(from, to, reader.values(), convention);
        return new Conversion(reader, writer, step(from, reader.values(), to, writer.values(), convention));
    }

    private static BlockReader reader(DType from, DType to, Convention convention) {
        BlockCodec parts = BlockCodec.of(part(from), convention);
        if (parts instanceof BlockCodec.SmallIntegers integers && integers.bits() < 32
                && BlockCodec.of(part(to), convention).values().areFloats()) {
            return new BlockReader.SmallFloats(integers);
        }
        if (from.equals(DType.FLOAT32) && to.equals(DType.BFLOAT16)) {
            return new BlockCodec.FloatPairs();
        }
        if (from.kind() != Kind.COMPLEX) {
            return parts;
        }
        return to.equals(DType.BOOL) ? new BlockReader.EitherPart(parts) : new BlockReader.RealParts(parts);
    }

    private static BlockWriter writer(DType from, DType to, Values has, Convention convention) {
        if (to.equals(DType.BFLOAT16) && (from.equals(DType.FLOAT32) || from.equals(DType.FLOAT64))) {
            return new BlockCodec.BFloats(FloatElements.BFloat16.NAN_OF_VECTORS);
        }
        if (to.equals(DType.FLOAT32) && has == Values.FLOAT_PAIRS) {
            return new BlockCodec.FloatPairs();
        }
        BlockCodec parts = BlockCodec.of(part(to), convention);
        if (parts instanceof BlockCodec.SmallIntegers integers && integers.bits() < 32 && has.areFloats()) {
            return new BlockWriter.SmallFloats(integers, Truncation.of(to, convention));
        }
        return to.kind() == Kind.COMPLEX ? new BlockWriter.RealParts(parts) : parts;
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

    private static Step step(DType from, Values has, DType to, Values wants, Convention convention) {
        if (has == wants) {
            return (block, count) -> {};
        }
        if (has == Values.FLOAT_PAIRS) {
            return ((Step) Block::pairsToFloats).then(step(from, Values.FLOATS, to, wants, convention));
        }
        return switch (wants) {
            case INTS -> switch (has) {
                case LONGS -> Block::longsToInts;
                case FLOATS -> Truncation.of(to, convention)::floatsToInts;
                default -> truncation(has, to, convention).then(Block::longsToInts);
            };
            case LONGS -> has == Values.INTS ? Block::intsToLongs : truncation(has, to, convention);
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

    private static Step truncation(Values has, DType to, Convention convention) {
        Truncation truncation = Truncation.of(to, convention);
        return has == Values.FLOATS ? truncation::floatsToLongs : truncation::doublesToLongs;
    }
}
