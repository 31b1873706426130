package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.serializer.spi.StoreOutput;
import io.undercroft.serializer.spi.StoreTarget;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.provider.ValueSource;
import org.junit.jupiter.params.ParameterizedTest;

class SaveToStoreTest {
    @TempDir
    Path folder;

    private final Tensor weight = Tensor.arange(DType.INT32, 1_000_000);

    private List<String> files() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    private URI uri(String name) {
        return FolderStore.uri(folder.resolve(name));
    }

    @Test
    void aBaseOfAnOpenFileIsNotReplacedInAStore() throws IOException {
        Path base = folder.resolve("base.croft");
        Checkpoint.save(base, Map.of("weight", weight));
        Checkpoint.save(folder.resolve("thin.croft"), Map.of("weight", weight), SaveOptions.defaults().base(base));
        Map<String, Tensor> other = Map.of("other", Tensor.of(1L));
        try (Checkpoint thin = Checkpoint.open(uri("thin.croft"))) {
            assertThatExceptionOfType(ReferencedFileException.class)
                    .isThrownBy(() -> Checkpoint.save(uri("base.croft"), other))
                    .satisfies(e -> assertThat(e.referrer()).isEqualTo(uri("thin.croft").toString()));
            assertThat(thin.tensor("weight").contentEquals(weight)).isTrue();
            Checkpoint.save(uri("base.croft"), other, SaveOptions.defaults().replacingReferenced());
        }
        Checkpoint.save(uri("base.croft"), other);
    }

    @Test
    void theIndexOfTheSetThatAStateWasOpenedFromIsNotReplacedInAStore() throws IOException {
        Path first = folder.resolve("first.croft");
        Checkpoint.save(first, Map.of("weight", weight));
        ShardSet.save(folder.resolve("model.croftset"), List.of(first));
        try (Checkpoint set = Checkpoint.open(uri("model.croftset"))) {
            SaveOptions options = SaveOptions.defaults().format("croft");
            assertThatExceptionOfType(SourceFileException.class)
                    .isThrownBy(() -> Checkpoint.save(uri("model.croftset"), set.tree(), options));
            assertThatExceptionOfType(ReferencedFileException.class)
                    .isThrownBy(() -> Checkpoint.save(uri("first.croft"), Map.of(), options));
            Checkpoint.save(uri("model.croftset"), set.tree(), options.replacingSource());
        }
    }

    @Test
    void aBackgroundSaveNamesAMissingBaseWhenItIsBegun() {
        SaveOptions options = SaveOptions.defaults().base(folder.resolve("nowhere.croft"));
        Path file = folder.resolve("thin.croft");
        assertThatExceptionOfType(NoSuchFileException.class)
                .isThrownBy(() -> Checkpoint.saveAsync(file, Map.of("weight", weight), options))
                .withMessageContaining("nowhere.croft");
        assertThat(file).doesNotExist();
    }

