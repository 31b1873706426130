package io.undercroft.cli.internal.cuda;

import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Pages;
import io.undercroft.mmap.ReadAdvice;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.function.Consumer;

/// The system's page cache of one file.
final class PageCache {
    private static final double ALL = 0.99;
    private static final double NONE = 0.02;

    private PageCache() {}

    /// Reads a file into the cache.
    ///
    /// @param file the file
    /// @throws IOException if it does not stay there
    static void fill(Path file) throws IOException {
        try (MappedFile mapped = MappedFile.open(file, MapMode.READ_ONLY)) {
            MemorySegment bytes = mapped.map(0, mapped.size());
            Pages.probe(bytes);
            double part = residentPart(bytes);
            if (part < ALL) {
                throw new IOException("only %.0f %% of the file stay in the page cache".formatted(100 * part));
            }
        }
    }

    /// Removes a file from the cache. This needs no privileges, but the process must be allowed to write to the file,
    /// and no other process may map it.
    ///
    /// @param file the file; all that was written to it is on the disk
    /// @throws IOException if it is still there
    static void empty(Path file) throws IOException {
        double part = residentAfter(file, bytes -> {
            Pages.probe(bytes);
            Pages.advise(bytes, ReadAdvice.DONT_NEED);
        });
        if (part > NONE) {
            // Some file systems and kernels release only pages that are not mapped.
            dropUnmapped(file);
            part = residentAfter(file, _ -> {});
        }
        if (part > NONE) {
            throw new IOException("%.0f %% of the file stay in the page cache".formatted(100 * part));
        }
    }

    private static double residentAfter(Path file, Consumer<MemorySegment> action) throws IOException {
        try (MappedFile mapped = MappedFile.open(file, MapMode.READ_ONLY)) {
            MemorySegment bytes = mapped.map(0, mapped.size());
            action.accept(bytes);
            return residentPart(bytes);
        }
    }

    /// Calls `posix_fadvise` for the whole file, through a program that all Linux systems have.
    private static void dropUnmapped(Path file) throws IOException {
        try {
            new ProcessBuilder("dd", "if=" + file, "iflag=nocache", "count=0", "status=none")
                    .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start().waitFor();
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("the thread was interrupted");
        }
    }

    private static double residentPart(MemorySegment bytes) throws IOException {
        long resident = Pages.residentBytes(bytes)
                .orElseThrow(() -> new IOException("the system does not report what is in the page cache"));
        return (double) resident / bytes.byteSize();
    }
}
