package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ShardSplit;
import io.undercroft.interop.internal.StateValues;
import io.undercroft.interop.internal.TensorBytes;
import io.undercroft.interop.internal.TensorsByName;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport.Kind;
import io.undercroft.serializer.SaveReport.Loss;
import io.undercroft.serializer.UnsavableValueException;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.StatePart;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// A distributed checkpoint to be written: the index, and the shards that it names.
///
/// Each tensor and each other value is an archive of `torch.save` in a shard, as `FileSystemWriter` of PyTorch writes
/// it. The archives start at multiples of 64 bytes, so that tensors can be mapped in place.
final class DistributedDraft implements Draft {
    /// The name of the index, by which PyTorch finds it.
    static final String INDEX = ".metadata";
    /// The setting for the size of shards.
    static final String SHARD = "torch-dcp.shard";
    /// The version of the index that PyTorch 2.13 writes. It reads others, too.
    private static final String VERSION = "1.0.0";

    private final Entries entries = new Entries();
    private final SequencedMap<String, Draft> shards = new LinkedHashMap<>();
    private final MemorySegment index;

    /// Plans a checkpoint.
    ///
    /// @param state the root of the tree
    /// @param options the size of shards, and whether objects of foreign classes are written
    /// @param fileName the name of the index
    /// @throws IllegalArgumentException if the format has no place for something
    DistributedDraft(@Nullable Object state, SaveOptions options, String fileName) {
        if (!fileName.equals(INDEX)) {
            throw new IllegalArgumentException(FormatException.quote(fileName) + ": a distributed checkpoint is saved"
                    + " to a directory that exists, or to the file " + INDEX + " in one");
        }
        if (!(state instanceof Map<?, ?> root && isDict(root))) {
            throw new UnsavableValueException("", "the state is " + StateValues.describe(state) + "; a distributed"
                    + " checkpoint holds a dict. Save a map with it, or a .pt file", null);
        }
        entries.add(root, List.of(), "");
        boolean writesObjects = TorchSettings.writesObjects(options);
        // A value may be in several places.
        IdentityHashMap<@Nullable Object, Long> sizes = new IdentityHashMap<>();
        for (Entry entry : entries.byName.values()) {
            if (!sizes.containsKey(entry.value)) {
                sizes.put(entry.value, entry.archive(writesObjects).nbytes());
            }
        }
        List<Tuple> ranges = new ArrayList<>();
        for (List<Entry> some : ShardSplit.of(entries.byName.values().stream().map(List::of).toList(),
                group -> Objects.requireNonNull(sizes.get(group.getFirst().value)), ShardSplit.limit(options, SHARD))) {
            String name = "__0_" + shards.size() + ".distcp";
            long end = 0;
            for (Entry entry : some) {
                long start = Math.ceilDiv(end, Storage.ALIGNMENT) * Storage.ALIGNMENT;
                end = Math.addExact(start, Objects.requireNonNull(sizes.get(entry.value)));
                ranges.add(entry.range(name, start, end - start));
            }
            shards.put(name, new Shard(some, end, writesObjects));
        }
        this.index = index(ranges);
    }

    /// What the index has of a tensor or another value.
    ///
    /// @param name the keys of the path, joined by dots
    /// @param path the keys of maps, as text, and the positions in lists
    /// @param place the same as a path of the state, for messages
    private record Entry(String name, Tuple path, String place, @Nullable Object value) {
        @Nullable
        Tensor tensor() {
            return TensorsByName.tensorIn(value);
        }

        /// {@return the tensors in it by their names in the state}
        SequencedMap<String, Tensor> tensors() {
            SequencedMap<String, Tensor> tensors = new LinkedHashMap<>();
            Tensor tensor = tensor();
            if (tensor != null) {
                tensors.put(place, tensor);
            } else if (!StateIndex.children(value).isEmpty()) {
                tensors.putAll(StateIndex.of(new StatePart(place, value)).tensors());
            }
            return tensors;
        }

        /// A tensor is on a storage of its own, which has its elements in their order. The pickle needs only the size
        /// of that: the elements are taken from the tensor when they are written.
        TorchArchive archive(boolean writesObjects) {
            Tensor tensor = tensor();
            try {
                if (tensor == null) {
                    return new TorchArchive(TorchArchive.FOLDER, Pickle.of(value, writesObjects));
                }
                TensorsByName.checkBytes(place, tensor);
                Storage own = Storage.deferred(tensor.nbytes(), () -> {
                    throw new AssertionError("the storage of an archive has no bytes");
                });
                return new TorchArchive(TorchArchive.FOLDER,
                        Pickle.of(Tensor.of(own, tensor.dtype(), 0, tensor.shape()), false),
                        storage -> new Elements(tensor, storage.nbytes()));
            } catch (UnsavableValueException e) {
                String inside = e.path().isEmpty() ? place : StatePart.join(place, e.path());
                throw new UnsavableValueException(inside, "cannot save " + inside + " for PyTorch: "
                        + (e.getCause() == null ? e : e.getCause()).getMessage(), e);
            }
        }

