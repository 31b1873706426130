package io.undercroft.serializer.internal.loading;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.undercroft.storage.Allocation;
import io.undercroft.storage.Storage;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class SlabAllocatorTest {
    private static final long LARGE = 64L << 20;

    @Test
    void piecesAreZeroAlignedAndApart() {
        SlabAllocator slabs = new SlabAllocator(LARGE);
        List<MemorySegment> pieces = IntStream.range(0, 1000)
                .mapToObj(i -> slabs.allocate(1 + 37L * (i % 100)).segment()).toList();
        for (int i = 0; i < pieces.size(); i++) {
            assertThat(pieces.get(i).byteSize()).isEqualTo(1 + 37L * (i % 100));
            assertThat(pieces.get(i).address() % Storage.ALIGNMENT).isZero();
            pieces.get(i).fill((byte) (i % 100 + 1));
        }
        for (int i = 0; i < pieces.size(); i++) {
            byte wanted = (byte) (i % 100 + 1);
            assertThat(pieces.get(i).toArray(ValueLayout.JAVA_BYTE)).containsOnly(wanted);
        }
    }

    @Test
    void freshPiecesAreZero() {
        SlabAllocator slabs = new SlabAllocator(LARGE);
        Allocation first = slabs.allocate(5 << 20);
        first.segment().fill((byte) 1);
        first.free();
        assertThat(slabs.allocate(5 << 20).segment().mismatch(MemorySegment.ofArray(new byte[5 << 20])))
                .isEqualTo(-1);
    }

    @Test
    void aBlockGoesWithItsLastPiece() {
        SlabAllocator slabs = new SlabAllocator(LARGE);
        Allocation one = slabs.allocate(3 << 20);
        Allocation other = slabs.allocate(3 << 20);
        one.free();
        one.free();
        one.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
        other.free();
        assertThatIllegalStateException().isThrownBy(() -> one.segment().get(ValueLayout.JAVA_BYTE, 0));
        assertThat(slabs.allocate(10).segment().get(ValueLayout.JAVA_BYTE, 9)).isZero();
    }

    @Test
    void largePiecesHaveABlockOfTheirOwn() {
        SlabAllocator slabs = new SlabAllocator(LARGE);
        Allocation small = slabs.allocate(100);
        Allocation large = slabs.allocate((33L << 20) + 5);
        assertThat(large.segment().byteSize()).isEqualTo((33L << 20) + 5);
        large.free();
        assertThatIllegalStateException().isThrownBy(() -> large.segment().get(ValueLayout.JAVA_BYTE, 0));
        assertThat(small.segment().get(ValueLayout.JAVA_BYTE, 99)).isZero();
    }

    @Test
    void threadsCutFromDifferentBlocks() throws InterruptedException {
        SlabAllocator slabs = new SlabAllocator(LARGE);
        List<Long> addresses = new CopyOnWriteArrayList<>();
        for (int number = 0; number < 16; number++) {
            Thread thread = Thread.ofPlatform().start(() -> addresses.add(slabs.allocate(100).segment().address()));
            thread.join();
        }
        assertThat(Collections.max(addresses) - Collections.min(addresses)).isGreaterThanOrEqualTo(LARGE / 2);
    }

    @Test
    void whatIsExpectedToBeLittleTakesLittle() {
        assertThat(new SlabAllocator(0).allocate(0).segment().byteSize()).isZero();
        assertThat(new SlabAllocator(10).allocate(1000).segment().byteSize()).isEqualTo(1000);
    }
}
