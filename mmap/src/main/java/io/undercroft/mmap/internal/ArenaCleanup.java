package io.undercroft.mmap.internal;

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
}
