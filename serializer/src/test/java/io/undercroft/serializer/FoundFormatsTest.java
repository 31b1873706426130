package io.undercroft.serializer;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import org.example.OddFormats;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Which formats are found, which of them is asked first, and what a bad one may do: nothing to the files of others.
@Isolated("counts what one logger of the process is told")
class FoundFormatsTest {
    private static final Logger LOG = Logger.getLogger("io.undercroft.serializer.internal.Providers");

    @TempDir
    Path folder;

    private Path raw;
    private final Thread thread = Thread.currentThread();
    private final ClassLoader before = thread.getContextClassLoader();
    private final Warnings warnings = new Warnings();
    /// How often the class loader of [#provide] was asked for its formats.
    private final AtomicInteger lookups = new AtomicInteger();

    private static final class Warnings extends Handler {
        private final List<String> messages = Collections.synchronizedList(new ArrayList<>());

        @Override
        public void publish(LogRecord logged) {
            messages.add(logged.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }

    @BeforeEach
    void saveAFile() throws IOException {
        LOG.addHandler(warnings);
        LOG.setUseParentHandlers(false);
        raw = folder.resolve("some.raw");
        Checkpoint.save(raw, few());
    }

    @AfterEach
    void restore() {
        thread.setContextClassLoader(before);
        LOG.removeHandler(warnings);
        LOG.setUseParentHandlers(true);
    }

    private static Tensor few() {
        return Tensor.of((byte) 1, (byte) 2, (byte) 3).view(DType.UINT8);
    }

    /// The context class loader finds these formats.
    private void provide(Class<?>... formats) throws IOException {
        provide(Stream.of(formats).map(Class::getName).toArray(String[]::new));
    }

    private void provide(String... lines) throws IOException {
        URL services = Files.write(folder.resolve("services"), List.of(lines)).toUri().toURL();
        thread.setContextClassLoader(new ClassLoader(before) {
            @Override
            public Enumeration<URL> getResources(String name) throws IOException {
                if (!name.equals("META-INF/services/" + CheckpointFormat.class.getName())) {
                    return super.getResources(name);
                }
                lookups.incrementAndGet();
                return Collections.enumeration(List.of(services));
            }
        });
    }

    private static String formatOf(Path file) throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            return c.format();
        }
    }

    private static List<String> names() {
        return Checkpoint.formats().stream().map(CheckpointFormat::name).toList();
    }

    @Test
    void formatsBesideTheLibraryAreFoundByThreadsThatSeeOnlyTheJdk() throws IOException {
        thread.setContextClassLoader(ClassLoader.getPlatformClassLoader());

        assertThat(formatOf(raw)).isEqualTo("raw");
        Checkpoint.save(folder.resolve("other.raw"), few());

        thread.setContextClassLoader(null);
        assertThat(names()).containsExactly("croft", "raw", "raw-set");
    }

    @Test
    void thoseOfTheThreadAreFoundTooAndNoneTwice() throws IOException {
        provide(RawFormat.class, OddFormats.Greedy.class);

        assertThat(names()).containsExactly("croft", "raw", "raw-set", "greedy");
        assertThat(warnings.messages).isEmpty();
    }

    @Test
    void oursGoBeforeOthersAndNoNameIsTakenTwice() throws IOException {
        provide(OddFormats.Impostor.class, OddFormats.Greedy.class, RawFormat.class);
        Path other = Files.writeString(folder.resolve("other"), "anything");

        assertThat(names()).containsExactly("croft", "raw", "raw-set", "greedy");
        assertThat(formatOf(raw)).isEqualTo("raw");
        assertThat(formatOf(other)).isEqualTo("greedy");
        assertThat(warnings.messages).singleElement().asString().contains("OddFormats$Impostor", "with the name raw");
    }

    @Test
    void formatsThatCannotBeLoadedOrMadeArePassedOverWithOneWarningEach() throws IOException {
        provide("org.example.NotThere", OddFormats.Unmade.class.getName(), FoundFormatsTest.class.getName(),
                OddFormats.Speechless.class.getName(), OddFormats.Greedy.class.getName());

        assertThat(names()).containsExactly("croft", "raw", "raw-set", "greedy");
        assertThat(formatOf(raw)).isEqualTo("raw");

        assertThat(warnings.messages).satisfiesExactlyInAnyOrder(
                text -> assertThat(text).contains("org.example.NotThere"),
                text -> assertThat(text).contains("OddFormats$Unmade"),
                text -> assertThat(text).contains("FoundFormatsTest", "not a subtype"),
                text -> assertThat(text).contains("OddFormats$Speechless"));
    }

