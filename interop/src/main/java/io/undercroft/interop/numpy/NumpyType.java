package io.undercroft.interop.numpy;

import io.undercroft.format.FormatException;
import io.undercroft.storage.DType;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/// The type of an array's elements.
///
/// @param dtype their type here
/// @param order their byte order in the file
record NumpyType(DType dtype, ByteOrder order) {
    private static final Map<String, DType> BY_CODE = Map.ofEntries(Map.entry("b1", DType.BOOL),
            Map.entry("i1", DType.INT8), Map.entry("i2", DType.INT16), Map.entry("i4", DType.INT32),
            Map.entry("i8", DType.INT64), Map.entry("u1", DType.UINT8), Map.entry("u2", DType.UINT16),
            Map.entry("u4", DType.UINT32), Map.entry("u8", DType.UINT64), Map.entry("f2", DType.FLOAT16),
            Map.entry("f4", DType.FLOAT32), Map.entry("f8", DType.FLOAT64), Map.entry("c8", DType.COMPLEX64),
            Map.entry("c16", DType.COMPLEX128));
    private static final Map<DType, String> BY_DTYPE = byDType();

    private static Map<DType, String> byDType() {
        Map<DType, String> codes = new HashMap<>();
        BY_CODE.forEach((code, dtype) -> codes.put(dtype, code));
        return codes;
    }

    /// Returns the type that a header describes.
    ///
    /// @param descr as NumPy writes it, for instance `<f4`
    /// @param position where it is in the file, for messages
    static NumpyType parse(String descr, long position) {
        boolean marked = !descr.isEmpty() && "<>|=".indexOf(descr.charAt(0)) >= 0;
        DType dtype = BY_CODE.get(marked ? descr.substring(1) : descr);
        if (dtype == null) {
            throw refused(descr, position);
        }
        boolean big = descr.charAt(0) == '>' && dtype.itemsize() > 1;
        return new NumpyType(dtype, big ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
    }

    /// {@return NumPy's description of elements of a dtype, in the byte order that we write, if there is one}
    static Optional<String> descr(DType dtype) {
        return Optional.ofNullable(BY_DTYPE.get(dtype)).map(code -> (dtype.itemsize() == 1 ? "|" : "<") + code);
    }

    /// {@return whether the elements are in the file as they are in memory}
    boolean isNative() {
        return order == ByteOrder.nativeOrder() || dtype.itemsize() == 1;
    }

    private static FormatException refused(String descr, long position) {
        String code = descr.isEmpty() || "<>|=".indexOf(descr.charAt(0)) < 0 ? descr : descr.substring(1);
        String what = switch (code.isEmpty() ? ' ' : code.charAt(0)) {
            case 'O' -> "Python objects, which only running a pickle would bring back";
            case 'V' -> "raw bytes, which is also what NumPy makes of bfloat16";
            case 'S', 'a', 'U', 'T' -> "text";
            case 'M', 'm' -> "dates or times";
            default -> code.matches("[fc]\\d+")
                    ? "numbers of a width that only some machines have"
                    : "nothing that is known here";
        };
        return new FormatException("NPY-DTYPE", "the elements are " + FormatException.quote(descr) + ": " + what,
                position,
                "In Python, convert the array with astype or view to numbers of 1 to 16 bytes, and save it again");
    }
}
