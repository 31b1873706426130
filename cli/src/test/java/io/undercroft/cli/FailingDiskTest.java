package io.undercroft.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.LinkedHashMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Disks that fail: another JVM has a library that reports EIO for reads of two pages of files whose names begin with
/// `bad`, and for what is written in some directories, or forced.
class FailingDiskTest {
    private static final String SHIM = """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <errno.h>
            #include <stdio.h>
            #include <string.h>
            #include <sys/types.h>
            #include <unistd.h>
            static const off_t PAGES[] = {0x12000, 0x32000};
            static int in(int fd, const char *part) {
                char link[64], name[4096];
                snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
                ssize_t length = readlink(link, name, sizeof name - 1);
                name[length < 0 ? 0 : length] = 0;
                return strstr(name, part) != 0;
            }
            ssize_t pread64(int fd, void *into, size_t count, off_t at) {
                static ssize_t (*next)(int, void *, size_t, off_t);
                if (!next) next = dlsym(RTLD_NEXT, "pread64");
                if (in(fd, "/bad"))
                    for (int i = 0; i < 2; i++) {
                        if (at >= PAGES[i] && at < PAGES[i] + 4096) { errno = EIO; return -1; }
                        if (at < PAGES[i] && (off_t) (at + count) > PAGES[i]) count = PAGES[i] - at;
                    }
                return next(fd, into, count, at);
            }
            ssize_t pread(int fd, void *into, size_t count, off_t at) { return pread64(fd, into, count, at); }
            ssize_t pwrite64(int fd, const void *from, size_t count, off_t at) {
                static ssize_t (*next)(int, const void *, size_t, off_t);
                if (!next) next = dlsym(RTLD_NEXT, "pwrite64");
                if (in(fd, "/unwritable/")) { errno = EIO; return -1; }
                return next(fd, from, count, at);
            }
            ssize_t write(int fd, const void *from, size_t count) {
                static ssize_t (*next)(int, const void *, size_t);
                if (!next) next = dlsym(RTLD_NEXT, "write");
                if (in(fd, "/unwritable/")) { errno = EIO; return -1; }
                return next(fd, from, count);
            }
            static int forced(int fd, const char *name) {
                int (*next)(int) = dlsym(RTLD_NEXT, name);
                if (in(fd, "/unforced/")) { errno = EIO; return -1; }
                return next(fd);
            }
            int fsync(int fd) { return forced(fd, "fsync"); }
            int fdatasync(int fd) { return forced(fd, "fdatasync"); }
            """;

    /// `LD_PRELOAD` takes no path with blanks.
    @TempDir(factory = NextToTheClasses.class)
    Path folder;
    private Path library;

    @BeforeEach
    void compile() throws Exception {
        library = folder.resolve("shim.so");
        Path source = Files.writeString(folder.resolve("shim.c"), SHIM);
        try {
            int code = new ProcessBuilder("cc", "-shared", "-fPIC", "-o", library.toString(), source.toString(), "-ldl")
                    .inheritIO().start().waitFor();
            assumeTrue(code == 0, "the library is for Linux");
        } catch (IOException e) {
            assumeTrue(false, "there is no C compiler");
        }
    }

    /// Runs commands, each of which is one argument.
    static final class Peer {
        static void main(String... commands) {
            for (String command : commands) {
                Invocation said = Invocation.of(command);
                System.out.println((said.code() + "\n" + said.out() + said.err()).strip() + "\n----");
            }
        }
    }

    /// {@return for each command the code that it ended with, and its lines}
    private List<List<String>> runAll(List<String> commands) throws Exception {
        List<String> lines = new PeerJvm(Map.of("LD_PRELOAD", library.toString()), List.of(), PeerJvm.NATIVE,
                Peer.class, commands.toArray(String[]::new)).lines();
        return Arrays.stream(String.join("\n", lines).split("\n----")).map(said -> said.strip().lines().toList())
                .toList();
    }

    private List<String> run(Object... words) throws Exception {
        return runAll(List.of(Arrays.stream(words).map(Object::toString).collect(Collectors.joining(" ")))).getFirst();
    }

    /// Six tensors of 64 KiB: the pages are in the second and in the fourth.
    private Path bad(String suffix) {
        return save("bad." + suffix);
    }

    private Path save(String name) {
        Path file = folder.resolve(name);
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < 6; i++) {
            state.put("w" + i, Tensor.full(DType.FLOAT32, i + 1, 1 << 14));
        }
        try {
            Checkpoint.save(file, state);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        return file;
    }

    @ParameterizedTest
    @CsvSource({"croft, tensor 'w1', tensor 'w3'", "pt, record archive/data/1, record archive/data/3",
            "npz, record w1.npy, record w3.npy"})
    void verifyReportsEachPlaceThatCannotBeRead(String suffix, String first, String second) throws Exception {
        Path file = bad(suffix);

        List<String> said = run("verify", file);

        assertThat(said).hasSize(4);
        assertThat(said.getFirst()).isEqualTo("3");
        assertThat(said.get(1)).startsWith("croft: " + file + ": " + first + " cannot be read: read error [READ-ERROR]")
                .endsWith(" at byte 0x12000)");
        assertThat(said.get(2)).startsWith("croft: " + file + ": " + second + " cannot be read: read error")
                .endsWith(" at byte 0x32000)");
        assertThat(said.get(3)).endsWith("no damage was found, but 2 parts cannot be read");
    }

