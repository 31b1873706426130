package io.undercroft.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Checkpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// `hexdump` in a process of its own: Chronicle is started by no other command, and prints nothing of its own.
class HexdumpProcessTest {
    private static final int NUMBERS = 300_000;

    @TempDir
    private Path folder;
    private Path file;

    @BeforeEach
    void save() throws IOException {
        file = folder.resolve("many.croft");
        Checkpoint.save(file, Map.of("numbers", IntStream.range(0, NUMBERS).boxed().toList()));
    }

    @Test
    void veryManyFieldsArePrintedInASmallHeapAndNothingElse() throws Exception {
        Path out = folder.resolve("out.txt");
        assertThat(start(out, List.of("-Xmx24m"), "hexdump", "--section", "tree", "--limit", "1000000",
                file.toString())).isZero();
        assertThat(folder.resolve("err.txt")).isEmptyFile();
        assertThat(Files.size(out)).isGreaterThan(NUMBERS * 60L);
        try (Stream<String> lines = Files.lines(out)) {
            assertThat(lines.filter(line -> line.contains("# INT"))).hasSizeGreaterThanOrEqualTo(NUMBERS)
                    .last().asString().endsWith("# INT32: " + (NUMBERS - 1));
        }
    }

    @Test
    void chronicleIsLoadedByThisCommand() throws Exception {
        assertThat(loaded("hexdump FILE")).contains("net.openhft.chronicle.bytes.HexDumpBytes");
    }

    @ParameterizedTest
    @ValueSource(strings = {"--help", "inspect FILE", "verify FILE", "hexdump --json FILE",
            "hexdump --section none FILE",
            "convert FILE OUT"})
    void chronicleAndItsLoggerAreLoadedByNoOtherCommand(String words) throws Exception {
        assertThat(loaded(words)).contains(Croft.class.getName()).doesNotContain("net.openhft.", "org.slf4j.");
    }

    /// Returns the log of the classes that a command loads.
    private String loaded(String words) throws IOException, InterruptedException {
        Path log = folder.resolve("classes.txt");
        String out = folder.resolve("out.npz").toString();
        // The names of files may have blanks.
        start(folder.resolve("out.txt"), List.of("-Xlog:class+load:file=" + log), Arrays.stream(words.split(" "))
                .map(word -> word.replace("FILE", file.toString()).replace("OUT", out)).toArray(String[]::new));
        return Files.readString(log);
    }

    private int start(Path out, List<String> options, String... words) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow", "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1"));
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Croft.class.getName()));
        command.addAll(List.of(words));
        Process process = new ProcessBuilder(command).redirectOutput(out.toFile())
                .redirectError(folder.resolve("err.txt").toFile()).start();
        assertThat(process.waitFor(5, TimeUnit.MINUTES)).isTrue();
        return process.exitValue();
    }
}
