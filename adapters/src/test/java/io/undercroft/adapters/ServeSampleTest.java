package io.undercroft.adapters;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/// The sample of a server, with real processes.
@EnabledOnOs(OS.LINUX)
class ServeSampleTest {
    private static final Path SAMPLE = Path.of("../docs/samples/serve");

    @TempDir
    private Path folder;

    @Test
    void twoWorkersAnswerEveryRequestWhileVersionsArePublishedAndKeepNoFormerOne()
            throws IOException, InterruptedException {
        List<String> lines = run("2");

        assertThat(lines).hasSize(2).allMatch(line -> line.matches(
                "worker \\d+: answers \\[\\d{3,}, \\d{3,}, \\d{3,}], failures 0, PSS \\d+ kB, "
                        + "mappings of former versions 0"));
    }

    private List<String> run(String workers) throws IOException, InterruptedException {
        String classPath = folder + ":" + System.getProperty("java.class.path");
        List<String> compiler = new ArrayList<>(List.of("-d", folder.toString(), "-cp", classPath, "-proc:none"));
        try (Stream<Path> sources = Files.walk(SAMPLE.resolve("src/main/java"))) {
            sources.map(Path::toString).filter(name -> name.endsWith(".java")).forEach(compiler::add);
        }
        assertThat(ToolProvider.getSystemJavaCompiler().run(null, null, null, compiler.toArray(String[]::new)))
                .isZero();

        ProcessBuilder java = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED", "-XX:+UseSerialGC", "io.undercroft.samples.serve.Serve",
                SAMPLE.toString(), workers).redirectErrorStream(true);
        java.environment().put("CLASSPATH", classPath);
        java.environment().put("ORT_DISABLE_TELEMETRY", "1");
        Process process = java.start();
        List<String> lines = process.inputReader().lines().toList();
        assertThat(process.waitFor()).as(String.join("\n", lines)).isZero();
        return lines;
    }
}
