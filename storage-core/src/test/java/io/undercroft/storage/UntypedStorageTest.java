package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/// What `torch.UntypedStorage` can do, with its measured answers.
class UntypedStorageTest {
    @Test
    void itPrintsAsPyTorchPrintsIt() {
        assertThat(Storage.copyOf((byte) 1, (byte) 2, (byte) 44))
                .hasToString(" 1\n 2\n 44\n[torch.storage.UntypedStorage(device=cpu) of size 3]");
        assertThat(Storage.allocate(0)).hasToString(" \n[torch.storage.UntypedStorage(device=cpu) of size 0]");
        assertThat(Storage.meta(10)).hasToString("...\n[torch.storage.UntypedStorage(device=meta) of size 10]");
    }

    @Test
    void beyondAThousandBytesOnlyTheEndsArePrinted() {
        assertThat(Storage.allocate(1001).fill((byte) -1)).hasToString(
                " 255\n 255\n 255\n ...\n 255\n 255\n 255\n[torch.storage.UntypedStorage(device=cpu) of size 1001]");
        assertThat(Storage.allocate(1000).toString()).hasLineCount(1001);
    }

    @Test
    void aSliceWhoseBaseIsFreedOrTooSmallIsPrintedWithoutBytes() {
        Storage base = Storage.allocate(64);
        Storage slice = base.slice(32, 32);
        base.resize(8);
        assertThat(slice).hasToString("...\n[torch.storage.UntypedStorage(device=cpu) of size 32]");
        assertThat(new TypedStorage(slice, DType.FLOAT32).toString()).startsWith("...\n");
        assertThat(Tensor.of(slice, DType.FLOAT32, 0, Shape.of(8), 1))
                .hasToString("tensor(..., size=(8,), storage=too small)");
        base.release();
        base.release();
        assertThat(slice).hasToString("...\n[torch.storage.UntypedStorage(device=cpu) of size 32]");
    }

