package io.undercroft.serializer.internal.planning;

import io.undercroft.format.internal.Span;
import io.undercroft.serializer.internal.ElementPositions;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;

/// The bytes of storages that the tensors of a state use: those between the first and the last element of each tensor.
/// The others need not be saved, for instance most of a large storage of which only a small slice is still used.
public final class Reach {
    private final IdentityHashMap<Storage, List<Span>> spans;
    private long identity;

    private Reach(int storages) {
        this.spans = new IdentityHashMap<>(storages);
    }

    /// {@return the bytes that the tensors of a state use}
    ///
    /// @param state a state
    public static Reach of(StateIndex state) {
        return of(state, new HashSet<>(state.tensors().values()), state.storages());
    }

    /// {@return the bytes that the tensors of a state use}
    ///
    /// @param state a state
    /// @param tensors its tensors, each once
    /// @param storages its storages
    static Reach of(StateIndex state, Collection<Tensor> tensors, Collection<Storage> storages) {
        Reach reach = new Reach(storages.size());
        for (Tensor tensor : tensors) {
            reach.add(tensor);
        }
        for (Storage storage : storages) {
            if (state.isValue(storage)) {
                reach.add(storage, new Span(0, storage.nbytes()));
            }
        }
        reach.identity = reach.total();
        reach.spans.replaceAll((_, found) -> found.size() == 1 ? found : merged(found));
        reach.identity -= reach.total();
        return reach;
    }

    /// Adds the bytes of all storages of the state that no tensor uses.
    ///
    /// @param storages the storages of the state
    void addUnused(Collection<Storage> storages) {
        storages.forEach(storage -> spans.put(storage, List.of(new Span(0, storage.nbytes()))));
    }

    private void add(Tensor tensor) {
        if (tensor.numel() > 0 && !tensor.storage().isMeta()) {
            add(tensor.storage(), ElementPositions.of(tensor));
        }
    }

    /// Most storages have one tensor, and then an immutable list, which takes less memory.
    private void add(Storage storage, Span span) {
        List<Span> before = spans.putIfAbsent(storage, List.of(span));
        if (before instanceof ArrayList) {
            before.add(span);
        } else if (before != null) {
            List<Span> several = new ArrayList<>(before);
            several.add(span);
            spans.put(storage, several);
        }
    }

    private static List<Span> merged(List<Span> spans) {
        List<Span> merged = new ArrayList<>();
        spans.stream().sorted(Comparator.comparingLong(Span::start)).forEach(span -> {
            if (!merged.isEmpty() && merged.getLast().end() >= span.start()) {
                Span last = merged.removeLast();
                merged.add(new Span(last.start(), Math.max(last.end(), span.end())));
            } else {
                merged.add(span);
            }
        });
        return List.copyOf(merged);
    }

    /// {@return the runs of bytes of a storage that are reached, in order, apart from each other}
    ///
    /// @param storage a storage of the state
    public List<Span> spans(Storage storage) {
        return spans.getOrDefault(storage, List.of());
    }

    /// {@return the number of bytes of a storage that no tensor uses}
    ///
    /// @param storage a storage of the state
    public long unreached(Storage storage) {
        return storage.isMeta()
                ? 0
                : storage.nbytes() - Span.sum(spans(storage));
    }

    private long total() {
        long total = 0;
        for (List<Span> found : spans.values()) {
            total = Math.addExact(total, Span.sum(found));
        }
        return total;
    }

    /// {@return the number of bytes of tensors that other tensors have too: the additional size if each had bytes of
    /// its own} A storage that is a value counts as a tensor.
    long identity() {
        return identity;
    }
}
