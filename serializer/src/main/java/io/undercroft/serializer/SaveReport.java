package io.undercroft.serializer;

import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/// A report of a save: the files that were written, and what of the state their format does not keep.
///
/// ```java
/// SaveReport report = Checkpoint.save(Path.of("model.npz"), state);
/// report.losses().forEach(loss -> log.warning(loss.toString()));
/// ```
///
/// @param format the name of the format that was written, for instance `safetensors`
/// @param files the files that were written: the one that was named, then those of its set in their order; empty if
///     they are in a store, and then the accessor throws
/// @param locations the paths of these files, or their URIs without credentials if they are in a store, for messages
/// @param nbytes the size of these files together, in bytes
/// @param tensors the number of tensors of the state; a tensor in two places counts once
/// @param names the number of names that tensors have when the files are read; more than `tensors` if some have several
/// @param storages the number of storages that these tensors are backed by
/// @param losses what reading the files does not give back, at most one entry of each kind; empty if it gives back
///     everything. What a format without [STATE][io.undercroft.serializer.spi.CheckpointFormat.Capability#STATE] never
///     has is not listed: how maps nest, the types of typed values, and strides
/// @param deleted files of the set that was replaced which were [deleted][SaveOptions#deletingFormerFiles()]
/// @param leftBehind files of the set that was replaced which are still there, and which no index names any more
/// @param dedup how many bytes a `.croft` file shares; empty for every other format
public record SaveReport(String format, List<Path> files, List<String> locations, long nbytes, int tensors,
        int names, int storages, List<Loss> losses, List<Path> deleted, List<Path> leftBehind,
        Optional<DedupReport> dedup) {
    /// What a format may be unable to keep.
    public enum Kind {
        /// Tensors that share a storage were written separately. Those without elements have no bytes to share.
        SHARING,
        /// Entries of [SaveOptions#metadata] were left out.
        METADATA,
        /// Tensors that require gradients were written without that flag.
        REQUIRES_GRAD,
        /// Attributes of typed values, of a parameter for instance, were left out, and are not the ones that the format
        /// has, such as the metadata of GGUF.
        ATTRIBUTES,
        /// Lists were written as tables of Lua, whose keys count from 1, so that what is in them has other names. The
        /// only name is the path of the first list.
        LISTS,
        /// Bytes of storages were left out that no tensor reaches, from its first element to its last. The count is one
        /// of bytes, and the names are those of the tensors on these storages. A `.croft` or `.pt` file can keep them.
        UNREACHED,
        /// The file of PyTorch is not one of weights only: `torch.load` requires `weights_only=False`, or for the names
        /// to be allowed with `torch.serialization.add_safe_globals`. The names are those of the classes.
        WEIGHTS_ONLY,
        /// Further names of tensors are only in the metadata of a safetensors file. They are there again when this
        /// library reads it, or `load_model` of the reference library; its `load_file` returns the other names only.
        /// With the setting `safetensors.sharing` = `copy`, each name is written as a tensor. The reasons say which
        /// names the tensors have.
        METADATA_ONLY,
        /// Modules of PyTorch were written as what `state_dict()` has: their parameters and buffers. The count is one
        /// of objects, and the names are those of their classes.
        OBJECTS,
        /// Tensors of modules of PyTorch that `state_dict()` does not have were left out: buffers that are not
        /// persistent, and tensors in other attributes.
        OUTSIDE_STATE_DICT,
        /// Tensors that could not be read from the file that the state was opened from were
        /// [left out][SaveOptions#leavingOutUnreadable]. The reasons say why, one for each name.
        UNREADABLE
    }

    /// Something of a state that is not in the files.
    ///
    /// @param kind what
    /// @param count how many there are: tensors, entries, values or bytes
    /// @param names the names of these in the state: of tensors, or paths of attributes; or the keys of the entries
    /// @param reasons why, one for each name, if it is not the same for all; otherwise empty
    public record Loss(Kind kind, long count, List<String> names, List<String> reasons) {
        /// A loss.
        ///
        /// @throws NullPointerException if something is null
        public Loss {
            Objects.requireNonNull(kind, "kind");
            names = List.copyOf(names);
            reasons = List.copyOf(reasons);
        }

        /// A loss for which the format is the reason.
        ///
        /// @param kind what
        /// @param count how many there are
        /// @param names the names of these
        /// @throws NullPointerException if something is null
        public Loss(Kind kind, long count, List<String> names) {
            this(kind, count, names, List.of());
        }

        /// {@return a loss of what has these names}
        ///
        /// @param kind what
        /// @param names the names
        public static Loss of(Kind kind, Collection<String> names) {
            return new Loss(kind, names.size(), List.copyOf(names));
        }
    }

    /// A report.
    ///
    /// @throws NullPointerException if something is null
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
    /// @throws UnsupportedOperationException if they are in a store, and have no paths; see [#locations]
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
    /// @param kind which kind
    public Optional<Loss> loss(Kind kind) {
        return losses.stream().filter(loss -> loss.kind() == kind).findFirst();
    }
}
