package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.PublishedCheckpoint;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;

/// One of the JVMs of [StartupBenchmark]: opens files, and reads the names and one element of each. It prints the
/// milliseconds that all of that took, counted from its first line, and the last element; nothing if there is no file.
/// `shm:NAME` is what is published under a name.
///
/// It has no lambda and formats nothing, as that would be measured too.
final class StartupPeer {
    private static final String PUBLISHED = "shm:";

    private StartupPeer() {}

    /// Opens files.
    ///
    /// @param files the files
    /// @throws IOException if one cannot be opened
    public static void main(String... files) throws IOException {
        long start = System.nanoTime();
        float element = 0;
        for (String file : files) {
            try (Checkpoint checkpoint = open(file)) {
                Tensor tensor = checkpoint.tensor(checkpoint.names().iterator().next());
                element = tensor.getFloat(3, 17);
            }
        }
        if (files.length > 0) {
            System.out.println((System.nanoTime() - start) / 1e6);
            System.out.println(element);
        }
    }

    private static Checkpoint open(String file) throws IOException {
        return file.startsWith(PUBLISHED)
                ? PublishedCheckpoint.attach(file.substring(PUBLISHED.length()))
                : Checkpoint.open(Path.of(file));
    }
}
