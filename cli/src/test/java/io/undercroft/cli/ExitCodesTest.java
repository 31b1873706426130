package io.undercroft.cli;

import static io.undercroft.cli.Invocation.TRAINING;
import static io.undercroft.cli.Invocation.torch;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.cli.internal.TextOutput;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Each command ends with 0 if it did its work, and otherwise with a code that tells the classes of failure apart. In a
/// command line `GOOD` is a valid file, `BAD` a damaged one, `NONE` one that does not exist, `THIN` one whose base is
/// gone and `OUT` one to write.
class ExitCodesTest {
    @TempDir
    Path folder;

    @BeforeEach
    void files() throws IOException {
        Invocation.of("convert", torch("tied.pt"), file("GOOD"));
        Checkpoint.save(file("BAD"), Map.of("w", Tensor.arange(DType.FLOAT32, 100_000)));
        byte[] bytes = Files.readAllBytes(file("BAD"));
        bytes[bytes.length / 2] ^= 0x10;
        Files.write(file("BAD"), bytes);
        Invocation.of("convert", torch("views.pt"), file("BASE"));
        Invocation.of("convert", torch("views.pt"), file("THIN"), "--base", file("BASE"));
        Files.delete(file("BASE"));
        Invocation.of("convert", torch("tied.pt"), file("PART"));
        Invocation.of("set", "create", folder.resolve("SET.croftset"), file("PART"));
        Files.writeString(folder.resolve("notes.txt"), "hello, world");
    }

    private Path file(String name) {
        return folder.resolve(name + ".croft");
    }

    /// The words that are names of files are replaced by these.
    private Invocation run(String line) {
        List<String> words = List.of(line.split(" "));
        return Invocation.of(words.stream().map(word -> switch (word) {
            case "GOOD", "BAD", "NONE", "THIN", "OUT" -> file(word);
            case "SET.croftset", "OUT.croftset", "notes.txt", "nowhere/OUT.croft" -> folder.resolve(word);
            default -> (Object) word;
        }).toArray());
    }

    private void endsWith(int code, String line) {
        Invocation ended = run(line);
        assertThat(ended.code()).as(line + ": " + ended.out() + ended.err()).isEqualTo(code);
        if (code != 0) {
            assertThat(ended.err()).startsWith("croft: ").doesNotContain("Exception", "\tat ");
        }
    }

