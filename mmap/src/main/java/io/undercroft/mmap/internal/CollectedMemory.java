package io.undercroft.mmap.internal;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// Memory that the JDK allocates or maps, and that is freed when an arena is closed or, if it is not, when the arena
/// and all its segments are unreachable, as a [Mapping] is unmapped. What the JDK makes in a shared arena itself is
/// freed only when that is closed.
final class CollectedMemory {
    private CollectedMemory() {}

    /// Makes the memory.
    @FunctionalInterface
    interface Maker {
        MemorySegment make(Arena arena) throws IOException;
    }

    /// Makes memory.
    ///
    /// @param arena its lifetime
    /// @param maker makes it in the arena that it is given
    /// @return the memory; if the JVM denies native access, it is freed when the arena is closed and not before
    /// @throws IOException if making it fails
    @SuppressWarnings("restricted")
    static MemorySegment of(Arena arena, Maker maker) throws IOException {
        if (!CollectedMemory.class.getModule().isNativeAccessEnabled()) {
            return maker.make(arena);
        }
        Arena own = Arena.ofShared();
        ArenaCleanup free = new ArenaCleanup(ArenaCleanup.CLEANER, own::close);
        try {
            return maker.make(own).reinterpret(arena, free);
        } catch (Throwable e) {
            free.run();
            throw e;
        }
    }
}