    @ParameterizedTest
    @ValueSource(strings = {"croft", "raw"})
    void aStorageThatWasFreedIsRefusedWithTheNameOfItsTensor(String format) throws IOException {
        Tensor freed = Tensor.zeros(DType.UINT8, 3);
        freed.storage().release();
        Map<String, Tensor> state = Map.of("layer", freed);
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> Checkpoint.save(folder.resolve("a." + format), state,
                        SaveOptions.defaults().format(format)))
                .withMessageContaining("the tensor 'layer' cannot be saved");
        assertThat(files()).isEmpty();
    }

    @Test
    void aCroftFileInAStoreIsSealed() throws IOException {
        SaveReport report = Checkpoint.save(uri("a.croft"), Map.of("weight", weight));

        assertThat(files()).containsExactly("a.croft");
        assertThat(report.locations()).containsExactly(uri("a.croft").toString());
        assertThat(report.nbytes()).isEqualTo(Files.size(folder.resolve("a.croft")));
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(report::files)
                .withMessageContaining("locations");
        try (Checkpoint opened = Checkpoint.open(uri("a.croft"))) {
            assertThat(opened.tensor("weight").contentEquals(weight)).isTrue();
            assertThat(opened.verify().isIntact()).isTrue();
        }
        assertThatThrownBy(() -> CroftFile.open(folder.resolve("a.croft")).commit(Map.of(),
                SaveOptions.defaults())).isInstanceOf(FormatException.class).hasMessageContaining("sealed");
    }

    @Test
    void tensorsThatShareDoSoAgainAndEqualStoragesAreStoredOnce() throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        state.put("weight", weight);
        state.put("tied", weight.view(DType.UINT8));
        state.put("equal", weight.copy());

        SaveReport report = Checkpoint.save(uri("a.croft"), state);

        assertThat(report.dedup().orElseThrow().written()).isEqualTo(4_000_000);
        assertThat(report.dedup().orElseThrow().sharedStorages()).isEqualTo(4_000_000);
        try (Checkpoint opened = Checkpoint.open(uri("a.croft"))) {
            assertThat(opened.tensor("tied").storage()).isSameAs(opened.tensor("weight").storage());
            assertThat(opened.tensor("equal").storage()).isNotSameAs(opened.tensor("weight").storage());
            assertThat(opened.tensor("equal").contentEquals(weight)).isTrue();
        }
    }

    @Test
    void aFileUriIsAPath() throws IOException {
        SaveReport report = Checkpoint.save(folder.resolve("a.croft").toUri(), Map.of("weight", weight));

        assertThat(report.files()).containsExactly(folder.resolve("a.croft"));
        assertThat(report.locations()).containsExactly(folder.resolve("a.croft").toString());
    }

    @Test
    void aStoreThatNobodyKnowsIsRefusedWithWhatToAdd() {
        assertThatExceptionOfType(RemoteFileException.class)
                .isThrownBy(() -> Checkpoint.save(URI.create("s3a://bucket/a.croft"), Map.of()))
                .withMessageContaining("undercroft-hadoop")
                .satisfies(e -> assertThat(e.kind()).isEqualTo(Kind.UNSUPPORTED));
        assertThatExceptionOfType(RemoteFileException.class)
                .isThrownBy(() -> Checkpoint.save(URI.create("nowhere://a/a.croft"), Map.of()))
                .withMessageContaining("the known schemes are file, folder");
        assertThatExceptionOfType(RemoteFileException.class)
                .isThrownBy(() -> Checkpoint.save(URI.create("s3://bucket/a.croft"), Map.of()))
                .withMessageContaining("has the scheme s3a");
        assertThatThrownBy(() -> Checkpoint.save(URI.create("a.croft"), Map.of()))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("no scheme");
    }

    @Test
    void optionsThatNeedAFileOfThisHostAreRefused() throws IOException {
        Checkpoint.save(folder.resolve("base.croft"), Map.of("weight", weight));

        assertThatThrownBy(() -> Checkpoint.save(uri("a.croft"), Map.of(),
                SaveOptions.defaults().writableInPlace().deletingFormerFiles()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a file in a store cannot follow SaveOptions.writableInPlace, deletingFormer");
        assertThatThrownBy(() -> Checkpoint.save(uri("a.croft"), Map.of(),
                SaveOptions.defaults().base(folder.resolve("base.croft"))))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("set SaveOptions.root");
        assertThatThrownBy(() -> Checkpoint.save(folder.resolve("a.croft"), Map.of(),
                SaveOptions.defaults().setting("folder.fails", "yes")))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("it is for those of a store");
        assertThat(files()).containsExactly("base.croft");
    }

    @Test
    void bytesOfABaseAreFoundInItsCopyInTheStore() throws IOException {
        Path here = Files.createDirectories(folder.resolve("here/models"));
        Path there = Files.createDirectories(folder.resolve("there/models"));
        Checkpoint.save(here.resolve("base.croft"), Map.of("weight", weight));
        Files.copy(here.resolve("base.croft"), there.resolve("base.croft"));
        Tensor tuned = weight.copy();
        tuned.setLong(0, -1);

        SaveReport report = Checkpoint.save(uri("there/tuned.croft"), Map.of("weight", tuned),
                SaveOptions.defaults().base(here.resolve("base.croft")).root(folder.resolve("here")));

        assertThat(report.dedup().orElseThrow().written()).isEqualTo(1 << 20);
        Files.delete(here.resolve("base.croft"));
        try (Checkpoint opened = Checkpoint.open(uri("there/tuned.croft"))) {
            assertThat(opened.tensor("weight").contentEquals(tuned)).isTrue();
        }
        Files.delete(there.resolve("base.croft"));
        try (Checkpoint opened = Checkpoint.open(uri("there/tuned.croft"))) {
            assertThatThrownBy(() -> opened.tensor("weight").toIntArray()).isInstanceOf(FormatException.class)
                    .hasMessageContaining("models/base.croft").hasMessageContaining("it is not there");
        }
    }

    /// A file whose first bytes wait until a latch is down.
    private record Waiting(StoreTarget target, CountDownLatch latch) implements StoreTarget {
        @Override
        public String location() {
            return target.location();
        }

        @Override
        public String fileName() {
            return target.fileName();
        }

        @Override
        public boolean exists() throws IOException {
            return target.exists();
        }

        @Override
        public StoreOutput create(Creation condition) throws IOException {
            StoreOutput output = target.create(condition);
            return new StoreOutput() {
                @Override
                public void write(long position, MemorySegment bytes) throws IOException {
                    try {
                        latch.await();
                    } catch (InterruptedException e) {
                        throw new IOException(e);
                    }
                    output.write(position, bytes);
                }

                @Override
                public void commit() throws IOException {
                    output.commit();
                }

                @Override
                public void close() throws IOException {
                    output.close();
                }
            };
        }

        @Override
        public void delete() throws IOException {
            target.delete();
        }

        @Override
        public StoreTarget sibling(String name) {
            return new Waiting(target.sibling(name), latch);
        }
    }

    private StoreTarget target(String name) {
        return new FolderStore().target(uri(name), SaveOptions.defaults());
    }

    @Test
    void aSaveInTheBackgroundKeepsTheStateOfItsCallInEveryFormat() throws IOException {
        for (String name : List.of("a.croft", "some.rawset")) {
            CountDownLatch latch = new CountDownLatch(1);
            Tensor changing = weight.view(DType.UINT8).copy();
            try (PendingSave save = Checkpoint.saveAsync(new Waiting(target(name), latch), Map.of("a.raw", changing),
                    SaveOptions.defaults())) {
                changing.fill(7);
                assertThat(folder.resolve(name)).doesNotExist();
                assertThat(save.isDone()).isFalse();
                assertThat(save.location()).isEqualTo(uri(name).toString());
                assertThat(save).hasToString("save of %s, 0 of %s bytes".formatted(save.location(), save.totalBytes()));
                assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(save::path);
                latch.countDown();
                assertThat(save.join().locations()).startsWith(uri(name).toString());
                assertThat(save.doneBytes()).isEqualTo(save.totalBytes()).isGreaterThanOrEqualTo(4_000_000);
            }
        }
        try (Checkpoint opened = Checkpoint.open(uri("a.croft"))) {
            assertThat(opened.tensor("a.raw").contentEquals(weight.view(DType.UINT8))).isTrue();
        }
        Path other = Files.createDirectory(folder.resolve("other"));
        Checkpoint.save(FolderStore.uri(other.resolve("some.rawset")), Map.of("a.raw", weight.view(DType.UINT8)));
        assertThat(folder.resolve("a.raw")).hasSameBinaryContentAs(other.resolve("a.raw"));
    }

    @Test
    void aSaveInTheBackgroundToAFileUriIsOneToItsPath() throws IOException {
        try (PendingSave save = Checkpoint.saveAsync(folder.resolve("a.croft").toUri(), Map.of("weight", weight))) {
            assertThat(save.path()).isEqualTo(folder.resolve("a.croft"));
        }
        assertThat(files()).containsExactly("a.croft");
    }

    @Test
    void aSaveInTheBackgroundThatIsCancelledOrFailsLeavesNothing() throws IOException {
        for (String name : List.of("a.croft", "some.rawset")) {
            Map<String, Tensor> state = Map.of("a.raw", weight.view(DType.UINT8));
            CountDownLatch latch = new CountDownLatch(1);
            PendingSave cancelled = Checkpoint.saveAsync(new Waiting(target(name), latch), state,
                    SaveOptions.defaults());
            assertThat(cancelled.cancel()).isTrue();
            latch.countDown();
            cancelled.close();
            assertThatExceptionOfType(CancellationException.class).isThrownBy(cancelled::join);

            PendingSave failing = Checkpoint.saveAsync(uri(name), state,
                    SaveOptions.defaults().setting("folder.fails", "yes"));
            assertThatExceptionOfType(RemoteFileException.class).isThrownBy(failing::close)
                    .satisfies(e -> assertThat(e.kind()).isEqualTo(Kind.NOT_PERMITTED));
            assertThat(files()).isEmpty();
        }
    }

    @Test
    void nothingIsLeftOfASaveThatFails() throws IOException {
        assertThatThrownBy(() -> Checkpoint.save(uri("a.croft"), Map.of("weight", weight),
                SaveOptions.defaults().setting("folder.fails", "yes"))).isInstanceOf(RemoteFileException.class);

        assertThat(files()).isEmpty();
    }

    @Test
    void aSetIsWrittenWithItsIndexLastAndReplacesNoFile() throws IOException {
        Map<String, Tensor> state = Map.of("a.raw", weight.view(DType.UINT8));
        SaveReport report = Checkpoint.save(uri("some.rawset"), state);

        assertThat(report.locations()).containsExactly(uri("some.rawset").toString(), uri("a.raw").toString());
        assertThat(folder.resolve("some.rawset")).hasContent("RAWSET\na.raw");
        byte[] before = Files.readAllBytes(folder.resolve("a.raw"));
        assertThatExceptionOfType(RemoteFileException.class)
                .isThrownBy(() -> Checkpoint.save(uri("some.rawset"), Map.of("a.raw", Tensor.zeros(DType.UINT8, 3))))
                .withMessageContaining("a.raw").satisfies(e -> assertThat(e.kind()).isEqualTo(Kind.CONFLICT));
        assertThat(folder.resolve("a.raw")).hasBinaryContent(before);
    }

    @Test
    void theFilesOfASetAreDeletedIfItsIndexIsRefusedAndStayIfThatIsUnknown() throws IOException {
        Map<String, Tensor> state = Map.of("a.raw", weight.view(DType.UINT8));

        assertThatThrownBy(() -> Checkpoint.save(uri("some.rawset"), state,
                SaveOptions.defaults().setting("folder.fails", "yes"))).isInstanceOf(RemoteFileException.class);
        assertThat(files()).isEmpty();

        assertThatThrownBy(() -> Checkpoint.save(uri("some.rawset"), state,
                SaveOptions.defaults().setting("folder.fails", "unknown"))).isInstanceOf(RemoteFileException.class);
        assertThat(files()).containsExactly("a.raw");
    }

    /// As in a jar that is made of several by a tool that keeps one of the service files of a name.
    @Test
    void aModuleThatIsMissingIsToldFromOneThatLostItsServiceFile(@TempDir Path jar) throws IOException {
        URI location = URI.create("https://example.com/a.croft");
        assertThatExceptionOfType(RemoteFileException.class).isThrownBy(() -> Checkpoint.open(location))
                .withMessageEndingWith("; add undercroft-http to the class path");

        Files.createFile(Files.createDirectories(jar.resolve("io/undercroft/http/internal"))
                .resolve("package-info.class"));
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        try (URLClassLoader loader = new URLClassLoader(new URL[]{jar.toUri().toURL()}, before)) {
            Thread.currentThread().setContextClassLoader(loader);
            assertThatExceptionOfType(RemoteFileException.class).isThrownBy(() -> Checkpoint.open(location))
                    .withMessageContaining("undercroft-http is on the class path, and its line in META-INF/services/io."
                            + "undercroft.serializer.spi.StoreProvider is not")
                    .withMessageContaining("merged").satisfies(
                            e -> assertThat(e.getMessage()).doesNotContain("add undercroft-http"));
        } finally {
            Thread.currentThread().setContextClassLoader(before);
        }
    }
}
