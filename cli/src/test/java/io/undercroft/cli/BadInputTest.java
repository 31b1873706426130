package io.undercroft.cli;

import static io.undercroft.cli.Invocation.TRAINING;
import static io.undercroft.cli.Invocation.torch;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.cli.internal.TextOutput;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Each kind of bad input: one clear line, exit code 2, nothing written, an existing output as it was.
class BadInputTest {
    private static final String KEPT = "kept";

    @TempDir
    Path folder;
    private Path output;

    @BeforeEach
    void anOutputIsThere() throws IOException {
        output = Files.writeString(folder.resolve("out.croft"), KEPT);
    }

    @Test
    void aMissingFile() throws IOException {
        assertRefused(folder.resolve("missing.pt"), "no such file");
    }

    @Test
    void anEmptyFile() throws IOException {
        assertRefused(Files.createFile(folder.resolve("empty.pt")), "empty");
    }

    @Test
    void aDirectory() throws IOException {
        Path empty = Files.createDirectory(folder.resolve("empty"));
        assertRefused(empty, "directory");
    }

    @Test
    void ofADirectoryWithSeveralFilesTheyAreNamed() throws IOException {
        Path model = Files.createDirectory(folder.resolve("model"));
        Files.createFile(model.resolve("config.json"));
        Files.createFile(model.resolve("a.safetensors"));
        Files.createFile(model.resolve("b.npz"));
        assertRefused(model, "name one of them: 'a.safetensors', 'b.npz'");
    }

    @Test
    void ofADirectoryTheModelInItIsShown() throws IOException {
        Path model = Files.createDirectory(folder.resolve("model"));
        Files.createFile(model.resolve("config.json"));
        Checkpoint.save(model.resolve("model.safetensors.index.json"), Map.of("w", Tensor.of(1f)));

        Invocation shown = Invocation.of("inspect", model);

        assertThat(shown.code()).isZero();
        assertThat(shown.out()).contains("model.safetensors.index.json", "w");
    }

    @Test
    void anUnknownFormat() throws IOException {
        assertRefused(Files.writeString(folder.resolve("notes.txt"), "hello, world"), "name its format with --format");
    }

    @Test
    void aRemedyNamesOptionsOfTheCommand() throws IOException {
        Path cut = Files.write(folder.resolve("cut.t7"), new byte[]{3, 0, 0, 0, 1, 0, 0, 0});

        Invocation refused = Invocation.of("inspect", cut, "--format", "torch7");

        assertOneLine(refused, "--set");
        assertThat(refused.err()).doesNotContain("OpenOptions");
    }

    @Test
    void standardInputIsNoFile() {}

    @Test
    void aFileThatMayNotBeRead() throws IOException {
        Path file = Files.copy(torch("tied.pt"), folder.resolve("secret.pt"));
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("---------"));
        assumeTrue(!Files.isReadable(file), "root may read everything");

