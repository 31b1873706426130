package io.undercroft.serializer.internal.writing;

import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport.Kind;
import io.undercroft.serializer.SaveReport.Loss;
import io.undercroft.serializer.internal.planning.Reach;
import io.undercroft.serializer.internal.planning.ReadableState;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Draft.SharedStorage;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// Finds the parts of a state that a format does not keep.
final class Losses {
    private Losses() {}

    /// {@return the losses: values that the format cannot store, and the losses of the draft}
    ///
    /// @param state the state
    /// @param draft the file to be
    /// @param format its format
    /// @param options the other options of the save
    static List<Loss> of(ReadableState state, Draft draft, CheckpointFormat format, SaveOptions options) {
        Set<Capability> can = format.capabilities();
        StateIndex index = state.names();
        List<Loss> losses = new ArrayList<>(state.leftOut());
        Map<String, SharedStorage> shared = new HashMap<>();
        SequencedMap<String, Tensor> names = names(draft, format, index);
        if (!can.contains(Capability.SHARING)) {
            draft.sharedStorages().forEach(storage -> storage.names().forEach(name -> shared.put(name, storage)));
            Stream.of(Loss.of(Kind.SHARING, sharing(names, shared))).filter(loss -> loss.count() > 0)
                    .map(loss -> named(loss, index)).forEach(losses::add);
        }
        if (!can.contains(Capability.METADATA)) {
            add(Kind.METADATA, List.copyOf(options.metadata().keySet()), losses);
        }
        if (!can.containsAll(List.of(Capability.STATE, Capability.SHARING))) {
            Set<Tensor> requiring = tensors(index);
            requiring.removeIf(tensor -> !tensor.is(Tensor.Flag.REQUIRES_GRAD));
            if (can.contains(Capability.STATE)) {
                shared.keySet().forEach(name -> requiring.remove(names.get(name)));
            }
            add(Kind.REQUIRES_GRAD, requiring.stream().map(tensor -> String.valueOf(index.nameOf(tensor))).toList(),
                    losses);
            addUnreached(index, names, shared, losses);
        }
        if (!can.contains(Capability.STATE)) {
            new Modules(index).add(state.tree(), losses);
        }
        add(Kind.ATTRIBUTES, attributes(state.tree(), index, (value, name) -> draft.keeps(value, name, can)
                || (value == state.tree() && isIn(options.metadata(), value, name))), losses);
        for (Loss loss : draft.losses()) {
            losses.removeIf(there -> there.kind() == loss.kind());
            losses.add(loss.kind() == Kind.SHARING || loss.kind() == Kind.METADATA_ONLY ? named(loss, index) : loss);
        }
        return List.copyOf(losses);
    }

    /// {@return the tensors of a state, each once}
    ///
    /// @param index its names
    static Set<Tensor> tensors(StateIndex index) {
        return new LinkedHashSet<>(index.tensors().values());
    }

    /// {@return the tensors by name as they are when the file is read}
    ///
    /// @param draft the file to be
    /// @param format its format
    /// @param index the names of the state
    static SequencedMap<String, Tensor> names(Draft draft, CheckpointFormat format, StateIndex index) {
        return format.capabilities().containsAll(List.of(Capability.STATE, Capability.SHARING))
                ? index.tensors()
                : draft.names();
    }

    /// Returns a loss with the names of the state, where the draft has those of the file.
    private static Loss named(Loss loss, StateIndex index) {
        Map<String, String> names = new HashMap<>();
        index.tensors().keySet().forEach(name -> names.put(StateIndex.rawName(name), name));
        return new Loss(loss.kind(), loss.count(),
                loss.names().stream().map(name -> names.getOrDefault(name, name)).toList(), loss.reasons());
    }

    private static void add(Kind kind, List<String> names, List<Loss> losses) {
        if (!names.isEmpty()) {
            losses.add(Loss.of(kind, names));
        }
    }

    /// Files of tensors for themselves contain elements, and not storages.
    private static void addUnreached(StateIndex index, Map<String, Tensor> names, Map<String, SharedStorage> shared,
            List<Loss> losses) {
        Set<Storage> whole = new HashSet<>();
        shared.forEach((name, there) -> {
            Storage storage = Objects.requireNonNull(names.get(name)).storage();
            if (there.nbytes() == storage.nbytes()) {
                whole.add(storage);
            }
        });
        Reach reach = Reach.of(index);
        Map<Storage, Long> unreached = new HashMap<>();
        for (Storage storage : index.storages()) {
            long nbytes = reach.unreached(storage);
            if (nbytes > 0 && !whole.contains(storage)) {
                unreached.put(storage, nbytes);
            }
        }
        if (!unreached.isEmpty()) {
            losses.add(new Loss(Kind.UNREACHED, unreached.values().stream().mapToLong(Long::longValue).sum(),
                    index.tensors().entrySet().stream()
                            .filter(entry -> unreached.containsKey(entry.getValue().storage()))
                            .map(Map.Entry::getKey).toList()));
        }
    }

