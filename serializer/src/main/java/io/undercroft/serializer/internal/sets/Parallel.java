package io.undercroft.serializer.internal.sets;

import io.undercroft.serializer.internal.Workers;
import java.io.IOException;
import java.util.List;

/// Work on many shards.
final class Parallel {
    /// How many shards are looked at or read at once in a store, where most of the time is spent waiting.
    private static final int AT_ONCE = 32;

    private Parallel() {}

    /// Runs an action for several elements, as many at once as is good for where the shards are.
    ///
    /// @param all the elements
    /// @param isStore whether the shards are in a store
    /// @param work the action
    /// @throws IOException the exception of the first failure, as are unchecked ones
    static <T> void run(List<T> all, boolean isStore, Workers.Work<? super T> work) throws IOException {
        if (isStore) {
            Workers.atOnce(all, AT_ONCE, work);
        } else {
            Workers.share(all, work);
        }
    }
}
