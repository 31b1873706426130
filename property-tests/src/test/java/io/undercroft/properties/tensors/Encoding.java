package io.undercroft.properties.tensors;

import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.DType.Kind;
import io.undercroft.storage.Tensor.Flag;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// How elements are stored, written down a second time, as plainly as can be.
///
/// An element is a list of its parts, each the bits of one number: a complex element has two, all others one.
final class Encoding {
    private Encoding() {}

    /// {@return the stored parts of the element at a place, in bits}
    static List<Long> read(byte[] bytes, DType dtype, int place) {
        int width = partWidth(dtype);
        return IntStream.range(0, parts(dtype)).mapToObj(part -> readBits(bytes, place + part * width, width)).toList();
    }

    /// Writes the stored parts of an element at a place, in bits.
    static void write(byte[] bytes, DType dtype, int place, List<Long> parts) {
        int width = partWidth(dtype);
        for (int part = 0; part < parts.size(); part++) {
            writeBits(bytes, place + part * width, width, parts.get(part));
        }
    }

    /// {@return what stored parts mean under flags; and the other way round}
    static List<Long> resolve(DType dtype, Set<Flag> flags, List<Long> parts) {
        boolean neg = flags.contains(Flag.NEG);
        boolean conj = flags.contains(Flag.CONJ);
        List<Long> resolved = new ArrayList<>();
        for (int part = 0; part < parts.size(); part++) {
            boolean negative = neg != (conj && part == 1);
            resolved.add(negative ? negate(dtype, parts.get(part)) : parts.get(part));
        }
        return resolved;
    }

    static Complex number(DType dtype, List<Long> parts) {
        return new Complex(real(dtype, parts.getFirst()), parts.size() == 2 ? real(dtype, parts.getLast()) : 0);
    }

    /// {@return the whole part of a real part}
    static long whole(DType dtype, List<Long> parts) {
        long bits = parts.getFirst();
        return switch (dtype.kind()) {
            case SIGNED -> bits << (Long.SIZE - dtype.bits()) >> (Long.SIZE - dtype.bits());
            case UNSIGNED, QUANTIZED -> bits;
            default -> (long) real(dtype, bits);
        };
    }

    /// {@return the parts of a number; it must fit the dtype without rounding} A dtype that is not complex drops the
    /// imaginary part.
    static List<Long> number(DType dtype, int real, int imaginary) {
        return of(dtype, List.of((double) real, (double) imaginary), real);
    }

    /// {@return the parts of the same number in another dtype} Numbers must fit, but from one integer dtype to another.
    static List<Long> convert(DType from, List<Long> parts, DType to) {
        return from.equals(to)
                ? parts
                : of(to, parts.stream().map(part -> real(from, part)).toList(), whole(from, parts));
    }

    private static List<Long> of(DType dtype, List<Double> reals, long whole) {
        if (isInteger(dtype)) {
            return List.of(whole & mask(dtype.bits()));
        }
        return Stream.concat(reals.stream(), Stream.of(0.0)).limit(parts(dtype)).map(real -> floating(dtype, real))
                .toList();
    }

    static boolean isInteger(DType dtype) {
        return dtype.kind() == Kind.SIGNED || dtype.kind() == Kind.UNSIGNED || dtype.kind() == Kind.QUANTIZED;
    }

    private static int parts(DType dtype) {
        return dtype.kind() == Kind.COMPLEX ? 2 : 1;
    }

    private static int partWidth(DType dtype) {
        return dtype.bits() / parts(dtype);
    }

    private static long negate(DType dtype, long bits) {
        int width = partWidth(dtype);
        return isInteger(dtype) ? -bits & mask(width) : bits ^ 1L << (width - 1);
    }

    private static double real(DType dtype, long bits) {
        if (dtype.equals(DType.UINT64)) {
            return new BigInteger(Long.toUnsignedString(bits)).doubleValue();
        } else if (isInteger(dtype)) {
            return whole(dtype, List.of(bits));
        }
        return switch (partWidth(dtype)) {
            case 64 -> Double.longBitsToDouble(bits);
            case 32 -> Float.intBitsToFloat((int) bits);
            default -> dtype.equals(DType.BFLOAT16)
                    ? Float.intBitsToFloat((int) bits << 16)
                    : Float.float16ToFloat((short) bits);
        };
    }

    private static long floating(DType dtype, double value) {
        return switch (partWidth(dtype)) {
            case 64 -> Double.doubleToRawLongBits(value);
            case 32 -> Float.floatToRawIntBits((float) value) & mask(32);
            default -> dtype.equals(DType.BFLOAT16)
                    ? Float.floatToRawIntBits((float) value) >>> 16
                    : Float.floatToFloat16((float) value) & mask(16);
        };
    }

    private static long readBits(byte[] bytes, int place, int width) {
        long bits = 0;
        for (int i = 0; i < width; i++) {
            bits |= (long) (bytes[(place + i) / 8] >> (place + i) % 8 & 1) << i;
        }
        return bits;
    }

    private static void writeBits(byte[] bytes, int place, int width, long bits) {
        for (int i = 0; i < width; i++) {
            int at = (place + i) / 8;
            int bit = 1 << (place + i) % 8;
            bytes[at] = (byte) ((bits >> i & 1) == 1 ? bytes[at] | bit : bytes[at] & ~bit);
        }
    }

    private static long mask(int width) {
        return -1L >>> (Long.SIZE - width);
    }
}
