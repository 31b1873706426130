package io.undercroft.properties.formats;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.SaveReport.Kind;
import io.undercroft.serializer.SaveReport.Loss;
import io.undercroft.serializer.internal.tree.ScalarList;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Sameness;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/// What a file does not give back of a state: found by reading it, for a comparison with what the save reported.
final class ActualLosses {
    /// The tensors of the state by all names that a file can have of them.
    private final Map<String, Tensor> tensors = new LinkedHashMap<>();
    /// What was read of each of these, for files whose tensors are found by names.
    private final Map<String, Tensor> read = new LinkedHashMap<>();
    private final Map<String, Object> nodes = new HashMap<>();
    private final Map<Kind, Set<String>> names = new EnumMap<>(Kind.class);
    /// Where in the file each typed value of the state can be.
    private final IdentityHashMap<Object, List<String>> places = new IdentityHashMap<>();
    private final StateIndex index;
    private final Object state;
    private final Checkpoint opened;
    private final boolean isOfNames;
    private long unreached;
    private long unreachedChunks;

    private ActualLosses(Object state, Checkpoint opened) {
        this.state = state;
        this.opened = opened;
        this.index = StateIndex.of(state);
        this.isOfNames = Set.of("safetensors", "safetensors-index", "npz", "gguf").contains(opened.format());
        Map<String, Tensor> found = new HashMap<>();
        StateIndex.of(opened.state()).tensors().forEach((name, tensor) -> found.put(inFile(name), tensor));
        tensors.putAll(index.tensors());
        if (opened.format().equals("torch-dcp")) {
            Numbers numbers = new Numbers();
            DistributedRetelling.of(state).parts().forEach(part -> findPart(part, found, numbers));
        } else {
            // Lists of Lua count from 1, and empty storages may part, so its tensors are those at the same places.
            Object told = opened.format().equals("torch7") ? LuaRetelling.of(state) : state;
            Iterator<String> there = StateIndex.of(told).tensors().keySet().iterator();
            index.tensors().keySet().forEach(name -> find(name, found.get(inFile(there.next()))));
            List<String> typed = new ArrayList<>();
            forEachTyped(told, (path, _) -> typed.add(path));
            Iterator<String> paths = typed.iterator();
            Numbers numbers = new Numbers();
            forEachTyped(state, (_, node) -> places.put(node, List.of(numbers.number(place(paths.next(), node)))));
        }
        Numbers numbers = new Numbers();
        forEachTyped(opened.state(), (path, node) -> nodes.put(numbers.number(place(path, node)), node));
    }

    private void findPart(DistributedRetelling.Part part, Map<String, Tensor> found, Numbers numbers) {
        Iterator<String> there = part.tensorsInFile().keySet().iterator();
        part.tensors().forEach((name, tensor) -> {
            tensors.put(name, tensor);
            find(name, found.get(there.next()));
        });
        walk(part.pathInFile(), part.value(), (path, node) -> places.computeIfAbsent(node, _ -> new ArrayList<>())
                .add(numbers.number(place(path, node))), Collections.newSetFromMap(new IdentityHashMap<>()));
    }

    private void find(String name, @Nullable Tensor tensor) {
        if (tensor != null) {
            read.put(name, tensor);
        }
    }

    /// Fails if what a save reported is not what the file lacks.
    ///
    /// @param metadata the metadata that the save was given
    static void check(Object state, Map<String, String> metadata, SaveReport report, Checkpoint opened) {
        ActualLosses actual = new ActualLosses(state, opened);
        // What state_dict() of a module has is written under other names than those of the state.
        if (report.loss(Kind.OBJECTS).isPresent()) {
            return;
        }
        actual.unreachedChunks = report.dedup().map(DedupReport::unreached).orElse(0L);
        actual.find(metadata);
        Map<Kind, Set<String>> reported = new EnumMap<>(Kind.class);
        for (Loss loss : report.losses()) {
            if (!Set.of(Kind.WEIGHTS_ONLY, Kind.METADATA_ONLY, Kind.LISTS, Kind.KEYS, Kind.UNREADABLE,
                    Kind.REQUIRED_METADATA)
                    .contains(loss.kind())) {
                reported.put(loss.kind(), new TreeSet<>(loss.names()));
                assertThat(loss.count()).as(loss.kind().toString())
                        .isEqualTo(loss.kind() == Kind.UNREACHED ? actual.unreached : loss.names().size());
            }
        }
        assertThat(reported).as("the losses that are reported of %s", report.format()).isEqualTo(actual.names);
    }

