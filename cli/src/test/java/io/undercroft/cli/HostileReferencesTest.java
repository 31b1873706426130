package io.undercroft.cli;

import static io.undercroft.cli.Invocation.TRAINING;
import static io.undercroft.cli.Invocation.torch;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.testsupport.Commands;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Files that name others, and something else than a file has the name: each command ends with one line and writes
/// nothing.
@DisabledOnOs(OS.WINDOWS)
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HostileReferencesTest {
    @TempDir
    Path folder;
    private Path target;

    @BeforeEach
    void nameTheTarget() {
        target = folder.resolve("target.croft");
    }

    private static Path occupy(Path name, String kind) throws Exception {
        Files.delete(name);
        switch (kind) {
            case "fifo" -> Commands.makePipe(name);
            case "directory" -> Files.createDirectory(name);
            case "loop" -> Files.createSymbolicLink(name, name.getFileName());
            default -> {
                assumeTrue(Files.exists(Path.of(kind)), kind + " is not there");
                Files.createSymbolicLink(name, Path.of(kind));
            }
        }
        return name;
    }

    private void assertRefused(Path occupied, Object... args) {
        Invocation refused = Invocation.of(args);
        assertThat(refused.code()).as("%s", List.of(args)).isBetween(1, 4);
        assertThat(refused.err()).as("%s", List.of(args)).startsWith("croft: ").doesNotContain("fault in croft",
                "\tat ");
        assertThat(refused.err().lines()).as("%s", List.of(args)).hasSizeLessThanOrEqualTo(2)
                .anyMatch(line -> line.contains(occupied.getFileName().toString()));
        assertThat(target).doesNotExist();
    }

    @ParameterizedTest
    @ValueSource(strings = {"fifo", "directory", "loop", "/proc/self/mem", "/proc/self/environ", "/dev/zero",
            "/dev/null"})
    void whatIsNoFileIsNoBase(String kind) throws Exception {
        Path file = folder.resolve("thin.croft");
        for (Path source : List.of(TRAINING, folder.resolve("base.croft"))) {
            Path base = folder.resolve(source.equals(TRAINING) ? "weights.pt" : "base.croft");
            if (source.equals(TRAINING)) {
                Files.copy(TRAINING, base);
            } else {
                Invocation.of("convert", TRAINING, base);
            }
            assertThat(Invocation.of("convert", base, file, "--base", base).code()).isZero();
            occupy(base, kind);
            for (List<Object> options : List.<List<Object>>of(List.of("--root", folder), List.of("--base", base))) {
                for (List<Object> command : List.<List<Object>>of(List.of("verify", file), List.of("inspect", "--hash",
                        file), List.of("convert", file, target), List.of("convert", "--self-contained", file, target),
                        List.of("convert", file, target, "--base", file))) {
                    if (!command.getFirst().equals("inspect") || options.getFirst().equals("--root")) {
                        assertRefused(base, Stream.concat(command.stream(), options.stream()).toArray());
                    }
                }
            }
            assertRefused(base, "convert", TRAINING, target, "--base", base);
            Files.delete(base);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"fifo", "directory", "loop", "/proc/self/mem", "/proc/self/environ", "/dev/zero",
            "/dev/null"})
    void whatIsNoFileIsNoShard(String kind) throws Exception {
        Path index = folder.resolve("model.safetensors.index.json");
        assertThat(Invocation.of("convert", torch("tied.pt"), index).code()).isZero();
        Path shard;
        try (Stream<Path> files = Files.list(folder)) {
            shard = files.filter(file -> !file.equals(index)).findFirst().orElseThrow();
        }
        occupy(shard, kind);
        for (String command : List.of("inspect", "verify")) {
            assertRefused(shard, command, index);
            assertRefused(shard, command, index, "--root", folder);
        }
        assertRefused(shard, "convert", index, target);
        assertRefused(shard, "convert", index, target, "--base", index);
        Path file = folder.resolve("part.croft");
        Invocation.of("convert", torch("tied.pt"), file);
        Path set = folder.resolve("all.croftset");
        assertThat(Invocation.of("set", "create", set, file).code()).isZero();
        occupy(file, kind);
        assertRefused(file, "set", "list", set);
        assertRefused(file, "set", "create", target.resolveSibling("other.croftset"), file);
    }

    /// There and back again.
    @Test
    void filesThatNameEachOtherAreShownAndCopied() throws IOException {
        Path a = folder.resolve("a.croft");
        Path b = folder.resolve("b.croft");
        Invocation.of("convert", torch("tied.pt"), a);
        assertThat(Invocation.of("convert", torch("tied.pt"), b, "--base", a).code()).isZero();
        assertThat(Invocation.of("append", b, TRAINING).code()).isZero();
        assertThat(Invocation.of("append", a, TRAINING, "--base", b).code()).isZero();
        for (Path file : List.of(a, b)) {
            assertThat(Invocation.of("verify", file).out()).contains("no damage found");
            assertThat(Invocation.of("inspect", "--hash", file).code()).isZero();
            assertThat(Invocation.of("convert", "--self-contained", file, target).code()).isZero();
            Files.delete(target);
        }
        for (Path file : List.of(a, b)) {
            try (Checkpoint _ = Checkpoint.open(file.equals(a) ? b : a)) {
                assertThat(Invocation.of("convert", TRAINING, file).err()).contains("are stored in it");
            }
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void moreShardsThanAProcessMayOpenAreToldInOneLine() throws Exception {
        Path file = folder.resolve("part.croft");
        Path set = folder.resolve("all.croftset");
        Invocation.of("convert", torch("tied.pt"), file);
        List<Path> shards = IntStream.range(0, 500).mapToObj(number -> folder.resolve(number + ".croft")).toList();
        for (Path shard : shards) {
            Files.createLink(shard, file);
        }
        assertThat(Invocation.of(Stream.concat(Stream.of("set", "create", set), shards.stream()).toArray()).code())
                .isZero();
        Path small = folder.resolve("small.croftset");
        assertThat(Invocation.of("set", "create", small, file).code()).isZero();
        try (PeerJvm peer = PeerJvm.startAfter("ulimit -n 200", HostileReferencesTest.class, small.toString(),
                folder.resolve("no.croftset").toString(), set.toString())) {
            assertThat(peer.lines()).singleElement().asString().startsWith("3 croft: " + folder)
                    .contains("too many files are open", "ulimit -n");
        }
    }

    /// Lists the shards of sets, so that each class is loaded when the last one takes all descriptors: here every class
    /// is a file of its own. Prints how that one ended.
    public static void main(String[] args) {
        Invocation last = null;
        for (String set : args) {
            last = Invocation.of("set", "list", set);
        }
        System.out.print(last == null ? "" : last.code() + " " + last.err());
    }
}
