package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// The directory of a model, in the layout of model hubs: one file of tensors, or the index of a set and its files,
/// among configurations and vocabularies.
public final class ModelDirectory {
    /// The names that Transformers gives to a model, the preferred one first.
    private static final List<String> USUAL = List.of("model.safetensors.index.json", "model.safetensors",
            "pytorch_model.bin.index.json", "pytorch_model.bin");
    private static final int MOST_NAMED = 3;

    private ModelDirectory() {}

    /// {@return the file to open: the path itself, or if it is a directory the one file in it that is the model}
    ///
    /// @param path a file or a directory
    /// @throws FileSystemException if no file in the directory has the suffix of a known format, or several have
    /// @throws IOException if the directory cannot be read
    public static Path fileIn(Path path) throws IOException {
        if (!Files.isDirectory(path)) {
            return path;
        }
        for (String name : USUAL) {
            if (Files.isRegularFile(path.resolve(name))) {
                return path.resolve(name);
            }
        }
        List<Path> files = list(path, Formats.all());
        List<Path> indexes = list(path, Formats.all().stream()
                .filter(format -> format.capabilities().contains(Capability.SEVERAL_FILES)).toList());
        List<Path> candidates = indexes.isEmpty() ? files : indexes;
        if (candidates.size() != 1) {
            throw new FileSystemException(path.toString(), null, candidates.isEmpty()
                    ? Lookalike.of(path).map("it is "::concat).orElse(
                            "it is a directory, in which no file has the suffix of a known format; name a file")
                    : "it is a directory with " + candidates.size() + " files of tensors; name one of them: "
                            + names(candidates));
        }
        return candidates.getFirst();
    }

    private static List<Path> list(Path directory, List<CheckpointFormat> formats) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> Formats.bySuffix(file, formats).isPresent()).filter(Files::isRegularFile)
                    .sorted().toList();
        }
    }

    private static String names(List<Path> files) {
        String names = files.stream().limit(MOST_NAMED)
                .map(file -> FormatException.quote(file.getFileName().toString()))
                .collect(Collectors.joining(", "));
        return files.size() > MOST_NAMED ? names + ", …" : names;
    }
}
