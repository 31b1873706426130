package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;

/// Slices, resizing, weak references, and what nobody released.
class StorageSliceTest {
    @Test
    void aSliceSharesBytesAndHasAnIdentityOfItsOwn() {
        Storage base = Storage.copyOf((byte) 1, (byte) 2, (byte) 3, (byte) 4);
        Storage slice = base.slice(1, 2);
        slice.fill((byte) 9);
        assertThat(base.toList()).containsExactly(1, 9, 9, 4);
        base.set(2, (byte) -1);
        assertThat(slice.toList()).containsExactly(9, 255);
        assertThat(slice).isNotEqualTo(base);
        assertThat(slice.id()).isNotEqualTo(base.id());
        assertThat(slice.base()).containsSame(base);
        assertThat(slice.dataPtr()).isEqualTo(base.dataPtr() + 1);
        assertThat(slice.filename()).isEmpty();
    }

    @Test
    void aSliceOfASliceStandsOnTheSameBase() {
        Storage base = Storage.copyOf((byte) 1, (byte) 2, (byte) 3, (byte) 4);
        Storage inner = base.slice(1, 3).slice(1, 2);
        assertThat(inner.toList()).containsExactly(3, 4);
        assertThat(inner.base()).containsSame(base);
        assertThat(inner.sliceOffset()).isEqualTo(2);
    }

