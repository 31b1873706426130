package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;

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

    private Allocation allocate(long nbytes) {
        moves.incrementAndGet();
        return new Allocation(Arena.ofAuto().allocate(nbytes), Sharing.SHARED, "/name", () -> {});
    }
}
