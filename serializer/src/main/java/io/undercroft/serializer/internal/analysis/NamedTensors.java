package io.undercroft.serializer.internal.analysis;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/// The tensors of an open file by name, and the other names of each.
public final class NamedTensors {
    private final Checkpoint checkpoint;
    private final StateIndex index;
    private final SequencedMap<String, Tensor> tensors;
    private final Map<String, List<String>> aliases = new HashMap<>();
    private @Nullable Map<String, Integer> rawNames;

    /// Walks the state.
    ///
    /// @param checkpoint the open file
    /// @throws io.undercroft.format.FormatException if its state is damaged
    public NamedTensors(Checkpoint checkpoint) {
        this.checkpoint = checkpoint;
        this.index = StateIndex.of(checkpoint.tree());
        this.tensors = Collections.unmodifiableSequencedMap(chosen(checkpoint, index.tensors()));
        checkpoint.aliases()
                .forEach((alias, name) -> aliases.computeIfAbsent(name, _ -> new ArrayList<>(1)).add(alias));
    }

    private static SequencedMap<String, Tensor> chosen(Checkpoint checkpoint, SequencedMap<String, Tensor> all) {
        if (checkpoint.names().size() == all.size()) {
            return all;
        }
        SequencedMap<String, Tensor> chosen = new LinkedHashMap<>(all);
        chosen.keySet().retainAll(new HashSet<>(checkpoint.names()));
        return chosen;
    }

    /// {@return the open file}
    public Checkpoint checkpoint() {
        return checkpoint;
    }

    /// {@return all tensors of the state, also those that were not selected when the file was opened}
    public StateIndex index() {
        return index;
    }

    /// {@return the tensors by their names, in the order of the state; only those that were selected when the file was
    /// opened}
    public SequencedMap<String, Tensor> tensors() {
        return tensors;
    }

    /// {@return whether only some tensors were selected when the file was opened}
    public boolean isPartial() {
        return tensors.size() < index.tensors().size();
    }

    /// {@return the name by which a user can select a tensor: its keys without escapes, unless another tensor has the
    /// same}
    ///
    /// @param name its name
    public String typed(String name) {
        String rawName = StateIndex.rawName(name);
        boolean isClear = rawName.equals(name)
                || (!index.tensors().containsKey(rawName) && rawNames().getOrDefault(rawName, 0) == 1);
        return isClear ? rawName : name;
    }

    /// Returns how many names have a raw name that differs from them.
    private Map<String, Integer> rawNames() {
        if (rawNames == null) {
            Map<String, Integer> counts = new HashMap<>();
            index.tensors().keySet().stream().filter(name -> name.indexOf('~') >= 0)
                    .forEach(name -> counts.merge(StateIndex.rawName(name), 1, Integer::sum));
            rawNames = counts;
        }
        return rawNames;
    }

    /// {@return the other names by which programs know a tensor}
    ///
    /// @param name its name
    public List<String> aliases(String name) {
        return aliases.getOrDefault(name, List.of());
    }
}
