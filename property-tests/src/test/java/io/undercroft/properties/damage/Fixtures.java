package io.undercroft.properties.damage;

import io.undercroft.properties.Repository;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/// Files of real PyTorch that are in the repository.
final class Fixtures {
    /// Larger ones take too long to damage thousands of times.
    private static final long SMALL = 64 << 10;
    private static final Path ZIPS = Repository.path("test-support/fixtures/pytorch");

    private Fixtures() {}

    /// {@return small files of torch's zip format, those that are malformed on purpose among them}
    static List<Path> torchZips() {
        try (Stream<Path> files = Files.list(ZIPS)) {
            return files.filter(Fixtures::isSmallZip).sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static Path torchZip(String name) {
        return ZIPS.resolve(name);
    }

    private static boolean isSmallZip(Path file) {
        String name = file.getFileName().toString();
        return name.endsWith(".pt") && !name.endsWith(".legacy.pt") && !name.endsWith(".tar.pt")
                && sizeOf(file) <= SMALL;
    }

    private static long sizeOf(Path file) {
        try {
            return Files.size(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
