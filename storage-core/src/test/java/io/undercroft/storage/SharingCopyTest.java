package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.EnumSet;
import org.junit.jupiter.api.Test;

class SharingCopyTest {
    @Test
    void tensorsThatShareAStorageShareItsCopy() {
        Tensor tensor = Tensor.of(1f, 2f, 3f, 4f);
        Tensor view = tensor.view(2, 2).transpose(0, 1);
        SharingCopy copy = SharingCopy.into(Allocator.offHeap());
        Tensor tensorCopy = copy.of(tensor);
        Tensor viewCopy = copy.of(view);
        assertThat(viewCopy.storage()).isSameAs(tensorCopy.storage()).isNotSameAs(tensor.storage());
        assertThat(viewCopy.stride()).containsExactly(1, 2);
        tensorCopy.setDouble(1, 9);
        assertThat(viewCopy.getDouble(1, 0)).isEqualTo(9);
        assertThat(tensor.getDouble(1)).isEqualTo(2);
    }

    @Test
    void equalButSeparateStoragesStaySeparate() {
        SharingCopy copy = SharingCopy.into(Allocator.heap());
        assertThat(copy.of(Storage.allocate(4))).isNotSameAs(copy.of(Storage.allocate(4)));
    }

    @Test
    void slicesStaySlicesOfTheCopiedBase() {
        Storage base = Storage.copyOf((byte) 1, (byte) 2, (byte) 3);
        Storage slice = base.slice(1, 2);
        SharingCopy copy = SharingCopy.into(Allocator.offHeap());
        Storage sliceCopy = copy.of(slice);
        copy.of(base).set(1, (byte) 7);
        assertThat(sliceCopy.toList()).containsExactly(7, 3);
        assertThat(sliceCopy.base()).containsSame(copy.of(base));
        assertThat(base.get(1)).isEqualTo((byte) 2);
        assertThat(copy.of(new TypedStorage(slice, DType.UINT8)).untyped()).isSameAs(sliceCopy);
    }

    @Test
    void gradientsAreCopiedWithTheirTensors() {
        Tensor gradient = Tensor.of(5f, 6f);
        Tensor tensor = Tensor.of(1f, 2f).withGrad(gradient);
        SharingCopy copy = SharingCopy.into(Allocator.heap());
        Tensor gradientCopy = copy.of(tensor).grad().orElseThrow();
        assertThat(gradientCopy.toFloatArray()).containsExactly(5, 6);
        assertThat(gradientCopy.storage()).isNotSameAs(gradient.storage()).isSameAs(copy.of(gradient).storage());
        assertThat(SharingCopy.to(Device.CPU).of(tensor)).isSameAs(tensor);
    }

    @Test
    void whatIsOnTheDeviceAlreadyStaysItself() {
        Tensor tensor = Tensor.of(1f);
        Storage slice = tensor.storage().slice(0, 2);
        SharingCopy copy = SharingCopy.to(Device.CPU);
        assertThat(copy.of(tensor)).isSameAs(tensor);
        assertThat(copy.of(slice)).isSameAs(slice);
    }

    @Test
    void aSetOfTensorsMovesToMetaWithItsSharing() {
        Tensor tensor = Tensor.of(1f, 2f).withFlags(EnumSet.of(Tensor.Flag.NEG));
        SharingCopy copy = SharingCopy.to(Device.META);
        Tensor moved = copy.of(tensor);
        assertThat(moved.device()).isEqualTo(Device.META);
        assertThat(moved.flags()).containsExactly(Tensor.Flag.NEG);
        assertThat(copy.of(tensor.narrow(0, 1, 1)).storage()).isSameAs(moved.storage());
    }

    @Test
    void aMetaStorageHasNothingToCopyToTheHost() {
        assertThatThrownBy(() -> SharingCopy.to(Device.CPU).of(Storage.meta(3)))
                .isInstanceOf(IllegalStateException.class);
    }
}