    @Test
    void aValidFileWithANameOrANestingOverTheLimitsIsNotCalledDamaged() throws IOException {
        String name = "x".repeat(5000);
        String header = "{\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}";
        Path named = Files.write(folder.resolve("named.safetensors"), ByteBuffer.allocate(8 + header.length())
                .order(ByteOrder.LITTLE_ENDIAN).putLong(header.length()).put(header.getBytes(US_ASCII)).array());
        Path nested = Files.writeString(folder.resolve("nested.pkl"), "\u0080\2" + "]".repeat(200)
                + "a".repeat(199) + ".", ISO_8859_1);

        for (Path file : List.of(named, nested)) {
            for (String command : List.of("inspect", "verify")) {
                Invocation ended = Invocation.of(command, file);
                assertThat(ended.code()).as(command + ": " + ended.err()).isEqualTo(3);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"inspect GOOD", "inspect --only emb.* --sort size GOOD", "extract GOOD emb.weight",
            "dedup GOOD",
            "hexdump GOOD", "hexdump GOOD --section header --limit 1", "verify --json GOOD", "formats --json",
            "set list --json SET.croftset", "inspect GOOD GOOD", "snapshots GOOD", "verify GOOD", "verify GOOD GOOD",
            "formats", "convert GOOD OUT", "convert GOOD OUT --base GOOD", "convert GOOD OUT --self-contained",
            "convert THIN OUT --keep-bases", "append GOOD GOOD", "compact GOOD", "salvage GOOD OUT",
            "set create OUT.croftset GOOD", "set list SET.croftset", "shm list", "shm gc", "doctor", "completion",
            "help", "help shm", "help shm publish", "help set create", "--help", "--version", "shm --help",
            "shm list --help"})
    void whatWorksEndsWith0(String line) {
        endsWith(0, line);
    }

    @ParameterizedTest
    @ValueSource(strings = {"extract GOOD", "extract GOOD none", "extract GOOD emb.weight --rows 9",
            "extract GOOD emb.weight --rows 0:9",
            "extract GOOD emb.weight -o OUT", "extract GOOD emb.weight --dtype none", "dedup", "hexdump",
            "hexdump GOOD --limit 0",
            "hexdump GOOD --section none", "inspect GOOD --only none", "inspect GOOD --sort none", "nothing", "inspect",
            "inspect GOOD --at 7", "inspect --no-such-option GOOD",
            "snapshots GOOD GOOD", "verify", "verify GOOD --at 7", "formats x", "convert GOOD",
            "convert GOOD OUT --at 7",
            "convert GOOD OUT --keep-bases --self-contained", "convert GOOD OUT --keep-bases --part a",
            "convert GOOD OUT --self-contained --whole-storages", "convert GOOD GOOD --self-contained",
            "convert GOOD notes.txt", "append GOOD", "append GOOD GOOD --at 7", "compact", "compact GOOD --keep 0",
            "salvage GOOD", "salvage GOOD GOOD", "salvage GOOD notes.txt", "set", "set create OUT.croftset",
            "set create OUT GOOD", "set list", "set list GOOD", "shm", "shm publish GOOD", "shm publish GOOD a/b",
            "shm remove",
            "shm remove ..", "shm list x", "shm gc x", "doctor x", "cuda-check --gib many", "completion x",
            "help nothing",
            "help shm nothing"})
    void aCommandLineThatCannotBeFollowedEndsWith2(String line) {
        endsWith(2, line);
    }

    @ParameterizedTest
    @ValueSource(strings = {"extract NONE a", "dedup NONE", "dedup notes.txt", "hexdump NONE", "hexdump notes.txt",
            "extract THIN base", "inspect NONE", "inspect GOOD NONE", "inspect notes.txt", "snapshots NONE",
            "verify NONE",
            "verify NONE GOOD", "verify notes.txt", "verify THIN", "inspect --hash THIN", "convert NONE OUT",
            "convert notes.txt OUT", "convert THIN OUT", "convert THIN OUT --self-contained",
            "convert GOOD OUT --base NONE", "append NONE GOOD", "append notes.txt GOOD", "append GOOD NONE",
            "compact NONE",
            "salvage NONE OUT",
            "set create OUT.croftset NONE", "set list NONE", "shm publish NONE exit-codes-test",
            "shm remove exit-codes-test"})
    void whatIsMissingOrCannotBeReadEndsWith3(String line) {
        endsWith(3, line);
    }

    @ParameterizedTest
    @ValueSource(strings = {"extract BAD w", "verify --json BAD", "inspect --hash BAD", "inspect --hash GOOD BAD",
            "verify BAD", "verify BAD GOOD",
            "verify NONE BAD THIN", "convert BAD OUT", "convert BAD OUT --self-contained",
            "convert BAD OUT --keep-bases",
            "append GOOD BAD", "compact BAD", "salvage BAD OUT", "shm publish BAD exit-codes-test"})
    void damageEndsWith4(String line) {
        endsWith(4, line);
    }

    @ParameterizedTest
    @ValueSource(strings = {"inspect CUT", "extract CUT w", "diff CUT GOOD", "dedup CUT", "hexdump CUT", "verify CUT",
            "snapshots CUT", "convert CUT OUT", "append CUT GOOD", "append GOOD CUT", "compact CUT", "salvage CUT OUT",
            "set create OUT.croftset CUT", "set list CUT", "shm publish CUT exit-codes-test"})
    void aDamagedFileIsNamedAsTheUserNamedIt(String line) throws IOException {
        Path cut = folder.resolve("CUT.croft");
        byte[] bytes = Files.readAllBytes(file("GOOD"));
        Files.write(cut, Arrays.copyOf(bytes, bytes.length / 2));
        Path typed = Path.of("").toAbsolutePath().relativize(cut);

        Invocation refused = Invocation.of(Stream.of(line.split(" ")).map(word -> switch (word) {
            case "CUT" -> typed;
            case "GOOD", "OUT" -> file(word);
            case "OUT.croftset" -> folder.resolve(word);
            default -> (Object) word;
        }).toArray());

        assertThat(refused.code()).isEqualTo(4);
        assertThat(refused.err()).startsWith("croft: " + typed + ": ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"convert GOOD nowhere/OUT.croft", "convert GOOD nowhere/OUT.croft --self-contained",
            "salvage GOOD nowhere/OUT.croft"})
    void anOutputThatCannotBeWrittenEndsWith1(String line) {
        endsWith(1, line);
    }

    @Test
    void faultsOfMappedMemoryAreToldFromOtherErrorsOfTheJvm() {
        StringWriter said = new StringWriter();
        CommandRunner runner = new CommandRunner(new TextOutput(OutputStream.nullOutputStream()),
                new PrintWriter(said, true));
        InternalError fault = new InternalError("a fault occurred in an unsafe memory access operation");

        assertThat(runner.writing(Path.of("out.pt"), () -> {
            throw fault;
        })).isEqualTo(3);
        assertThat(said.toString()).contains("it was cut, or its disk failed").doesNotContain("out.pt");
        said.getBuffer().setLength(0);
        assertThat(runner.of(Path.of("in.pt"), () -> {
            throw new InternalError(new IOException("Too many open files"));
        })).isEqualTo(1);
        assertThat(said.toString()).contains("ulimit -n").doesNotContain("cut");
    }

    @Test
    void aFullDiskUnderStandardOutputEndsWith1() {
        OutputStream full = new OutputStream() {
            @Override
            public void write(int oneByte) throws IOException {
                throw new IOException("No space left on device");
            }
        };
        for (String command : List.of("formats", "completion", "--help")) {
            assertThat(Croft.execute(new TextOutput(full), new PrintWriter(new StringWriter()), command)).isEqualTo(1);
        }
    }

    @Test
    void theHelpSaysWhatTheCodesMean() {
        assertThat(Invocation.of("--help").out()).contains("Exit codes:", "  0   ", "  1   ", "  2   ", "  3   ",
                "  4   ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"/proc/y.croft", "/proc/self/y.croft", "/proc/y.pt", "/proc/y.safetensors",
            "/proc/y.safetensors.index.json"})
    @EnabledOnOs(OS.LINUX)
    void ofADirectoryThatTakesNoFilesThisIsSaid(String target) {
        Invocation refused = Invocation.of("convert", TRAINING, target, "--part", "model");

        assertThat(refused.code()).isEqualTo(1);
        assertThat(refused.err()).hasLineCount(1).contains(target, "no files can be made there")
                .doesNotContain("Exception", "null");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void devicesAreNotReplaced() {
        for (String device : List.of("/dev/null", "/dev/full")) {
            assertThat(Invocation.of("convert", TRAINING, device).code()).isEqualTo(2);
            Invocation refused = Invocation.of("convert", TRAINING, device, "--to", "croft");
            assertThat(refused.code()).isEqualTo(1);
            assertThat(refused.err()).contains(device + ": it is no regular file");
            assertThat(Path.of(device)).exists();
        }
    }

    @Test
    void anEmptyNameIsNoFile() {
        for (Object[] line : List.<Object[]>of(new Object[]{"inspect", ""}, new Object[]{"convert", TRAINING, ""},
                new Object[]{"convert", "", file("OUT")},
                new Object[]{"set", "create", folder.resolve("a.croftset"), ""},
                new Object[]{"convert", TRAINING, file("OUT"), "--base", ""})) {
            Invocation refused = Invocation.of(line);
            assertThat(refused.code()).isEqualTo(2);
            assertThat(refused.err()).hasLineCount(1).contains("no empty name");
        }
    }
}
