package io.undercroft.serializer;

import io.undercroft.storage.Tensor;
import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// The tensors of a checkpoint by their names. A view that makes each on request.
final class TensorMap extends AbstractMap<String, Tensor> {
    private final Checkpoint checkpoint;

    TensorMap(Checkpoint checkpoint) {
        this.checkpoint = checkpoint;
    }

    @Override
    public boolean containsKey(@Nullable Object name) {
        return name instanceof String text && checkpoint.names().contains(text);
    }

    @Override
    public @Nullable Tensor get(@Nullable Object name) {
        return name instanceof String text && containsKey(text) ? checkpoint.tensor(text) : null;
    }

    @Override
    public Set<Entry<String, Tensor>> entrySet() {
        return new AbstractSet<>() {
            @Override
            public int size() {
                return checkpoint.names().size();
            }

            @Override
            public Iterator<Entry<String, Tensor>> iterator() {
                Iterator<String> names = checkpoint.names().iterator();
                return new Iterator<>() {
                    @Override
                    public boolean hasNext() {
                        return names.hasNext();
                    }

                    @Override
                    public Entry<String, Tensor> next() {
                        String name = names.next();
                        return Map.entry(name, checkpoint.tensor(name));
                    }
                };
            }
        };
    }
}
