package io.undercroft.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.cuda.internal.DeviceChecks;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.StorageCopier;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// What a user does with CUDA devices, over the stand-in for the driver.
@NeedsStandIn
class CudaStorageTest {
    private static final Device FIRST = Device.cuda(0);
    private static final Device SECOND = Device.cuda(1);

    private static Storage random(long nbytes) {
        Storage made = Storage.allocate(nbytes);
        long state = nbytes;
        for (long i = 0; i < nbytes; i++) {
            state = state * 6364136223846793005L + 1442695040888963407L;
            made.set(i, (byte) (state >>> 33));
        }
        return made;
    }

    @Test
    void aTensorGoesToTheDeviceAndBack() {
        Tensor tensor = Tensor.arange(DType.FLOAT32, 12).view(3, 4);
        Tensor there = tensor.cuda();
        assertThat(there.device()).isEqualTo(FIRST);
        assertThat(there.isCuda()).isTrue();
        assertThat(there.shape()).isEqualTo(tensor.shape());
        assertThat(there.cpu().contentEquals(tensor)).isTrue();
        assertThat(there.to(FIRST)).isSameAs(there);
        assertThat(there.to(Device.parse("cuda"))).isSameAs(there);
        assertThat(there).hasToString("""
                tensor([[ 0.,  1.,  2.,  3.],
                        [ 4.,  5.,  6.,  7.],
                        [ 8.,  9., 10., 11.]], device='cuda:0')""");
        there.storage().release();
    }

    @TestFactory
    Stream<DynamicTest> allThatTheCommandChecksHolds(@TempDir Path directory) {
        return new DeviceChecks(CudaDevice.of(0), directory, 0).all().stream()
                .filter(check -> check.omitted().isEmpty())
                .map(check -> DynamicTest.dynamicTest(check.what(), () -> check.body().run()));
    }

    @Test
    void aDeviceWithoutAnIndexIsTheFirst() {
        Storage there = Storage.copyOf((byte) 5).to(Device.parse("cuda"));
        assertThat(there.device()).isEqualTo(FIRST);
        assertThat(there.cuda()).isSameAs(there);
        assertThat(Allocator.on(Device.parse("cuda"))).isSameAs(Allocator.on(FIRST));
        there.release();
    }

    @Test
    void typedStoragesMoveToo() {
        TypedStorage host = TypedStorage.of(DType.FLOAT32, 1.5, 2.5);
        TypedStorage there = host.cuda();
        assertThat(there.isCuda()).isTrue();
        assertThat(there.dtype()).isEqualTo(DType.FLOAT32);
        assertThat(there.cpu().toList()).isEqualTo(host.toList());
        assertThat(there.to(FIRST)).isSameAs(there);
        assertThat(there.fill(7).cpu().getDouble(1)).isEqualTo(7);
        there.untyped().release();
    }

    @Test
    void newStoragesAreZeroedAndFreedWithTheLastReference() {
        long before = StandIn.get("allocations");
        Storage there = Storage.allocate(1 << 20, Allocator.on(FIRST));
        assertThat(StandIn.get("allocations")).isEqualTo(before + 1);
        assertThat(there.cpu().contentEquals(Storage.allocate(1 << 20))).isTrue();
        there.retain().release();
        assertThat(StandIn.get("allocations")).isEqualTo(before + 1);
        there.release();
        assertThat(StandIn.get("allocations")).isEqualTo(before);
        assertThatThrownBy(there::cpu).isInstanceOf(IllegalStateException.class).hasMessageContaining("was freed");
    }

    @Test
    void emptyStoragesNeedNoDeviceMemory() {
        long before = StandIn.get("allocations");
        Storage there = Storage.allocate(0).to(FIRST);
        assertThat(there.device()).isEqualTo(FIRST);
        assertThat(there.copy().fill((byte) 1).to(SECOND).cpu().nbytes()).isZero();
        assertThat(there.dataPtr()).isZero();
        assertThat(StandIn.get("allocations")).isEqualTo(before);
    }