        assertRefused(file, "permission");
    }

    static Stream<Path> hostileFiles() throws IOException {
        try (Stream<Path> files = Files.list(Invocation.FIXTURES.resolve("pytorch"))) {
            return files.filter(file -> file.getFileName().toString().matches("BAD_.*\\.pt"))
                    // Good where there is such a device, and shown anywhere; or only one tensor is bad.
                    .filter(file -> !file.getFileName().toString()
                            .matches("BAD_(location|negative_stride\\.|offset_beyond\\.|stride_rank\\.).*"))
                    .sorted().toList()
                    .stream();
        }
    }

    @ParameterizedTest
    @MethodSource("hostileFiles")
    void aHostileFile(Path file) throws IOException {
        assertRefused(file, "");
    }

    @ParameterizedTest
    @ValueSource(strings = {"BAD_negative_stride.pt", "BAD_offset_beyond.pt", "BAD_stride_rank.pt"})
    void aTensorThatBreaksARuleOfItsOwnIsNamedAndNotConverted(String name) throws IOException {
        Path file = torch(name);
        Invocation inspected = Invocation.of("inspect", file);
        assertThat(inspected.code()).isEqualTo(4);
        assertThat(inspected.err()).contains("the tensor '' cannot be read, the others can", "TORCH-TENSOR");
        assertThat(inspected.out()).contains("torch-zip");
        assertThat(Invocation.of("verify", file).code()).isEqualTo(4);
        assertOneLine(Invocation.of("convert", file, output), "the tensor '' cannot be saved");
        assertThat(output).hasContent(KEPT);
    }

    @ParameterizedTest
    @ValueSource(strings = {"UNSAFE_os_system.pt", "UNSAFE_os_system.legacy.pt", "UNSAFE_print.pt",
            "UNSAFE_print.legacy.pt"})
    void aPickleThatWouldRunCodeIsShownWithAWarningAndNotConverted(String name) throws IOException {
        Path file = torch(name);
        String function = name.contains("print") ? "builtins.print" : "posix.system";
        Invocation inspected = Invocation.of("inspect", file);
        assertThat(inspected.code()).isZero();
        assertThat(inspected.out()).contains("class     " + function + ", 1 object, dangerous");
        assertThat(inspected.err()).contains("made to attack", function, "Nothing of it was run");
        assertThat(Invocation.of("inspect", "--json", file).out())
                .contains("{\"class\":\"" + function + "\",\"objects\":1,\"dangerous\":true}");
        assertThat(Invocation.of("verify", file).err()).contains(function);

        assertOneLine(Invocation.of("convert", file, output), function, "--allow-dangerous");
        assertThat(Invocation.of("convert", file, output).code()).isEqualTo(2);
        assertThat(output).hasContent(KEPT);
        assertThat(Invocation.of("inspect", "--set", "torch.strict=on", file).code()).isEqualTo(4);

        Path copy = folder.resolve("copy.croft");
        assertThat(Invocation.of("convert", file, copy, "--allow-dangerous").code()).isZero();
        assertThat(Invocation.of("inspect", "--json", copy).out()).contains("python:" + function);
        Path again = folder.resolve("again.pt");
        assertOneLine(
                Invocation.of("convert", copy, again, "--to-set", "torch.objects=write"), function, "never written");
        assertThat(again).doesNotExist();
    }

    @Test
    void theProgramOfATorchScriptArchiveIsNamed() {
        Invocation inspected = Invocation.of("inspect", torch("UNSUPPORTED_torchscript.pt").toString());
        assertThat(inspected.code()).isZero();
        assertThat(inspected.out()).contains("TorchScript program, which is not run");
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.0001, 0.01, 0.5, 0.99, 0.9999})
    void aTruncatedTorchFile(double part) throws IOException {
        assertRefused(truncated(TRAINING, part), "");
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.0001, 0.01, 0.5, 0.99, 0.9999})
    void aTruncatedCroftFile(double part) throws IOException {
        Path whole = folder.resolve("whole.croft");
        Invocation.of("convert", TRAINING, whole);

        assertRefused(truncated(whole, part), "");
    }

    @Test
    void anOutputInAFolderThatIsNotThere() {
        Path nowhere = folder.resolve("no/such/out.croft");

        Invocation refused = Invocation.of("convert", torch("tied.pt"), nowhere);

        assertOneLine(refused, nowhere.getParent().toString());
    }

    @Test
    void anOutputThatIsADirectory() throws IOException {
        Path directory = Files.createDirectory(folder.resolve("dir.croft"));

        assertOneLine(Invocation.of("convert", torch("tied.pt"), directory), "dir.croft");

        assertThat(directory).isEmptyDirectory();
        assertOneLine(Invocation.of("convert", torch("tied.pt"), folder), "it is a directory", "name a file in it");
    }

    @Test
    void anOutputOfNoKnownFormat() {
        assertOneLine(Invocation.of("convert", torch("tied.pt"), folder.resolve("out.xyz")), "out.xyz", "--to",
                ".croft");
        assertOneLine(Invocation.of("convert", torch("tied.pt"), folder.resolve("out.xyz"), "--to", "xyz"), "'xyz'");
        assertOneLine(Invocation.of("convert", torch("tied.pt"), folder.resolve("out.xyz"), "--report"), "--report",
                "is for .croft files");

        assertThat(folder.resolve("out.xyz")).doesNotExist();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "frobnicate", "inspect", "inspect --no-such-option x", "convert a",
            "inspect --map-location nowhere:x a", "append a", "compact", "salvage a", "snapshots",
            "snapshots --at 1 a", "shm", "shm publish a", "shm remove", "shm list a", "shm gc a", "set", "set create",
            "set create a.croftset", "set list", "compact --keep some a", "verify", "completion a", "doctor a",
            "convert a b --base", "help frobnicate"})
    void aBadCommandLine(String line) {
        assertOneLine(Invocation.of((Object[]) (line.isEmpty() ? new String[0] : line.split(" "))), "--help");
    }

    @Test
    void aMisusedOptionIsToldInPlainWords() {
        assertOneLine(Invocation.of("compact", "a", "b", "c"), "croft: unexpected arguments: 'b', 'c'. See");
        assertOneLine(Invocation.of("compact", "a", "b"), "croft: unexpected argument: 'b'. See");
        assertOneLine(Invocation.of("inspect", "a", "--set", "b"), "croft: value for option '--set'");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "frobnicate"})
    void withoutACommandThatThereIsTheCommandsAreNamed(String line) {
        assertOneLine(Invocation.of((Object[]) (line.isEmpty() ? new String[0] : line.split(" "))), line,
                "quickstart, inspect,",
                "convert, append, compact, salvage, set, shm, doctor", "--help");
    }

    @Test
    void aReaderThatGoesAwayIsNoError() {
        Invocation ended = run(failing("Broken pipe"), "inspect", "--json", TRAINING.toString());

        assertThat(ended.code()).isEqualTo(141);
        assertThat(ended.err()).isEmpty();
    }

    @Test
    void aFullDiskUnderStandardOutputIsToldAsSuch() {
        Invocation ended = run(failing("No space left on device"), "inspect", TRAINING.toString());

        assertOneLine(ended, "standard output: No space left on device");
    }

    @Test
    void aFullDiskUnderTheHelpTextIsToldToo() {
        assertOneLine(run(failing("No space left on device"), "--help"), "standard output: No space left on device");
    }

    private void assertRefused(Path file, String word) throws IOException {
        String[] before = folder.toFile().list();
        for (Invocation refused : new Invocation[]{Invocation.of("inspect", file),
                Invocation.of("inspect", "--json", "--hash", file),
                Invocation.of("convert", file, output)}) {
            assertOneLine(refused, file.toString(), word);
        }
        assertThat(Invocation.of("verify", file).code()).isIn(0, 3, 4);
        assertThat(output).hasContent(KEPT);
        assertThat(folder.toFile().list()).containsExactlyInAnyOrder(before);
    }

    private static void assertOneLine(Invocation refused, String... words) {
        assertThat(refused.code()).as(refused.err()).isBetween(1, 4);
        assertThat(refused.out()).isEmpty();
        assertThat(refused.err()).startsWith("croft: ").endsWith("\n").doesNotContain("\tat ", "Exception");
        assertThat(refused.err().lines()).hasSize(1);
        assertThat(refused.err().toLowerCase(Locale.ROOT))
                .contains(Arrays.stream(words).map(word -> word.toLowerCase(Locale.ROOT)).toList());
    }

    private Path truncated(Path file, double part) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        return Files.write(folder.resolve("truncated"), Arrays.copyOf(bytes, (int) (bytes.length * part)));
    }

    private static Invocation run(OutputStream out, String... args) {
        StringWriter err = new StringWriter();
        int code = Croft.execute(new TextOutput(out), new PrintWriter(err, true), args);
        return new Invocation(code, "", Invocation.lines(err.toString()));
    }

    private static OutputStream failing(String message) {
        return new OutputStream() {
            @Override
            public void write(int oneByte) throws IOException {
                throw new IOException(message);
            }
        };
    }
}
