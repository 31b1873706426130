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
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.LinkedHashMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Inputs on a disk that fails: the reads of another JVM are those of a library that reports EIO for two pages of files
/// whose names begin with `bad`.
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
            ssize_t pread64(int fd, void *into, size_t count, off_t at) {
                static ssize_t (*next)(int, void *, size_t, off_t);
                if (!next) next = dlsym(RTLD_NEXT, "pread64");
                char link[64], name[4096];
                snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
                ssize_t length = readlink(link, name, sizeof name - 1);
                name[length < 0 ? 0 : length] = 0;
                if (strstr(name, "/bad"))
                    for (int i = 0; i < 2; i++) {
                        if (at >= PAGES[i] && at < PAGES[i] + 4096) { errno = EIO; return -1; }
                        if (at < PAGES[i] && (off_t) (at + count) > PAGES[i]) count = PAGES[i] - at;
                    }
                return next(fd, into, count, at);
            }
            ssize_t pread(int fd, void *into, size_t count, off_t at) { return pread64(fd, into, count, at); }
            """;

    @TempDir
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

    static final class Peer {
        static void main(String... args) {
            Invocation said = Invocation.of((Object[]) args);
            System.out.println(said.code());
            said.out().lines().forEach(System.out::println);
            said.err().lines().forEach(System.out::println);
        }
    }

    private List<String> run(Object... words) throws Exception {
        return new PeerJvm(Map.of("LD_PRELOAD", library.toString()), List.of(), PeerJvm.NATIVE, Peer.class,
                Arrays.stream(words).map(Object::toString).toArray(String[]::new)).lines();
    }

    /// Six tensors of 64 KiB: the pages are in the second and in the fourth.
    private Path bad(String suffix) {
        Path file = folder.resolve("bad." + suffix);
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

        for (String target : List.of("croft", "pt", "safetensors", "npz")) {
            Path out = folder.resolve("out." + target);
            assertThat(run("convert", file, out)).as(target).satisfiesExactly(
                    code -> assertThat(code).isEqualTo("3"),
                    line -> assertThat(line).startsWith("croft: " + file + ": read error").contains("byte 0x12000",
                            "Input/output error", "Check the disk"));
            assertThat(out).doesNotExist();
        }
        assertThat(run("inspect", "--hash", file)).first().isEqualTo("3");
        assertThat(run("extract", file, "w1")).satisfiesExactly(code -> assertThat(code).isEqualTo("3"),
                line -> assertThat(line).contains(file + ": read error", "byte 0x12000"));
        assertThat(folder.toFile().list()).hasSize(3);
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
}
