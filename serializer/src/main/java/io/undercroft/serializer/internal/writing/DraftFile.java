package io.undercroft.serializer.internal.writing;

import io.undercroft.format.internal.ByteSource;
import io.undercroft.mmap.SharedMemoryDraft;
import io.undercroft.serializer.internal.disk.Sink;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// Shared memory that is being filled, as a file. For use by one thread.
///
/// @param draft the shared memory
record DraftFile(SharedMemoryDraft draft) implements Sink, ByteSource {
    @Override
    public void write(long offset, MemorySegment bytes) throws IOException {
        draft.write(offset, bytes);
    }

    @Override
    public long size() throws IOException {
        return draft.size();
    }

    @Override
    public void read(long offset, MemorySegment into) throws IOException {
        draft.read(offset, into);
    }
}
