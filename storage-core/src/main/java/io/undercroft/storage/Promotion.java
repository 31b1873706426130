package io.undercroft.storage;

import io.undercroft.storage.DType.Kind;
import java.util.List;

/// The dtype that two dtypes have in common, by PyTorch's rules (`promote_types`).
final class Promotion {
    /// Each may become those after it, with the exceptions that [#common] makes.
    private static final List<DType> LADDER = List.of(DType.BOOL, DType.UINT8, DType.INT8, DType.INT16, DType.INT32,
            DType.INT64, DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64, DType.COMPLEX32, DType.COMPLEX64,
            DType.COMPLEX128);
    private static final List<DType> WIDE_UNSIGNED = List.of(DType.UINT16, DType.UINT32, DType.UINT64);

    private Promotion() {}

    /// Returns the dtype in which two tensors are compared. A tensor without dimensions counts less than one with some,
    /// unless its numbers are of a higher kind (`result_type`).
    static DType common(Tensor a, Tensor b) {
        if (a.dim() == 0 && b.dim() > 0) {
            return withNumber(b.dtype(), a.dtype());
        }
        return b.dim() == 0 && a.dim() > 0 ? withNumber(a.dtype(), b.dtype()) : common(a.dtype(), b.dtype());
    }

    /// Returns the dtype of many elements and of a single number next to them: the number's kind counts, not its width.
    private static DType withNumber(DType elements, DType number) {
        if (rank(number) <= rank(elements)) {
            return elements;
        }
        if (number.kind() == Kind.COMPLEX && isOrdinaryFloat(elements)) {
            return elements.equals(DType.FLOAT16) ? DType.COMPLEX32 : climb(elements, DType.COMPLEX64);
        }
        return WIDE_UNSIGNED.contains(elements) && number.kind() == Kind.COMPLEX ? number : common(elements, number);
    }

    /// Returns the smallest dtype that both become.
    ///
    /// @throws IllegalArgumentException if there is none
    static DType common(DType a, DType b) {
        if (a.equals(b)) {
            return a;
        }
        if (WIDE_UNSIGNED.contains(a) && isOrdinaryFloat(b)) {
            return b;
        }
        if (WIDE_UNSIGNED.contains(b) && isOrdinaryFloat(a)) {
            return a;
        }
        int first = LADDER.indexOf(a);
        int second = LADDER.indexOf(b);
        if (first < 0 || second < 0) {
            throw new IllegalArgumentException(a + " and " + b + " have no dtype in common; convert one with to()");
        }
        return first < second ? climb(a, b) : climb(b, a);
    }

    private static DType climb(DType lower, DType higher) {
        if (lower.equals(DType.UINT8) && higher.equals(DType.INT8)) {
            return DType.INT16;
        }
        if (lower.equals(DType.FLOAT16) && higher.equals(DType.BFLOAT16)) {
            return DType.FLOAT32;
        }
        if (higher.kind() != Kind.COMPLEX || lower.kind() != Kind.FLOATING || lower.equals(DType.FLOAT16)) {
            return higher;
        }
        return lower.equals(DType.FLOAT64) || higher.equals(DType.COMPLEX128) ? DType.COMPLEX128 : DType.COMPLEX64;
    }

    private static boolean isOrdinaryFloat(DType dtype) {
        return dtype.kind() == Kind.FLOATING && LADDER.contains(dtype);
    }

    /// Truth values, integers, floating-point numbers, complex numbers.
    private static int rank(DType dtype) {
        return switch (dtype.kind()) {
            case BOOLEAN -> 0;
            case SIGNED, UNSIGNED, QUANTIZED, BITS -> 1;
            case FLOATING -> 2;
            case COMPLEX -> 3;
        };
    }
}
