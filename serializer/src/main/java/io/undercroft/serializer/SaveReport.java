package io.undercroft.serializer;

import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/// A report of a save: the files that were written, and the parts of the state that their format does not keep.
///
/// ```java
/// SaveReport report = Checkpoint.save(Path.of("model.npz"), state);
/// report.losses().forEach(loss -> log.warning(loss.toString()));
/// ```
///
/// @param format the name of the format that was written, for instance `safetensors`
/// @param files the files that were written: the one that was named, then those of its set in their order; empty if
///     they are in a store, in which case the accessor throws
/// @param locations the paths of these files, or their URIs without credentials if they are in a store, for messages
/// @param nbytes the total size of these files in bytes
/// @param tensors the number of tensors of the state; a tensor in several places counts once
/// @param names the number of names that tensors have when the files are read; more than `tensors` if some have several
/// @param storages the number of storages that these tensors are backed by
/// @param losses the parts of the state that are not in the files, at most one entry of each kind. Properties that a
///     format without [STATE][io.undercroft.serializer.spi.CheckpointFormat.Capability#STATE] never keeps are not
///     listed: the nesting of maps, the types of typed values, and strides
/// @param deleted files of the set that was replaced that were [deleted][SaveOptions#deletingFormerFiles()]
/// @param leftBehind files of the set that was replaced that still exist and are not in any index
/// @param dedup the bytes that a `.croft` file shares; empty for other formats
public record SaveReport(String format, List<Path> files, List<String> locations, long nbytes, int tensors,
        int names, int storages, List<Loss> losses, List<Path> deleted, List<Path> leftBehind,
        Optional<DedupReport> dedup) {
    /// The kind of a loss.
    public enum Kind {
        /// Tensors that share a storage were written separately. Tensors without elements are not counted.
        SHARING,
        /// Entries of [SaveOptions#metadata] were left out.
        METADATA,
        /// Tensors that require gradients were written without that flag.
        REQUIRES_GRAD,
        /// Attributes of typed values, for instance of a parameter, were left out. Attributes that the format keeps,
        /// such as the metadata of GGUF, are not counted.
        ATTRIBUTES,
        /// Lists were written as tables of Lua, whose keys count from 1, so that the names of their elements change.
        /// The only name is the path of the first list.
        LISTS,
        /// Keys of maps that are no text were written as text, as PyTorch does in distributed checkpoints. The count is
        /// the number of these maps, and the names are their paths.
        KEYS,
        /// Bytes of storages that no tensor reaches were left out. The count is the number of bytes, and the names are
        /// those of the tensors on these storages. A `.croft` or `.pt` file can keep them.
        UNREACHED,
        /// The PyTorch file does not have weights only: `torch.load` requires `weights_only=False`, or
        /// `torch.serialization.add_safe_globals` with the classes. The names are those of the classes.
        WEIGHTS_ONLY,
        /// Further names of tensors are only in the metadata of a safetensors file. This library and `load_model` of
        /// the reference library read them; its `load_file` does not. With the setting `safetensors.sharing` = `copy`,
        /// each name is written as a tensor. The reasons say which names the tensors have.
        METADATA_ONLY,
        /// Modules of PyTorch were written as the entries of their `state_dict()`: parameters and buffers. The count is
        /// the number of objects, and the names are those of their classes.
        OBJECTS,
        /// Tensors of modules of PyTorch that are not in `state_dict()` were left out: buffers that are not persistent,
        /// and tensors in other attributes.
        OUTSIDE_STATE_DICT,
        /// Tensors that could not be read from the file that the state was opened from were
        /// [left out][SaveOptions#leavingOutUnreadable]. The reasons say why, one for each name.
        UNREADABLE,
        /// The state has no metadata of names that the usual reader of the format requires: llama.cpp does not load a
        /// GGUF file without the text `general.architecture`. A state that was opened from a GGUF file has it, and
        /// [SaveOptions#metadata] adds it.
        REQUIRED_METADATA
    }

    /// Something of a state that is not in the files.
    ///
    /// @param kind the kind
    /// @param count the number of tensors, attributes, entries, bytes or objects, as the kind says: tensors, entries,
    ///     values or bytes
    /// @param names the names of the tensors, the paths of the attributes, or the keys of the entries
    /// @param reasons the reason for each name; empty if the reason is the format
    public record Loss(Kind kind, long count, List<String> names, List<String> reasons) {
        /// Copies the lists.
        ///
        /// @throws NullPointerException if an argument is null
        public Loss {
            Objects.requireNonNull(kind, "kind");
            names = List.copyOf(names);
            reasons = List.copyOf(reasons);
        }

        /// Creates a loss whose reason is the format.
        ///
        /// @param kind the kind
        /// @param count the number of tensors, attributes, entries, bytes or objects, as the kind says
        /// @param names the names
        /// @throws NullPointerException if an argument is null
        public Loss(Kind kind, long count, List<String> names) {
            this(kind, count, names, List.of());
        }

        /// {@return a loss of the tensors, attributes or entries of some names}
        ///
        /// @param kind the kind
        /// @param names the names
        public static Loss of(Kind kind, Collection<String> names) {
            return new Loss(kind, names.size(), List.copyOf(names));
        }
    }

    /// Copies the lists.
    ///
    /// @throws NullPointerException if an argument is null
    public SaveReport {
        Objects.requireNonNull(format, "format");
        files = List.copyOf(files);
        locations = List.copyOf(locations);
        losses = List.copyOf(losses);
        deleted = List.copyOf(deleted);
        leftBehind = List.copyOf(leftBehind);
        Objects.requireNonNull(dedup, "dedup");
    }

    /// {@return the files that were written: the one that was named, then those of its set in their order}
    ///
    /// @throws UnsupportedOperationException if they are in a store and have no paths; see [#locations]
    @Override
    public List<Path> files() {
        if (files.isEmpty() && !locations.isEmpty()) {
            throw new UnsupportedOperationException(locations.getFirst()
                    + " is in a store, and has no path; use SaveReport.locations");
        }
        return files;
    }

    /// {@return the loss of a kind, if there is one}
    ///
    /// @param kind the kind
    public Optional<Loss> loss(Kind kind) {
        return losses.stream().filter(loss -> loss.kind() == kind).findFirst();
    }
}
