package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DTypeTest {
    @ParameterizedTest
    @CsvSource({"float64,8", "float32,4", "float16,2", "bfloat16,2", "int64,8", "int32,4", "int16,2", "int8,1",
            "uint8,1",
            "bool,1", "complex128,16", "complex64,8", "complex32,4", "uint16,2", "uint32,4", "uint64,8",
            "float8_e4m3fn,1",
            "float8_e5m2,1", "float8_e4m3fnuz,1", "float8_e5m2fnuz,1", "float8_e8m0fnu,1", "float4_e2m1fn_x2,1",
            "quint8,1",
            "qint8,1", "qint32,4", "quint4x2,1", "quint2x4,1", "bits8,1", "bits16,2", "bits1x8,1", "bits2x4,1",
            "bits4x2,1",
            "uint1,1", "uint2,1", "uint3,1", "uint4,1", "uint5,1", "uint6,1", "uint7,1", "int1,1", "int2,1", "int3,1",
            "int4,1", "int5,1", "int6,1", "int7,1"})
    void everyTypeOfPyTorchHasItsNameAndItemsize(String name, int itemsize) {
        DType dtype = DType.of("torch." + name);
        assertThat(dtype.name()).isEqualTo(name);
        assertThat(dtype).hasToString(name).isSameAs(DType.of(name));
        assertThat(dtype.itemsize()).isEqualTo(itemsize);
    }

    @Test
    void thereAreAsManyTypesAsInPyTorch() {
        assertThat(DType.values()).hasSize(46).doesNotHaveDuplicates();
    }

    @ParameterizedTest
    @CsvSource({"double,float64", "float,float32", "half,float16", "long,int64", "int,int32", "short,int16",
            "cdouble,complex128", "cfloat,complex64", "chalf,complex32", "bit,uint1"})
    void pyTorchsAliasesAreKnown(String alias, String name) {
        assertThat(DType.of("torch." + alias)).isSameAs(DType.of(name));
    }

    @ParameterizedTest
    @CsvSource({"Double,float64", "Float,float32", "Half,float16", "Long,int64", "Int,int32", "Short,int16",
            "Char,int8",
            "Byte,uint8", "Bool,bool", "BFloat16,bfloat16", "ComplexDouble,complex128", "ComplexFloat,complex64",
            "QUInt8,quint8", "QInt8,qint8", "QInt32,qint32", "QUInt4x2,quint4x2", "QUInt2x4,quint2x4"})
    void theNamesOfStorageClassesAreKnown(String prefix, String name) {
        assertThat(DType.of(prefix)).isSameAs(DType.of(name));
        assertThat(DType.of(name).aliases()).contains(prefix);
    }

    @Test
    void noTwoTypesHaveANameInCommon() {
        List<String> names = DType.values().stream().flatMap(dtype -> dtype.aliases().stream()).toList();
        assertThat(new HashSet<>(names)).hasSameSizeAs(names);
    }

    @Test
    void anUnknownNameIsAnError() {
        assertThat(DType.find("float7")).isEmpty();
        assertThatThrownBy(() -> DType.of("float7")).isInstanceOf(IllegalArgumentException.class)
                .hasMessage("no dtype is called 'float7'; did you mean 'float'?");
    }

    @Test
    void ofAMistypedNameTheNearOnesAreNamed() {
        assertThatThrownBy(() -> DType.of("flaot32"))
                .hasMessage("no dtype is called 'flaot32'; did you mean 'float32'?");
        assertThatThrownBy(() -> DType.of("FLOAT32")).hasMessageEndingWith("; did you mean 'float32'?");
        assertThatThrownBy(() -> DType.of("torch.unit8"))
                .hasMessage("no dtype is called 'torch.unit8'; did you mean 'uint8'?");
        assertThatThrownBy(() -> DType.of("decimal"))
                .hasMessage("no dtype is called 'decimal'; DType.values() has all of them");
    }

    @Test
    void narrowElementsShareBytes() {
        assertThat(DType.QUINT4X2.nbytes(3)).isEqualTo(2);
        assertThat(DType.QUINT2X4.nbytes(5)).isEqualTo(2);
        assertThat(DType.QUINT2X4.isByteSized()).isFalse();
        assertThat(DType.FLOAT64.nbytes(0)).isZero();
        assertThatThrownBy(() -> DType.FLOAT64.nbytes(1L << 60)).isInstanceOf(ArithmeticException.class);
    }

    @Test
    void opaqueTypesAreEqualByNameAndWidth() {
        assertThat(DType.opaque("posit16", 16)).isEqualTo(DType.opaque("posit16", 16))
                .hasSameHashCodeAs(DType.opaque("posit16", 16)).isNotEqualTo(DType.opaque("posit16", 8))
                .isNotEqualTo(DType.opaque("posit", 16));
        assertThat(DType.opaque("posit16", 16).kind()).isEqualTo(DType.Kind.BITS);
    }

    @Test
    void theNameOfAKnownTypeWithItsWidthIsThatType() {
        assertThat(DType.opaque("float32", 32)).isSameAs(DType.FLOAT32);
        assertThat(DType.opaque("float32", 16)).isNotEqualTo(DType.FLOAT32);
        assertThat(DType.opaque("Float", 32)).isNotEqualTo(DType.FLOAT32);
    }

    @Test
    void opaqueTypesHaveAnyNameAndAPositiveWidth() {
        assertThat(DType.opaque("", 8).name()).isEmpty();
        DType widest = DType.opaque("wide", Integer.MAX_VALUE);
        assertThat(widest.itemsize()).isEqualTo(1 << 28);
        assertThat(widest.nbytes(16)).isEqualTo(2L * Integer.MAX_VALUE);
        assertThatThrownBy(() -> DType.opaque("wide", 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> DType.opaque("wide", -8)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void theDefaultTypeIsBoundForTheLengthOfAnAction() throws Exception {
        assertThat(DType.defaultType()).isSameAs(DType.FLOAT32);
        DType inner = DType.callWithDefault(DType.FLOAT64, () -> {
            assertThat(DType.defaultType()).isSameAs(DType.FLOAT64);
            return DType.callWithDefault(DType.INT32, DType::defaultType);
        });
        assertThat(inner).isSameAs(DType.INT32);
        assertThat(DType.defaultType()).isSameAs(DType.FLOAT32);
    }

    @Test
    void theDefaultTypeOfOtherThreadsIsNotTouched() {
        DType seen = DType.callWithDefault(DType.FLOAT64,
                () -> CompletableFuture.supplyAsync(DType::defaultType).join());
        assertThat(seen).isSameAs(DType.FLOAT32);
    }

    @Test
    void anActionsExceptionPassesAndTheDefaultIsAsBefore() {
        assertThatThrownBy(() -> DType.callWithDefault(DType.FLOAT64, () -> {
            throw new IOException("torn");
        })).isInstanceOf(IOException.class).hasMessage("torn");
        assertThat(DType.defaultType()).isSameAs(DType.FLOAT32);
    }

    @Test
    void onlyATypeWithAStorageClassCanBeTheDefault() {
        assertThatThrownBy(() -> DType.callWithDefault(DType.FLOAT8_E4M3FN, () -> 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("float8_e4m3fn cannot be the default: no storage class is named after it");
        assertThatThrownBy(() -> DType.callWithDefault(DType.UINT16, () -> 1))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
