package io.undercroft.serializer;

import io.undercroft.format.FormatException;
import io.undercroft.storage.Tensor;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.SequencedSet;

/// What is left of a damaged `.croft` file: [CheckpointFile#salvage].
///
/// ```java
/// try (CheckpointFile file = CheckpointFile.open(Path.of("model.croft"));
///         Salvage salvage = file.salvage()) {
///     Map<String, Tensor> left = new LinkedHashMap<>();
///     salvage.names().forEach(name -> left.put(name, salvage.tensor(name)));
///     Checkpoint.save(Path.of("rescued.croft"), left);
/// }
/// ```
///
/// The newest snapshot that opens is opened; all bytes of its storages are read, and each tensor is either intact or
/// damaged: it is damaged if a byte of its span, from its first element to its last, lies in a chunk that does not
/// match its checksum, or if what describes it does not match. Intact tensors are given as they are, and share the
/// storages that they shared. A damaged one is given only by [#damagedTensor], and [#tensor] never gives one. The state
/// tree, which may be damaged itself, is not needed: tensors are listed by their names in the index, in the order of
/// their UTF-8 bytes. The file never changes.
///
/// Bytes in other files are checked where these can be found, see [OpenOptions#root(java.nio.file.Path)]. Where not,
/// the tensor counts as intact, and its bytes cannot be had: touching them throws a [FormatException] that says what is
/// missing.
///
/// **Lifetime and threads** are those of a [Checkpoint].
public interface Salvage extends AutoCloseable {
    /// {@return the snapshot that was opened}
    SnapshotInfo snapshot();

    /// {@return why a newer snapshot was not opened, if that is so}
    Optional<FormatException> skippedCommit();

    /// {@return whether no commit slot led to a snapshot, so that the whole file was searched for commit records} The
    /// snapshot that was found may then be much older than the newest one that was ever saved.
    boolean isSearched();

    /// {@return the names of the intact tensors}
    SequencedSet<String> names();

    /// {@return the names of the damaged tensors}
    SequencedSet<String> damagedNames();

    /// {@return all damage that was found, with the tensors that it hits}
    List<Damage> damages();

    /// {@return the intact tensor of that name; always the same object}
    ///
    /// @param name one of [#names], or a raw name as for [Checkpoint#tensor]
    /// @throws NoSuchElementException if there is none
    /// @throws FormatException by rule V14 if it is damaged
    Tensor tensor(String name);

    /// {@return the damaged tensor of that name, with the bytes that are there: some of its elements are wrong}
    ///
    /// @param name one of [#damagedNames], or a raw name as for [Checkpoint#tensor]
    /// @throws NoSuchElementException if there is none, or it is intact
    /// @throws FormatException if what describes it is so damaged that it cannot be made
    Tensor damagedTensor(String name);

    /// Releases the storages and the file.
    @Override
    void close();
}
