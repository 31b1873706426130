package io.undercroft.cli;

import static io.undercroft.cli.Invocation.torch;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.cli.internal.TextOutput;
import io.undercroft.format.Remedy;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Where the library names one of its options, the command names its own.
class RemediesTest {
    @TempDir
    Path folder;
    private Path torch;
    private Path base;
    private Path thin;
    private Path out;

    @BeforeEach
    void files() throws IOException {
        torch = Files.copy(torch("tied.pt"), folder.resolve("tied.pt"));
        base = folder.resolve("base.croft");
        thin = folder.resolve("thin.croft");
        out = folder.resolve("out.croft");
        Invocation.of("convert", torch, base);
    }

    private static void assertSaid(Invocation refused, String... words) {
        assertThat(refused.code()).isBetween(1, 4);
        assertThat(refused.err()).contains(words).doesNotContain("OpenOptions", "SaveOptions", "CroftFile",
                "Checkpoint.", "{}");
    }

    @Test
    void aTruncatedFile() throws IOException {
        byte[] whole = Files.readAllBytes(base);
        Files.write(base, Arrays.copyOf(whole, whole.length - 1));

        assertSaid(Invocation.of("inspect", base), "croft salvage FILE TARGET");
        assertSaid(Invocation.of("verify", base), "croft salvage FILE TARGET");
    }

    @Test
    void anAdoptedFileWithoutARoot() {
        Invocation.of("convert", torch, thin, "--base", torch);

        assertSaid(Invocation.of("convert", thin, out), "Give the directory when opening: --root, or the file: --base");
        assertSaid(Invocation.of("inspect", "--hash", thin), "--root", "--base");
        assertSaid(Invocation.of("verify", thin), "--root", "--base");
    }

    @Test
    void aBaseThatIsGoneIsNamedWithoutItsId() throws IOException {
        Invocation.of("convert", torch, thin, "--base", base);
        Files.delete(base);

        assertSaid(Invocation.of("convert", thin, out, "--self-contained"),
                "say where it is when opening: --root or --base\n");
        assertSaid(Invocation.of("inspect", "--hash", thin), "--root", "--base");
    }

    @Test
    void aLinkOutOfTheRoot() throws IOException {
        Path elsewhere = Files.createDirectory(folder.resolve("elsewhere"));
        Path root = Files.createDirectory(folder.resolve("root"));
        Path copy = Files.copy(torch, root.resolve("tied.pt"));
        Path below = root.resolve("thin.croft");
        Invocation.of("convert", copy, below, "--base", copy);
        Files.move(copy, elsewhere.resolve("tied.pt"));
        Files.createSymbolicLink(copy, elsewhere.resolve("tied.pt"));

        assertSaid(Invocation.of("convert", below, out, "--root", root),
                "name the directory that they lead to with --root");
    }

    @Test
    void aLinkFromASetToAnotherDirectory() throws IOException {
        Path index = Files.createDirectory(folder.resolve("set")).resolve("model.safetensors.index.json");
        Invocation.of("convert", torch, index);
        Path shard = index.resolveSibling("model-00001-of-00001.safetensors");
        Files.createSymbolicLink(shard, Files.move(shard, folder.resolve("shard")));

        assertSaid(Invocation.of("inspect", index), "Name a directory with --root");
    }

    @Test
    void aFileOfNoKnownFormat() throws IOException {
        Path notes = Files.writeString(folder.resolve("notes.txt"), "hello, world");

        assertSaid(Invocation.of("inspect", notes), "or name its format with --format\n");
    }

    @Test
    void aFileThatNeedsASetting() throws IOException {
        Path cut = Files.write(folder.resolve("cut.t7"), new byte[]{3, 0, 0, 0, 1, 0, 0, 0});

        assertSaid(Invocation.of("inspect", cut, "--format", "torch7"), "--set sets torch7.encoding");
    }

    @Test
    void aBaseOutsideTheRoot() throws IOException {
        Path below = Files.createDirectory(folder.resolve("below")).resolve("out.croft");

        assertSaid(Invocation.of("convert", torch, below, "--base", base), "is not below", "set a root above both");
        assertSaid(Invocation.of("convert", torch, "-", "--base", base), "in no directory", "set a root");
    }

