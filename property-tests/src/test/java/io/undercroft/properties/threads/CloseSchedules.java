package io.undercroft.properties.threads;

import static io.undercroft.properties.threads.Interleavings.explore;
import static io.undercroft.properties.threads.Interleavings.require;
import static io.undercroft.properties.threads.Interleavings.requireRefusal;
import static io.undercroft.properties.threads.Interleavings.together;

import io.undercroft.mmap.internal.Lifetime;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Storage;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/// A read that meets the end of its file has the right bytes, or is refused because that is closed.
class CloseSchedules {
    private static final byte VALUE = 7;

    /// A file in memory, with a descriptor that is closed by the last holder.
    private static final class MemoryFile {
        private final AtomicInteger ends = new AtomicInteger();
        private final AtomicBoolean isDescriptorOpen = new AtomicBoolean(true);
        private final Lifetime lifetime = new Lifetime("the file", this::end);
        private final MemorySegment bytes = lifetime.arena().allocate(8).fill(VALUE);

        private void end() {
            isDescriptorOpen.set(false);
            ends.incrementAndGet();
        }

        /// Reads by the descriptor, as [io.undercroft.mmap.MappedFile] does.
        void read() {
            lifetime.retain();
            try {
                require(isDescriptorOpen.get(), "read by a descriptor that was closed");
                require(bytes.get(ValueLayout.JAVA_BYTE, 0) == VALUE, "wrong bytes");
                require(isDescriptorOpen.get(), "closed while it was read");
            } finally {
                lifetime.release();
            }
        }

        Allocation window() {
            lifetime.retain();
            return new Allocation(bytes.asSlice(4, 2), Allocation.Sharing.PRIVATE, null, lifetime::release);
        }

        void requireEndedOnce() {
            require(ends.get() == 1, "ended " + ends.get() + " times");
            require(!lifetime.arena().scope().isAlive(), "still mapped");
        }
    }

    @Test
    void aFileIsClosedWhileItIsRead() {
        explore("read against close", () -> {
            MemoryFile file = new MemoryFile();
            together(file.lifetime::release, () -> {
                try {
                    file.read();
                } catch (IllegalStateException e) {
                    requireRefusal(e, "the file is closed");
                }
            });
            file.requireEndedOnce();
        });
    }

    @Test
    void aStorageOfAFileIsReadWhileTheFileIsClosed() {
        explore("first touch of a mapped storage against close", () -> {
            MemoryFile file = new MemoryFile();
            Storage storage = Storage.deferred(2, file::window);
            together(file.lifetime::release, () -> {
                try {
                    require(storage.get(1) == VALUE, "wrong bytes");
                } catch (IllegalStateException e) {
                    requireRefusal(e, "the file is closed");
                }
                storage.release();
            });
            file.requireEndedOnce();
        });
    }

    @Test
    void aStorageIsFreedWhileItIsRead() {
        explore("read against release of a mapped storage", () -> {
            MemoryFile file = new MemoryFile();
            Storage storage = Storage.deferred(2, file::window);
            require(storage.get(0) == VALUE, "wrong bytes");
            file.lifetime.release();
            together(storage::release, () -> {
                try {
                    require(storage.get(1) == VALUE, "wrong bytes");
                } catch (IllegalStateException e) {
                    requireRefusal(e, "was freed");
                }
            });
            file.requireEndedOnce();
        });
    }
}
