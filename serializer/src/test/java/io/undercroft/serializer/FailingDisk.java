package io.undercroft.serializer;

import io.undercroft.serializer.internal.disk.Disk.DiskFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// The disk of this computer, on which one operation fails, or that one and all after it. A write that fails has
/// written half of its bytes. Safe for use by several threads.
final class FailingDisk extends ForwardingDisk {
    private final int failing;
    private final Failure failure;
    private int operations;

    /// What happens after the operation that fails.
    enum Failure {
        ONCE, FOR_GOOD
    }

    FailingDisk(int failing, Failure failure) {
        this.failing = failing;
        this.failure = failure;
    }

    /// {@return whether an operation has failed}
    synchronized boolean hasFailed() {
        return operations >= failing;
    }

    /// {@return how many operations there were}
    synchronized int operations() {
        return operations;
    }

    @Override
    synchronized void before(Operation operation) throws IOException {
        operations++;
        if (operations == failing || (operations > failing && failure == Failure.FOR_GOOD)) {
            throw new IOException("no space left");
        }
    }

    @Override
    void writePart(DiskFile file, long offset, MemorySegment bytes) throws IOException {
        file.write(offset, bytes.asSlice(0, bytes.byteSize() / 2));
    }
}
