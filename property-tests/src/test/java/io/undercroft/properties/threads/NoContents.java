package io.undercroft.properties.threads;

import io.undercroft.serializer.Verification;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedCollection;

/// The contents of a file without tensors, which is open until it is released.
abstract class NoContents implements Contents {
    @Override
    public Object state() {
        return Map.of();
    }

    @Override
    public Map<String, String> metadata() {
        return Map.of();
    }

    @Override
    public SequencedCollection<String> names() {
        return List.of();
    }

    @Override
    public Optional<Tensor> tensor(String name) {
        return Optional.empty();
    }

    @Override
    public List<Storage> storages() {
        return List.of();
    }

    @Override
    public Verification verify() {
        throw new UnsupportedOperationException();
    }

    @Override
    public abstract void release();
}
