package io.undercroft.serializer.internal.loading;

import java.io.IOException;
import java.util.Collection;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/// Work that the calling thread shares with those of the common pool.
final class Workers {
    private Workers() {}

    /// Something to be done with each of several things.
    @FunctionalInterface
    interface Work<T> {
        void on(T each) throws IOException;
    }

    /// Does some work on each of several things. After the first failure nothing more is begun.
    ///
    /// @param <T> what they are
    /// @param things the things
    /// @param work what to do, in any order and several at once
    /// @throws IOException what the first failure threw, as everything else that it threw
    static <T> void share(Collection<T> things, Work<? super T> work) throws IOException {
        AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        things.parallelStream().forEach(each -> {
            if (failure.get() == null) {
                try {
                    work.on(each);
                } catch (Throwable e) {
                    // Thrown below as it is: the pool would wrap it.
                    failure.compareAndSet(null, e);
                }
            }
        });
        switch (failure.get()) {
            case null -> {
            }
            case IOException e -> throw e;
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case Throwable e -> throw new IllegalStateException(e);
        }
    }
}
