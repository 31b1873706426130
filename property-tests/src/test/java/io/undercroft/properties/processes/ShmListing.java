package io.undercroft.properties.processes;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/// All that is in `/dev/shm` at one moment, at any depth.
///
/// @param entries the size of each file, by its path; of a directory, that it is one
record ShmListing(Map<Path, String> entries) {
    static final Path HOME = Path.of("/dev/shm");

    static ShmListing now() throws IOException {
        Map<Path, String> found = new TreeMap<>();
        Files.walkFileTree(HOME, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
                found.put(HOME.relativize(directory), "directory");
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                found.put(HOME.relativize(file), attributes.size() + " bytes");
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException e) {
                // Somebody else removed it meanwhile.
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, IOException e) {
                return FileVisitResult.CONTINUE;
            }
        });
        return new ShmListing(found);
    }

    /// {@return what is there, and was not there, or not of that size}
    List<Path> since(ShmListing before) {
        return entries.entrySet().stream().filter(entry -> !before.entries.entrySet().contains(entry))
                .map(Map.Entry::getKey).toList();
    }
}
