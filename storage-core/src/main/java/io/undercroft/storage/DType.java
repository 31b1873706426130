package io.undercroft.storage;

import io.undercroft.storage.internal.support.NearNames;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// The type of a tensor's elements: all types of PyTorch and Torch7, and opaque ones, whose elements are stored but not
/// interpreted.
///
/// Names are PyTorch's without the `torch.` prefix. Torch7's types have the same layouts under other names: `Byte` is
/// [#UINT8], `Char` is [#INT8], `Double` is [#FLOAT64]; [#of] accepts them all. Each known type is one object, so that
/// known types may be compared with `==`; opaque types must be compared with [#equals].
public final class DType {
    /// The kind of an element, apart from its width.
    public enum Kind {
        /// A floating-point number.
        FLOATING,
        /// A signed integer.
        SIGNED,
        /// An unsigned integer.
        UNSIGNED,
        /// One byte that is 0 (false) or not (true).
        BOOLEAN,
        /// Two floating-point numbers: real part, imaginary part.
        COMPLEX,
        /// An integer that represents a real number by a scale and a zero point of the tensor.
        QUANTIZED,
        /// Bits without numeric meaning.
        BITS;

        /// {@return whether elements are signed or unsigned integers, and not quantized}
        public boolean isInteger() {
            return this == SIGNED || this == UNSIGNED;
        }
    }

    /// IEEE binary64.
    public static final DType FLOAT64 = new DType("float64", 64, Kind.FLOATING, "double", "Double");
    /// IEEE binary32.
    public static final DType FLOAT32 = new DType("float32", 32, Kind.FLOATING, "float", "Float");
    /// IEEE binary16.
    public static final DType FLOAT16 = new DType("float16", 16, Kind.FLOATING, "half", "Half");
    /// The upper half of a binary32.
    public static final DType BFLOAT16 = new DType("bfloat16", 16, Kind.FLOATING, "BFloat16");
    /// 64-bit signed integer.
    public static final DType INT64 = new DType("int64", 64, Kind.SIGNED, "long", "Long");
    /// 32-bit signed integer.
    public static final DType INT32 = new DType("int32", 32, Kind.SIGNED, "int", "Int");
    /// 16-bit signed integer.
    public static final DType INT16 = new DType("int16", 16, Kind.SIGNED, "short", "Short");
    /// 8-bit signed integer.
    public static final DType INT8 = new DType("int8", 8, Kind.SIGNED, "char", "Char");
    /// 8-bit unsigned integer.
    public static final DType UINT8 = new DType("uint8", 8, Kind.UNSIGNED, "byte", "Byte");
    /// Truth value in one byte.
    public static final DType BOOL = new DType("bool", 8, Kind.BOOLEAN, "Bool");
    /// Two binary64.
    public static final DType COMPLEX128 = new DType("complex128", 128, Kind.COMPLEX, "cdouble", "ComplexDouble");
    /// Two binary32.
    public static final DType COMPLEX64 = new DType("complex64", 64, Kind.COMPLEX, "cfloat", "ComplexFloat");
    /// Two binary16.
    public static final DType COMPLEX32 = new DType("complex32", 32, Kind.COMPLEX, "chalf", "ComplexHalf");
    /// 16-bit unsigned integer.
    public static final DType UINT16 = new DType("uint16", 16, Kind.UNSIGNED);
    /// 32-bit unsigned integer.
    public static final DType UINT32 = new DType("uint32", 32, Kind.UNSIGNED);
    /// 64-bit unsigned integer.
    public static final DType UINT64 = new DType("uint64", 64, Kind.UNSIGNED);
    /// 8-bit float: 4 exponent and 3 mantissa bits, finite values and NaN.
    public static final DType FLOAT8_E4M3FN = new DType("float8_e4m3fn", 8, Kind.FLOATING);
    /// 8-bit float: 5 exponent and 2 mantissa bits, with infinities.
    public static final DType FLOAT8_E5M2 = new DType("float8_e5m2", 8, Kind.FLOATING);
    /// 8-bit float: as e4m3fn with another bias, one NaN and no negative zero.
    public static final DType FLOAT8_E4M3FNUZ = new DType("float8_e4m3fnuz", 8, Kind.FLOATING);
    /// 8-bit float: as e5m2 with another bias, one NaN, no infinities and no negative zero.
    public static final DType FLOAT8_E5M2FNUZ = new DType("float8_e5m2fnuz", 8, Kind.FLOATING);
    /// 8-bit power of two: an exponent without sign or mantissa.
    public static final DType FLOAT8_E8M0FNU = new DType("float8_e8m0fnu", 8, Kind.FLOATING);
    /// One byte that holds two 4-bit floats.
    public static final DType FLOAT4_E2M1FN_X2 = new DType("float4_e2m1fn_x2", 8, Kind.BITS);
    /// Quantized, 8 bits unsigned.
    public static final DType QUINT8 = new DType("quint8", 8, Kind.QUANTIZED, "QUInt8");
    /// Quantized, 8 bits signed.
    public static final DType QINT8 = new DType("qint8", 8, Kind.QUANTIZED, "QInt8");
    /// Quantized, 32 bits signed.
    public static final DType QINT32 = new DType("qint32", 32, Kind.QUANTIZED, "QInt32");
    /// Quantized, 4 bits, two elements in a byte.
    public static final DType QUINT4X2 = new DType("quint4x2", 4, Kind.QUANTIZED, "QUInt4x2");
    /// Quantized, 2 bits, four elements in a byte.
    public static final DType QUINT2X4 = new DType("quint2x4", 2, Kind.QUANTIZED, "QUInt2x4");
    /// 8 bits.
    public static final DType BITS8 = new DType("bits8", 8, Kind.BITS);
    /// 16 bits.
    public static final DType BITS16 = new DType("bits16", 16, Kind.BITS);
    /// One byte of eight 1-bit fields.
    public static final DType BITS1X8 = new DType("bits1x8", 8, Kind.BITS);
    /// One byte of four 2-bit fields.
    public static final DType BITS2X4 = new DType("bits2x4", 8, Kind.BITS);
    /// One byte of two 4-bit fields.
    public static final DType BITS4X2 = new DType("bits4x2", 8, Kind.BITS);