    @Test
    void aSliceMustLieInsideItsBase() {
        Storage base = Storage.allocate(4);
        assertThatThrownBy(() -> base.slice(3, 2)).isInstanceOf(IndexOutOfBoundsException.class)
                .hasMessageContaining("3").hasMessageContaining("4");
        assertThatThrownBy(() -> base.slice(-1, 2)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> base.slice(1, Long.MAX_VALUE)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThat(base.slice(4, 0).toList()).isEmpty();
    }

    @Test
    void aSliceKeepsItsBaseAlive() {
        AtomicInteger freed = new AtomicInteger();
        Storage base = Storage.over(counted(4, freed));
        Storage slice = base.slice(1, 2);
        assertThat(base.referenceCount()).isEqualTo(2);
        base.release();
        assertThat(freed).hasValue(0);
        slice.set(0, (byte) 5);
        assertThat(slice.get(0)).isEqualTo((byte) 5);
        slice.release();
        assertThat(freed).hasValue(1);
        assertThatThrownBy(() -> slice.get(0)).isInstanceOf(IllegalStateException.class)
                .hasMessage("storage #" + slice.id() + " of 2 bytes was freed");
    }

    @Test
    void aSliceCannotBeResized() {
        Storage slice = Storage.allocate(4).slice(0, 4);
        assertThat(slice.isResizable()).isFalse();
        assertThatThrownBy(() -> slice.resize(4)).isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("storage #" + slice.id()).hasMessageContaining("4 bytes");
    }

    @Test
    void aSliceFollowsItsBaseWhenThatIsResized() {
        Storage base = Storage.copyOf((byte) 1, (byte) 2, (byte) 3, (byte) 4);
        Storage slice = base.slice(1, 2);
        assertThat(slice.toList()).containsExactly(2, 3);
        base.resize(3);
        base.set(1, (byte) 7);
        assertThat(slice.toList()).containsExactly(7, 3);
        base.resize(2);
        assertThatThrownBy(() -> slice.get(0)).isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("from byte 1 on of storage #" + base.id() + " of 2 bytes");
        base.resize(10);
        assertThat(slice.toList()).containsExactly(7, 0);
    }

    @Test
    void resizingKeepsTheIdentityAndTheBytesThatFit() {
        Storage storage = Storage.copyOf((byte) 1, (byte) 2, (byte) 3);
        long id = storage.id();
        assertThat(storage.resize(5)).isSameAs(storage);
        assertThat(storage.toList()).containsExactly(1, 2, 3, 0, 0);
        assertThat(storage.resize(2).resize(3).toList()).containsExactly(1, 2, 0);
        assertThat(storage.id()).isEqualTo(id);
        assertThat(storage.resize(0).nbytes()).isZero();
        assertThat(storage.dataPtr()).isZero();
    }

    @Test
    void aResizeThatFailsChangesNothing() {
        Storage storage = Storage.copyOf((byte) 1, (byte) 2);
        assertThatThrownBy(() -> storage.resize(-1)).isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a storage cannot have -1 bytes");
        assertThatThrownBy(() -> storage.resize(1L << 60)).isInstanceOf(OutOfMemoryError.class)
                .hasMessageContaining("1152921504606846976 bytes");
        assertThat(storage.toList()).containsExactly(1, 2);
    }

    @Test
    void onlyWhatCameFromAnAllocatorIsResizable() {
        assertThat(Storage.allocate(1).isResizable()).isTrue();
        assertThat(Storage.allocate(1, Allocator.heap()).isResizable()).isTrue();
        assertThat(Storage.meta(1).resize(3).nbytes()).isEqualTo(3);
        assertThat(Storage.wrap(MemorySegment.ofArray(new byte[2])).isResizable()).isFalse();
        assertThat(Storage.over(counted(2, new AtomicInteger())).isResizable()).isFalse();
        assertThat(Storage.deferred(2, () -> counted(2, new AtomicInteger())).isResizable()).isFalse();
    }

    @Test
    void resizingGivesTheOldBytesBackAtOnce() {
        AtomicInteger freed = new AtomicInteger();
        Storage storage = Storage.allocate(2, nbytes -> counted(nbytes, freed));
        storage.resize(3);
        assertThat(freed).hasValue(1);
        storage.release();
        assertThat(freed).hasValue(2);
        assertThatThrownBy(() -> storage.resize(1)).isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("was freed");
    }

    @Test
    void movingKeepsTheIdentityTheBytesAndTheSlices() {
        Storage storage = Storage.copyOf((byte) 1, (byte) 2);
        Storage slice = storage.slice(1, 1);
        assertThat(storage.moveTo(Allocator.heap())).isSameAs(storage);
        assertThat(storage.allocator()).contains(Allocator.heap());
        storage.set(1, (byte) 8);
        assertThat(slice.get(0)).isEqualTo((byte) 8);
        assertThatThrownBy(() -> slice.moveTo(Allocator.heap())).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void theHeapHasNoAddress() {
        assertThatThrownBy(() -> Storage.allocate(8, Allocator.heap()).dataPtr())
                .isInstanceOf(UnsupportedOperationException.class).hasMessageContaining("lies on the heap");
    }

    @Test
    void aStorageOnAnAddressReadsAndWritesThere() {
        Storage storage = Storage.copyOf((byte) 1, (byte) 2, (byte) 3);
        Storage there = Storage.ofAddress(storage.dataPtr(), 2);
        there.fill((byte) 9);
        assertThat(storage.toList()).containsExactly(9, 9, 3);
        assertThat(there.isResizable()).isFalse();
        there.release();
        assertThat(storage.toList()).containsExactly(9, 9, 3);
    }

    @Test
    void aWeakReferenceEndsWithTheLastReference() {
        Storage storage = Storage.allocate(4);
        WeakStorage weak = storage.weak();
        assertThat(weak.retain()).containsSame(storage);
        assertThat(storage.referenceCount()).isEqualTo(2);
        storage.release();
        assertThat(weak.isExpired()).isFalse();
        storage.release();
        assertThat(weak.isExpired()).isTrue();
        assertThat(weak.retain()).isEmpty();
        assertThat(weak.id()).isEqualTo(storage.id());
    }

    @Test
    void whatNobodyReleasedIsGivenBackWhenItIsCollected() {
        AtomicInteger freed = new AtomicInteger();
        WeakStorage weak = forgotten(freed);
        collectUntil(() -> freed.get() == 1);
        assertThat(freed).hasValue(1);
        assertThat(weak.isExpired()).isTrue();
    }

    @Test
    void aForgottenSliceLetsItsBaseGo() {
        Storage base = Storage.allocate(4);
        forgetASlice(base);
        collectUntil(() -> base.referenceCount() == 1);
        assertThat(base.referenceCount()).isEqualTo(1);
    }

    /// Bytes that come into a storage after it was made have the same end as those that it was made with.
    @Test
    void aForgottenStorageFreesBytesThatCameLater() {
        AtomicInteger made = new AtomicInteger();
        AtomicInteger atFirstUse = new AtomicInteger();
        forget(Storage.deferred(4, () -> counted(4, atFirstUse)));
        collectUntil(() -> atFirstUse.get() == 1);
        AtomicInteger resized = new AtomicInteger();
        forget(Storage.allocate(4, nbytes -> made.getAndIncrement() == 0
                ? Allocator.offHeap().allocate(nbytes)
                : counted(nbytes, resized)).resize(8));
        collectUntil(() -> resized.get() == 1);
        AtomicInteger unpinned = new AtomicInteger();
        PretendDevice.PIN.set((_, after) -> () -> {
            unpinned.incrementAndGet();
            after.run();
        });
        try {
            forget(Storage.allocate(4).pinInPlace());
        } finally {
            PretendDevice.PIN.set(null);
        }
        collectUntil(() -> unpinned.get() == 1);

        assertThat(List.of(atFirstUse, resized, unpinned)).extracting(AtomicInteger::get).containsExactly(1, 1, 1);
    }

    private static void forget(Storage storage) {
        storage.set(0, (byte) 1);
        assertThat(storage.isMaterialized()).isTrue();
    }

    private static WeakStorage forgotten(AtomicInteger freed) {
        return Storage.over(counted(4, freed)).weak();
    }

    private static void forgetASlice(Storage base) {
        assertThat(base.slice(1, 1).nbytes()).isEqualTo(1);
        assertThat(base.referenceCount()).isEqualTo(2);
    }

    private static void collectUntil(BooleanSupplier done) {
        Instant end = Instant.now().plus(Duration.ofMinutes(5));
        while (!done.getAsBoolean() && Instant.now().isBefore(end)) {
            System.gc();
            Thread.onSpinWait();
        }
    }

    private static Allocation counted(long nbytes, AtomicInteger freed) {
        Arena arena = Arena.ofShared();
        return new Allocation(arena.allocate(nbytes), Allocation.Sharing.PRIVATE, null, () -> {
            freed.incrementAndGet();
            arena.close();
        });
    }
}