    @Test
    void formatsAreFoundOnceForEachClassLoader() throws IOException {
        provide(OddFormats.Greedy.class);
        Path other = Files.writeString(folder.resolve("other"), "anything");

        for (int i = 0; i < 3; i++) {
            assertThat(formatOf(other)).isEqualTo("greedy");
            assertThat(formatOf(raw)).isEqualTo("raw");
            assertThat(names()).contains("greedy");
            Checkpoint.save(folder.resolve("a.raw"), few());
            Checkpoint.save(folder.resolve("a.croft"), few());
        }

        assertThat(lookups).hasValue(1);
    }

    @Test
    void aFormatThatIsAddedLaterIsFoundBeforeAnythingIsRefused() throws IOException {
        provide(new String[0]);
        Path other = Files.writeString(folder.resolve("other"), "anything");
        Path longer = folder.resolve("a.longer.raw");
        assertThatThrownBy(() -> Checkpoint.open(other)).hasMessageContaining("FORMAT-UNKNOWN");
        assertThatThrownBy(() -> Checkpoint.open(raw, OpenOptions.defaults().format("greedy")))
                .hasMessageContaining("there is no format");

        Files.writeString(folder.resolve("services"), OddFormats.Greedy.class.getName());

        assertThat(formatOf(other)).isEqualTo("greedy");
        try (Checkpoint c = Checkpoint.open(raw, OpenOptions.defaults().format("greedy"))) {
            assertThat(c.format()).isEqualTo("greedy");
        }

        Files.writeString(folder.resolve("services"), OddFormats.Longer.class.getName());

        Checkpoint.save(folder.resolve("weights.bin"), few());
        assertThat(folder.resolve("weights.bin")).hasContent("longer");
        Checkpoint.save(longer, few());
        assertThat(longer).hasContent("longer");
    }

    @Test
    void aListOfFormatsThatCannotBeReadIsOneWarning() throws IOException {
        provide("no class at all");

        assertThat(formatOf(raw)).isEqualTo("raw");
        assertThat(warnings.messages).as("a format was found before the list was needed").isEmpty();
        assertThat(names()).containsExactly("croft", "raw", "raw-set");
        assertThat(names()).containsExactly("croft", "raw", "raw-set");
        assertThat(warnings.messages).singleElement().asString().contains("services");
    }

    @Test
    void aFormatThatFailsToLookIsNamedAndPassedOver() throws IOException {
        provide(OddFormats.Throwing.class, OddFormats.Greedy.class);
        Path other = Files.writeString(folder.resolve("other"), "anything");

        assertThat(formatOf(other)).isEqualTo("greedy");
        assertThat(formatOf(other)).isEqualTo("greedy");
        assertThat(warnings.messages).singleElement().asString().contains("throwing", "fault of the provider");
    }

    @Test
    void aFaultOfAFormatDoesNotHinderOtherOnes() throws IOException {
        provide(OddFormats.ThrowingRefusal.class);
        Path other = Files.writeString(folder.resolve("other"), "anything");
        assertThatThrownBy(() -> Checkpoint.open(other)).isInstanceOf(FormatException.class)
                .hasMessageContaining("no file of a known format");

        provide(OddFormats.ThrowingIndex.class);
        Checkpoint.save(other, Map.of("a", Tensor.of(1f)), SaveOptions.defaults().format("croft"));
        assertThat(formatOf(other)).isEqualTo("croft");
        assertThat(warnings.messages).anyMatch(text -> text.contains("fault of the refusal"))
                .anyMatch(text -> text.contains("fault of the index"));
    }