    /// One byte for a 1-bit unsigned integer. PyTorch defines no operations on integers narrower than a byte.
    public static final DType UINT1 = new DType("uint1", 8, Kind.BITS, "bit");
    /// One byte for a 2-bit unsigned integer.
    public static final DType UINT2 = new DType("uint2", 8, Kind.BITS);
    /// One byte for a 3-bit unsigned integer.
    public static final DType UINT3 = new DType("uint3", 8, Kind.BITS);
    /// One byte for a 4-bit unsigned integer.
    public static final DType UINT4 = new DType("uint4", 8, Kind.BITS);
    /// One byte for a 5-bit unsigned integer.
    public static final DType UINT5 = new DType("uint5", 8, Kind.BITS);
    /// One byte for a 6-bit unsigned integer.
    public static final DType UINT6 = new DType("uint6", 8, Kind.BITS);
    /// One byte for a 7-bit unsigned integer.
    public static final DType UINT7 = new DType("uint7", 8, Kind.BITS);
    /// One byte for a 1-bit signed integer.
    public static final DType INT1 = new DType("int1", 8, Kind.BITS);
    /// One byte for a 2-bit signed integer.
    public static final DType INT2 = new DType("int2", 8, Kind.BITS);
    /// One byte for a 3-bit signed integer.
    public static final DType INT3 = new DType("int3", 8, Kind.BITS);
    /// One byte for a 4-bit signed integer.
    public static final DType INT4 = new DType("int4", 8, Kind.BITS);
    /// One byte for a 5-bit signed integer.
    public static final DType INT5 = new DType("int5", 8, Kind.BITS);
    /// One byte for a 6-bit signed integer.
    public static final DType INT6 = new DType("int6", 8, Kind.BITS);
    /// One byte for a 7-bit signed integer.
    public static final DType INT7 = new DType("int7", 8, Kind.BITS);

