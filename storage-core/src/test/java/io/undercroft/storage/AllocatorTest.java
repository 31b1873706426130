package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class AllocatorTest {
    @ParameterizedTest
    @EnumSource
    void bytesAreZeroAndExactlyAsMany(JdkAllocator allocator) {
        for (long nbytes : new long[]{0, 1, 7, 8, 100}) {
            Allocation allocation = allocator.allocate(nbytes);
            assertThat(allocation.segment().byteSize()).isEqualTo(nbytes);
            assertThat(Storage.over(allocation).toList()).allMatch(value -> value == 0);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1 << 20, 2 << 20, 40 << 20, (2 << 20) + 1})
    void largeBytesNeedNoProvider(long nbytes) {
        MemorySegment bytes = Allocator.offHeap().allocate(nbytes).segment();
        assertThat(bytes.byteSize()).isEqualTo(nbytes);
        assertThat(bytes.address() % Storage.ALIGNMENT).isZero();
        assertThat(bytes.mismatch(MemorySegment.ofArray(new byte[(int) nbytes]))).isEqualTo(-1);
    }

    @ParameterizedTest
    @ValueSource(longs = {1L << 45, 1L << 62, Long.MAX_VALUE})
    void memoryThatIsNotThereIsAnErrorWithTheNumber(long nbytes) {
        for (Allocator allocator : new Allocator[]{Allocator.heap(), Allocator.offHeap()}) {
            assertThatThrownBy(() -> Storage.allocate(nbytes, allocator)).isInstanceOf(OutOfMemoryError.class)
                    .hasMessageContaining("no " + nbytes + " bytes");
        }
    }

    @Test
    void aStorageKnowsItsAllocator() {
        assertThat(Storage.allocate(1).allocator()).containsSame(Allocator.offHeap());
        assertThat(Storage.allocate(1, Allocator.heap()).copy().allocator()).containsSame(Allocator.heap());
        assertThat(Storage.wrap(Storage.allocate(1).segment()).allocator()).isEmpty();
    }

    @Test
    void heapMemoryIsOnTheHeapAndOffHeapMemoryIsAligned() {
        assertThat(Allocator.heap().allocate(8).segment().heapBase()).isPresent();
        assertThat(Allocator.offHeap().allocate(8).segment().address() % Storage.ALIGNMENT).isZero();
    }
}
