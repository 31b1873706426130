package io.undercroft.mmap.internal;

import io.undercroft.mmap.internal.HolderRegistry.Hold;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/// The lifetime of mappings: one shared arena with several holders, closed when the last one releases it.
///
/// One arena serves all mappings of a file, because closing a shared arena stops every thread of the JVM for a moment
/// (58 µs, and 312 µs with 512 idle threads). That stop is what makes closing safe while others read: afterwards
/// they get [IllegalStateException], never freed memory.
public final class Lifetime {
    private static final long RETRY_NANOS = Duration.ofMillis(1).toNanos();

    /// The thread that releases what unreachable mappings held.
    private static final class Releaser {
        static final Cleaner CLEANER = Cleaner.create();
    }

    private final Arena arena = Arena.ofShared();
    private final AtomicInteger holders = new AtomicInteger(1);
    private final String what;
    private final Runnable atEnd;

    /// A lifetime with one holder.
    ///
    /// @param what the name of the owner, for messages
    /// @param atEnd run once, when the last holder releases it; must not throw
    public Lifetime(String what, Runnable atEnd) {
        this.what = what;
        this.atEnd = atEnd;
    }

    /// {@return the arena, which lives as long as there is a holder}
    public Arena arena() {
        return arena;
    }

    /// Registers an action that runs after the mappings were unmapped: when they are closed, or collected when they are
    /// unreachable. The last registered action runs first, so that an action that is registered before a mapping is
    /// made runs after it was unmapped.
    ///
    /// @param action run once, by any thread; must not throw, nor reach the arena
    public void runAfterRelease(Runnable action) {
        runAfterRelease(ArenaCleanup.CLEANER, action);
    }

    @SuppressWarnings("restricted")
    private void runAfterRelease(Cleaner cleaner, Runnable action) {
        MemorySegment.NULL.reinterpret(arena, new ArenaCleanup(cleaner, action));
    }

    /// Releases a hold after the mappings were unmapped, like an action of [#runAfterRelease]. That may wait for other
    /// processes, so for collected mappings it runs in a separate thread.
    ///
    /// @param hold the hold
    public void releaseWhenGone(Hold hold) {
        runAfterRelease(Releaser.CLEANER, hold::release);
    }

    /// Adds a holder.
    ///
    /// @throws IllegalStateException if the last one has released it
    public void retain() {
        int count = holders.get();
        while (count > 0 && !holders.compareAndSet(count, count + 1)) {
            count = holders.get();
        }
        if (count == 0) {
            throw new IllegalStateException(what + " is closed; close it later, or open it again");
        }
    }

    /// Removes one holder. Does nothing if there is none left.
    public void release() {
        int count = holders.get();
        while (count > 0 && !holders.compareAndSet(count, count - 1)) {
            count = holders.get();
        }
        if (count == 1) {
            atEnd.run();
            if (!tryClose()) {
                Thread.startVirtualThread(this::closeWhenIdle);
            }
        }
    }

    /// A native call with a segment of the arena prevents closing, for as long as the call takes. The
    /// caller of that function has to wait for it, the thread that closes does not.
    private void closeWhenIdle() {
        while (!tryClose()) {
            LockSupport.parkNanos(RETRY_NANOS);
        }
    }

    private boolean tryClose() {
        try {
            arena.close();
            return true;
        } catch (IllegalStateException inUse) {
            return false;
        }
    }
}