    private static final List<DType> KNOWN = List.of(FLOAT64, FLOAT32, FLOAT16, BFLOAT16, INT64, INT32, INT16, INT8,
            UINT8, BOOL, COMPLEX128, COMPLEX64, COMPLEX32, UINT16, UINT32, UINT64, FLOAT8_E4M3FN, FLOAT8_E5M2,
            FLOAT8_E4M3FNUZ, FLOAT8_E5M2FNUZ, FLOAT8_E8M0FNU, FLOAT4_E2M1FN_X2, QUINT8, QINT8, QINT32, QUINT4X2,
            QUINT2X4, BITS8, BITS16, BITS1X8, BITS2X4, BITS4X2, UINT1, UINT2, UINT3, UINT4, UINT5, UINT6, UINT7, INT1,
            INT2, INT3, INT4, INT5, INT6, INT7);
    private static final Map<String, DType> BY_NAME = byName();

    /// Apart, since few programs use it.
    private static final class Default {
        static final ScopedValue<DType> TYPE = ScopedValue.newInstance();
    }

    private final String name;
    private final int bits;
    private final Kind kind;
    private final List<String> aliases;
    /// Made at first need. Several threads may make it at once, which does no harm: it is immutable.
    private @Nullable ElementType plainElements;

    private DType(String name, int bits, Kind kind, String... aliases) {
        this.name = name;
        this.bits = bits;
        this.kind = kind;
        this.aliases = List.of(aliases);
    }

    /// {@return all known types, in a fixed order}
    public static List<DType> values() {
        return KNOWN;
    }

    /// Finds a known type by any of its names.
    ///
    /// @param name PyTorch's name with or without `torch.`, PyTorch's alias (`half`), or Torch7's (`Half`)
    /// @return the type, or empty if no known type has that name
    public static Optional<DType> find(String name) {
        return Optional.ofNullable(BY_NAME.get(plain(name)));
    }

    /// Returns a known type by any of its names.
    ///
    /// @param name as for [#find]
    /// @return the type
    /// @throws IllegalArgumentException if no known type has that name
    public static DType of(String name) {
        return find(name).orElseThrow(() -> new IllegalArgumentException("no dtype is called '" + name + "'"
                + NearNames.question(plain(name), BY_NAME.keySet()).orElse("; DType.values() has all of them")));
    }

    /// Returns a type by name and width. Elements of an opaque type can be copied, compared and saved, but not read as
    /// numbers, except for [blocks][#blocks]. If the name and the width are those of a known type, that type is
    /// returned.
    ///
    /// @param name the name, which may be empty
    /// @param bits bits in one element, from 1 to 2^31-1
    /// @return the type
    /// @throws IllegalArgumentException if the width is not positive
    public static DType opaque(String name, int bits) {
        if (bits < 1) {
            throw new IllegalArgumentException("an opaque dtype has 1 to 2^31-1 bits, not " + bits);
        }
        DType opaque = new DType(name, bits, Kind.BITS);
        DType known = BY_NAME.get(plain(name));
        return known != null && known.equals(opaque) ? known : opaque;
    }

    /// Returns the type of blocks of quantized numbers that ggml defines, as GGUF files hold them. It is the type that
    /// [#opaque] returns for its name and width. One element is a block; [Tensor#to(DType)] decodes blocks to numbers,
    /// and nothing encodes them.
    ///
    /// @param name the name of the type in ggml, for instance `Q4_0`; the name of the dtype is then `gguf:Q4_0`
    /// @return the type
    /// @throws IllegalArgumentException if no such blocks are known
    public static DType blocks(String name) {
        DType blocks = ElementType.blocks(name);
        if (blocks == null) {
            throw new IllegalArgumentException("no blocks of ggml are called '" + name + "'");
        }
        return blocks;
    }

