package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class TensorPrintingTest {
    static List<TorchCases.Printing> whatPyTorchPrints() {
        return TorchCases.printing();
    }

    @ParameterizedTest
    @MethodSource
    void whatPyTorchPrints(TorchCases.Printing printing) {
        assertThat(printing.tensor()).hasToString(printing.expected());
    }

    @Test
    void quantizedElementsArePrintedAsTheIntegersThatAreStored() {
        Tensor tensor = Tensor.of(Storage.copyOf((byte) 0x21, (byte) 0x0F), DType.QUINT4X2, 0, Shape.of(3), 1);
        assertThat(tensor).hasToString("tensor([ 1,  2, 15], dtype=torch.quint4x2)");
    }

    @Test
    void elementsWithoutNumbersArePrintedAsHexadecimalDigits() {
        Storage storage = Storage.copyOf((byte) 0x34, (byte) 0x12, (byte) 0xFF, (byte) 0x00);
        assertThat(Tensor.of(storage, DType.BITS16, 0, Shape.of(2), 1))
                .hasToString("tensor([0x1234, 0x00ff], dtype=torch.bits16)");
        assertThat(Tensor.of(storage, DType.opaque("int12", 12), 1, Shape.of(), new long[0]))
                .hasToString("tensor(0x0ff1, dtype=torch.int12)");
    }

    @Test
    void elementsOfVeryManyBitsArePrintedAsTheirNumber() {
        Tensor wide = Tensor.of(Storage.allocate(3 * 1025), DType.opaque("wide", 8200), 0, Shape.of(3), 1);
        assertThat(wide).hasToString("tensor([<8200 bits>, <8200 bits>, <8200 bits>], dtype=torch.wide)");
    }

    @Test
    void aTensorOfVeryManyElementsInManyDimensionsIsPrintedWithoutThem() {
        long[] sizes = new long[40];
        Arrays.fill(sizes, 2);
        assertThat(Tensor.zeros(DType.INT64).expand(sizes).toString()).startsWith("tensor(...,\n       size=(2, 2, ")
                .endsWith("dtype=torch.int64)");
    }

    @Test
    void aTensorOnADeviceOfItsOwnNamesIt() {
        assertThat(Tensor.of(Storage.meta(24), DType.FLOAT32, 0, Shape.of(2, 3), 3, 1))
                .hasToString("tensor(..., device='meta', size=(2, 3))");
    }

    @Test
    void elementsArePrintedAsAnotherDtype() {
        Tensor tensor = Tensor.arange(DType.INT32, 3000).view(2, 1500);
        for (DType dtype : List.of(DType.INT32, DType.FLOAT32, DType.BFLOAT16, DType.COMPLEX64, DType.BOOL)) {
            assertThat(tensor.toString(dtype)).isEqualTo(tensor.to(dtype).toString());
            assertThat(tensor.narrow(0, 0, 0).toString(dtype)).isEqualTo(tensor.narrow(0, 0, 0).to(dtype).toString());
        }
        Tensor weight = Tensor.of(1.5f, 2f).withFlags(Set.of(Tensor.Flag.REQUIRES_GRAD));
        assertThat(weight.toString(DType.FLOAT64)).isEqualTo(weight.to(DType.FLOAT64).toString());
        assertThat(weight.toString(DType.INT8)).isEqualTo(weight.to(DType.INT8).toString());
        assertThat(Tensor.of(1).expand(1L << 50).toString(DType.FLOAT32)).contains("[1., 1., 1.,  ..., 1., 1., 1.]");
        assertThatThrownBy(() -> tensor.toString(DType.BITS8)).isInstanceOf(UnsupportedOperationException.class);
    }
}
