package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class TypedStorageTest {
    private static final double NAN = Double.NaN;
    private static final double INF = Double.POSITIVE_INFINITY;

    private static TypedStorage bytes(DType dtype, int... values) {
        TypedStorage bytes = TypedStorage.allocate(DType.UINT8, values.length);
        for (int i = 0; i < values.length; i++) {
            bytes.setLong(i, values[i]);
        }
        return new TypedStorage(bytes.untyped(), dtype);
    }

    private static double[] doubles(TypedStorage storage) {
        double[] values = new double[Math.toIntExact(storage.size())];
        for (int i = 0; i < values.length; i++) {
            values[i] = storage.getDouble(i);
        }
        return values;
    }

    private static long[] longs(TypedStorage storage) {
        long[] values = new long[Math.toIntExact(storage.size())];
        for (int i = 0; i < values.length; i++) {
            values[i] = storage.getLong(i);
        }
        return values;
    }

    @Nested
    class SingleElements {
        private static final double[] NUMBERS = {0, -0.0, 1, -1, 0.5, -2.5, 127, 128, 255.9, 256, -129, 300.7, 65504,
                65520, 1e10, -1e10, 2147483648.0, -2147483649.0, 9.3e18, 1.9e19, -1e300, 1e-45, 4.9e-324, INF, -INF,
                NAN,
                Double.longBitsToDouble(0x7FF0_0000_0000_0001L)};
        private static final long[] INTEGERS = {0, 1, -1, 127, 128, 255, 256, -129, 65536, 16777217, 1L << 31,
                -1L << 31,
                (1L << 53) + 1, Long.MAX_VALUE, Long.MIN_VALUE};

        static Stream<DType> numbers() {
            return DType.values().stream().filter(dtype -> dtype.kind() != DType.Kind.BITS);
        }

        @ParameterizedTest
        @MethodSource("numbers")
        void oneElementIsWrittenAsManyAre(DType dtype) {
            TypedStorage fromNumbers = TypedStorage.of(dtype, NUMBERS);
            for (int i = 0; i < NUMBERS.length; i++) {
                TypedStorage single = TypedStorage.allocate(dtype, 2);
                single.setDouble(1, NUMBERS[i]);
                assertThat(single.slice(1).untyped().toList()).as("%s", NUMBERS[i])
                        .isEqualTo(fromNumbers.slice(i, 1).untyped().toList());
            }
            TypedStorage fromIntegers = TypedStorage.of(dtype, INTEGERS);
            for (int i = 0; i < INTEGERS.length; i++) {
                TypedStorage single = TypedStorage.allocate(dtype, 2);
                single.setLong(1, INTEGERS[i]);
                assertThat(single.slice(1).untyped().toList()).as("%s", INTEGERS[i])
                        .isEqualTo(fromIntegers.slice(i, 1).untyped().toList());
            }
        }

        @ParameterizedTest
        @ValueSource(longs = {-1, 3, 1L << 60, 1L << 61, Long.MAX_VALUE, Long.MIN_VALUE})
        void elementsOutsideAreRefusedWithTheNumbers(long index) {
            TypedStorage storage = TypedStorage.allocate(DType.COMPLEX128, 3);
            assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> storage.getDouble(index))
                    .withMessage("element " + index + " of a storage of 3 complex128 elements");
            assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> storage.setDouble(index, 1));
        }
    }

    @Nested
    class Names {
        @ParameterizedTest
        @CsvSource({"DoubleStorage,float64", "FloatStorage,float32", "HalfStorage,float16", "LongStorage,int64",
                "IntStorage,int32", "ShortStorage,int16", "CharStorage,int8", "ByteStorage,uint8", "BoolStorage,bool",
                "BFloat16Storage,bfloat16", "ComplexDoubleStorage,complex128", "ComplexFloatStorage,complex64",
                "QUInt8Storage,quint8", "QInt8Storage,qint8", "QInt32Storage,qint32", "QUInt4x2Storage,quint4x2",
                "QUInt2x4Storage,quint2x4"})
        void eachOfPyTorchsStorageClassesHasItsType(String name, String dtype) {
            assertThat(TypedStorage.dtypeOf(name)).isEqualTo(DType.of(dtype));
            assertThat(TypedStorage.dtypeOf("torch." + name)).isEqualTo(DType.of(dtype));
            assertThat(TypedStorage.dtypeOf("torch.cuda." + name)).isEqualTo(DType.of(dtype));
            assertThat(TypedStorage.allocate(DType.of(dtype), 1).typeName()).isEqualTo(name);
        }

        @ParameterizedTest
        @CsvSource({"uint16", "uint32", "uint64", "complex32", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
                "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2", "bits8", "bits16"})
        void newerTypesHaveNoStorageClassOfTheirOwn(String dtype) {
            assertThat(TypedStorage.allocate(DType.of(dtype), 1).typeName()).isEqualTo("TypedStorage");
        }

        @ParameterizedTest
        @CsvSource({"Float", "float32Storage", "ComplexHalfStorage", "UInt16Storage", "torch.torch.FloatStorage",
                "UntypedStorage", "floatStorage"})
        void otherNamesAreNoStorageClass(String name) {
            assertThatIllegalArgumentException().isThrownBy(() -> TypedStorage.dtypeOf(name))
                    .withMessage("no storage class is called '" + name + "'");
        }

        @Test
        void storageIsAnAliasForTheDefaultType() {
            assertThat(TypedStorage.dtypeOf("torch.Storage")).isEqualTo(DType.FLOAT32);
            assertThat(TypedStorage.allocate(2).dtype()).isEqualTo(DType.FLOAT32);
            // What Torch7 has from the start.
            TypedStorage torch7 = DType.callWithDefault(DType.FLOAT64, () -> {
                assertThat(TypedStorage.dtypeOf("Storage")).isEqualTo(DType.FLOAT64);
                return TypedStorage.allocate(2);
            });
            assertThat(torch7.typeName()).isEqualTo("DoubleStorage");
            assertThat(TypedStorage.dtypeOf("Storage")).isEqualTo(DType.FLOAT32);
        }
    }

    @Nested
    class Sizes {
        @Test
        void bytesThatFillNoElementDoNotCount() {
            Storage tenBytes = Storage.allocate(10);
            assertThat(new TypedStorage(tenBytes, DType.INT32).size()).isEqualTo(2);
            assertThat(new TypedStorage(tenBytes, DType.INT16).size()).isEqualTo(5);
            assertThat(new TypedStorage(tenBytes, DType.FLOAT64).size()).isEqualTo(1);
            assertThat(new TypedStorage(tenBytes, DType.COMPLEX128).size()).isZero();
            assertThat(new TypedStorage(tenBytes, DType.INT32).nbytes()).isEqualTo(10);
        }

        @ParameterizedTest
        @CsvSource({"quint4x2", "quint2x4", "float4_e2m1fn_x2", "bits1x8", "uint4"})
        void elementsNarrowerThanAByteAreCountedByTheByte(String dtype) {
            TypedStorage storage = TypedStorage.allocate(DType.of(dtype), 10);
            assertThat(storage.size()).isEqualTo(10);
            assertThat(storage.nbytes()).isEqualTo(10);
            assertThat(storage.elementSize()).isEqualTo(1);
        }

        @ParameterizedTest
        @CsvSource({"Byte,1", "Char,1", "Short,2", "Int,4", "Long,8", "Float,4", "Half,2", "Double,8", "Bool,1",
                "BFloat16,2", "ComplexDouble,16", "ComplexFloat,8", "QUInt8,1", "QInt8,1", "QInt32,4", "QUInt4x2,1",
                "QUInt2x4,1"})
        void elementSizesAreTheOriginals(String name, int size) {
            assertThat(TypedStorage.allocate(DType.of(name), 3).elementSize()).isEqualTo(size);
            assertThat(TypedStorage.allocate(DType.of(name), 3).nbytes()).isEqualTo(3L * size);
        }

        @Test
        void aNewStorageIsZero() {
            assertThat(doubles(TypedStorage.allocate(DType.FLOAT64, 3))).containsOnly(0);
            assertThat(TypedStorage.allocate(DType.INT32, 0).size()).isZero();
            assertThat(TypedStorage.allocate(DType.INT32, 2, Allocator.offHeap()).untyped().allocator())
                    .contains(Allocator.offHeap());
        }

        @Test
        void aSizeThatNoStorageCanHaveIsRefused() {
            assertThatIllegalArgumentException().isThrownBy(() -> TypedStorage.allocate(DType.INT32, -1))
                    .withMessage("a storage cannot have -1 int32 elements of 4 bytes");
            assertThatIllegalArgumentException().isThrownBy(() -> TypedStorage.allocate(DType.FLOAT64, 1L << 60))
                    .withMessageContaining("1152921504606846976 float64");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> TypedStorage.allocate(DType.INT32, 1).resize(1L << 61));
            assertThatIllegalArgumentException().isThrownBy(() -> TypedStorage.allocate(DType.INT32, 1).resize(-1));
        }

        @Test
        void aResizedStorageKeepsItsElementsAndItsIdentity() {
            TypedStorage x = TypedStorage.of(DType.INT32, 1, 2, 3, 4);
            assertThat(x.resize(2)).isSameAs(x);
            assertThat(longs(x)).containsExactly(1, 2);
            assertThat(longs(x.resize(4))).containsExactly(1, 2, 0, 0);
            assertThat(x.resize(0).size()).isZero();
            assertThat(x.resize(100_000).size()).isEqualTo(100_000);
        }

        @Test
        void aFailedResizeChangesNothing() {
            TypedStorage x = TypedStorage.of(DType.INT32, 1, 2, 3);
            assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> x.resize(1L << 50));
            assertThat(longs(x)).containsExactly(1, 2, 3);
        }
    }

    @Nested
    class ElementAccess {
        @Test
        void anIndexOutsideIsRefusedWithItselfAndTheSize() {
            TypedStorage x = TypedStorage.of(DType.INT32, 10, 20, 30);
            assertThat(x.getLong(0)).isEqualTo(10);
            assertThat(x.getLong(2)).isEqualTo(30);
            for (long index : new long[]{-1, 3, 1L << 53, Long.MAX_VALUE, Long.MIN_VALUE}) {
                assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> x.getLong(index))
                        .withMessage("element " + index + " of a storage of 3 int32 elements");
                assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> x.setLong(index, 5));
                assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> x.getDouble(index));
                assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> x.getComplex(index));
            }
            assertThat(longs(x)).containsExactly(10, 20, 30);
        }

        @Test
        void elementsAreReadAndWrittenAsFloats() {
            TypedStorage x = TypedStorage.of(DType.FLOAT64, 0.1, 2);
            x.setFloat(1, 0.7f);
            assertThat(x.getFloat(0)).isEqualTo(0.1f);
            assertThat(doubles(x)).containsExactly(0.1, 0.7f);
            assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> x.setFloat(2, 1));
        }

        @Test
        void bytesBehindTheLastElementAreNoElement() {
            TypedStorage x = new TypedStorage(Storage.allocate(10), DType.INT32);
            assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> x.getLong(2));
            x.fill(-1);
            assertThat(x.untyped().toList()).containsExactly(255, 255, 255, 255, 255, 255, 255, 255, 0, 0);
        }

        @ParameterizedTest
        @CsvSource({"Double,1.5", "Float,1.5", "Half,1.5", "Long,-7", "Int,-7", "Short,-7", "Char,-7", "Byte,250",
                "Bool,1", "BFloat16,1.5", "ComplexDouble,1.5", "ComplexFloat,1.5", "QUInt8,250", "QInt8,-7",
                "QInt32,-7", "QUInt4x2,33", "QUInt2x4,33", "float8_e4m3fn,1.5", "float8_e5m2,1.5",
                "float8_e4m3fnuz,1.5", "float8_e5m2fnuz,1.5", "float8_e8m0fnu,4", "uint16,65535", "uint32,4294967295",
                "uint64,9007199254740992", "complex32,1.5"})
        void everyTypeWithNumbersIsReadAsItWasWritten(String name, double value) {
            TypedStorage x = TypedStorage.allocate(DType.of(name), 3);
            x.setDouble(1, value);
            assertThat(doubles(x)).containsExactly(x.getDouble(0), value, x.getDouble(2));
            x.fill(value);
            assertThat(doubles(x)).containsOnly(value);
            assertThat(TypedStorage.of(DType.of(name), value, value).getDouble(1)).isEqualTo(value);
            assertThat(x.getLong(0)).isEqualTo((long) value);
        }

        @ParameterizedTest
        @CsvSource({"bits8", "bits16", "bits1x8", "float4_e2m1fn_x2", "uint4", "int7"})
        void typesWithoutNumbersAreNotReadAsNumbers(String name) {
            TypedStorage x = TypedStorage.allocate(DType.of(name), 2);
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> x.getLong(0))
                    .withMessageContaining(name);
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> x.setDouble(0, 1));
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> x.fill(1));
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> x.to(DType.FLOAT32));
        }

        @Test
        void anElementOfPackedTypesIsTheByteThatHoldsThem() {
            TypedStorage x = bytes(DType.QUINT4X2, 0x21, 0xFF);
            assertThat(x.toList()).containsExactly(33L, 255L);
            assertThat(x.fill(3).untyped().toList()).containsExactly(3, 3);
        }

        @Test
        void elementsComeAsWhatTheyAre() {
            assertThat(TypedStorage.of(DType.FLOAT32, 0.1).toList()).containsExactly(0.10000000149011612);
            assertThat(TypedStorage.of(DType.INT32, 3, 1, 2).toList()).containsExactly(3L, 1L, 2L);
            assertThat(TypedStorage.of(DType.BOOL, 0, 2).toList()).containsExactly(false, true);
            assertThat(TypedStorage.of(DType.COMPLEX64, 1.5).toList()).containsExactly(new Complex(1.5, 0));
            assertThat(TypedStorage.of(DType.UINT32, -1).toList()).containsExactly(4294967295L);
            assertThat(TypedStorage.of(DType.UINT64, -1, 7).toList())
                    .containsExactly(new BigInteger("18446744073709551615"), BigInteger.valueOf(7));
            assertThat(TypedStorage.allocate(DType.INT32, 0).toList()).isEmpty();
        }

        @Test
        void aStorageIsWalkedInOrder() {
            List<Object> seen = new ArrayList<>();
            TypedStorage.of(DType.INT16, 5, 6, 7).forEach(seen::add);
            assertThat(seen).containsExactly(5L, 6L, 7L);
            assertThat(TypedStorage.of(DType.INT16, 5, 6, 7).stream()).containsExactly(5L, 6L, 7L);
        }

        @Test
        void complexElementsHaveTwoParts() {
            TypedStorage x = TypedStorage.allocate(DType.COMPLEX64, 2);
            x.setComplex(1, new Complex(1.5, -2));
            assertThat(x.getComplex(1)).isEqualTo(new Complex(1.5, -2));
            assertThat(x.getDouble(1)).isEqualTo(1.5);
            x.setDouble(1, 4);
            assertThat(x.getComplex(1)).isEqualTo(new Complex(4, 0));
            assertThat(x.fill(new Complex(0, 1)).toList()).containsOnly(new Complex(0, 1));
        }

        @Test
        void typesThatAreNotComplexDropTheImaginaryPart() {
            TypedStorage x = TypedStorage.of(DType.INT32, 7);
            assertThat(x.getComplex(0)).isEqualTo(new Complex(7, 0));
            x.setComplex(0, new Complex(2.9, 5));
            assertThat(x.getLong(0)).isEqualTo(2);
        }

        @Test
        void longsAreWrittenExactly() {
            TypedStorage x = TypedStorage.of(DType.INT64, 9007199254740993L, Long.MAX_VALUE, Long.MIN_VALUE);
            assertThat(longs(x)).containsExactly(9007199254740993L, Long.MAX_VALUE, Long.MIN_VALUE);
            assertThat(x.fill(9007199254740993L).getLong(2)).isEqualTo(9007199254740993L);
            assertThat(longs(TypedStorage.of(DType.INT8, 128, -129, 256))).containsExactly(-128, 127, 0);
        }

        @Test
        void elementsNeedNoAlignment() {
            TypedStorage x = new TypedStorage(Storage.allocate(9).slice(1, 8), DType.FLOAT64);
            x.setDouble(0, Math.PI);
            assertThat(x.getDouble(0)).isEqualTo(Math.PI);
        }

        @Test
        void aReadOnlyStorageIsReadAndNotWritten() {
            TypedStorage x = new TypedStorage(Storage.wrap(MemorySegment.ofArray(new byte[8]).asReadOnly()),
                    DType.INT32);
            assertThat(x.getLong(1)).isZero();
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> x.setLong(0, 1));
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> x.fill(1));
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(() -> x.copyFrom(TypedStorage.of(DType.FLOAT32, 1, 2)));
        }

        @Test
        void aMetaStorageIsWrittenInVainAndNotRead() {
            TypedStorage x = new TypedStorage(Storage.meta(1L << 40), DType.FLOAT32);
            x.setDouble(0, 1);
            assertThat(x.fill(1).copyFrom(x).size()).isEqualTo(1L << 38);
            assertThat(x.to(DType.FLOAT64).nbytes()).isEqualTo(1L << 41);
            assertThat(x.to(DType.FLOAT64).device()).isEqualTo(Device.META);
            assertThatIllegalStateException().isThrownBy(() -> x.getDouble(0));
            assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> x.setDouble(1L << 38, 1));
        }
    }

    /// What Torch7 answered, and so what C does on x86-64.
    @Nested
    class Torch7Numbers {
        @Test
        void tablesAreConvertedAsTorch7DidIt() {
            assertThat(longs(TypedStorage.of(DType.INT32, 1.9, -1.9, 2.5, -2.5))).containsExactly(1, -1, 2, -2);
            assertThat(longs(TypedStorage.of(DType.UINT8, 0, 255, 256, 257, -1, -2, -128, -129, 1.9, -1.9)))
                    .containsExactly(0, 255, 0, 1, 255, 254, 128, 127, 1, 255);
            assertThat(longs(TypedStorage.of(DType.INT8, 127., 128, 129, 255, 256, -128, -129, -130)))
                    .containsExactly(127, -128, -127, -1, 0, -128, 127, 126);
            assertThat(longs(TypedStorage.of(DType.INT16, 32767., 32768, 65535, 65536, -32768, -32769)))
                    .containsExactly(32767, -32768, -1, 0, -32768, 32767);
            assertThat(longs(TypedStorage.of(DType.INT32, 2147483647., 2147483648., -2147483648., -2147483649.,
                    4294967296., 1e10))).containsExactly(2147483647, -2147483648, -2147483648, -2147483648, -2147483648,
                            -2147483648);
            assertThat(longs(TypedStorage.of(DType.INT32, NAN, INF, -INF))).containsOnly(-2147483648);
            assertThat(longs(TypedStorage.of(DType.UINT8, NAN, INF, -INF, 1e10, -1e10, 4294967295., 2147483648.)))
                    .containsOnly(0);
            assertThat(longs(TypedStorage.of(DType.INT64, NAN, INF, -INF, 0x1p63, 1e19, -1e19)))
                    .containsOnly(Long.MIN_VALUE);
        }

        @Test
        void floatsAreRoundedAsTorch7DidIt() {
            assertThat(doubles(TypedStorage.of(DType.FLOAT32, 0.1, 16777217, 1e39, -1e39, 1e-46, NAN, -0.0)))
                    .containsExactly(0.10000000149011612, 16777216, INF, -INF, 0, NAN, -0.0);
            assertThat(doubles(TypedStorage.of(DType.FLOAT16, 1, 0.1, 65504, 65519, 65520, 1e6, -1e6, 6.1e-5, 5.96e-8,
                    2.98e-8, 2.9e-8, NAN, INF))).containsExactly(1, 0.0999755859375, 65504, 65504, INF, INF, -INF,
                            6.097555160522461e-05, 0x1p-24, 0, 0, NAN, INF);
        }

        @Test
        void elementsAreSetAsTorch7DidIt() {
            TypedStorage x = TypedStorage.allocate(DType.INT32, 1);
            double[][] cases = {{2.9, 2}, {-2.9, -2}, {0x1p31, -2147483648}, {0x1p63, -2147483648}};
            for (double[] values : cases) {
                x.setDouble(0, values[0]);
                assertThat(x.getDouble(0)).as("%s", values[0]).isEqualTo(values[1]);
            }
            TypedStorage b = TypedStorage.allocate(DType.UINT8, 1);
            b.setDouble(0, 300);
            assertThat(b.getLong(0)).isEqualTo(44);
            b.setDouble(0, -1);
            assertThat(b.getLong(0)).isEqualTo(255);
        }

        @ParameterizedTest
        @CsvSource({"Int,2.9,2", "Int,-2.9,-2", "Byte,256,0", "Byte,-1,255", "Char,200,-56", "Short,40000,-25536",
                "Int,2147483648,-2147483648", "Int,NaN,-2147483648", "Int,Infinity,-2147483648",
                "Long,9223372036854775808,-9223372036854775808", "Float,0.1,0.10000000149011612",
                "Float,1e39,Infinity", "Float,NaN,NaN", "Half,0.1,0.0999755859375", "Half,70000,Infinity",
                "Byte,4294967295,0", "Byte,2147483647,255", "Byte,2147483648,0", "Byte,-2147483649,0",
                "Short,65537,1", "Short,4294967297,0", "Int,4294967297,-2147483648", "Byte,NaN,0",
                "Byte,1.999999,1"})
        void storagesAreFilledAsTorch7DidIt(String type, double value, double expected) {
            TypedStorage x = TypedStorage.allocate(DType.of(type), 2);
            assertThat(x.fill(value)).isSameAs(x);
            assertThat(doubles(x)).containsOnly(expected);
            assertThat(TypedStorage.allocate(DType.of(type), 0).fill(value).size()).isZero();
        }

        @Test
        void truthIsWhatIsNotZero() {
            assertThat(TypedStorage.of(DType.BOOL, 0.0, 0.5, -0.0, NAN, 256).toList()).containsExactly(false, true,
                    false, true, true);
        }
    }

    @Nested
    class Copies {
        @Test
        void aCopyBetweenTypesConverts() {
            TypedStorage x = TypedStorage.allocate(DType.INT32, 10).fill(1);
            TypedStorage y = TypedStorage.allocate(DType.FLOAT64, 10);
            assertThat(y.copyFrom(x)).isSameAs(y);
            assertThat(doubles(y)).containsOnly(1);
        }

        @Test
        void aChainOfCopiesConvertsAsTorch7DidIt() {
            assertThat(longs(TypedStorage.allocate(DType.UINT8, 3)
                    .copyFrom(TypedStorage.of(DType.FLOAT32, -1.5, 255.9, 256)))).containsExactly(255, 255, 0);
            assertThat(doubles(TypedStorage.allocate(DType.FLOAT32, 2)
                    .copyFrom(TypedStorage.of(DType.FLOAT64, 16777217, 1e39)))).containsExactly(16777216, INF);
            assertThat(longs(TypedStorage.allocate(DType.INT8, 3)
                    .copyFrom(TypedStorage.of(DType.UINT8, 127, 128, 255)))).containsExactly(127, -128, -1);
        }

        @Test
        void onlyAStorageOfTheSameSizeIsCopied() {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> TypedStorage.allocate(DType.INT32, 3)
                            .copyFrom(TypedStorage.allocate(DType.INT32, 2)))
                    .withMessage(
                            "cannot copy a storage of 2 int32 elements over a storage of 3 int32 elements");
            // Torch7 goes on here, and reads behind the source.
            assertThatIllegalArgumentException().isThrownBy(
                    () -> TypedStorage.allocate(DType.INT32, 4).copyFrom(TypedStorage.of(DType.FLOAT64, 1, 2)));
            assertThatIllegalArgumentException().isThrownBy(
                    () -> TypedStorage.allocate(DType.INT32, 2).copyFrom(TypedStorage.of(DType.FLOAT64, 1, 2, 3)));
        }

        @Test
        void aStorageMayBeCopiedOverItself() {
            TypedStorage x = TypedStorage.of(DType.INT32, 1, 2);
            assertThat(longs(x.copyFrom(x))).containsExactly(1, 2);
            assertThat(TypedStorage.allocate(DType.INT32, 0).copyFrom(TypedStorage.allocate(DType.FLOAT64, 0)).size())
                    .isZero();
        }

        @Test
        void overlappingSlicesAreCopiedAsIfThroughAThirdPlace() {
            TypedStorage s = TypedStorage.of(DType.INT32, 1, 2, 3, 4, 5);
            s.slice(1, 4).copyFrom(s.slice(0, 4));
            assertThat(longs(s)).containsExactly(1, 1, 2, 3, 4);
            s.slice(0, 4).copyFrom(s.slice(1, 4));
            assertThat(longs(s)).containsExactly(1, 2, 3, 4, 4);
        }

        @Test
        void overlappingSlicesOfOtherTypesAreConvertedAsIfThroughAThirdPlace() {
            TypedStorage shorts = TypedStorage.of(DType.INT16, 1, 2, 3, 4, 0, 0, 0, 0);
            TypedStorage ints = new TypedStorage(shorts.untyped(), DType.INT32);
            assertThat(longs(ints.copyFrom(shorts.slice(0, 4)))).containsExactly(1, 2, 3, 4);
            assertThat(longs(shorts.slice(0, 4).copyFrom(ints))).containsExactly(1, 2, 3, 4);
        }

        @Test
        void bytesThatFillNoElementAreLeftAlone() {
            TypedStorage x = bytes(DType.INT32, 1, 0, 0, 0, 9);
            TypedStorage y = bytes(DType.INT32, 2, 0, 0, 0, 7, 7);
            assertThat(y.copyFrom(x).untyped().toList()).containsExactly(1, 0, 0, 0, 7, 7);
            assertThat(y.copyFrom(TypedStorage.of(DType.FLOAT64, 5.5)).untyped().toList()).containsExactly(5, 0, 0, 0,
                    7, 7);
        }

        @Test
        void typesWithoutNumbersAreCopiedAsTheyAre() {
            TypedStorage x = bytes(DType.BITS16, 1, 2, 3, 4);
            assertThat(TypedStorage.allocate(DType.BITS16, 2).copyFrom(x).untyped().toList()).containsExactly(1, 2, 3,
                    4);
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(() -> TypedStorage.allocate(DType.INT16, 2).copyFrom(x));
        }

        @Test
        void castsAnswerAsPyTorch() {
            TypedStorage s = TypedStorage.of(DType.INT32, -1, 0, 5, 300);
            assertThat(longs(s.to(DType.UINT8))).containsExactly(255, 0, 5, 44);
            assertThat(s.to(DType.BOOL).toList()).containsExactly(true, false, true, true);
            assertThat(longs(s.to(DType.INT8))).containsExactly(-1, 0, 5, 44);
            assertThat(longs(s.to(DType.INT64))).containsExactly(-1, 0, 5, 300);
            assertThat(doubles(s.to(DType.FLOAT16))).containsExactly(-1, 0, 5, 300);
            assertThat(doubles(s.to(DType.FLOAT8_E4M3FN))).containsExactly(-1, 0, 5, 288);
            assertThat(doubles(s.to(DType.FLOAT8_E5M2))).containsExactly(-1, 0, 5, 320);
            assertThat(s.to(DType.COMPLEX64).getComplex(3)).isEqualTo(new Complex(300, 0));
            assertThat(doubles(bytes(DType.UINT16, 255, 3, 1, 1).to(DType.FLOAT32))).containsExactly(1023, 257);
            assertThat(longs(TypedStorage.of(DType.FLOAT64, 300.7, -1, NAN, 1e10).to(DType.UINT8)))
                    .containsExactly(44, 255, 0, 0);
            assertThat(longs(TypedStorage.of(DType.FLOAT64, 300.7, -1, NAN, 1e10).to(DType.INT32)))
                    .containsExactly(300, -1, -2147483648, -2147483648);
        }

        @Test
        void bytesAreCastAsUnsignedIntegers() {
            TypedStorage bytes = bytes(DType.UINT8, 1, 255);
            assertThat(doubles(bytes.to(DType.FLOAT32))).containsExactly(1, 255);
            assertThat(longs(bytes.to(DType.INT8))).containsExactly(1, -1);
            assertThat(bytes.to(DType.BOOL).toList()).containsExactly(true, true);
        }

        @Test
        void aCastHasBytesOfItsOwnAlsoToTheSameType() {
            TypedStorage x = TypedStorage.of(DType.FLOAT32, 1, 2);
            TypedStorage same = x.to(DType.FLOAT32);
            assertThat(same.untyped()).isNotEqualTo(x.untyped());
            assertThat(doubles(same)).containsExactly(1, 2);
        }

        @Test
        void aCopyHasBytesOfItsOwn() {
            TypedStorage x = TypedStorage.of(DType.FLOAT32, 1, 2);
            TypedStorage copy = x.copy();
            copy.setDouble(0, 9);
            assertThat(doubles(x)).containsExactly(1, 2);
            assertThat(x).isNotEqualTo(copy).isEqualTo(new TypedStorage(x.untyped(), DType.FLOAT32));
        }

        @Test
        void aNewStorageLikeAnotherHasItsTypeAndAllocator() {
            TypedStorage like = TypedStorage.of(DType.INT32, 1, 2).allocateLike(3);
            assertThat(longs(like)).containsExactly(0, 0, 0);
            assertThat(like.typeName()).isEqualTo("IntStorage");
            assertThat(like.untyped().allocator()).contains(Allocator.offHeap());
        }

        @Test
        void longStoragesAreFilledToTheLastElement() {
            for (DType dtype : List.of(DType.INT8, DType.INT16, DType.FLOAT32, DType.COMPLEX128)) {
                TypedStorage x = TypedStorage.allocate(dtype, 100_003).fill(3);
                assertThat(x.getDouble(0) + x.getDouble(65_536) + x.getDouble(100_002)).isEqualTo(9);
                assertThat(x.stream().distinct()).hasSize(1);
            }
        }
    }

    /// Storages that the host cannot reach.
    @Nested
    class Devices {
        private final TypedStorage there = new TypedStorage(
                TypedStorage.of(DType.FLOAT32, 1.5, 2.5).untyped().to(PretendDevice.DEVICE), DType.FLOAT32);

        private static TypedStorage back(TypedStorage storage) {
            assertThat(storage.device()).isEqualTo(PretendDevice.DEVICE);
            return new TypedStorage(storage.untyped().cpu(), storage.dtype());
        }

        @Test
        void wholeStoragesAreFilledCopiedAndConvertedThere() {
            assertThat(longs(back(there.to(DType.INT16)))).containsExactly(1, 2);
            assertThat(doubles(back(there.copy().fill(7)))).containsExactly(7, 7);
            TypedStorage ints = there.allocateLike(2).copyFrom(TypedStorage.of(DType.INT32, 3, 4));
            assertThat(doubles(back(ints))).containsExactly(3, 4);
            assertThat(longs(TypedStorage.allocate(DType.UINT8, 2).copyFrom(there))).containsExactly(1, 2);
            assertThat(doubles(back(there.slice(1)))).containsExactly(2.5);
        }

        @Test
        void bytesThatFillNoElementAreLeftAloneThere() {
            TypedStorage five = new TypedStorage(
                    Storage.copyOf(new byte[]{1, 0, 2, 0, 9}).to(PretendDevice.DEVICE), DType.INT16);
            assertThat(back(five.fill(7)).untyped().toList()).containsExactly(7, 0, 7, 0, 9);
        }

        @Test
        void elementsAreOutOfReach() {
            assertThatIllegalStateException().isThrownBy(() -> there.getDouble(0));
            assertThatIllegalStateException().isThrownBy(() -> there.setDouble(0, 1));
            assertThat(there)
                    .hasToString("...\n[torch.storage.TypedStorage(dtype=torch.float32, device=xpu:0) of size 2]");
        }
    }

    @Nested
    class Slices {
        @Test
        void aSliceSharesElementsWithItsBase() {
            TypedStorage x = TypedStorage.allocate(DType.FLOAT64, 10);
            TypedStorage y = x.slice(2, 5).fill(1);
            assertThat(doubles(x)).containsExactly(0, 0, 1, 1, 1, 1, 1, 0, 0, 0);
            y.slice(1, 2).fill(7);
            assertThat(doubles(x)).containsExactly(0, 0, 1, 7, 7, 1, 1, 0, 0, 0);
            assertThat(y.untyped().base()).contains(x.untyped());
        }

        @Test
        void aSliceWithoutASizeReachesTheEnd() {
            TypedStorage s1 = TypedStorage.of(DType.INT64, 3, 4, 5);
            TypedStorage s2 = s1.slice(1);
            assertThat(longs(s2)).containsExactly(4, 5);
            s2.setLong(0, 13);
            assertThat(s1.getLong(1)).isEqualTo(13);
            assertThat(s1.slice(0).size()).isEqualTo(3);
        }

        @Test
        void aSliceMayBeEmpty() {
            TypedStorage x = TypedStorage.of(DType.INT64, 3, 4, 5);
            assertThat(x.slice(3).size()).isZero();
            assertThat(x.slice(1, 0).toList()).isEmpty();
            assertThat(TypedStorage.allocate(DType.INT64, 0).slice(0).size()).isZero();
        }

        @ParameterizedTest
        @CsvSource({"-1,2", "0,11", "5,6", "11,0", "1,-1", "9223372036854775807,2", "2,9223372036854775807"})
        void aSliceOutsideIsRefused(long offset, long size) {
            TypedStorage x = TypedStorage.allocate(DType.FLOAT64, 10);
            assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> x.slice(offset, size))
                    .withMessage("a slice of " + size + " elements from element " + offset
                            + " of a storage of 10 float64 elements");
        }

        @Test
        void anOffsetOutsideIsRefused() {
            TypedStorage x = TypedStorage.allocate(DType.FLOAT64, 10);
            for (long offset : new long[]{-1, 11, Long.MAX_VALUE, Long.MIN_VALUE}) {
                assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> x.slice(offset));
            }
        }

        @Test
        void aSliceCannotBeResized() {
            TypedStorage y = TypedStorage.allocate(DType.FLOAT64, 10).slice(2, 5);
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> y.resize(5));
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> y.resize(0));
            assertThat(y.size()).isEqualTo(5);
        }

        @Test
        void aSliceFollowsItsBaseUntilThatIsTooSmall() {
            TypedStorage a = TypedStorage.of(DType.INT32, 1, 2, 3, 4);
            TypedStorage b = a.slice(1, 2);
            a.resize(3);
            assertThat(longs(b)).containsExactly(2, 3);
            a.resize(2);
            assertThatIllegalStateException().isThrownBy(() -> b.getLong(0));
        }
    }

    @Nested
    class Text {
        @Test
        void textIsWrittenAndReadWithItsNuls() {
            TypedStorage x = TypedStorage.allocate(DType.INT8, 0);
            assertThat(x.string("blah blah")).isSameAs(x);
            assertThat(longs(x)).containsExactly(98, 108, 97, 104, 32, 98, 108, 97, 104);
            assertThat(x.string()).isEqualTo("blah blah");
            assertThat(longs(x.string("a\0b"))).containsExactly(97, 0, 98);
            assertThat(x.string()).isEqualTo("a\0b");
            assertThat(x.string("").size()).isZero();
            assertThat(x.string()).isEmpty();
            assertThat(longs(TypedStorage.allocate(DType.UINT8, 3).string("12"))).containsExactly(49, 50);
        }

        @Test
        void theDocumentedStringsOfAMappedFileAreKept() {
            TypedStorage x = new TypedStorage(
                    Storage.copyOf("Hello World\n".getBytes(StandardCharsets.US_ASCII)), DType.INT8);
            assertThat(x.string()).isEqualTo("Hello World\n");
            assertThat(x.fill(42).string()).isEqualTo("************");
        }

        @Test
        void aLatinCharsetTakesAnyBytesAsTorch7Does() {
            String text = "\u00c8\u00ff\u007f";
            TypedStorage chars = TypedStorage.allocate(DType.INT8, 0).string(text, StandardCharsets.ISO_8859_1);
            assertThat(longs(chars)).containsExactly(-56, -1, 127);
            TypedStorage bytes = TypedStorage.allocate(DType.UINT8, 0).string(text, StandardCharsets.ISO_8859_1);
            assertThat(longs(bytes)).containsExactly(200, 255, 127);
            assertThat(bytes.string(StandardCharsets.ISO_8859_1)).isEqualTo(text);
            assertThat(TypedStorage.of(DType.UINT8, 256 + 65, 66, -1).string(StandardCharsets.ISO_8859_1))
                    .isEqualTo("AB\u00ff");
        }

        @Test
        void textIsUtf8UnlessSaidOtherwise() {
            TypedStorage x = TypedStorage.allocate(DType.UINT8, 1).string("über");
            assertThat(longs(x)).containsExactly(0xC3, 0xBC, 'b', 'e', 'r');
            assertThat(x.string()).isEqualTo("über");
        }

        @Test
        void bytesThatAreNoTextAreRefusedWithWhatToDo() {
            assertThatIllegalStateException().isThrownBy(() -> TypedStorage.of(DType.UINT8, 65, 255).string())
                    .withMessage("a storage of 2 uint8 elements holds no UTF-8 text; pass its charset, or ISO_8859_1 to"
                            + " take any bytes");
            TypedStorage x = TypedStorage.of(DType.UINT8, 65);
            assertThatIllegalArgumentException().isThrownBy(() -> x.string("ü", StandardCharsets.US_ASCII))
                    .withMessage("US-ASCII cannot write the text; UTF_8 can write any");
            assertThatIllegalArgumentException().isThrownBy(() -> x.string("\ud800"))
                    .withMessage("the text has half of a surrogate pair, which UTF-8 cannot write");
            assertThat(x.string()).isEqualTo("A");
        }

        @Test
        void onlyBytesAndCharsHoldText() {
            for (DType dtype : List.of(DType.INT32, DType.BOOL, DType.QUINT8, DType.BITS8, DType.FLOAT8_E5M2)) {
                TypedStorage x = TypedStorage.allocate(dtype, 2);
                assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(x::string)
                        .withMessage("only ByteStorage and CharStorage hold text, not a storage of 2 " + dtype.name()
                                + " elements");
                assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> x.string("ab"));
            }
        }

        @Test
        void aStorageThatCannotBeResizedTakesNoText() {
            TypedStorage v = TypedStorage.allocate(DType.INT8, 0).string("hello").slice(1, 3);
            assertThat(v.string()).isEqualTo("ell");
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> v.string("abc"));
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> v.string("ab"));
            assertThat(v.string()).isEqualTo("ell");
        }
    }

    @Nested
    class References {
        @Test
        void referencesBelongToTheUntypedStorage() {
            TypedStorage x = TypedStorage.of(DType.INT32, 1, 2, 3);
            assertThat(x.referenceCount()).isEqualTo(1);
            assertThat(x.retain()).isSameAs(x);
            assertThat(x.untyped().referenceCount()).isEqualTo(2);
            x.release();
            TypedStorage v = x.slice(1);
            assertThat(x.referenceCount()).isEqualTo(2);
            assertThat(v.referenceCount()).isEqualTo(1);
            v.release();
            assertThat(x.referenceCount()).isEqualTo(1);
        }

        @Test
        void aFreedStorageIsNotRead() {
            TypedStorage x = TypedStorage.of(DType.INT32, 1, 2, 3);
            x.release();
            assertThat(x.referenceCount()).isZero();
            assertThatIllegalStateException().isThrownBy(() -> x.getLong(0)).withMessageContaining("was freed");
            assertThatIllegalStateException().isThrownBy(() -> x.fill(0));
            assertThatIllegalStateException().isThrownBy(() -> x.to(DType.INT64));
            assertThatIllegalStateException().isThrownBy(x::toTorch7String);
            assertThatIllegalStateException().isThrownBy(x::release);
            assertThat(x).hasToString("...\n[torch.storage.TypedStorage(dtype=torch.int32, device=cpu) of size 3]");
        }

        @Test
        void memoryAtAnAddressIsNeitherOwnedNorResizable() {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment memory = arena.allocate(12);
                TypedStorage p = TypedStorage.ofAddress(DType.INT32, memory.address(), 2);
                p.fill(9);
                assertThat(longs(new TypedStorage(Storage.wrap(memory), DType.INT32))).containsExactly(9, 9, 0);
                assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> p.resize(5));
                p.release();
                assertThat(memory.get(ValueLayout.JAVA_INT, 4)).isEqualTo(9);
            }
            assertThatIllegalArgumentException().isThrownBy(() -> TypedStorage.ofAddress(DType.INT32, 64, -1));
        }
    }
}
