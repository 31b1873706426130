package io.undercroft.cuda.internal;

import io.undercroft.cuda.CudaException;
import io.undercroft.storage.spi.DeviceMemory.HostWriter;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/// The pinned buffers of one device, for copies of bytes that are not in pinned memory.
///
/// A transfer is divided into batches of one buffer each. Each of its threads takes the buffer that was returned first,
/// or a new one if that is still being copied and there are fewer than [RingSize#buffers]. It waits until the last copy
/// of the buffer is done, fills it, starts the copy on the stream of the buffer, returns it, and continues with the
/// next batch. So some buffers are filled while others are copied, and transfers that run at the same time take turns.
/// (Downloads work in the same way, in the other direction.) When a transfer returns or throws, none of its copies is
/// running. While it runs, buffers that it has returned may still be copied.
///
/// A reader or consumer that starts a transfer itself holds a buffer, and all buffers may be held by such readers and
/// consumers. So this transfer uses separate buffers.
final class Ring {
    /// The number of buffers that a transfer of one thread copies ahead.
    private static final int AHEAD = 4;
    private static final long PAGE = 4096;
    private static final long IDLE_SECONDS = 30;

    /// Bound while a reader or consumer of a transfer runs.
    private static final ScopedValue<Boolean> IS_INSIDE = ScopedValue.newInstance();

    private static final ExecutorService HELPERS = Executors
            .newCachedThreadPool(Thread.ofPlatform().daemon().name("undercroft-cuda-", 0).factory());

    private final Driver.Context context;
    private final PinnedMemory pinned;
    private final RingSize size;
    private final Semaphore permits;
    /// The buffers not in use, in the order of their return. Guarded by itself.
    private final Deque<Buffer> buffers = new ArrayDeque<>();
    /// The number of running transfers.
    private final AtomicInteger running = new AtomicInteger();
    /// The number of buffers, those being allocated included. Guarded by [#buffers].
    private int made;
    private final AtomicInteger uses = new AtomicInteger();
    private final AtomicBoolean willBeChecked = new AtomicBoolean();

    Ring(Driver.Context context, PinnedMemory pinned, RingSize size) {
        this.context = context;
        this.pinned = pinned;
        this.size = size;
        this.permits = new Semaphore(size.buffers(), true);
    }

    RingSize size() {
        return size;
    }

    /// A buffer and the stream of its copies.
    final class Buffer {
        private final Arena arena = Arena.ofShared();
        private final Driver.Stream stream;
        private final boolean isPinned;
        private final MemorySegment bytes;

        /// If no more memory can be pinned, other memory is used, which is slower.
        Buffer() {
            MemorySegment made;
            boolean isMadePinned = true;
            try {
                made = pinned.allocate(size.bufferBytes(), arena);
            } catch (CudaException _) {
                made = arena.allocate(size.bufferBytes(), PAGE);
                isMadePinned = false;
            }
            bytes = made;
            isPinned = isMadePinned;
            try {
                stream = context.newStream();
            } catch (CudaException e) {
                freeBytes();
                throw e;
            }
        }

        MemorySegment part(long start, long size) {
            return bytes.asSlice(start, size);
        }

        void toDevice(MemorySegment host, long target) {
            context.toDevice(host, target, stream);
        }

        void toHost(MemorySegment source, MemorySegment host) {
            context.toHost(source, host, stream);
        }

        void await() {
            context.synchronize(stream);
        }

        /// {@return whether it can be filled without waiting}
        private boolean isIdle() {
            return context.isDone(stream);
        }

        private void free() {
            CudaMemory.quietly(() -> context.destroy(stream));
            freeBytes();
        }

        private void freeBytes() {
            if (isPinned) {
                pinned.free(arena, bytes);
            } else {
                arena.close();
            }
        }
    }

    /// The work with one buffer.
    @FunctionalInterface
    interface Batch {
        /// Does the work of a batch. No copy from or to the buffer is running when it is called; one may be when it
        /// returns.
        void run(int index, Buffer buffer);
    }

    /// Does all batches of a transfer, each once, in no particular order.
    ///
    /// @param count the number of batches
    /// @param isParallel whether several threads may work at once; otherwise the calling thread does all work
    /// @param isInterruptible whether an interruption of the calling thread ends the transfer
    /// @param batch the work on a batch
    void run(int count, boolean isParallel, boolean isInterruptible, Batch batch) {
        int most = isParallel && !IS_INSIDE.isBound() ? size.threads() : 1;
        withBuffers(ring -> ring.transfer(count, most, isInterruptible, batch));
    }

    private void transfer(int count, int threads, boolean isInterruptible, Batch batch) {
        Transfer transfer = new Transfer(count, isInterruptible, batch);
        List<Future<?>> helpers = new ArrayList<>();
        try {
            for (int i = 1; i < Math.min(threads, count); i++) {
                helpers.add(HELPERS.submit(transfer::help));
            }
        } catch (RuntimeException | Error e) {
            transfer.fail(e);
        }
        transfer.workHere();
        transfer.finish(helpers);
    }

    /// Does a transfer with the buffers of this ring or, within another transfer, with new buffers.
    private void withBuffers(Consumer<Ring> transfer) {
        Ring ring = IS_INSIDE.isBound() ? new Ring(context, pinned, size) : this;
        ring.running.incrementAndGet();
        try {
            transfer.accept(ring);
        } finally {
            ring.running.decrementAndGet();
            if (ring == this) {
                used();
            } else {
                ring.free();
            }
        }
    }

