package io.undercroft.properties.threads;

import static io.undercroft.properties.threads.Interleavings.explore;
import static io.undercroft.properties.threads.Interleavings.require;
import static io.undercroft.properties.threads.Interleavings.requireRefusal;
import static io.undercroft.properties.threads.Interleavings.together;

import io.undercroft.properties.threads.Interleavings.Action;
import io.undercroft.serializer.internal.Lazy;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Storage;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/// What is made at the first touch is made once and is whole for every thread, and a touch that fails spoils no other.
class FirstTouchSchedules {
    private static final byte VALUE = 7;
    private static final int SIZE = 4;

    /// A storage whose bytes are made one after the other when it is first touched.
    private static final class Deferred {
        private final int failures;
        private final AtomicInteger attempts = new AtomicInteger();
        private final AtomicInteger made = new AtomicInteger();
        private final AtomicInteger freed = new AtomicInteger();
        private final Storage storage = Storage.deferred(SIZE, this::make);

        Deferred(int failures) {
            this.failures = failures;
        }

        private Allocation make() {
            if (attempts.incrementAndGet() <= failures) {
                throw new UnsupportedOperationException("cannot be read");
            }
            byte[] bytes = new byte[SIZE];
            Allocation allocation = new Allocation(MemorySegment.ofArray(bytes), Allocation.Sharing.PRIVATE, null,
                    freed::incrementAndGet);
            for (int i = 0; i < SIZE; i++) {
                bytes[i] = VALUE;
            }
            made.incrementAndGet();
            return allocation;
        }

        void touch() {
            require(storage.get(SIZE - 1) == VALUE, "not whole");
        }
    }

    @Test
    void twoThreadsTouchAStorageAtOnce() {
        explore("touch against touch", () -> {
            Deferred bytes = new Deferred(0);
            together(bytes::touch, bytes::touch);
            require(bytes.made.get() == 1, "made " + bytes.made.get() + " times");
            bytes.storage.release();
            require(bytes.freed.get() == 1, "freed " + bytes.freed.get() + " times");
        });
    }

    @Test
    void aTouchThatFailsLeavesTheBytesToTheNext() {
        explore("touch that fails against touch", () -> {
            Deferred bytes = new Deferred(1);
            AtomicInteger refused = new AtomicInteger();
            Action touch = () -> {
                try {
                    bytes.touch();
                } catch (UnsupportedOperationException _) {
                    refused.incrementAndGet();
                }
            };
            together(touch, touch);
            require(refused.get() == 1, refused.get() + " touches failed");
            bytes.touch();
            require(bytes.made.get() == 1, "made " + bytes.made.get() + " times");
        });
    }

    @Test
    void aStorageIsReleasedWhileItIsFirstTouched() {
        explore("touch against release", () -> {
            Deferred bytes = new Deferred(0);
            together(bytes.storage::release, () -> {
                try {
                    bytes.touch();
                } catch (IllegalStateException e) {
                    requireRefusal(e, "was freed");
                }
            });
            require(bytes.made.get() == bytes.freed.get(),
                    "made " + bytes.made.get() + " times, freed " + bytes.freed.get() + " times");
        });
    }

    /// A value that is made at the first need, unless that fails at first.
    private static final class Value {
        private final int failures;
        private final AtomicInteger attempts = new AtomicInteger();
        private final Lazy<byte[]> lazy = new Lazy<>(this::make);
        private final byte[][] seen = new byte[2][];

        Value(int failures) {
            this.failures = failures;
        }

        private byte[] make() {
            if (attempts.incrementAndGet() <= failures) {
                throw new UnsupportedOperationException("cannot be read");
            }
            byte[] value = new byte[1];
            value[0] = VALUE;
            return value;
        }

        private void see(int thread) {
            try {
                seen[thread] = lazy.get();
                require(seen[thread][0] == VALUE, "not whole");
            } catch (UnsupportedOperationException _) {
                // The next thread tries again.
            }
        }

        void race() throws InterruptedException {
            together(() -> see(0), () -> see(1));
            require(attempts.get() == 1 + failures, attempts.get() + " attempts");
        }
    }

    @Test
    void aLazyValueIsMadeOnce() {
        explore("lazy value", () -> {
            Value value = new Value(0);
            value.race();
            require(value.seen[0] == value.seen[1], "two values");
        });
    }

    @Test
    void aLazyValueThatCannotBeMadeIsTriedAgain() {
        explore("lazy value that fails", () -> {
            Value value = new Value(1);
            value.race();
            require((value.seen[0] == null) != (value.seen[1] == null), "not one failure");
            require(value.lazy.get() == (value.seen[0] == null ? value.seen[1] : value.seen[0]), "two values");
        });
    }
}
