package io.undercroft.cli.internal.inspect;

import io.undercroft.cli.internal.Sha256;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.internal.analysis.DiskBytes;
import io.undercroft.serializer.internal.analysis.NamedTensors;
import io.undercroft.serializer.internal.analysis.Sizes;
import io.undercroft.serializer.internal.analysis.TensorBlocks;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/// The data of both reports of an open file: names, and numbers of storages.
public final class Inspection {
    private final NamedTensors named;
    private final @Nullable Sha256 digests;
    private final Collection<String> absentDevices;
    private final SequencedMap<String, Tensor> tensors;
    private final IdentityHashMap<Storage, Integer> ids;
    private final IdentityHashMap<Storage, List<String>> users;

    /// Walks the state.
    ///
    /// @param checkpoint the open file
    /// @param digests computes digests, or null to leave them out
    /// @param absentDevices other devices that storages were saved from; the same set may grow while the state is read
    public Inspection(Checkpoint checkpoint, @Nullable Sha256 digests, Collection<String> absentDevices) {
        this.named = new NamedTensors(checkpoint);
        this.digests = digests;
        this.absentDevices = absentDevices;
        this.ids = new IdentityHashMap<>();
        this.users = new IdentityHashMap<>();
        index().storages().forEach(storage -> ids.put(storage, ids.size()));
        this.tensors = named.tensors();
        tensors.forEach((name, tensor) -> users(tensor.storage()).add(name));
    }

    private Inspection(Inspection same, @Nullable Sha256 digests, SequencedMap<String, Tensor> tensors) {
        this.named = same.named;
        this.digests = digests;
        this.absentDevices = same.absentDevices;
        this.tensors = tensors;
        this.ids = same.ids;
        this.users = same.users;
    }

    /// {@return the tensors in the order of the state, as they are compared with those of another file}
    public NamedTensors named() {
        return named;
    }

    /// {@return the open file}
    public Checkpoint checkpoint() {
        return named.checkpoint();
    }

    /// {@return the same without digests}
    Inspection withoutDigests() {
        return new Inspection(this, null, tensors);
    }

    /// {@return the same with the tensors in another order}
    ///
    /// @param order the order
    public Inspection sorted(Order order) {
        SequencedMap<String, Tensor> sorted = new LinkedHashMap<>();
        tensors.entrySet().stream().sorted(order.comparator())
                .forEach(named -> sorted.put(named.getKey(), named.getValue()));
        return new Inspection(this, digests, sorted);
    }

    @Nullable
    Sha256 digests() {
        return digests;
    }

    /// Devices that storages were saved from, and that are not here.
    Collection<String> absentDevices() {
        return absentDevices;
    }

    /// {@return the reasons why tensors cannot be read, by their names; empty if all can}
    public SequencedMap<String, FormatException> unreadable() {
        return Unreadable.in(tensors);
    }

    StateIndex index() {
        return named.index();
    }

    /// {@return the tensors by their names, in the order of the state or the order of [#sorted]; only those that were
    /// selected when the file was opened}
    public SequencedMap<String, Tensor> tensors() {
        return tensors;
    }

    /// {@return the name by which a user can select a tensor; see [NamedTensors#typed]}
    ///
    /// @param name its name
    public String typed(String name) {
        return named.typed(name);
    }

    /// {@return the other names by which programs know a tensor}
    ///
    /// @param name its name
    public List<String> aliases(String name) {
        return named.aliases(name);
    }

    /// {@return all storages; only those of the selected tensors, if some were selected}
    public List<Storage> storages() {
        return tensors.size() == index().tensors().size()
                ? index().storages()
                : index().storages().stream().filter(storage -> !users(storage).isEmpty()).toList();
    }

    /// {@return the storages without those of tensors that cannot be read}
    public List<Storage> readableStorages() {
        return storages().stream().filter(this::isReadable).toList();
    }

    /// {@return whether a storage has bytes, and is not that of a placeholder}
    boolean isReadable(Storage storage) {
        return users(storage).stream().map(tensors::get)
                .noneMatch(tensor -> tensor != null && Unreadable.why(tensor).isPresent());
    }

    /// Returns the number of a storage in order of first use, or null for one that only the key of a map holds.
    @Nullable
    Integer idOf(Storage storage) {
        return ids.get(storage);
    }

    /// Returns the number of bytes of a storage in files, if it is known.
    OptionalLong onDisk(Storage storage) {
        return DiskBytes.of(checkpoint(), List.of(storage));
    }

    /// Returns the number of bytes of all storages in files, shared bytes counted once, if it is known.
    OptionalLong onDisk() {
        return DiskBytes.of(checkpoint(), storages());
    }

    /// Returns the size of all tensors in bytes, without those that cannot be read; at most 2^63-1.
    long tensorBytes() {
        return TensorBlocks.nbytes(
                tensors.values().stream().filter(tensor -> Unreadable.why(tensor).isEmpty()).toList());
    }

    /// Returns the size of all storages in bytes; at most 2^63-1.
    long nbytes() {
        return Sizes.sum(storages().stream().mapToLong(Storage::nbytes));
    }

    /// Returns the names of the tensors on a storage.
    List<String> users(Storage storage) {
        return users.computeIfAbsent(storage, s -> new ArrayList<>());
    }

    /// The order in which tensors are listed. Tensors that compare equal stay in the order of the state.
    public enum Order {
        /// By name.
        NAME,
        /// By size, the largest first.
        SIZE,
        /// By the name of the dtype.
        DTYPE;

        Comparator<Map.Entry<String, Tensor>> comparator() {
            return switch (this) {
                case NAME -> Map.Entry.comparingByKey();
                case SIZE ->
                    Map.Entry.comparingByValue(Comparator.<Tensor>comparingLong(TensorBlocks::nbytes).reversed());
                case DTYPE -> Comparator.comparing(named -> named.getValue().dtype().name());
            };
        }
    }
}
