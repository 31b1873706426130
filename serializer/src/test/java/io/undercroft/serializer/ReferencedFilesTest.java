package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Files with bytes of the state that is saved, or of an open file, are not replaced.
class ReferencedFilesTest {
    private static final int MOST_COLLECTIONS = 1000;
    private static final Map<String, Tensor> OTHER = Map.of("other", Tensor.of(1L));

    @TempDir
    Path folder;

    private Path base;
    private Path thin;

    @BeforeEach
    void nameTheFiles() {
        base = folder.resolve("base.croft");
        thin = folder.resolve("thin.croft");
    }

    private static Map<String, Tensor> state() {
        Tensor weight = Tensor.zeros(DType.INT64, 20_000);
        for (int i = 0; i < 20_000; i++) {
            weight.setLong(i, i * 31L);
        }
        return Map.of("weight", weight);
    }

    private void saveThin() throws IOException {
        Checkpoint.save(base, state());
        DedupReport report = Checkpoint.save(thin, state(), SaveOptions.defaults().base(base)).dedup().orElseThrow();
        assertThat(report.written()).isZero();
    }

    private void assertRefused(Path target, Path referrer, ThrowingCallable writing) throws IOException {
        byte[] before = Files.readAllBytes(target);
        assertThatThrownBy(writing).isInstanceOfSatisfying(ReferencedFileException.class, e -> {
            assertThat(Path.of(e.getFile())).isEqualTo(target);
            assertThat(Path.of(e.referrer()).getFileName()).isEqualTo(referrer.getFileName());
            assertThat(e).hasMessageContaining("are stored in it");
        });
        assertThat(target).hasBinaryContent(before);
    }

    @Test
    void aFileOfAnotherFileSystemThatWasClosedStopsNoSave() throws IOException {
        Checkpoint.save(base, OTHER);
        CroftFile file;
        try (FileSystem zip = FileSystems.newFileSystem(folder.resolve("a.zip"), Map.of("create", "true"))) {
            file = CroftFile.open(zip.getPath("/a.croft"));
        }

        Checkpoint.save(base, state());

        file.close();
        try (Checkpoint c = Checkpoint.open(base)) {
            assertThat(c.names()).containsExactly("weight");
        }
    }

    @Test
    void aBaseOfAnOpenFileIsNotReplacedWhateverWrites() throws IOException {
        saveThin();
        Path single = folder.resolve("single.croft");
        Checkpoint.save(single, OTHER);

        try (Checkpoint c = Checkpoint.open(thin)) {
            assertRefused(base, thin, () -> Checkpoint.save(base, OTHER));
            assertRefused(base, thin, () -> Checkpoint.saveAsync(base, OTHER).join());
            assertRefused(base, thin, () -> CroftFile.open(single).copy(base));
            assertRefused(base, thin, () -> CroftFile.open(single).copyWithBases(base));
            assertRefused(base, thin, () -> CroftFile.open(thin).copyWithBases(base));
            assertRefused(base, thin, () -> CroftFile.open(base).compact(_ -> true));
            assertRefused(base, thin, () -> ShardSet.save(base, List.of(single)));
            assertRefused(base, thin,
                    () -> Checkpoint.save(base, Tensor.zeros(DType.UINT8, 3), SaveOptions.defaults().format("raw")));
            assertRefused(base, thin, () -> Checkpoint
                    .saveAsync(base, Tensor.zeros(DType.UINT8, 3), SaveOptions.defaults().format("raw")).join());

            assertThat(c.verify().damages()).isEmpty();
        }
    }

    @Test
    void aBaseOfWhatIsCopiedOrIsInTheSetIsNotReplaced() throws IOException {
        saveThin();

        assertRefused(base, thin, () -> ShardSet.save(base, List.of(thin)));
        assertRefused(base, thin, () -> CroftFile.open(thin).copy(base));
        assertRefused(base, thin, () -> CroftFile.open(thin).copyWithBases(base));
    }

