package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.noise;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.mmap.MapMode;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/// Commits to a file of storages that are mapped from it: of those that were not written to no byte is read. Reading a
/// byte of a mapping makes its page present, so what was read is what is present.
@Isolated("counts the bytes that the process reads")
@EnabledOnOs(OS.LINUX)
class MappedCommitTest {
    private static final int CHUNK = 1 << 16;
    /// More than the size up to which the first files of a process are copied.
    private static final int SIZE = 96 * CHUNK;
    private static final int PAGE = 4096;
    private static final SaveOptions OPTIONS = SaveOptions.defaults().chunkSize(CHUNK);

    @TempDir
    Path folder;

    private Path path;
    private CroftFile file;

    @BeforeEach
    void saveTwoStorages() throws IOException {
        path = folder.resolve("run.croft");
        file = CroftFile.open(path);
        file.commit(state(1, 2), OPTIONS);
    }

    private static Map<String, Object> state(int... seeds) {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int seed : seeds) {
            state.put("t" + seed, Tensor.of(noise(SIZE, seed)));
        }
        return state;
    }

    /// The tree of a checkpoint, of which no byte of a storage was read.
    private static Map<String, Object> tensors(Checkpoint checkpoint) {
        Map<String, Object> state = new LinkedHashMap<>();
        checkpoint.names().forEach(name -> state.put(name, checkpoint.tensor(name)));
        return state;
    }

    private static MemorySegment bytes(Checkpoint checkpoint, String name) {
        return checkpoint.tensor(name).storage().segment();
    }

    private Checkpoint open(MapMode mode) throws IOException {
        return Checkpoint.open(path, OpenOptions.defaults().mapping(mode));
    }

    private void assertSaved(String name, byte[] expected) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(bytes(checkpoint, name).toArray(JAVA_BYTE)).isEqualTo(expected);
        }
        assertThat(file.verify().isIntact()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(names = {"READ_ONLY", "PRIVATE"})
    void ofUnchangedStoragesNoByteIsRead(MapMode mode) throws IOException {
        try (Checkpoint checkpoint = open(mode)) {
            long before = Proc.bytesReadByThisProcess();
            DedupReport report = file.commit(tensors(checkpoint), OPTIONS);
            assertThat(Proc.bytesReadByThisProcess() - before).isLessThan(SIZE / 2);
            assertThat(report.written()).isZero();
            assertThat(Proc.presentBytes(bytes(checkpoint, "t1"))).isZero();
            assertThat(Proc.presentBytes(bytes(checkpoint, "t2"))).isZero();
        }
        assertSaved("t1", noise(SIZE, 1));
        assertSaved("t2", noise(SIZE, 2));
    }

    @Test
    void ofAStorageThatWasWrittenToOnlyTheChunksAroundAreRead() throws IOException {
        byte[] expected = noise(SIZE, 1);
        expected[5 * CHUNK + 7] ^= 1;
        try (Checkpoint checkpoint = open(MapMode.PRIVATE)) {
            MemorySegment bytes = bytes(checkpoint, "t1");
            bytes.set(JAVA_BYTE, 5 * CHUNK + 7, expected[5 * CHUNK + 7]);
            DedupReport report = file.commit(tensors(checkpoint), OPTIONS);
            assertThat(report.written()).isEqualTo(CHUNK);
            // The system maps some pages around each that is read.
            assertThat(Proc.presentBytes(bytes)).isBetween((long) CHUNK, 3L * CHUNK);
            assertThat(Proc.presentBytes(bytes(checkpoint, "t2"))).isZero();
        }
        assertSaved("t1", expected);
    }

    @Test
    void bytesThatWereWrittenAndRestoredAreFoundByComparing() throws IOException {
        try (Checkpoint checkpoint = open(MapMode.PRIVATE)) {
            MemorySegment bytes = bytes(checkpoint, "t1");
            byte former = bytes.get(JAVA_BYTE, CHUNK);
            bytes.set(JAVA_BYTE, CHUNK, (byte) ~former);
            bytes.set(JAVA_BYTE, CHUNK, former);
            assertThat(file.commit(tensors(checkpoint), OPTIONS).written()).isZero();
        }
        assertSaved("t1", noise(SIZE, 1));
    }

    @Test
    void whatIsWrittenThroughASharedMappingIsWrittenAnew() throws IOException {
        byte[] expected = noise(SIZE, 1);
        expected[0] ^= 1;
        try (Checkpoint checkpoint = open(MapMode.SHARED)) {
            bytes(checkpoint, "t1").set(JAVA_BYTE, 0, expected[0]);
            assertThat(file.commit(tensors(checkpoint), OPTIONS).written()).isEqualTo(CHUNK);
        }
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.tensor("t1").contentEquals(Tensor.of(expected))).isTrue();
        }
    }

    @Test
    void aFileThatReplacedTheMappedOneIsComparedWith() throws IOException {
        Path other = folder.resolve("other.croft");
        CroftFile.open(other).commit(state(3, 2), OPTIONS);
        try (Checkpoint checkpoint = open(MapMode.PRIVATE)) {
            Map<String, Object> state = tensors(checkpoint);
            Files.move(other, path, StandardCopyOption.REPLACE_EXISTING);
            assertThat(file.newest()).isPresent();
            assertThat(file.commit(state, OPTIONS).written()).isEqualTo(SIZE);
        }
        assertSaved("t1", noise(SIZE, 1));
        assertSaved("t2", noise(SIZE, 2));
    }

    @Test
    void aStorageOfAnotherFileIsReadEvenIfItHasTheSamePlaceThere() throws IOException {
        Path other = folder.resolve("other.croft");
        CroftFile.open(other).commit(state(3, 2), OPTIONS);
        try (Checkpoint checkpoint = Checkpoint.open(other)) {
            assertThat(file.commit(tensors(checkpoint), OPTIONS).written()).isEqualTo(SIZE);
        }
        assertSaved("t3", noise(SIZE, 3));
    }

    @ParameterizedTest
    @EnumSource(names = {"READ_ONLY", "PRIVATE"})
    void damageOfAnUnchangedExtentKeepsItsDigestAndIsStillFound(MapMode mode) throws IOException {
        long at = find(noise(SIZE, 1));
        try (Checkpoint checkpoint = open(mode)) {
            Map<String, Object> state = tensors(checkpoint);
            overwrite(at + 3 * CHUNK + 5, (byte) (noise(SIZE, 1)[3 * CHUNK + 5] ^ 1));
            assertThat(file.commit(state, OPTIONS).written()).isZero();
        }
        assertThat(file.verify().isIntact()).isFalse();
        try (Checkpoint checkpoint = Checkpoint.open(path, OpenOptions.defaults().checksums(ChecksumPolicy.ON_TOUCH))) {
            assertThatThrownBy(() -> checkpoint.tensor("t1").getLong(0)).hasMessageContaining("checksum");
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"READ_ONLY", "PRIVATE"})
    void anExtentWhoseBytesWereLostIsNotTakenForZeros(MapMode mode) throws IOException {
        long at = find(noise(SIZE, 1));
        try (Checkpoint checkpoint = open(mode)) {
            Map<String, Object> state = tensors(checkpoint);
            for (int byteAt = 0; byteAt < CHUNK; byteAt++) {
                overwrite(at + byteAt, (byte) 0);
            }
            DedupReport report = file.commit(state, OPTIONS);
            assertThat(report.zeros()).isZero();
            assertThat(report.written()).isZero();
        }
        assertThat(file.verify().isIntact()).isFalse();
    }

    @Test
    void aFileThatWasCutIsNotCommittedTo() throws IOException {
        try (Checkpoint checkpoint = open(MapMode.PRIVATE)) {
            Map<String, Object> state = tensors(checkpoint);
            try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
                channel.truncate(SIZE);
            }
            assertThatThrownBy(() -> file.commit(state, OPTIONS)).isInstanceOf(Exception.class);
        }
    }

    @Test
    void anOlderSnapshotIsCommittedAgainWithoutBeingRead() throws IOException {
        file.commit(state(3, 2), OPTIONS);
        file.commit(state(4), OPTIONS);
        try (Checkpoint oldest = file.at(1)) {
            Map<String, Object> state = new LinkedHashMap<>();
            state.put("t2", oldest.tensor("t2"));
            state.put("t1", oldest.tensor("t1"));
            assertThat(file.commit(state, OPTIONS).written()).isZero();
            assertThat(Proc.presentBytes(bytes(oldest, "t1"))).isZero();
            assertThat(Proc.presentBytes(bytes(oldest, "t2"))).isZero();
        }
        assertSaved("t1", noise(SIZE, 1));
        assertSaved("t2", noise(SIZE, 2));
    }

    @Test
    void aStitchedStorageIsNotReadButForChunksThatWereCopied() throws IOException {
        byte[] expected = noise(SIZE, 1);
        for (int chunk = 10; chunk < 90; chunk += 20) {
            expected[chunk * CHUNK] ^= 1;
        }
        file.commit(Map.of("t1", Tensor.of(expected)), OPTIONS);
        try (Checkpoint checkpoint = open(MapMode.PRIVATE)) {
            MemorySegment bytes = bytes(checkpoint, "t1");
            assertThat(file.commit(tensors(checkpoint), OPTIONS).written()).isZero();
            assertThat(Proc.presentBytes(bytes)).isLessThan(SIZE / 4);
            bytes.set(JAVA_BYTE, 10 * CHUNK, (byte) 0);
            bytes.set(JAVA_BYTE, 95 * CHUNK, (byte) 0);
            expected[10 * CHUNK] = 0;
            expected[95 * CHUNK] = 0;
            assertThat(file.commit(tensors(checkpoint), OPTIONS).written()).isEqualTo(2 * CHUNK);
        }
        assertSaved("t1", expected);
    }

    @Test
    void slicesOfAMappedStorageAreNotReadEither() throws IOException {
        try (Checkpoint checkpoint = open(MapMode.PRIVATE)) {
            Storage all = checkpoint.tensor("t1").storage();
            Storage part = all.slice(2L * CHUNK, 3L * CHUNK);
            Tensor tensor = Tensor.of(part, DType.UINT8, 0, Shape.of(3 * CHUNK), new long[]{1});
            assertThat(file.commit(Map.of("part", tensor), OPTIONS).written()).isZero();
            assertThat(Proc.presentBytes(all.segment())).isZero();
        }
        assertSaved("part", Arrays.copyOfRange(noise(SIZE, 1), 2 * CHUNK, 5 * CHUNK));
    }

    @Test
    void storagesThatAreMappedFromABaseAreNotRead() throws IOException {
        Path next = folder.resolve("next.croft");
        SaveOptions onBase = OPTIONS.base(path);
        try (Checkpoint checkpoint = open(MapMode.PRIVATE)) {
            assertThat(Checkpoint.save(next, tensors(checkpoint), onBase).dedup().orElseThrow().written()).isZero();
            assertThat(Proc.presentBytes(bytes(checkpoint, "t1"))).isZero();
            bytes(checkpoint, "t1").set(JAVA_BYTE, 0, (byte) 77);
            assertThat(Checkpoint.save(next, tensors(checkpoint), onBase).dedup().orElseThrow().written())
                    .isEqualTo(CHUNK);
        }
        byte[] expected = noise(SIZE, 1);
        expected[0] = 77;
        try (Checkpoint checkpoint = Checkpoint.open(next)) {
            assertThat(checkpoint.tensor("t1").contentEquals(Tensor.of(expected))).isTrue();
        }
    }

    @Test
    void aFileIsTheSameHoweverItsChunksWereRecognised() throws IOException {
        Path copied = Files.copy(path, folder.resolve("copied.croft"));
        try (Checkpoint checkpoint = open(MapMode.PRIVATE)) {
            bytes(checkpoint, "t2").set(JAVA_BYTE, 9 * CHUNK, (byte) 1);
            file.commit(tensors(checkpoint), OPTIONS);
            Map<String, Object> inMemory = new LinkedHashMap<>();
            tensors(checkpoint).forEach((name, tensor) -> inMemory.put(name, ((Tensor) tensor).copy()));
            CroftFile.open(copied).commit(inMemory, OPTIONS);
        }
        assertThat(Files.mismatch(path, copied)).isEqualTo(-1);
    }

    @Test
    void zerosThatWereWrittenAreLeftOutByALaterCommitThatLeavesZerosOut() throws IOException {
        Path dense = folder.resolve("dense.croft");
        CroftFile zeros = CroftFile.open(dense);
        Tensor tensor = Tensor.zeros(DType.UINT8, SIZE);
        zeros.commit(Map.of("z", tensor), OPTIONS.writableInPlace());
        try (Checkpoint checkpoint = Checkpoint.open(dense)) {
            assertThat(zeros.commit(tensors(checkpoint), OPTIONS).zeros()).isEqualTo(SIZE);
        }
    }

    private long find(byte[] bytes) throws IOException {
        MemorySegment all = MemorySegment.ofArray(Files.readAllBytes(path));
        for (long at = 0; at < all.byteSize(); at += 64) {
            if (all.asSlice(at, PAGE).mismatch(MemorySegment.ofArray(bytes).asSlice(0, PAGE)) < 0) {
                return at;
            }
        }
        throw new AssertionError("the bytes are not in the file");
    }

    private void overwrite(long at, byte value) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(new byte[]{value}), at);
        }
    }
}
