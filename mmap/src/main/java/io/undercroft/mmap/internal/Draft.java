package io.undercroft.mmap.internal;

import io.undercroft.mmap.NameLifetime;
import java.io.IOException;

/// A segment of this process that is being filled. Used by one thread at a time.
public interface Draft extends AutoCloseable {
    /// {@return its descriptor, open for reading and writing until it is closed or has a name}
    int descriptor();

    /// Names the segment. The name must not exist. The draft is closed if this succeeds.
    ///
    /// @param name the name, without a slash: the one for which the draft was started, if any
    /// @param lifetime the lifetime of the name
    /// @return the creator's hold
    /// @throws IOException if it cannot be done; [ErrnoException#EEXIST] if the name is in use
    Hold create(String name, NameLifetime lifetime) throws IOException;

    /// Names the segment, and replaces a segment of that name. The draft is closed if this succeeds.
    ///
    /// @param name the name, without a slash
    /// @param lifetime the lifetime of the name
    /// @return the creator's hold
    /// @throws IOException if it cannot be done
    Hold publish(String name, NameLifetime lifetime) throws IOException;

    /// Removes the draft, unless it was given a name. Does nothing the second time.
    @Override
    void close();
}
