package io.undercroft.mmap;

import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.mmap.internal.ErrnoException;
import io.undercroft.mmap.internal.Libc;
import io.undercroft.mmap.internal.HolderRegistry;
import io.undercroft.mmap.internal.HolderRegistry.Draft;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/// A segment of shared memory that is being filled and is not visible to other processes. [#publish] names it in one
/// step: a process that attaches the name sees all of the bytes or the segment that had the name before.
///
/// It grows as it is written, and what is never written between is zeros. All of its memory is there at any time. For
/// one thread at a time.
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

    /// Starts a segment of no bytes.
    ///
    /// @return the draft, to be published or closed
    /// @throws SharedMemoryException if there is no shared memory here, or it may not be written
    public static SharedMemoryDraft create() throws SharedMemoryException {
        Libc libc = SharedMemory.libc(WHAT);
        try {
            return new SharedMemoryDraft(libc, HolderRegistry.ofThisProcess().draft());
        } catch (IOException e) {
            throw SharedMemoryException.of(WHAT, e);
        }
    }

    /// Writes bytes, and makes the segment larger where they reach past its end.
    ///
    /// @param offset to which byte of the segment
    /// @param bytes which, on or off the heap
    /// @throws SharedMemoryException if there is not that much shared memory; the draft has as many bytes as before
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
    /// @param offset from which byte of the segment
    /// @param into where to, on or off the heap; filled completely
    /// @throws IndexOutOfBoundsException if the segment does not have these bytes
    /// @throws SharedMemoryException if the system refuses
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

    /// {@return how many bytes it has by now}
    public long size() {
        return size;
    }

    /// Gives the segment its name, in one step. A segment that has the name keeps its bytes for attached processes,
    /// and has no name from then on. Afterwards the draft is closed; should it fail, the draft is as before.
    ///
    /// @param name the name, with or without a slash in front
    /// @param lifetime how long the name lasts; the segment that is returned is its creator's
    /// @return the segment, attached
    /// @throws SharedMemoryException if the name is not valid or belongs to another user
    /// @throws IllegalStateException if it is published or closed
    public SharedMemory publish(String name, NameLifetime lifetime) throws SharedMemoryException {
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
