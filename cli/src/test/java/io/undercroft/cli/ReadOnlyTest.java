package io.undercroft.cli;

import static io.undercroft.cli.Invocation.torch;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.testsupport.Commands;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/// A file system and a `/dev/shm` that may only be read: what is there is shown and copied, and what would write says
/// so in one line and leaves nothing. In a process that has mounts of its own.
@EnabledOnOs(OS.LINUX)
class ReadOnlyTest {
    @TempDir
    Path folder;

    @Test
    void whatMayOnlyBeReadIsReadAndNotWritten() throws Exception {
        Path saved = Files.createDirectory(folder.resolve("saved"));
        Path mounted = Files.createDirectory(folder.resolve("mounted"));
        Path croft = saved.resolve("a.croft");
        Files.copy(torch("tied.pt"), saved.resolve("tied.pt"));
        Invocation.of("convert", torch("tied.pt"), croft);
        Invocation.of("append", croft, torch("views.pt"));
        Invocation.of("convert", saved.resolve("tied.pt"), saved.resolve("thin.croft"), "--base",
                saved.resolve("tied.pt"));
        Invocation.of("convert", torch("tied.pt"), saved.resolve("model.safetensors.index.json"));
        Invocation.of("set", "create", saved.resolve("all.croftset"), croft);
        String mounting = ("mount -t tmpfs tmpfs %2$s && cp %1$s/* %2$s && mount -o remount,ro %2$s"
                + " && mount -t tmpfs tmpfs /dev/shm && mount -o remount,ro /dev/shm")
                .formatted(Commands.quoted(saved), Commands.quoted(mounted));
        assumeTrue(Commands.succeed("unshare", "-m", "sh", "-c", mounting), "mounting needs privileges");

        try (PeerJvm peer = PeerJvm.startMounting(mounting, ReadOnlyTest.class, mounted.toString(),
                Files.createDirectory(folder.resolve("copies")).toString())) {
            assertThat(peer.lines()).endsWith("done").noneMatch(line -> line.contains("WRONG"));
        }
    }

    /// Runs the commands, and prints what is wrong.
    ///
    /// @param args what may only be read, and a folder for copies
    public static void main(String[] args) throws IOException {
        Path there = Path.of(args[0]);
        Path copies = Path.of(args[1]);
        Path croft = there.resolve("a.croft");
        Path thin = there.resolve("thin.croft");
        Path pt = there.resolve("tied.pt");
        Path index = there.resolve("model.safetensors.index.json");
        Set<Path> before = list(there);
        List<String> wrong = new ArrayList<>();
        reads(wrong, "inspect", croft);
        reads(wrong, "inspect", "--json", "--hash", thin, "--root", there);
        reads(wrong, "inspect", index);
        reads(wrong, "snapshots", croft);
        reads(wrong, "verify", croft);
        reads(wrong, "verify", thin, "--root", there);
        reads(wrong, "set", "list", there.resolve("all.croftset"));
        reads(wrong, "convert", pt, copies.resolve("b.croft"));
        reads(wrong, "convert", croft, copies.resolve("b.safetensors"));
        reads(wrong, "convert", "--keep-bases", croft, copies.resolve("c.croft"), "--at", 1);
        reads(wrong, "convert", "--self-contained", thin, copies.resolve("d.croft"), "--root", there);
        reads(wrong, "shm", "list");
        refuses(wrong, "append", croft, pt);
        for (String name : List.of("new.croft", "thin.croft", "new.pt", "new.safetensors", "new.npz", "new.gguf",
                "new.safetensors.index.json", "model.safetensors.index.json")) {
            refuses(wrong, "convert", pt, there.resolve(name));
        }
        refuses(wrong, "convert", pt, there.resolve("new.croft"), "--base", pt);
        refuses(wrong, "compact", croft, "--keep", 1);
        refuses(wrong, "convert", "--keep-bases", croft, there.resolve("new.croft"), "--at", 1);
        refuses(wrong, "convert", "--self-contained", thin, there.resolve("new.croft"), "--root", there);
        refuses(wrong, "salvage", croft, there.resolve("new.croft"));
        refuses(wrong, "set", "create", there.resolve("all.croftset"), croft);
        refuses(wrong, "set", "create", there.resolve("new.croftset"), croft);
        refuses(wrong, "shm", "publish", croft, "croft-read-only");
        if (!before.equals(list(there)) || !list(Path.of("/dev/shm")).isEmpty()) {
            wrong.add("left behind: " + list(there) + list(Path.of("/dev/shm")));
        }
        wrong.forEach(line -> System.out.println("WRONG " + line));
        System.out.println("done");
    }

    private static Set<Path> list(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.collect(Collectors.toSet());
        }
    }

    private static void reads(List<String> wrong, Object... args) {
        Invocation run = Invocation.of(args);
        if (run.code() != 0) {
            wrong.add(Arrays.toString(args) + " ended with " + run.code() + ": " + run.err());
        }
    }

    private static void refuses(List<String> wrong, Object... args) {
        Invocation run = Invocation.of(args);
        boolean said = run.err().contains("Read-only file system") || run.err().contains("mounted for reading only");
        if (run.code() != 1 || !said || run.err().lines().count() != 1 || run.err().contains("croft-tmp")) {
            wrong.add(Arrays.toString(args) + " ended with " + run.code() + ": " + run.err() + run.out());
        }
    }
}
