package io.undercroft.cli.internal;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.stream.Stream;

/// Files that are written past the page cache of the system (`O_DIRECT`).
public final class DirectIo {
    /// The alignment of positions, sizes and addresses; enough for all common disks.
    public static final int ALIGNMENT = 4096;

    private DirectIo() {}

    /// {@return the option that opens a file past the page cache, if this Java runtime provides it} It is in a module
    /// of the JDK that a runtime may lack, and cannot be named in code compiled with `--release`.
    public static Optional<OpenOption> option() {
        try {
            Object[] options = Class.forName("com.sun.nio.file.ExtendedOpenOption").getEnumConstants();
            return Stream.of(options).map(OpenOption.class::cast).filter(option -> option.toString().equals("DIRECT"))
                    .findFirst();
        } catch (ClassNotFoundException _) {
            return Optional.empty();
        }
    }

    /// {@return the reason why files of a directory cannot be written with direct I/O; nothing if they can}
    ///
    /// @param directory the directory for a small temporary file
    public static Optional<String> unavailability(Path directory) {
        Optional<OpenOption> direct = option();
        if (direct.isEmpty()) {
            return Optional.of("this Java runtime lacks the module jdk.unsupported");
        }
        try {
            Path file = Files.createTempFile(directory, "croft-direct-", ".tmp");
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE, direct.get())) {
                channel.write(ByteBuffer.allocateDirect(2 * ALIGNMENT).alignedSlice(ALIGNMENT).limit(ALIGNMENT));
                return Optional.empty();
            } finally {
                Files.delete(file);
            }
        } catch (IOException | UnsupportedOperationException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }
}
