package io.undercroft.properties;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/// A directory of its own that goes when it is closed; in memory where the host has that, since laws save thousands of
/// files.
public record Scratch(Path directory) implements AutoCloseable {
    public static Scratch make() throws IOException {
        Path memory = Path.of("/dev/shm");
        return Files.isWritable(memory) ? new Scratch(Files.createTempDirectory(memory, "undercroft-")) : onDisk();
    }

    /// Where files are written past the page cache, which memory has no way past.
    public static Scratch onDisk() throws IOException {
        return new Scratch(Files.createTempDirectory("undercroft-"));
    }

    public Path file(String name) {
        return directory.resolve(name);
    }

    public Path write(String name, byte[] bytes) throws IOException {
        return Files.write(file(name), bytes);
    }

    /// Deletes all files.
    public void clear() throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            for (Path file : files) {
                Files.delete(file);
            }
        }
    }

    @Override
    public void close() throws IOException {
        clear();
        Files.delete(directory);
    }
}
