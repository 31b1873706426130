package io.undercroft.serializer.spi;

import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.SequencedMap;
import java.util.Set;

/// A file of a format that has been planned and not been written. Used once, by one thread, which
/// need not be the one that planned it.
public interface Draft {
    /// {@return the estimated size of the file in bytes}
    long nbytes();

    /// {@return the least size that the file can have in bytes: smaller than [#nbytes] if it is compressed} A file
    /// that is larger than the free space is refused before its first byte is written.
    default long leastBytes() {
        return nbytes();
    }

    /// Writes the file from its first byte to its last.
    ///
    /// @param output where to
    /// @throws IOException if writing fails
    void writeTo(Output output) throws IOException;

    /// {@return the further files of the set that this one is the index of, by their names} They are written to its
    /// directory before it in this order, each atomically and durably, and have no companions themselves. Their
    /// names are [plain][#isPlainName].
    default SequencedMap<String, Draft> companions() {
        return Collections.emptySortedMap();
    }

    /// {@return what the file does not keep of the state, beyond what the format [cannot
    /// hold][Capability] at all} Tensors that share a storage no more have the names of the file. For a set, called for
    /// the index only.
    default List<SaveReport.Loss> losses() {
        return List.of();
    }

    /// {@return the tensors by the names that they have in the file} Called only if the format cannot hold both
    /// [a state][Capability#STATE] and [sharing][Capability#SHARING]. A map that the state has in two places gives two
    /// names to each tensor in it.
    default SequencedMap<String, Tensor> names() {
        return Collections.emptySortedMap();
    }

    /// {@return whether an attribute of a typed value is there again when the file is read} Unless overridden, all are
    /// if the format [can hold a state][Capability#STATE].
    ///
    /// @param value a [Typed][io.undercroft.serializer.state.Typed] or
    ///     [TypedMap][io.undercroft.serializer.state.TypedMap] of the state
    /// @param attribute the name of the attribute
    /// @param format what the format can hold
    default boolean keeps(Object value, String attribute, Set<Capability> format) {
        return format.contains(Capability.STATE);
    }

    /// {@return the storages that several tensors use again when the file is read} Called only if the format
    /// [cannot hold sharing][Capability#SHARING]. If it [can hold a state][Capability#STATE], these tensors also
    /// require gradients as before.
    default List<SharedStorage> sharedStorages() {
        return List.of();
    }

    /// A storage of a file that is read.
    ///
    /// @param names the [names][#names()] of the tensors that use it
    /// @param nbytes its size in bytes
    record SharedStorage(Set<String> names, long nbytes) {
        /// A storage.
        public SharedStorage {
            names = Set.copyOf(names);
        }
    }

    /// {@return whether a name can be that of a file next to an index, and leads nowhere else on any system}
    ///
    /// @param name a name from anywhere
    static boolean isPlainName(String name) {
        return !name.isBlank() && !name.startsWith(".")
                && name.chars().noneMatch(c -> c == '/' || c == '\\' || c == ':' || c < ' ');
    }
}
