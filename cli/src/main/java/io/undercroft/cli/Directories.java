package io.undercroft.cli;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/// Directories that were named where a file is wanted. Other programs take the directory of a model.
final class Directories {
    private Directories() {}

    /// {@return the file in a directory that was probably meant: the index of a set if there is one, else the first by
    /// name that is called like a file of tensors}
    ///
    /// @param directory any directory
    static Optional<Path> modelIn(Path directory) {
        List<CheckpointFormat> formats = Checkpoint.formats();
        Comparator<Path> indexFirst = Comparator
                .comparing(file -> !isOf(file, formats.stream().filter(Directories::isIndex)));
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> isOf(file, formats.stream()))
                    .min(indexFirst.thenComparing(Comparator.naturalOrder()));
        } catch (IOException _) {
            return Optional.empty();
        }
    }

    private static boolean isIndex(CheckpointFormat format) {
        return format.capabilities().contains(Capability.SEVERAL_FILES);
    }

    private static boolean isOf(Path file, Stream<CheckpointFormat> formats) {
        String name = file.toString();
        return formats.flatMap(format -> format.suffixes().stream()).anyMatch(name::endsWith);
    }
}
