package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/// How a storage is pinned where it is by a provider.
class PinInPlaceTest {
    private final List<String> done = new ArrayList<>();

    @AfterEach
    void forgetTheProvider() {
        PretendDevice.PIN.set(null);
    }

    /// Pins from now on, and writes down what is done.
    private void pin() {
        PretendDevice.PIN.set((bytes, unpinned) -> {
            done.add("pinned " + bytes.byteSize());
            return () -> {
                done.add("unpinned");
                unpinned.run();
            };
        });
    }

    private Storage allocate(long nbytes) {
        Allocator allocator = size -> {
            Allocation bytes = Allocator.offHeap().allocate(size);
            return new Allocation(bytes.segment(), Allocation.Sharing.PRIVATE, null, () -> done.add("freed " + size));
        };
        return Storage.allocate(nbytes, allocator);
    }

    @Test
    void aStorageIsPinnedOnceAndUnpinnedBeforeItsMemoryIsFreed() {
        pin();
        Storage storage = allocate(10);
        assertThat(storage.slice(1, 2).pinInPlace().isPinned()).isTrue();
        assertThat(storage.pinInPlace().isPinned()).isTrue();
        assertThat(storage.pinMemory()).isSameAs(storage);
        assertThat(done).containsExactly("pinned 10");
        storage.resize(20);
        assertThat(storage.isPinned()).isFalse();
        assertThat(done).containsExactly("pinned 10", "unpinned", "freed 10");
    }

    @Test
    void memoryThatTheGarbageCollectorFreesIsUnpinnedByReleasing() {
        pin();
        Storage storage = Storage.copyOf((byte) 1, (byte) 2).pinInPlace();
        assertThat(storage.toList()).containsExactly(1, 2);
        storage.release();
        assertThat(done).containsExactly("pinned 2", "unpinned");
    }

    @Test
    void bytesThatAreMadeAtTheirFirstUseAreMadeWhenTheyArePinned() {
        pin();
        Storage storage = Storage.deferred(3, () -> Allocator.offHeap().allocate(3));
        assertThat(storage.isPinned()).isFalse();
        assertThat(storage.isMaterialized()).isFalse();
        assertThat(storage.pinInPlace().isPinned()).isTrue();
        storage.release();
        assertThat(done).containsExactly("pinned 3", "unpinned");
    }

    @Test
    void aRefusalLeavesTheStorageAsItWas() {
        PretendDevice.PIN.set((_, _) -> {
            throw new IllegalStateException("not this memory");
        });
        Storage storage = allocate(10);
        assertThatThrownBy(storage::pinInPlace).isInstanceOf(IllegalStateException.class)
                .hasMessage("not this memory");
        assertThat(storage.isPinned()).isFalse();
        assertThat(storage.fill((byte) 1).get(9)).isEqualTo((byte) 1);
        storage.release();
        assertThat(done).containsExactly("freed 10");
    }

    @Test
    void withoutAProviderItIsSaidWhatIsMissing() {
        assertThatThrownBy(() -> Storage.allocate(7).pinInPlace()).isInstanceOf(IllegalStateException.class)
                .hasMessage("there is no pinned memory here; it needs undercroft-cuda on the class path and a CUDA "
                        + "device");
        assertThatThrownBy(() -> Storage.meta(7).pinInPlace()).isInstanceOf(IllegalStateException.class);
    }
}
