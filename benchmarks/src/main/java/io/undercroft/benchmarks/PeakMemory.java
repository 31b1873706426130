package io.undercroft.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/// The resident memory of this process, as Linux counts it.
final class PeakMemory {
    private static final Path RESET = Path.of("/proc/self/clear_refs");
    private static final Path STATUS = Path.of("/proc/self/status");

    private static final long LOOK_NANOS = 500_000;

    private PeakMemory() {}

    /// Work whose memory is measured.
    @FunctionalInterface
    interface Task {
        void run() throws IOException;
    }

    /// {@return how many bytes the process had more, at the peak, than before}
    ///
    /// @param task what it did meanwhile
    /// @throws IOException if that fails, or this is not Linux
    static long during(Task task) throws IOException {
        // Sets the peak to what there is now.
        Files.writeString(RESET, "5");
        long before = bytes("VmRSS:");
        task.run();
        return bytes("VmHWM:") - before;
    }

    /// {@return how many more bytes that are in no file the process had, at the peak, than before} The system keeps
    /// no peak of these, so they are looked at again and again.
    ///
    /// @param task what it did meanwhile
    /// @throws IOException if that fails, or this is not Linux
    static long anonymousDuring(Task task) throws IOException {
        long before = bytes("RssAnon:");
        AtomicBoolean isOver = new AtomicBoolean();
        AtomicLong peak = new AtomicLong(before);
        Thread watch = Thread.ofPlatform().daemon().start(() -> {
            while (!isOver.get()) {
                peak.accumulateAndGet(bytesNow(), Math::max);
                LockSupport.parkNanos(LOOK_NANOS);
            }
        });
        try {
            task.run();
        } finally {
            isOver.set(true);
        }
        try {
            watch.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException("this thread is never interrupted", e);
        }
        return peak.get() - before;
    }

    private static long bytesNow() {
        try {
            return bytes("RssAnon:");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static long bytes(String label) throws IOException {
        List<String> lines = Files.readAllLines(STATUS);
        return lines.stream().filter(line -> line.startsWith(label))
                .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) << 10).sum();
    }
}
