package io.undercroft.mmap;

import io.undercroft.mmap.internal.Libc;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/// What children of the tests may do here.
final class Children {
    private Children() {}

    /// Whether they may have namespaces of their own.
    static boolean canUnshare() throws IOException, InterruptedException {
        Process process = new ProcessBuilder("sh", "-c",
                "unshare --pid --fork --mount-proc true && unshare -m mount -t tmpfs tmpfs /dev/shm")
                .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        return process.waitFor(5, TimeUnit.MINUTES) && process.exitValue() == 0;
    }

    /// Where the registry of this user is, if it is there.
    static Path registry() {
        return Path.of("/dev/shm/undercroft-" + Libc.find().orElseThrow().userId());
    }
}
