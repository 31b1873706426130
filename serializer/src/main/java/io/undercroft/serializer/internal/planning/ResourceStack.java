package io.undercroft.serializer.internal.planning;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;

/// Resources that one thread acquires and another one closes later, the last one first. For use by one thread at a
/// time.
public final class ResourceStack implements Closeable {
    private final Deque<Closeable> resources = new ArrayDeque<>();

    /// Adds something, to be closed with this.
    ///
    /// @param resource the resource
    /// @return the same
    public <T extends Closeable> T add(T resource) {
        resources.push(resource);
        return resource;
    }

    /// Closes everything after a failure.
    ///
    /// @param why the exception to throw; other failures are added to it as suppressed
    public void closeAfter(Throwable why) {
        try {
            close();
        } catch (IOException e) {
            why.addSuppressed(e);
        }
    }

    @Override
    public void close() throws IOException {
        IOException failure = null;
        while (!resources.isEmpty()) {
            try {
                resources.pop().close();
            } catch (IOException e) {
                failure = failure == null ? e : failure;
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
