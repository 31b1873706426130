package io.undercroft.cli.internal;

import io.undercroft.mmap.internal.support.DirectOption;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;

/// Files that are written past the page cache of the system (`O_DIRECT`).
public final class DirectIo {
    private static final int PAGE = (int) DirectOption.PAGE;

    private DirectIo() {}

    /// {@return the reason why files of a directory cannot be written with direct I/O; nothing if they can}
    ///
    /// @param directory the directory for a small temporary file
    public static Optional<String> unavailability(Path directory) {
        Optional<OpenOption> direct = DirectOption.find();
        if (direct.isEmpty()) {
            return Optional.of("this Java runtime lacks the module jdk.unsupported");
        }
        try {
            Path file = Files.createTempFile(directory, "croft-direct-", ".tmp");
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE, direct.get())) {
                channel.write(ByteBuffer.allocateDirect(2 * PAGE).alignedSlice(PAGE).limit(PAGE));
                return Optional.empty();
            } finally {
                Files.delete(file);
            }
        } catch (IOException | UnsupportedOperationException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }
}
