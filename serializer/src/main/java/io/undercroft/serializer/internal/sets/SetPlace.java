package io.undercroft.serializer.internal.sets;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.Shard;
import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.ConfinedPath;
import io.undercroft.serializer.internal.Stores;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// Where the shards of a set are: in the directory of the manifest and below, or next to it in a store.
///
/// @param manifest the manifest, open
/// @param directory its directory without symbolic links, or null in a store
record SetPlace(MappedFile manifest, @Nullable Path directory) {
    static SetPlace of(MappedFile manifest) throws IOException {
        return new SetPlace(manifest,
                manifest.source().isPresent() ? null : directory(manifest.path().toRealPath()));
    }

    /// {@return the directory of a file, without symbolic links}
    static Path directory(Path file) throws IOException {
        return Objects.requireNonNull(file.toAbsolutePath().getParent()).toRealPath();
    }

    boolean isStore() {
        return directory == null;
    }

    /// Opens a shard as a file, whatever is in it.
    ///
    /// @throws FormatException by rule V21 if there is no such file
    MappedFile open(Shard shard, OpenOptions options, MapBudget budget) throws IOException {
        if (directory != null) {
            return MappedFile.open(locate(shard, directory), options.mapping(), budget);
        }
        try {
            return Stores.sibling(manifest, shard.path(), options, budget);
        } catch (RemoteFileException e) {
            if (e.kind() != RemoteFileException.Kind.NOT_FOUND) {
                throw e;
            }
            throw missing(shard, "is not next to " + FormatException.quote(manifest.location()));
        }
    }

    /// {@return the path of a shard, without symbolic links}
    static Path locate(Shard shard, Path directory) throws IOException {
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
}
