package io.undercroft.properties.threads;

import static io.undercroft.properties.threads.Interleavings.explore;
import static io.undercroft.properties.threads.Interleavings.require;
import static io.undercroft.properties.threads.Interleavings.requireRefusal;
import static io.undercroft.properties.threads.Interleavings.together;

import io.undercroft.storage.Allocation;
import io.undercroft.storage.Storage;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/// The bytes of a storage are freed once, when its last reference is released, in whatever order threads do that.
class ReferenceCountSchedules {
    private static final byte VALUE = 7;

    /// Bytes that are overwritten when they are freed.
    private static final class Bytes {
        private final byte[] bytes = new byte[8];
        private final AtomicInteger frees = new AtomicInteger();
        private final Storage storage;

        Bytes() {
            Arrays.fill(bytes, VALUE);
            storage = Storage.over(new Allocation(MemorySegment.ofArray(bytes), Allocation.Sharing.PRIVATE, null,
                    this::free));
        }

        private void free() {
            Arrays.fill(bytes, (byte) 0);
            frees.incrementAndGet();
        }

        void requireFreedOnce() {
            require(frees.get() == 1, "freed " + frees.get() + " times");
            require(storage.referenceCount() == 0, storage.referenceCount() + " references are left");
        }
    }

    @Test
    void whoeverRetainsReadsTheBytesWhileAnotherReleases() {
        explore("retain, read and release against release", () -> {
            Bytes bytes = new Bytes();
            together(bytes.storage::release, () -> {
                try {
                    bytes.storage.retain();
                } catch (IllegalStateException e) {
                    requireRefusal(e, "was freed");
                    return;
                }
                require(bytes.storage.get(0) == VALUE, "freed while it is held");
                bytes.storage.release();
            });
            bytes.requireFreedOnce();
        });
    }

    @Test
    void twoHoldersReleaseAtOnce() {
        explore("release against release", () -> {
            Bytes bytes = new Bytes();
            Storage storage = bytes.storage.retain();
            together(storage::release, () -> {
                require(storage.get(0) == VALUE, "freed while it is held");
                storage.release();
            });
            bytes.requireFreedOnce();
        });
    }

    @Test
    void aSliceKeepsTheBytesOfItsBase() {
        explore("slice against release of the base", () -> {
            Bytes bytes = new Bytes();
            together(bytes.storage::release, () -> {
                Storage slice;
                try {
                    slice = bytes.storage.slice(4, 2);
                } catch (IllegalStateException e) {
                    requireRefusal(e, "was freed");
                    return;
                }
                require(slice.get(1) == VALUE, "freed while a slice is held");
                slice.release();
            });
            bytes.requireFreedOnce();
        });
    }

    @Test
    void aWeakReferenceIsUpgradedOrExpired() {
        explore("weak reference against release", () -> {
            Bytes bytes = new Bytes();
            var weak = bytes.storage.weak();
            together(bytes.storage::release, () -> {
                var held = weak.retain();
                if (held.isPresent()) {
                    require(held.get().get(0) == VALUE, "freed while it is held");
                    held.get().release();
                }
            });
            bytes.requireFreedOnce();
            require(weak.isExpired(), "the weak reference has outlived the storage");
        });
    }
}