    @Test
    void whatIsCopiedOverEntirelyIsNotZeroedBefore() {
        Storage there = random(3 << 20).to(FIRST);
        Storage copy = there.copy();
        Storage second = StorageCopier.into(Allocator.on(SECOND)).copy(there);
        assertThat(StandIn.get("cuMemsetD8Async")).isZero();
        List.of(there, copy, second).forEach(Storage::release);
    }

    @Test
    void storagesAreFilledCopiedSlicedAndResized() {
        Storage host = random(100);
        Storage there = host.to(FIRST);
        Storage copy = there.copy();
        copy.slice(10, 20).fill((byte) 9);
        assertThat(copy.slice(9, 3).cpu().toList()).containsExactly(host.getUnsigned(9), 9, 9);
        assertThat(copy.slice(29, 2).cpu().toList()).containsExactly(9, host.getUnsigned(30));
        assertThat(there.cpu().contentEquals(host)).isTrue();
        copy.resize(120);
        assertThat(copy.cpu().slice(98, 4).toList()).containsExactly(host.getUnsigned(98), host.getUnsigned(99), 0, 0);
        copy.slice(50, 10).copyFrom(host.slice(0, 10));
        assertThat(copy.cpu().slice(50, 10).contentEquals(host.slice(0, 10))).isTrue();
        host.slice(0, 5).copyFrom(copy.slice(10, 5));
        assertThat(host.slice(0, 5).toList()).containsOnly(9);
        there.release();
    }

    @Test
    void bytesGoFromDeviceToDevice() {
        Storage host = random(5 << 20);
        Storage there = host.to(FIRST).to(SECOND);
        assertThat(there.device()).isEqualTo(SECOND);
        assertThat(there.cpu().contentEquals(host)).isTrue();
        assertThat(StandIn.get("cuMemcpyPeerAsync")).isEqualTo(1);
        there.release();
    }

    /// Other devices do not access memory of pools directly, as jcuda cannot enable this: the driver copies through the
    /// host.
    @Test
    void memoryOfPoolsGoesBetweenDevicesInBothDirectionsAtOnce() {
        List<Device> devices = List.of(FIRST, SECOND);
        List<Storage> hosts = List.of(random((9 << 20) + 1), random((9 << 20) + 2));
        List<Storage> there = IntStream.range(0, 2).mapToObj(i -> hosts.get(i).to(devices.get(i))).toList();
        IntStream.range(0, 8).parallel().forEach(i -> {
            int from = i % 2;
            Storage copy = there.get(from).to(devices.get(1 - from));
            assertThat(copy.device()).isEqualTo(devices.get(1 - from));
            assertThat(copy.cpu().contentEquals(hosts.get(from))).isTrue();
            copy.fill((byte) 1).slice(3, 4099).copyFrom(there.get(from).slice(101, 4099));
            Storage back = copy.cpu();
            assertThat(back.slice(3, 4099).contentEquals(hosts.get(from).slice(101, 4099))).isTrue();
            assertThat(back.get(2)).isEqualTo(back.get(4102)).isEqualTo((byte) 1);
            copy.release();
        });
        assertThat(StandIn.get("cuMemcpyPeerAsync")).isEqualTo(16);
        assertThat(StandIn.get("direct")).isZero();
        there.forEach(Storage::release);
    }

    /// The memory of shared storages is in no pool.
    @Test
    void bytesGoDirectlyFromDeviceToDeviceWhereThatIsPossible() {
        Storage host = random(100_000);
        Storage there = host.to(SECOND).shareMemory();
        for (int i = 1; i <= 3; i++) {
            Storage copy = there.to(FIRST);
            assertThat(StandIn.get("direct")).isEqualTo(i);
            assertThat(copy.cpu().contentEquals(host)).isTrue();
            copy.release();
        }
        assertThat(StandIn.get("cuCtxEnablePeerAccess")).isLessThanOrEqualTo(1);
        there.release();
    }

    @Test
    void devicesThatCannotAccessEachOtherCopyAllTheSame() {
        StandIn.peers(false);
        Storage host = random(100_000);
        Storage there = host.to(Device.cuda(3)).shareMemory();
        Storage copy = there.to(Device.cuda(2));
        assertThat(copy.cpu().contentEquals(host)).isTrue();
        assertThat(StandIn.get("cuDeviceCanAccessPeer")).isEqualTo(1);
        assertThat(StandIn.get("cuCtxEnablePeerAccess")).isZero();
        assertThat(StandIn.get("direct")).isZero();
        copy.release();
        there.release();
    }