    @Test
    void whatAFormatDoesNotGiveIsCalledItsFault() throws IOException {
        provide(OddFormats.Giveless.class, OddFormats.Undrafted.class);

        assertThatThrownBy(() -> Checkpoint.open(raw, OpenOptions.defaults().format("giveless")))
                .isInstanceOf(IllegalStateException.class).hasMessageContaining("giveless")
                .hasMessageContaining("open");
        assertThatThrownBy(() -> Checkpoint.save(folder.resolve("a.giveless"), few()))
                .isInstanceOf(IllegalStateException.class).hasMessageContaining("giveless")
                .hasMessageContaining("draft");
        assertThatThrownBy(() -> Checkpoint.save(folder.resolve("a.undrafted"), few()))
                .isInstanceOf(IllegalStateException.class).hasMessageContaining("undrafted")
                .hasMessageContaining("OddFormats$Undrafted");
    }

    @Test
    void theLongestSuffixOfTheNameWinsAndOneWithoutADotIsAWholeName() throws IOException {
        provide(OddFormats.Longer.class);
        Path longer = folder.resolve("a.longer.RAW");
        Path whole = folder.resolve("weights.bin");

        Checkpoint.save(longer, few());
        Checkpoint.save(whole, few());

        assertThat(longer).hasContent("longer");
        assertThat(whole).hasContent("longer");
        assertThat(Checkpoint.save(folder.resolve("my_weights.bin"), few()).format()).isEqualTo("croft");
    }

    @Test
    void whoNamesTheWrongFormatIsToldWhatTheFileLooksLike() throws IOException {
        provide(OddFormats.Refusing.class);
        Path other = Files.writeString(folder.resolve("other"), "anything");
        OpenOptions refusing = OpenOptions.defaults().format("refusing");

        assertThatThrownBy(() -> Checkpoint.open(raw, refusing)).isInstanceOf(FormatException.class)
                .hasMessageContaining("some.raw").hasMessageContaining("none of ours")
                .hasMessageContaining("opened as refusing, and looks like raw").hasMessageContaining("REFUSED");
        assertThatThrownBy(() -> Checkpoint.open(other, refusing)).isInstanceOf(FormatException.class)
                .hasMessageContaining("none of ours").hasMessageNotContaining("looks like");
    }

    @Test
    void whereOnlyCroftIsKnownThisIsSaid() throws Exception {
        thread.setContextClassLoader(ClassLoader.getPlatformClassLoader());
        try (URLClassLoader alone = new URLClassLoader(classPathWithoutTests(), ClassLoader.getPlatformClassLoader())) {
            Class<?> checkpoint = alone.loadClass(Checkpoint.class.getName());

            assertThat(thrownBy(() -> checkpoint.getMethod("open", Path.class).invoke(null, raw)))
                    .contains("FORMAT-UNKNOWN", "undercroft-interop");
            assertThat(thrownBy(() -> checkpoint.getMethod("save", Path.class, Object.class).invoke(null,
                    folder.resolve("a.npz"), List.of()))).contains("a file of npz", "undercroft-interop");
        }
    }

    private static URL[] classPathWithoutTests() {
        return Pattern.compile(File.pathSeparator, Pattern.LITERAL).splitAsStream(System.getProperty("java.class.path"))
                .filter(entry -> !entry.contains("test-classes")).map(FoundFormatsTest::url).toArray(URL[]::new);
    }

    private static URL url(String entry) {
        try {
            return Path.of(entry).toUri().toURL();
        } catch (MalformedURLException e) {
            throw new AssertionError(e);
        }
    }

    private static String thrownBy(Callable<?> call) throws Exception {
        try {
            call.call();
            return "nothing was thrown";
        } catch (InvocationTargetException e) {
            return String.valueOf(e.getCause());
        }
    }

    private record InItsPlace(String bytes, String name, String remedy) {}

    static Stream<InItsPlace> inItsPlace() {
        return Stream.of(
                new InItsPlace("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "Git LFS",
                        "git lfs pull"),
                new InItsPlace("\n<!DOCTYPE html>\n<html lang=\"en\">", "HTML page", "download"),
                new InItsPlace("<HTML><head><title>Sign in</title>", "HTML page", "browser"));
    }

