package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.StorageFilter;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// The three members of a tar archive that make a state: `storages`, `tensors` on them, and `pickle`, whose persistent
/// ids are the numbers of both.
///
/// A storage is a pickle `(key, location, class)`, the number of its elements, and these; behind all of them is a
/// list of views `(key, key of the root, offset, number of elements)`. A tensor is a pickle
/// `(key, key of the storage, class)`, the number of its dimensions in 8 bytes, their sizes, their strides, and its
/// offset. Numbers and elements are little-endian.
///
/// Made for one reading, by one thread.
final class TarSave {
    private static final String SYSTEM = "sys_info";

    private final MappedFile file;
    private final TarDirectory tar;
    private final TorchStorages storages;
    private final ArrayStorages arrays;
    private final ReadBudget budget;
    private final boolean isStrict;
    private final Map<Long, Object> objects = new HashMap<>();
    private final List<UnreadPart> unread = new ArrayList<>();
    /// Where the elements of the storage start that is being read.
    private long offset;

    /// @param file the archive
    /// @param tar its directory
    /// @param options where storages go
    /// @param filter which storages are loaded
    /// @param elements makes storages
    TarSave(MappedFile file, TarDirectory tar, OpenOptions options, StorageFilter filter, ByteOrderStorages elements) {
        this.file = file;
        this.tar = tar;
        this.budget = ReadBudget.of(file.size());
        this.arrays = ArrayStorages.of(elements, options, filter);
        this.isStrict = TorchSettings.isStrict(options);
        this.storages = new TorchStorages(options, filter, _ -> 0, (entry, device) -> {
            long start = offset;
            return elements.open(OptionalLong.of(start), entry.nbytes(), entry::dtype, device, null,
                    into -> file.read(start, into));
        });
    }

    /// Reads all three members. There are no checksums.
    ///
    /// @param members the names of the members that belong to a state
    /// @throws IOException if reading fails
    /// @throws FormatException if they are malformed or use anything that is not allowed
    TreeContents read(Set<String> members) throws IOException {
        checkByteOrder();
        each("storages", this::readStorage, this::readViews);
        each("tensors", this::readTensor, _ -> {});
        PickleStream pickle = member("pickle");
        ForeignNames names = ForeignNames.of(isStrict);
        Object state = pickle.pickle(this::find, names, arrays);
        checkEnd("pickle", pickle);
        StateCheck.check(state, names.isStrict(), _ -> {});
        unread.addAll(tar.besides(members));
        return names.addTo(TreeContents.of(state, Map.of(), _ -> List.of(), budget).withUnverified(1, file.size()),
                unread);
    }

    /// Such machines wrote numbers and elements as they have them in memory, which PyTorch itself does not notice.
    private void checkByteOrder() throws IOException {
        if (tar.find(SYSTEM).isPresent() && member(SYSTEM).pickle() instanceof Map<?, ?> system
                && Boolean.FALSE.equals(system.get("little_endian"))) {
            throw new FormatException("TORCH-BYTEORDER", "the archive was written on a big-endian machine",
                    FormatException.NO_OFFSET, "Load it in PyTorch on such a machine, and save it again");
        }
    }

    private PickleStream member(String name) {
        TarDirectory.Member member = tar.find(name)
                .orElseThrow(() -> new FormatException("TORCH-TAR", "the tar archive has no member " + name,
                        FormatException.NO_OFFSET, PickleFault.DAMAGED));
        return new PickleStream(file, member.start(), member.end(), budget);
    }

    /// Reads a part of a member.
    private interface Step {
        void read(PickleStream stream) throws IOException;
    }

    /// Reads a count, that many items, and the end of their line.
    private void each(String member, Step thing, Step last) throws IOException {
        PickleStream stream = member(member);
        long start = stream.position();
        if (!(stream.pickle() instanceof Long count)) {
            throw PickleStream.refused("a number is missing", start);
        }
        for (long i = 0; i < count; i++) {
            placed(stream, thing);
        }
        placed(stream, last);
        checkEnd(member, stream);
    }

    private void checkEnd(String member, PickleStream stream) {
        if (stream.bytes().remaining() > 0) {
            unread.add(new UnreadPart(Kind.BYTES, "what is behind the end of " + FormatException.quote(member),
                    stream.position(), stream.bytes().remaining()));
        }
    }

    private static void placed(PickleStream stream, Step step) throws IOException {
        long start = stream.position();
        try {
            step.read(stream);
        } catch (PickleFault refused) {
            throw refused.at("", start);
        }
    }

