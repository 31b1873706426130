package io.undercroft.serializer.spi;

import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.ExportOptions;
import io.undercroft.serializer.OpenOptions;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// A file format that holds tensors. Implementations are stateless and have a public constructor without parameters.
public interface CheckpointFormat {
    /// What files of a format can do. All can be opened.
    enum Capability {
        /// States can be [saved][CheckpointFormat#draft] in it.
        SAVE,
        /// Tensors that share a storage come back so, views too.
        SHARING,
        /// It holds maps, lists and scalars, and not only tensors by name.
        STATE,
        /// It holds free-form text about the file.
        METADATA,
        /// A file names others, in which the tensors are.
        SEVERAL_FILES
    }

    /// {@return the name that `croft inspect` shows, for instance `torch-zip`}
    String name();

    /// Tells whether a file is of this format, from a few reads; the file may be anything.
    ///
    /// @param file the file
    /// @return true if [#open] should be asked, also if the file is damaged or of a kind that open will refuse by name
    /// @throws IOException if reading fails
    boolean matches(MappedFile file) throws IOException;

    /// Reads what the file holds, leaving bulk data where it is.
    ///
    /// @param file the file; the contents keep using it and the caller closes it after them
    /// @param options how to map it
    /// @return the contents
    /// @throws IOException if reading fails
    /// @throws io.undercroft.format.FormatException if the file is malformed, hostile or of an unsupported kind
    Contents open(MappedFile file, OpenOptions options) throws IOException;

    /// {@return what the format can do}
    default Set<Capability> capabilities() {
        return Set.of();
    }

    /// {@return what names of such files end in, with the dot, in lower case: for instance `.safetensors`} A state that is saved under a name
    /// that ends so is saved in this format.
    default List<String> suffixes() {
        return List.of();
    }

    /// Plans a file. Whatever keeps the state from being saved is found here, before a file is made.
    ///
    /// @param state a tree as [io.undercroft.serializer.state] describes it, without objects of the program
    /// @param options what else to save, and how
    /// @return the file to be
    /// @throws IllegalArgumentException if the format cannot hold the state; the message has the path to what it cannot hold
    default Draft draft(@Nullable Object state, ExportOptions options) {
        throw new UnsupportedOperationException("files of the format " + name() + " can be opened, not written");
    }

    /// Plans a file whose name is known. It matters only to a format of [several files][Capability#SEVERAL_FILES], which get
    /// names like it.
    ///
    /// @param state a tree as [io.undercroft.serializer.state] describes it, without objects of the program
    /// @param options what else to save, and how
    /// @param fileName what the file is going to be called, without its directory
    /// @return the file to be, with its [companions][Draft#companions]
    /// @throws IllegalArgumentException if the format cannot hold the state, or no such file can be called so
    default Draft draft(@Nullable Object state, ExportOptions options, String fileName) {
        return draft(state, options);
    }
}
