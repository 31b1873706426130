package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.BaseFiles;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.FreeRange;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.Verifier;
import io.undercroft.serializer.SaveOptions.Sharing;
import io.undercroft.serializer.internal.disk.WriterLock;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.TestData;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CroftFileTest {
    private static final long MIB = 1 << 20;

    @TempDir
    Path folder;
    private Path path;
    private final Map<String, Object> state = new LinkedHashMap<>();

    @BeforeEach
    void nameTheFile() {
        path = folder.resolve("state.croft");
    }

    /// A tensor of bytes that no compression finds anything in.
    private static Tensor noise(long nbytes, long seed) {
        return Tensor.of(TestData.noise(Math.toIntExact(nbytes), seed)).view(DType.UINT8);
    }

    private DedupReport append() throws IOException {
        return CroftFile.open(path).commit(state, SaveOptions.defaults());
    }

    private void export(long sequence, Path target) throws IOException {
        CroftFile.open(path).copy(target, sequence);
    }

    private Snapshot snapshot() throws IOException {
        return Snapshot.open(bytes(), Limits.DEFAULT);
    }

    private ByteSource bytes() throws IOException {
        return ByteSource.of(MemorySegment.ofArray(Files.readAllBytes(path)));
    }

    private void assertSound() throws IOException {
        assertThat(Verifier.verify(bytes(), snapshot(), BaseFiles.none()).findings()).isEmpty();
    }

    private static void assertAddsUp(DedupReport report) {
        assertThat(report.unreached() + report.zeros() + report.sharedStorages() + report.sharedChunks()
                + report.written()).isEqualTo(report.storages());
    }

    @Test
    void anAppendedSnapshotIsTheNewestAndTheOneBeforeStays() throws IOException {
        state.put("weight", noise(100, 1));
        Checkpoint.save(path, state);
        byte[] before = Files.readAllBytes(path);
        state.put("bias", noise(50, 2));
        CroftFile.open(path).commit(state, SaveOptions.defaults().message("with a bias"));

        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.names()).containsExactly("weight", "bias");
            assertThat(checkpoint.tensor("bias").storage().contentEquals(((Tensor) state.get("bias")).storage()))
                    .isTrue();
        }
        Snapshot newest = snapshot();
        assertThat(newest.commit().message()).isEqualTo("with a bias");
        assertThat(newest.openAt(1).nameCount()).isEqualTo(1);
        assertThat(newest.chain()).hasSize(2);
        assertThat(Files.readAllBytes(path)).startsWith(java.util.Arrays.copyOf(before, 4096));
        assertSound();
    }

    @Test
    void onlyChunksThatChangedAreWritten() throws IOException {
        Tensor weight = noise(8 * MIB + 100, 1);
        state.put("weight", weight);
        Checkpoint.save(path, state);
        long before = Files.size(path);
        weight.storage().set(3 * MIB + 5, (byte) (weight.storage().get(3 * MIB + 5) + 1));

        DedupReport report = append();

        assertThat(report.written()).isEqualTo(MIB);
        assertThat(report.sharedChunks()).isEqualTo(7 * MIB + 100);
        assertAddsUp(report);
        assertThat(Files.size(path) - before).isLessThan(MIB + 65_536 + 3 * 4096);
        assertSound();
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.tensor("weight").storage().contentEquals(weight.storage())).isTrue();
        }
    }

    @Test
    void aSnapshotOfTheSameStateHasOnlyAnIndex() throws IOException {
        state.put("weight", noise(3 * MIB, 1));
        state.put("bias", noise(100, 2));
        Checkpoint.save(path, state);
        DedupReport report = append();
        assertThat(report.written()).isZero();
        assertThat(report.sharedStorages()).isEqualTo(3 * MIB + 100);
        assertAddsUp(report);
        assertSound();
    }

    @Test
    void aChunkThatComesBackIsFoundInAnOlderSnapshot() throws IOException {
        Tensor weight = noise(2 * MIB, 1);
        state.put("weight", weight);
        Checkpoint.save(path, state);
        byte first = weight.storage().get(0);
        weight.storage().set(0, (byte) (first + 1));
        append();
        weight.storage().set(0, first);
        assertThat(append().written()).isZero();
        assertThat(snapshot().extent(0).fileOffset()).isEqualTo(snapshot().openAt(1).extent(0).fileOffset());
        assertSound();
    }

    @Test
    void equalStoragesHaveTheSameBytesOfTheFileAndStayApartInMemory() throws IOException {
        state.put("a", noise(2 * MIB, 1));
        state.put("b", noise(2 * MIB, 1));
        state.put("c", noise(100, 2));
        state.put("d", noise(100, 2));
        DedupReport report = Checkpoint.save(path, state).dedup().orElseThrow();
        assertThat(report.sharedStorages()).isEqualTo(2 * MIB + 100);
        assertThat(report.written()).isEqualTo(2 * MIB + 100);
        assertAddsUp(report);
        assertSound();
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            for (List<String> pair : List.of(List.of("a", "b"), List.of("c", "d"))) {
                Storage one = checkpoint.tensor(pair.get(0)).storage();
                Storage other = checkpoint.tensor(pair.get(1)).storage();
                one.set(7, (byte) (one.get(7) + 1));
                assertThat(one).isNotSameAs(other);
                assertThat(other.contentEquals(((Tensor) state.get(pair.get(1))).storage())).isTrue();
            }
        }
    }

    @Test
    void withoutSharingByContentEveryStorageHasBytesOfItsOwn() throws IOException {
        state.put("a", noise(100, 1));
        state.put("b", noise(100, 1));
        DedupReport report = Checkpoint.save(path, state, SaveOptions.defaults().sharing(Sharing.IDENTITY)).dedup()
                .orElseThrow();
        assertThat(report.written()).isEqualTo(200);
        assertThat(snapshot().extent(0).isShared()).isFalse();
        assertSound();
    }

    @Test
    void aDirectoryThatIsMissingIsNoticedBeforeTheFirstCommit() throws IOException {
        try (CroftFile file = CroftFile.open(folder.resolve("missing/state.croft"))) {
            assertThatThrownBy(file::newest).isInstanceOf(NoSuchFileException.class)
                    .hasMessageContaining("make it first");
        }
        try (CroftFile file = CroftFile.open(path)) {
            assertThat(file.newest()).isEmpty();
        }
    }

    @Test
    void chunksThatNoTensorReachesAreZerosUnlessWholeStoragesAreAskedFor() throws IOException {
        Tensor large = noise(5 * MIB, 1);
        state.put("part", large.narrow(0, 2 * MIB, 10));
        DedupReport report = Checkpoint.save(path, state).dedup().orElseThrow();
        assertThat(report.written()).isEqualTo(MIB);
        assertThat(report.unreached()).isEqualTo(4 * MIB);
        assertSound();
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.tensor("part").storage().nbytes()).isEqualTo(5 * MIB);
            assertThat(checkpoint.tensor("part").equal((Tensor) state.get("part"))).isTrue();
            assertThat(checkpoint.tensor("part").storage().get(1)).isZero();
        }
        assertThat(Checkpoint.save(path, state, SaveOptions.defaults().wholeStorages()).dedup().orElseThrow().written())
                .isEqualTo(5 * MIB);
    }

    @Test
    void aStorageThatIsAValueIsSavedWhole() throws IOException {
        Tensor large = noise(3 * MIB, 1);
        state.put("part", large.narrow(0, 0, 10));
        state.put("storage", large.storage());
        assertThat(Checkpoint.save(path, state).dedup().orElseThrow().written()).isEqualTo(3 * MIB);
        assertSound();
    }

    @Test
    void tiedTensorsAreCountedAsSavedByIdentity() throws IOException {
        Tensor weight = noise(1000, 1);
        state.put("embedding", weight);
        state.put("head", weight.view(DType.INT8));
        assertThat(Checkpoint.save(path, state).dedup().orElseThrow().identity()).isEqualTo(1000);
    }

    @Test
    void whatATornAppendLeftIsDeclaredFree() throws IOException {
        state.put("weight", noise(100, 1));
        Checkpoint.save(path, state);
        long committed = Files.size(path);
        Header header = snapshot().header();
        // An append leaves nothing between the first snapshot and the end of the commit slots but zeros.
        Files.write(path, new byte[(int) (header.slotsEnd() - committed)], StandardOpenOption.APPEND);
        Files.write(path, TestData.noise(12_345, 9), StandardOpenOption.APPEND);
        state.put("bias", noise(100, 2));
        append();
        assertThat(snapshot().freeRange(0)).isEqualTo(new FreeRange(committed, header.slots() - committed));
        assertThat(snapshot().freeRange(1)).isEqualTo(new FreeRange(header.slotsEnd(), 12_345));
        append();
        assertThat(snapshot().freeRangeCount()).isEqualTo(2);
        assertSound();
        committed = Files.size(path);
        Files.write(path, TestData.noise(12_345, 9), StandardOpenOption.APPEND);
        append();
        assertThat(snapshot().freeRange(2)).isEqualTo(new FreeRange(committed, 12_345));
        assertSound();
    }

    @Test
    void nothingThatIsCommittedSharesAPageWithWhatIsAppendedButTheSlots() throws IOException {
        state.put("weight", noise(100, 1));
        Checkpoint.save(path, state);
        for (int sequence = 2; sequence < 6; sequence++) {
            byte[] before = Files.readAllBytes(path);
            state.put("bias", noise(100, sequence));
            append();
            byte[] after = Files.readAllBytes(path);
            long slot = snapshot().header().recordOffset(sequence);
            for (int at = 0; at < (before.length + 4095) / 4096 * 4096; at++) {
                if (at < slot || at >= slot + 4096) {
                    assertThat(after[at]).as("byte %d", at).isEqualTo(at < before.length ? before[at] : 0);
                }
            }
        }
    }

    @Test
    void aTornSlotIsWrittenOver() throws IOException {
        state.put("weight", noise(100, 1));
        Checkpoint.save(path, state);
        append();
        vandalise(snapshot().header().recordOffset(2) + 8, 1);
        assertThat(snapshot().commit().sequence()).isEqualTo(1);
        append();
        assertThat(snapshot().commit().sequence()).isEqualTo(2);
        assertSound();
    }

    private void vandalise(long offset, int length) throws IOException {
        byte[] bytes = Files.readAllBytes(path);
        for (int i = 0; i < length; i++) {
            bytes[(int) offset + i] ^= 1;
        }
        Files.write(path, bytes);
    }

    @Test
    void aFileWhoseNewestSnapshotIsDamagedIsNotAppendedTo() throws IOException {
        state.put("weight", noise(100, 1));
        Checkpoint.save(path, state);
        append();
        vandalise(snapshot().commit().indexOffset(), 1);
        byte[] before = Files.readAllBytes(path);
        assertThatExceptionOfType(FormatException.class).isThrownBy(this::append)
                .withMessageContaining("writing would lose it").withMessageContaining(path.toString());
        assertThat(Files.readAllBytes(path)).isEqualTo(before);
        assertThat(folder.resolve("state.croft.lock")).doesNotExist();
    }

    @Test
    void aStateThatCannotBeSavedLeavesTheFileAsItWas() throws IOException {
        state.put("weight", noise(100, 1));
        Checkpoint.save(path, state);
        byte[] before = Files.readAllBytes(path);
        state.put("thread", Thread.currentThread());
        assertThatExceptionOfType(IllegalArgumentException.class).isThrownBy(this::append)
                .withMessageContaining("the value at 'thread");
        assertThat(Files.readAllBytes(path)).isEqualTo(before);
    }

    @Test
    void aSecondWriterIsRefusedAndToldWhoHoldsTheLock() throws IOException {
        state.put("weight", noise(100, 1));
        Checkpoint.save(path, state);
        try (WriterLock _ = WriterLock.of(path)) {
            for (var write : List.<org.assertj.core.api.ThrowableAssert.ThrowingCallable>of(this::append,
                    () -> Checkpoint.save(path, state))) {
                assertThatExceptionOfType(LockedException.class).isThrownBy(write)
                        .withMessageContaining("pid " + ProcessHandle.current().pid() + " on ")
                        .withMessageContaining(" since 2");
            }
        }
        append();
        assertThat(folder.resolve("state.croft.lock")).doesNotExist();
    }

    @Test
    void aLockFileThatNobodyHasLockedMeansNothing() throws IOException {
        state.put("weight", noise(100, 1));
        Checkpoint.save(path, state);
        Files.writeString(folder.resolve("state.croft.lock"), "pid 1 on elsewhere since 1970\n");
        append();
        assertThat(snapshot().commit().sequence()).isEqualTo(2);
    }

    @Test
    void aLinkIsFollowedToTheFileAndItsLock() throws IOException {
        state.put("weight", noise(100, 1));
        Checkpoint.save(path, state);
        Path link = Files.createSymbolicLink(folder.resolve("latest"), path.getFileName());
        try (WriterLock _ = WriterLock.of(path)) {
            assertThatExceptionOfType(LockedException.class)
                    .isThrownBy(() -> CroftFile.open(link).commit(state, SaveOptions.defaults()));
        }
        CroftFile.open(link).commit(state, SaveOptions.defaults());
        assertThat(snapshot().commit().sequence()).isEqualTo(2);
    }

    @Test
    void theSameStateGivesTheSameBytesHoweverItIsShared() throws IOException {
        state.put("a", noise(3 * MIB, 1));
        state.put("b", noise(70_000, 2));
        Checkpoint.save(path, state);
        ((Tensor) state.get("a")).storage().set(5, (byte) 0);
        append();
        byte[] once = Files.readAllBytes(path);
        ((Tensor) state.get("a")).storage().copyFrom(noise(3 * MIB, 1).storage());
        Checkpoint.save(path, state);
        ((Tensor) state.get("a")).storage().set(5, (byte) 0);
        append();
        assertThat(Files.readAllBytes(path)).isEqualTo(once);
    }

    @Test
    void aCompactedFileHasTheSnapshotsThatWereKeptAndNoOtherBytes() throws IOException {
        Tensor weight = noise(3 * MIB, 1);
        state.put("weight", weight);
        state.put("bias", noise(100, 2));
        Checkpoint.save(path, state, SaveOptions.defaults().message("first"));
        weight.storage().fill((byte) 7);
        CroftFile.open(path).commit(state, SaveOptions.defaults().message("second"));
        weight.storage().set(0, (byte) 8);
        CroftFile.open(path).commit(state, SaveOptions.defaults().message("third"));
        var old = snapshot();

        long freed = CroftFile.open(path).compact(info -> info.sequence() > 1);

        assertThat(freed).isGreaterThanOrEqualTo(3 * MIB);
        assertSound();
        Snapshot newest = snapshot();
        assertThat(newest.header().uuid()).isNotEqualTo(old.header().uuid());
        assertThat(newest.chain()).extracting(commit -> commit.sequence() + " " + commit.message())
                .containsExactly("2 third", "1 second");
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.tensor("weight").storage().contentEquals(weight.storage())).isTrue();
            assertThat(checkpoint.state()).isInstanceOf(Map.class);
        }
        append();
        assertThat(snapshot().commit().sequence()).isEqualTo(3);
        assertSound();
    }

    @Test
    void aFileIsNotCompactedToNothing() throws IOException {
        Checkpoint.save(path, state);
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> CroftFile.open(path).compact(_ -> false));
        assertThat(snapshot().commit().sequence()).isEqualTo(1);
        assertThat(folder.toFile().list()).containsExactly("state.croft");
    }

    @Test
    void damageIsNotCarriedOver() throws IOException {
        state.put("weight", noise(100, 1));
        Checkpoint.save(path, state);
        append();
        vandalise(1024 + 3, 1);
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> CroftFile.open(path).compact(_ -> true))
                .withMessageContaining("not carried over").withMessageContaining(path.toString());
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> export(1, folder.resolve("other.croft")));
        assertThat(folder.toFile().list()).containsExactly("state.croft");
    }

    @Test
    void aDamagedChainIsSaidToBeThatOfTheFile() throws IOException {
        state.put("weight", noise(100, 1));
        Checkpoint.save(path, state);
        append();
        vandalise(snapshot().commit().previousRecord() + 8, 1);
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> CroftFile.open(path).compact(_ -> true))
                .withMessageContaining(path.toString());
    }

    @Test
    void anExportedSnapshotIsAFileOfItsOwn() throws IOException {
        state.put("weight", noise(100, 1));
        Checkpoint.save(path, state);
        byte[] first = Files.readAllBytes(path);
        state.put("bias", noise(100, 2));
        append();
        Path other = folder.resolve("other.croft");
        export(1, other);
        assertThat(Files.readAllBytes(other)).isEqualTo(first);
        export(2, other);
        try (Checkpoint checkpoint = Checkpoint.open(other)) {
            assertThat(checkpoint.names()).containsExactly("weight", "bias");
        }
        assertThatExceptionOfType(java.util.NoSuchElementException.class)
                .isThrownBy(() -> export(3, other));
    }

    @Test
    void aStreamIsASealedFile() throws IOException {
        state.put("weight", noise(3 * MIB + 5, 1));
        state.put("same", noise(3 * MIB + 5, 1));
        state.put("bias", noise(100, 2));
        var bytes = new java.io.ByteArrayOutputStream();
        DedupReport report = Checkpoint.save(java.nio.channels.Channels.newChannel(bytes), state,
                SaveOptions.defaults().message("streamed"));
        assertThat(report.written()).isEqualTo(3 * MIB + 5 + 100);
        assertThat(report.sharedStorages()).isEqualTo(3 * MIB + 5);
        Files.write(path, bytes.toByteArray());
        assertSound();
        assertThat(snapshot().header().isSealed()).isTrue();
        assertThat(snapshot().commit().message()).isEqualTo("streamed");
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.tensor("weight").equal((Tensor) state.get("weight"))).isTrue();
        }
        assertThatExceptionOfType(FormatException.class).isThrownBy(this::append).withMessageContaining("sealed");
        export(1, folder.resolve("open.croft"));
        CroftFile.open(folder.resolve("open.croft")).commit(state, SaveOptions.defaults());
    }

    @Test
    void bytesOfABaseAreReferredToAndNotWritten() throws IOException {
        Tensor weight = noise(4 * MIB, 1);
        state.put("weight", weight);
        Path base = Files.createDirectory(folder.resolve("bases")).resolve("base.croft");
        Checkpoint.save(base, state);
        weight.storage().set(2 * MIB, (byte) (weight.storage().get(2 * MIB) + 1));
        state.put("head", noise(100, 3));
        DedupReport report = Checkpoint.save(path, state, SaveOptions.defaults().base(base)).dedup().orElseThrow();
        assertThat(report.written()).isEqualTo(MIB + 100);
        assertThat(report.sharedChunks()).isEqualTo(3 * MIB);
        assertAddsUp(report);
        Snapshot snapshot = snapshot();
        assertThat(snapshot.base(0).path()).isEqualTo("bases/base.croft");
        assertThat(snapshot.base(0).depth()).isZero();
        ByteSource there = ByteSource.of(MemorySegment.ofArray(Files.readAllBytes(base)));
        assertThat(Verifier.verify(bytes(), snapshot, _ -> java.util.Optional.of(there)))
                .satisfies(found -> assertThat(found.findings()).isEmpty())
                .satisfies(found -> assertThat(found.unverifiedExtents()).isZero());
    }

    @Test
    void bytesOfABaseAreReadThereAndFlatteningCopiesThem() throws IOException {
        Tensor weight = noise(4 * MIB, 1);
        state.put("weight", weight);
        Path base = folder.resolve("base.croft");
        Checkpoint.save(base, state);
        weight.storage().set(2 * MIB, (byte) (weight.storage().get(2 * MIB) + 1));
        Checkpoint.save(path, state, SaveOptions.defaults().base(base));
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.tensor("weight").equal(weight)).isTrue();
        }
        Path flat = folder.resolve("flat.croft");
        CroftFile.open(path).copyWithBases(flat);
        Files.delete(base);
        try (Checkpoint checkpoint = Checkpoint.open(flat)) {
            assertThat(checkpoint.tensor("weight").equal(weight)).isTrue();
            assertThat(checkpoint.verify().unverifiedExtents()).isZero();
        }
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> CroftFile.open(path).copyWithBases(flat))
                .withMessageContaining("base.croft").extracting(FormatException::code).isEqualTo("V18-BASE");
    }

    @Test
    void aBaseThatWasSavedAnewAndAppendedToDifferentlyIsNotTakenForTheOneThatWasMeant() throws IOException {
        Path base = folder.resolve("base.croft");
        state.put("weight", noise(100, 1));
        Checkpoint.save(base, state);
        state.put("weight", noise(70_000, 2));
        CroftFile.open(base).commit(state, SaveOptions.defaults());
        Checkpoint.save(path, state, SaveOptions.defaults().base(base));
        state.put("weight", noise(100, 1));
        Checkpoint.save(base, state);
        state.put("weight", noise(70_000, 3));
        CroftFile.open(base).commit(state, SaveOptions.defaults());
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThatExceptionOfType(FormatException.class)
                    .isThrownBy(() -> checkpoint.tensor("weight").storage().get(0))
                    .withMessageContaining("another snapshot 2").extracting(FormatException::code)
                    .isEqualTo("V18-BASE");
        }
    }

    @Test
    void whatStandsInABaseStaysThereWhenTheFileIsAppendedTo() throws IOException {
        state.put("weight", noise(4 * MIB, 1));
        Path base = folder.resolve("base.croft");
        Checkpoint.save(base, state);
        Checkpoint.save(path, state, SaveOptions.defaults().base(base).base(base));
        state.put("bias", noise(100, 2));
        assertThat(append().written()).isEqualTo(100);
        Files.delete(base);
        assertThat(append().written()).isEqualTo(4 * MIB);
        assertThat(snapshot().baseCount()).isZero();
        assertSound();
    }

    @Test
    void aBaseThatNothingIsTakenFromIsLeftOut() throws IOException {
        state.put("weight", noise(100, 1));
        Path base = folder.resolve("base.croft");
        Checkpoint.save(base, state);
        state.put("weight", noise(100, 2));
        Checkpoint.save(path, state, SaveOptions.defaults().base(base));
        assertThat(snapshot().baseCount()).isZero();
    }

    @Test
    void aBaseHasToLieBelowTheRootAndBeAnotherFile() throws IOException {
        Path base = folder.resolve("base.croft");
        Checkpoint.save(base, state);
        Path deeper = Files.createDirectory(folder.resolve("deeper")).resolve("state.croft");
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> Checkpoint.save(deeper, state, SaveOptions.defaults().base(base)))
                .withMessageContaining("set a root");
        Checkpoint.save(deeper, state, SaveOptions.defaults().base(base).root(folder));
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> Checkpoint.save(base, state, SaveOptions.defaults().base(base)))
                .withMessageContaining("its own base");
        assertThatExceptionOfType(NoSuchFileException.class).isThrownBy(
                () -> Checkpoint.save(deeper, state, SaveOptions.defaults().base(folder.resolve("missing.croft"))));
    }

    @Test
    void basesOfBasesAreNamedThemselvesAndNoMoreThanEightDeep() throws IOException {
        Path before = folder.resolve("0.croft");
        state.put("weight", noise(2 * MIB, 1));
        Checkpoint.save(before, state);
        for (int depth = 1; depth <= 8; depth++) {
            state.put("layer" + depth, noise(100, depth));
            Path next = folder.resolve(depth + ".croft");
            Checkpoint.save(next, state, SaveOptions.defaults().base(before).base(folder.resolve("0.croft")));
            before = next;
        }
        Path last = before;
        state.put("more", noise(100, 99));
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> Checkpoint.save(path, state, SaveOptions.defaults().base(last)))
                .withMessageContaining("copy it with its bases");
    }
}
