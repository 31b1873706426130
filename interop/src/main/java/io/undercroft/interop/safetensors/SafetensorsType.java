package io.undercroft.interop.safetensors;

import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// A type of elements of safetensors 0.8.
///
/// @param name its name in headers
/// @param order its place among all: tensors of the last type are first in a file
/// @param dtype what such elements are here
record SafetensorsType(String name, int order, DType dtype) {
    private static final String F4 = "F4";
    private static final Map<String, SafetensorsType> BY_NAME = new HashMap<>();
    private static final Map<DType, SafetensorsType> BY_DTYPE = new HashMap<>();

    static {
        for (SafetensorsType type : List.of(known("BOOL", DType.BOOL), carried(F4, 4), carried("F6_E2M3", 6),
                carried("F6_E3M2", 6),
                known("U8", DType.UINT8), known("I8", DType.INT8), known("F8_E5M2", DType.FLOAT8_E5M2),
                known("F8_E4M3", DType.FLOAT8_E4M3FN), known("F8_E8M0", DType.FLOAT8_E8M0FNU),
                known("F8_E4M3FNUZ", DType.FLOAT8_E4M3FNUZ), known("F8_E5M2FNUZ", DType.FLOAT8_E5M2FNUZ),
                known("I16", DType.INT16), known("U16", DType.UINT16), known("F16", DType.FLOAT16),
                known("BF16", DType.BFLOAT16), known("I32", DType.INT32), known("U32", DType.UINT32),
                known("F32", DType.FLOAT32), known("C64", DType.COMPLEX64), known("F64", DType.FLOAT64),
                known("I64", DType.INT64), known("U64", DType.UINT64))) {
            add(type);
        }
        BY_DTYPE.put(DType.FLOAT4_E2M1FN_X2, BY_DTYPE.get(carried(F4, 4).dtype));
    }

    private static SafetensorsType known(String name, DType dtype) {
        return new SafetensorsType(name, 0, dtype);
    }

    private static SafetensorsType carried(String name, int bits) {
        return known(name, DType.opaque("safetensors:" + name, bits));
    }

    private static void add(SafetensorsType type) {
        SafetensorsType placed = new SafetensorsType(type.name, BY_NAME.size(), type.dtype);
        BY_NAME.put(type.name, placed);
        BY_DTYPE.put(type.dtype, placed);
    }

    /// The type of bytes.
    static final SafetensorsType BYTES = Objects.requireNonNull(BY_NAME.get("U8"));

    /// {@return the type of a name in a header, or null}
    static @Nullable SafetensorsType find(String name) {
        return BY_NAME.get(name);
    }

    /// {@return the type that elements of a dtype are written as, if there is one}
    static Optional<SafetensorsType> of(DType dtype) {
        return Optional.ofNullable(BY_DTYPE.get(dtype));
    }

    int bits() {
        return dtype.bits();
    }

    /// {@return what elements of a shape are here} PyTorch has pairs of 4-bit floats only, so the last dimension is
    /// half as long; where it is odd they are single elements that are carried.
    ///
    /// @param shape the sizes in the file
    DType dtype(Shape shape) {
        return isOfPairs(shape) ? DType.FLOAT4_E2M1FN_X2 : dtype;
    }

    /// {@return the sizes of a tensor here}
    ///
    /// @param shape the sizes in the file
    Shape shape(Shape shape) {
        if (!isOfPairs(shape)) {
            return shape;
        }
        long[] sizes = shape.toArray();
        sizes[sizes.length - 1] /= 2;
        return Shape.of(sizes);
    }

    private boolean isOfPairs(Shape shape) {
        return name.equals(F4) && shape.rank() > 0 && shape.size(-1) % 2 == 0;
    }

    /// {@return the sizes of a tensor in a file, where each 4-bit float counts}
    ///
    /// @param shape the sizes here
    /// @param elements the type of the elements here
    /// @throws ArithmeticException if there are more than 2^63-1
    static long[] sizesInFile(Shape shape, DType elements) {
        long[] sizes = shape.toArray();
        if (!elements.equals(DType.FLOAT4_E2M1FN_X2)) {
            return sizes;
        }
        sizes[sizes.length - 1] = Math.multiplyExact(sizes[sizes.length - 1], 2);
        return sizes;
    }
}
