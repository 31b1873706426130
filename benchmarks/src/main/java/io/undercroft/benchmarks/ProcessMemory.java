package io.undercroft.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/// The memory of processes, as Linux counts it.
final class ProcessMemory {
    private static final Path RESET = Path.of("/proc/self/clear_refs");
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final String PROPORTIONAL = "Pss:";
    private static final String ANONYMOUS = "RssAnon:";
    private static final long LOOK_NANOS = 500_000;

    private ProcessMemory() {}

    /// {@return the sum of the proportional set sizes of processes, in bytes} A page that several processes have counts
    /// for each of them by its share, so that the sum over all is the memory that is really used.
    ///
    /// @param pids which processes
    /// @throws IOException if one of them is gone, or this is not Linux
    static long proportional(List<Long> pids) throws IOException {
        long sum = 0;
        for (long pid : pids) {
            sum += bytes(Path.of("/proc", Long.toString(pid), "smaps_rollup"), PROPORTIONAL);
        }
        return sum;
    }

    /// {@return the same of the mappings of one file alone}
    ///
    /// @param pids which processes
    /// @param file how the name of the file ends
    /// @throws IOException if one of them is gone, or this is not Linux
    static long proportional(List<Long> pids, String file) throws IOException {
        long sum = 0;
        for (long pid : pids) {
            boolean counts = false;
            for (String line : Files.readAllLines(Path.of("/proc", Long.toString(pid), "smaps"))) {
                // The lines of a mapping follow one that begins with its addresses and ends with its file.
                boolean isHead = line.matches("[0-9a-f]+-[0-9a-f]+ .*");
                counts = isHead ? line.endsWith(file) : counts;
                sum += counts && line.startsWith(PROPORTIONAL) ? bytes(line) : 0;
            }
        }
        return sum;
    }

    /// {@return how many resident bytes this process had more, at the peak, than before}
    ///
    /// @param task what it did meanwhile
    /// @throws IOException if that fails, or this is not Linux
    static long peakDuring(Contender.Work task) throws IOException {
        // Sets the peak to what there is now.
        Files.writeString(RESET, "5");
        long before = bytes(STATUS, "VmRSS:");
        task.run();
        return bytes(STATUS, "VmHWM:") - before;
    }

    /// {@return how many more bytes that are in no file this process had, at the peak, than before} The system keeps
    /// no peak of these, so they are looked at again and again.
    ///
    /// @param task what it did meanwhile
    /// @throws IOException if that fails, or this is not Linux
    static long anonymousPeakDuring(Contender.Work task) throws IOException {
        long before = bytes(STATUS, ANONYMOUS);
        AtomicBoolean isOver = new AtomicBoolean();
        AtomicLong peak = new AtomicLong(before);
        Thread watch = Thread.ofPlatform().daemon().start(() -> {
            try {
                while (!isOver.get()) {
                    peak.accumulateAndGet(bytes(STATUS, ANONYMOUS), Math::max);
                    LockSupport.parkNanos(LOOK_NANOS);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
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

    private static long bytes(Path file, String label) throws IOException {
        try (Stream<String> lines = Files.lines(file)) {
            return lines.filter(line -> line.startsWith(label)).mapToLong(ProcessMemory::bytes).sum();
        }
    }

    private static long bytes(String line) {
        return Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
    }
}
