package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.IndexBuilder;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.UnknownSection;
import io.undercroft.mmap.MapMode;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Commands;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.Channels;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/// Files, names and values that a writer meets seldom.
class UnusualWritesTest {
    private static final int CHUNK = 1 << 16;
    private static final SaveOptions OPTIONS = SaveOptions.defaults().chunkSize(CHUNK);

    @TempDir
    Path folder;
    private Path path;

    @BeforeEach
    void nameTheFile() {
        path = folder.resolve("a.croft");
    }

    private static Map<String, Object> state(int nbytes, long seed) {
        return Map.of("weight", Tensor.of(noise(nbytes, seed)));
    }

    private static Snapshot snapshot(Path file) throws IOException {
        return Snapshot.open(ByteSource.of(MemorySegment.ofArray(Files.readAllBytes(file))), Limits.DEFAULT);
    }

    /// Nobody is told to remove a directory.
    @Test
    void aDirectoryIsNotAppendedTo() throws IOException {
        Checkpoint.save(path, state(100, 1));
        Path directory = Files.createDirectory(folder.resolve("models"));
        assertRefusesDirectory(directory);
        Files.createDirectory(folder.resolve("a.croft.lock"));
        assertRefusesDirectory(path);
    }

    private static void assertRefusesDirectory(Path file) {
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> CroftFile.open(file).commit(state(100, 2), SaveOptions.defaults()))
                .withMessageStartingWith(file.toString()).withMessageContaining("it is a directory")
                .withMessageContaining("take another name").withMessageNotContaining("remove");
    }

    /// What had it as a base would take bytes from the wrong places.
    @Test
    void aCompactedFileIsNotFoundAsABaseEvenIfItsFirstSnapshotWasKept() throws IOException {
        for (int seed = 1; seed <= 3; seed++) {
            if (seed == 1) {
                Checkpoint.save(path, state(3 * CHUNK, seed), OPTIONS);
            } else {
                CroftFile.open(path).commit(state(3 * CHUNK, seed), OPTIONS);
            }
        }
        Path dependent = folder.resolve("dependent.croft");
        Checkpoint.save(dependent, state(3 * CHUNK, 3), OPTIONS.base(path));
        Header before = snapshot(path).header();
        CroftFile.open(path).compact(info -> info.sequence() != 2);
        CroftFile.open(path).commit(state(9 * CHUNK, 4), OPTIONS);

        assertThat(snapshot(path).header().uuid()).isNotEqualTo(before.uuid());
        try (Checkpoint checkpoint = Checkpoint.open(dependent)) {
            assertThatExceptionOfType(FormatException.class)
                    .isThrownBy(() -> checkpoint.tensor("weight").storage().segment()).withMessageContaining("V18");
        }
    }

    @Test
    void aCompactionSharesWhatAnAppendDoes() throws IOException {
        byte[] large = noise(CHUNK + 5000, 1);
        Map<String, Object> state = new LinkedHashMap<>(Map.of("large", Tensor.of(large)));
        Checkpoint.save(path, state, OPTIONS);
        state.put("small", Tensor.of(Arrays.copyOfRange(large, CHUNK, CHUNK + 5000)));
        assertThat(CroftFile.open(path).commit(state, OPTIONS).written()).isZero();
        assertThat(CroftFile.open(path).compact(_ -> true)).isZero();
    }

    private static byte[] file(long sequence, IndexBuilder builder) {
        MemorySegment index = builder.build(sequence);
        long offset = 0x10000;
        CommitRecord first = CommitRecord.canonical(index, offset, 0, "");
        CommitRecord commit = new CommitRecord(sequence, offset, first.indexLength(), first.directoryDigest(),
                first.uuid(), first.committedLength(), sequence == 1 ? 0 : offset - FileLayout.COMMIT_BYTES, 0, 0,
                first.rootDigest(), "");
        byte[] file = new byte[(int) commit.committedLength()];
        Header header = Header.of(commit.uuid(), FileLayout.DEFAULT_CHUNK_LOG2,
                sequence == 1 ? commit.committedLength() : FileLayout.DATA_START);
        System.arraycopy(header.encode(), 0, file, 0, FileLayout.HEADER_BYTES);
        System.arraycopy(commit.encode(), 0, file, (int) header.recordOffset(sequence), FileLayout.COMMIT_BYTES);
        MemorySegment.copy(index, ValueLayout.JAVA_BYTE, 0, file, (int) offset, (int) index.byteSize());
        return file;
    }

    @Test
    void unknownSectionsThatAreSafeToCopyStayWhenAFileIsAppendedTo() throws IOException {
        IndexBuilder index = new IndexBuilder(FileLayout.DEFAULT_CHUNK_LOG2);
        index.addUnknownSection(new UnknownSection("rows", true, 3, MemorySegment.ofArray(new byte[]{1, 2, 3})));
        index.addUnknownSection(new UnknownSection("NEXT", false, 1, MemorySegment.ofArray(new byte[]{4})));
        Files.write(path, file(1, index));
        CroftFile.open(path).commit(state(100, 1), OPTIONS);
        assertThat(snapshot(path).unknownSections()).singleElement().satisfies(section -> {
            assertThat(section.code()).isEqualTo("rows");
            assertThat(section.bytes().toArray(ValueLayout.JAVA_BYTE)).containsExactly(1, 2, 3);
        });
    }

    @Test
    void aFileWithAllTheSnapshotsItCanHaveIsNotAppendedTo() throws IOException {
        Files.write(path, file(Limits.DEFAULT.maxSnapshots(), new IndexBuilder(FileLayout.DEFAULT_CHUNK_LOG2)));
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> CroftFile.open(path).commit(state(100, 1), OPTIONS))
                .withMessageContaining("compact it");
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    void aLockIsNotTakenThroughALink() throws IOException {
        Checkpoint.save(path, state(100, 1));
        Path victim = Files.writeString(folder.resolve("victim"), "somebody else's");
        Files.createSymbolicLink(folder.resolve("a.croft.lock"), victim);
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> CroftFile.open(path).commit(state(100, 2), OPTIONS));
        assertThat(victim).hasContent("somebody else's");
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    void pipesAreNeitherReplacedNorAppendedToNorBases() throws Exception {
        Path pipe = folder.resolve("pipe");
        Commands.makePipe(pipe);
        assertThatExceptionOfType(IOException.class).isThrownBy(() -> Checkpoint.save(pipe, state(100, 1)))
                .withMessageContaining("no regular file");
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> CroftFile.open(pipe).commit(state(100, 1), OPTIONS))
                .withMessageContaining("no regular file");
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> Checkpoint.save(path, state(100, 1), OPTIONS.base(pipe)));
        assertThat(Files.isRegularFile(pipe)).isFalse();
        assertThat(path).doesNotExist();
    }

    @Test
    void aDirectoryIsNoFile() {
        assertThatExceptionOfType(IOException.class).isThrownBy(() -> Checkpoint.save(folder, state(100, 1)));
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> CroftFile.open(folder).commit(state(100, 1), OPTIONS));
        assertThatExceptionOfType(IOException.class).isThrownBy(() -> CroftFile.open(folder).compact(_ -> true));
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> Checkpoint.save(path, state(100, 1), OPTIONS.base(folder)));
    }

    @Test
    void ofTwoBasesWithOneIdTheFirstIsTaken() throws IOException {
        Path one = folder.resolve("one.croft");
        Path copy = folder.resolve("copy.croft");
        Checkpoint.save(one, state(3 * CHUNK, 1), OPTIONS);
        Files.copy(one, copy);
        Checkpoint.save(path, state(3 * CHUNK, 1), OPTIONS.base(copy).base(one));
        assertThat(snapshot(path).baseCount()).isEqualTo(1);
        assertThat(snapshot(path).base(0).path()).isEqualTo("copy.croft");
    }

    @Test
    void aBaseWithOtherChunksSharesThoseOfTheSameSize() throws IOException {
        Path base = folder.resolve("base.croft");
        Map<String, Object> state = new LinkedHashMap<>(state(3 * CHUNK, 1));
        state.put("bias", Tensor.of(noise(100, 2)));
        Checkpoint.save(base, state);
        assertThat(Checkpoint.save(path, state, OPTIONS.base(base)).dedup().orElseThrow().written())
                .isEqualTo(3 * CHUNK);
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.tensor("bias").equal((Tensor) state.get("bias"))).isTrue();
            assertThat(checkpoint.verify().damages()).isEmpty();
        }
    }

    /// What is saved may be neither the old bytes nor the new ones, but its checksums are those of it.
    @Test
    void aStorageThatIsWrittenToMeanwhileIsSavedWithItsChecksums() throws Exception {
        Tensor weight = Tensor.of(noise(8 * CHUNK, 1));
        Checkpoint.save(path, List.of(weight), OPTIONS);
        AtomicBoolean done = new AtomicBoolean();
        Thread other = Thread.ofPlatform().start(() -> {
            for (long at = 0; !done.get(); at = (at + 4093) % weight.storage().nbytes()) {
                weight.storage().set(at, (byte) (weight.storage().get(at) + 1));
            }
        });
        for (int times = 0; times < 20; times++) {
            CroftFile.open(path).commit(List.of(weight), OPTIONS);
        }
        done.set(true);
        other.join();
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.snapshots()).hasSize(21);
            assertThat(checkpoint.verify().damages()).isEmpty();
        }
    }

    @Test
    void aMessageIsText() {
        assertThatIllegalArgumentException().isThrownBy(() -> SaveOptions.defaults().message("half: \uD83D"));
    }

    @Test
    void aTimeBefore1970IsOneAndOneThatNoClockShowsIsNone() throws IOException {
        Instant early = Instant.ofEpochMilli(-123_456_789);
        Checkpoint.save(path, state(100, 1), SaveOptions.defaults().time(early));
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.snapshot().orElseThrow().time()).contains(early);
        }
        assertThatIllegalArgumentException().isThrownBy(() -> SaveOptions.defaults().time(Instant.MAX));
    }

    @Test
    void tensorsWithoutBytesDoNotCount() throws IOException {
        Storage meta = Storage.meta(1000);
        Tensor one = Tensor.of(meta, DType.UINT8, 0, Shape.of(1000), 1);
        Tensor same = Tensor.of(meta, DType.UINT8, 0, Shape.of(1000), 1);
        DedupReport report = Checkpoint.save(path, List.of(one, same)).dedup().orElseThrow();
        assertThat(report.storages()).isZero();
        assertThat(report.identity()).isZero();
    }

    @Test
    void whatNoTensorSpansIsNotSavedByIdentity() throws IOException {
        Tensor part = Tensor.of(noise(1000, 1)).narrow(0, 0, 10);
        assertThat(Checkpoint.save(path, List.of(part), OPTIONS.wholeStorages()).dedup().orElseThrow().identity())
                .isZero();
    }

    @Test
    void aFileToBeWrittenToInPlaceHasAllBytesOfEveryStorage() throws IOException {
        Tensor zeros = Tensor.zeros(DType.UINT8, 3 * CHUNK);
        Map<String, Object> state = Map.of("a", Tensor.of(noise(2 * CHUNK, 1)), "same", Tensor.of(noise(2 * CHUNK, 1)),
                "zeros", zeros, "part", Tensor.zeros(DType.UINT8, 4 * CHUNK).narrow(0, 0, 10));
        DedupReport report = Checkpoint.save(path, state, OPTIONS.writableInPlace()).dedup().orElseThrow();
        assertThat(report.written()).isEqualTo(report.storages()).isEqualTo(11 * CHUNK);
        OpenOptions shared = OpenOptions.defaults().mapping(MapMode.SHARED);
        try (Checkpoint checkpoint = Checkpoint.open(path, shared)) {
            checkpoint.tensor("zeros").setLong(2 * CHUNK, 7);
            checkpoint.tensor("same").setLong(0, 1);
            checkpoint.tensor("part").setLong(9, 2);
        }
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.tensor("zeros").getLong(2 * CHUNK)).isEqualTo(7);
            assertThat(checkpoint.tensor("part").getLong(9)).isEqualTo(2);
            assertThat(checkpoint.tensor("same").getLong(0)).isEqualTo(1);
            assertThat(checkpoint.tensor("a").contentEquals((Tensor) state.get("a"))).isTrue();
        }
    }

    @Test
    @Tag("slow")
    @Timeout(value = 5, unit = TimeUnit.MINUTES)
    void manyEqualStoragesGoThroughAStreamAsOne() throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int number = 0; number < 100_000; number++) {
            state.put("t" + number, Tensor.of(new byte[]{1, 2, 3}));
        }
        DedupReport report = Checkpoint.save(Channels.newChannel(OutputStream.nullOutputStream()), state, OPTIONS);
        assertThat(report.written()).isEqualTo(3);
    }
}
