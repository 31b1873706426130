package io.undercroft.mmap.internal;

import io.undercroft.mmap.NameLifetime;
import java.io.IOException;

/// A segment of this process that is being filled. Used by one thread at a time.
public interface Draft extends AutoCloseable {
    /// {@return its descriptor, open for reading and writing until it is closed or has a name}
    int descriptor();

    /// Gives it a name that is free. The draft is closed if this succeeds.
    ///
    /// @param name the name, without a slash: that which it was started for, if it was
    /// @param lifetime how long the name lasts
    /// @return the creator's hold
    /// @throws IOException if it cannot be done; [ErrnoException#EEXIST] if the name is in use
    Hold create(String name, NameLifetime lifetime) throws IOException;

    /// Names it, and replaces a segment of that name. The draft is closed if this succeeds.
    ///
    /// @param name the name, without a slash
    /// @param lifetime how long the name lasts
    /// @return the creator's hold
    /// @throws IOException if it cannot be done
    Hold publish(String name, NameLifetime lifetime) throws IOException;

    /// Removes it, unless it has a name by now. Does nothing the second time.
    @Override
    void close();
}