    @Test
    void thereIsNoMemoryAtAddress0NorBeyondTheLast() {
        assertThatThrownBy(() -> Storage.ofAddress(0, 8)).isInstanceOf(IllegalArgumentException.class)
                .hasMessage("there can be no 8 bytes of memory at address 0x0");
        assertThatThrownBy(() -> Storage.ofAddress(-4, 100)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("100 bytes").hasMessageContaining("0xfffffffffffffffc");
        assertThat(Storage.ofAddress(0, 0).nbytes()).isZero();
    }

    @Test
    void anAllocatorThatGivesAnotherSizeIsFoundOutAndItsBytesAreFreed() {
        List<Integer> freed = new ArrayList<>();
        Allocator twice = nbytes -> new Allocation(MemorySegment.ofArray(new byte[(int) (2 * nbytes)]),
                Allocation.Sharing.PRIVATE, null, () -> freed.add(1));
        assertThatThrownBy(() -> Storage.allocate(10, twice)).isInstanceOf(IllegalStateException.class)
                .hasMessage("an allocation of 20 bytes came where 10 were asked for");
        Storage storage = Storage.copyOf((byte) 1, (byte) 2);
        assertThatThrownBy(() -> storage.moveTo(twice)).isInstanceOf(IllegalStateException.class);
        assertThat(freed).hasSize(2);
        assertThat(storage.toList()).containsExactly(1, 2);
    }

    @Test
    void aMoveThatFailsGivesBackWhatWasMade() {
        List<Integer> freed = new ArrayList<>();
        Arena arena = Arena.ofShared();
        Storage storage = Storage.wrap(arena.allocate(16));
        arena.close();
        assertThatThrownBy(() -> storage.moveTo(nbytes -> new Allocation(MemorySegment.ofArray(new byte[16]),
                Allocation.Sharing.PRIVATE, null, () -> freed.add(1)))).isInstanceOf(IllegalStateException.class);
        assertThat(freed).containsExactly(1);
    }

    @Test
    void aSliceOfAMetaStorageCannotBeResizedEither() {
        Storage slice = Storage.meta(16).slice(0, 4);
        assertThat(slice.isResizable()).isFalse();
        assertThatThrownBy(() -> slice.resize(100)).isInstanceOf(UnsupportedOperationException.class);
    }

    @Test
    void aSliceOutsideIsRefusedWithTheNumbers() {
        Storage storage = Storage.allocate(4);
        assertThatThrownBy(() -> storage.slice(3, 2)).isInstanceOf(IndexOutOfBoundsException.class)
                .hasMessageMatching("a slice of 2 bytes from byte 3 of storage #\\d+ of 4 bytes on cpu");
    }

    @Test
    void aFreedStorageIsPrintedWithoutBytes() {
        Storage storage = Storage.allocate(3);
        storage.release();
        assertThat(storage).hasToString("...\n[torch.storage.UntypedStorage(device=cpu) of size 3]");
    }

    @Test
    void elementsAreBytesFrom0To255() {
        Storage storage = Storage.copyOf((byte) 200, (byte) 3);
        assertThat(storage.elementSize()).isEqualTo(1);
        assertThat(storage.size()).isEqualTo(2).isEqualTo(storage.nbytes());
        assertThat(storage.getUnsigned(0)).isEqualTo(200);
        assertThat(storage.toList()).containsExactly(200, 3);
        List<Integer> seen = new ArrayList<>();
        for (int value : storage) {
            seen.add(value);
        }
        assertThat(seen).containsExactly(200, 3);
    }

    @Test
    void aBufferIsCopiedInItsByteOrder() {
        byte[] buffer = {1, 2, 3, 4};
        Storage big = Storage.copyOf(MemorySegment.ofArray(buffer), DType.INT16, ByteOrder.BIG_ENDIAN);
        Storage little = Storage.copyOf(MemorySegment.ofArray(buffer), DType.INT32, ByteOrder.LITTLE_ENDIAN);
        assertThat(Tensor.of(big, DType.INT16, 0, Shape.of(2), 1).getLong(0)).isEqualTo(258);
        assertThat(Tensor.of(big, DType.INT16, 0, Shape.of(2), 1).getLong(1)).isEqualTo(772);
        assertThat(Tensor.of(little, DType.INT32, 0, Shape.of(1), 1).getLong(0)).isEqualTo(67305985);
        buffer[0] = 9;
        assertThat(little.get(0)).isEqualTo((byte) 1);
        assertThatThrownBy(() -> Storage.copyOf(MemorySegment.ofArray(new byte[5]), DType.INT16, ByteOrder.BIG_ENDIAN))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("5 bytes are no whole number of int16 elements of 2");
    }

    @Test
    void byteswapTurnsEachElementRoundAndOfComplexOnesEachHalf() {
        Storage storage = Storage.copyOf((byte) 1, (byte) 2, (byte) 3, (byte) 4, (byte) 5, (byte) 6, (byte) 7,
                (byte) 8);
        assertThat(storage.copy().byteswap(DType.INT16).toList()).containsExactly(2, 1, 4, 3, 6, 5, 8, 7);
        assertThat(storage.copy().byteswap(DType.FLOAT32).toList()).containsExactly(4, 3, 2, 1, 8, 7, 6, 5);
        assertThat(storage.copy().byteswap(DType.INT64).toList()).containsExactly(8, 7, 6, 5, 4, 3, 2, 1);
        assertThat(storage.copy().byteswap(DType.COMPLEX64).toList()).containsExactly(4, 3, 2, 1, 8, 7, 6, 5);
        assertThat(storage.copy().byteswap(DType.BOOL).contentEquals(storage)).isTrue();
        assertThatThrownBy(() -> Storage.allocate(6).byteswap(DType.INT32))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aMetaStorageTakesEveryWriteAndHasNothingToRead() {
        Storage meta = Storage.meta(4);
        meta.set(1, (byte) 1);
        assertThat(meta.fill((byte) 1).copyFrom(Storage.allocate(4)).resize(1L << 60).nbytes()).isEqualTo(1L << 60);
        assertThat(meta.dataPtr()).isZero();
        assertThat(meta.isMeta()).isTrue();
        assertThatThrownBy(() -> meta.get(0)).isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("has a size but no bytes");
        assertThatThrownBy(meta::cpu).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(meta::shareMemory).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> Storage.allocate(1L << 4).copyFrom(Storage.meta(16)))
                .isInstanceOf(IllegalStateException.class);
        assertThat(meta.slice(3, 5).device()).isEqualTo(Device.META);
    }

    @Test
    void toMetaKeepsTheSizeOnly() {
        Storage meta = Storage.allocate(7).to(Device.META);
        assertThat(meta.isMeta()).isTrue();
        assertThat(meta.nbytes()).isEqualTo(7);
    }

    @Test
    void whatIsOnTheHostAlreadyIsNotCopied() {
        Storage storage = Storage.allocate(7);
        assertThat(storage.cpu()).isSameAs(storage);
        assertThat(storage.isCuda() || storage.isPinned() || storage.isShared()).isFalse();
    }

    @Test
    void anAbsentDeviceSaysWhatItNeeds() {
        assertThatThrownBy(() -> Storage.allocate(7).to(Device.cuda(0))).isInstanceOf(IllegalStateException.class)
                .hasMessage(
                        "there is no device cuda:0 here, only cpu, xpu:0, xpu:1; cuda devices need undercroft-cuda "
                                + "on the class path and NVIDIA's driver");
        assertThatThrownBy(() -> Storage.allocate(7).pinMemory()).isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("no pinned memory");
        assertThatThrownBy(() -> Storage.allocate(7).shareMemory()).isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("no shared memory");
    }

    @Test
    void overlappingSlicesAreCopiedAsIfThroughAThirdPlace() {
        Storage storage = Storage.copyOf((byte) 1, (byte) 2, (byte) 3, (byte) 4);
        storage.slice(1, 3).copyFrom(storage.slice(0, 3));
        assertThat(storage.toList()).containsExactly(1, 1, 2, 3);
    }

    @Test
    void castsTakeEachByteForAnUnsignedInteger() {
        Storage storage = Storage.copyOf((byte) 1, (byte) -1);
        assertThat(storage.to(DType.FLOAT32))
                .hasToString(" 1.0\n 255.0\n[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 2]");
        assertThat(storage.to(DType.BOOL))
                .hasToString(" True\n True\n[torch.storage.TypedStorage(dtype=torch.bool, device=cpu) of size 2]");
        assertThat(storage.to(DType.INT64).untyped().nbytes()).isEqualTo(16);
    }
}
