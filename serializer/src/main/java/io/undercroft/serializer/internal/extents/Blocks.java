package io.undercroft.serializer.internal.extents;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.storage.Allocation;
import java.lang.foreign.MemorySegment;

/// The buffers between storages and the file: a few blocks, for a state of any size, or one block for a chunk that is
/// larger.
///
/// They are large, so that each write is large, and in huge pages where these are available: a block then consists of a
/// few runs of physical memory and not thousands, and is written by a few requests.
public final class Blocks implements AutoCloseable {
    /// The size of a block in bytes, unless a chunk takes more.
    public static final long BLOCK = 8 << 20;
    /// The maximum number of blocks of one save.
    static final int MOST = 4;
    private static final long HUGE_PAGE = 2 << 20;
    private static final long PAGE = 4096;

    private final Allocation memory;
    private final long first;
    private final long blockBytes;

    private Blocks(Allocation memory, long first, long blockBytes) {
        this.memory = memory;
        this.first = first;
        this.blockBytes = blockBytes;
    }

    /// Allocates the blocks.
    ///
    /// @param count the number of blocks
    /// @param blockBytes the size of each
    public static Blocks allocate(int count, long blockBytes) {
        long alignment = blockBytes < HUGE_PAGE ? PAGE : HUGE_PAGE;
        Allocation memory = AnonymousMemory.allocator().allocate(count * blockBytes + alignment);
        return new Blocks(memory, -memory.segment().address() & (alignment - 1), blockBytes);
    }

    /// {@return a block}
    ///
    /// @param number the number, from 0
    public MemorySegment get(int number) {
        return memory.segment().asSlice(first + number * blockBytes, blockBytes);
    }

    @Override
    public void close() {
        memory.free();
    }
}