    private void readStorage(PickleStream stream) throws IOException {
        if (!(stream.pickle() instanceof Tuple parts && parts.size() == 3 && parts.get(0) instanceof Long key)) {
            throw PickleFault.malformed("a storage without key and class");
        }
        StorageClass type = Globals.storageClass(parts.get(2));
        if (type == null) {
            throw PickleFault.malformed("a storage without a class");
        }
        budget.takeMemory(ReadBudget.TENSOR);
        long numel = stream.bytes().i64();
        offset = stream.position();
        put(key, storages.findStorage(Tuple.of("storage", parts.get(2), key.toString(), parts.get(1), numel)));
        stream.bytes().skip(Math.multiplyExact(numel, type.itemsize()));
    }

    private void readViews(PickleStream stream) throws IOException {
        if (!(stream.pickle() instanceof List<?> views)) {
            throw PickleFault.malformed("the views of storages are no list");
        }
        for (Object view : views) {
            if (!(view instanceof Tuple parts && parts.size() == 4 && parts.get(0) instanceof Long key)) {
                throw PickleFault.malformed("a view of a storage is no tuple of four numbers");
            }
            put(key, switch (objectOf(parts.get(1))) {
                case TypedStorage root -> new TypedStorage(
                        TorchStorages.slice(root.untyped(), parts.get(2), parts.get(3), root.elementSize()),
                        root.dtype());
                case Storage root -> TorchStorages.slice(root, parts.get(2), parts.get(3), 1);
                case null, default -> throw PickleFault.malformed("a view of no storage");
            });
        }
    }

    private void readTensor(PickleStream stream) throws IOException {
        budget.takeMemory(ReadBudget.TENSOR);
        if (!(stream.pickle() instanceof Tuple parts && parts.size() == 3 && parts.get(0) instanceof Long key
                && storageOf(key, parts) instanceof TypedStorage storage)) {
            throw PickleFault.malformed("a tensor without key and storage");
        }
        int rank = stream.bytes().i32();
        stream.bytes().i32();
        if (rank < 0 || rank > Shape.MAX_RANK) {
            throw PickleFault.malformed("a tensor of " + rank + " dimensions");
        }
        long[] sizes = longs(stream, rank);
        long[] strides = longs(stream, rank);
        put(key, tensor(storage, stream.bytes().i64(), sizes, strides));
    }

    /// An empty tensor had no storage. PyTorch wrote that, and could not read it.
    private @Nullable Object storageOf(Long key, Tuple tensor) {
        StorageClass type = tensor.get(1) == null ? Globals.storageOfTensors(tensor.get(2)) : null;
        return type == null
                ? objectOf(tensor.get(1))
                : storages.findStorage(Tuple.of("storage", new Symbol(type.name()), "of " + key, "cpu", 0L));
    }

    private static Tensor tensor(TypedStorage storage, long first, long[] sizes, long[] strides) {
        // Such old versions had no tensor of one element without dimensions; theirs has none.
        boolean isEmpty = sizes.length == 0 && storage.size() == 0;
        Shape shape = isEmpty ? Shape.of(0) : TensorRebuilder.shape(sizes);
        return TensorRebuilder.checked(storage.untyped(), storage.dtype(), first, shape,
                isEmpty ? new long[]{1} : strides);
    }

    private static long[] longs(PickleStream stream, int count) throws IOException {
        long[] values = new long[count];
        for (int i = 0; i < count; i++) {
            values[i] = stream.bytes().i64();
        }
        return values;
    }

    /// Only numbers are looked up, as other keys could take very long to hash.
    private @Nullable Object objectOf(@Nullable Object key) {
        return key instanceof Long number ? objects.get(number) : null;
    }

    private void put(Long key, Object value) {
        if (objects.putIfAbsent(key, value) != null) {
            throw PickleFault.malformed("two storages or tensors have the number " + key);
        }
    }

    /// {@return the storage or tensor of a number in digits; of a class with its source, the class}
    private @Nullable Object find(@Nullable Object id) {
        if (id instanceof Tuple container && !container.isEmpty()) {
            return container.get(0);
        }
        Object found = id instanceof String digits && digits.matches("-?\\d{1,18}")
                ? objects.get(Long.valueOf(digits))
                : null;
        if (found == null) {
            throw PickleFault.malformed("a persistent id that names no storage or tensor");
        }
        return found;
    }
}
