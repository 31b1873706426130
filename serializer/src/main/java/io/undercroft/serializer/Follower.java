package io.undercroft.serializer;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.SharedMemoryException;
import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.storage.internal.support.Operation.Timing;
import io.undercroft.storage.internal.support.Operation;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/// A reader of the newest version of a published state, which returns a lease on that version for each operation. See
/// [PublishedCheckpoint#follow].
///
/// ```java
/// try (Follower weights = PublishedCheckpoint.follow("weights")) {
///     while (true) {
///         Request request = requests.take();
///         try (Follower.Lease lease = weights.lease()) {
///             answer(request, lease.checkpoint());            // one version from beginning to end
///         }
///     }
/// }
/// ```
///
/// A lease that is acquired after a version was published has that version or a later one. The check for a newer
/// version takes a few microseconds. Each version is opened once, and closed with the last lease on it when it is no
/// longer the newest. While no state has the name, the last version stays open.
///
/// **Threads.** Instances are thread-safe.
public final class Follower implements AutoCloseable {
    private final String name;
    private final Attachment attachment;
    private Version newest;
    private boolean closed;

    /// Opens the newest version.
    @FunctionalInterface
    interface Attachment {
        Checkpoint attach() throws IOException;
    }

    /// An open version, and its number of holders: the leases on it, and the follower while it is the newest.
    private static final class Version {
        private final Checkpoint checkpoint;
        private final AtomicLong holders = new AtomicLong(1);

        Version(Checkpoint checkpoint) {
            this.checkpoint = checkpoint;
        }

        /// The version must be held.
        Version retain() {
            holders.incrementAndGet();
            return this;
        }

        void release() {
            if (holders.decrementAndGet() == 0) {
                checkpoint.close();
            }
        }
    }

    /// A lease on one version of the state, for use in any thread.
    public static final class Lease implements AutoCloseable {
        private final Version version;
        private final AtomicBoolean closed = new AtomicBoolean();

        private Lease(Version version) {
            this.version = version;
        }

        /// {@return the state, which is open until the lease is closed} Callers must not close it, as other leases use
        /// it. A retained storage can be used longer.
        ///
        /// @throws IllegalStateException if the lease is closed
        public Checkpoint checkpoint() {
            if (closed.get()) {
                throw new IllegalStateException("the lease is closed; take a new one");
            }
            return version.checkpoint;
        }

        /// Releases the version. The second and later calls do nothing.
        @Override
        public void close() {
            if (closed.compareAndSet(false, true)) {
                version.release();
            }
        }
    }

    Follower(String name, Attachment attachment) throws IOException {
        this.name = name;
        this.attachment = attachment;
        this.newest = new Version(attachment.attach());
    }

    /// Returns a lease on the newest version.
    ///
    /// @return the lease, which must be closed
    /// @throws FormatException if the shared memory of that name is not a published state
    /// @throws IOException if the newest version cannot be opened. The former version stays open, and the next call
    ///     tries again
    /// @throws IllegalStateException if this follower is closed
    public synchronized Lease lease() throws IOException {
        if (closed) {
            throw new IllegalStateException(
                    "the follower of " + name + " is closed; close it later, or follow it again");
        }
        if (!newest.checkpoint.isCurrent()) {
            renew();
        }
        return new Lease(newest.retain());
    }

    private void renew() throws IOException {
        try {
            Version before = newest;
            Timing timing = Operation.FOLLOW.begin();
            newest = new Version(attachment.attach());
            before.release();
            timing.end(name, newest.checkpoint.fileSizes().firstEntry().getValue());
        } catch (SharedMemoryException e) {
            if (e.reason() != Reason.NOT_FOUND) {
                throw e;
            }
        }
    }

    /// {@return the name of the published state}
    public String name() {
        return name;
    }

    /// Releases the newest version. Leases stay valid. The second and later calls do nothing.
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            newest.release();
        }
    }
}
