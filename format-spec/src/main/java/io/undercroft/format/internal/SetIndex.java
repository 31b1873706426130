package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.StrictUtf8;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/// The tensors of a set, and which shards have their parts: section 9.3 of `SPEC.md`.
///
/// @param run the id of the run that all shards are of, or null if they have none
/// @param tensors the tensors by their names, in the order of these
public record SetIndex(@Nullable String run, SequencedMap<String, SlicedTensor> tensors) {
    /// Creates an index.
    public SetIndex {
        tensors = Collections.unmodifiableSequencedMap(new LinkedHashMap<>(tensors));
    }

    /// {@return an index of tensors in the order of their names}
    ///
    /// @param run the id of the run, or null
    /// @param tensors the tensors in any order, no two of one name
    /// @throws IllegalArgumentException if a name is there twice or is too long
    public static SetIndex of(@Nullable String run, Collection<SlicedTensor> tensors) {
        var _ = requireShort(run == null ? "" : run);
        SequencedMap<String, SlicedTensor> sorted = new LinkedHashMap<>();
        tensors.stream().map(tensor -> new Named(requireShort(tensor.name()), tensor))
                .sorted((one, other) -> StrictUtf8.compare(one.utf8, other.utf8))
                .forEach(named -> {
                    if (sorted.put(named.tensor.name(), named.tensor) != null) {
                        throw new IllegalArgumentException("there are two tensors "
                                + FormatException.quote(named.tensor.name()));
                    }
                });
        return new SetIndex(run, sorted);
    }

    private record Named(MemorySegment utf8, SlicedTensor tensor) {}

    private static MemorySegment requireShort(String text) {
        MemorySegment utf8 = MemorySegment.ofArray(StrictUtf8.encode(text));
        if (utf8.byteSize() > Limits.DEFAULT.maxNameBytes()) {
            throw new IllegalArgumentException("the name of a tensor or of the run is longer than "
                    + Limits.DEFAULT.maxNameBytes() + " bytes: " + FormatException.quote(text));
        }
        return utf8;
    }

    /// {@return its bytes}
    byte[] encode() {
        StateTreeWriter tree = new StateTreeWriter();
        tree.openTuple(2);
        if (run == null) {
            tree.writeNull();
        } else {
            tree.writeString(run);
        }
        tree.openMap(tensors.size());
        tensors.forEach((name, tensor) -> {
            tree.writeString(name);
            tensor.write(tree);
        });
        return tree.toByteArray();
    }

    /// Reads an index. The parts of a tensor are checked when they are used.
    ///
    /// @param bytes its bytes; it does not keep them
    /// @param limits the limits
    /// @param base the offset of the bytes in the manifest, for messages
    static SetIndex read(MemorySegment bytes, Limits limits, long base) {
        StateTreeReader in = new StateTreeReader(bytes, limits, base);
        require(in, StateToken.TUPLE, 2);
        String run = run(in, limits);
        require(in, StateToken.MAP);
        if (in.count() > limits.maxTensors()) {
            throw Rule.V8_LIMIT.broken("the set has " + in.count() + " tensors, the limit is " + limits.maxTensors(),
                    in.offset());
        }
        SequencedMap<String, SlicedTensor> tensors = new LinkedHashMap<>();
        MemorySegment before = MemorySegment.NULL;
        for (int left = in.count(); left > 0; left--) {
            require(in, StateToken.STRING);
            requireShort(in, limits);
            MemorySegment utf8 = in.bytes();
            if (!tensors.isEmpty() && StrictUtf8.compare(before, utf8) >= 0) {
                throw Rule.V6_NAME.broken("the names of the tensors of the set are not sorted, or one comes twice: "
                        + FormatException.quote(in.text()), in.offset());
            }
            before = utf8;
            String name = in.text();
            tensors.put(name, SlicedTensor.read(name, in, limits));
        }
        require(in, StateToken.END);
        require(in, StateToken.END);
        require(in, StateToken.DONE);
        return new SetIndex(run, tensors);
    }

    /// Moves to the next token, which must be of a kind.
    static void require(StateTreeReader in, StateToken kind) {
        StateToken token = in.next();
        if (token != kind) {
            throw Rule.V16_TREE.broken("the slices of the set have the value " + token + " in place of " + kind,
                    in.offset());
        }
    }

    /// Moves to the next token, which must be a container of a number of values.
    static void require(StateTreeReader in, StateToken kind, int count) {
        require(in, kind);
        if (in.count() != count) {
            throw Rule.V16_TREE.broken("the slices of the set have a " + kind + " of " + in.count() + " values, not "
                    + count, in.offset());
        }
    }

    private static @Nullable String run(StateTreeReader in, Limits limits) {
        return switch (in.next()) {
            case NULL -> null;
            case STRING -> {
                requireShort(in, limits);
                yield in.text();
            }
            default -> throw Rule.V16_TREE.broken("the run of the set is no text", in.offset());
        };
    }

    private static void requireShort(StateTreeReader in, Limits limits) {
        if (in.length() > limits.maxNameBytes()) {
            throw Rule.V8_LIMIT.broken("a name in the set has " + in.length() + " bytes, the limit is "
                    + limits.maxNameBytes(), in.offset());
        }
    }

    /// Checks the parts of all tensors.
    ///
    /// @param shards the shards of the set
    /// @throws FormatException as [SlicedTensor#parts]
    public void check(List<Shard> shards) {
        tensors.values().forEach(tensor -> tensor.parts(shards));
    }

    /// {@return the tensor of a name, if there is one}
    ///
    /// @param name a name
    public Optional<SlicedTensor> find(String name) {
        return Optional.ofNullable(tensors.get(name));
    }

    /// {@return the names in their order}
    public List<String> names() {
        return List.copyOf(tensors.keySet());
    }
}