    @ParameterizedTest
    @CsvSource({"217, 0", "304, 0", "704, 1"})
    void accessThatTheDriverRefusesOrAnotherLibraryEnabledIsNoFailure(int code, int firstDevice) {
        // Each pair of devices is asked about once.
        Device target = Device.cuda(code == 217 ? 2 : 3);
        StandIn.fail("cuCtxEnablePeerAccess", 1, code);
        Storage host = random(1000);
        Storage there = host.to(Device.cuda(firstDevice));
        Storage copy = there.to(target);
        assertThat(StandIn.get("failed")).isEqualTo(1);
        assertThat(copy.cpu().contentEquals(host)).isTrue();
        copy.release();
        there.release();
    }

    @Test
    void aThousandTensorsOnTenStoragesMakeTenCopies() {
        long before = StandIn.get("allocations");
        List<Tensor> all = new ArrayList<>();
        for (int storage = 0; storage < 10; storage++) {
            Tensor base = Tensor.arange(DType.INT32, 1000);
            IntStream.range(0, 50).mapToObj(i -> base.narrow(0, i, 100)).forEach(all::add);
            IntStream.range(0, 50).mapToObj(i -> base.view(10, 100).transpose(0, 1).select(0, i)).forEach(all::add);
        }
        StorageCopier copy = StorageCopier.to(FIRST);
        List<Tensor> moved = all.stream().map(copy::copy).toList();
        assertThat(StandIn.get("cuMemcpyHtoDAsync_v2")).isEqualTo(10);
        assertThat(StandIn.get("allocations") - before).isEqualTo(10);
        StorageCopier back = StorageCopier.to(Device.CPU);
        for (int i = 0; i < all.size(); i++) {
            Tensor there = moved.get(i);
            assertThat(there.storage()).isSameAs(moved.get(i / 100 * 100).storage());
            assertThat(there.stride()).isEqualTo(all.get(i).stride());
            assertThat(back.copy(there).contentEquals(all.get(i))).isTrue();
        }
        assertThat(StandIn.get("cuMemcpyDtoHAsync_v2")).isEqualTo(10);
        moved.stream().map(Tensor::storage).distinct().forEach(Storage::release);
    }

    @Test
    void ordinaryMemoryIsNeverGivenToTheDriver() {
        Storage heap = Storage.allocate(9 << 20, Allocator.heap()).fill((byte) 3);
        Storage there = heap.to(FIRST);
        assertThat(there.cpu().contentEquals(heap)).isTrue();
        assertThat(Storage.copyOf((byte) 1).to(FIRST).cpu().get(0)).isEqualTo((byte) 1);
        assertThat(StandIn.get("pageable")).isZero();
        there.release();
    }

    @Test
    void pinnedStoragesAreZeroedCopiedDirectlyAndFreed() {
        long before = StandIn.get("pinned");
        Storage pinned = Storage.allocate(100).pinMemory();
        assertThat(pinned.isPinned()).isTrue();
        assertThat(pinned.device()).isEqualTo(Device.CPU);
        assertThat(pinned.contentEquals(Storage.allocate(100))).isTrue();
        assertThat(pinned.pinMemory()).isSameAs(pinned);
        Storage there = pinned.fill((byte) 4).to(SECOND);
        assertThat(StandIn.get("pinned") - before).isEqualTo(100);
        Storage back = Storage.allocate(100).pinMemory().copyFrom(there);
        assertThat(back.toList()).containsOnly(4);
        assertThat(StandIn.get("pinned") - before).isEqualTo(200);
        pinned.release();
        back.release();
        there.release();
        assertThat(StandIn.get("pinned")).isEqualTo(before);
        assertThatThrownBy(() -> pinned.get(0)).isInstanceOf(IllegalStateException.class);
        assertThat(Tensor.of(1f, 2f).narrow(0, 1, 1).pinMemory().storage().nbytes()).isEqualTo(4);
        assertThat(Storage.allocate(0).pinMemory().nbytes()).isZero();
    }
}
