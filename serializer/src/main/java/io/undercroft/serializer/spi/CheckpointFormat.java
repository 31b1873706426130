package io.undercroft.serializer.spi;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.KnownSuffixes;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SequencedSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// A file format that holds tensors. Implementations are stateless, have a public constructor without parameters, and
/// are called by any thread, several times for the same file. The [package][io.undercroft.serializer.spi] describes
/// lookup and order.
public interface CheckpointFormat {
    /// The capabilities of a format besides opening files.
    enum Capability {
        /// States can be [saved][CheckpointFormat#draft] in it.
        SAVE,
        /// Sharing of storages is kept, of views too.
        SHARING,
        /// It holds maps, lists and scalars, and not only tensors by name.
        STATE,
        /// It holds free-form text about the file.
        METADATA,
        /// A file names others, in which the tensors are.
        SEVERAL_FILES,
        /// The bytes of storages have checksums, which [Contents#verify] compares, as does whatever reads many of them;
        /// see [ChecksumPolicy][io.undercroft.serializer.ChecksumPolicy].
        CHECKSUMS
    }

    /// {@return the name that `croft inspect` shows, for instance `torch-zip`}
    String name();

    /// Returns whether a file has this format, after a few reads; the file may be anything. A test that is too weak
    /// claims files of later formats.
    ///
    /// @param file the file, which is not empty
    /// @return true if [#open] should be called, also if the file is damaged or of a kind that open refuses
    /// @throws IOException if reading fails
    boolean matches(MappedFile file) throws IOException;

    /// {@return the exception for a file that no format [matches][#matches], if it is like those of this format and
    /// known to be something else} It says what the file is, and what reads it. Formats are asked in their order.
    ///
    /// @param file the file, which is not empty
    /// @throws IOException if reading fails
    default Optional<FormatException> refusal(MappedFile file) throws IOException {
        return Optional.empty();
    }

    /// Reads the descriptions of tensors, and leaves their bytes in the file.
    ///
    /// @param file the file; the contents keep using it and the caller closes it after them
    /// @param options how to map it; [FileStorages] applies those for mapping, memory and devices, [TreeContents#only]
    ///     the choice of tensors, and [OpenOptions#setting(String)] has the values of [#settings]. The caller applies
    ///     the others.
    /// @return the contents, never null
    /// @throws IOException if reading fails
    /// @throws IllegalArgumentException if a setting has a value that it cannot have
    /// @throws FormatException if the file is malformed, hostile or of an unsupported kind
    Contents open(MappedFile file, OpenOptions options) throws IOException;

    /// {@return the names of the other files that a file of [several][Capability#SEVERAL_FILES] names, as they are in
    /// it} Neither need they be there, nor be names of files next to it. None of them is opened.
    ///
    /// @param file a file that [matches][#matches]
    /// @throws IOException if reading fails
    /// @throws FormatException if the file is malformed
    default SequencedSet<String> companionNames(MappedFile file) throws IOException {
        return Collections.emptyNavigableSet();
    }

    /// {@return the capabilities of the format}
    default Set<Capability> capabilities() {
        return Set.of();
    }

    /// {@return the suffixes of such files, with the dot, in lower case: for instance `.safetensors`} An entry without
    /// a leading dot is the whole name of a file: `pytorch_model.bin`. A state that is saved under such a name is
    /// written in this format; if several match, in that of the longest. By default those of a format of this project
    /// with this [name][#name].
    default List<String> suffixes() {
        return KnownSuffixes.of(name());
    }

    /// {@return the name of the file that is written if a state is saved to a directory in this format, for one of
    /// [several files][Capability#SEVERAL_FILES]} By default there is none, and a directory is refused.
    default Optional<String> indexName() {
        return Optional.empty();
    }

    /// {@return the settings that a user may give this format} Every setting that the format reads has to be listed, as
    /// names that no format lists are refused before. The format checks the values.
    default List<Setting> settings() {
        return List.of();
    }

    /// Plans a file, for formats that can [SAVE][Capability#SAVE]. All reasons why the state cannot be saved are found
    /// here, before a file is created.
    ///
    /// The tensors may have any strides and overlap, be negated or conjugated by flags, and be on a device or on the
    /// meta device, where they have no bytes. [Tensor#contiguous()][io.undercroft.storage.Tensor#contiguous()] resolves
    /// strides and flags, and [Output#write(io.undercroft.storage.Storage, long, long)] reads from devices.
    ///
    /// @param state a tree as [io.undercroft.serializer.state] describes it, without objects of the program
    /// @param options what else to save, and how
    /// @return the file to be, never null
    /// @throws IllegalArgumentException if the format cannot hold the state; the message has the path to what it cannot
    ///     hold, and an [UnsavableValueException][io.undercroft.serializer.UnsavableValueException] says which value is
    ///     to be left out. Also if a setting has a value that it cannot have
    /// @throws UnsupportedOperationException if the format cannot [SAVE][Capability#SAVE]; it is not called then
    /// @throws IllegalStateException if it declares that capability without such a method
    default Draft draft(@Nullable Object state, SaveOptions options) {
        if (capabilities().contains(Capability.SAVE)) {
            throw new IllegalStateException(
                    "the format " + name() + " has a bug: it declares that it can be written, and "
                            + getClass().getName() + " has no method draft");
        }
        throw new UnsupportedOperationException("files of the format " + name() + " can be opened, not written");
    }

    /// Plans a file whose name is known. It matters only to a format of [several files][Capability#SEVERAL_FILES],
    /// which get names like it.
    ///
    /// @param state a tree as [io.undercroft.serializer.state] describes it, without objects of the program
    /// @param options what else to save, and how
    /// @param fileName what the file will be called, without its directory
    /// @return the file to be, with its [companions][Draft#companions], never null
    /// @throws IllegalArgumentException if the format cannot hold the state, or no such file can be called so
    default Draft draft(@Nullable Object state, SaveOptions options, String fileName) {
        return draft(state, options);
    }
}
