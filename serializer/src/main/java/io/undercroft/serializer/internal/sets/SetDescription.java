package io.undercroft.serializer.internal.sets;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.SetIndex;
import io.undercroft.format.internal.SetManifest;
import io.undercroft.format.internal.Shard;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.CroftContents;
import io.undercroft.serializer.internal.FileSource;
import io.undercroft.storage.Device;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/// Reads from shards what a manifest says of them.
public final class SetDescription {
    private SetDescription() {}

    /// A file that is to be a shard.
    public interface Candidate {
        /// {@return its path relative to the manifest}
        String hint();

        /// {@return the file, with one holder}
        ///
        /// @throws IOException if it cannot be opened
        MappedFile open() throws IOException;
    }

    private record Described(Shard shard, ShardTensors tensors) {}

    /// Describes a set of files, each at its newest snapshot.
    ///
    /// @param files the files, in their order
    /// @param isStore whether they are in a store
    /// @return the manifest
    /// @throws FormatException if a file is no `.croft` file or damaged; by rule V21 if they are not of one run, by
    ///     rule V22 if their slices do not make up whole tensors
    /// @throws IllegalArgumentException if a file is there twice, or there is none
    /// @throws IOException if a file cannot be read
    public static SetManifest of(List<? extends Candidate> files, boolean isStore) throws IOException {
        if (files.isEmpty()) {
            throw new IllegalArgumentException("a set without shards; name the files");
        }
        @Nullable
        Described[] described = new Described[files.size()];
        Parallel.run(IntStream.range(0, files.size()).boxed().toList(), isStore,
                number -> described[number] = describe(files.get(number)));
        List<Described> all = Arrays.stream(described).map(Objects::requireNonNull).toList();
        List<Shard> shards = all.stream().map(Described::shard).toList();
        SetIndex index = SetBuilder.index(shards, all.stream().map(Described::tensors).toList());
        return SetManifest.canonical(shards,
                index.tensors().isEmpty() && index.run() == null ? Optional.empty() : Optional.of(index));
    }

    private static Described describe(Candidate candidate) throws IOException {
        try (MappedFile file = candidate.open()) {
            try {
                Snapshot newest = Snapshot.open(new FileSource(file), Limits.DEFAULT);
                CommitRecord commit = newest.commit();
                CroftContents contents = CroftContents.open(file, newest, newest, asSaved());
                try {
                    return new Described(Shard.of(candidate.hint(), commit), ShardTensors.of(contents));
                } finally {
                    contents.release();
                }
            } catch (FormatException e) {
                throw e.withFile(file.location());
            }
        }
    }

    /// Nothing is touched, so that storages of absent devices do not matter.
    private static OpenOptions asSaved() {
        return OpenOptions.defaults().mapping(MapMode.READ_ONLY).device(Device.CPU);
    }

    /// {@return the tensors of the shards of an open set}
    ///
    /// @param shards the shards
    /// @param members the same, to be opened
    /// @param set the set
    static SetIndex of(List<Shard> shards, List<SetMember> members, SetFile set) throws IOException {
        @Nullable
        ShardTensors[] tensors = new ShardTensors[shards.size()];
        set.shared(IntStream.range(0, shards.size()).boxed().toList(),
                number -> tensors[number] = members.get(number).use((_, contents) -> ShardTensors.of(contents)));
        return SetBuilder.index(shards, Arrays.stream(tensors).map(Objects::requireNonNull).toList());
    }
}
