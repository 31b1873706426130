package io.undercroft.interop.internal.onnx;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// A type of tensors, `TensorProto.DataType`.
///
/// @param dtype what such elements are here
/// @param field the field of `TensorProto` that has them if `raw_data` has not
/// @param width how many bytes of memory each number of that field is: two 4-bit elements, half a complex one; 0 if it is
///     no whole ones
record OnnxType(DType dtype, int field, int width) {
    static final int FLOATS = 4;
    static final int INT32S = 5;
    static final int INT64S = 7;
    static final int DOUBLES = 10;
    static final int UINT64S = 11;
    /// The type of texts, which are no tensors here.
    static final int STRING = 8;
    private static final Map<Integer, OnnxType> BY_CODE = new HashMap<>();

    static {
        add(1, DType.FLOAT32, FLOATS, 4);
        add(2, DType.UINT8, INT32S, 1);
        add(3, DType.INT8, INT32S, 1);
        add(4, DType.UINT16, INT32S, 2);
        add(5, DType.INT16, INT32S, 2);
        add(6, DType.INT32, INT32S, 4);
        add(7, DType.INT64, INT64S, 8);
        add(9, DType.BOOL, INT32S, 1);
        add(10, DType.FLOAT16, INT32S, 2);
        add(11, DType.FLOAT64, DOUBLES, 8);
        add(12, DType.UINT32, UINT64S, 4);
        add(13, DType.UINT64, UINT64S, 8);
        add(14, DType.COMPLEX64, FLOATS, 4);
        add(15, DType.COMPLEX128, DOUBLES, 8);
        add(16, DType.BFLOAT16, INT32S, 2);
        add(17, DType.FLOAT8_E4M3FN, INT32S, 1);
        add(18, DType.FLOAT8_E4M3FNUZ, INT32S, 1);
        add(19, DType.FLOAT8_E5M2, INT32S, 1);
        add(20, DType.FLOAT8_E5M2FNUZ, INT32S, 1);
        add(21, DType.opaque("onnx:UINT4", 4), INT32S, 1);
        add(22, DType.opaque("onnx:INT4", 4), INT32S, 1);
        add(23, DType.opaque("onnx:FLOAT4E2M1", 4), INT32S, 1);
        add(24, DType.FLOAT8_E8M0FNU, INT32S, 1);
        add(25, DType.opaque("onnx:UINT2", 2), INT32S, 1);
        add(26, DType.opaque("onnx:INT2", 2), INT32S, 1);
        add(27, DType.opaque("onnx:FLOAT6E2M3", 6), INT32S, 0);
        add(28, DType.opaque("onnx:FLOAT6E3M2", 6), INT32S, 0);
    }

    private static void add(int code, DType dtype, int field, int width) {
        BY_CODE.put(code, new OnnxType(dtype, field, width));
    }

    /// {@return the type of a number in a file, or null}
    static @Nullable OnnxType of(long code) {
        return code == (int) code ? BY_CODE.get((int) code) : null;
    }

    /// {@return the name of the type of a number in a file}
    static String name(long code) {
        OnnxType type = of(code);
        return type != null ? type.dtype.name() : code == STRING ? "string" : "type " + code;
    }

    /// {@return whether elements are pairs of 4-bit floats here, so that the last dimension is half as long}
    boolean isOfPairs(Shape shape) {
        return dtype.name().equals("onnx:FLOAT4E2M1") && shape.rank() > 0 && shape.size(-1) % 2 == 0;
    }

    /// {@return whether numbers are written as they are in memory}
    boolean isFixed() {
        return field == FLOATS || field == DOUBLES;
    }

    /// The numbers of a tensor that are not `raw_data`. A field may be written in several pieces.
    ///
    /// @param type their type
    /// @param start where the message of the tensor starts
    /// @param end where it ends
    record Numbers(OnnxType type, long start, long end) {
        /// Writes the numbers as elements.
        ///
        /// @param file the file
        /// @param into as many bytes as the elements have
        /// @throws FormatException if there are more or fewer
        void decode(MappedFile file, MemorySegment into) throws IOException {
            long[] done = {0};
            ProtoInput message = new ProtoInput(file, ReadBudget.of(file.size()));
            message.forEach(start, end, field -> {
                if (field.number() == type.field) {
                    ByteReader in = message.within(field);
                    for (; in.remaining() > 0; done[0] += type.width) {
                        put(into, done[0], in);
                    }
                }
            });
            if (done[0] != into.byteSize()) {
                throw ProtoInput.damaged("a tensor of " + into.byteSize() + " bytes has numbers for " + done[0], start);
            }
        }

        private void put(MemorySegment into, long offset, ByteReader in) throws IOException {
            if (offset + type.width > into.byteSize()) {
                throw ProtoInput.damaged("a tensor of " + into.byteSize() + " bytes has more numbers", in.position());
            }
            long number = switch (type.field) {
                case FLOATS -> in.i32();
                case DOUBLES -> in.i64();
                default -> ProtoInput.varint(in);
            };
            switch (type.width) {
                case Byte.BYTES -> into.set(ValueLayout.JAVA_BYTE, offset,
                        (byte) (type.dtype.equals(DType.BOOL) && number != 0 ? 1 : number));
                case Short.BYTES -> into.set(ValueLayout.JAVA_SHORT_UNALIGNED, offset, (short) number);
                case Integer.BYTES -> into.set(ValueLayout.JAVA_INT_UNALIGNED, offset, (int) number);
                default -> into.set(ValueLayout.JAVA_LONG_UNALIGNED, offset, number);
            }
        }
    }
}
