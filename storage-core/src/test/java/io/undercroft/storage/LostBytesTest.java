package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.Allocation.Sharing;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/// What is said when a provider finds that mapped bytes are gone.
class LostBytesTest {
    private final InternalError fault = new InternalError("a fault occurred in an unsafe memory access");

    private final RuntimeException lost = new UncheckedIOException("the file was cut", new IOException());
    private final Storage mapped = Storage
            .over(new Allocation(Arena.ofAuto().allocate(3), Sharing.PRIVATE, "/a/file", () -> {}));

    @AfterEach
    void nothingIsLostAnyMore() {
        PretendDevice.LOST.set(null);
    }

    @Test
    void mappedBytesAreProbedBeforeADeviceTouchesThem() {
        Storage there = Storage.copyOf((byte) 1, (byte) 2, (byte) 3).to(PretendDevice.DEVICE);
        PretendDevice.LOST.set(lost);

        assertThatThrownBy(() -> mapped.to(PretendDevice.DEVICE)).isSameAs(lost);
        assertThatThrownBy(() -> there.copyFrom(mapped)).isSameAs(lost);
        assertThatThrownBy(() -> mapped.copyFrom(there)).isSameAs(lost);
        assertThat(lost.getSuppressed()).as("before there was a fault").isEmpty();
        assertThat(there.cpu().toList()).containsExactly(1, 2, 3);
        assertThat(mapped.toList()).containsExactly(0, 0, 0);
    }

    @Test
    void aStorageThatIsOutOfReachDoesNotHideTheFault() {
        Storage there = Storage.allocate(3, Allocator.on(PretendDevice.DEVICE));
        Storage freed = Storage.allocate(3);
        freed.release();

        for (Storage first : new Storage[]{there, freed, Storage.meta(3)}) {
            PretendDevice.LOST.set(null);
            assertThatThrownBy(() -> BulkAccess.run(first, first, this::fail)).isSameAs(fault);
            PretendDevice.LOST.set(lost);
            assertThatThrownBy(() -> BulkAccess.run(first, mapped, this::fail)).isSameAs(lost);
        }
        assertThat(lost.getSuppressed()).containsOnly(fault);
    }

    private void fail() {
        throw fault;
    }
}
