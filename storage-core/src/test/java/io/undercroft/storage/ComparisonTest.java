package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.Tensor.NaNs;
import java.lang.foreign.MemorySegment;
import java.util.HexFormat;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ComparisonTest {
    static Stream<String> numbersAreEqualAndCloseAsInPyTorch() {
        return TorchCases.lines("comparisons.txt").stream();
    }

    @ParameterizedTest
    @MethodSource
    void numbersAreEqualAndCloseAsInPyTorch(String answer) {
        String[] parts = answer.split(" ", -1);
        Tensor a = tensor(parts[0], parts[1]);
        Tensor b = tensor(parts[0], parts[2]);
        double rtol = Double.parseDouble(parts[3]);
        double atol = parts[4].equals("inf") ? Double.POSITIVE_INFINITY : Double.parseDouble(parts[4]);
        NaNs nans = NaNs.valueOf(parts[5]);
        assertThat(bits(a.isClose(b, rtol, atol, nans))).isEqualTo(parts[6]);
        assertThat(a.allClose(b, rtol, atol, nans)).isEqualTo(!parts[6].contains("0"));
        assertThat(bits(a.eq(b))).isEqualTo(parts[7]);
        assertThat(a.equal(b)).isEqualTo(parts[8].equals("True"));
    }

    static Stream<String> typesArePromotedAsInPyTorch() {
        return TorchCases.lines("promotions.txt").stream();
    }

    @ParameterizedTest
    @MethodSource
    void typesArePromotedAsInPyTorch(String answer) {
        String[] parts = answer.split(" ", -1);
        DType a = DType.of(parts[0]);
        DType b = DType.of(parts[1]);
        if (parts[2].equals("none")) {
            assertThatThrownBy(() -> Promotion.common(a, b)).isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(a.toString()).hasMessageContaining(b.toString());
        } else {
            assertThat(Promotion.common(a, b)).isEqualTo(DType.of(parts[2]));
        }
    }

    @Test
    void equalLooksAtNumbersAndNotAtBits() {
        assertThat(Tensor.of(0.0).equal(Tensor.of(-0.0))).isTrue();
        assertThat(Tensor.of(Double.NaN).equal(Tensor.of(Double.NaN))).isFalse();
        assertThat(Tensor.of(1f, 2f).equal(Tensor.of(1L, 2L))).isTrue();
        assertThat(Tensor.of(1f, 2f).equal(Tensor.of(1f, 2f).view(2, 1))).isFalse();
        Tensor data = Tensor.arange(DType.FLOAT32, 24).view(2, 3, 4);
        assertThat(data.transpose(0, 2).equal(data.transpose(0, 2).copy())).isTrue();
        assertThat(data.neg().equal(data.neg().copy())).isTrue();
    }

    @Test
    void aTensorWithoutDimensionsCountsLessThanOneWithSome() {
        // 1/3 is another number as float64; PyTorch compares as float32 here.
        assertThat(bits(Tensor.of(1f / 3).eq(Tensor.scalar(1.0 / 3)))).isEqualTo("1");
        assertThat(bits(Tensor.of(1f / 3).eq(Tensor.of(1.0 / 3)))).isEqualTo("0");
        assertThat(bits(Tensor.of(1, 2).eq(Tensor.scalar(1.5)))).isEqualTo("00");
    }

    @Test
    void aComplexNumberBesideFloatsIsRoundedToTheirWidth() {
        Tensor number = Tensor.of(new Complex(0.1, 0)).view();
        assertThat(Tensor.of(0.1f).eq(number)).hasToString("tensor([True])");
        assertThat(Tensor.of(0.1).eq(number)).hasToString("tensor([True])");
        assertThat(Tensor.of(0.1f).to(DType.BFLOAT16).eq(number)).hasToString("tensor([False])");
        assertThat(Tensor.full(DType.UINT16, 3, 2).eq(Tensor.of(new Complex(3, 0)).view()))
                .hasToString("tensor([True, True])");
    }

    @Test
    void shapesAreExpandedToACommonOne() {
        Tensor row = Tensor.of(1, 2, 3);
        Tensor column = Tensor.of(1, 2).view(2, 1);
        Tensor equal = row.eq(column);
        assertThat(equal.shape()).isEqualTo(Shape.of(2, 3));
        assertThat(equal.dtype()).isEqualTo(DType.BOOL);
        assertThat(bits(equal)).isEqualTo("100010");
        assertThat(row.allClose(Tensor.scalar(2L).to(DType.INT32), 0, 1, NaNs.DIFFERENT)).isTrue();
        assertThatThrownBy(() -> row.eq(Tensor.of(1, 2))).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("[3]").hasMessageContaining("[2]");
    }

    @Test
    void closenessAsksForOneTypeAndPositiveTolerances() {
        assertThatThrownBy(() -> Tensor.of(1f).isClose(Tensor.of(1.0))).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("float32").hasMessageContaining("float64");
        assertThatThrownBy(() -> Tensor.of(1f).isClose(Tensor.of(1f), -1, 0, NaNs.EQUAL))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("-1.0");
    }

    @Test
    void theDefaultTolerancesAreThoseOfPyTorch() {
        assertThat(bits(Tensor.of(1.0, 1.0, 0.0).isClose(Tensor.of(1.00001, 1.0001, 1e-9)))).isEqualTo("101");
        assertThat(Tensor.of(Double.NaN).allClose(Tensor.of(Double.NaN))).isFalse();
    }

    @Test
    void bitsWithoutNumbersAreComparedByContentOnly() {
        Tensor bits = Tensor.zeros(DType.BITS8, 2);
        assertThat(bits.contentEquals(bits.copy())).isTrue();
        assertThatThrownBy(() -> bits.equal(bits.copy())).isInstanceOf(UnsupportedOperationException.class);
    }

    private static Tensor tensor(String dtype, String hex) {
        MemorySegment bytes = MemorySegment.ofArray(HexFormat.of().parseHex(hex));
        DType type = DType.of(dtype);
        return Tensor.of(Storage.wrap(bytes), type, 0, Shape.of(bytes.byteSize() / type.itemsize()), 1);
    }

    private static String bits(Tensor answers) {
        StringBuilder bits = new StringBuilder();
        for (byte answer : answers.toByteArray()) {
            bits.append(answer);
        }
        return bits.toString();
    }
}
