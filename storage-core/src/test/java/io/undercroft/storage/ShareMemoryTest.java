package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.Allocation.Sharing;
import java.lang.foreign.Arena;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/// How a storage moves to shared memory that a provider brings.
class ShareMemoryTest {
    private final AtomicInteger moves = new AtomicInteger();

    @AfterEach
    void forgetTheProvider() {
        PretendDevice.SHARED.set(null);
    }

    @Test
    void ofTwoThreadsThatShareAStorageOneMovesIt() throws InterruptedException {
        Storage storage = Storage.copyOf((byte) 1, (byte) 2);
        Thread other = new Thread(storage.slice(1, 1)::shareMemory);
        PretendDevice.SHARED.set(() -> {
            if (other.getState() == Thread.State.NEW) {
                runAsFarAsItCan(other);
            }
            return this::allocate;
        });
        storage.shareMemory();
        other.join();

        assertThat(moves).hasValue(1);
        assertThat(storage.isShared()).isTrue();
        assertThat(storage.toList()).containsExactly(1, 2);
    }

    /// Until it is done, or waits for this one.
    private static void runAsFarAsItCan(Thread thread) {
        thread.start();
        while (thread.isAlive() && thread.getState() != Thread.State.BLOCKED) {
            Thread.onSpinWait();
        }
    }

    @Test
    void aStorageOnADeviceMovesToSharedMemoryOfThatDevice() {
        Storage storage = Storage.copyOf((byte) 1, (byte) 2).to(PretendDevice.OTHER);
        Storage slice = storage.slice(1, 1);
        assertThat(slice.shareMemory()).isSameAs(slice);
        assertThat(storage.isShared()).isTrue();
        assertThat(storage.device()).isEqualTo(PretendDevice.OTHER);
        assertThat(storage.isResizable()).isFalse();
        assertThat(storage.cpu().toList()).containsExactly(1, 2);
        storage.fill((byte) 3);
        assertThat(slice.cpu().toList()).containsExactly(3);
    }

    @Test
    void aDeviceWithoutSharedMemorySaysSo() {
        Storage storage = Storage.copyOf((byte) 1).to(PretendDevice.DEVICE);
        assertThatThrownBy(storage::shareMemory).isInstanceOf(IllegalStateException.class)
                .hasMessage("there is no shared memory on xpu:0; copy what is to be shared with cpu()");
        assertThat(storage.isShared()).isFalse();
    }

    @Test
    void whatMayOnlyBeReadOnADeviceIsNotWritten() {
        Allocation bytes = Allocation.collected(Arena.ofAuto().allocate(2).asReadOnly());
        Storage storage = Storage.over(bytes, PretendDevice.DEVICE);
        assertThat(storage.device()).isEqualTo(PretendDevice.DEVICE);
        assertThat(storage.isReadOnly()).isTrue();
        assertThat(storage.cpu().toList()).containsExactly(0, 0);
        assertThatThrownBy(() -> storage.fill((byte) 1)).isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("is read-only; open it copy-on-write or copy it to write");
        assertThatThrownBy(() -> storage.copyFrom(Storage.allocate(2)))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("is read-only; open it copy-on-write or copy it to write");
    }

    private Allocation allocate(long nbytes) {
        moves.incrementAndGet();
        return new Allocation(Arena.ofAuto().allocate(nbytes), Sharing.SHARED, "/name", () -> {});
    }
}
