package io.undercroft.serializer.internal;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/// A value that is made when it is first needed, once. If making it fails, the next call tries again. Safe for use by
/// several threads.
///
/// @param <T> the value
public final class Lazy<T> {
    private final Supplier<T> maker;
    private volatile @Nullable T value;

    /// Creates an object whose value is not made yet.
    ///
    /// @param maker makes it
    public Lazy(Supplier<T> maker) {
        this.maker = maker;
    }

    /// {@return the value}
    public T get() {
        T existing = value;
        if (existing != null) {
            return existing;
        }
        synchronized (this) {
            existing = value;
            if (existing == null) {
                existing = maker.get();
                value = existing;
            }
            return existing;
        }
    }
}