        /// {@return where it is, as an item of the index}
        Tuple range(String shard, long start, long length) {
            Tensor tensor = tensor();
            return Tuple.of(
                    object("metadata.MetadataIndex", "fqn", name, "offset",
                            tensor == null ? null : Shape.of(new long[tensor.dim()]), "index", null),
                    object("filesystem._StorageInfo", "relative_path", shard, "offset", start, "length", length));
        }
    }

    /// The elements of a tensor.
    private record Elements(Tensor tensor, long nbytes) implements Draft {
        @Override
        public void writeTo(Output output) throws IOException {
            TensorBytes.write(tensor, output);
        }
    }

    /// A file of some entries.
    private record Shard(List<Entry> entries, long nbytes, boolean writesObjects) implements Draft {
        @Override
        public void writeTo(Output output) throws IOException {
            for (Entry entry : entries) {
                output.align(Storage.ALIGNMENT);
                entry.archive(writesObjects).writeTo(output);
            }
        }
    }

    /// {@return whether the entries of a map are entries of the checkpoint, and not those of a sparse tensor for
    /// instance}
    private static boolean isDict(Map<?, ?> map) {
        return !(map instanceof TypedMap typed) || TensorsByName.isPlain(typed);
    }

    /// The state as PyTorch takes it apart (`flatten_state_dict`): maps, and lists with tensors or maps in them, are
    /// divided; all else is a value. An empty map would leave nothing, and is a value here.
    private static final class Entries {
        /// The maximum number of values of containers at their further places. A small state can nest one many times.
        private static final long MOST_AGAIN = 1 << 16;

        private final SequencedMap<String, Entry> byName = new LinkedHashMap<>();
        /// What is in values, with its attributes.
        private final Set<Object> kept = Collections.newSetFromMap(new IdentityHashMap<>());
        private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        private final IdentityHashMap<List<?>, Boolean> divided = new IdentityHashMap<>();
        private final SequencedSet<String> keysOfOtherTypes = new LinkedHashSet<>();
        private long again;

        void add(@Nullable Object value, List<Object> path, String place) {
            if (path.size() > StateIndex.MAX_DEPTH) {
                throw new IllegalArgumentException(place + ": containers nest more than " + StateIndex.MAX_DEPTH
                        + " deep");
            }
            if (value instanceof Map<?, ?> map && isDict(map) && (path.isEmpty() || !map.isEmpty())) {
                charge(map, map.size(), place);
                Set<String> keys = new HashSet<>();
                map.forEach((key, item) -> {
                    String text = text(key, place);
                    if (!keys.add(text)) {
                        throw refused(place, "two keys of the map are " + FormatException.quote(text) + " as text");
                    }
                    add(item, and(path, text), StatePart.join(place, StateIndex.segment(key)));
                });
            } else if (value instanceof List<?> list && isDivided(list)) {
                charge(list, list.size(), place);
                for (int i = 0; i < list.size(); i++) {
                    add(list.get(i), and(path, (long) i), StatePart.join(place, Integer.toString(i)));
                }
            } else {
                put(new Entry(path.stream().map(String::valueOf).collect(Collectors.joining(".")),
                        Tuple.of(path.toArray()),
                        place, value));
            }
        }

        private static List<Object> and(List<Object> path, Object last) {
            List<Object> longer = new ArrayList<>(path);
            longer.add(last);
            return longer;
        }

        private void charge(Object container, int size, String place) {
            if (!seen.add(container)) {
                again += size;
                if (again > MOST_AGAIN) {
                    throw new IllegalArgumentException(place + ": maps and lists that are in several places have more"
                            + " than " + MOST_AGAIN + " values there, each of which would be saved again");
                }
            }
        }

        /// Returns a key as PyTorch takes it, `str(key)`.
        private String text(@Nullable Object key, String place) {
            String text = switch (key) {
                case String same -> same;
                case Long _,Integer _,Short _,Byte _,BigInteger _ -> String.valueOf(key);
                case Boolean truth -> truth ? "True" : "False";
                case null, default -> throw refused(place, "the key " + key + " is neither text nor a whole number");
            };
            if (!(key instanceof String)) {
                keysOfOtherTypes.add(place);
            }
            return text;
        }

        private static IllegalArgumentException refused(String place, String what) {
            return new IllegalArgumentException((place.isEmpty() ? "" : place + ": ") + what + "; a distributed"
                    + " checkpoint has text as keys. Use other keys, or save a .pt file");
        }

