package io.undercroft.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/// The command lines of all pages do what the pages show. One process runs them, each in a fresh copy of a directory
/// with the files that they name.
@EnabledOnOs(OS.LINUX)
class CommandsOfThePagesTest {
    private static final String START = "    ./croft ";
    /// They take minutes, need a GPU or another machine, remove what other programs published, or are about a pickled
    /// module, which only Python makes.
    private static final List<String> NOT_RUN = List.of("quickstart", "cuda-check", "https://", "hdfs://", "s3a://",
            "gc --published", "module.pt");

    @TempDir
    Path folder;

    @Test
    void allCommandsOfThePagesWork() throws Exception {
        makeFiles(Files.createDirectory(folder.resolve("files")));
        List<String> lines = new ArrayList<>();
        for (Path page : List.of(Path.of("../README.md"), Path.of("../docs/command.md"), Path.of("../docs/guide.md"))) {
            Files.readAllLines(page).stream().filter(line -> line.startsWith(START))
                    .map(line -> line.substring(START.length()).replaceFirst(" +#.*", ""))
                    .filter(line -> NOT_RUN.stream().noneMatch(line::contains)).forEach(lines::add);
        }
        assertThat(lines).hasSizeGreaterThan(35);
        Path list = Files.write(folder.resolve("lines"), lines);

        Path output = folder.resolve("output");
        Process process = new ProcessBuilder(ProcessHandle.current().info().command().orElseThrow(),
                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow",
                "-XX:TieredStopAtLevel=1", "-cp", absolute(System.getProperty("java.class.path")),
                CommandLines.class.getName(), list.toString(), folder.resolve("files").toString())
                .directory(Files.createDirectory(folder.resolve("work")).toFile()).redirectErrorStream(true)
                .redirectOutput(output.toFile()).start();

        assertThat(process.waitFor(10, TimeUnit.MINUTES)).isTrue();
        assertThat(Files.readAllLines(output).stream().filter(line -> line.startsWith(CommandLines.FAILED)))
                .as(Files.readString(output)).isEmpty();
        assertThat(process.exitValue()).isZero();
    }

    private static String absolute(String classPath) {
        return Stream.of(classPath.split(":")).map(entry -> Path.of(entry).toAbsolutePath().toString())
                .reduce((a, b) -> a + ":" + b).orElseThrow();
    }

    /// The files by the names that the pages use.
    private static void makeFiles(Path files) throws IOException {
        Path model = Invocation.FIXTURES.resolve("models/tiny-gpt2.pt");
        for (String copy : List.of("model.pt", "later.pt")) {
            Files.copy(model, files.resolve(copy));
        }
        Files.copy(Invocation.TRAINING, files.resolve("training.pt"));
        Files.copy(Invocation.FIXTURES.resolve("gguf/quantized.gguf"), files.resolve("model-Q4_K_M.gguf"));
        Path checkpoints = Files.createDirectory(files.resolve("checkpoints"));
        Files.copy(model, checkpoints.resolve("1.pt"));
        Files.copy(Invocation.TRAINING, checkpoints.resolve("2.pt"));
        Files.createDirectory(files.resolve("out"));
        try (Checkpoint checkpoint = Checkpoint.open(model);
                CroftFile snapshots = CroftFile.open(files.resolve("model.croft"))) {
            for (int number = 1; number <= 3; number++) {
                snapshots.commit(checkpoint.tree(), SaveOptions.defaults());
            }
            Checkpoint.save(files.resolve("model.safetensors"), checkpoint.tree());
            Checkpoint.save(Files.createDirectory(files.resolve("llama")).resolve("model.safetensors.index.json"),
                    checkpoint.tree());
        }
        Map<String, Object> state = new LinkedHashMap<>(Map.of("model", Map.of("a.weight",
                Tensor.ones(DType.FLOAT32, 8, 8))));
        for (String name : List.of("base.croft", "a.croft")) {
            Checkpoint.save(files.resolve(name), state);
        }
        state.put("model", Map.of("a.weight", Tensor.zeros(DType.FLOAT32, 8, 8)));
        for (String name : List.of("tuned.croft", "b.croft")) {
            Checkpoint.save(files.resolve(name), Map.of(name.equals("b.croft") ? "other" : "model",
                    Map.of("a.weight", Tensor.zeros(DType.FLOAT32, 8, 8))));
        }
    }
}
