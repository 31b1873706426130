package io.undercroft.mmap;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/// What Linux knows about this process.
final class Proc {
    private Proc() {}

    /// How many mappings mention the text.
    static long mappings(String text) throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(line -> line.contains(text)).count();
        }
    }

    /// Whether an address is mapped.
    static boolean isMapped(long address) throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.map(line -> line.substring(0, line.indexOf(' ')).split("-", 2))
                    .anyMatch(range -> Long.parseUnsignedLong(range[0], 16) <= address
                            && address < Long.parseUnsignedLong(range[1], 16));
        }
    }

    /// How many descriptors are open.
    static long descriptors() throws IOException {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.count();
        }
    }
}
