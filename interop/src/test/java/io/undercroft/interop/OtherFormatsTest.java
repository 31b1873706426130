package io.undercroft.interop;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ChecksumPolicy;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.PendingSave;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.Scrub;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.state.Typed;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/// What holds of all formats.
@Isolated("changes the locale of the process")
class OtherFormatsTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"a.safetensors", "a.npz", "a.gguf"})
    void aLargeMapAtManyPlacesIsRefusedAndNotNamedAtEach(String name) {
        Map<String, Object> large = new LinkedHashMap<>();
        for (int i = 0; i < 10_000; i++) {
            large.put("t" + i, Tensor.of(1f));
        }
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < 3000; i++) {
            state.put("m" + i, large);
        }
        long before = Proc.allocatedByThisThread();

        assertThatThrownBy(() -> Checkpoint.save(folder.resolve(name), state))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("entries of maps");

        assertThat(Proc.allocatedByThisThread() - before).isLessThan(256 << 20);
        assertThat(folder).isEmptyDirectory();
    }

    @ParameterizedTest
    @ValueSource(strings = {"a.safetensors", "a.npz", "a.gguf"})
    void mapsThatDoubleAgainAndAgainAreRefusedAndNotWalked(String name) {
        Map<String, Object> state = Map.of("w", Tensor.of(1f));
        for (int i = 0; i < 60; i++) {
            state = Map.of("x", state, "y", state);
        }
        Map<String, Object> bomb = state;

        assertThatThrownBy(() -> Checkpoint.save(folder.resolve(name), bomb))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("are in several places");

        assertThat(folder).isEmptyDirectory();
    }

    /// A `.croft` file with a flipped bit, read by the drafts of all formats.
    @ParameterizedTest
    @ValueSource(strings = {"a.safetensors", "a.safetensors.index.json", "a.npz", "a.gguf", "a.pt", "a.t7"})
    void aDamagedCroftFileIsNotExported(String name) throws IOException {
        Tensor even = Tensor.arange(DType.FLOAT32, 300_000);
        Path source = folder.resolve("source.croft");
        Checkpoint.save(source, Map.of("w", even));
        flip(source, even.narrow(0, 150_000, 100));
        Path target = folder.resolve("out").resolve(name);
        Files.createDirectory(target.getParent());

        try (Checkpoint c = Checkpoint.open(source)) {
            Object state = c.tree();
            assertThatThrownBy(() -> Checkpoint.save(target, state)).isInstanceOf(FormatException.class)
                    .hasMessageContaining("damages tensor 'w'");
            assertThat(target.getParent()).isEmptyDirectory();
        }
        OpenOptions unchecked = OpenOptions.defaults().checksums(ChecksumPolicy.NONE);
        try (Checkpoint c = Checkpoint.open(source, unchecked)) {
            Checkpoint.save(target, c.tree());
        }
    }

    /// Archives have a checksum of each record.
    @ParameterizedTest
    @ValueSource(strings = {"a.pt", "a.npz"})
    void aDamagedRecordIsRefusedByWhateverReadsAllOfIt(String name) throws IOException {
        Tensor even = Tensor.arange(DType.FLOAT32, 3000);
        Path source = folder.resolve(name);
        Path copy = folder.resolve("copy.croft");
        Checkpoint.save(source, Map.of("w", even, "sound", Tensor.of(5f)));
        flip(source, even.narrow(0, 1500, 100));

        try (Checkpoint c = Checkpoint.open(source)) {
            assertThat(c.tensor("w").getFloat(3)).isEqualTo(3);
            for (ThrowingCallable use : List.<ThrowingCallable>of(() -> Checkpoint.save(copy, c.tree()),
                    () -> Checkpoint.saveAsync(copy, c.tree()).join(),
                    () -> Checkpoint.save(folder.resolve("copy.safetensors"), c.tree()),
                    () -> c.loadInto(Map.of("w", Tensor.zeros(DType.FLOAT32, 3000), "sound", Tensor.of(0f))),
                    () -> Checkpoint.open(source, OpenOptions.defaults().inMemory()))) {
                assertThatThrownBy(use).isInstanceOf(FormatException.class).hasMessageContaining(source.toString())
                        .hasMessageContaining("ZIP-CRC");
            }
            assertThat(copy).doesNotExist();
            Checkpoint.save(copy, Map.of("sound", c.tensor("sound")));
        }
        OpenOptions onTouch = OpenOptions.defaults().checksums(ChecksumPolicy.ON_TOUCH);
        try (Checkpoint c = Checkpoint.open(source, onTouch)) {
            assertThat(c.tensor("sound").getFloat(0)).isEqualTo(5);
            assertThatThrownBy(() -> c.tensor("w").getFloat(3)).hasMessageContaining("ZIP-CRC");
        }
        OpenOptions unchecked = OpenOptions.defaults().checksums(ChecksumPolicy.NONE);
        try (Checkpoint c = Checkpoint.open(source, unchecked.inMemory())) {
            Checkpoint.save(copy, c.tree());
        }
        try (Checkpoint c = Checkpoint.open(source, unchecked)) {
            Checkpoint.save(copy, c.tree());
        }
    }

    /// What is written to the state afterwards is not in the files.
    @ParameterizedTest
    @ValueSource(strings = {"a.safetensors", "a.safetensors.index.json", "a.pt", "a.npz", "a.gguf", "a.t7"})
    void aSaveInTheBackgroundWritesTheBytesOfOneInTheForeground(String name) throws IOException {
        Tensor even = Tensor.arange(DType.FLOAT32, 3000);
        Map<String, Tensor> state = new LinkedHashMap<>(Map.of("w", even));
        state.put("v", even.narrow(0, 1000, 500));
        state.put("u", even.copy().view(30, 100).t());
        Path foreground = Files.createDirectory(folder.resolve("foreground"));
        Path background = Files.createDirectory(folder.resolve("background"));
        SaveReport report = Checkpoint.save(foreground.resolve(name), state);

        try (PendingSave save = Checkpoint.saveAsync(background.resolve(name), state)) {
            even.fill(-1);
            state.clear();
            assertThat(save.join().losses()).isEqualTo(report.losses());
            assertThat(save.join().nbytes()).isEqualTo(report.nbytes());
        }

        for (Path file : report.files()) {
            assertThat(background.resolve(file.getFileName())).hasSameBinaryContentAs(file);
        }
    }

    /// NumPy does not align arrays, so they are copied, and a copy is read whole.
    @ParameterizedTest
    @ValueSource(strings = {"many.npz", "many.pt"})
    void closingAScrubEndsItBeforeAllRecordsWereRead(String name) throws Exception {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < 20; i++) {
            state.put("t" + i, Tensor.full(DType.INT64, i, 1000));
        }
        Path path = folder.resolve(name);
        Checkpoint.save(path, state);
        CountDownLatch isReading = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        AtomicLong read = new AtomicLong();
        OpenOptions options = OpenOptions.defaults().progress((done, _) -> {
            read.set(done);
            if (done > 0 && isReading.getCount() > 0) {
                isReading.countDown();
                try {
                    goOn.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        });
        try (Checkpoint checkpoint = Checkpoint.open(path, options)) {
            Scrub scrub = checkpoint.scrub(_ -> {});
            isReading.await();
            Thread closer = Thread.ofVirtual().start(scrub::close);
            while (closer.getState() != Thread.State.WAITING) {
                Thread.onSpinWait();
            }
            goOn.countDown();
            closer.join();
            assertThat(read.get()).isLessThan(20_000);
        }
    }

    @Test
    void aDamagedArrayThatIsNotAlignedIsRefusedWhenItIsCopied() throws IOException {
        Path source = folder.resolve("a.npz");
        Checkpoint.save(source, Map.of("w", Tensor.arange(DType.FLOAT32, 3000)));
        byte[] prefix = {1, 2, 3};
        byte[] archive = Files.readAllBytes(source);
        byte[] shifted = Arrays.copyOf(prefix, prefix.length + archive.length);
        System.arraycopy(archive, 0, shifted, prefix.length, archive.length);
        Files.write(source, shifted);
        OpenOptions named = OpenOptions.defaults().format("npz");
        try (Checkpoint c = Checkpoint.open(source, named)) {
            assertThat(c.tensor("w").getFloat(2999)).isEqualTo(2999);
        }
        flip(source, Tensor.arange(DType.FLOAT32, 1500, 1600, 1));
        try (Checkpoint c = Checkpoint.open(source, named)) {
            assertThatThrownBy(() -> c.tensor("w").getFloat(3)).hasMessageContaining("ZIP-CRC");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"a.pt", "a.npz", "a.safetensors", "a.gguf"})
    void aFileThatIsCutWhileItIsOpenIsNeitherSavedNorCalledWell(String name) throws IOException {
        Path source = folder.resolve(name);
        Path copy = folder.resolve("copy.croft");
        Checkpoint.save(source, Map.of("w", Tensor.arange(DType.INT32, 3000)));
        try (Checkpoint c = Checkpoint.open(source)) {
            assertThat(c.tensor("w").getLong(3)).isEqualTo(3);
            long size = Files.size(source);
            long kept = indexOf(Files.readAllBytes(source), Tensor.arange(DType.INT32, 2990, 3000, 1));
            try (FileChannel channel = FileChannel.open(source, StandardOpenOption.WRITE)) {
                channel.truncate(kept);
            }
            assertThatThrownBy(() -> Checkpoint.save(copy, c.tree())).hasMessageContaining("was cut to " + kept);
            assertThatThrownBy(() -> Checkpoint.save(folder.resolve("b.npz"), c.tree()))
                    .hasMessageContaining("was cut to " + kept);
            assertThat(copy).doesNotExist();
            assertThat(c.verify().damages()).extracting(Damage::what)
                    .anySatisfy(what -> assertThat(what).contains("cut to " + kept + " bytes", "had " + size));
        }
    }

    private static void flip(Path file, Tensor around) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        bytes[indexOf(bytes, around) + (int) around.nbytes() / 2] ^= 1;
        Files.write(file, bytes);
    }

    private static int indexOf(byte[] all, Tensor elements) {
        byte[] part = elements.bytes().toArray(ValueLayout.JAVA_BYTE);
        int at = 0;
        while (!Arrays.equals(all, at, at + part.length, part, 0, part.length)) {
            at++;
        }
        return at;
    }

    @ParameterizedTest
    @ValueSource(strings = {"a.safetensors", "a.gguf", "a.t7", "a.npy"})
    void whatHasNoChecksumsIsNotSaidToBeVerified(String name) throws IOException {
        Tensor tensor = Tensor.of(1f, 2f);
        Path file = folder.resolve(name);
        Checkpoint.save(file, name.endsWith("npy") ? tensor : Map.of("w", tensor));

        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.verify().isIntact()).isFalse();
            assertThat(c.verify().damages()).isEmpty();
            assertThat(c.verify().unverifiedBytes()).isBetween(8L, Files.size(file));
        }
    }

    @Test
    void filesAreWrittenAlikeWhateverDigitsAUserHas() throws IOException {
        Locale before = Locale.getDefault();
        Path file = folder.resolve("a.pt");
        Locale.setDefault(Locale.of("fa", "IR"));
        try {
            Checkpoint.save(file, Map.of("w", Tensor.of(1f)));
        } finally {
            Locale.setDefault(before);
        }
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.tensor("w").getFloat(0)).isEqualTo(1f);
        }
    }

    @Test
    void keysThatPythonTakesForOneAreNotWritten() {
        Map<Object, Object> state = new LinkedHashMap<>();
        state.put(new Complex(0.0, 1), 1L);
        state.put(new Complex(-0.0, 1), 2L);

        assertThatThrownBy(() -> Checkpoint.save(folder.resolve("a.pt"), state))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aTensorThatIsCalledAsOurMetadataIsNotWrittenAsAnAlias() {
        Tensor tensor = Tensor.of(1f);
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("a", tensor);
        state.put("undercroft.views", tensor);

        assertThatThrownBy(() -> Checkpoint.save(folder.resolve("a.safetensors"), state))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("undercroft.views");
    }

    @Test
    void tensorsThatDifferInStridesOfSizeOneAreOneTensorOfASafetensorsFile() throws IOException {
        Tensor row = Tensor.arange(DType.FLOAT32, 6).view(1, 2, 3);
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("a", Tensor.of(row.storage(), DType.FLOAT32, 0, row.shape(), 1, 3, 1));
        state.put("b", row);
        state.put("c", row.select(1, 1));
        Path file = folder.resolve("a.safetensors");
        Path again = folder.resolve("again.safetensors");

        Checkpoint.save(file, state);

        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.tensor("b").storage()).isSameAs(c.tensor("a").storage())
                    .isSameAs(c.tensor("c").storage());
            Checkpoint.save(again, c.state());
        }
        assertThat(again).hasSameBinaryContentAs(file);
    }

    @Test
    void aFileOfAnotherFormatIsNotCommittedToAndTheMessageSaysWhatToDo() throws IOException {
        Path file = folder.resolve("a.pt");
        Map<String, Object> state = Map.of("w", Tensor.of(1f));
        Checkpoint.save(file, state);
        try (CroftFile growing = CroftFile.open(file)) {
            assertThatThrownBy(() -> growing.commit(state, "next")).isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("torch-zip").hasMessageContaining("convert it first");
            assertThatThrownBy(() -> growing.commitAsync(state, "next")).isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("convert it first");
        }
    }

    @Test
    void valuesThatASettingDoesNotHaveInThatDirectionAreRefused() throws IOException {
        Path file = folder.resolve("a.safetensors");
        Map<String, Object> state = Map.of("w", Tensor.of(1f));
        assertThatThrownBy(
                () -> Checkpoint.save(file, state, SaveOptions.defaults().setting("safetensors.sharing", "ignore")))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("keep or copy");

        Checkpoint.save(file, state);
        assertThatThrownBy(() -> Checkpoint.open(file, OpenOptions.defaults().setting("safetensors.sharing", "copy")))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("keep or ignore");
    }

    @Test
    void misspeltSettingsAreRefusedInBothDirections() throws IOException {
        Path file = folder.resolve("a.npz");

        assertThatThrownBy(() -> Checkpoint.save(file, Map.of("w", Tensor.of(1f)),
                SaveOptions.defaults().setting("npz.compresion", "deflate")))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("did you mean 'npz.compression'?");
        assertThatThrownBy(() -> Checkpoint.save(file, Map.of("w", Tensor.of(1f)),
                SaveOptions.defaults().setting("npz.compression", "deflate").setting("torch7.longs", "4")))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("'torch7.longs' does not apply");
        assertThatThrownBy(() -> Checkpoint.save(folder.resolve("a.safetensors"), Map.of("w", Tensor.of(1f)),
                SaveOptions.defaults().setting("safetensors.shard", "5GB")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'safetensors.shard' does not apply to files of safetensors")
                .hasMessageContaining("safetensors-index");
        Checkpoint.save(file, Map.of("w", Tensor.of(1f)),
                SaveOptions.defaults().setting("npz.compression", "deflate"));
        assertThatThrownBy(() -> Checkpoint.open(file, OpenOptions.defaults().setting("torch7.encodin", "ascii")))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("did you mean 'torch7.encoding'?");
        assertThatThrownBy(() -> Checkpoint.open(file, OpenOptions.defaults().setting("npz.compression", "deflate")))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("is for writing files");
    }

    @Test
    void whoNamesTheWrongFormatIsToldWhatTheFileLooksLike() throws IOException {
        Path file = folder.resolve("a.pt");
        Checkpoint.save(file, Map.of("w", Tensor.of(1f)));

        assertThatThrownBy(() -> Checkpoint.open(file, OpenOptions.defaults().format("npz")))
                .isInstanceOf(FormatException.class).hasMessageContaining("is no array")
                .hasMessageContaining("opened as npz, and looks like torch-zip");
    }

    @ParameterizedTest
    @CsvSource({"model.pt, torch-zip", "b.PTH, torch-zip", "c.ckpt, torch-zip", "pytorch_model.bin, torch-zip",
            "model.bin, croft", "model.SafeTensors, safetensors", "a.npz, npz", "a.gguf, gguf",
            "model.safetensors.index.json, safetensors-index"})
    void theSuffixNamesTheFormatThatIsWritten(String name, String format) throws IOException {
        Path file = folder.resolve(name);

        assertThat(Checkpoint.save(file, Map.of("w", Tensor.of(1f))).format()).isEqualTo(format);

        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.format()).isEqualTo(format);
        }
    }

    @Test
    void aFormatThatCanOnlyBeOpenedIsNotWritten() {
        assertThatThrownBy(
                () -> Checkpoint.save(folder.resolve("pytorch_model.bin.index.json"), Map.of("w", Tensor.of(1f))))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("can be opened, not written");

        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void aLongRunOfZerosBehindAFewBytesIsNoFileOfTorch7() throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(400_000).order(ByteOrder.LITTLE_ENDIAN).putInt(6).putInt(300_000);
        Path file = Files.write(folder.resolve("zeros"), bytes.array());

        assertThatThrownBy(() -> Checkpoint.open(file)).isInstanceOf(FormatException.class)
                .hasMessageContaining("FORMAT-UNKNOWN");
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
            metadata.json config.json model.weights.h5, Keras, keras.saving.load_model
            data policy.pth _stable_baselines3_version, Stable-Baselines3, policy.pth
            MAR-INF/MANIFEST.json model.pt, TorchServe, unzip
            p/model/model.pkl p/.data/extern_modules p/.data/serialization_id, torch.package, PackageImporter
            a/version a/byteorder a/.data/serialization_id, a torch.save that failed, Save it again
            a.txt, a zip archive in which no model was found, unzip
            """)
    void anArchiveOfAnotherProgramIsNamedWithWhatReadsIt(String records, String what, String reader)
            throws IOException {
        Path file = zip("model.zip", records.split(" "));

        assertThatThrownBy(() -> Checkpoint.open(file)).isInstanceOf(FormatException.class)
                .hasMessageContaining("this is ").hasMessageContaining(what).hasMessageContaining(reader)
                .hasMessageContaining("FORMAT-UNKNOWN");
        // What is before the archive may be of any program.
        Path later = folder.resolve("later");
        Files.writeString(later, "anything");
        Files.write(later, Files.readAllBytes(file), StandardOpenOption.APPEND);
        assertThatThrownBy(() -> Checkpoint.open(later)).isInstanceOf(FormatException.class)
                .hasMessageContaining("no file of a known format");
    }

    @Test
    void anArchiveInAnArchiveIsNotTakenForIt() throws IOException {
        Path file = folder.resolve("packed.zip");
        byte[] inner = Files.readAllBytes(zip("inner.zip", "a/.data/serialization_id"));
        try (ZipOutputStream packed = new ZipOutputStream(Files.newOutputStream(file))) {
            packed.setLevel(0);
            packed.putNextEntry(new ZipEntry("model.pt"));
            packed.write(inner);
        }

        assertThatThrownBy(() -> Checkpoint.open(file)).isInstanceOf(FormatException.class)
                .hasMessageContaining("a zip archive in which no model was found");
    }

    @Test
    void anArchiveOfAnotherProgramThatWasCutIsIncomplete() throws IOException {
        Path file = zip("model.keras", "config.json", "model.weights.h5");
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(channel.size() - 30);
        }

        assertThatThrownBy(() -> Checkpoint.open(file)).isInstanceOf(FormatException.class)
                .hasMessageContaining("ZIP-END").hasMessageContaining("The archive is incomplete");
    }

    private Path zip(String name, String... records) throws IOException {
        Path file = folder.resolve(name);
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file))) {
            for (String record : records) {
                zip.putNextEntry(new ZipEntry(record));
                zip.write(new byte[100]);
            }
        }
        return file;
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aSetThatCannotBeOpenedLeavesNoShardOpen() throws IOException {
        Checkpoint.save(folder.resolve("one.safetensors"), Map.of("w", Tensor.of(1f)));
        Path index = Files.writeString(folder.resolve("model.safetensors.index.json"),
                "{\"metadata\":{\"total_size\":4},\"weight_map\":{\"w\":\"one.safetensors\"}}");

        assertThatThrownBy(() -> Checkpoint.open(index, OpenOptions.defaults().snapshot(1)))
                .isInstanceOf(NoSuchElementException.class);

        assertThat(Proc.openFiles()).noneMatch(file -> file.startsWith(folder.toString()));
        try (Checkpoint c = Checkpoint.open(index)) {
            assertThat(c.verify().unverifiedBytes()).isEqualTo(4);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"a.pt", "a.t7", "a.safetensors", "a.npz"})
    void tensorsOfGgufGoToAllOtherFormats(String name) throws IOException {
        Path gguf = folder.resolve("a.gguf");
        Checkpoint.save(gguf, Map.of("w", Tensor.of(1f, 2f)),
                SaveOptions.defaults().metadata(Map.of("general.architecture", "ours")));
        Path file = folder.resolve(name);
        try (Checkpoint c = Checkpoint.open(gguf)) {
            Checkpoint.save(file, c.tree());
        }
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.tensor("w").toFloatArray()).containsExactly(1, 2);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"a.t7", "a.gguf", "a.safetensors", "a.npz"})
    void parametersOfPyTorchAreTensorsElsewhere(String name) throws IOException {
        Path file = folder.resolve(name);
        Typed parameter = new Typed("torch.nn.parameter.Parameter", Tensor.of(1f, 2f));
        Checkpoint.save(file, Map.of("w", parameter));
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.tensor("w").toFloatArray()).containsExactly(1, 2);
        }
    }

    /// Formats that keep tensors by name and can be written.
    static List<String> names() {
        return List.of("a.pt", "a.t7", "a.safetensors", "a.safetensors.index.json", "a.npz", "a.gguf");
    }

    @ParameterizedTest
    @MethodSource("names")
    void someTensorsAreOpenedAndTheOthersAreOnMeta(String name) throws IOException {
        Path file = folder.resolve(name);
        Checkpoint.save(file, Map.of("x1", Tensor.of(1f, 2f), "x2", Tensor.of(3f), "y", Tensor.of(4f)));

        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().only("x*").inMemory())) {
            assertThat(c.names()).containsExactlyInAnyOrder("x1", "x2");
            assertThat(c.storages()).hasSize(2).allMatch(Storage::isMaterialized);
            assertThat(c.tensor("x1").toFloatArray()).containsExactly(1, 2);
            assertThat(((Tensor) ((Map<?, ?>) c.state()).get("y")).storage().isMeta()).isTrue();
        }
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().onMeta())) {
            assertThat(c.storages()).hasSize(3).allMatch(Storage::isMeta);
            assertThat(c.metadata()).isUnmodifiable();
        }
    }

    @ParameterizedTest
    @MethodSource("names")
    void aCroftFileRefersToTheBytesOfAnotherFormat(String name) throws IOException {
        Path file = folder.resolve(name);
        Path thin = folder.resolve("thin.croft");
        Path flat = folder.resolve("flat.croft");
        Tensor weight = Tensor.arange(DType.FLOAT32, 1000).view(10, 100);
        Map<String, Tensor> state = new LinkedHashMap<>();
        state.put("weight", weight);
        state.put("tied", weight);
        state.put("bias", Tensor.arange(DType.FLOAT64, 10));
        Checkpoint.save(file, state);
        try (Checkpoint source = Checkpoint.open(file)) {
            SaveOptions whole = SaveOptions.defaults().base(file).wholeStorages();
            assertThat(Checkpoint.save(thin, source.tree(), whole).dedup().orElseThrow().written()).isZero();
        }
        OpenOptions below = OpenOptions.defaults().root(folder);
        CroftFile.open(thin, SaveOptions.defaults(), below).copyWithBases(flat);

        try (Checkpoint source = Checkpoint.open(file);
                Checkpoint adopted = Checkpoint.open(thin, below);
                Checkpoint copied = Checkpoint.open(flat)) {
            for (Checkpoint each : List.of(adopted, copied)) {
                assertThat(each.names()).containsExactlyElementsOf(source.names());
                state.forEach((key, tensor) -> assertThat(each.tensor(key).contentEquals(tensor)).as(key).isTrue());
                assertThat(each.tensor("tied").storage() == each.tensor("weight").storage())
                        .isEqualTo(source.tensor("tied").storage() == source.tensor("weight").storage());
                assertThat(each.verify()).isEqualTo(new Verification(List.of(), 0, 0));
            }
        }
    }

    @Test
    void aFileIsOfNoFormatButItsOwn() throws IOException {
        Map<String, Set<String>> found = new TreeMap<>();
        for (String directory : List.of("pytorch", "models", "safetensors", "numpy", "gguf")) {
            try (Stream<Path> files = Files.list(Path.of("..", "test-support", "fixtures", directory))) {
                for (Path file : files.filter(Files::isRegularFile).toList()) {
                    String suffix = file.getFileName().toString().replaceAll("^.*?(([.-]legacy|\\.tar)?\\.\\w+)$",
                            "$1");
                    assertThat(formatsOf(file)).as(file.toString()).hasSizeLessThanOrEqualTo(1)
                            .allSatisfy(name -> found.computeIfAbsent(suffix, _ -> new TreeSet<>()).add(name));
                }
            }
        }
        assertThat(found).isEqualTo(Map.of(".gguf", Set.of("gguf"), ".legacy.pt", Set.of("torch-legacy"), "-legacy.pt",
                Set.of("torch-legacy"), ".npy", Set.of("npy"), ".npz", Set.of("npz"), ".pt", Set.of("torch-zip"),
                ".safetensors", Set.of("safetensors"), ".tar.pt", Set.of("torch-tar")));
        for (byte[] bytes : new byte[][]{{}, {'P', 'K', 3, 4}, new byte[600], "ustar".getBytes(UTF_8),
                "PK or not".getBytes(UTF_8)}) {
            assertThat(formatsOf(Files.write(folder.resolve("other"), bytes))).isEmpty();
        }
    }

    private static List<String> formatsOf(Path path) throws IOException {
        List<String> names = new ArrayList<>();
        try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
            for (CheckpointFormat format : Checkpoint.formats()) {
                if (format.matches(file)) {
                    names.add(format.name());
                }
            }
        }
        return names;
    }
}
