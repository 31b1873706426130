package io.undercroft.mmap.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.ReadAdvice;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@EnabledOnOs(OS.LINUX)
class DirectReadsTest {
    /// Not a number of whole pages.
    private static final int SIZE = (4 << 20) + 100;

    @TempDir
    Path folder;

    private final Libc libc = Libc.find().orElseThrow();
    private final Arena arena = Arena.ofShared();
    private final byte[] bytes = new byte[SIZE];
    private Path path;
    private PosixFile file;
    private MemorySegment mapped;
    private MemorySegment into;

    @BeforeEach
    void makeFile() throws IOException {
        new Random(1).nextBytes(bytes);
        path = Files.write(folder.resolve("bytes"), bytes);
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
            channel.force(true);
        }
        file = PosixFile.open(libc, path, MapMode.READ_ONLY);
        mapped = file.map(0, SIZE, arena);
        into = Mapping.anonymous(libc, SIZE, arena);
    }

    @AfterEach
    void close() {
        file.close();
        arena.close();
    }

    /// Only pages that are mapped are removed.
    private void removeFromCache() throws IOException {
        long sum = 0;
        for (long at = 0; at < SIZE; at += libc.pageSize()) {
            sum += mapped.get(ValueLayout.JAVA_BYTE, at);
        }
        assertThat(sum).isNotZero();
        Mapping.advise(libc, mapped, ReadAdvice.DONT_NEED);
        assumeTrue(Mapping.residentBytes(libc, mapped) == 0, "the system keeps pages of the file in memory");
    }

    @Test
    void whatIsNotInThePageCacheIsReadPastIt() throws IOException {
        removeFromCache();
        assertThat(file.readOnce(0, into)).isEqualTo(SIZE);
        assertThat(into.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(bytes);
        // The last page is not whole.
        assertThat(Mapping.residentBytes(libc, mapped)).isLessThan(SIZE / 2);
    }

    @Test
    void whatIsInThePageCacheIsReadFromThere() throws IOException {
        assertThat(file.readPastCache(0, into)).isZero();
        assertThat(file.readOnce(0, into)).isEqualTo(SIZE);
        assertThat(into.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(bytes);
    }

    @Test
    void whetherBytesAreReadPastThePageCacheIsKnownBefore() throws IOException {
        assertThat(file.isReadPastCache(0, SIZE)).isFalse();
        removeFromCache();
        assertThat(file.isReadPastCache(0, SIZE)).isTrue();
        assertThat(file.isReadPastCache(1 << 20, 1 << 20)).isTrue();
        assertThat(file.isReadPastCache(64, 2 << 20)).isFalse();
        assertThat(file.isReadPastCache(0, (1 << 20) - 1)).isFalse();
        assertThat(Mapping.residentBytes(libc, mapped)).isZero();
    }

    @Test
    void anyBytesOfAFileCanBeRead() throws IOException {
        for (long offset : new long[]{0, 64, 4096, 1 << 20, (1 << 20) + 1}) {
            for (long start : new long[]{0, 64, 4096}) {
                removeFromCache();
                MemorySegment part = into.asSlice(start, 2 << 20);
                assertThat(file.readOnce(offset, part)).isEqualTo(2 << 20);
                assertThat(part.mismatch(MemorySegment.ofArray(bytes).asSlice(offset, 2 << 20))).isEqualTo(-1);
            }
        }
    }

    @Test
    void bytesBehindTheEndAreNotRead() throws IOException {
        removeFromCache();
        assertThat(file.readOnce(2 << 20, into)).isEqualTo(SIZE - (2 << 20));
        assertThat(into.asSlice(0, SIZE - (2 << 20)).mismatch(MemorySegment.ofArray(bytes).asSlice(2 << 20)))
                .isEqualTo(-1);
    }

    @Test
    void aFileThatIsReplacedIsStillRead() throws IOException {
        removeFromCache();
        Files.delete(path);
        Files.write(path, new byte[SIZE]);
        assertThat(file.readOnce(0, into)).isEqualTo(SIZE);
        assertThat(into.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(bytes);
    }
}
