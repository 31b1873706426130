package io.undercroft.cli;

import io.undercroft.cli.internal.TextOutput;
import io.undercroft.cli.internal.quickstart.Quickstart;
import io.undercroft.mmap.SharedMemory;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/// Runs commands on the bundled checkpoint and discards their output. The JVM stores the classes that they load in an
/// AOT cache, with which the launcher script starts later commands.
///
/// There are two caches, since a JVM loads all classes of its cache when it starts: one for commands that only read the
/// index of a file, and one for the others. The commands for the first cache use files that those for the second write.
final class Training {
    private static final String CHECKPOINT = "/tiny-gpt2-training.pt";

    private final List<List<String>> bulk = new ArrayList<>();
    private final List<List<String>> small = new ArrayList<>();
    private final String shared = "croft-training-" + ProcessHandle.current().pid();

    /// @param folder where the files are
    Training(Path folder) {
        String torch = folder.resolve("in.pt").toString();
        String croft = folder.resolve("out.croft").toString();
        String safetensors = folder.resolve("out.safetensors").toString();
        String set = folder.resolve("all.croftset").toString();
        bulk.add(List.of("convert", torch, croft));
        bulk.add(List.of("convert", torch, safetensors, "--part", "model"));
        bulk.add(List.of("convert", safetensors, folder.resolve("again.pt").toString()));
        bulk.add(List.of("inspect", "--json", "--hash", torch));
        bulk.add(List.of("verify", croft, torch, safetensors));
        bulk.add(List.of("append", croft, torch, "--message", "again"));
        bulk.add(List.of("diff", "--stats", torch, croft));
        bulk.add(List.of("extract", croft, "model/lm_head.weight", "-o", folder.resolve("head.npy").toString()));
        bulk.add(List.of("dedup", folder.toString()));
        bulk.add(List.of("compact", croft));
        bulk.add(List.of("salvage", croft, folder.resolve("intact.croft").toString()));
        bulk.add(List.of("shm", "publish", croft, shared));
        bulk.add(List.of("inspect", "/dev/shm/" + shared));
        bulk.add(List.of("shm", "remove", shared));
        bulk.add(List.of("set", "create", set, croft));

        small.add(List.of("--version"));
        small.add(List.of("--help"));
        small.add(List.of("help", "inspect"));
        small.add(List.of("inspect", croft));
        small.add(List.of("inspect", torch));
        small.add(List.of("inspect", safetensors));
        small.add(List.of("inspect", "--json", croft));
        small.add(List.of("inspect", folder.resolve("missing.pt").toString()));
        small.add(List.of("inspect", "--only", "model/**", "--sort", "size", croft));
        small.add(List.of("inspect", "--html", folder.resolve("page.html").toString(), croft));
        small.add(List.of("extract", croft, "model/lm_head.weight", "--rows", "0:3"));
        // Chronicle is not on the class path of the cache.
        small.add(List.of("hexdump", "--json", croft));
        small.add(List.of("snapshots", croft));
        small.add(List.of("set", "list", set));
        small.add(List.of("shm", "list"));
        small.add(List.of("shm", "remove", shared));
        // A build must not remove shared memory that it has not created, even if no process uses it.
        small.add(List.of("shm", "gc", "--help"));
        small.add(List.of("formats"));
        small.add(List.of("doctor"));
        small.add(List.of("completion"));
    }

    /// {@return the command lines that read or write many bytes}
    List<List<String>> bulk() {
        return bulk;
    }

    /// {@return the other command lines}
    List<List<String>> small() {
        return small;
    }

    /// Runs the command lines that read or write many bytes, on files in a directory. The files stay there.
    ///
    /// @param folder the directory
    /// @return the exit code
    /// @throws IOException if the checkpoint cannot be written
    static int runBulk(Path folder) throws IOException {
        try (InputStream bundled = Quickstart.class.getResourceAsStream(CHECKPOINT)) {
            Files.copy(Objects.requireNonNull(bundled, CHECKPOINT), folder.resolve("in.pt"));
        }
        Training training = new Training(folder);
        return training.run(training.bulk());
    }

    /// Runs the other command lines, on files that [#runBulk] left.
    ///
    /// @param folder the directory
    /// @return the exit code
    /// @throws IOException never
    static int runSmall(Path folder) throws IOException {
        Training training = new Training(folder);
        return training.run(training.small());
    }

    /// Some commands may fail, for instance on a machine without shared memory. If the process receives a signal to
    /// end, the shared memory is removed before it does.
    private int run(List<List<String>> lines) throws IOException {
        try (CommandRunner.Interruptible _ = CommandRunner.Interruptible.begin()) {
            try {
                for (List<String> line : lines) {
                    if (Thread.currentThread().isInterrupted()) {
                        break;
                    }
                    int _ = Croft.execute(new TextOutput(OutputStream.nullOutputStream()),
                            new PrintWriter(Writer.nullWriter()), line.toArray(String[]::new));
                }
            } finally {
                // Removing uses channels, which are interruptible.
                boolean _ = Thread.interrupted();
                SharedMemory.unlink(shared);
            }
        }
        return CommandRunner.OK;
    }
}
