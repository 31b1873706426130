package io.undercroft.properties.documents;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.cuda.CudaDevice;
import io.undercroft.properties.Repository;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.SnapshotInfo;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/// The programs of all pages, compiled and run in one process one after the other: the last line that each prints is in
/// the comment behind its last `println`.
@EnabledOnOs(OS.LINUX)
class ExamplesTest {
    private static final Pattern EXAMPLE = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);
    private static final Pattern PRINTED = Pattern.compile("println\\(.*?\\); *// ([^\n]*)\n");
    private static final String NAME_OF_ONE = "\"readme\"";
    private static final String NAME_OF_ANOTHER = "\"weights\"";

    @TempDir
    Path directory;

    @BeforeEach
    void makeTheFilesThatTheProgramsOpen() throws IOException {
        Map<String, Tensor> llama = new LinkedHashMap<>();
        llama.put("model.embed_tokens.weight", Tensor.zeros(DType.BFLOAT16, 16, 8));
        llama.put("model.layers.0.self_attn.q_proj.weight", Tensor.zeros(DType.BFLOAT16, 8, 8));
        llama.put("model.norm.weight", Tensor.ones(DType.BFLOAT16, 8));
        Path folder = Files.createDirectory(directory.resolve("llama"));
        Checkpoint.save(folder.resolve("model.safetensors.index.json"), llama);
        Files.copy(Repository.path("test-support/fixtures/models/tiny-gpt2-training.pt"),
                directory.resolve("training.pt"));
        for (String name : List.of("model.onnx", "weights.safetensors")) {
            Files.copy(Repository.path("docs/samples/serve/" + name), directory.resolve(name));
        }
    }

    @Test
    void allProgramsOfThePagesPrintWhatTheySay() throws Exception {
        List<String> programs = new ArrayList<>();
        for (Path page : LinksTest.pages()) {
            programs.addAll(programs(page));
        }
        assertThat(programs).hasSizeGreaterThan(15);

        List<String> expected = programs.stream().map(ExamplesTest::printed).toList();
        assertThat(lastLinesOf(programs)).isEqualTo(expected);

        try (CroftFile run = CroftFile.open(directory.resolve("run.croft"))) {
            assertThat(run.snapshots()).extracting(SnapshotInfo::commit).startsWith(5L, 4L, 3L);
            assertThat(run.snapshots()).first().extracting(SnapshotInfo::message).isEqualTo("step 5");
        }
        assertThat(Files.size(directory.resolve("tuned.croft"))).isLessThan(8192);
    }

    private static List<String> programs(Path page) throws IOException {
        return EXAMPLE.matcher(Files.readString(page, UTF_8)).results().map(found -> found.group(1))
                // Spark is not on this class path: undercroft-spark runs these.
                .filter(program -> !program.contains("import org.apache.spark.")).toList();
    }

    private static String printed(String program) {
        String last = PRINTED.matcher(program).results().map(MatchResult::group).reduce("", (_, line) -> line);
        String value = last.substring(last.lastIndexOf("// ") + "// ".length()).strip();
        return program.contains("CudaDevice") ? CudaDevice.unavailability().orElse(value) : value;
    }

    private List<String> lastLinesOf(List<String> programs) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow",
                "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", System.getProperty("java.class.path"),
                ExampleRunner.class.getName()));
        String unique = UUID.randomUUID().toString().substring(0, 8);
        for (String program : programs) {
            Path file = directory.resolve("Example" + command.size() + ".java");
            Files.writeString(file, program.replace(NAME_OF_ONE, "\"readme-" + unique + '"')
                    .replace(NAME_OF_ANOTHER, "\"weights-" + unique + '"'));
            command.add(file.getFileName().toString());
        }
        ProcessBuilder builder = new ProcessBuilder(command).directory(directory.toFile()).redirectErrorStream(true);
        // ONNX Runtime 1.29.0 crashes otherwise, as the class path is long.
        builder.environment().put("ORT_DISABLE_TELEMETRY", "1");
        Process java = builder.start();
        String output = new String(java.getInputStream().readAllBytes(), UTF_8);
        assertThat(java.waitFor(5, TimeUnit.MINUTES)).isTrue();
        assertThat(java.exitValue()).as(output).isZero();
        return List.of(output.split(ExampleRunner.END)).stream().map(String::strip).filter(text -> !text.isEmpty())
                .map(text -> text.lines().reduce("", (_, line) -> line)).toList();
    }
}
