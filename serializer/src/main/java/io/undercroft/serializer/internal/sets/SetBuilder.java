package io.undercroft.serializer.internal.sets;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.DTypeRecord;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.SetIndex;
import io.undercroft.format.internal.SetManifest;
import io.undercroft.format.internal.Shard;
import io.undercroft.format.internal.SlicePart;
import io.undercroft.format.internal.SlicedTensor;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions.Run;
import io.undercroft.serializer.internal.CroftContents;
import io.undercroft.serializer.internal.FileSource;
import io.undercroft.serializer.internal.sets.ShardTensors.Piece;
import io.undercroft.serializer.state.Slice;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/// Finds out what tensors the shards of a set make up, and refuses shards that do not belong together.
public final class SetBuilder {
    private final List<Shard> shards;
    private final Map<String, List<Owned>> tensors = new LinkedHashMap<>();

    /// The part of a tensor that a shard has.
    private record Owned(int shard, Piece piece) {}

    private record Described(Shard shard, ShardTensors tensors) {}

    /// Files that are to be shards.
    @FunctionalInterface
    public interface Opening {
        /// {@return a file, with one holder}
        ///
        /// @param number its number
        /// @throws IOException if it cannot be opened
        MappedFile open(int number) throws IOException;
    }

    private SetBuilder(List<Shard> shards) {
        this.shards = shards;
    }

    /// Describes a set of files, each at its newest snapshot.
    ///
    /// @param paths their paths relative to the manifest, in their order
    /// @param isStore whether they are in a store
    /// @param files the files
    /// @return the manifest
    /// @throws FormatException if a file is no `.croft` file or damaged; by rule V21 if they are not of one run, by
    ///     rule V22 if their slices do not make up whole tensors
    /// @throws IllegalArgumentException if a file is there twice, or there is none
    /// @throws IOException if a file cannot be read
    public static SetManifest manifest(List<String> paths, boolean isStore, Opening files) throws IOException {
        if (paths.isEmpty()) {
            throw new IllegalArgumentException("a set without shards; name the files");
        }
        @Nullable
        Described[] described = new Described[paths.size()];
        OpenSet.share(IntStream.range(0, described.length).boxed().toList(), isStore,
                number -> described[number] = describe(paths.get(number), files.open(number)));
        List<Described> all = Arrays.stream(described).map(Objects::requireNonNull).toList();
        List<Shard> shards = all.stream().map(Described::shard).toList();
        SetIndex index = index(shards, all.stream().map(Described::tensors).toList());
        return SetManifest.canonical(shards,
                index.tensors().isEmpty() && index.run() == null ? Optional.empty() : Optional.of(index));
    }

    private static Described describe(String path, MappedFile opened) throws IOException {
        try (MappedFile file = opened) {
            try {
                Snapshot newest = Snapshot.open(new FileSource(file), Limits.DEFAULT);
                // Nothing is touched, so that storages of absent devices do not matter.
                CroftContents contents = CroftContents.open(file, newest, newest,
                        OpenOptions.defaults().mapping(MapMode.READ_ONLY).device(Device.CPU));
                try {
                    return new Described(Shard.of(path, newest.commit()), ShardTensors.of(contents));
                } finally {
                    contents.release();
                }
            } catch (FormatException e) {
                throw e.withFile(file.location());
            }
        }
    }

    /// {@return the tensors of a set and where their parts are}
    ///
    /// @param shards the shards
    /// @param contents the tensors of each
    /// @throws FormatException by rule V21 if they are not of one run; by rule V22 if slices of a tensor contradict
    ///     each other, overlap, or are not the whole tensor
    static SetIndex index(List<Shard> shards, List<ShardTensors> contents) {
        SetBuilder builder = new SetBuilder(shards);
        Optional<Run> run = builder.run(contents);
        for (int number = 0; number < shards.size(); number++) {
            int shard = number;
            contents.get(number).pieces().forEach((name, piece) -> builder.tensors
                    .computeIfAbsent(name, _ -> new ArrayList<>()).add(new Owned(shard, piece)));
        }
        return SetIndex.of(run.map(Run::id).orElse(null), builder.sliced());
    }

    private Optional<Run> run(List<ShardTensors> contents) {
        Optional<Run> first = contents.isEmpty() ? Optional.empty() : contents.getFirst().run();
        for (int number = 1; number < contents.size(); number++) {
            Optional<Run> run = contents.get(number).run();
            if (!run.equals(first)) {
                throw Rule.V21_SHARD.broken("the shard " + quoted(number) + " is of " + described(run)
                        + ", and " + quoted(0) + " of " + described(first), FormatException.NO_OFFSET);
            }
        }
        if (first.isPresent() && first.get().shards() != contents.size()) {
            throw Rule.V21_SHARD.broken("there are " + contents.size() + " shards of " + described(first),
                    FormatException.NO_OFFSET);
        }
        return first;
    }

