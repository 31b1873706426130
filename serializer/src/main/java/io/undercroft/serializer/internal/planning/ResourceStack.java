package io.undercroft.serializer.internal.planning;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;

/// What one thread takes, and another one gives back later: the last first. Belongs to one thread at a time.
public final class ResourceStack implements Closeable {
    private final Deque<Closeable> resources = new ArrayDeque<>();

    /// Adds something, to be closed with this.
    ///
    /// @param resource what
    /// @return the same
    public <T extends Closeable> T add(T resource) {
        resources.push(resource);
        return resource;
    }

    /// Closes everything, since something has failed.
    ///
    /// @param why what is to be thrown; told of what else fails
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
