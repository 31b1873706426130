package io.undercroft.mmap;

import java.io.IOException;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;

/// A name in shared memory for each test, which is free before and after it.
abstract class NamedSegment {
    static final Path HOME = Path.of("/dev/shm");

    final String name = "undercroft-test-" + UUID.randomUUID();

    @AfterEach
    void removeTheName() throws IOException {
        SharedMemory.unlink(name);
    }
}