    /// What only a closed file needs is replaced, as in every other process. That file says what is missing.
    @Test
    void aBaseOfAClosedFileIsReplaced() throws IOException {
        saveThin();
        Path set = folder.resolve("model.croftset");
        ShardSet.save(set, List.of(thin));
        for (Path opened : List.of(thin, set)) {
            Checkpoint.open(opened).close();
        }
        ShardSet.open(set).close();
        try (CroftFile file = CroftFile.open(thin)) {
            assertThat(file.newest()).isPresent();
        }

        Checkpoint.save(base, OTHER);

        try (Checkpoint c = Checkpoint.open(thin)) {
            assertThat(c.bases()).singleElement()
                    .satisfies(missing -> assertThat(missing.problem()).isPresent());
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> c.tensor("weight").getLong(0))
                    .withMessageContaining("base.croft");
        }
    }

    @Test
    void snapshotsOfABaseAreNotDropped() throws IOException {
        saveThin();
        try (CroftFile file = CroftFile.open(base)) {
            file.commit(OTHER, "more");
            try (Checkpoint _ = Checkpoint.open(thin)) {
                assertRefused(base, thin, () -> file.compact(Retention.last(1)));
                assertRefused(base, thin, () -> file.retain(Retention.last(1)));
            }
        }
        try (Checkpoint _ = Checkpoint.open(thin);
                CroftFile file = CroftFile.open(base, SaveOptions.defaults().replacingReferenced(),
                        OpenOptions.defaults())) {
            assertThat(file.compact(Retention.last(1))).isPositive();
        }
    }

    /// Bytes are added behind those that others need.
    @Test
    void aBaseIsAppendedTo() throws IOException {
        saveThin();

        CroftFile.open(base).commit(OTHER, SaveOptions.defaults());

        try (Checkpoint c = Checkpoint.open(thin)) {
            assertThat(c.verify().damages()).isEmpty();
        }
    }

    @Test
    void aBaseIsReplacedWhenThatIsAllowed() throws IOException {
        saveThin();
        try (Checkpoint c = Checkpoint.open(thin)) {
            Checkpoint.save(base, OTHER, SaveOptions.defaults().replacingReferenced());
            assertThat(c.bases()).singleElement().satisfies(lost -> assertThat(lost.problem()).isPresent());
        }
        saveThin();
        try (Checkpoint c = Checkpoint.open(thin)) {
            Checkpoint.save(base, bytes(c.tensor("weight")),
                    SaveOptions.defaults().format("raw").replacingReferenced());
            assertThat(c.tensor("weight").getLong(3)).isEqualTo(93);
        }
    }

    @Test
    void aCompactionOrACopyReplacesABaseWhenThatIsAllowed() throws IOException {
        SaveOptions allowed = SaveOptions.defaults().replacingReferenced();
        OpenOptions newest = OpenOptions.defaults();
        Path single = folder.resolve("single.croft");
        Checkpoint.save(single, OTHER);
        saveThin();
        CroftFile.open(base).commit(OTHER, SaveOptions.defaults());
        try (Checkpoint _ = Checkpoint.open(thin)) {
            assertThat(CroftFile.open(base, allowed, OpenOptions.defaults())
                    .compact(snapshot -> snapshot.sequence() == 2)).isPositive();
        }
        saveThin();
        try (Checkpoint _ = Checkpoint.open(thin)) {
            CroftFile.open(single, allowed, newest).copy(base);
            assertThat(base).hasSameBinaryContentAs(single);
        }
        saveThin();
        try (Checkpoint _ = Checkpoint.open(thin)) {
            CroftFile.open(single, allowed, newest).copyWithBases(base);
            assertThat(base).hasSameBinaryContentAs(single);
        }
        saveThin();
        CroftFile.open(thin, allowed, newest).copyWithBases(base);
        try (Checkpoint c = Checkpoint.open(base)) {
            assertThat(c.bases()).isEmpty();
            assertThat(c.tensor("weight").equal(state().get("weight"))).isTrue();
        }
    }

    /// The copy needs it.
    @Test
    void anExportDoesNotReplaceABaseOfTheFileItselfWhateverIsAllowed() throws IOException {
        saveThin();
        SaveOptions allowed = SaveOptions.defaults().replacingReferenced().replacingSource();

        assertRefused(base, thin, () -> CroftFile.open(thin, allowed, OpenOptions.defaults()).copy(base));

        CroftFile.open(thin, allowed, OpenOptions.defaults()).copy(thin);
        try (Checkpoint c = Checkpoint.open(thin)) {
            assertThat(c.verify().damages()).isEmpty();
        }
    }

    @Test
    void aBaseIsReplacedOnceNothingThatIsOpenReferencesIt() throws IOException {
        saveThin();
        try (CroftFile file = CroftFile.open(thin)) {
            assertRefused(base, thin, () -> Checkpoint.save(base, OTHER));
            Checkpoint.save(thin, state());
            Checkpoint.save(base, OTHER);
            saveThin();
            try (Checkpoint _ = Checkpoint.open(thin)) {
                Checkpoint.save(thin, state());
                // What is open needs it.
                assertRefused(base, thin, () -> Checkpoint.save(base, OTHER));
            }
            Checkpoint.save(base, OTHER);
            assertThat(file.newest()).isPresent();
        }
    }

    @Test
    void aBaseOfABaseIsNotReplaced() throws IOException {
        Checkpoint.save(base, state());
        Path middle = Files.createDirectory(folder.resolve("elsewhere")).resolve("middle.croft");
        Tensor more = state().get("weight").narrow(0, 100, 19_000).copy();
        Map<String, Tensor> both = Map.of("weight", state().get("weight"), "more", more);
        Checkpoint.save(middle, both, SaveOptions.defaults().base(base).root(folder));
        Path last = folder.resolve("last.croft");
        Checkpoint.save(last, Map.of("more", more), SaveOptions.defaults().base(middle).root(folder));
        // As another process finds them.
        Path there = Files.createDirectory(folder.resolve("there"));
        base = Files.copy(base, there.resolve("base.croft"));
        last = Files.copy(last, there.resolve("last.croft"));
        Files.copy(middle, Files.createDirectory(there.resolve("elsewhere")).resolve("middle.croft"));
        Path opened = last;
        try (Checkpoint _ = Checkpoint.open(opened, OpenOptions.defaults().root(there))) {
            assertRefused(base, opened, () -> Checkpoint.save(base, OTHER));
        }
    }

    @Test
    void aFileThatWasNamedAsABaseMeanwhileIsNotReplaced() throws IOException {
        Checkpoint.save(base, state());
        HeldDisk disk = new HeldDisk();
        PendingSave pending = Checkpoint.saveAsync(disk, base, OTHER, SaveOptions.defaults());

        Checkpoint.save(thin, state(), SaveOptions.defaults().base(base));

        try (Checkpoint _ = Checkpoint.open(thin)) {
            disk.letGo();
            assertRefused(base, thin, pending::join);
        }
    }

    /// {@return the tensor of a file that was closed, on a storage that was retained}
    private static Tensor retained(Path file, OpenOptions options) throws IOException {
        try (Checkpoint c = Checkpoint.open(file, options)) {
            Tensor tensor = c.tensor("weight");
            tensor.storage().retain();
            return tensor;
        }
    }

    /// {@return the bytes of its storage}
    private static Tensor bytes(Tensor tensor) {
        return Tensor.of(tensor.storage(), DType.UINT8, 0, Shape.of(tensor.storage().nbytes()), 1);
    }

    private static void release(Tensor tensor) {
        tensor.storage().release();
    }

    /// The options that named the directory of the base were those of the file that is closed.
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aBaseOfAClosedFileIsNotReplacedByTheStateThatIsBackedByIt(boolean inMemory) throws IOException {
        saveThin();
        Path copy = Files.createDirectory(folder.resolve("copies")).resolve("copy.croft");
        Files.move(thin, copy);
        OpenOptions options = OpenOptions.defaults().root(folder);
        Tensor tensor = retained(copy, inMemory ? options.inMemory() : options);
        SaveOptions raw = SaveOptions.defaults().format("raw");
        Path linked = Files.createSymbolicLink(folder.resolve("linked.croft"), base);
        Path hard = Files.createLink(folder.resolve("hard.croft"), base);
        try {
            for (Path target : List.of(base, hard, folder.resolve("copies/../base.croft"))) {
                assertRefused(target, copy, () -> Checkpoint.save(target, Map.of("row", tensor.narrow(0, 1, 1))));
                assertRefused(target, copy, () -> Checkpoint.saveAsync(target, Map.of("w", tensor)).join());
                assertRefused(target, copy, () -> Checkpoint.save(target, bytes(tensor), raw));
                assertRefused(target, copy, () -> Checkpoint.saveAsync(target, bytes(tensor), raw).join());
            }
            assertThatExceptionOfType(ReferencedFileException.class)
                    .isThrownBy(() -> Checkpoint.save(linked, Map.of("w", tensor)));
            assertRefused(() -> Checkpoint.save(copy, Map.of("w", tensor)));
            Checkpoint.save(base, Map.of("w", tensor), SaveOptions.defaults().replacingReferenced());
            assertThat(tensor.getLong(3)).isEqualTo(93);
        } finally {
            release(tensor);
        }
    }

    @Test
    void aBaseOfABaseOfAClosedFileIsNotReplacedByTheStateThatIsBackedByIt() throws IOException {
        Checkpoint.save(base, state());
        Path middle = folder.resolve("middle.croft");
        Map<String, Tensor> both = Map.of("weight", state().get("weight"), "more", Tensor.arange(DType.INT64, 9_000));
        Checkpoint.save(middle, both, SaveOptions.defaults().base(base));
        Checkpoint.save(thin, Map.of("weight", both.get("more")), SaveOptions.defaults().base(middle));
        Tensor tensor = retained(thin, OpenOptions.defaults().inMemory());
        try {
            for (Path target : List.of(base, middle)) {
                assertRefused(target, thin, () -> Checkpoint.save(target, Map.of("w", tensor)));
            }
        } finally {
            release(tensor);
        }
        Checkpoint.save(base, OTHER);
    }

    @Test
    void anAdoptedFileOfAClosedFileIsNotReplacedByTheStateThatIsBackedByIt() throws IOException {
        Path raw = adopted();
        Tensor tensor = retained(thin, OpenOptions.defaults().root(folder).inMemory());
        try {
            assertRefused(raw, thin, () -> Checkpoint.save(raw, tensor));
        } finally {
            release(tensor);
        }
        Checkpoint.save(raw, Tensor.zeros(DType.UINT8, 3));
    }

    /// {@return a file of another format in which the bytes of `thin` are}
    private Path adopted() throws IOException {
        Path raw = folder.resolve("some.raw");
        Checkpoint.save(raw, Tensor.zeros(DType.UINT8, 300_000).fill(7));
        try (Checkpoint c = Checkpoint.open(raw)) {
            Checkpoint.save(thin, Map.of("weight", c.tensor("bytes")),
                    SaveOptions.defaults().base(raw).wholeStorages());
        }
        return raw;
    }

    /// The checkpoint is closed before the file is written.
    @Test
    void aSaveByAnotherThreadIsRefusedWhenItIsPrepared() throws IOException {
        saveThin();
        byte[] before = Files.readAllBytes(base);
        try (Checkpoint c = Checkpoint.open(thin)) {
            for (SaveOptions options : List.of(SaveOptions.defaults(), SaveOptions.defaults().format("raw"))) {
                assertThatExceptionOfType(ReferencedFileException.class)
                        .isThrownBy(() -> Checkpoint.saveAsync(base, bytes(c.tensor("weight")), options).close());
            }
        }
        assertThat(base).hasBinaryContent(before);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aBaseIsKnownByWhatItIs(boolean linked) throws IOException {
        saveThin();
        Path other = folder.resolve("other.croft");
        if (linked) {
            Files.createLink(other, base);
        } else {
            Files.move(base, other);
        }

        try (Checkpoint _ = Checkpoint.open(thin)) {
            assertRefused(other, thin, () -> Checkpoint.save(other, OTHER));
        }
    }

    @Test
    void basesOfFormerSnapshotsCount() throws IOException {
        saveThin();
        CroftFile.open(thin).commit(OTHER, SaveOptions.defaults().root(folder));

        try (Checkpoint _ = Checkpoint.open(thin)) {
            assertRefused(base, thin, () -> Checkpoint.save(base, OTHER));
        }
    }

    @Test
    void anAdoptedFileOfAnOpenFileIsNotReplaced() throws IOException {
        Path raw = adopted();

        try (Checkpoint _ = Checkpoint.open(thin)) {
            assertRefused(raw, thin, () -> Checkpoint.save(raw, Tensor.zeros(DType.UINT8, 3)));
        }
    }

    @Test
    void anAdoptedFileThatWasRenamedIsNotReplacedIfTheOptionsNameIt() throws IOException {
        Path renamed = Files.move(adopted(), folder.resolve("other.raw"));

        try (Checkpoint _ = Checkpoint.open(thin, OpenOptions.defaults().base(renamed))) {
            assertRefused(renamed, thin, () -> Checkpoint.save(renamed, Tensor.zeros(DType.UINT8, 3)));
        }
    }

    /// {@return an object that only the options of a file refer to that was opened and closed}
    private static WeakReference<Object> openedWith(Path file) throws IOException {
        Object filter = new Object();
        OpenOptions options = OpenOptions.defaults().only(name -> !name.equals(filter.toString()));
        try (Checkpoint c = Checkpoint.open(file, options)) {
            assertThat(c.names()).isNotEmpty();
        }
        return new WeakReference<>(filter);
    }

    @Test
    void whatTheOptionsOfAClosedFileReferToIsNotKept() throws Exception {
        saveThin();
        WeakReference<Object> filter = openedWith(thin);

        for (int i = 0; i < MOST_COLLECTIONS && filter.get() != null; i++) {
            System.gc();
            Thread.sleep(10);
        }
        assertThat(filter.get()).isNull();
    }

    @Test
    void aStateReplacesTheFileThatItWasOpenedFromWhenThatIsAllowed() throws IOException {
        Checkpoint.save(base, state());
        Path copy = base.resolveSibling("copy.croft");
        Path linked = Files.createSymbolicLink(base.resolveSibling("linked.croft"), base);
        Path hard = Files.createLink(base.resolveSibling("hard.croft"), base);
        byte[] before = Files.readAllBytes(base);
        try (Checkpoint c = Checkpoint.open(base);
                Checkpoint loaded = Checkpoint.open(base, OpenOptions.defaults().inMemory())) {
            for (Path target : List.of(base, linked, hard, base.resolveSibling(".").resolve(base.getFileName()))) {
                for (Object state : List.of(c.tree(), loaded.tree(),
                        Map.of("row", c.tensor("weight").narrow(0, 1, 1)))) {
                    assertRefused(() -> Checkpoint.save(target, state));
                    assertRefused(() -> Checkpoint.saveAsync(target, state).close());
                    assertRefused(() -> Checkpoint.save(target, state, SaveOptions.defaults().replacingReferenced()));
                }
            }
            assertThat(base).hasBinaryContent(before);
            Checkpoint.save(copy, c.tree());
            Checkpoint.save(base, Map.of("weight", c.tensor("weight").copy()));
            Checkpoint.save(base, c.tree(), SaveOptions.defaults().replacingSource());
            Checkpoint.save(base, OTHER);
            assertThat(c.tensor("weight").getLong(3)).isEqualTo(93);
        }
    }

    private static void assertRefused(ThrowingCallable saving) {
        assertThatExceptionOfType(SourceFileException.class).isThrownBy(saving)
                .withMessageContaining("SaveOptions.replacingSource");
    }

    @Test
    void whatReplacesItsSourceIsCompleteAndDurableBefore() throws IOException {
        Checkpoint.save(base, state());
        List<String> operations = new ArrayList<>();
        Disk disk = new ForwardingDisk() {
            @Override
            void before(Operation operation) throws IOException {
                operations.add(operation.name());
                if (operation == Operation.RENAME) {
                    throw new IOException("no space left");
                }
            }
        };
        byte[] before = Files.readAllBytes(base);
        try (Checkpoint c = Checkpoint.open(base)) {
            assertThatIOException().isThrownBy(() -> Checkpoint.saveAsync(disk, base, c.tree(),
                    SaveOptions.defaults().replacingSource()).join());
            assertThat(operations).containsSubsequence("WRITE", "FORCE", "RENAME");
            assertThat(operations.subList(operations.indexOf("FORCE"), operations.size())).doesNotContain("WRITE");
            assertThat(base).hasBinaryContent(before);
        }
    }

    @Test
    void aThinFileIsReplacedByItsOwnState() throws IOException {
        saveThin();
        try (Checkpoint c = Checkpoint.open(thin)) {
            assertRefused(() -> Checkpoint.save(thin, c.tree(), SaveOptions.defaults().base(base)));
            Checkpoint.save(thin, c.tree(), SaveOptions.defaults().base(base).replacingSource());
        }
        try (Checkpoint c = Checkpoint.open(thin)) {
            assertThat(c.verify().damages()).isEmpty();
        }
    }

    @Test
    void aShardOfAnOpenSetIsNotReplaced() throws IOException {
        Path set = folder.resolve("model.croftset");
        Checkpoint.save(base, state());
        ShardSet.save(set, List.of(base));

        try (ShardSet _ = ShardSet.open(set)) {
            assertRefused(base, set, () -> Checkpoint.save(base, OTHER));
            assertRefused(base, set, () -> CroftFile.open(base).compact(_ -> true));
        }
        try (Checkpoint _ = Checkpoint.open(set)) {
            assertRefused(base, set, () -> Checkpoint.save(base, OTHER));
            CroftFile.open(base).commit(OTHER, SaveOptions.defaults());
            ShardSet.save(set, List.of(base));
        }
        Checkpoint.save(base, OTHER);
    }

    /// None of its shards is open.
    @Test
    void aBaseOfAShardOfAnOpenSetIsNotReplaced() throws IOException {
        saveThin();
        Path set = folder.resolve("model.croftset");
        ShardSet.save(set, List.of(thin));

        try (ShardSet _ = ShardSet.open(set)) {
            assertRefused(base, set, () -> Checkpoint.save(base, OTHER));
        }
        try (Checkpoint _ = Checkpoint.open(set)) {
            assertRefused(base, set, () -> Checkpoint.save(base, OTHER));
        }
        Checkpoint.save(base, OTHER);
    }

    @Test
    void aBaseOfAShardOfAClosedSetIsNotReplacedByTheStateThatIsBackedByIt() throws IOException {
        saveThin();
        Path set = folder.resolve("model.croftset");
        ShardSet.save(set, List.of(thin));
        Tensor tensor = retained(set, OpenOptions.defaults().inMemory());
        try {
            for (Path target : List.of(base, thin)) {
                assertRefused(target, set, () -> Checkpoint.save(target, Map.of("w", tensor)));
            }
        } finally {
            release(tensor);
        }
        Checkpoint.save(base, OTHER);
    }

    @Test
    void theIndexOfAClosedSetIsNotReplacedByTheStateThatIsBackedByIt() throws IOException {
        Path set = folder.resolve("model.croftset");
        Path shard = Files.createDirectory(folder.resolve("shards")).resolve("shard.croft");
        Checkpoint.save(shard, state());
        ShardSet.save(set, List.of(shard));
        Tensor tensor = retained(set, OpenOptions.defaults().inMemory());
        SaveOptions croft = SaveOptions.defaults().format("croft");
        try {
            assertRefused(() -> Checkpoint.save(set, Map.of("w", tensor), croft));
            assertRefused(shard, set, () -> Checkpoint.save(shard, Map.of("w", tensor), croft));
            Checkpoint.save(set, Map.of("w", tensor), croft.replacingSource());
        } finally {
            release(tensor);
        }
    }

    @Test
    void aManifestDoesNotReplaceOneOfItsFiles() throws IOException {
        Checkpoint.save(base, OTHER);

        assertThatThrownBy(() -> ShardSet.save(base, List.of(base))).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("base.croft").hasMessageContaining("another name");
    }

    /// What cannot be read keeps nobody from writing.
    @Test
    void aDamagedReferrerDoesNotKeepOthersFromWriting() throws IOException {
        saveThin();
        Files.write(folder.resolve("x"), new byte[100_000]);
        Files.move(folder.resolve("x"), thin, StandardCopyOption.REPLACE_EXISTING);

        Checkpoint.save(base, OTHER);
    }

    private static Map<String, Tensor> many() {
        return IntStream.range(0, 4000).boxed().collect(Collectors.toMap(i -> "tensor " + i, i -> Tensor.of((long) i)));
    }

    /// The index of a file of many tensors is mapped, and a mapping cannot reach beyond the new end of the file.
    @ParameterizedTest
    @ValueSource(longs = {0, 4096})
    void anOpenFileThatWasCutDoesNotKeepOthersFromWriting(long nbytes) throws IOException {
        Path cut = folder.resolve("cut.croft");
        Checkpoint.save(cut, many());
        Checkpoint.save(base, OTHER);
        try (Checkpoint _ = Checkpoint.open(cut);
                FileChannel channel = FileChannel.open(cut, StandardOpenOption.WRITE)) {
            channel.truncate(nbytes);

            Checkpoint.save(base, state());
            CroftFile.open(base).compact(_ -> true);
        }
        try (Checkpoint c = Checkpoint.open(base)) {
            assertThat(c.verify().damages()).isEmpty();
        }
    }
}