    @ParameterizedTest
    @ValueSource(strings = {"croft", "pt", "npz", "safetensors", "gguf", "t7"})
    void whatIsSavedNamesTheInputAndThePlace(String suffix) throws Exception {
        Path file = bad(suffix);

        List<String> targets = List.of("croft", "pt", "safetensors", "npz");
        List<String> commands = new ArrayList<>(
                targets.stream().map(target -> "convert " + file + " " + folder + "/out." + target).toList());
        commands.add("extract " + file + " w1");

        List<List<String>> said = runAll(commands);

        for (int i = 0; i <= targets.size(); i++) {
            assertThat(said.get(i)).as(commands.get(i)).hasSize(2);
            assertThat(said.get(i).getFirst()).isEqualTo("3");
            assertThat(said.get(i).getLast()).startsWith("croft: " + file + ": read error").contains("byte 0x12000",
                    "Input/output error", "Check the disk");
        }
        assertThat(folder.toFile().list()).hasSize(3);
    }

    /// (The tensors of Torch7 are objects among others, which opening reads.)
    @ParameterizedTest
    @ValueSource(strings = {"croft", "pt", "npz", "safetensors", "gguf"})
    void whatCanBeReadIsHashedAndCompared(String suffix) throws Exception {
        Path file = bad(suffix);
        Path good = Files.copy(file, folder.resolve("good." + suffix));

        List<List<String>> said = runAll(List.of("inspect --hash " + file, "inspect --hash " + good,
                "diff " + file + " " + save("good.npz")));

        List<String> hashed = said.getFirst();
        assertThat(hashed.getFirst()).isEqualTo("3");
        assertThat(hashed).anyMatch(line -> line.startsWith("croft: " + file + ": ")
                && line.contains("read error") && line.contains("byte 0x12000"));
        for (int i = 0; i < 6; i++) {
            String name = "w" + i + " ";
            String expected = said.get(1).stream().filter(line -> line.startsWith(name)).findFirst().orElseThrow();
            assertThat(hashed).filteredOn(line -> line.startsWith(name)).containsExactly(
                    i == 1 || i == 3 ? expected.replaceAll(" +[0-9a-f]{16}…", "") : expected);
        }
        assertThat(said.getLast().getFirst()).isEqualTo("3");
        assertThat(said.getLast()).contains("4 tensors equal, 0 changed, 0 only in A, 0 only in B, 2 not compared");
    }

    @Test
    void salvageKeepsWhatCanBeRead() throws Exception {
        Path file = bad("croft");
        Path out = folder.resolve("out.croft");

        assertThat(run("salvage", file, out)).startsWith("3").contains(
                "croft: " + file + ": storage 1 cannot be read: read error [READ-ERROR] (at byte 0x12000)",
                "croft: " + file + ": left out: w1, w3").noneMatch(line -> line.contains("FFFF"));
        try (Checkpoint saved = Checkpoint.open(out)) {
            assertThat(saved.names()).containsExactlyInAnyOrder("w0", "w2", "w4", "w5");
        }
    }

    /// Every writer, on a disk that does not write and on one that reports it when the file is forced.
    @ParameterizedTest
    @ValueSource(strings = {"unwritable", "unforced"})
    void whatCannotBeWrittenLeavesTheOldFileAndNothingElse(String directory) throws Exception {
        Path good = folder.resolve("good.croft");
        Files.move(bad("croft"), good);
        Path into = Files.createDirectory(folder.resolve(directory));
        Map<String, String> commands = new LinkedHashMap<>();
        for (String suffix : List.of("croft", "pt", "safetensors", "npz", "gguf", "t7")) {
            commands.put("old." + suffix, "convert %1$s %2$s");
        }
        commands.put("deflated.npz", "convert --to-set npz.compression=deflate %1$s %2$s");
        commands.put("new.safetensors.index.json", "convert %1$s %2$s");
        commands.put("old.npy", "extract %1$s w1 -o %2$s");
        commands.put("new.html", "inspect --html %2$s %1$s");
        commands.put("saved.croft", "salvage %1$s %2$s");
        commands.put("copied.croft", "append %2$s %1$s");
        commands.put("copied2.croft", "compact %2$s");
        List<String> runs = new ArrayList<>();
        Map<String, byte[]> before = new LinkedHashMap<>();
        for (var each : commands.entrySet()) {
            Path file = into.resolve(each.getKey());
            runs.add(each.getValue().formatted(good, file));
            if (!each.getKey().startsWith("new")) {
                Files.copy(each.getKey().startsWith("copied") ? good : library, file);
                before.put(each.getKey(), Files.readAllBytes(file));
            }
        }

        List<List<String>> said = runAll(runs);

        for (int i = 0; i < runs.size(); i++) {
            assertThat(said.get(i)).as(runs.get(i)).hasSize(2);
            assertThat(said.get(i).getFirst()).as(runs.get(i)).isEqualTo("1");
            assertThat(said.get(i).getLast()).as(runs.get(i)).startsWith("croft: ").contains(into.toString(),
                    "Input/output error");
        }
        assertThat(into.toFile().list()).containsExactlyInAnyOrderElementsOf(before.keySet());
        for (var each : before.entrySet()) {
            assertThat(into.resolve(each.getKey())).hasBinaryContent(each.getValue());
        }
    }
}
