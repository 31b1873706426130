package io.undercroft.serializer.internal.planning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.serializer.StagingMemoryException;
import io.undercroft.serializer.internal.planning.Staging.Borrowed;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class StagingTest {
    private static final long NBYTES = 4 << 20;

    private final Staging staging = new Staging();

    private MemorySegment use(long nbytes) throws IOException {
        try (Borrowed lease = staging.borrow(nbytes)) {
            assertThat(lease.segment().byteSize()).isGreaterThanOrEqualTo(nbytes);
            return lease.segment();
        }
    }

    @Test
    void memoryIsKeptForTheNext() throws IOException {
        MemorySegment first = use(NBYTES);

        assertThat(use(NBYTES)).isSameAs(first);
        assertThat(use(10)).isSameAs(first);
        staging.close();
    }

    @Test
    void theLargestIsKept() throws IOException {
        Borrowed large = staging.borrow(2 * NBYTES);
        Borrowed small = staging.borrow(NBYTES);
        assertThat(small.segment()).isNotSameAs(large.segment());
        large.close();
        small.close();

        assertThat(small.segment().scope().isAlive()).isFalse();
        assertThat(use(NBYTES)).isSameAs(large.segment());
        MemorySegment larger = use(3 * NBYTES);
        assertThat(large.segment().scope().isAlive()).isFalse();
        assertThat(use(1)).isSameAs(larger);
        staging.close();
    }

    @Test
    void closingGivesItBackOnceNobodyUsesIt() throws IOException {
        MemorySegment idle = use(NBYTES);
        Borrowed used = staging.borrow(NBYTES);
        assertThat(used.segment()).isSameAs(idle);
        staging.close();
        assertThat(idle.scope().isAlive()).isTrue();

        used.close();
        assertThat(idle.scope().isAlive()).isFalse();
    }

    @Test
    void moreThanThereIsIsRefused() {
        assertThatExceptionOfType(StagingMemoryException.class).isThrownBy(() -> staging.borrow(1L << 46))
                .satisfies(e -> assertThat(e.wanted()).isEqualTo(1L << 46));
    }
}
