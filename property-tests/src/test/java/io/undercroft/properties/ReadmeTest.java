package io.undercroft.properties;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.cuda.CudaDevice;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CheckpointFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SnapshotInfo;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

class ReadmeTest {
    private static final Pattern EXAMPLE = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);

    @TempDir
    Path directory;

    @Test
    void theFirstExampleCompilesAndPrintsWhatItSays() throws Exception {
        assertThat(lastLineOf(example(0))).isEqualTo("0.5");
        assertThat(directory.resolve("model.croft")).isRegularFile();
    }

    @Test
    void theExampleOfOtherPeoplesFilesDoesSoToo() throws Exception {
        assertThat(lastLineOf(example(1))).isEqualTo("true");
        assertThat(directory.resolve("model.pt")).isRegularFile();
        try (Checkpoint thin = Checkpoint.open(directory.resolve("thin.croft"),
                OpenOptions.defaults().root(directory))) {
            assertThat(thin.tensor("lm_head.weight").getDouble(2, 3)).isEqualTo(11);
            assertThat(thin.verify().isSound()).isTrue();
        }
        try (Checkpoint set = Checkpoint.open(directory.resolve("model.safetensors.index.json"))) {
            assertThat(set.tensor("lm_head.weight").storage()).isSameAs(set.tensor("wte.weight").storage());
        }
    }

    @Test
    void theExampleOfATrainingStateDoesSoToo() throws Exception {
        assertThat(lastLineOf(example(2))).isEqualTo("4.0");
        assertThat(lastLineOf(example(2))).as("of a run that goes on").isEqualTo("4.0");
        try (CheckpointFile run = CheckpointFile.open(directory.resolve("run.croft"))) {
            assertThat(run.snapshots()).extracting(SnapshotInfo::commit).startsWith(10L, 9L, 8L).contains(4L);
            assertThat(run.snapshots()).first().extracting(SnapshotInfo::message).isEqualTo("step 10");
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void theExampleOfAPublishedStateDoesSoToo() throws Exception {
        String name = "readme-" + UUID.randomUUID().toString().substring(0, 8);
        assertThat(lastLineOf(example(3).replace("\"weights\"", '"' + name + '"'))).isEqualTo("3.0");
    }

    @Test
    @EnabledOnOs({OS.LINUX, OS.MAC})
    void theExampleOfATensorThatIsHandedOverDoesSoToo() throws Exception {
        assertThat(lastLineOf(example(4))).isEqualTo("42.0");
    }

    @Test
    void theExampleOfADeviceSaysWhyThereIsNone() throws Exception {
        assertThat(lastLineOf(example(5))).isEqualTo(CudaDevice.unavailability().orElse("5.0"));
    }

    private String lastLineOf(String example) throws Exception {
        Files.writeString(directory.resolve("Example.java"), example);
        Process java = new ProcessBuilder(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow", "-cp",
                        System.getProperty("java.class.path"), "Example.java"))
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .start();
        String output = new String(java.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(java.waitFor(5, TimeUnit.MINUTES)).isTrue();
        assertThat(java.exitValue()).as(output).isZero();
        return output.lines().reduce("", (_, line) -> line);
    }

    /// Tests run in the directory of their module; the README is in the one above.
    private static String example(int number) throws IOException {
        return EXAMPLE.matcher(Files.readString(Path.of("..", "README.md"))).results().toList().get(number).group(1);
    }
}
