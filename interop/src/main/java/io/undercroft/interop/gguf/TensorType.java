package io.undercroft.interop.gguf;

import io.undercroft.storage.DType;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// A type of tensors that ggml has.
///
/// @param code its number in files
/// @param dtype what an element is here
record TensorType(int code, DType dtype) {
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
        blocks(2, "Q4_0");
        blocks(3, "Q4_1");
        blocks(6, "Q5_0");
        blocks(7, "Q5_1");
        blocks(8, "Q8_0");
        blocks(9, "Q8_1");
        blocks(10, "Q2_K");
        blocks(11, "Q3_K");
        blocks(12, "Q4_K");
        blocks(13, "Q5_K");
        blocks(14, "Q6_K");
        blocks(15, "Q8_K");
        blocks(16, "IQ2_XXS");
        blocks(17, "IQ2_XS");
        blocks(18, "IQ3_XXS");
        blocks(19, "IQ1_S");
        blocks(20, "IQ4_NL");
        blocks(21, "IQ3_S");
        blocks(22, "IQ2_S");
        blocks(23, "IQ4_XS");
        blocks(29, "IQ1_M");
        blocks(34, "TQ1_0");
        blocks(35, "TQ2_0");
        blocks(39, "MXFP4");
        blocks(40, "NVFP4");
        blocks(41, "Q1_0");
    }

    private static void plain(int code, DType dtype) {
        add(new TensorType(code, dtype));
    }

    private static void blocks(int code, String name) {
        add(new TensorType(code, DType.blocks(name)));
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

    /// {@return how many numbers an element is}
    int block() {
        return dtype.blockSize();
    }

    /// {@return whether elements are numbers, and not blocks of numbers}
    boolean isPlain() {
        return block() == 1;
    }
}