    /// Tells values at equal paths apart, which keys of other types than text may have.
    private static final class Numbers {
        private final Map<String, Integer> last = new HashMap<>();

        String number(String place) {
            return place + " " + last.merge(place, 1, Integer::sum);
        }
    }

    /// A typed value and the typed map that it has as its value are at one path.
    private String place(String path, Object node) {
        return node.getClass().getSimpleName() + " " + inFile(path);
    }

    private String inFile(String name) {
        return isOfNames ? StateIndex.rawName(name) : name;
    }

    private void find(Map<String, String> metadata) {
        metadata.forEach((key, value) -> lost(Kind.METADATA, key, !value.equals(opened.metadata().get(key))));
        index.tensors().forEach((_, tensor) -> lost(Kind.REQUIRES_GRAD, index.nameOf(tensor),
                tensor.is(Tensor.Flag.REQUIRES_GRAD)
                        && !isRead(tensor, there -> there.is(Tensor.Flag.REQUIRES_GRAD))));
        boolean isRetold = opened.format().equals("torch7");
        forEachTyped(state, (_, node) -> readBack(node, places.getOrDefault(node, List.of()).stream()
                .map(nodes::get).filter(Objects::nonNull).findFirst().orElse(null), isRetold,
                node == state ? metadata : Map.of()));
        findSharing();
        index.storages().stream().filter(storage -> !storage.isMeta() && !index.isValue(storage))
                .forEach(this::findUnreached);
    }

    /// @param metadata texts of the node that the save was given as metadata, too: lost or kept as these
    private void readBack(Object node, Object there, boolean isRetold, Map<String, String> metadata) {
        attributes(node).forEach((key, value) -> {
            // Version 1 of a class of Torch7 is the one that a file does not say.
            boolean isUsual = key.equals("version") && Long.valueOf(1).equals(value);
            lost(Kind.ATTRIBUTES, index.pathOf(node, key),
                    !isUsual && !(metadata.containsKey(key) && metadata.get(key).equals(value))
                            && (there == null || !attributes(there).containsKey(key)
                                    || !(isRetold || isSame(value, attributes(there).get(key)))));
        });
    }

    private void findSharing() {
        IdentityHashMap<Storage, Map<String, Tensor>> storages = new IdentityHashMap<>();
        tensors.forEach((name, tensor) -> {
            if (tensor.numel() > 0 && !tensor.device().isMeta() && read.containsKey(name)) {
                storages.computeIfAbsent(tensor.storage(), _ -> new LinkedHashMap<>()).put(name, tensor);
            }
        });
        storages.forEach((_, on) -> {
            Set<Storage> there = Collections.newSetFromMap(new IdentityHashMap<>());
            on.keySet().forEach(name -> there.add(read.get(name).storage()));
            on.keySet().forEach(name -> lost(Kind.SHARING, name, there.size() > 1));
        });
    }

    private void findUnreached(Storage storage) {
        BitSet reached = new BitSet();
        Set<String> on = new HashSet<>();
        boolean isWhole = false;
        for (Map.Entry<String, Tensor> entry : tensors.entrySet()) {
            Tensor tensor = entry.getValue();
            if (tensor.storage() == storage) {
                if (index.tensors().containsKey(entry.getKey())) {
                    on.add(entry.getKey());
                }
                isWhole |= read.containsKey(entry.getKey()) && isWhole(tensor, read.get(entry.getKey()));
                if (tensor.numel() > 0) {
                    reached.set((int) (tensor.storageOffset() * tensor.dtype().bits() / Byte.SIZE), end(tensor));
                }
            }
        }
        long lost = storage.nbytes() - reached.cardinality();
        boolean isCroft = opened.format().equals("croft");
        if ((isCroft ? unreachedChunks > 0 : !isWhole) && lost > 0) {
            // A .croft file leaves out chunks, which are then zeros.
            unreached = isCroft ? unreachedChunks : unreached + lost;
            on.forEach(name -> lost(Kind.UNREACHED, name, true));
        }
    }