    private static String described(Optional<Run> run) {
        return run.map(shard -> "the run " + FormatException.quote(shard.id()) + " of " + shard.shards() + " shards")
                .orElse("no run");
    }

    private String quoted(int shard) {
        return FormatException.quote(shards.get(shard).path());
    }

    private List<SlicedTensor> sliced() {
        List<SlicedTensor> sliced = new ArrayList<>();
        FormatException wrong = null;
        int more = 0;
        for (Map.Entry<String, List<Owned>> entry : tensors.entrySet()) {
            try {
                sliced(entry.getKey(), entry.getValue()).ifPresent(sliced::add);
            } catch (FormatException e) {
                more += wrong == null ? 0 : 1;
                wrong = wrong == null ? e : wrong;
            }
        }
        if (wrong != null) {
            throw more == 0
                    ? wrong
                    : new FormatException(wrong.code(), wrong.what() + (more == 1
                            ? "; another tensor has a fault, too"
                            : "; " + more + " other tensors have faults, too"), wrong.offset(), wrong.remedy(), wrong);
        }
        return sliced;
    }

    /// {@return the tensor of a name, or nothing if each shard has one of its own}
    private Optional<SlicedTensor> sliced(String name, List<Owned> all) {
        if (all.stream().noneMatch(owned -> owned.piece.isSlice())) {
            return all.size() == 1 && all.getFirst().piece.isStored()
                    ? Optional.of(sliced(name, all, all))
                    : Optional.empty();
        }
        requireAlike(name, all);
        List<Owned> stored = all.stream().filter(owned -> owned.piece.isStored()).toList();
        requireReplicas(name, all, stored);
        SlicedTensor tensor = sliced(name, all, stored);
        var _ = tensor.parts(shards);
        return Optional.of(tensor);
    }

    private static SlicedTensor sliced(String name, List<Owned> all, List<Owned> stored) {
        Slice first = all.getFirst().piece.slice();
        DType dtype = first.local().dtype();
        List<SlicePart> parts = stored.stream().filter(owned -> owned.piece.slice().local().numel() > 0)
                .map(owned -> new SlicePart(owned.shard, owned.piece.box().offset(), owned.piece.box().size()))
                .toList();
        return SlicedTensor.of(name, new DTypeRecord(dtype.name(), dtype.bits()), first.shape().toArray(), parts);
    }

    private void requireAlike(String name, List<Owned> all) {
        Owned first = all.getFirst();
        for (Owned other : all) {
            String difference = difference(first.piece, other.piece);
            if (difference != null) {
                throw broken(name, "is " + described(first.piece) + " in " + quoted(first.shard) + " and "
                        + described(other.piece) + " in " + quoted(other.shard) + ", which differ in " + difference);
            }
        }
    }

    private static String described(Piece piece) {
        return piece.isSlice() ? "the slice " + piece.slice() : "the tensor " + piece.slice().local().shape();
    }

    private static @Nullable String difference(Piece one, Piece other) {
        if (one.isSlice() != other.isSlice()) {
            return "whether they are slices";
        }
        if (!one.slice().local().dtype().equals(other.slice().local().dtype())) {
            return "the dtype";
        }
        return one.slice().shape().equals(other.slice().shape()) ? null : "the shape of the whole tensor";
    }

    /// A slice that a shard only describes has to be in another one. That shard is then the one that is missing, which
    /// is a better message than that of a gap.
    private void requireReplicas(String name, List<Owned> all, List<Owned> stored) {
        Set<Box> boxes = stored.stream().map(owned -> owned.piece.box()).collect(Collectors.toSet());
        for (Owned owned : all) {
            Slice slice = owned.piece.slice();
            if (!owned.piece.isStored() && slice.local().numel() > 0 && !boxes.contains(owned.piece.box())) {
                throw broken(name, "is not complete: no shard has the slice " + owned.piece.box() + ", which "
                        + quoted(owned.shard) + " describes as its replica " + slice.replica() + " of "
                        + slice.replicas());
            }
        }
    }

    private static FormatException broken(String name, String what) {
        return Rule.V22_SLICE.broken("the tensor " + FormatException.quote(name) + ' ' + what,
                FormatException.NO_OFFSET);
    }
}
