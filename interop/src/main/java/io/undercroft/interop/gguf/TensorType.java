package io.undercroft.interop.gguf;

import io.undercroft.storage.DType;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// A type of tensors that ggml has.
///
/// @param code its number in files
/// @param block how many numbers are one element here
/// @param dtype what an element is here
record TensorType(int code, int block, DType dtype) {
    private static final int K = 256;
    private static final Map<Integer, TensorType> BY_CODE = new HashMap<>();
    private static final Map<DType, TensorType> BY_DTYPE = new HashMap<>();

    static {
        plain(0, DType.FLOAT32);
        plain(1, DType.FLOAT16);
        plain(24, DType.INT8);
        plain(25, DType.INT16);
        plain(26, DType.INT32);
        plain(27, DType.INT64);
        plain(28, DType.FLOAT64);
        plain(30, DType.BFLOAT16);
        blocks(2, "Q4_0", 32, 18);
        blocks(3, "Q4_1", 32, 20);
        blocks(6, "Q5_0", 32, 22);
        blocks(7, "Q5_1", 32, 24);
        blocks(8, "Q8_0", 32, 34);
        blocks(9, "Q8_1", 32, 40);
        blocks(10, "Q2_K", K, 84);
        blocks(11, "Q3_K", K, 110);
        blocks(12, "Q4_K", K, 144);
        blocks(13, "Q5_K", K, 176);
        blocks(14, "Q6_K", K, 210);
        blocks(15, "Q8_K", K, 292);
        blocks(16, "IQ2_XXS", K, 66);
        blocks(17, "IQ2_XS", K, 74);
        blocks(18, "IQ3_XXS", K, 98);
        blocks(19, "IQ1_S", K, 50);
        blocks(20, "IQ4_NL", 32, 18);
        blocks(21, "IQ3_S", K, 110);
        blocks(22, "IQ2_S", K, 82);
        blocks(23, "IQ4_XS", K, 136);
        blocks(29, "IQ1_M", K, 56);
        blocks(34, "TQ1_0", K, 54);
        blocks(35, "TQ2_0", K, 66);
        blocks(39, "MXFP4", 32, 17);
        blocks(40, "NVFP4", 64, 36);
        blocks(41, "Q1_0", 128, 18);
    }

    private static void plain(int code, DType dtype) {
        add(new TensorType(code, 1, dtype));
    }

    private static void blocks(int code, String name, int block, int nbytes) {
        add(new TensorType(code, block, DType.opaque("gguf:" + name, nbytes * Byte.SIZE)));
    }

    private static void add(TensorType type) {
        BY_CODE.put(type.code, type);
        BY_DTYPE.put(type.dtype, type);
    }

    /// {@return the type of a number in a file, or null}
    static @Nullable TensorType of(int code) {
        return BY_CODE.get(code);
    }

    /// {@return the type that elements of a dtype are written as, if there is one}
    static Optional<TensorType> of(DType dtype) {
        return Optional.ofNullable(BY_DTYPE.get(dtype));
    }

    /// {@return whether elements are numbers, and not blocks that are only carried}
    boolean isPlain() {
        return dtype.kind() != DType.Kind.BITS;
    }
}
