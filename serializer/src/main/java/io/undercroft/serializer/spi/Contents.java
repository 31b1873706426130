package io.undercroft.serializer.spi;

import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.FileRegion;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.TensorSpec;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.internal.loading.RowReader;
import io.undercroft.serializer.internal.loading.StoredBytes;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedCollection;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/// The contents of an open file. [TreeContents] implements it for a state tree; a format that can find tensors faster
/// than by reading the tree implements it itself. Safe for use by several threads.
///
/// If [some tensors only][io.undercroft.serializer.OpenOptions#isChosen] are to be loaded, the others have no name
/// here, and a storage is on the meta device if no chosen tensor uses it. The state contains all tensors.
public interface Contents {
    /// {@return the state tree, as [io.undercroft.serializer.state] describes it}
    @Nullable
    Object state();

    /// {@return free-form text about the file, as safetensors keeps it}
    Map<String, String> metadata();

    /// {@return the names of all tensors in the order in which the state holds them; a tensor may have several}
    SequencedCollection<String> names();

    /// {@return whether a name of a tensor passes a test} The names are in any order; no further ones are read after
    /// the first that passes. A format that stores names apart from the state uses only these.
    ///
    /// @param test called with one name after the other
    default boolean anyName(Predicate<String> test) {
        return names().stream().anyMatch(test);
    }

    /// Finds a tensor.
    ///
    /// @param name its name
    /// @return the same object for every call and for every name of the tensor, or nothing
    Optional<Tensor> tensor(String name);

    /// {@return whether there is a tensor of that name} Reads no element.
    ///
    /// @param name its name
    default boolean contains(String name) {
        return tensor(name).isPresent();
    }

    /// {@return what a tensor is, or nothing if there is none of that name} Reads no element.
    ///
    /// @param name its name
    default Optional<TensorSpec> spec(String name) {
        return tensor(name).map(TensorSpec::of);
    }

    /// Copies some elements of a tensor into new memory, on its device, and reads as little else of the tensor as
    /// possible.
    ///
    /// @param name its name
    /// @param view makes a view of these elements; what it throws is thrown
    /// @return a tensor of these elements, or nothing if there is none of that name
    default Optional<Tensor> part(String name, UnaryOperator<Tensor> view) {
        return tensor(name).map(tensor -> RowReader.copy(view.apply(tensor)));
    }

    /// {@return the storages in the order in which the state first uses them}
    List<Storage> storages();

    /// {@return the extents of a storage in ascending order, or nothing if its bytes are not in files as they are in
    /// memory (compressed, of the other byte order, not contiguous), or if unknown}
    ///
    /// @param storage one of [#storages]
    /// @param file the file whose contents these are
    default List<Extent> extents(Storage storage, MappedFile file) {
        return StoredBytes.of(storage).filter(bytes -> bytes.file() == file).map(StoredBytes::extents)
                .orElse(List.of());
    }

    /// {@return storages in the groups in which they are loaded from a store, one group after the other} By default one
    /// group. Contents that are in many files keep those of one group open, so that [#runs] are known.
    ///
    /// @param storages some of [#storages]
    default List<List<Storage>> loadGroups(List<Storage> storages) {
        return List.of(storages);
    }

    /// Opens the files that the storages of a group are in, several at once. By default there are none to be opened.
    ///
    /// @param group one of [#loadGroups], which is loaded next
    /// @throws IOException if a file cannot be opened
    default void openGroup(List<Storage> group) throws IOException {}

    /// {@return the runs of bytes that are read when a storage is touched, as far as they are known} When several
    /// storages of a file in a store are loaded, those that are close to each other are fetched together.
    ///
    /// @param storage one of [#storages]
    default List<FilePiece> runs(Storage storage) {
        return StoredBytes.of(storage).map(StoredBytes::runs).orElse(List.of());
    }

    /// {@return the parts of the file that are not bytes of storages, in the order of the file} The default
    /// implementation returns an empty list.
    default List<FileRegion> regions() {
        return List.of();
    }

    /// {@return the other files of the set that this one is the index of, in the order in which it names them} Storages
    /// are in these. Empty for a file that is no index.
    default List<Companion> companions() {
        return List.of();
    }

    /// {@return the parts of the file that the state does not contain, in the order of the file} Formats that refuse
    /// files with such parts have none. May be called by several threads.
    default List<UnreadPart> unread() {
        return List.of();
    }

    /// {@return the classes of another language that the file names and that its format does not know, in the order in
    /// which it names them}
    default List<ForeignClass> foreignClasses() {
        return List.of();
    }

    /// {@return other names of the tensors of the state, chosen or not, by which programs know them: the name of each
    /// by the other one} No alias is the name of a tensor.
    default Map<String, String> aliases() {
        return Map.of();
    }

    /// {@return the damage found so far, by checks that the options require}
    default List<Damage> damages() {
        return List.of();
    }

    /// Reads everything and checks it against the checksums that the file has.
    ///
    /// @return what is damaged, and how many bytes could not be checked
    /// @throws IOException if reading fails
    Verification verify() throws IOException;

    /// Reads the bytes of all storages once and compares them with the checksums that the file has. By default,
    /// verifies the file.
    ///
    /// @param found called with each damage when it is found
    /// @param pulse run between reads of at most some MiB; what it throws ends the work
    /// @throws IOException if reading fails
    default void scrub(Consumer<Damage> found, Runnable pulse) throws IOException {
        pulse.run();
        verify().damages().forEach(found);
    }

    /// Releases the storages, when the checkpoint is closed. A retained storage is first mapped or decoded, if it was
    /// not yet, since the file is closed with the checkpoint. If that fails it is released like the others, and throws
    /// when it is touched.
    default void release() {
        List<Storage> storages = storages();
        Set<Storage> bases = new HashSet<>();
        for (Storage storage : storages) {
            Optional<Storage> base = storage.base();
            if (base.isPresent()) {
                bases.add(base.get());
            }
        }
        for (Storage storage : storages) {
            bases.remove(storage);
            release(storage);
        }
        // Those that only slices were made of.
        for (Storage base : bases) {
            release(base);
        }
    }

    /// Releases one storage as [#release] does it.
    ///
    /// @param storage a storage of these contents
    static void release(Storage storage) {
        int references = storage.referenceCount();
        try {
            if (references > 1 && !storage.device().isMeta()) {
                var _ = storage.materialize();
            }
        } catch (RuntimeException | OutOfMemoryError | InternalError _) {
            // Damaged, without memory to decode it to, or in a file that was cut.
        } finally {
            if (references > 0) {
                storage.release();
            }
        }
    }
}
