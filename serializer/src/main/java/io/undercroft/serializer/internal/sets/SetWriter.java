package io.undercroft.serializer.internal.sets;

import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.internal.ConfinedPath;
import io.undercroft.serializer.internal.References;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.FileTarget;
import io.undercroft.serializer.internal.disk.Target;
import io.undercroft.serializer.internal.disk.Target.Begun;
import io.undercroft.serializer.internal.disk.Target.Replacing;
import io.undercroft.serializer.spi.StoreTarget.Creation;
import java.io.Closeable;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/// Writes manifests of sets.
public final class SetWriter {
    private final Disk disk;

    /// A writer.
    ///
    /// @param disk the file system to write to
    public SetWriter(Disk disk) {
        this.disk = disk;
    }

    /// Saves a manifest; see [io.undercroft.serializer.ShardSet#save].
    ///
    /// @param manifest the manifest to make or replace
    /// @param files the shards, in their order
    /// @throws IOException if a file cannot be read, or writing fails; no manifest is made or changed
    public void save(Path manifest, List<Path> files) throws IOException {
        write(FileTarget.of(manifest, disk), files, References.rule(false, files));
    }

    /// Saves a manifest if there is none of its name; see [io.undercroft.serializer.ShardSet#create].
    ///
    /// @param manifest the manifest to make
    /// @param files the shards, in their order
    /// @throws FileAlreadyExistsException if there is a file of that name
    /// @throws IOException if a file cannot be read, or writing fails; no manifest is made
    public void create(Path manifest, List<Path> files) throws IOException {
        FileTarget target = FileTarget.of(manifest, disk);
        write(target, files, _ -> {
            if (target.exists()) {
                throw new FileAlreadyExistsException(target.path().toString(), null,
                        "another writer has made this set; open it, or make one of another name");
            }
        });
    }

    /// The lock is taken before the shards are read, so that a second writer need not read them in vain.
    private void write(FileTarget target, List<Path> files, Replacing rule) throws IOException {
        target.requireDirectory();
        Path directory = target.directory().toRealPath();
        List<String> paths = new ArrayList<>();
        for (Path file : files) {
            paths.add(ConfinedPath.hint(directory, file.toRealPath()).orElseThrow(() -> new IllegalArgumentException(
                    file + " is not below the directory of the manifest, " + directory
                            + "; write the manifest to a directory above all files")));
            if (target.exists() && Files.isSameFile(file, target.file())) {
                throw new IllegalArgumentException(file + " would be replaced by the manifest that names it; "
                        + "give the manifest another name, for instance one that ends in .croftset");
            }
        }
        rule.check(target);
        write(target, paths, number -> MappedFile.open(files.get(number), MapMode.READ_ONLY), Creation.REPLACING, rule);
    }

    /// Saves a manifest in a store if there is none of its name; see [io.undercroft.serializer.ShardSet#create].
    ///
    /// @param target the manifest to make
    /// @param paths the shards relative to its directory, in their order
    /// @param files opens them
    /// @throws IOException if a file cannot be read, or writing fails; no manifest is made
    public static void create(Target target, List<String> paths, SetBuilder.Opening files) throws IOException {
        write(target, paths, files, Creation.IF_ABSENT, Replacing.ANY);
    }

    private static void write(Target target, List<String> paths, SetBuilder.Opening files, Creation creation,
            Replacing rule) throws IOException {
        target.write(() -> {
            try (Closeable _ = target.lock(true)) {
                byte[] bytes = SetBuilder.manifest(paths, target.file() == null, files).encode();
                try (Begun written = target.begin(creation, rule)) {
                    written.write(0, MemorySegment.ofArray(bytes));
                    written.commit(() -> {});
                    return written.visibility();
                }
            }
        });
    }
}
