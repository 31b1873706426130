package io.undercroft.serializer.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.internal.Span;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.spi.Backing;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Tests of the comparison of storages with the checksums of their files.
class SourceCheckTest {
    @AfterEach
    void clearStatus() {
        var _ = Thread.interrupted();
    }

    /// A file with checksums, whose storage another thread frees while its bytes are read.
    private static final class Freed implements Backing {
        private final Arena arena = Arena.ofShared();
        private final MemorySegment bytes = arena.allocate(64);
        private final Storage storage = Storage.over(
                new Allocation(bytes, Allocation.Sharing.PRIVATE, null, arena::close).withBacking(this));

        @Override
        public void checkNotCut() {}

        @Override
        public boolean hasChecksums() {
            return true;
        }

        @Override
        public void check(long start, long end) {
            storage.release();
            // As the JVM does to a thread whose access it ends.
            Thread.currentThread().interrupt();
            var _ = bytes.get(ValueLayout.JAVA_BYTE, start);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void ofAStorageThatIsFreedMeanwhileSaysSoAndLeavesTheInterruptedStatus(boolean wasInterrupted) {
        Storage freed = new Freed().storage;
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
        assertThatThrownBy(() -> SourceCheck.run(Map.of(freed, List.of(new Span(0, 64)))))
                .isInstanceOf(IllegalStateException.class).hasMessageContaining("was freed");
        assertThat(Thread.interrupted()).isEqualTo(wasInterrupted);
    }
}
