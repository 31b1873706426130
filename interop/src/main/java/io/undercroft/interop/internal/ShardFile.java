package io.undercroft.interop.internal;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.Stream;

/// An open file of a set.
///
/// @param name its name in the index
/// @param file the file, which belongs to this
/// @param contents its contents
/// @param tensors its tensors by name
record ShardFile(String name, MappedFile file, Contents contents, SequencedMap<String, Tensor> tensors) {
    /// Opens a shard.
    ///
    /// @param name its name in the index
    /// @param file the file, which is closed if it cannot be opened
    /// @param options the options for opening
    /// @param formats those that it can have
    /// @throws FormatException if it has none of them, or is malformed; it names the file
    static ShardFile open(String name, MappedFile file, OpenOptions options, List<CheckpointFormat> formats)
            throws IOException {
        try {
            return of(name, file, formatOf(file, formats).open(file, options));
        } catch (FormatException e) {
            file.close();
            throw e.withFile(file.location());
        } catch (Throwable e) {
            file.close();
            throw e;
        }
    }

    private static ShardFile of(String name, MappedFile file, Contents contents) {
        try {
            return new ShardFile(name, file, contents, tensors(contents));
        } catch (Throwable e) {
            contents.release();
            throw e;
        }
    }

    private static CheckpointFormat formatOf(MappedFile file, List<CheckpointFormat> formats) throws IOException {
        for (CheckpointFormat format : formats) {
            if (file.size() > 0 && format.matches(file)) {
                return format;
            }
        }
        throw refused("it has none of the formats " + formats.stream().map(CheckpointFormat::name).toList());
    }

    private static SequencedMap<String, Tensor> tensors(Contents contents) {
        if (!(contents.state() instanceof Map<?, ?> state)) {
            throw refused("it holds no tensors by name");
        }
        SequencedMap<String, Tensor> tensors = new LinkedHashMap<>();
        state.forEach((key, value) -> {
            Tensor tensor = NamedTensors.tensorIn(value);
            if (key instanceof String text && tensor != null) {
                tensors.put(text, tensor);
            }
        });
        return tensors;
    }

    private static FormatException refused(String what) {
        return new FormatException("SHARD", what, FormatException.NO_OFFSET,
                "Check that it belongs to the index and is complete");
    }

    /// {@return a tensor of this shard by the index}
    Tensor tensor(String tensor) {
        Tensor there = tensors.get(tensor);
        if (there == null) {
            throw ShardIndex.refused("the tensor " + FormatException.quote(tensor) + " is not in "
                    + FormatException.quote(name) + ", in which the index places it", FormatException.NO_OFFSET);
        }
        return there;
    }

    /// {@return its parts that are not tensors of the set}
    ///
    /// @param known the tensors of the set
    List<UnreadPart> besides(Set<Tensor> known) {
        OtherParts others = new OtherParts("value");
        Set<Storage> counted = new HashSet<>();
        ((Map<?, ?>) Objects.requireNonNull(contents.state())).forEach((key, value) -> {
            Tensor tensor = NamedTensors.tensorIn(value);
            if (tensor == null) {
                others.add(String.valueOf(key), 0, 0);
            } else if (!known.contains(tensor)) {
                others.add(String.valueOf(key), 0,
                        counted.add(tensor.storage()) ? tensor.storage().nbytes() : 0);
            }
        });
        // A shard that says that it is one of several is with the others.
        Stream<UnreadPart> here = contents.unread().stream().filter(part -> part.kind() != Kind.FILE);
        return Stream.concat(others.part().stream(), here).map(part -> new UnreadPart(part.kind(),
                part.what() + ", in the shard " + FormatException.quote(name), part.offset(), part.nbytes(),
                part.setting())).toList();
    }

    Verification verify() throws IOException {
        Verification here = contents.verify();
        List<Damage> damages = here.damages().stream()
                .map(damage -> new Damage(damage.where() + " in the shard " + name,
                        damage.offset(), damage.length(), damage.code(), damage.what(), damage.remedy()))
                .toList();
        return new Verification(damages, here.unverifiedExtents(), here.unverifiedBytes());
    }

    /// Releases what shards hold, and closes their files.
    static void closeAll(Collection<ShardFile> shards) {
        try {
            shards.forEach(shard -> shard.contents.release());
        } finally {
            shards.forEach(shard -> shard.file.close());
        }
    }
}
