package io.undercroft.serializer.internal.planning;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.serializer.StagingMemoryException;
import io.undercroft.storage.Allocation;
import java.io.Closeable;
import java.lang.foreign.MemorySegment;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/// Memory that states are copied to, kept from one copy to the next: filling memory that is new to the process
/// takes several times as long. One run of it is kept, the largest that was needed. Safe for any thread.
public final class Staging implements AutoCloseable {
    private @Nullable Allocation idle;
    private boolean closed;

    /// Creates an object that keeps no memory yet.
    public Staging() {}

    /// Memory of one copy.
    ///
    /// @param owner the pool to which it is returned
    /// @param allocation all of it
    record Borrowed(Staging owner, Allocation allocation) implements Closeable {
        MemorySegment segment() {
            return allocation.segment();
        }

        @Override
        public void close() {
            owner.takeBack(allocation);
        }
    }

    /// Borrows memory with undefined contents.
    ///
    /// @param nbytes the minimum number of bytes
    /// @return the memory, to be closed once
    /// @throws StagingMemoryException if there is not enough
    Borrowed borrow(long nbytes) throws StagingMemoryException {
        Allocation kept = takeIdle();
        if (kept != null && kept.segment().byteSize() >= nbytes) {
            return new Borrowed(this, kept);
        }
        if (kept != null) {
            kept.free();
        }
        return new Borrowed(this, allocate(nbytes));
    }

    private synchronized @Nullable Allocation takeIdle() {
        Allocation kept = idle;
        idle = null;
        return kept;
    }

    private static Allocation allocate(long nbytes) throws StagingMemoryException {
        OptionalLong available = AnonymousMemory.available();
        if (available.isPresent() && nbytes > available.getAsLong()) {
            // The system would overcommit, and end processes when memory is short.
            throw new StagingMemoryException(nbytes, available.getAsLong() + " are free", null);
        }
        try {
            return AnonymousMemory.allocator().allocate(nbytes);
        } catch (OutOfMemoryError e) {
            throw new StagingMemoryException(nbytes, "the system refuses", e);
        }
    }

    private void takeBack(Allocation allocation) {
        Allocation unwanted = exchange(allocation);
        if (unwanted != null) {
            unwanted.free();
        }
    }

    /// Keeps the larger of the kept memory and this; returns the other.
    private synchronized @Nullable Allocation exchange(Allocation returned) {
        Allocation kept = idle;
        if (closed || (kept != null && kept.segment().byteSize() >= returned.segment().byteSize())) {
            return returned;
        }
        idle = returned;
        return kept;
    }

    private synchronized @Nullable Allocation shut() {
        closed = true;
        return takeIdle();
    }

    /// Frees the memory; memory in use is freed when it is returned.
    @Override
    public void close() {
        Allocation kept = shut();
        if (kept != null) {
            kept.free();
        }
    }
}
