package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.StorageFilter;
import io.undercroft.interop.torch.TorchStorages.Entry;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/// One call of `torch.save` in a file: five pickles (a magic number, the version of the format, what kind of machine it
/// was, the state, the keys of its storages) and behind them the storages, each as a count and its elements.
///
/// The storages and their types are in the state, and their places only behind it. So the state is built twice: once
/// without bytes, and once with them. The elements are little-endian, whatever machine
/// it was: PyTorch turns them round when it writes, and does not look at that pickle either.
final class LegacySave {
    private static final BigInteger MAGIC = new BigInteger("1950a86a20f9469cfc6c", 16);
    /// The first bytes of the pickle of that number.
    private static final long START = 0x469c_fc6c_0a8a_0280L;
    /// The pickle of that number in protocols 0 and 1, and what it begins with.
    static final String TEXT_MAGIC = "L" + MAGIC + "L\n.";
    private static final long TEXT_START = 0x3037_3435_3931_314cL;
    private static final long VERSION = 1001;

    private final MappedFile file;
    private final Layout layout;
    private final boolean isStrict;

    private LegacySave(MappedFile file, Layout layout, boolean isStrict) {
        this.file = file;
        this.layout = layout;
        this.isStrict = isStrict;
    }

    /// The offsets of the parts of a save.
    ///
    /// @param pickle where the state starts
    /// @param end where the next save would start
    /// @param runs the bytes of storages, by their keys
    private record Layout(long pickle, long end, Map<String, Run> runs) {
        /// Steps over a save.
        static Layout of(PickleStream stream, ForeignNames names) throws IOException {
            long start = stream.position();
            require(MAGIC.equals(stream.pickle()), "the magic number of torch.save is missing", start);
            long version = stream.position();
            require(Long.valueOf(VERSION).equals(stream.pickle()), "the format has another version than " + VERSION,
                    version);
            long system = stream.position();
            require(stream.pickle() instanceof Map, "the description of the machine is no dict", system);
            long pickle = stream.position();
            TorchStorages sizes = TorchStorages.ofSizes();
            stream.pickle(new Ids(sizes), names, ArrayStorages.ofSizes());
            Map<String, Run> runs = LegacySave.runs(stream, sizes);
            return new Layout(pickle, stream.position(), runs);
        }

        Run run(Entry entry) {
            Run run = runs.get(entry.key());
            if (run == null) {
                throw entry.refused("has no bytes");
            }
            return run;
        }
    }

    /// The bytes of a storage in the file.
    ///
    /// @param offset where they start
    /// @param tail how many follow that are no whole element
    private record Run(long offset, long tail) {}

    /// Reads over a save.
    ///
    /// @param file the file
    /// @param start where it starts
    /// @param isStrict whether it may name classes of tensors only
    /// @param budget what reading all saves of the file may cost
    /// @return the save
    /// @throws IOException if reading fails
    /// @throws FormatException if it is malformed or uses anything that is not allowed
    static LegacySave at(MappedFile file, long start, boolean isStrict, ReadBudget budget) throws IOException {
        PickleStream stream = new PickleStream(file, start, file.size(), budget);
        return new LegacySave(file, Layout.of(stream, ForeignNames.of(isStrict)), isStrict);
    }

    /// Reads a save of one storage, as `pickle.dump` of a tensor has it in its pickle.
    ///
    /// @param save the whole save
    /// @param file the name of the file that it is in
    /// @param options how that is opened
    /// @param filter which storages are loaded
    /// @param elements makes storages
    /// @param budget what reading that may cost
    /// @return a [Storage] or [TypedStorage]
    /// @throws FormatException if it is anything else
    static Object storageIn(byte[] save, String file, OpenOptions options, StorageFilter filter,
            ByteOrderStorages elements,
            ReadBudget budget) throws IOException {
        MemorySegment bytes = MemorySegment.ofArray(save);
        Layout layout = Layout.of(new PickleStream(bytes, file, budget), ForeignNames.ofTensors());
        require(layout.end == save.length, "bytes follow that are no part of it", layout.end);
        TorchStorages storages = new TorchStorages(options, filter, entry -> layout.run(entry).tail,
                (entry, device) -> {
                    long offset = layout.run(entry).offset;
                    return elements.open(OptionalLong.empty(), entry.nbytes(), entry::dtype, device, null,
                            into -> into.copyFrom(bytes.asSlice(offset, into.byteSize())));
                });
        Object storage = new PickleStream(bytes.asSlice(layout.pickle), file, budget).pickle(new Ids(storages),
                ForeignNames.ofTensors(), ArrayStorages.ofSizes());
        if (storage instanceof Storage || storage instanceof TypedStorage) {
            return storage;
        }
        throw PickleStream.refused("it is no storage", layout.pickle);
    }

    private static void require(boolean condition, String otherwise, long offset) {
        if (!condition) {
            throw PickleStream.refused(otherwise, offset);
        }
    }

