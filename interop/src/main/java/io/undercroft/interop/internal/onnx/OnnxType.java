package io.undercroft.interop.internal.onnx;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.onnx.ProtoMessage.Field;
import io.undercroft.mmap.MappedFile;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Optional;

/// A type of tensors, `TensorProto.DataType`.
///
/// @param dtype what such elements are here
/// @param field the field of `TensorProto` that has them as numbers if there is no `raw_data`
/// @param width how many bytes of memory each of these numbers is: two 4-bit elements, half a complex one; 0 if it is
///     no whole ones
record OnnxType(DType dtype, int field, int width) {
    /// The type of texts, which are no tensors here.
    static final int STRING = 8;
    private static final int FLOATS = 4;
    private static final int DOUBLES = 10;
    private static final DType FLOAT4 = DType.opaque("onnx:FLOAT4E2M1", 4);
    /// In the order of their numbers, from 1; `void` is that of texts.
    private static final List<DType> DTYPES = List.of(DType.FLOAT32, DType.UINT8, DType.INT8, DType.UINT16, DType.INT16,
            DType.INT32, DType.INT64, DType.opaque("void", 8), DType.BOOL, DType.FLOAT16, DType.FLOAT64, DType.UINT32,
            DType.UINT64, DType.COMPLEX64, DType.COMPLEX128, DType.BFLOAT16, DType.FLOAT8_E4M3FN,
            DType.FLOAT8_E4M3FNUZ, DType.FLOAT8_E5M2, DType.FLOAT8_E5M2FNUZ, DType.opaque("onnx:UINT4", 4),
            DType.opaque("onnx:INT4", 4), FLOAT4, DType.FLOAT8_E8M0FNU, DType.opaque("onnx:UINT2", 2),
            DType.opaque("onnx:INT2", 2), DType.opaque("onnx:FLOAT6E2M3", 6), DType.opaque("onnx:FLOAT6E3M2", 6));

    /// {@return the type of a number in a file, if it is known}
    static Optional<OnnxType> of(long code) {
        if (code < 1 || code > DTYPES.size() || code == STRING) {
            return Optional.empty();
        }
        DType dtype = DTYPES.get((int) code - 1);
        boolean isComplex = dtype.kind() == DType.Kind.COMPLEX;
        int width = dtype.bits() == 6 ? 0 : isComplex ? dtype.itemsize() / 2 : Math.max(1, dtype.bits() / Byte.SIZE);
        int field = switch (dtype.name()) {
            case "float32", "complex64" -> FLOATS;
            case "int64" -> 7;
            case "float64", "complex128" -> DOUBLES;
            case "uint32", "uint64" -> 11;
            default -> 5;
        };
        return Optional.of(new OnnxType(dtype, field, width));
    }

    /// {@return whether numbers are written as they are in memory}
    boolean isFixed() {
        return field == FLOATS || field == DOUBLES;
    }

    /// {@return the type of elements of a shape: pairs of 4-bit floats if the last dimension is even, as in PyTorch}
    DType dtype(Shape shape) {
        return isOfPairs(shape) ? DType.FLOAT4_E2M1FN_X2 : dtype;
    }

    /// {@return the shape in such elements}
    Shape shape(Shape shape) {
        long[] sizes = shape.toArray();
        if (isOfPairs(shape)) {
            sizes[sizes.length - 1] /= 2;
        }
        return Shape.of(sizes);
    }

    private boolean isOfPairs(Shape shape) {
        return dtype.equals(FLOAT4) && shape.rank() > 0 && shape.size(-1) % 2 == 0;
    }

    /// Writes numbers as elements.
    ///
    /// @param file the file
    /// @param pieces the fields that have them
    /// @param into as many bytes as the elements have
    /// @throws FormatException if there are more or fewer
    void decode(MappedFile file, List<Field> pieces, MemorySegment into) throws IOException {
        long done = 0;
        for (Field piece : pieces) {
            ByteReader in = ProtoMessage.reader(file, piece.start(), piece.end());
            for (; in.remaining() > 0; done += width) {
                long number = field == FLOATS ? in.i32() : field == DOUBLES ? in.i64() : ProtoMessage.varint(in);
                if (done + width > into.byteSize()) {
                    throw ProtoMessage.damaged("a tensor of " + into.byteSize() + " bytes has more numbers",
                            in.position());
                }
                switch (width) {
                    case 1 -> into.set(ValueLayout.JAVA_BYTE, done,
                            (byte) (dtype.equals(DType.BOOL) && number != 0 ? 1 : number));
                    case 2 -> into.set(ValueLayout.JAVA_SHORT_UNALIGNED, done, (short) number);
                    case 4 -> into.set(ValueLayout.JAVA_INT_UNALIGNED, done, (int) number);
                    default -> into.set(ValueLayout.JAVA_LONG_UNALIGNED, done, number);
                }
            }
        }
        if (done != into.byteSize()) {
            throw ProtoMessage.damaged("a tensor of " + into.byteSize() + " bytes has numbers for " + done,
                    FormatException.NO_OFFSET);
        }
    }
}
