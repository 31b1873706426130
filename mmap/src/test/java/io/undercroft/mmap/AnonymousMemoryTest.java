package io.undercroft.mmap;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.Storage;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class AnonymousMemoryTest {
    static Stream<Arguments> allocatorsAndSizes() {
        return Stream.of(AnonymousMemory.allocator(), AnonymousMemory.populatedAllocator()).flatMap(
                allocator -> Stream.of(0, 1, 4097, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (5 << 20) + 77)
                        .map(nbytes -> Arguments.of(allocator, nbytes)));
    }

    @ParameterizedTest
    @MethodSource("allocatorsAndSizes")
    void memoryIsZeroedAlignedPrivateAndWritable(Allocator allocator, long nbytes) {
        Allocation allocation = allocator.allocate(nbytes);
        MemorySegment segment = allocation.segment();

        assertThat(segment.byteSize()).isEqualTo(nbytes);
        assertThat(segment.address() % Storage.ALIGNMENT).isZero();
        assertThat(segment.mismatch(MemorySegment.ofArray(new byte[(int) nbytes]))).isEqualTo(-1);
        assertThat(allocation.sharing()).isEqualTo(Allocation.Sharing.PRIVATE);
        assertThat(allocation.filename()).isEmpty();
        segment.fill((byte) 3);
        allocation.free();
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void largeMemoryGoesBackWhenItsStorageIsFreed() throws IOException {
        Storage storage = Storage.allocate(64 << 20, AnonymousMemory.allocator());
        MemorySegment segment = storage.segment();
        long address = segment.address();
        segment.fill((byte) 1);
        assertThat(Proc.isMapped(address)).isTrue();

        storage.release();
        assertThat(Proc.isMapped(address)).isFalse();
        assertThatThrownBy(() -> segment.get(JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void largeMemoryThatNobodyFreesIsCollectedOnceNoSegmentIsLeft() throws Exception {
        MemorySegment slice = AnonymousMemory.allocator().allocate(64 << 20).segment().asSlice(4096, 5);
        long address = slice.address();
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        slice.set(JAVA_BYTE, 4, (byte) 1);
        assertThat(slice.get(JAVA_BYTE, 4)).isEqualTo((byte) 1);
        slice = null;

        assertThat(PosixMappedFileTest.becomesTrue(() -> {
            System.gc();
            return !Proc.isMapped(address);
        })).isTrue();
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void largeMemoryIsTakenAtOnceOrWhenItIsTouched() throws IOException {
        long nbytes = 64 << 20;
        Storage lazy = Storage.allocate(nbytes, AnonymousMemory.allocator());
        Storage populated = Storage.allocate(nbytes, AnonymousMemory.populatedAllocator());

        assertThat(Proc.presentBytes(lazy.segment())).isZero();
        assertThat(Proc.presentBytes(populated.segment())).isEqualTo(nbytes);
        lazy.release();
        populated.release();
    }

    @ParameterizedTest
    @ValueSource(longs = {1L << 50, 1L << 60, Long.MAX_VALUE})
    @EnabledOnOs(OS.LINUX)
    void moreMemoryThanThereCanBeIsAnOutOfMemoryError(long nbytes) {
        for (Allocator allocator : List.of(AnonymousMemory.allocator(), AnonymousMemory.populatedAllocator())) {
            assertThatThrownBy(() -> allocator.allocate(nbytes)).isInstanceOf(OutOfMemoryError.class)
                    .hasMessageContaining(String.valueOf(nbytes)).hasMessageContaining("ENOMEM")
                    .hasMessageContaining("ulimit");
        }
    }
}
