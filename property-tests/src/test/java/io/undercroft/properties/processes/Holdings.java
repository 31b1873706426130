package io.undercroft.properties.processes;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/// What the system keeps for this process, on Linux.
///
/// @param mappings how many ranges of addresses are mapped
/// @param descriptors how many are open
record Holdings(long mappings, long descriptors) {
    static Holdings now() throws IOException {
        try (Stream<String> mapped = Files.lines(Path.of("/proc/self/maps"));
                Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return new Holdings(mapped.count(), open.count());
        }
    }

    Holdings minus(Holdings others) {
        return new Holdings(mappings - others.mappings, descriptors - others.descriptors);
    }
}
