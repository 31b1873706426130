package io.undercroft.properties.processes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.Storage;
import io.undercroft.storage.WeakStorage;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/// One storage after the other, each in the hands of several threads at once, which retain and release it, read and
/// write it, cut slices and copy it, until the last of them has let it go.
///
/// A *steady* race leaves the bytes where they are. Then whoever holds a reference, or a slice, must never be refused
/// and must read what it wrote. In a *moving* race the bytes also change their size and place, so that a holder may
/// come at the wrong moment and is refused; what must hold is that nothing else happens. In both, each allocation is
/// given back exactly once, and a storage without references refuses everything and says which one it is.
///
/// @param backing where the bytes come from
/// @param moving whether the bytes change their size and place
/// @param directory for files
record StorageRace(Backing backing, boolean moving, Path directory) {
    private static final int THREADS = 4;
    private static final int ACTIONS = 60;
    private static final int STEADY_ACTIONS = 8;
    private static final int ALL_ACTIONS = 12;

    /// Races until the time is over.
    ///
    /// @param time how long
    /// @param seed of all that is random; the order of the threads is not
    /// @return how many storages there were
    /// @throws AssertionError if something did not hold
    long run(Duration time, long seed) throws InterruptedException {
        var random = new SplittableRandom(seed);
        long end = System.nanoTime() + time.toNanos();
        long storages = 0;
        try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            while (System.nanoTime() < end) {
                one(threads, random);
                storages++;
            }
        }
        return storages;
    }

    private void one(ExecutorService threads, SplittableRandom random) throws InterruptedException {
        var ledger = new Ledger();
        Storage storage = Storage.allocate(backing.usualSize(),
                nbytes -> ledger.enter(backing.allocate(nbytes, directory)));
        var start = new CyclicBarrier(THREADS);
        List<Future<Void>> racers = new ArrayList<>();
        for (int lane = 0; lane < THREADS; lane++) {
            boolean holder = lane == 0 || random.nextBoolean();
            if (lane > 0 && holder) {
                storage.retain();
            }
            racers.add(threads.submit(new Racer(storage, ledger, start, random.split(), lane, holder)));
        }
        for (Future<Void> racer : racers) {
            finish(racer);
        }
        assertThat(ledger.releases()).isNotEmpty().allMatch(count -> count == 1);
        checkFreed(storage);
    }

    private static void finish(Future<Void> racer) throws InterruptedException {
        try {
            racer.get();
        } catch (ExecutionException e) {
            throw new AssertionError("a racer failed", e.getCause());
        }
    }

    @SuppressWarnings("CheckReturnValue")
    private static void checkFreed(Storage storage) {
        assertThat(storage.referenceCount()).isZero();
        assertThat(storage.weak().retain()).isEmpty();
        List<Runnable> uses = List.of(storage::retain, storage::release, storage::segment, storage::copy,
                () -> storage.get(0), () -> storage.set(0, (byte) 1), () -> storage.fill((byte) 1),
                () -> storage.slice(0, 1), () -> storage.resize(1), () -> storage.copyFrom(storage));
        for (Runnable use : uses) {
            assertThatThrownBy(use::run).isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("storage #" + storage.id() + " ");
        }
    }

    /// One thread. It has a byte of the storage to itself, its lane.
    private final class Racer implements Callable<Void> {
        private final Storage storage;
        private final WeakStorage weak;
        private final Ledger ledger;
        private final CyclicBarrier start;
        private final SplittableRandom random;
        private final int lane;
        private final Deque<Storage> slices = new ArrayDeque<>();
        private int references;
        private byte written;

        Racer(Storage storage, Ledger ledger, CyclicBarrier start, SplittableRandom random, int lane, boolean holder) {
            this.storage = storage;
            this.weak = storage.weak();
            this.ledger = ledger;
            this.start = start;
            this.random = random;
            this.lane = lane;
            this.references = holder ? 1 : 0;
        }

        @Override
        public Void call() throws Exception {
            start.await();
            try {
                for (int i = 0; i < ACTIONS; i++) {
                    act();
                }
            } finally {
                slices.forEach(Storage::release);
                while (references > 0) {
                    release();
                }
            }
            return null;
        }

        private void act() {
            boolean holds = references > 0 || !slices.isEmpty();
            try {
                perform(random.nextInt(moving ? ALL_ACTIONS : STEADY_ACTIONS));
            } catch (IllegalStateException e) {
                if (holds && !moving) {
                    throw new AssertionError("one who holds " + storage.describe() + " was refused", e);
                }
            } catch (IllegalArgumentException | UnsupportedOperationException e) {
                // Sizes that differ by now, and what came by shared memory meanwhile and cannot be resized.
                if (!moving) {
                    throw new AssertionError("for no reason, of " + storage.describe(), e);
                }
            }
            if (references > 0) {
                assertThat(storage.referenceCount()).isGreaterThanOrEqualTo(references);
                assertThat(moving ? 0 : ledger.releases().getFirst()).as("given back too soon").isZero();
            }
        }

        private void perform(int action) {
            switch (action) {
                case 0 -> retain();
                case 1 -> release();
                case 2 -> write();
                case 3 -> read();
                case 4 -> upgrade();
                case 5 -> cut();
                case 6 -> readSlice();
                case 7 -> copy();
                case 8 -> storage.fill((byte) lane);
                case 9 -> storage.copyFrom(Storage.allocate(storage.nbytes()));
                case 10 -> storage.resize(THREADS + random.nextInt(2 * backing.usualSize()));
                default -> storage.moveTo(nbytes -> ledger.enter(backing.allocate(nbytes, directory)));
            }
        }

        private void retain() {
            storage.retain();
            references++;
        }

        /// Only what is one's own: taking away another's reference is a mistake of the program, not a race.
        private void release() {
            if (references > 0) {
                references--;
                storage.release();
            }
        }

        private void write() {
            byte value = (byte) random.nextInt();
            storage.set(lane, value);
            written = value;
        }

        private void read() {
            compare(random.nextBoolean() ? storage.get(lane) : storage.segment().get(ValueLayout.JAVA_BYTE, lane));
        }

        private void upgrade() {
            if (weak.retain().isPresent()) {
                references++;
            } else if (references > 0 || !slices.isEmpty()) {
                throw new AssertionError("a weak reference to " + storage.describe() + " ended too soon");
            }
        }

        private void cut() {
            slices.add(storage.slice(lane, 1));
        }

        private void readSlice() {
            Storage slice = slices.poll();
            if (slice != null) {
                try {
                    compare(slice.get(0));
                } finally {
                    slice.release();
                }
            }
        }

        private void copy() {
            Storage copy = storage.copy();
            compare(copy.get(lane));
            copy.release();
        }

        private void compare(byte read) {
            if (!moving) {
                assertThat(read).isEqualTo(written);
            }
        }
    }
}