    private static Map<String, Run> runs(PickleStream stream, TorchStorages sizes) throws IOException {
        long start = stream.position();
        Map<String, Entry> missing = new HashMap<>();
        sizes.entries().forEach(entry -> missing.put(entry.key(), entry));
        if (!(stream.pickle() instanceof List<?> keys)) {
            throw PickleStream.refused("the keys of the storages are no list", start);
        }
        List<Entry> entries = new ArrayList<>();
        for (Object key : keys) {
            Entry entry = key instanceof String text ? missing.remove(text) : null;
            if (entry == null) {
                throw PickleStream.refused("bytes of storage "
                        + (key instanceof String text ? FormatException.quote(text) : CallArguments.describe(key))
                        + " follow, which the state does not have, or twice", start);
            }
            entries.add(entry);
        }
        require(missing.isEmpty(), "of " + missing.size() + " storages of the state no bytes follow", start);
        Map<String, Run> runs = new HashMap<>();
        for (int i = 0; i < entries.size(); i++) {
            Entry entry = entries.get(i);
            long offset = elements(stream, entry);
            long tail = tail(stream, entry, i + 1 < entries.size() ? entries.get(i + 1) : null);
            stream.bytes().skip(tail);
            runs.put(entry.key(), new Run(offset, tail));
        }
        return runs;
    }

    /// {@return where the elements of a storage start, behind their number}
    private static long elements(PickleStream stream, Entry entry) throws IOException {
        long start = stream.position();
        long count = stream.bytes().i64();
        require(entry.counted() % entry.itemsize() == 0 && count == entry.counted() / entry.itemsize(),
                "storage " + FormatException.quote(entry.key()) + " of " + entry.counted() + " bytes has " + count
                        + " elements of " + entry.itemsize(),
                start);
        long elements = stream.position();
        stream.bytes().skip(entry.counted());
        return elements;
    }

    /// PyTorch writes the number of the whole elements and then all bytes, of which it reads these elements only: a
    /// file in which such a storage is not the last one it does not read.
    ///
    /// @param next the storage behind it, or null if it is the last one
    /// @return how many bytes the storage has behind its last whole element
    private static long tail(PickleStream stream, Entry entry, @Nullable Entry next) throws IOException {
        for (int tail = 0; tail < entry.itemsize(); tail++) {
            boolean isEnd = next == null
                    ? stream.bytes().remaining() == tail || stream.startsWith(tail, START)
                            || stream.startsWith(tail, TEXT_START)
                    : stream.startsWith(tail, next.counted() / next.itemsize());
            if (isEnd) {
                return tail;
            }
        }
        return 0;
    }

    /// {@return where the next save would start}
    long end() {
        return layout.end;
    }

    /// Opens the save.
    ///
    /// @param options how to
    /// @param unread what the file holds besides the save
    /// @return what it holds
    /// @throws IOException if reading fails
    /// @throws FormatException if the state is not fit to be handed on
    Contents open(OpenOptions options, List<UnreadPart> unread) throws IOException {
        ByteOrderStorages elements = new ByteOrderStorages(file, options, ByteOrder.LITTLE_ENDIAN);
        return StorageFilter.read(options, (opening, filter) -> contents(new TorchStorages(opening, filter,
                entry -> layout.run(entry).tail, (entry, device) -> open(entry, elements, device)),
                ArrayStorages.of(elements, opening, filter), unread));
    }

    /// There are no checksums.
    private TreeContents contents(TorchStorages storages, ArrayStorages arrays, List<UnreadPart> unread)
            throws IOException {
        ReadBudget budget = ReadBudget.of(file.size());
        ForeignNames names = ForeignNames.of(isStrict);
        Object state = new PickleStream(file, layout.pickle, file.size(), budget).pickle(new Ids(storages), names,
                arrays);
        StateCheck.check(state, isStrict, _ -> {});
        return names.addTo(TreeContents.of(state, Map.of(), _ -> List.of(), budget).withUnverified(1, file.size()),
                unread);
    }

    private Storage open(Entry entry, ByteOrderStorages elements, Device device) {
        long offset = layout.run(entry).offset;
        return elements.open(OptionalLong.of(offset), entry.nbytes(), entry::dtype, device, null,
                into -> file.read(offset, into));
    }

    /// Resolves persistent ids: storages, and views of them, whose ids have a sixth part
    /// `(key, offset in elements, number of elements)`.
    private static final class Ids implements Unpickler.References {
        private final TorchStorages storages;
        private final Map<String, View> views = new HashMap<>();

        Ids(TorchStorages storages) {
            this.storages = storages;
        }

        private record View(Tuple geometry, Storage root, Storage slice) {}

        @Override
        public @Nullable Object find(@Nullable Object id) {
            if (id instanceof Tuple parts && parts.size() == 4 && "module".equals(parts.get(0))) {
                // A class with its source.
                return parts.get(1);
            }
            if (!(id instanceof Tuple parts && parts.size() == 6)) {
                throw TorchStorages.notStorage();
            }
            Object root = storages.findStorage(parts);
            if (parts.get(5) == null) {
                return root;
            }
            if (!(parts.get(5) instanceof Tuple view && view.size() == 3 && view.get(0) instanceof String key)) {
                throw TorchStorages.notStorage();
            }
            return switch (root) {
                case TypedStorage typed ->
                    new TypedStorage(view(key, view, typed.untyped(), typed.elementSize()), typed.dtype());
                case Storage storage -> view(key, view, storage, 1);
                default -> throw TorchStorages.notStorage();
            };
        }

        private Storage view(String key, Tuple geometry, Storage root, int itemsize) {
            View view = views.computeIfAbsent(key,
                    _ -> new View(geometry, root,
                            TorchStorages.slice(root, geometry.get(1), geometry.get(2), itemsize)));
            if (!view.geometry.equals(geometry) || view.root != root) {
                throw PickleFault.because("TORCH-STORAGE",
                        "view " + FormatException.quote(key) + " is described in two ways",
                        PickleFault.DAMAGED);
            }
            return view.slice;
        }
    }
}
