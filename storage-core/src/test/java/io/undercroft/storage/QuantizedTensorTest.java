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
    private static final Tensor FLOATS = Tensor.of(1f, 2f, -1f, 0.15f, 0.25f, 24.5f).view(2, 3);

    static List<HolderCases.Quantized> whatPyTorchAnswers() {
        return HolderCases.quantized();
    }

    @ParameterizedTest
    @MethodSource("whatPyTorchAnswers")
    void numbersAreQuantizedAsByPyTorch(HolderCases.Quantized expected) {
        Tensor integers = quantized(expected).intRepr();
        assertThat(integers.contentEquals(expected.intRepr())).as("%s, not %s", integers, expected.intRepr()).isTrue();
    }

    @ParameterizedTest
    @MethodSource("whatPyTorchAnswers")
    void integersAreDequantizedAsByPyTorch(HolderCases.Quantized expected) {
        Tensor floats = quantized(expected).dequantize();
        assertThat(floats.contentEquals(expected.dequantized())).as("%s, not %s", floats, expected.dequantized())
                .isTrue();
    }

    @ParameterizedTest
    @MethodSource("whatPyTorchAnswers")
    void quantizedTensorsArePrintedAsByPyTorch(HolderCases.Quantized expected) {
        assertThat(quantized(expected)).hasToString(expected.printed());
    }

    private static QuantizedTensor quantized(HolderCases.Quantized expected) {
        return QuantizedTensor.quantize(expected.floats(), expected.quantizer(), expected.dtype());
    }

    @Test
    void oneElementIsReadThroughTheParametersOfItsChannel() {
        QuantizedTensor columns = QuantizedTensor.quantize(FLOATS, channels(1), DType.QINT8);
        assertThat(columns.getDouble(0, 1)).isEqualTo(2);
        assertThat(columns.getDouble(0, -1)).isEqualTo(-1);
        assertThat(columns.getDouble(-1, -3)).isEqualTo(columns.dequantize().getDouble(1, 0));
        assertThatThrownBy(() -> columns.getDouble(0, 3)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> columns.getDouble(0)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void nanBecomesTheZeroPoint() {
        Tensor nan = Tensor.of(Float.NaN);
        for (DType dtype : List.of(DType.QUINT8, DType.QINT8, DType.QINT32, DType.QUINT4X2, DType.QUINT2X4)) {
            QuantizedTensor quantized = QuantizedTensor.quantize(nan, new PerTensor(0.5, 3), dtype);
            assertThat(quantized.integers().getLong(0)).as(dtype.name()).isEqualTo(3);
        }
        PerChannelFloat channels = new PerChannelFloat(Tensor.of(0.5f), Tensor.of(1.75f), 0);
        assertThat(QuantizedTensor.quantize(nan, channels, DType.QUINT8).integers().getLong(0)).isEqualTo(2);
    }

    @Test
    void infinitiesBecomeTheEndsOfTheRangeOfChannelsToo() {
        Tensor infinities = Tensor.of(Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY);
        PerChannelFloat channels = new PerChannelFloat(Tensor.of(0.5f, 0.5f), Tensor.of(1f, 1f), 0);
        Tensor integers = QuantizedTensor.quantize(infinities, channels, DType.QINT8).integers();
        assertThat(integers.getLong(0)).isEqualTo(127);
        assertThat(integers.getLong(1)).isEqualTo(-128);
    }

    @Test
    void aCopyHasItsOwnIntegersAndTheSameQuantizer() {
        QuantizedTensor quantized = QuantizedTensor.quantize(FLOATS, TENTHS, DType.QUINT8);
        QuantizedTensor copy = quantized.copy();
        copy.integers().setLong(0, 0, 0);
        assertThat(quantized.getDouble(0, 0)).isEqualTo(1);
        assertThat(copy.quantizer()).isSameAs(quantized.quantizer());
        assertThat(quantized.intRepr().storage()).isNotSameAs(quantized.integers().storage());
    }

    @Test
    void viewsOfATensorWithOneScaleShareItsIntegers() {
        QuantizedTensor quantized = QuantizedTensor.quantize(FLOATS, TENTHS, DType.QUINT8);
        Tensor floats = quantized.dequantize();
        assertSame(quantized.select(0, -1), floats.select(0, -1));
        assertSame(quantized.select(1, 2), floats.select(1, 2));
        assertSame(quantized.narrow(1, 1, 2), floats.narrow(1, 1, 2));
        assertSame(quantized.slice(1, 0, Long.MAX_VALUE, 2), floats.slice(1, 0, Long.MAX_VALUE, 2));
        assertSame(quantized.permute(1, 0), floats.permute(1, 0));
        quantized.select(0, 1).integers().setLong(0, 10);
        assertThat(quantized.getDouble(1, 0)).isZero();
    }

    @Test
    void viewsOfChannelsTakeTheirParametersAlong() {
        for (Quantizer channels : List.of(channels(1), floatChannels(1))) {
            QuantizedTensor quantized = QuantizedTensor.quantize(FLOATS, channels, DType.QINT8);
            Tensor floats = quantized.dequantize();
            assertSame(quantized.select(0, 1), floats.select(0, 1));
            assertSame(quantized.narrow(0, 1, 1), floats.narrow(0, 1, 1));
            assertSame(quantized.narrow(-1, 1, 2), floats.narrow(1, 1, 2));
            assertSame(quantized.slice(0, 1, 2, 1), floats.slice(0, 1, 2, 1));
            assertSame(quantized.slice(-1, -3, 3, 2), floats.slice(1, 0, 3, 2));
            assertSame(quantized.permute(-1, 0), floats.permute(1, 0));
            assertSame(quantized.permute(1, 0).narrow(0, -2, 1).select(1, 0),
                    floats.permute(1, 0).narrow(0, -2, 1).select(1, 0));
        }
    }

    @Test
    void theChannelAxisCannotBeSelectedAway() {
        QuantizedTensor quantized = QuantizedTensor.quantize(FLOATS, channels(1), DType.QINT8);
        assertThatThrownBy(() -> quantized.select(-1, 2)).isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("dimension 1").hasMessageContaining("narrow(1, 2, 1)");
    }

    private static void assertSame(QuantizedTensor view, Tensor floats) {
        assertThat(view.dequantize().contentEquals(floats)).as("%s, not %s", view, floats).isTrue();
    }

    @Test
    void partsThatDoNotFitAreRefusedWithTheNumbers() {
        assertThatIllegalArgumentException().isThrownBy(() -> new QuantizedTensor(Tensor.of(1, 2), TENTHS))
                .withMessageContaining("int32");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> QuantizedTensor.quantize(Tensor.of(1.0), TENTHS, DType.QINT8))
                .withMessageContaining("float64");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> QuantizedTensor.quantize(FLOATS, TENTHS, DType.INT8)).withMessageContaining("int8");
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
        assertThat(quantized.toString()).startsWith("tensor(..., size=(3,)");
    }

    @Test
    void onTheMetaDeviceThereAreShapesOnly() {
        Tensor integers = Tensor.of(Storage.meta(6), DType.QUINT8, 0, Shape.of(2, 3), 3, 1);
        QuantizedTensor quantized = new QuantizedTensor(integers, TENTHS);
        assertThat(quantized.device()).isEqualTo(Device.META);
        assertThat(quantized.select(0, 1).shape()).isEqualTo(Shape.of(3));
        assertThat(quantized.dequantize().device()).isEqualTo(Device.META);
        assertThat(quantized.dequantize().dtype()).isEqualTo(DType.FLOAT32);
        assertThat(quantized.intRepr().dtype()).isEqualTo(DType.UINT8);
        assertThat(quantized).hasToString("""
                tensor(..., device='meta', size=(2, 3), dtype=torch.quint8,
                       quantization_scheme=torch.per_tensor_affine, scale=0.1, zero_point=10)""");
        assertThatIllegalStateException().isThrownBy(() -> quantized.getDouble(0, 0));
    }

    @Test
    void aFreedTensorIsPrintedWithoutNumbers() {
        QuantizedTensor quantized = QuantizedTensor.quantize(FLOATS, TENTHS, DType.QUINT8);
        quantized.integers().storage().release();
        assertThat(quantized.toString()).startsWith("tensor(..., size=(2, 3)");
        assertThatIllegalStateException().isThrownBy(quantized::dequantize);
    }

    private static PerChannel channels(int axis) {
        return new PerChannel(Tensor.of(0.5, 0.25, 0.2), Tensor.of(1L, 2L, 3L), axis);
    }

    private static PerChannelFloat floatChannels(int axis) {
        return new PerChannelFloat(Tensor.of(0.5f, 0.25f, 0.2f), Tensor.of(1.5f, 2f, 3f), axis);
    }
}
