package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.FreeRange;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// The golden files are made by hand, field by field. A canonical writer gives the same bytes when it saves what they
/// hold. (Not everything.croft: it has a storage of a device that is not there.)
class GoldenFilesTest {
    private static final Path GOLDEN = Path.of("../format-spec/src/test/resources/golden");

    @TempDir
    Path folder;

    private static Snapshot snapshot(Path path) throws IOException {
        return Snapshot.open(ByteSource.of(MemorySegment.ofArray(Files.readAllBytes(path))), Limits.DEFAULT);
    }

    /// Options that say of a snapshot what the golden file says.
    private static SaveOptions options(Checkpoint golden, Snapshot snapshot) {
        CommitRecord commit = snapshot.commit();
        SaveOptions options = SaveOptions.defaults().metadata(golden.metadata()).message(commit.message())
                .chunkSize(1L << snapshot.header().chunkLog2());
        return commit.timeMillis() == 0 ? options : options.time(Instant.ofEpochMilli(commit.timeMillis()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"dedup", "large-index"})
    void aFileOfOneSnapshotIsSavedWithTheSameBytes(String name) throws IOException {
        Path golden = GOLDEN.resolve(name + ".croft");
        Path saved = folder.resolve(name + ".croft");
        try (Checkpoint checkpoint = Checkpoint.open(golden)) {
            Checkpoint.save(saved, checkpoint.state(), options(checkpoint, snapshot(golden)));
        }
        assertThat(saved).hasSameBinaryContentAs(golden);
    }

    @Test
    void aFileOfSeveralSnapshotsIsSavedWithTheSameBytesOneByOne() throws IOException {
        Path golden = GOLDEN.resolve("snapshots.croft");
        Path saved = folder.resolve("snapshots.croft");
        copySnapshots(golden, saved, 1, 3);
        assertThat(saved).hasSameBinaryContentAs(golden);
    }

    @Test
    void anAppendAfterATornOneGivesTheSameBytes() throws IOException {
        Path golden = GOLDEN.resolve("torn.croft");
        Path saved = folder.resolve("torn.croft");
        Snapshot newest = snapshot(golden);
        long sequence = newest.commit().sequence();
        copySnapshots(golden, saved, 1, sequence - 1);
        byte[] all = Files.readAllBytes(golden);
        long torn = newest.freeRange(0).offset();
        assertThat(Files.size(saved)).isEqualTo(torn);
        try (RandomAccessFile file = new RandomAccessFile(saved.toFile(), "rw")) {
            FreeRange tail = newest.freeRange(newest.freeRangeCount() - 1);
            file.seek(tail.offset());
            file.write(all, (int) tail.offset(), (int) tail.length());
        }
        copySnapshots(golden, saved, sequence, sequence);
        assertThat(saved).hasSameBinaryContentAs(golden);
    }

    private static void copySnapshots(Path golden, Path saved, long from, long to) throws IOException {
        Snapshot newest = snapshot(golden);
        for (long sequence = from; sequence <= to; sequence++) {
            try (Checkpoint checkpoint = Checkpoint.open(golden, OpenOptions.defaults().snapshot(sequence))) {
                SaveOptions options = options(checkpoint, newest.openAt(sequence));
                if (sequence == 1) {
                    Checkpoint.save(saved, checkpoint.state(), options);
                } else {
                    CroftFile.open(saved).commit(checkpoint.state(), options);
                }
            }
        }
    }

    @Test
    void aSealedFileIsStreamedWithTheSameBytes() throws IOException {
        Path golden = GOLDEN.resolve("sealed.croft");
        Path saved = folder.resolve("sealed.croft");
        try (Checkpoint checkpoint = Checkpoint.open(golden);
                FileChannel channel = FileChannel.open(saved, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            Snapshot snapshot = snapshot(golden);
            Checkpoint.save(channel, checkpoint.state(), options(checkpoint, snapshot).uuid(snapshot.header().uuid()));
        }
        assertThat(saved).hasSameBinaryContentAs(golden);
    }

    @Test
    void aFileThatAdoptsAnotherOneIsReadBelowItsRoot() throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(GOLDEN.resolve("foreign.croft"),
                OpenOptions.defaults().root(GOLDEN))) {
            assertThat(checkpoint.names()).isNotEmpty();
            checkpoint.storages().forEach(storage -> assertThat(storage.segment().byteSize()).isPositive());
            assertThat(checkpoint.verify().damages()).isEmpty();
        }
    }
}
