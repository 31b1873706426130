package io.undercroft.cuda.internal;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.NavigableMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/// Bytes that the driver may access: on a device, or pinned. A storage may be released while they are copied; they are
/// freed when its allocation and all copies are done with them.
///
/// A block is found by the scope of its segment, which slices have in common, and which no later allocation at the same
/// address has. Memory that was pinned in place may have its scope in common with other memory, and is found by its
/// address as well.
final class Block {
    private static final Map<MemorySegment.Scope, Block> ALL = new ConcurrentHashMap<>();
    /// Those that were pinned in place, by the address of their first byte. The driver pins no byte twice.
    private static final NavigableMap<Long, Block> IN_PLACE = new ConcurrentSkipListMap<>();

    private final MemorySegment bytes;
    private final MemorySegment.Scope scope;
    private final Runnable free;
    private final Runnable check;
    private final AtomicInteger holders = new AtomicInteger(1);

    private Block(MemorySegment bytes, Runnable free, Runnable check) {
        this.bytes = bytes;
        this.scope = bytes.scope();
        this.free = free;
        this.check = check;
    }

    /// Creates a block with one holder, its allocation.
    ///
    /// @param segment the bytes; nothing else has its scope
    /// @param free run once, after the last release of the block; must not throw
    static Block of(MemorySegment segment, Runnable free) {
        return of(segment, free, () -> {});
    }

    /// Creates a block with one holder, its allocation, of bytes that may be lost.
    ///
    /// @param segment the bytes; nothing else has its scope
    /// @param free run once, after the last release of the block; must not throw
    /// @param check throws [IllegalStateException] if the bytes are lost
    static Block of(MemorySegment segment, Runnable free, Runnable check) {
        Block made = new Block(segment, free, check);
        ALL.put(made.scope, made);
        return made;
    }

    /// Creates a block with one holder of memory of the host that was pinned in place.
    ///
    /// @param segment the bytes
    /// @param free run once, after the last release of the block; must not throw
    static Block inPlace(MemorySegment segment, Runnable free) {
        Block made = new Block(segment, free, () -> {});
        IN_PLACE.put(segment.address(), made);
        return made;
    }

    /// {@return the block of pinned memory that a segment of the host is in, which the caller has to [#release]; null
    /// if there is none, or it was freed}
    static @Nullable Block findPinned(MemorySegment segment) {
        Block found = find(segment);
        if (found != null) {
            return found;
        }
        Map.Entry<Long, Block> before = IN_PLACE.floorEntry(segment.address());
        return before != null && before.getValue().contains(segment) ? held(before.getValue()) : null;
    }

    private boolean contains(MemorySegment segment) {
        return segment.scope().equals(scope)
                && segment.address() - bytes.address() <= bytes.byteSize() - segment.byteSize();
    }

    /// {@return the block of a segment, which the caller has to [#release]; null if there is none, or it was freed}
    static @Nullable Block find(MemorySegment segment) {
        return held(ALL.get(segment.scope()));
    }

    private static @Nullable Block held(@Nullable Block found) {
        boolean held = found != null && found.holders.getAndUpdate(count -> count == 0 ? 0 : count + 1) > 0;
        return held ? found : null;
    }

    /// {@return the block of a segment, which the caller has to [#release]}
    ///
    /// @throws IllegalStateException if it was freed, or its bytes are lost
    static Block hold(MemorySegment segment) {
        Block found = find(segment);
        if (found == null) {
            throw new IllegalStateException("the storage of these " + segment.byteSize() + " bytes was freed, or they "
                    + "are not on this device");
        }
        try {
            found.check.run();
            return found;
        } catch (IllegalStateException e) {
            found.release();
            throw e;
        }
    }

    MemorySegment bytes() {
        return bytes;
    }

    void release() {
        if (holders.decrementAndGet() == 0) {
            ALL.remove(scope, this);
            IN_PLACE.remove(bytes.address(), this);
            free.run();
        }
    }
}