        /// A list that holds itself is not divided for that.
        private boolean isDivided(List<?> list) {
            if (list instanceof Tuple) {
                return false;
            }
            Boolean known = divided.putIfAbsent(list, false);
            if (known != null) {
                return known;
            }
            boolean isDivided = list.stream().anyMatch(each -> TensorPickler.isTensor(each)
                    || (each instanceof Map<?, ?> map && isDict(map))
                    || (each instanceof List<?> inner && isDivided(inner)));
            divided.put(list, isDivided);
            return isDivided;
        }

        private void put(Entry entry) {
            Entry other = byName.putIfAbsent(entry.name, entry);
            if (other != null) {
                throw refused(entry.place, "its name would be " + FormatException.quote(entry.name)
                        + ", which is that of " + FormatException.quote(other.place));
            }
            if (entry.tensor() == null) {
                keep(entry.value);
            }
        }

        private void keep(@Nullable Object value) {
            boolean isNode = value instanceof Typed || value instanceof TypedMap;
            if ((isNode || !StateIndex.children(value).isEmpty()) && kept.add(Objects.requireNonNull(value))) {
                StateIndex.children(value).forEach(this::keep);
            }
        }
    }

    // ---- the index ----

    private MemorySegment index(List<Tuple> ranges) {
        Map<DType, TypedMap> properties = new HashMap<>();
        Map<String, Object> described = new LinkedHashMap<>();
        Map<String, Object> paths = new LinkedHashMap<>();
        TypedMap bytes = object("metadata.BytesStorageMetadata");
        entries.byName.forEach((name, entry) -> {
            Tensor tensor = entry.tensor();
            described.put(name, tensor == null
                    ? bytes
                    : object("metadata.TensorStorageMetadata", "properties",
                            properties.computeIfAbsent(tensor.dtype(), DistributedDraft::properties), "size",
                            tensor.shape(), "chunks", List.of(object("metadata.ChunkStorageMetadata", "offsets",
                                    Shape.of(new long[tensor.dim()]), "sizes", tensor.shape()))));
            paths.put(name, entry.path);
        });
        return Pickle.of(object("metadata.Metadata", "state_dict_metadata", described, "planner_data", paths,
                "storage_data", ranges.isEmpty() ? Map.of() : Map.of(InertObject.OBJECT_KEYS, ranges), "storage_meta",
                null, "version", VERSION), true).bytes();
    }

    private static TypedMap properties(DType dtype) {
        TypedMap contiguous = object("metadata._MEM_FORMAT_ENCODING");
        contiguous.attributes().put(InertObject.ARGUMENTS, Tuple.of(0L));
        TypedMap properties = object("metadata.TensorProperties");
        properties.attributes().put(InertObject.STATE,
                Tuple.of(dtype, new Symbol("torch.strided"), false, contiguous, false));
        return properties;
    }

    /// Returns an object of Python.
    ///
    /// @param name the name of its class, in the module of distributed checkpoints
    /// @param fields the names and values of its attributes
    private static TypedMap object(String name, @Nullable Object... fields) {
        TypedMap object = new TypedMap(PythonObjects.TYPE + DistributedIndex.MODULE + name);
        for (int i = 0; i < fields.length; i += 2) {
            object.put(fields[i], fields[i + 1]);
        }
        return object;
    }

    // ---- what is written, and what is not ----

    @Override
    public long nbytes() {
        return index.byteSize();
    }

    @Override
    public void writeTo(Output output) throws IOException {
        output.write(index);
    }

    @Override
    public SequencedMap<String, Draft> companions() {
        return shards;
    }

    @Override
    public boolean keeps(Object value, String attribute, Set<Capability> format) {
        return entries.kept.contains(value) && TorchArchive.keeps(value, attribute);
    }

    /// Tensors in one value share storages again, but not with the same tensor elsewhere.
    @Override
    public List<SharedStorage> sharedStorages() {
        return entries.byName.values().stream().filter(entry -> entry.tensor() == null)
                .flatMap(entry -> entry.tensors().entrySet().stream()
                        .collect(Collectors.groupingBy(named -> named.getValue().storage(),
                                Collectors.mapping(Map.Entry::getKey, Collectors.toSet())))
                        .entrySet().stream())
                .map(used -> new SharedStorage(used.getValue(), used.getKey().nbytes())).toList();
    }

    /// What attributes hold is not in the file.
    @Override
    public SequencedMap<String, Tensor> names() {
        SequencedMap<String, Tensor> names = new LinkedHashMap<>();
        entries.byName.values().forEach(entry -> names.putAll(entry.tensors()));
        return names;
    }

    @Override
    public List<Loss> losses() {
        return entries.keysOfOtherTypes.isEmpty() ? List.of() : List.of(Loss.of(Kind.KEYS, entries.keysOfOtherTypes));
    }
}
