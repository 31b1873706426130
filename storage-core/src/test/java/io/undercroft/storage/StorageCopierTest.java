package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.EnumSet;
import org.junit.jupiter.api.Test;

class StorageCopierTest {
    @Test
    void tensorsThatShareAStorageShareItsCopy() {
        Tensor tensor = Tensor.of(1f, 2f, 3f, 4f);
        Tensor view = tensor.view(2, 2).transpose(0, 1);
        StorageCopier copy = StorageCopier.into(Allocator.offHeap());
        Tensor tensorCopy = copy.copy(tensor);
        Tensor viewCopy = copy.copy(view);
        assertThat(viewCopy.storage()).isSameAs(tensorCopy.storage()).isNotSameAs(tensor.storage());
        assertThat(viewCopy.stride()).containsExactly(1, 2);
        tensorCopy.setDouble(1, 9);
        assertThat(viewCopy.getDouble(1, 0)).isEqualTo(9);
        assertThat(tensor.getDouble(1)).isEqualTo(2);
    }

    @Test
    void equalButSeparateStoragesStaySeparate() {
        StorageCopier copy = StorageCopier.into(Allocator.heap());
        assertThat(copy.copy(Storage.allocate(4))).isNotSameAs(copy.copy(Storage.allocate(4)));
    }

    @Test
    void slicesStaySlicesOfTheCopiedBase() {
        Storage base = Storage.copyOf((byte) 1, (byte) 2, (byte) 3);
        Storage slice = base.slice(1, 2);
        StorageCopier copy = StorageCopier.into(Allocator.offHeap());
        Storage sliceCopy = copy.copy(slice);
        copy.copy(base).set(1, (byte) 7);
        assertThat(sliceCopy.toList()).containsExactly(7, 3);
        assertThat(sliceCopy.base()).containsSame(copy.copy(base));
        assertThat(base.get(1)).isEqualTo((byte) 2);
        assertThat(copy.copy(new TypedStorage(slice, DType.UINT8)).untyped()).isSameAs(sliceCopy);
    }

    @Test
    void gradientsAreCopiedWithTheirTensors() {
        Tensor gradient = Tensor.of(5f, 6f);
        Tensor tensor = Tensor.of(1f, 2f).withGrad(gradient);
        StorageCopier copy = StorageCopier.into(Allocator.heap());
        Tensor gradientCopy = copy.copy(tensor).grad().orElseThrow();
        assertThat(gradientCopy.toFloatArray()).containsExactly(5, 6);
        assertThat(gradientCopy.storage()).isNotSameAs(gradient.storage()).isSameAs(copy.copy(gradient).storage());
        assertThat(StorageCopier.to(Device.CPU).copy(tensor)).isSameAs(tensor);
    }

    @Test
    void whatIsOnTheDeviceAlreadyStaysItself() {
        Tensor tensor = Tensor.of(1f);
        Storage slice = tensor.storage().slice(0, 2);
        StorageCopier copy = StorageCopier.to(Device.CPU);
        assertThat(copy.copy(tensor)).isSameAs(tensor);
        assertThat(copy.copy(slice)).isSameAs(slice);
    }

    @Test
    void aSetOfTensorsMovesToMetaWithItsSharing() {
        Tensor tensor = Tensor.of(1f, 2f).withFlags(EnumSet.of(Tensor.Flag.NEG));
        StorageCopier copy = StorageCopier.to(Device.META);
        Tensor moved = copy.copy(tensor);
        assertThat(moved.device()).isEqualTo(Device.META);
        assertThat(moved.flags()).containsExactly(Tensor.Flag.NEG);
        assertThat(copy.copy(tensor.narrow(0, 1, 1)).storage()).isSameAs(moved.storage());
    }

    @Test
    void aMetaStorageHasNothingToCopyToTheHost() {
        assertThatThrownBy(() -> StorageCopier.to(Device.CPU).copy(Storage.meta(3)))
                .isInstanceOf(IllegalStateException.class);
    }
}
