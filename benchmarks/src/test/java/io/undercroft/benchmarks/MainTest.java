package io.undercroft.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MainTest {
    @TempDir
    Path directory;

    @Test
    void aCaseThatABenchmarkDoesNotHaveIsRefusedWithThoseThatItHas() throws Exception {
        assertThat(refusal("peers", "--case", "huge"))
                .contains("peers has no case 'huge'; it has small, medium, large, few, many, most, processes");
        assertThat(refusal("scale", "--case", "processes"))
                .contains("scale has no case 'processes'; it has small, medium, large, few, many, most");
        assertThat(refusal("open", "--case", "small")).contains("open has no case 'small'; it has none");
    }

    private String refusal(String... arguments) throws Exception {
        Path output = directory.resolve("output");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                System.getProperty("java.class.path"), Main.class.getName(), directory.toString(), "no-python"));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile())
                .start();
        assertThat(process.waitFor()).isEqualTo(2);
        return Files.readString(output);
    }
}
