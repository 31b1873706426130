package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.Quantizer.PerChannel;
import io.undercroft.storage.Quantizer.PerChannelFloat;
import io.undercroft.storage.Quantizer.PerTensor;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class QuantizedTensorTest {
    private static final PerTensor TENTHS = new PerTensor(0.1, 10);

    static List<HolderCases.Quantized> whatPyTorchAnswers() {
        return HolderCases.quantized();
    }

    @ParameterizedTest
    @MethodSource("whatPyTorchAnswers")
    void integersAreDequantizedAsByPyTorch(HolderCases.Quantized expected) {
        Tensor floats = expected.tensor().dequantize();
        assertThat(floats.contentEquals(expected.dequantized())).as("%s, not %s", floats, expected.dequantized())
                .isTrue();
    }

    @Test
    void oneElementIsReadThroughTheParametersOfItsChannel() {
        QuantizedTensor columns = new QuantizedTensor(integers(DType.QINT8, 3, 10, -2, 1, 3, 100), channels(1));
        assertThat(columns.getDouble(0, 1)).isEqualTo(2);
        assertThat(columns.getDouble(0, -1)).isEqualTo(-1);
        assertThat(columns.getDouble(-1, -3)).isEqualTo(columns.dequantize().getDouble(1, 0));
        assertThatThrownBy(() -> columns.getDouble(0, 3)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> columns.getDouble(0)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void aCopyHasItsOwnIntegersAndTheSameQuantizer() {
        QuantizedTensor quantized = new QuantizedTensor(integers(DType.QUINT8, 20, 30, 0, 12, 12, 255), TENTHS);
        QuantizedTensor copy = quantized.copy();
        copy.integers().setLong(0, 0, 0);
        assertThat(quantized.getDouble(0, 0)).isEqualTo(1);
        assertThat(copy.quantizer()).isSameAs(quantized.quantizer());
    }

    @Test
    void partsThatDoNotFitAreRefusedWithTheNumbers() {
        assertThatIllegalArgumentException().isThrownBy(() -> new QuantizedTensor(Tensor.of(1, 2), TENTHS))
                .withMessageContaining("int32");
        Tensor integers = Tensor.zeros(DType.QINT8, 2, 3);
        assertThatIllegalArgumentException().isThrownBy(() -> new QuantizedTensor(integers, channels(0)))
                .withMessageContaining("3 channels").withMessageContaining("[2, 3]").withMessageContaining("needs 2");
        assertThatIllegalArgumentException().isThrownBy(() -> new QuantizedTensor(integers, channels(2)))
                .withMessageContaining("axis 2").withMessageContaining("[2, 3]");
        assertThatIllegalArgumentException().isThrownBy(() -> channels(-1)).withMessageContaining("-1");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new PerChannel(Tensor.of(1f), Tensor.of(1L), 0)).withMessageContaining("float32");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new PerChannel(Tensor.of(1.0), Tensor.of(1), 0)).withMessageContaining("int32");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new PerChannelFloat(Tensor.of(1f, 2f), Tensor.of(1f), 0))
                .withMessageContaining("2 scales").withMessageContaining("1 zero point");
    }

    @Test
    void aZeroPointOutsideTheRangeIsRefusedWhenNumbersAreAskedFor() {
        QuantizedTensor quantized = new QuantizedTensor(Tensor.zeros(DType.QUINT4X2, 3), new PerTensor(1, 16));
        assertThatIllegalArgumentException().isThrownBy(quantized::dequantize).withMessageContaining("16")
                .withMessageContaining("quint4x2").withMessageContaining("0 to 15");
        assertThatIllegalArgumentException().isThrownBy(() -> quantized.getDouble(0));
    }

    @Test
    void onTheMetaDeviceThereAreShapesOnly() {
        Tensor integers = Tensor.of(Storage.meta(6), DType.QUINT8, 0, Shape.of(2, 3), 3, 1);
        QuantizedTensor quantized = new QuantizedTensor(integers, TENTHS);
        assertThat(quantized.device()).isEqualTo(Device.META);
        assertThat(quantized.dequantize().device()).isEqualTo(Device.META);
        assertThat(quantized.dequantize().dtype()).isEqualTo(DType.FLOAT32);
        assertThatIllegalStateException().isThrownBy(() -> quantized.getDouble(0, 0));
    }

    @Test
    void aFreedTensorHasNoNumbers() {
        QuantizedTensor quantized = new QuantizedTensor(integers(DType.QUINT8, 20, 30, 0, 12, 12, 255), TENTHS);
        quantized.integers().storage().release();
        assertThatIllegalStateException().isThrownBy(quantized::dequantize);
    }

    private static Tensor integers(DType dtype, int... values) {
        return Tensor.of(values).to(DType.INT8).view(2, 3).view(dtype);
    }

    private static PerChannel channels(int axis) {
        return new PerChannel(Tensor.of(0.5, 0.25, 0.2), Tensor.of(1L, 2L, 3L), axis);
    }
}
