package io.undercroft.serializer.internal;

import java.io.IOException;
import java.util.Collection;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/// Work that the calling thread shares with those of the common pool.
public final class Workers {
    private Workers() {}

    /// Something to be done with each of several things.
    @FunctionalInterface
    public interface Work<T> {
        /// Does it.
        ///
        /// @param each one of them
        /// @throws IOException if that fails
        void on(T each) throws IOException;
    }

    /// Does some work on each of several things. After the first failure nothing more is begun, and what was begun has
    /// ended when it is thrown, so that nothing goes on behind the caller's back.
    ///
    /// @param <T> what they are
    /// @param things the things
    /// @param work what to do, in any order and several at once
    /// @throws IOException what the first failure threw, as everything else that it threw
    public static <T> void share(Collection<T> things, Work<? super T> work) throws IOException {
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
