package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// The directory of a model, in the layout of model hubs: one file of tensors, or the index of a set and its files,
/// among configurations and vocabularies.
public final class ModelDirectory {
    /// The names that torch.distributed.checkpoint, Transformers, Diffusers and PEFT give to a model, the preferred one
    /// first.
    private static final List<String> USUAL = List.of(".metadata", "model.safetensors.index.json", "model.safetensors",
            "diffusion_pytorch_model.safetensors.index.json", "diffusion_pytorch_model.safetensors",
            "adapter_model.safetensors", "pytorch_model.bin.index.json", "pytorch_model.bin",
            "diffusion_pytorch_model.bin.index.json", "diffusion_pytorch_model.bin", "adapter_model.bin");
    /// Names with a variant, such as `fp16`: `model.safetensors.index.fp16.json`, `model.fp16.safetensors`.
    private static final Pattern VARIANT = Pattern.compile("(.+[.]index)[.][^.]+([.]json)"
            + "|((?:diffusion_pytorch_|pytorch_|adapter_)?model)[.][^.]+([.](?:safetensors|bin))");
    /// The files of a split GGUF after the first, which opens the model.
    private static final Pattern FURTHER = Pattern.compile("-(?!00001)[0-9]{5}-of-[0-9]{5}[.]gguf$",
            Pattern.CASE_INSENSITIVE);
    /// The files of `HuggingFaceStorageWriter` before consolidation, each with parts of tensors.
    private static final Pattern PARTS = Pattern.compile("shard-[0-9]+-model-[0-9]+-of-[0-9]+[.]safetensors");
    private static final String SNAPSHOTS = "snapshots";
    private static final int MOST_NAMED = 3;

    private ModelDirectory() {}

    /// {@return the one file of a directory that is the model}
    ///
    /// @param path the directory
    /// @throws FileSystemException if no file in the directory has the suffix of a known format, or several have
    /// @throws IOException if the directory cannot be read
    public static Path fileIn(Path path) throws IOException {
        List<Path> named = list(path);
        List<Path> files = named.stream().filter(Files::isRegularFile).toList();
        List<Path> candidates = candidates(files);
        if (candidates.isEmpty() && !named.isEmpty()) {
            throw new FileSystemException(path.toString(), null, "its file %s is a link to %s, which is missing; get "
                    .formatted(FormatException.quote(String.valueOf(named.getFirst().getFileName())),
                            FormatException.quote(Files.readSymbolicLink(named.getFirst()).toString()))
                    + "that file again from its source");
        }
        if (candidates.size() > 1 && candidates.stream().allMatch(file -> PARTS.matcher(plain(file)).matches())) {
            throw new FileSystemException(path.toString(), null,
                    "it is a checkpoint of HuggingFaceStorageWriter that is not consolidated: each file has parts of "
                            + "tensors, and none says how large the tensors are. Save it with "
                            + "enable_consolidation=True, or consolidate it with consolidate_safetensors_files of "
                            + "torch.distributed.checkpoint");
        }
        if (candidates.size() != 1) {
            throw new FileSystemException(path.toString(), null, candidates.isEmpty()
                    ? Lookalike.of(path).map("it is "::concat).or(() -> hubCache(path)).orElse(
                            "it is a directory, in which no file has the suffix of a known format; name a file")
                    : "it is a directory with " + candidates.size() + " files of tensors; name one of them: "
                            + names(candidates));
        }
        return candidates.getFirst();
    }

    /// {@return what a directory is in the cache of the Hugging Face hub, where revisions of a model are directories in
    /// `snapshots`, if it is one}
    private static Optional<String> hubCache(Path directory) {
        Path snapshots = directory.resolve(SNAPSHOTS);
        List<Path> revisions = directories(snapshots, _ -> true);
        if (!revisions.isEmpty()) {
            return Optional.of("it is a model in the cache of the Hugging Face hub; name the directory of a revision: "
                    + mainRevision(directory).filter(revisions::contains).map(main -> names(List.of(main)))
                            .orElseGet(() -> names(revisions))
                    + " in " + FormatException.quote(snapshots.toString()));
        }
        List<Path> models = directories(directory, name -> name.startsWith("models--"));
        return models.isEmpty()
                ? Optional.empty()
                : Optional.of("it is a cache of the Hugging Face hub; name the directory of a revision, in "
                        + SNAPSHOTS + " of " + names(models));
    }

    private static Optional<Path> mainRevision(Path model) {
        try {
            String revision = Files.readString(model.resolve("refs").resolve("main")).strip();
            return Optional.of(model.resolve(SNAPSHOTS).resolve(revision));
        } catch (IOException | InvalidPathException _) {
            return Optional.empty();
        }
    }

    private static List<Path> directories(Path parent, Predicate<String> hasName) {
        try (Stream<Path> files = Files.list(parent)) {
            return files.filter(Files::isDirectory).filter(file -> hasName.test(file.getFileName().toString()))
                    .sorted().toList();
        } catch (IOException | UncheckedIOException _) {
            return List.of();
        }
    }

    /// Returns the files that may be the model, of those in a directory: the one with the first of the usual names, the
    /// variants of that, the indexes, or all files.
    private static List<Path> candidates(List<Path> files) {
        for (String name : USUAL) {
            List<Path> usual = files.stream().filter(file -> plain(file).equals(name)).toList();
            Optional<Path> exact = usual.stream().filter(file -> file.endsWith(name)).findFirst();
            if (!usual.isEmpty()) {
                return exact.map(List::of).orElse(usual);
            }
        }
        List<CheckpointFormat> sets = Formats.all().stream()
                .filter(format -> format.capabilities().contains(Capability.SEVERAL_FILES)).toList();
        List<Path> indexes = files.stream().filter(file -> Formats.bySuffix(Path.of(plain(file)), sets).isPresent())
                .toList();
        return indexes.isEmpty()
                ? files.stream().filter(file -> !FURTHER.matcher(plain(file)).find()).toList()
                : indexes;
    }

    /// Lists what has the name of a file of tensors, links to missing files included; regular files are first.
    private static List<Path> list(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files
                    .filter(file -> USUAL.contains(plain(file))
                            || Formats.bySuffix(Path.of(plain(file)), Formats.all()).isPresent())
                    .filter(file -> Files.isRegularFile(file) || isLinkToNothing(file))
                    .sorted(Comparator.comparing(ModelDirectory::isLinkToNothing).thenComparing(file -> file))
                    .toList();
        }
    }

    private static boolean isLinkToNothing(Path file) {
        return Files.isSymbolicLink(file) && !Files.exists(file);
    }

    /// {@return the name of a file without the variant that may be in it}
    private static String plain(Path file) {
        String name = String.valueOf(file.getFileName());
        Matcher variant = VARIANT.matcher(name);
        return variant.matches() ? variant.replaceFirst("$1$2$3$4") : name;
    }

    private static String names(List<Path> files) {
        String names = files.stream().limit(MOST_NAMED)
                .map(file -> FormatException.quote(file.getFileName().toString()))
                .collect(Collectors.joining(", "));
        return files.size() > MOST_NAMED ? names + ", …" : names;
    }
}
