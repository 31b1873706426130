package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.DTypeRecord;
import io.undercroft.format.internal.ExtentDigester;
import io.undercroft.format.internal.ExtentSums;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.IndexBuilder;
import io.undercroft.format.internal.StateTreeWriter;
import io.undercroft.format.internal.TensorRecord;
import io.undercroft.mmap.Pages;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/// A file of 70 GiB, more than this machine has memory. All but the pages at its ends is a hole, which takes no place
/// on the disk.
@Isolated("counts the bytes that the process reads")
@EnabledOnOs(OS.LINUX)
class SparseFileTest {
    private static final int CHUNK_LOG2 = 26;
    private static final long CHUNK = 1L << CHUNK_LOG2;
    private static final int CHUNKS = 70 << (30 - CHUNK_LOG2);
    private static final long LENGTH = CHUNKS * CHUNK;
    private static final int ROW = 1 << 12;
    private static final long ROWS = LENGTH / ROW;

    @TempDir
    private Path folder;
    private Path file;

    @BeforeEach
    void write() throws IOException {
        file = folder.resolve("sparse.croft");
        MemorySegment first = chunk(0, 1);
        MemorySegment last = chunk(CHUNK - ROW, 2);
        IndexBuilder index = new IndexBuilder(CHUNK_LOG2);
        int int8 = index.addDType(new DTypeRecord("int8", 8));
        ExtentSums zeros = sums(MemorySegment.ofArray(new byte[(int) CHUNK]));
        index.addRawExtent(FileLayout.MAPPING_ALIGNMENT, CHUNK, sums(first));
        for (int i = 1; i < CHUNKS - 1; i++) {
            index.addRawExtent(FileLayout.MAPPING_ALIGNMENT + i * CHUNK, CHUNK, zeros);
        }
        index.addRawExtent(FileLayout.MAPPING_ALIGNMENT + LENGTH - CHUNK, CHUNK, sums(last));
        index.addName("huge", index.addTensor(
                new TensorRecord(int8, index.addStorage("cpu"), 0, Set.of(), new long[]{ROWS, ROW},
                        new long[]{ROW, 1})));
        StateTreeWriter tree = new StateTreeWriter();
        tree.openMap(1);
        tree.writeString("huge");
        tree.writeTensor(0);
        index.setTree(tree.toByteArray());
        MemorySegment built = index.build(1);
        long place = FileLayout.placeIndex(FileLayout.MAPPING_ALIGNMENT + LENGTH);
        CommitRecord commit = CommitRecord.canonical(built, place, 0, "");
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE,
                StandardOpenOption.SPARSE)) {
            put(channel, 0,
                    MemorySegment.ofArray(Header.of(commit.uuid(), CHUNK_LOG2, commit.committedLength()).encode()));
            put(channel, FileLayout.FIRST_COMMIT, MemorySegment.ofArray(commit.encode()));
            put(channel, FileLayout.MAPPING_ALIGNMENT, first.asSlice(0, ROW));
            put(channel, FileLayout.MAPPING_ALIGNMENT + LENGTH - ROW, last.asSlice(CHUNK - ROW));
            put(channel, place, built);
            put(channel, commit.committedLength() - 1, MemorySegment.ofArray(new byte[1]));
        }
    }

    /// A chunk of zeros but for one row.
    private static MemorySegment chunk(long row, int value) {
        MemorySegment chunk = MemorySegment.ofArray(new byte[(int) CHUNK]);
        chunk.asSlice(row, ROW).fill((byte) value);
        return chunk;
    }

    private static ExtentSums sums(MemorySegment bytes) {
        ExtentDigester digester = new ExtentDigester();
        digester.update(bytes);
        return digester.finish();
    }

    private static void put(FileChannel channel, long at, MemorySegment bytes) throws IOException {
        channel.write(bytes.asByteBuffer(), at);
    }

    @Test
    void itOpensAndGivesItsEndsWithoutTheRest() throws IOException {
        assertThat(Files.size(file)).isGreaterThan(LENGTH);
        long before = Proc.bytesReadByThisThread();
        try (Checkpoint c = Checkpoint.open(file)) {
            Tensor huge = c.tensor("huge");
            assertThat(huge.nbytes()).isEqualTo(LENGTH);
            assertThat(c.rows("huge", 0, 2).getLong(0, 5)).isEqualTo(1);
            Tensor rows = c.rows("huge", ROWS - 2, ROWS);
            assertThat(rows.getLong(0, 5)).isZero();
            assertThat(rows.getLong(1, 5)).isEqualTo(2);
            Storage storage = huge.storage();
            assertThat(storage.isMaterialized()).isFalse();
            assertThat(huge.getLong(ROWS - 1, ROW - 1)).isEqualTo(2);
            assertThat(huge.getLong(ROWS / 2, 0)).isZero();
            assertThat(Pages.residentBytes(storage.segment()).orElse(0)).isLessThan(16 << 20);
        }
        assertThat(Proc.bytesReadByThisThread() - before).isLessThan(16 << 20);
    }

    @Test
    void ofRowsThatAreCheckedTheirChunksAreRead() throws IOException {
        long before = Proc.bytesReadByThisThread();
        OpenOptions checking = OpenOptions.defaults().checksums(ChecksumPolicy.ON_TOUCH);
        try (Checkpoint c = Checkpoint.open(file, checking)) {
            assertThat(c.rows("huge", ROWS - 1, ROWS).getLong(0, ROW - 1)).isEqualTo(2);
            assertThat(c.damages()).isEmpty();
        }
        assertThat(Proc.bytesReadByThisThread() - before).isLessThan(CHUNK + (16 << 20));
    }

    @Test
    void aSubsetWithoutItIsLoadedIntoMemoryWithoutReadingIt() throws IOException {
        long before = Proc.bytesReadByThisProcess();
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().inMemory().only(_ -> false))) {
            assertThat(c.names()).isEmpty();
        }
        assertThat(Proc.bytesReadByThisProcess() - before).isLessThan(64 << 20);
    }
}
