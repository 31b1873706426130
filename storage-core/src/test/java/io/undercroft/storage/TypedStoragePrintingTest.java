package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.util.Arrays;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TypedStoragePrintingTest {
    private static final double NAN = Double.NaN;
    private static final double INF = Double.POSITIVE_INFINITY;

    private static TypedStorage complex(DType dtype, Complex... values) {
        TypedStorage storage = TypedStorage.allocate(dtype, values.length);
        for (int i = 0; i < values.length; i++) {
            storage.setComplex(i, values[i]);
        }
        return storage;
    }

    /// The answers are those of PyTorch 2.13.
    @Nested
    class AsPyTorch {
        @Test
        void floatsArePrintedAsTheDoublesTheyAre() {
            assertThat(TypedStorage.of(DType.FLOAT32, 0.1, 1e-5, 1e16, INF, NAN, -0.0, 1e15, 123456789)).hasToString("""
                     0.10000000149011612
                     9.999999747378752e-06
                     1.0000000272564224e+16
                     inf
                     nan
                     -0.0
                     999999986991104.0
                     123456792.0
                    [torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 8]""");
            assertThat(TypedStorage.of(DType.FLOAT32, 1, 2.5)).hasToString("""
                     1.0
                     2.5
                    [torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 2]""");
        }

        @ParameterizedTest
        @CsvSource({"5e-324,5e-324", "1e-323,1e-323", "1.5e-323,1.5e-323", "2e-323,2e-323",
                "1.7976931348623157e308,1.7976931348623157e+308",
                "2.2250738585072014e-308,2.2250738585072014e-308", "9007199254740993,9007199254740992.0",
                "1e22,1e+22", "1e23,1e+23", "123456789012345680,1.2345678901234568e+17", "0.0001,0.0001",
                "0.00001234,1.234e-05", "1e15,1000000000000000.0", "9999999999999998,9999999999999998.0",
                "1e16,1e+16", "4.35,4.35", "0.3,0.3", "100,100.0", "0.6666666666666666,0.6666666666666666",
                "-Infinity,-inf", "-1.5,-1.5"})
        void doublesArePrintedAsPythonsReprWritesThem(double value, String text) {
            assertThat(TypedStorage.of(DType.FLOAT64, value)).hasToString(
                    " " + text + "\n[torch.storage.TypedStorage(dtype=torch.float64, device=cpu) of size 1]");
        }

        @Test
        void complexNumbersArePrintedAsPythonsReprWritesThem() {
            assertThat(complex(DType.COMPLEX64, new Complex(1, 2), new Complex(0.1, -1e-5), new Complex(NAN, INF),
                    new Complex(-0.0, -0.0), new Complex(1e16, 1), new Complex(0, 1), new Complex(-0.0, -1),
                    new Complex(3, 0))).hasToString("""
                             (1+2j)
                             (0.10000000149011612-9.999999747378752e-06j)
                             (nan+infj)
                             (-0-0j)
                             (1.0000000272564224e+16+1j)
                             1j
                             (-0-1j)
                             (3+0j)
                            [torch.storage.TypedStorage(dtype=torch.complex64, device=cpu) of size 8]""");
            assertThat(complex(DType.COMPLEX128, new Complex(0, NAN), new Complex(1, -0.0), new Complex(0, -0.0),
                    new Complex(-0.0, 0), new Complex(1e-5, -1e22), new Complex(0, 1.5))).hasToString("""
                             nanj
                             (1-0j)
                             -0j
                             (-0+0j)
                             (1e-05-1e+22j)
                             1.5j
                            [torch.storage.TypedStorage(dtype=torch.complex128, device=cpu) of size 6]""");
        }

        @Test
        void integersAndTruthValuesArePrintedAsTheyAre() {
            assertThat(TypedStorage.of(DType.UINT64, -1, 3)).hasToString("""
                     18446744073709551615
                     3
                    [torch.storage.TypedStorage(dtype=torch.uint64, device=cpu) of size 2]""");
            assertThat(TypedStorage.of(DType.INT8, -128, 3)).hasToString("""
                     -128
                     3
                    [torch.storage.TypedStorage(dtype=torch.int8, device=cpu) of size 2]""");
            assertThat(TypedStorage.of(DType.BOOL, 1, 0)).hasToString("""
                     True
                     False
                    [torch.storage.TypedStorage(dtype=torch.bool, device=cpu) of size 2]""");
        }

        @Test
        void quantizedElementsArePrintedAsTheIntegersThatAreStored() {
            Storage bytes = Storage.copyOf((byte) 0x21, (byte) 0xFF);
            assertThat(new TypedStorage(bytes, DType.QUINT4X2)).hasToString("""
                     33
                     255
                    [torch.storage.TypedStorage(dtype=torch.quint4x2, device=cpu) of size 2]""");
            assertThat(new TypedStorage(bytes, DType.QINT8)).hasToString("""
                     33
                     -1
                    [torch.storage.TypedStorage(dtype=torch.qint8, device=cpu) of size 2]""");
        }

        @Test
        void narrowFloatsArePrintedAsTheDoublesTheyAre() {
            Storage bytes = Storage.copyOf((byte) 0x21, (byte) 0x21);
            assertThat(new TypedStorage(bytes, DType.FLOAT8_E4M3FN)).hasToString("""
                     0.140625
                     0.140625
                    [torch.storage.TypedStorage(dtype=torch.float8_e4m3fn, device=cpu) of size 2]""");
            assertThat(new TypedStorage(Storage.copyOf((byte) 127, (byte) 255), DType.FLOAT8_E8M0FNU)).hasToString("""
                     1.0
                     nan
                    [torch.storage.TypedStorage(dtype=torch.float8_e8m0fnu, device=cpu) of size 2]""");
            assertThat(complex(DType.COMPLEX32, new Complex(0.01001739501953125, -3))).hasToString("""
                     (0.01001739501953125-3j)
                    [torch.storage.TypedStorage(dtype=torch.complex32, device=cpu) of size 1]""");
        }

        @Test
        void anEmptyStorageIsPrintedWithAnEmptyLine() {
            assertThat(TypedStorage.allocate(DType.FLOAT64, 0))
                    .hasToString(" \n[torch.storage.TypedStorage(dtype=torch.float64, device=cpu) of size 0]");
        }

        @Test
        void aMetaStorageIsPrintedWithoutElements() {
            assertThat(new TypedStorage(Storage.meta(12), DType.FLOAT32))
                    .hasToString("...\n[torch.storage.TypedStorage(dtype=torch.float32, device=meta) of size 3]");
        }
    }

    @Nested
    class BeyondPyTorch {
        @Test
        void elementsWithoutNumbersArePrintedAsHexadecimalDigits() {
            Storage bytes = Storage.copyOf((byte) 0x34, (byte) 0x12, (byte) 0xFF, (byte) 0x00);
            assertThat(new TypedStorage(bytes, DType.BITS16)).hasToString("""
                     0x1234
                     0x00ff
                    [torch.storage.TypedStorage(dtype=torch.bits16, device=cpu) of size 2]""");
        }

        @Test
        void ofManyElementsOnlyTheEndsArePrinted() {
            TypedStorage storage = TypedStorage.allocate(DType.INT32, 1001);
            for (int i = 0; i < 1001; i++) {
                storage.setLong(i, i);
            }
            assertThat(storage).hasToString("""
                     0
                     1
                     2
                     ...
                     998
                     999
                     1000
                    [torch.storage.TypedStorage(dtype=torch.int32, device=cpu) of size 1001]""");
            assertThat(storage.slice(1).toString().lines()).hasSize(1001);
        }
    }

    /// The answers are Torch7's own (commit 814ea4a on LuaJIT 2.1), or follow from the form that it chose in them.
    @Nested
    class AsTorch7 {
        @ParameterizedTest
        @CsvSource({"Int,1 2 3 4,' 1| 2| 3| 4'", "Int,1 -20 300,'   1| -20| 300'", "Byte,0 255,'   0| 255'",
                "Double,1.5 2.25,' 1.5000| 2.2500'", "Half,1.5 2,' 1.5000| 2.0000'",
                "Double,1e10 1,' 1.0000e+10| 1.0000e+00'", "Double,100000.5 1e-3,' 1.0000e+05| 1.0000e-03'",
                "Double,100000.5 200000.5,'100000 *| 1.0000| 2.0000'", "Double,NaN 1,'nan|1.000000'",
                "Double,Infinity 1,'        inf| 1.0000e+00'",
                "Char,72 101 108 108 111 32 87 111 114 108 100 10,"
                        + "'  72| 101| 108| 108| 111|  32|  87| 111| 114| 108| 100|  10'",
                "Char,98 108 97 104 32 98 108 97 104,'  98| 108|  97| 104|  32|  98| 108|  97| 104'",
                "Double,0 0 1 1 1 1 1 0 0 0,' 0| 0| 1| 1| 1| 1| 1| 0| 0| 0'"})
        void whatTorch7Printed(String type, String values, String lines) {
            assertThat(storage(type, values).toTorch7String()).isEqualTo(expected(type, values, lines));
        }

        @ParameterizedTest
        @CsvSource({"Double,0,' 0'", "Double,-0.0 7,' 0| 7'", "Int,-2147483648,'-2.1475e+09'",
                "Long,999999999 -1,' 999999999|        -1'", "Long,1000000000 0,' 1.0000e+09| 0.0000e+00'",
                "Double,1e100 0.5,' 1.0000e+100|  5.0000e-01'", "Double,Infinity 0.5,'         inf|  5.0000e-01'",
                "Double,0.5 -0.25,' 0.5000|-0.2500'", "Double,0.05,'0.01 *| 5.0000'",
                "Double,0.00001234,'1e-05 *| 1.2340'", "Double,1234567.5 -123456.5,'1e+06 *| 1.2346|-0.1235'",
                "Double,12345.5 12.25,' 12345.5000|    12.2500'", "Double,0 0.001,'0.001 *| 0.0000| 1.0000'",
                "Double,-1.5 NaN Infinity -Infinity -0.0 1e10,"
                        + "'-1.500000|nan|inf|-inf|-0.000000|10000000000.000000'",
                "Float,0.1,' 0.1000'"})
        void whatFollowsForOtherNumbers(String type, String values, String lines) {
            assertThat(storage(type, values).toTorch7String()).isEqualTo(expected(type, values, lines));
        }

        @Test
        void anEmptyStorageIsOneLine() {
            assertThat(TypedStorage.allocate(DType.INT32, 0).toTorch7String())
                    .isEqualTo("[torch.IntStorage of size 0]");
        }

        @Test
        void allElementsArePrinted() {
            assertThat(TypedStorage.allocate(DType.INT16, 2000).toTorch7String().lines()).hasSize(2001);
        }

        @ParameterizedTest
        @CsvSource({"bool", "bfloat16", "complex64", "qint8", "uint16", "float8_e5m2", "bits8"})
        void typesThatTorch7DoesNotHaveAreRefused(String name) {
            TypedStorage storage = TypedStorage.allocate(DType.of(name), 1);
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(storage::toTorch7String)
                    .withMessage("Torch7 cannot print a storage of 1 " + name + " elements; it has no such type");
        }

        private static TypedStorage storage(String type, String values) {
            return TypedStorage.of(DType.of(type),
                    Arrays.stream(values.split(" ", -1)).mapToDouble(Double::parseDouble).toArray());
        }

        private static String expected(String type, String values, String lines) {
            String printed = Arrays.stream(lines.split("\\|", -1)).collect(Collectors.joining("\n"));
            return printed + "\n[torch." + type + "Storage of size " + values.split(" ", -1).length + "]";
        }
    }
}
