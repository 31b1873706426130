package io.undercroft.serializer;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.SetManifest;
import io.undercroft.format.internal.Shard;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.internal.ConfinedPath;
import io.undercroft.serializer.internal.FileSource;
import io.undercroft.serializer.internal.References;
import io.undercroft.serializer.internal.disk.AtomicFile;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.Target;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.UUID;

/// A set of open files that belong together: the parts of a model that is too big for one file, or a file for each
/// rank.
///
/// ```java
/// for (int rank = 0; rank < ranks; rank++) {
///     Checkpoint.save(shard(rank), state(rank));
/// }
/// ShardSet.save(Path.of("model.croftset"), shards);          // commits all of them
/// try (ShardSet set = ShardSet.open(Path.of("model.croftset"))) {
///     set.shards().getFirst().tensor("weight");
/// }
/// ```
///
/// A set is a small file, the *manifest*, which names a snapshot of each shard. It is replaced as a whole: a reader
/// sees either all the snapshots that were saved together or all the previous ones, even if snapshots were appended to
/// the shards meanwhile.
/// A set with a missing or different shard does not open.
///
/// **Lifetime.** Closing the set closes its shards. **Threads.** As of [Checkpoint].
public final class ShardSet implements AutoCloseable {
    private final Path path;
    private final UUID uuid;
    private final List<Checkpoint> shards;

    private ShardSet(Path path, UUID uuid, List<Checkpoint> shards) {
        this.path = path;
        this.uuid = uuid;
        this.shards = Collections.unmodifiableList(shards);
    }

    /// Opens a set copy-on-write.
    ///
    /// @param manifest its manifest
    /// @return its files, open
    /// @throws FormatException as [#open(Path, OpenOptions)]
    /// @throws IOException if the manifest is missing, or a file cannot be read
    public static ShardSet open(Path manifest) throws IOException {
        return open(manifest, OpenOptions.defaults());
    }

    /// Opens a set. A shard that is not below the directory of the manifest, after symbolic links are resolved, is not
    /// opened.
    ///
    /// @param manifest its manifest
    /// @param options how to open the shards
    /// @return its files, open
    /// @throws FormatException with the code `V21-SHARD` if a shard is missing, is another file, or does not have the
    ///     recorded snapshot; with any other if the manifest or a shard is damaged, hostile or unsupported
    /// @throws IOException if the manifest is missing, or a file cannot be read
    /// @throws IllegalArgumentException if the options name a snapshot: the manifest does
    /// @throws java.util.NoSuchElementException if the options have a pattern that no name of a tensor in any shard
    ///     matches
    public static ShardSet open(Path manifest, OpenOptions options) throws IOException {
        Objects.requireNonNull(manifest, "manifest");
        if (options.request().snapshot().isPresent()) {
            throw new IllegalArgumentException(
                    "the set determines the snapshots; open its files one by one for others");
        }
        SetManifest set = read(manifest);
        Path directory = directory(manifest.toRealPath());
        MapBudget budget = new MapBudget();
        List<Checkpoint> shards = new ArrayList<>();
        try {
            for (Shard shard : set.shards()) {
                shards.add(Checkpoint.open(locate(shard, directory), shard, options, budget));
            }
            Checkpoint.checkPatterns(manifest.toString(), shards);
            References.knownSet(manifest, shards.stream().map(Checkpoint::path).toList());
            return new ShardSet(manifest, set.uuid(), shards);
        } catch (Throwable e) {
            shards.forEach(Checkpoint::close);
            throw e;
        }
    }

    /// Saves a manifest, durably and atomically, of files as they are now, each at its newest snapshot. The files
    /// should be on the disk already, as they are when [Checkpoint#save] and [CheckpointFile#commit] return.
    ///
    /// @param manifest the manifest to make or replace
    /// @param files the shards, in their order; in the directory of the manifest or below it
    /// @throws IOException if a file cannot be read, or writing fails; no manifest is made or changed
    /// @throws FormatException if a file is no `.croft` file, or damaged
    /// @throws ReferencedFileException if the manifest would replace a file in which bytes of others are stored
    /// @throws IllegalArgumentException if a file is not below the directory of the manifest, is there twice, or is the
    ///     manifest itself
    public static void save(Path manifest, List<Path> files) throws IOException {
        Objects.requireNonNull(manifest, "manifest");
        Target target = Target.of(manifest);
        Path directory = directory(target.file());
        List<Shard> shards = new ArrayList<>();
        for (Path file : files) {
            shards.add(Shard.of(hint(directory, file), newest(file)));
            if (target.exists() && Files.isSameFile(file, target.file())) {
                throw new IllegalArgumentException(file + " would be replaced by the manifest that names it; "
                        + "give the manifest another name, for instance one that ends in .croftset");
            }
        }
        byte[] bytes = SetManifest.canonical(shards).encode();
        try (AtomicFile written = AtomicFile.create(target, Disk.system(), References.rule(false))) {
            written.write(0, MemorySegment.ofArray(bytes));
            written.commit();
        }
        References.knownSet(target.file(), files);
    }

    private static SetManifest read(Path manifest) throws IOException {
        try (MappedFile file = MappedFile.open(manifest, MapMode.READ_ONLY)) {
            return SetManifest.read(new FileSource(file), Limits.DEFAULT);
        } catch (FormatException e) {
            throw e.withFile(manifest.toString());
        }
    }

    private static Path directory(Path manifest) throws IOException {
        return Objects.requireNonNull(manifest.toAbsolutePath().getParent()).toRealPath();
    }

    private static Path locate(Shard shard, Path directory) throws IOException {
        try {
            Path path = ConfinedPath.resolve(directory, shard.path())
                    .orElseThrow(() -> missing(shard, "is not below " + FormatException.quote(directory.toString())));
            if (!Files.isRegularFile(path)) {
                throw missing(shard, "is not a regular file");
            }
            return path;
        } catch (InvalidPathException _) {
            throw missing(shard, "has a name that no file here can have");
        } catch (NoSuchFileException _) {
            throw missing(shard, "is not in " + FormatException.quote(directory.toString()));
        } catch (FileSystemException e) {
            throw missing(shard, "cannot be looked at" + (e.getReason() == null ? "" : ": " + e.getReason()));
        }
    }

    private static FormatException missing(Shard shard, String what) {
        return Rule.V21_SHARD.broken("the shard " + FormatException.quote(shard.path()) + ' ' + what,
                FormatException.NO_OFFSET);
    }

    private static String hint(Path directory, Path file) throws IOException {
        return ConfinedPath.hint(directory, file.toRealPath()).orElseThrow(() -> new IllegalArgumentException(
                file + " is not below the directory of the manifest, " + directory));
    }

    private static CommitRecord newest(Path path) throws IOException {
        try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
            return Snapshot.open(new FileSource(file), Limits.DEFAULT).commit();
        } catch (FormatException e) {
            throw e.withFile(path.toString());
        }
    }

    /// {@return the manifest}
    public Path path() {
        return path;
    }

    /// {@return the id of the set: two sets of the same shards in the same places have the same one}
    public UUID uuid() {
        return uuid;
    }

    /// {@return the files in their order, each at the snapshot that the manifest names} Several shards may have tensors
    /// of the same name.
    public List<Checkpoint> shards() {
        return shards;
    }

    /// Closes all shards.
    @Override
    public void close() {
        shards.forEach(Checkpoint::close);
    }

    /// {@return the manifest, and how many files it names}
    @Override
    public String toString() {
        return path + " (" + shards.size() + " shards)";
    }
}