    /// {@return the default type of new storages: [#FLOAT32], as in PyTorch, unless the caller runs within
    /// [#callWithDefault]} (`torch.get_default_dtype`; Torch7's default is Double.)
    public static DType defaultType() {
        return Default.TYPE.orElse(FLOAT32);
    }

    /// Calls an action with another default type (`torch.set_default_dtype`, Torch7's `setdefaulttensortype`). The
    /// default is bound in the calling thread until the action ends, and in the subtasks that the action forks in a
    /// structured task scope. Other threads do not see it.
    ///
    /// @param <T> what the action returns
    /// @param <X> what the action throws
    /// @param dtype a type that has a storage class ([TypedStorage#typeName]). PyTorch accepts floating-point types
    ///     only, Torch7 any of its types
    /// @param action the action
    /// @return the result of the action
    /// @throws X if the action throws it
    /// @throws IllegalArgumentException if the type has no storage class
    public static <T extends @Nullable Object, X extends Throwable> T callWithDefault(DType dtype,
            ScopedValue.CallableOp<T, X> action) throws X {
        if (!TypedStorage.hasClass(dtype)) {
            throw new IllegalArgumentException(dtype + " cannot be the default: no storage class is named after it");
        }
        return ScopedValue.where(Default.TYPE, dtype).call(action);
    }

    /// {@return PyTorch's name without `torch.`}
    public String name() {
        return name;
    }

    /// {@return other names: PyTorch's alias and the prefix that PyTorch's and Torch7's storage classes use}
    public List<String> aliases() {
        return aliases;
    }

    /// {@return the kind of an element}
    public Kind kind() {
        return kind;
    }

    /// {@return the size of one element in bits}
    public int bits() {
        return bits;
    }

    /// {@return the size of one element in bytes, as PyTorch counts it: 1 for elements narrower than a byte}
    public int itemsize() {
        return Math.ceilDiv(bits, Byte.SIZE);
    }

    /// {@return how many numbers an element holds: 32 to 256 for the [blocks][#blocks] of ggml, 1 for all other types}
    public int blockSize() {
        return plainElements().blockSize();
    }

    /// {@return whether an element has a whole number of bytes}
    public boolean isByteSized() {
        return bits % 8 == 0;
    }

    /// {@return the size in bytes of a number of adjacent elements, rounded up}
    ///
    /// @param numel the number of elements, 0 or more
    /// @throws IllegalArgumentException if the number is negative
    /// @throws ArithmeticException if that is more than 2^63-1
    public long nbytes(long numel) {
        if (numel < 0) {
            throw new IllegalArgumentException("there are no " + numel + " elements");
        }
        long whole = isByteSized() ? bits / 8 : bits;
        if (numel > Long.MAX_VALUE / whole) {
            throw new ArithmeticException(numel + " elements of " + this + " take more than 2^63-1 bytes");
        }
        return isByteSized() ? numel * whole : Math.ceilDiv(numel * whole, 8);
    }

    /// {@return whether the other object is a type of the same name and width}
    @Override
    public boolean equals(Object other) {
        return other instanceof DType that && bits == that.bits && name.equals(that.name);
    }

    @Override
    public int hashCode() {
        return 31 * name.hashCode() + bits;
    }

    /// {@return the name, for instance `float32`}
    @Override
    public String toString() {
        return name;
    }

    /// The meaning of the stored bits of elements without flags.
    ElementType plainElements() {
        ElementType made = plainElements;
        if (made == null) {
            made = ElementType.makePlain(this);
            plainElements = made;
        }
        return made;
    }

    private static String plain(String name) {
        return name.startsWith("torch.") ? name.substring(6) : name;
    }

    private static Map<String, DType> byName() {
        Map<String, DType> names = new LinkedHashMap<>();
        for (DType dtype : KNOWN) {
            names.put(dtype.name, dtype);
            for (String alias : dtype.aliases) {
                names.put(alias, dtype);
            }
        }
        return Collections.unmodifiableMap(names);
    }
}