    @Test
    void aSnapshotThatIsNotThere() throws IOException {
        Path file = folder.resolve("growing.croft");
        for (int i = 0; i < 3; i++) {
            Checkpoint.save(out, Map.of("w", Tensor.full(DType.FLOAT32, i, 4)));
            Invocation.of(i == 0 ? "convert" : "append", i == 0 ? out : file, i == 0 ? file : out);
        }
        Invocation.of("append", file, torch);
        Invocation.of("compact", file, "--keep", 2);

        assertSaid(Invocation.of("inspect", file, "--at", 1), "there is no snapshot 1");
        assertSaid(Invocation.of("inspect", file, "--at", 9), "there is no snapshot 9");
    }

    @Test
    void aFormatThatCannotBeWritten() {
        assertSaid(Invocation.of("convert", torch, folder.resolve("out.bin"), "--to", "torch-legacy"),
                "can be opened, not written; choose one that can");
    }

    /// What the message says is run, word by word.
    @ParameterizedTest
    @ValueSource(strings = {"bfloat16", "float8_e4m3fn", "float8_e5m2fnuz"})
    void elementsThatNumPyDoesNotHave(String dtype) throws IOException {
        Path file = folder.resolve("w.safetensors");
        Checkpoint.save(file, Map.of("w", Tensor.full(DType.of(dtype), 2, 4)));
        Path array = folder.resolve("OUT.npy");

        Invocation refused = Invocation.of("extract", file, "w", "-o", array);
        assertSaid(refused, "NumPy has no elements of type " + dtype);
        String[] advice = refused.err().replaceFirst("(?s).*croft extract (.*)\n", "$1").split(" ");
        assertThat(advice).containsExactly("-o", "OUT.npy", "--dtype", "float32");
        assertThat(Invocation.of("extract", file, "w", advice[0], array, advice[2], advice[3]).code()).isZero();
        try (Checkpoint c = Checkpoint.open(array)) {
            assertThat(c.tensor("").toFloatArray()).containsExactly(2, 2, 2, 2);
        }
    }

    @Test
    void blocksOfQuantizedNumbers() {
        Path gguf = Invocation.FIXTURES.resolve("gguf/all.gguf");
        for (String suffix : List.of("safetensors", "pt")) {
            assertSaid(Invocation.of("convert", gguf, folder.resolve("q." + suffix)),
                    "save a .croft file, which holds all elements, or a .gguf file, or convert all tensors with "
                            + "--dtype float32");
            assertThat(Invocation.of("convert --dtype float32", gguf, folder.resolve("q." + suffix)).code()).isZero();
        }
        assertThat(Invocation.of("convert", gguf, folder.resolve("q.croft")).code()).isZero();
        assertThat(Invocation.of("convert", gguf, folder.resolve("q.gguf")).code()).isZero();
    }

    /// Files of sysfs can be read and not mapped.
    @Test
    void anInputThatCannotBeMappedIsNamedAlsoWhileAnotherFileIsWritten() {
        Path input = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");
        assumeTrue(Files.isReadable(input), "there is no such system");
        StringWriter said = new StringWriter();
        CommandRunner run = new CommandRunner(new TextOutput(OutputStream.nullOutputStream()),
                new PrintWriter(said, true));

        assertThat(run.writing(out, () -> {
            try (MappedFile file = MappedFile.open(input, MapMode.SHARED)) {
                return (int) file.map(0, 4).byteSize();
            }
        })).isEqualTo(3);
        assertThat(said.toString()).startsWith("croft: " + input + ": cannot be mapped: ")
                .contains(". Copy it to a local disk and open it there").doesNotContain("OpenOptions", "out.croft");
    }

    @Test
    void aFileOfAnotherFormatThatIsSalvaged() throws IOException {
        assertSaid(Invocation.of("salvage", torch, out), "croft verify lists the damage", "croft convert saves");
        assertThat(Invocation.of("verify", torch).code()).isZero();
        assertThat(Invocation.of("convert", torch, out).code()).isZero();
    }

    @Test
    void anOptionThatTheCommandDoesNotHaveKeepsItsName() {
        Remedy remedy = Remedy.naming("Choose another with {} or {}", "OpenOptions.root", "OpenOptions.other");

        assertThat(remedy.in(CommandRunner::onTheCommandLine))
                .isEqualTo("Choose another with --root or OpenOptions.other");
        assertThat(remedy).hasToString("Choose another with OpenOptions.root or OpenOptions.other");
    }

    /// No command opens storages of a device that is not there, but its words exist.
    @Test
    void aDevice() {
        assertThat(CommandRunner.onTheCommandLine(new Remedy.Option("OpenOptions.device", "(Device.CPU)")))
                .isEqualTo("--map-location cpu");
    }
}