    /// A copy of elements can have by chance as many bytes as the storage that they were on.
    private static boolean isWhole(Tensor tensor, Tensor there) {
        return there.storage().nbytes() == tensor.storage().nbytes()
                && there.storageOffset() == tensor.storageOffset() && Arrays.equals(there.stride(), tensor.stride());
    }

    private static int end(Tensor tensor) {
        long last = tensor.storageOffset();
        for (int dim = 0; dim < tensor.dim(); dim++) {
            last += (tensor.size(dim) - 1) * tensor.stride(dim);
        }
        return (int) tensor.dtype().nbytes(last + 1);
    }

    private boolean isRead(Tensor tensor, Predicate<Tensor> isSame) {
        return tensors.entrySet().stream().filter(entry -> entry.getValue() == tensor)
                .map(entry -> read.get(entry.getKey())).anyMatch(there -> there != null && isSame.test(there));
    }

    private void lost(Kind kind, String name, boolean isLost) {
        if (isLost) {
            names.computeIfAbsent(kind, _ -> new TreeSet<>()).add(name);
        }
    }

    private static boolean isSame(Object expected, Object actual) {
        try {
            // Empty storages may part, as in Dialect.
            Sameness.check(plain(expected, new IdentityHashMap<>()), plain(actual, new IdentityHashMap<>()),
                    part -> part instanceof Storage storage && storage.nbytes() == 0);
            return true;
        } catch (AssertionError _) {
            return false;
        }
    }

    /// {@return a value without the types of maps and the attributes in it, which are lost for themselves}
    private static Object plain(Object value, IdentityHashMap<Object, Object> known) {
        if (known.containsKey(value)) {
            return known.get(value);
        }
        return switch (value) {
            case Typed typed -> {
                Typed made = new Typed(typed.type(), null);
                known.put(typed, made);
                made.value(plain(typed.value(), known));
                yield made;
            }
            case Map<?, ?> map -> {
                Map<Object, Object> made = new LinkedHashMap<>();
                known.put(map, made);
                map.forEach((key, held) -> made.put(key, plain(held, known)));
                yield made;
            }
            case ScalarList scalars -> scalars;
            case List<?> list -> {
                List<Object> made = new ArrayList<>();
                known.put(list, made);
                list.forEach(element -> made.add(plain(element, known)));
                yield made;
            }
            case null, default -> value;
        };
    }

    private static Map<String, ?> attributes(Object node) {
        return node instanceof TypedMap map ? map.attributes() : ((Typed) node).attributes();
    }

    interface Visitor {
        void visit(String path, Object node);
    }

    /// Calls a visitor with each typed value at its first place.
    static void forEachTyped(Object state, Visitor visitor) {
        walk("", state, visitor, Collections.newSetFromMap(new IdentityHashMap<>()));
    }

    private static void walk(String path, Object value, Visitor visitor, Set<Object> seen) {
        boolean isTyped = value instanceof TypedMap || value instanceof Typed;
        if (value == null || (!isTyped && StateIndex.children(value).isEmpty()) || !seen.add(value)) {
            return;
        }
        if (isTyped) {
            visitor.visit(path, value);
        }
        Consumer<Map<?, ?>> entries = map -> map.forEach((key, held) -> walk(
                path.isEmpty() ? StateIndex.segment(key) : path + "/" + StateIndex.segment(key), held, visitor, seen));
        switch (value) {
            case Typed typed -> {
                walk(path, typed.value(), visitor, seen);
                entries.accept(typed.attributes());
            }
            case TypedMap map -> {
                entries.accept(map);
                entries.accept(map.attributes());
            }
            case Map<?, ?> map -> entries.accept(map);
            default -> {
                int at = 0;
                for (Object element : (Collection<?>) value) {
                    walk(path.isEmpty() ? "" + at : path + "/" + at, element, visitor, seen);
                    at++;
                }
            }
        }
    }
}
