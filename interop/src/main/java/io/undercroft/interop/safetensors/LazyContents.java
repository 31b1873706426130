package io.undercroft.interop.safetensors;

import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.serializer.state.StateIndex;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SequencedCollection;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/// The tensors of one file. The whole state is put together when it is first asked for; a tensor by its name needs no
/// other one, so that opening a file of ten thousand for one of them takes no longer than reading its header.
final class LazyContents implements Contents {
    private final OpenedFile opened;
    private final OpenOptions options;
    private final Object lock = new Object();
    private volatile @Nullable TreeContents tree;

    LazyContents(OpenedFile opened, OpenOptions options) {
        this.opened = opened;
        this.options = options;
    }

    private TreeContents tree() {
        TreeContents there = tree;
        if (there != null) {
            return there;
        }
        synchronized (lock) {
            there = tree;
            if (there == null) {
                there = TreeContents.of(opened.tensors(), opened.sharing().metadata(), opened::check).only(options);
                tree = there;
            }
            return there;
        }
    }

    @Override
    public @Nullable Object state() {
        return tree().state();
    }

    @Override
    public Map<String, String> metadata() {
        return Collections.unmodifiableMap(opened.sharing().metadata());
    }

    @Override
    public SequencedCollection<String> names() {
        return tree().names();
    }

    /// The header has all names.
    @Override
    public boolean anyName(Predicate<String> test) {
        return opened.names().map(StateIndex::escape).filter(options.request()::isChosen).anyMatch(test);
    }

    @Override
    public Optional<Tensor> tensor(String name) {
        if (!options.request().isChosen(name)) {
            return Optional.empty();
        }
        String key = StateIndex.rawName(name);
        boolean there = opened.contains(key) && StateIndex.escape(key).equals(name);
        return there ? Optional.of(opened.tensor(key)) : Optional.empty();
    }

    @Override
    public List<Storage> storages() {
        return tree().storages();
    }

    @Override
    public OptionalLong placeOf(Storage storage) {
        return opened.storages().placeOf(storage);
    }

    @Override
    public Verification verify() throws IOException {
        return new Verification(opened.check(), opened.count(), opened.nbytes());
    }

    /// Those that nobody asked for hold nothing.
    @Override
    public void release() {
        opened.made().forEach(Contents::release);
    }
}
