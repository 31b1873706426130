package io.undercroft.mmap.internal;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.util.function.Consumer;

/// The action at the end of an arena, which runs once: when the arena is closed or, if it is not, when the arena and
/// all its segments are unreachable. Only the arena may reference this object, so that both become unreachable
/// together.
final class ArenaCleanup implements Consumer<MemorySegment> {
    /// The thread that unmaps what is unreachable, and closes its descriptors.
    static final Cleaner CLEANER = Cleaner.create();

    private final Cleaner.Cleanable action;

    /// An action.
    ///
    /// @param cleaner runs it if the arena is unreachable
    /// @param action the action; must not throw, nor reach the arena
    ArenaCleanup(Cleaner cleaner, Runnable action) {
        this.action = cleaner.register(this, action);
    }

    /// Runs the action now, if it has not run.
    void run() {
        action.clean();
    }

    @Override
    public void accept(MemorySegment ended) {
        run();
    }

    /// Makes the memory.
    @FunctionalInterface
    interface Maker {
        MemorySegment make(Arena arena) throws IOException;
    }

    /// Makes memory that the JDK allocates or maps, and that is freed at the end of an arena. What the JDK makes in a
    /// shared arena itself is freed only when that is closed.
    ///
    /// @param arena its lifetime
    /// @param maker makes it in the arena that it is given
    /// @return the memory; if the JVM denies native access, it is freed when the arena is closed and not before
    /// @throws IOException if making it fails
    @SuppressWarnings("restricted")
    static MemorySegment memory(Arena arena, Maker maker) throws IOException {
        if (!ArenaCleanup.class.getModule().isNativeAccessEnabled()) {
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
