package io.undercroft.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/// A process of its own that is told to end while it writes.
class InterruptionTest {
    /// Takes longer to write than a signal needs, and is a hole on the disk. As much has to be free, as the target gets
    /// its space before it is written.
    private static final long SIZE = 16L << 30;
    private static final int SIGINT = 2;
    private static final int CTRL_C = 3;

    @TempDir
    Path folder;
    @TempDir
    Path elsewhere;

    @ParameterizedTest
    @CsvSource({"INT, out.safetensors, 130", "TERM, out.croft, 143", "INT, out.pt, 130"})
    void neitherTheTemporaryFileNorTheLockIsLeft(String signal, String name, int code) throws Exception {
        Path source = largeFile();
        Path target = Files.writeString(folder.resolve(name), "kept");
        Path said = elsewhere.resolve("said");
        List<String> command = new ArrayList<>(receiving(signal));
        command.addAll(List.of(ProcessHandle.current().info().command().orElseThrow(),
                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow",
                "-XX:TieredStopAtLevel=1",
                "-cp", System.getProperty("java.class.path"), Croft.class.getName(), "convert", source.toString(),
                target.toString()));
        Process croft = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said.toFile()).start();
        try {
            waitForTemporary(croft);
            kill(croft, signal);

            assertThat(croft.waitFor(5, TimeUnit.MINUTES)).isTrue();
        } finally {
            croft.destroyForcibly();
        }