    /// Copies to the host in ascending order.
    ///
    /// @param source the address on the device
    /// @param consumer called by this thread with each part and its offset in the source
    void runInOrder(MemorySegment source, HostWriter consumer) {
        withBuffers(ring -> ring.transferInOrder(source, consumer));
    }

    private void transferInOrder(MemorySegment source, HostWriter consumer) {
        record Part(long offset, MemorySegment bytes, Buffer buffer) {}
        Deque<Part> ahead = new ArrayDeque<>();
        long started = 0;
        try {
            while (started < source.byteSize() || !ahead.isEmpty()) {
                while (started < source.byteSize() && ahead.size() < AHEAD) {
                    Buffer buffer = ahead.isEmpty() ? take() : tryTake();
                    if (buffer == null) {
                        break;
                    }
                    long length = Math.min(size.bufferBytes(), source.byteSize() - started);
                    Part part = new Part(started, buffer.part(0, length), buffer);
                    ahead.add(part);
                    buffer.toHost(source.asSlice(started, length), part.bytes);
                    started += length;
                }
                Part part = ahead.getFirst();
                part.buffer.await();
                ScopedValue.where(IS_INSIDE, true).run(() -> consumer.write(part.offset, part.bytes));
                putBack(ahead.removeFirst().buffer);
            }
        } finally {
            for (Part part : ahead) {
                CudaMemory.quietly(part.buffer::await);
                putBack(part.buffer);
            }
        }
    }

    /// One transfer while it runs.
    private final class Transfer {
        private final int count;
        private final boolean isInterruptible;
        private final Batch batch;
        private final AtomicInteger next = new AtomicInteger();
        private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        /// Buffers with copies of this transfer.
        private final Set<Buffer> copied = ConcurrentHashMap.newKeySet();

        Transfer(int count, boolean isInterruptible, Batch batch) {
            this.count = count;
            this.isInterruptible = isInterruptible;
            this.batch = batch;
        }

        void fail(Throwable thrown) {
            failure.compareAndSet(null, thrown);
        }

        /// Does batches in a helper.
        void help() {
            work(false);
        }

        /// Does batches in the calling thread.
        void workHere() {
            work(isInterruptible);
        }

        /// Does batches until none is left or one has failed.
        private void work(boolean stopsWhenInterrupted) {
            try {
                for (int i = next.getAndIncrement(); i < count && failure.get() == null; i = next.getAndIncrement()) {
                    if (stopsWhenInterrupted && Thread.currentThread().isInterrupted()) {
                        throw cancellation();
                    }
                    int index = i;
                    Buffer buffer = take();
                    copied.add(buffer);
                    try {
                        buffer.await();
                        ScopedValue.where(IS_INSIDE, true).run(() -> batch.run(index, buffer));
                    } finally {
                        putBack(buffer);
                    }
                }
            } catch (RuntimeException | Error e) {
                fail(e);
            }
        }

        /// Waits for all threads and copies, and throws the first exception.
        void finish(List<Future<?>> helpers) {
            helpers.forEach(this::join);
            for (Buffer buffer : copied) {
                try {
                    buffer.await();
                } catch (CudaException e) {
                    fail(e);
                }
            }
            switch (failure.get()) {
                case RuntimeException e -> throw e;
                case Error e -> throw e;
                case null, default -> {
                }
            }
        }

        private void join(Future<?> helper) {
            boolean interrupted = false;
            while (!helper.isDone()) {
                try {
                    helper.get();
                } catch (InterruptedException _) {
                    interrupted = true;
                    if (isInterruptible) {
                        fail(cancellation());
                    }
                } catch (ExecutionException e) {
                    throw new AssertionError("a helper keeps what it catches", e);
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /// Takes a buffer, whose last copy may still run.
    private Buffer take() {
        permits.acquireUninterruptibly();
        return pollOrMake();
    }

    /// Takes a buffer if one is free that no other thread waits for.
    private @Nullable Buffer tryTake() {
        return !permits.hasQueuedThreads() && permits.tryAcquire() ? pollOrMake() : null;
    }

    private Buffer pollOrMake() {
        try {
            synchronized (buffers) {
                Buffer first = buffers.peek();
                if (first != null && (made == size.buffers() || first.isIdle())) {
                    return buffers.remove();
                }
                made++;
            }
            return make();
        } catch (RuntimeException | Error e) {
            permits.release();
            throw e;
        }
    }

    private Buffer make() {
        try {
            return new Buffer();
        } catch (RuntimeException | Error e) {
            synchronized (buffers) {
                made--;
            }
            throw e;
        }
    }

    private void putBack(Buffer buffer) {
        synchronized (buffers) {
            buffers.add(buffer);
        }
        permits.release();
    }

    private static CancellationException cancellation() {
        return new CancellationException(
                "the thread was interrupted while it copied to a CUDA device; some of the bytes are not copied");
    }

    // ---- freeing ----

    /// Schedules freeing the buffers if they are not used for some time.
    private void used() {
        int use = uses.incrementAndGet();
        if (willBeChecked.compareAndSet(false, true)) {
            CompletableFuture.delayedExecutor(IDLE_SECONDS, TimeUnit.SECONDS).execute(() -> {
                willBeChecked.set(false);
                if (uses.get() == use) {
                    free();
                } else {
                    used();
                }
            });
        }
    }

    /// Frees all buffers, unless a transfer is running. One that begins meanwhile waits for a permit.
    void free() {
        if (!permits.tryAcquire(size.buffers())) {
            return;
        }
        try {
            if (running.get() == 0) {
                synchronized (buffers) {
                    buffers.forEach(Buffer::free);
                    buffers.clear();
                    made = 0;
                }
            }
        } finally {
            permits.release(size.buffers());
        }
    }
}
