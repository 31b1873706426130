package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.spi.DeviceMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/// Storages on a device that the host cannot reach.
class DeviceStorageTest {
    private final Storage host = Storage.copyOf((byte) 1, (byte) 2, (byte) 3);

    @Test
    void bytesGoToTheDeviceAndBack() {
        Storage there = host.to(PretendDevice.DEVICE);
        assertThat(there.device()).isEqualTo(PretendDevice.DEVICE);
        assertThat(there.cpu().toList()).containsExactly(1, 2, 3);
        assertThat(there.to(PretendDevice.DEVICE)).isSameAs(there);
        assertThat(there).hasToString("...\n[torch.storage.UntypedStorage(device=xpu:0) of size 3]");
    }

    @Test
    void theHostCannotReachThem() {
        Storage there = host.to(PretendDevice.DEVICE);
        assertThatThrownBy(() -> there.get(0)).isInstanceOf(IllegalStateException.class)
                .hasMessage("storage #" + there.id() + " of 3 bytes on xpu:0 is out of the host's reach; copy it with "
                        + "cpu(), or copy to it with copyFrom");
        assertThatThrownBy(() -> there.set(0, (byte) 1)).isInstanceOf(IllegalStateException.class);
        Tensor tensor = Tensor.of(there, DType.UINT8, 0, Shape.of(3), 1);
        assertThatThrownBy(() -> tensor.getDouble(0)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void wholeStoragesAreFilledCopiedAndResizedThere() {
        Storage there = host.to(PretendDevice.DEVICE);
        Storage copy = there.copy();
        copy.slice(1, 1).fill((byte) 9);
        assertThat(copy.resize(4).device()).isEqualTo(PretendDevice.DEVICE);
        assertThat(copy.cpu().toList()).containsExactly(1, 9, 3, 0);
        assertThat(there.copyFrom(copy.slice(0, 3)).cpu().toList()).containsExactly(1, 9, 3);
        assertThat(host.copyFrom(there).toList()).containsExactly(1, 9, 3);
    }

    @Test
    void theConstructorOfAStorageClassTakesADevice() {
        DType dtype = TypedStorage.dtypeOf("torch.cuda.FloatStorage");
        TypedStorage there = TypedStorage.allocate(dtype, 3, Allocator.on(PretendDevice.DEVICE));
        assertThat(there.device()).isEqualTo(PretendDevice.DEVICE);
        assertThat(there.dtype()).isEqualTo(DType.FLOAT32);
        assertThat(there.fill(2).to(DType.INT8).untyped().cpu().toList()).containsExactly(2, 2, 2);
        assertThat(Tensor.zeros(Allocator.on(PretendDevice.DEVICE), dtype, 2).device()).isEqualTo(PretendDevice.DEVICE);
        assertThat(Allocator.on(Device.CPU)).isSameAs(Allocator.offHeap());
        assertThatThrownBy(() -> Allocator.on(Device.META)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> Allocator.on(Device.cuda(7))).isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("cuda:7");
    }

    @Test
    void aSetOfTensorsMovesEachStorageOnce() {
        Tensor tensor = Tensor.of(1f, 2f, 3f, 4f);
        List<Tensor> set = List.of(tensor, tensor.view(2, 2), tensor.narrow(0, 1, 2));
        int before = PretendDevice.ALLOCATIONS.get();
        StorageCopier copy = StorageCopier.to(PretendDevice.DEVICE);
        List<Tensor> moved = set.stream().map(copy::copy).toList();
        assertThat(PretendDevice.ALLOCATIONS.get() - before).isEqualTo(1);
        assertThat(moved).allMatch(there -> there.storage() == moved.getFirst().storage());
        StorageCopier back = StorageCopier.to(Device.CPU);
        assertThat(moved.stream().map(back::copy)).zipSatisfy(set.stream().toList(),
                (returned, original) -> assertThat(returned.contentEquals(original)).isTrue());
    }

    @Test
    void aDeviceWithoutAnIndexIsTheFirstOfItsType() {
        Storage there = host.to(Device.parse("xpu"));
        assertThat(there.device()).isEqualTo(PretendDevice.DEVICE);
        assertThat(there.to(Device.parse("xpu"))).isSameAs(there);
        Tensor tensor = Tensor.of(there, DType.UINT8, 0, Shape.of(3), 1);
        assertThat(tensor.to(Device.parse("xpu"))).isSameAs(tensor);
        assertThat(tensor.isCuda()).isFalse();
    }

    @Test
    void theMemoryOfADeviceIsFoundOnce() {
        assertThat(Allocator.on(PretendDevice.DEVICE)).isSameAs(Allocator.on(PretendDevice.DEVICE));
    }

    @Test
    void bytesGoFromDeviceToDeviceThroughABufferOfBoundedSize() {
        Storage large = Storage.allocate(9 << 20).fill((byte) 7);
        large.set(large.nbytes() - 1, (byte) 8);
        Storage there = large.to(PretendDevice.DEVICE);
        PretendDevice.LARGEST.set(0);
        Storage other = there.to(PretendDevice.OTHER);
        assertThat(other.device()).isEqualTo(PretendDevice.OTHER);
        assertThat(PretendDevice.LARGEST).hasValueBetween(1, 4 << 20);
        assertThat(other.cpu().contentEquals(large)).isTrue();
        assertThat(there.fill((byte) 1).copyFrom(other).cpu().contentEquals(large)).isTrue();
    }

    @Test
    void whatIsCopiedOverEntirelyIsNotZeroedBefore() {
        int before = PretendDevice.UNINITIALIZED.get();
        Storage there = host.to(PretendDevice.DEVICE);
        StorageCopier.into(Allocator.on(PretendDevice.OTHER)).copy(there.copy());
        assertThat(PretendDevice.UNINITIALIZED.get() - before).isEqualTo(3);
        Storage.allocate(3, Allocator.on(PretendDevice.DEVICE));
        assertThat(there.resize(5).cpu().toList()).containsExactly(1, 2, 3, 0, 0);
        assertThat(PretendDevice.UNINITIALIZED.get() - before).isEqualTo(3);
    }

    @Test
    void typedStoragesMoveToDevices() {
        TypedStorage typed = TypedStorage.of(DType.FLOAT32, 1, 2);
        TypedStorage there = typed.to(PretendDevice.DEVICE);
        assertThat(there.device()).isEqualTo(PretendDevice.DEVICE);
        assertThat(there.cpu().toList()).isEqualTo(typed.toList());
        assertThat(typed.cpu()).isSameAs(typed);
        assertThat(there.isCuda()).isFalse();
        assertThat(there.isPinned()).isFalse();
        assertThatThrownBy(typed::pinMemory).isInstanceOf(IllegalStateException.class).hasMessageContaining("pinned");
        assertThatThrownBy(typed::cuda).isInstanceOf(IllegalStateException.class).hasMessageContaining("cuda:0");
    }

    @Test
    void bytesOfADeviceMayComeLate() {
        DeviceMemory memory = (DeviceMemory) Allocator.on(PretendDevice.DEVICE);
        AtomicInteger made = new AtomicInteger();
        Supplier<Allocation> source = () -> {
            made.incrementAndGet();
            Allocation bytes = memory.allocate(3);
            memory.fromHost(host.segment(), bytes.segment());
            return bytes;
        };
        Storage late = Storage.deferred(3, memory, source, "a file");
        assertThat(late.device()).isEqualTo(PretendDevice.DEVICE);
        assertThat(late.isMaterialized()).isFalse();
        assertThat(late.source()).contains(source);
        Storage part = late.slice(1, 2);
        assertThat(part.source()).contains(source);
        assertThat(late.describe()).contains("3 bytes on xpu:0");
        assertThat(made).hasValue(0);
        assertThat(part.cpu().toList()).containsExactly(2, 3);
        part.release();
        assertThat(late.copy().device()).isEqualTo(PretendDevice.DEVICE);
        assertThat(late.materialize().dataPtr()).isNotZero();
        assertThat(made).hasValue(1);
        assertThat(late.source()).isEmpty();
        late.release();
        assertThatThrownBy(late::dataPtr).isInstanceOf(IllegalStateException.class).hasMessageContaining("a file");
    }

    @Test
    void bytesArePassedOnPartByPartWhereverTheyAre() {
        Storage large = Storage.allocate(9 << 20).fill((byte) 1);
        large.set(5 << 20, (byte) 7);
        for (Storage storage : List.of(large, large.to(PretendDevice.DEVICE))) {
            List<Long> offsets = new ArrayList<>();
            Storage copy = Storage.allocate((9 << 20) - 2);
            storage.forEachPart(1, (9 << 20) - 2, (offset, part) -> {
                offsets.add(offset);
                copy.segment().asSlice(offset, part.byteSize()).copyFrom(part);
            });
            assertThat(offsets).isEqualTo(storage == large ? List.of(0L) : List.of(0L, 4L << 20, 8L << 20));
            assertThat(copy.contentEquals(large.slice(1, (9 << 20) - 2))).isTrue();
            assertThatThrownBy(() -> storage.forEachPart(1, 9 << 20, (_, _) -> {}))
                    .isInstanceOf(IndexOutOfBoundsException.class);
        }
        assertThatThrownBy(() -> Storage.meta(3).forEachPart(0, 3, (_, _) -> {}))
                .isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aLoanOfADeviceIsACopyOnTheHost() {
        Storage there = host.to(PretendDevice.DEVICE);
        Tensor tensor = Tensor.of(there.slice(1, 2), DType.UINT8, 0, Shape.of(2), 1);
        try (BorrowedBytes borrowed = tensor.storage().borrow()) {
            assertThat(borrowed.on(tensor).toIntArray()).containsExactly(2, 3);
        }
        assertThat(there.cpu().toList()).containsExactly(1, 2, 3);
    }

    @Test
    void ofATensorOnlyTheBytesBetweenItsElementsComeToTheHost() {
        Storage there = Tensor.arange(DType.INT32, 1000).storage().to(PretendDevice.DEVICE);
        Tensor rows = Tensor.of(there, DType.INT32, 100, Shape.of(2, 3), 10, 2);
        Tensor near = rows.cpu();
        assertThat(near.storage().nbytes()).isEqualTo(15 * 4);
        assertThat(near.toIntArray()).containsExactly(100, 102, 104, 110, 112, 114);
        assertThat(Tensor.of(there, DType.INT32, 7, Shape.of(0, 3), 3, 1).cpu().numel()).isZero();
        Tensor halves = Tensor.of(Storage.copyOf((byte) 0x21, (byte) 0x43, (byte) 0x65).to(PretendDevice.DEVICE),
                DType.opaque("four", 4), 3, Shape.of(2), 1);
        Tensor here = Tensor.of(Storage.copyOf((byte) 0x21, (byte) 0x43, (byte) 0x65), DType.opaque("four", 4), 3,
                Shape.of(2), 1);
        assertThat(halves.cpu().contentEquals(here)).isTrue();
    }

    @Test
    void whatIsReadOnlyThereIsNotWrittenTo() {
        DeviceMemory memory = (DeviceMemory) Allocator.on(PretendDevice.DEVICE);
        Allocation bytes = memory.allocate(3);
        Storage fixed = Storage.deferred(3, memory, () -> Allocation.collected(bytes.segment().asReadOnly()), "a file");
        assertThat(fixed.isReadOnly()).isTrue();
        assertThatThrownBy(() -> fixed.fill((byte) 1)).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(() -> fixed.copyFrom(host)).isInstanceOf(UnsupportedOperationException.class);
        assertThat(fixed.cpu().toList()).containsExactly(0, 0, 0);
    }

    @Test
    void anAllocatorOfAnotherDeviceDoesNotTakeTheBytes() {
        Storage there = host.to(PretendDevice.DEVICE);
        assertThatThrownBy(() -> there.moveTo(Allocator.heap())).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("cannot move to cpu");
    }
}
