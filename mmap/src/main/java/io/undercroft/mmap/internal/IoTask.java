package io.undercroft.mmap.internal;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/// A call that may fail with an [IOException].
///
/// @param <T> the result
@FunctionalInterface
public interface IoTask<T extends @Nullable Object> {
    /// {@return the result}
    ///
    /// @throws IOException if the call fails
    T run() throws IOException;
}
