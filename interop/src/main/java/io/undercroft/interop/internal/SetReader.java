package io.undercroft.interop.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;
import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// Opens models in several files by their index.
///
/// The index names files next to it, and nothing else is opened. A symbolic link to a file elsewhere, as in the cache
/// of the Hugging Face hub, is followed below [OpenOptions#root(Path)]; without a root, only to the directory that the
/// index itself is linked from. If the index is reached by a link, its shards are next to the link or next to the file.
/// The shards of an index in a store are next to it in that store.
public final class SetReader {
    /// Names of shards, such as `model-00001-of-00003.safetensors`.
    private static final Pattern COUNTED = Pattern.compile("-[0-9]+-of-[0-9]+[.]");
    private static final int MOST_NAMED = 3;

    private final List<String> suffixes;
    private final List<CheckpointFormat> formats;

    /// A reader of sets of one kind.
    ///
    /// @param suffixes the suffixes of names of shards, with the dot, by which an index is recognised
    /// @param formats those that shards can have
    public SetReader(List<String> suffixes, List<CheckpointFormat> formats) {
        this.suffixes = suffixes;
        this.formats = formats;
    }

    /// {@return whether a file is the index of such a set, by the suffix of the first shard that it names}
    ///
    /// @param file any file
    /// @throws IOException if reading fails
    public boolean matches(MappedFile file) throws IOException {
        return ShardIndex.firstShard(file).filter(shard -> suffixes.stream().anyMatch(shard::endsWith)).isPresent();
    }

    /// Opens a set.
    ///
    /// @param index the contents of the index
    /// @param file the file of the index
    /// @param options the options for opening the shards
    /// @return the tensors that the index names, in its order, and further names of them; the shards stay open until it
    ///     is released
    /// @throws FormatException if a shard is malformed, or not in a permitted directory
    /// @throws IOException if reading fails
    public Contents open(ShardIndex index, MappedFile file, OpenOptions options) throws IOException {
        OpenOptions opening = index.inShards(options);
        SequencedMap<String, ShardFile> shards = new LinkedHashMap<>();
        try {
            MapBudget budget = new MapBudget();
            for (String name : new LinkedHashSet<>(index.shards().values())) {
                shards.put(name, ShardFile.open(name, open(name, file, options, budget), opening, formats));
            }
            return ShardedContents.of(index, shards, options, besides(index, file));
        } catch (FormatException e) {
            ShardFile.closeAll(shards.values());
            throw naming(file, e);
        } catch (Throwable e) {
            ShardFile.closeAll(shards.values());
            throw e;
        }
    }

    /// {@return the files next to the index that look like its shards, and that it does not name} None if the directory
    /// cannot be listed.
    private List<UnreadPart> besides(ShardIndex index, MappedFile file) {
        if (file.source().isPresent()) {
            return List.of();
        }
        String stem = nameOf(file).split("[.]", 2)[0];
        Set<String> named = new HashSet<>(index.shards().values());
        try (Stream<Path> files = Files.list(Objects.requireNonNull(file.path().toAbsolutePath().getParent()))) {
            List<String> others = files.filter(Files::isRegularFile).map(other -> other.getFileName().toString())
                    .filter(name -> suffixes.stream().anyMatch(name::endsWith) && !named.contains(name))
                    .filter(name -> name.startsWith(stem) || COUNTED.matcher(name).find()).sorted().toList();
            return others.isEmpty()
                    ? List.of()
                    : List.of(new UnreadPart(Kind.RECORD, "%,d %s next to the index that it does not name: %s%s"
                            .formatted(others.size(), others.size() == 1 ? "file" : "files",
                                    others.stream().limit(MOST_NAMED).map(FormatException::quote)
                                            .collect(Collectors.joining(", ")),
                                    others.size() > MOST_NAMED ? ", …" : ""),
                            0, 0));
        } catch (IOException | UncheckedIOException _) {
            return List.of();
        }
    }

    /// Adds the name of the index to the exception of a shard.
    private static FormatException naming(MappedFile index, FormatException e) {
        return e.file() == null
                ? e
                : new FormatException(e.code(),
                        "a shard of " + FormatException.quote(nameOf(index)) + ": "
                                + e.what(),
                        e.offset(),
                        e.remedy(), e).withFile(e.file());
    }

    private static String nameOf(MappedFile index) {
        return index.source().isPresent() ? index.location() : String.valueOf(index.path().getFileName());
    }

    private static MappedFile open(String name, MappedFile index, OpenOptions options, MapBudget budget)
            throws IOException {
        if (index.source().isEmpty()) {
            return MappedFile.open(locate(name, index.path(), options), options.mapping(), budget);
        }
        try {
            return MappedFile.open(index.source().get().sibling(name), options.mapping(), budget,
                    options.temporaryDirectory());
        } catch (RemoteFileException e) {
            if (e.kind() != RemoteFileException.Kind.NOT_FOUND) {
                throw e;
            }
            throw unusable(name, "is missing", "Put it next to the index");
        }
    }

    private static Path locate(String name, Path index, OpenOptions options) throws IOException {
        // Failures of these are not reported as those of the shard.
        Path stored = index.toRealPath();
        Path root = options.root().isPresent() ? options.root().get().toRealPath() : null;
        Path path = null;
        try {
            path = sibling(index.toAbsolutePath(), stored, name);
            Path real = path.toRealPath();
            if (!isAllowed(path, real, stored, root)) {
                throw unusable(name, "is a link to another directory",
                        Remedy.naming("Name a directory with {} below which files may be opened", "OpenOptions.root"));
            }
            if (!Files.isRegularFile(real)) {
                throw unusable(name, "is no file", "Put the file next to the index");
            }
            return real;
        } catch (NoSuchFileException _) {
            throw path != null && Files.isSymbolicLink(path)
                    ? unusable(name, "is a link to " + FormatException.quote(Files.readSymbolicLink(path).toString())
                            + ", which is missing", "Get that file again from its source")
                    : unusable(name, "is missing", "Put it next to the index");
        } catch (FileSystemException e) {
            throw unusable(name, "cannot be accessed" + (e.getReason() == null ? "" : ": " + e.getReason()),
                    "Check its name, and that it may be read");
        } catch (InvalidPathException _) {
            throw unusable(name, "has a name that no file here can have", "Run Java in a locale of UTF-8");
        }
    }

    private static Path sibling(Path index, Path stored, String name) {
        Path named = index.resolveSibling(name);
        return Files.exists(named, LinkOption.NOFOLLOW_LINKS) ? named : stored.resolveSibling(name);
    }

    /// The cache of the Hugging Face hub links an index and its shards from one directory to another.
    private static boolean isAllowed(Path path, Path real, Path stored, @Nullable Path root) throws IOException {
        if (root != null) {
            return real.startsWith(root);
        }
        Path directory = Objects.requireNonNull(real.getParent());
        return directory.equals(Objects.requireNonNull(path.getParent()).toRealPath())
                || directory.equals(stored.getParent());
    }

    private static FormatException unusable(String shard, String why, String remedy) {
        return unusable(shard, why, Remedy.of(remedy));
    }

    private static FormatException unusable(String shard, String why, Remedy remedy) {
        return new FormatException("SHARD-INDEX", "the shard " + FormatException.quote(shard) + " " + why,
                FormatException.NO_OFFSET, remedy);
    }
}