    /// Returns the names of tensors that share bytes with others now, and not when the file is read.
    private static List<String> sharing(SequencedMap<String, Tensor> names, Map<String, SharedStorage> shared) {
        Map<Storage, Set<Object>> written = written(names, shared);
        return names.entrySet().stream()
                .filter(entry -> entry.getValue().numel() > 0 && !entry.getValue().device().isMeta())
                .filter(entry -> written.getOrDefault(entry.getValue().storage(), Set.of()).size() > 1)
                .map(Map.Entry::getKey).toList();
    }

    /// Returns what each storage is written as: storages that several tensors use, and names of other tensors.
    private static Map<Storage, Set<Object>> written(SequencedMap<String, Tensor> names,
            Map<String, SharedStorage> shared) {
        Map<Storage, Set<Object>> written = new HashMap<>();
        names.forEach((name, tensor) -> {
            if (tensor.numel() > 0) {
                SharedStorage there = shared.get(name);
                written.computeIfAbsent(tensor.storage(), _ -> new HashSet<>()).add(there == null ? name : there);
            }
        });
        return written;
    }

    /// {@return whether an attribute of the state is a text of the metadata, too} Those of a GGUF file are.
    private static boolean isIn(Map<String, String> metadata, Object value, String attribute) {
        return value instanceof TypedMap map && map.attributes().get(attribute) instanceof String text
                && text.equals(metadata.get(attribute));
    }

    private static List<String> attributes(@Nullable Object tree, StateIndex index,
            BiPredicate<Object, String> isKept) {
        List<String> names = new ArrayList<>();
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Object> left = new ArrayDeque<>();
        enqueue(tree, left);
        while (!left.isEmpty()) {
            Object value = left.remove();
            if (!seen.add(value) || PythonObjects.isModule(value)) {
                continue;
            }
            switch (value) {
                case TypedMap map -> addPaths(map, map.attributes(), index, isKept, names);
                case Typed typed -> addPaths(typed, typed.attributes(), index, isKept, names);
                default -> {
                }
            }
            StateIndex.children(value).forEach(each -> enqueue(each, left));
        }
        return names;
    }

    /// What is lost of modules of PyTorch, which files of tensors by name contain as what their `state_dict()` has.
    private static final class Modules {
        private final StateIndex index;
        private final List<TypedMap> modules = new ArrayList<>();
        private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        private final Set<Tensor> kept = Collections.newSetFromMap(new IdentityHashMap<>());
        private final Set<Tensor> lost = new LinkedHashSet<>();
        private final SequencedSet<String> classes = new LinkedHashSet<>();
        private long objects;

        Modules(StateIndex index) {
            this.index = index;
        }

        void add(@Nullable Object tree, List<Loss> losses) {
            addWritten(tree);
            seen.clear();
            modules.forEach(this::addLost);
            if (objects > 0) {
                losses.add(new Loss(Kind.OBJECTS, objects, List.copyOf(classes)));
                Losses.add(Kind.OUTSIDE_STATE_DICT,
                        lost.stream().map(tensor -> String.valueOf(index.nameOf(tensor))).toList(), losses);
            }
        }

        /// Recursion is safe here and below, as the depth is limited.
        private void addWritten(@Nullable Object value) {
            if (value instanceof Tensor tensor) {
                kept.add(tensor);
            } else if (isUnseenContainer(value)) {
                if (value instanceof TypedMap module && PythonObjects.isModule(module)) {
                    modules.add(module);
                    PythonObjects.stateDict(module).values().forEach(this::addWritten);
                } else {
                    StateIndex.children(value).forEach(this::addWritten);
                }
            }
        }

        private void addLost(@Nullable Object value) {
            if (value instanceof Tensor tensor && !kept.contains(tensor)) {
                lost.add(tensor);
            } else if (isUnseenContainer(value)) {
                if (value instanceof TypedMap object && PythonObjects.is(object)) {
                    objects++;
                    classes.add(PythonObjects.className(object));
                }
                StateIndex.children(value).forEach(this::addLost);
            }
        }

        private boolean isUnseenContainer(@Nullable Object value) {
            return value != null && (PythonObjects.is(value) || !StateIndex.children(value).isEmpty())
                    && seen.add(value);
        }
    }

    private static void addPaths(Object value, Map<String, ?> attributes, StateIndex index,
            BiPredicate<Object, String> isKept, List<String> names) {
        attributes.keySet().stream().filter(name -> !isKept.test(value, name))
                .forEach(name -> names.add(index.pathOf(value, name)));
    }

    private static void enqueue(@Nullable Object value, Deque<Object> left) {
        if (value != null) {
            left.add(value);
        }
    }
}