        assertThat(files()).containsExactlyInAnyOrder(source, target);
        assertThat(target).hasSize("kept".length()).hasContent("kept");
        assertThat(croft.exitValue()).isEqualTo(code);
        assertThat(said).content(UTF_8).contains("croft: " + target + ": ", "interrupted; no file was made or changed");
    }

    @ParameterizedTest
    @CsvSource({"INT, 130", "TERM, 143"})
    void nothingIsLeftOfAPage(String signal, int code) throws Exception {
        Path source = manyTensors();
        Path page = folder.resolve("page.html");
        Path said = elsewhere.resolve("said");
        int exit = writePage(source, page, said, signal);

        // On a slow machine the page may be there before the signal is.
        assertThat(files()).isSubsetOf(source, page).contains(source);
        if (Files.exists(page)) {
            assertThat(page).content().endsWith("</html>\n");
        } else {
            assertThat(said).content(UTF_8).contains("croft: " + page + ": interrupted; no file was made or changed");
            assertThat(exit).isEqualTo(code);
        }
    }

    @Test
    void theNextPageDeletesWhatAKilledOneLeft() throws Exception {
        Path source = manyTensors();
        Path page = folder.resolve("page.html");
        writePage(source, page, elsewhere.resolve("said"), "KILL");

        assertThat(Invocation.of("inspect", "--html", page, source).code()).isZero();
        assertThat(files()).containsExactlyInAnyOrder(source, page);
    }

    /// On a terminal of its own: Ctrl-C is the character that is typed.
    @ParameterizedTest
    @ValueSource(strings = {"inspect --hash FILE", "diff FILE FILE", "dedup FILE", "convert FILE OUT"})
    @EnabledOnOs(OS.LINUX)
    void theProgressBarIsErasedBeforeThePrompt(String line) throws Exception {
        Path terminal = Path.of("/usr/bin/script");
        assumeThat(terminal).exists();
        String words = line.replace("FILE", "'" + largeFile() + "'")
                .replace("OUT", "'" + folder.resolve("out.safetensors") + "'");
        Process croft = new ProcessBuilder(terminal.toString(), "--quiet", "--flush", "--return", "--command",
                // Jobs in the background of a script start with Ctrl-C ignored.
                "exec env --default-signal=INT "
                        + String.join(" ", ProcessHandle.current().info().command().orElseThrow(),
                                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow",
                                "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"),
                                Croft.class.getName(), words),
                "/dev/null").redirectErrorStream(true).start();
        StringBuilder screen = new StringBuilder();
        try (Reader out = croft.inputReader(UTF_8); OutputStream keyboard = croft.getOutputStream()) {
            for (int character = out.read(); character >= 0; character = out.read()) {
                screen.append((char) character);
                if (screen.toString().endsWith("[") && !screen.toString().contains("^C")) {
                    keyboard.write(CTRL_C);
                    keyboard.flush();
                }
            }
            assertThat(croft.waitFor()).as(screen.toString()).isEqualTo(130);
        } finally {
            croft.destroyForcibly();
        }
        assertThat(shown(screen.toString())).allMatch(shown -> shown.isEmpty() || shown.startsWith("croft: "));
    }

    /// {@return the lines that a terminal shows in the end}
    private static List<String> shown(String screen) {
        return Stream.of(screen.split("\n")).map(line -> {
            StringBuilder shown = new StringBuilder();
            int at = 0;
            for (String written : line.split("(?<=\r)|(?=\r)", -1)) {
                if (written.equals("\r")) {
                    at = 0;
                } else {
                    shown.replace(at, Math.min(at + written.length(), shown.length()), written);
                    at += written.length();
                }
            }
            return shown.toString().stripTrailing();
        }).toList();
    }

    private Path manyTensors() throws IOException {
        Path source = folder.resolve("many.safetensors");
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < 100_000; i++) {
            state.put("tensor" + i, Tensor.zeros(DType.UINT8, 1));
        }
        Checkpoint.save(source, state);
        return source;
    }

    /// Writes a page in another process, which gets a signal meanwhile; returns its code.
    private int writePage(Path source, Path page, Path said, String signal) throws Exception {
        List<String> command = new ArrayList<>(receiving(signal));
        command.addAll(List.of(ProcessHandle.current().info().command().orElseThrow(),
                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow",
                "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), Croft.class.getName(),
                "inspect", "--html", page.toString(), source.toString()));
        Process croft = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said.toFile()).start();
        try {
            waitForTemporary(croft);
            kill(croft, signal);

            assertThat(croft.waitFor(5, TimeUnit.MINUTES)).isTrue();
            return croft.exitValue();
        } finally {
            croft.destroyForcibly();
        }
    }

    @ParameterizedTest
    @CsvSource({"INT, 130", "TERM, 143"})
    void nothingIsLeftOfStandardInput(String signal, int code) throws Exception {
        List<String> command = new ArrayList<>(receiving(signal));
        command.addAll(List.of(ProcessHandle.current().info().command().orElseThrow(),
                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow",
                "-XX:TieredStopAtLevel=1", "-Djava.io.tmpdir=" + folder, "-cp", System.getProperty("java.class.path"),
                Croft.class.getName(), "inspect", "-"));
        Process croft = new ProcessBuilder(command).redirectErrorStream(true)
                .redirectOutput(elsewhere.resolve("said").toFile()).start();
        try (OutputStream pipe = croft.getOutputStream()) {
            pipe.write(new byte[100_000]);
            pipe.flush();
            while (files().stream().noneMatch(file -> file.toString().contains("croft-standard-input-"))) {
                assertThat(croft.isAlive()).as("it has ended before").isTrue();
                Thread.sleep(5);
            }
            kill(croft, signal);

            assertThat(croft.waitFor(5, TimeUnit.MINUTES)).isTrue();
        } finally {
            croft.destroyForcibly();
        }

        assertThat(files()).isEmpty();
        assertThat(croft.exitValue()).isEqualTo(code);
    }

    /// A build runs these commands. If they are fast, the signal comes when they have ended.
    @Test
    @EnabledOnOs(OS.LINUX)
    void nothingIsLeftOfATrainingRunInSharedMemory() throws Exception {
        List<String> command = new ArrayList<>(receiving("INT"));
        command.addAll(List.of(ProcessHandle.current().info().command().orElseThrow(),
                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow",
                "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), Croft.class.getName(),
                "train-bulk", folder.toString()));
        Process croft = new ProcessBuilder(command).redirectErrorStream(true)
                .redirectOutput(elsewhere.resolve("said").toFile()).start();
        Path shared = Path.of("/dev/shm/croft-training-" + croft.pid());
        try {
            while (croft.isAlive() && Files.notExists(shared)) {
                Thread.sleep(1);
            }
            kill(croft, "INT");

            assertThat(croft.waitFor(5, TimeUnit.MINUTES)).isTrue();
        } finally {
            croft.destroyForcibly();
        }

        assertThat(shared).doesNotExist();
    }

    @Test
    void whatHasEndedIsNotInterrupted() {
        try (CommandRunner.Interruptible _ = CommandRunner.Interruptible.begin()) {
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
        }
        assertThat(Thread.interrupted()).isFalse();
    }

    /// The start of a command line whose program receives a signal. Programs inherit which signals are ignored, and a
    /// build that a shell runs in the background ignores SIGINT.
    private static List<String> receiving(String signal) throws IOException {
        Path status = Path.of("/proc/self/status");
        if (!signal.equals("INT") || !Files.exists(status)) {
            return List.of();
        }
        String ignored = Files.readAllLines(status).stream().filter(line -> line.startsWith("SigIgn:")).findFirst()
                .orElseThrow().substring("SigIgn:".length()).strip();
        boolean isIgnored = (Long.parseUnsignedLong(ignored, 16) & (1L << (SIGINT - 1))) != 0;
        return isIgnored ? List.of("env", "--default-signal=INT") : List.of();
    }

    private Path largeFile() throws IOException {
        Path file = folder.resolve("large.safetensors");
        String header = "{\"a\":{\"dtype\":\"U8\",\"shape\":[%s],\"data_offsets\":[0,%s]}}".formatted(SIZE, SIZE);
        try (RandomAccessFile hole = new RandomAccessFile(file.toFile(), "rw")) {
            hole.writeLong(Long.reverseBytes(header.length()));
            hole.write(header.getBytes(StandardCharsets.US_ASCII));
            hole.setLength(8L + header.length() + SIZE);
        }
        return file;
    }

    private void waitForTemporary(Process croft) throws Exception {
        while (files().stream().noneMatch(file -> file.toString().matches(".*(\\.croft-tmp|\\.tmp)"))) {
            assertThat(croft.isAlive()).as("it has ended before").isTrue();
            Thread.sleep(5);
        }
    }

    private static void kill(Process process, String signal) throws Exception {
        new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid())).start().waitFor();
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.toList();
        }
    }
}
