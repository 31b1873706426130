package io.undercroft.cli.internal.cuda;

import static io.undercroft.cuda.internal.DeviceChecks.require;

import io.undercroft.cuda.CudaException;
import io.undercroft.cuda.internal.RandomBytes;
import io.undercroft.mmap.SharedStorageHandle;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;

/// Checks that another process opens a storage of a device, reads it and writes to it.
final class SharingCheck {
    private static final String WHAT = "a storage that another process opens, reads and writes";
    private static final long BYTES = (5L << 20) + 3;
    private static final long MOST_SECONDS = 60;
    /// The errors of systems that cannot share device memory.
    private static final List<String> NOT_SUPPORTED = List.of("CUDA_ERROR_NOT_SUPPORTED",
            "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED");

    private SharingCheck() {}

    /// Runs the check.
    ///
    /// @param checks runs the check
    /// @param device the device
    /// @param directory the directory for a temporary file
    static void run(CheckList checks, Device device, Path directory) {
        Storage host = new RandomBytes().storage(BYTES);
        try {
            Storage there = host.to(device);
            try {
                there.shareMemory();
                checks.run(WHAT, () -> {
                    invertElsewhere(SharedStorageHandle.of(there).toString(), directory.resolve("process.txt"));
                    require(there.cpu().contentEquals(inverted(host)),
                            "the bytes are not what the other process wrote");
                });
            } finally {
                there.release();
            }
        } catch (CancellationException e) {
            throw e;
        } catch (RuntimeException e) {
            if (e instanceof CudaException failure && NOT_SUPPORTED.contains(failure.name())) {
                checks.omit(WHAT, CheckList.problem(e));
            } else {
                checks.run(WHAT, () -> {
                    throw e;
                });
            }
        }
    }

    private static void invertElsewhere(String handle, Path output) throws IOException {
        Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow", "-cp",
                System.getProperty("java.class.path"), SharingCheck.class.getName(), handle)
                .redirectErrorStream(true).redirectOutput(output.toFile()).start();
        try {
            require(process.waitFor(MOST_SECONDS, TimeUnit.SECONDS), "the other process does not end");
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("the thread was interrupted while it waited for another process");
        } finally {
            process.destroyForcibly();
        }
        String said = new String(Files.readAllBytes(output), StandardCharsets.UTF_8);
        require(process.exitValue() == 0, "the other process failed: "
                + said.lines().filter(line -> line.startsWith("Exception")).findFirst().orElse(said));
    }

    private static Storage inverted(Storage host) {
        Storage inverted = host.copy();
        for (long i = 0; i < inverted.nbytes(); i++) {
            inverted.set(i, (byte) ~inverted.get(i));
        }
        return inverted;
    }

    /// Runs the other process, which inverts all bytes of a storage.
    ///
    /// @param args the handle
    /// @throws IOException if the storage cannot be opened
    public static void main(String[] args) throws IOException {
        Storage opened = SharedStorageHandle.parse(args[0]).open();
        try {
            opened.copyFrom(inverted(opened.cpu()));
        } finally {
            opened.release();
        }
    }
}
