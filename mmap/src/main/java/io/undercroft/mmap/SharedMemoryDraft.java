package io.undercroft.mmap;

import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.mmap.internal.ErrnoException;
import io.undercroft.mmap.internal.Libc;
import io.undercroft.mmap.internal.HolderRegistry;
import io.undercroft.mmap.internal.HolderRegistry.Draft;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/// A segment of shared memory that is written before other processes can see it. [#publish] names it in one step: a
/// process that attaches the name sees either all of the bytes or the segment that had the name before.
///
/// The segment grows as it is written; gaps are zeros. Its memory is allocated at once. For use by one thread at a
/// time.
public final class SharedMemoryDraft implements AutoCloseable {
    private static final String WHAT = "a draft of shared memory";

    private final Libc libc;
    private final Draft draft;
    private long size;
    private boolean isOpen = true;

    private SharedMemoryDraft(Libc libc, Draft draft) {
        this.libc = libc;
        this.draft = draft;
    }

    /// Creates an empty segment.
    ///
    /// @return the draft, which the caller publishes or closes
    /// @throws SharedMemoryException if shared memory is not supported or not permitted
    public static SharedMemoryDraft create() throws SharedMemoryException {
        Libc libc = SharedMemory.libc(WHAT);
        try {
            return new SharedMemoryDraft(libc, HolderRegistry.ofThisProcess().draft());
        } catch (IOException e) {
            throw SharedMemoryException.of(WHAT, e);
        }
    }

    /// Writes bytes, and extends the segment if they end past its end.
    ///
    /// @param offset the offset of the first byte in the segment
    /// @param bytes the bytes, on or off the heap
    /// @throws SharedMemoryException if there is not enough shared memory; the size of the draft does not change
    /// @throws IllegalArgumentException if the offset is negative, or the end more than a `long` holds
    /// @throws IllegalStateException if it is published or closed
    public void write(long offset, MemorySegment bytes) throws SharedMemoryException {
        checkOpen();
        if (offset < 0 || offset > Long.MAX_VALUE - bytes.byteSize()) {
            throw new IllegalArgumentException(
                    "a segment cannot have " + bytes.byteSize() + " bytes at byte " + offset);
        }
        long end = Math.max(size, offset + bytes.byteSize());
        try {
            try {
                if (offset > size) {
                    // Else there would be a hole, whose page may not be there when a reader touches it.
                    libc.allocate(draft.descriptor(), size, offset - size);
                }
                libc.write(draft.descriptor(), offset, bytes);
                size = end;
            } finally {
                // Releases what it allocated if it fails, also when the bytes are gone.
                if (size < end) {
                    libc.truncate(draft.descriptor(), size);
                }
            }
        } catch (ErrnoException e) {
            throw SharedMemoryException.of(WHAT + " (" + size + " bytes so far)", end - size, e);
        }
    }

    /// Reads bytes that were written before.
    ///
    /// @param offset the offset of the first byte in the segment
    /// @param into the destination, on or off the heap, which is filled completely
    /// @throws IndexOutOfBoundsException if the segment does not have these bytes
    /// @throws SharedMemoryException if a system call fails
    /// @throws IllegalStateException if it is published or closed
    public void read(long offset, MemorySegment into) throws SharedMemoryException {
        checkOpen();
        Objects.checkFromIndexSize(offset, into.byteSize(), size);
        try {
            if (libc.read(draft.descriptor(), offset, into) < into.byteSize()) {
                throw new SharedMemoryException(Reason.SYSTEM, "the draft was cut by another process; start a new one",
                        null);
            }
        } catch (ErrnoException e) {
            throw SharedMemoryException.of(WHAT, e);
        }
    }

    /// {@return the size of the segment, in bytes}
    public long size() {
        return size;
    }

    /// Names the segment, in one step, and closes the draft. A segment that has the name loses it, and keeps its bytes
    /// for attached processes. If this method throws an exception, the draft does not change.
    ///
    /// @param name the name, with or without a leading slash
    /// @param lifetime the lifetime of the name
    /// @return the segment, attached
    /// @throws SharedMemoryException if the name is not valid or belongs to another user
    /// @throws IllegalStateException if it is published or closed
    public SharedMemory publish(String name, NameLifetime lifetime) throws SharedMemoryException {
        Objects.requireNonNull(lifetime, "lifetime");
        checkOpen();
        String plain = SharedMemory.plain(name);
        try {
            SharedMemory memory = SharedMemory.named(libc, plain, draft, size,
                    () -> draft.publish(plain, lifetime));
            isOpen = false;
            return memory;
        } catch (IOException e) {
            throw SharedMemoryException.of(SharedMemory.Source.shown(plain), size, e);
        }
    }

    /// Drops the segment, unless it was published. Does nothing the second time.
    @Override
    public void close() {
        if (isOpen) {
            isOpen = false;
            draft.close();
        }
    }

    private void checkOpen() {
        if (!isOpen) {
            throw new IllegalStateException("the draft is published or closed");
        }
    }
}
