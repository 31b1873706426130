package io.undercroft.mmap;

import io.undercroft.mmap.internal.ErrnoException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/// Pages could not be locked in memory. The message is one line: how much was to be locked, how much may be, and how to
/// raise that.
public final class MemoryLockException extends IOException {
    private static final long serialVersionUID = 1L;

    private MemoryLockException(String message, IOException cause) {
        super(message, cause);
    }

    static MemoryLockException of(long nbytes, ErrnoException cause) {
        return new MemoryLockException(nbytes + " bytes cannot be locked in memory (" + cause.getMessage() + "): "
                + limit() + "; raise it by ulimit -l, LimitMEMLOCK= of systemd, or docker run --ulimit memlock=-1",
                cause);
    }

    /// Returns the limit, from the line `Max locked memory  8388608  8388608  bytes` of Linux.
    private static String limit() {
        try (Stream<String> limits = Files.lines(Path.of("/proc/self/limits"))) {
            return limits.filter(line -> line.startsWith("Max locked memory")).findFirst()
                    .map(line -> "this process may lock " + line.split("\\s{2,}", -1)[1] + " bytes in all")
                    .orElse("the limit of this process is too low");
        } catch (IOException e) {
            return "the limit of this process is too low";
        }
    }
}
