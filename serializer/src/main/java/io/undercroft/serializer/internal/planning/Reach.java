package io.undercroft.serializer.internal.planning;

import io.undercroft.format.internal.Span;
import io.undercroft.serializer.internal.ByteSpan;
import io.undercroft.serializer.state.StateIndex;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// The bytes of storages that the tensors of a state use: those between the first and the last element of each tensor.
/// The others need not be saved, for instance most of a large storage of which only a small slice is still used.
public final class Reach {
    private final Map<Storage, List<Span>> spans = new HashMap<>();
    private long identity;

    private Reach() {}

    /// {@return the bytes that the tensors of a state use}
    ///
    /// @param state a state
    public static Reach of(StateIndex state) {
        Reach reach = new Reach();
        state.tensors().values().stream().distinct().forEach(reach::add);
        state.storages().stream().filter(state::isValue).forEach(reach::addWhole);
        reach.identity = reach.total();
        reach.spans.replaceAll((_, found) -> merged(found));
        reach.identity -= reach.total();
        return reach;
    }

    /// {@return all of all storages of a state}
    ///
    /// @param state a state
    static Reach whole(StateIndex state) {
        Reach reach = of(state);
        state.storages().forEach(storage -> reach.spans.put(storage, List.of(new Span(0, storage.nbytes()))));
        return reach;
    }

    private void add(Tensor tensor) {
        if (tensor.numel() > 0 && !tensor.storage().isMeta()) {
            add(tensor.storage(), ByteSpan.of(tensor));
        }
    }

    private void addWhole(Storage storage) {
        add(storage, new Span(0, storage.nbytes()));
    }

    private void add(Storage storage, Span span) {
        spans.computeIfAbsent(storage, _ -> new ArrayList<>()).add(span);
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
        return merged;
    }

    /// {@return the runs of bytes of a storage that are reached, in order, apart from each other}
    ///
    /// @param storage a storage of the state
    public List<Span> spans(Storage storage) {
        return List.copyOf(spans.getOrDefault(storage, List.of()));
    }

    /// {@return the number of bytes of a storage that no tensor uses}
    ///
    /// @param storage a storage of the state
    public long unreached(Storage storage) {
        return storage.isMeta()
                ? 0
                : storage.nbytes() - spans(storage).stream().mapToLong(span -> span.end() - span.start()).sum();
    }

    private long total() {
        return spans.values().stream().flatMap(List::stream).mapToLong(span -> span.end() - span.start())
                .reduce(0, Math::addExact);
    }

    /// {@return the number of bytes of tensors that other tensors have too: the additional size if each had bytes of
    /// its own} A storage that is a value counts as a tensor.
    long identity() {
        return identity;
    }
}