    @ParameterizedTest
    @MethodSource("inItsPlace")
    void whatPeopleOftenHaveInPlaceOfAModelIsCalledByItsName(InItsPlace thing) throws IOException {
        Path file = Files.writeString(folder.resolve("model.raw"), thing.bytes);

        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(file))
                .withMessageContaining("FORMAT-UNKNOWN").withMessageContaining(thing.name)
                .withMessageContaining(thing.remedy);
    }

    private record Compressed(String bytes, String by) {}

    static Stream<Compressed> compressed() {
        return Stream.of(new Compressed("\u001f\u008b\b\0", "gzip"), new Compressed("BZh91AY&SY", "bzip2"),
                new Compressed("\u00fd7zXZ\0", "xz"), new Compressed("(\u00b5/\u00fd", "zstd"),
                new Compressed("\u0004\"M\u0018", "lz4"),
                new Compressed("]\0\0@\0\u00ff\u00ff", "lzma"),
                new Compressed("ZF0x3be              x\u009c5\u00d3", "joblib before 0.10"),
                new Compressed(zlib("a pickle of joblib"), "zlib"));
    }

    /// A file of another program.
    ///
    /// @param bytes its first bytes
    private record Other(String bytes, String what, String reader) {}

    static Stream<Other> others() {
        return Stream.of(new Other("\u0089HDF\r\n\u001a\n", "HDF5", "h5py"),
                new Other("u".repeat(512) + "\u0089HDF\r\n\u001a\n", "HDF5", "h5py"),
                new Other("./model_config.yaml" + "\0".repeat(238) + "ustar  ", "NeMo", "model_weights.ckpt"),
                new Other("a.txt" + "\0".repeat(252) + "ustar  ", "a tar archive", "Unpack it with tar"),
                new Other("\u001c\0\0\0TFL3", "TensorFlow Lite", "tf.lite.Interpreter"),
                new Other("0\0\0\0ET12", "ExecuTorch", "state_dict()"),
                new Other("\b\1\u0012\u00d5\u000f\u0012\u0018\n", "SavedModel", "tf.saved_model.load"),
                new Other("key\0value" + "\0".repeat(40) + "W\u00fb\u0080\u008b$uG\u00db",
                        "the index of a checkpoint of TensorFlow", "tf.train.load_checkpoint"),
                new Other("model_checkpoint_path: \"a\"\n", "TensorFlow", "tf.train.load_checkpoint"),
                new Other("\b\n\u0012\u0007pytorch", "ONNX", "onnx.load"),
                new Other("lmgg\0\0", "ggml before GGUF", "llama.cpp"),
                new Other("\u0081\u00a6params\u0081", "MessagePack", "flax.serialization"));
    }

    @ParameterizedTest
    @MethodSource("others")
    void aFileOfAnotherProgramIsNamedWithWhatReadsIt(Other thing) throws IOException {
        Path file = folder.resolve("model.raw");
        Files.writeString(file, thing.bytes, ISO_8859_1);

        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(file))
                .withMessageContaining("this is ").withMessageContaining(thing.what)
                .withMessageContaining(thing.reader).matches(refusal -> refusal.code().equals("FORMAT-UNKNOWN"));
    }

    private static String zlib(String text) {
        byte[] bytes = new byte[100];
        Deflater deflater = new Deflater(3);
        deflater.setInput(text.getBytes(ISO_8859_1));
        deflater.finish();
        int length = deflater.deflate(bytes);
        deflater.end();
        return new String(bytes, 0, length, ISO_8859_1);
    }

    @ParameterizedTest
    @MethodSource("compressed")
    void aCompressedFileIsToBeDecompressedFirst(Compressed thing) throws IOException {
        Path file = Files.writeString(folder.resolve("model.raw"), thing.bytes, ISO_8859_1);

        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(file))
                .withMessageContaining("compressed by " + thing.by + " (").withMessageContaining("Decompress it first");
    }

    @Test
    void aTextThatBeginsAsCompressedFilesDoIsNotCalledCompressed() throws IOException {
        Path file = Files.writeString(folder.resolve("model.raw"), "x^2 + 3 x = y\n");

        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(file))
                .withMessageContaining("no file of a known format");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void linksInACircleAreCalledSo() throws IOException {
        Path one = folder.resolve("one.raw");
        Path two = Files.createSymbolicLink(folder.resolve("two.raw"), one);
        Files.createSymbolicLink(one, two);

        assertThatThrownBy(() -> Checkpoint.open(one)).isInstanceOf(IOException.class).hasMessageContaining("one.raw")
                .hasMessageContaining("links go round in circles");
    }
}
