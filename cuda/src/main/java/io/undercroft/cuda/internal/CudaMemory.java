package io.undercroft.cuda.internal;

import io.undercroft.cuda.CudaException;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.Device;
import io.undercroft.storage.internal.support.Faults;
import io.undercroft.storage.spi.DeviceMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/// The memory of one CUDA device.
public final class CudaMemory implements DeviceMemory {
    private static final Map<Integer, CudaMemory> ALL = new ConcurrentHashMap<>();
    /// Owns no memory: what it may touch, every thread may.
    private static final Thread ANY_THREAD = Thread.ofVirtual().unstarted(() -> {});
    /// The number of times that an allocation is repeated after garbage collection. The pauses are 1, 2, 4, … ms.
    static final int RETRIES = 10;
    /// Overlapping bytes that move by less than this are copied through a buffer of this size.
    private static final long SHORT_MOVE = 16 << 20;

    private final Device device;
    private final Driver.Context context;
    private final PinnedMemory pinned;
    private volatile Ring ring;
    private final ExportedMemory exported;
    /// The stream for freeing memory, so that freeing creates none.
    private final Driver.Stream frees;
    /// Streams that no thread uses now.
    private final Queue<Driver.Stream> streams = new ConcurrentLinkedQueue<>();
    /// The devices that this one accesses directly if it can.
    private final Set<Device> peers = ConcurrentHashMap.newKeySet();

    private CudaMemory(Driver driver, int index) {
        device = Device.cuda(index);
        context = driver.context(index);
        pinned = new PinnedMemory(context);
        ring = new Ring(context, pinned, RingSize.DEFAULT);
        exported = new ExportedMemory(this, context);
        frees = context.newStream();
    }

    /// {@return the memory of a device: the same object each time}
    ///
    /// @param index the number of the device
    /// @throws CudaException if there is no such device
    public static CudaMemory of(int index) {
        Driver driver = Driver.of(index);
        return ALL.computeIfAbsent(index, _ -> new CudaMemory(driver, index));
    }

    /// Runs an action whose failure is ignored: after an error of the driver, memory cannot be freed, and is freed with
    /// the process.
    static void quietly(Runnable action) {
        try {
            action.run();
        } catch (CudaException _) {
            // Ignored.
        }
    }

    /// {@return the free memory of the device, in bytes}
    public long freeMemory() {
        return context.memory().free();
    }

    PinnedMemory pinned() {
        return pinned;
    }

    Driver.Context context() {
        return context;
    }

    @Override
    public Optional<Allocator> shared() {
        return Optional.of(exported);
    }

    ExportedMemory exported() {
        return exported;
    }

    Ring ring() {
        return ring;
    }

    /// {@return the threads and buffers of the ring}
    public RingSize ringSize() {
        return ring.size();
    }

    /// Sets the size of the ring for later copies. Running copies use the old ring until they end.
    ///
    /// @param size the threads and buffers
    public void useRing(RingSize size) {
        Ring before = ring;
        ring = new Ring(context, pinned, size);
        before.free();
    }

    @Override
    public Device device() {
        return device;
    }

    // ---- allocating ----

    @Override
    public boolean isOutOfMemory(Throwable failure) {
        return failure instanceof CudaException e && e.code() == CudaException.OUT_OF_MEMORY;
    }

    @Override
    public Allocation allocate(long nbytes) {
        return allocate(nbytes, true);
    }

    @Override
    public Allocation allocateUninitialized(long nbytes) {
        return allocate(nbytes, false);
    }

    @SuppressWarnings("restricted")
    private Allocation allocate(long nbytes, boolean zeroed) {
        if (nbytes == 0) {
            return Allocation.collected(MemorySegment.NULL);
        }
        Driver.Stream stream = takeStream();
        try {
            long address = reserve(nbytes, () -> context.allocate(nbytes, stream));
            MemorySegment bytes = MemorySegment.ofAddress(address).reinterpret(nbytes, Arena.ofAuto(), null);
            Block block = Block.of(bytes, () -> quietly(() -> context.free(address, frees)));
            try {
                if (zeroed) {
                    context.fill(bytes, (byte) 0, stream);
                }
                context.synchronize(stream);
            } catch (RuntimeException | Error e) {
                quietly(() -> context.synchronize(stream));
                block.release();
                throw e;
            }
            return new Allocation(bytes, Allocation.Sharing.PRIVATE, null, block::release);
        } finally {
            streams.add(stream);
        }
    }

    /// Unreachable storages hold device memory, which the garbage collector does not count. So it runs
    /// before the device is out of memory, as the JDK does before it is out of direct memory.
    long reserve(long nbytes, LongSupplier allocation) {
        for (int attempt = 0;; attempt++) {
            try {
                return allocation.getAsLong();
            } catch (CudaException e) {
                boolean full = e.code() == CudaException.OUT_OF_MEMORY && nbytes <= e.total().orElse(0);
                if (!full || attempt == RETRIES || !collect(attempt)) {
                    throw e;
                }
            }
        }
    }

    private boolean collect(int attempt) {
        if (!collectGarbage(attempt)) {
            return false;
        }
        exported.freeUnused();
        quietly(() -> context.synchronize(frees));
        return true;
    }

    /// Runs the garbage collector, and leaves it time to free storages.
    ///
    /// @param attempt the number of attempts before
    /// @return whether the thread was not interrupted
    static boolean collectGarbage(int attempt) {
        System.gc();
        try {
            Thread.sleep(1L << attempt);
            return true;
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    // ---- copying ----

    @Override
    public void fromHost(MemorySegment source, MemorySegment target) {
        if (!withPinned(source, target, stream -> context.toDevice(source, target.address(), stream))) {
            HostReader reader = (offset, into) -> into.copyFrom(source.asSlice(offset, into.byteSize()));
            upload(List.of(new Upload(target, reader)), isForAnyThread(source), false);
        }
    }

    @Override
    public void toHost(MemorySegment source, MemorySegment target) {
        if (!withPinned(target, source, stream -> context.toHost(source, target, stream))) {
            download(source, target);
        }
    }

    /// Copies directly between the device and pinned memory.
    ///
    /// @return whether the memory of the host is pinned
    private boolean withPinned(MemorySegment host, MemorySegment onDevice, Consumer<Driver.Stream> copy) {
        Block block = host.isNative() ? Block.findPinned(host) : null;
        if (block == null) {
            return false;
        }
        try {
            run(copy, onDevice);
        } finally {
            block.release();
        }
        return true;
    }

    @Override
    public void copy(MemorySegment source, MemorySegment target) {
        long distance = target.address() - source.address();
        if (Math.abs(distance) >= target.byteSize()) {
            run(stream -> context.copy(source, target, stream), source, target);
        } else if (Math.abs(distance) >= SHORT_MOVE) {
            run(stream -> move(source, target, Math.abs(distance), stream), source, target);
        } else if (distance != 0) {
            moveThrough(source, target);
        }
    }

    /// Copies overlapping bytes in parts that do not overlap, beginning at the end that is no longer needed.
    private void move(MemorySegment source, MemorySegment target, long part, Driver.Stream stream) {
        forEachPart(source, target, part, (from, to) -> context.copy(from, to, stream));
    }

    /// Copies overlapping bytes through other memory.
    private void moveThrough(MemorySegment source, MemorySegment target) {
        Allocation other = allocateUninitialized(Math.min(SHORT_MOVE, target.byteSize()));
        try {
            run(stream -> forEachPart(source, target, SHORT_MOVE, (from, to) -> {
                MemorySegment between = other.segment().asSlice(0, from.byteSize());
                context.copy(from, between, stream);
                context.copy(between, to, stream);
            }), source, target);
        } finally {
            other.free();
        }
    }

    @FunctionalInterface
    private interface PartCopy {
        void run(MemorySegment from, MemorySegment to);
    }

    private static void forEachPart(MemorySegment source, MemorySegment target, long part, PartCopy copy) {
        long size = source.byteSize();
        boolean up = target.address() > source.address();
        for (long done = 0; done < size; done += part) {
            long length = Math.min(part, size - done);
            long start = up ? size - done - length : done;
            copy.run(source.asSlice(start, length), target.asSlice(start, length));
        }
    }

    @Override
    public void copyFrom(DeviceMemory other, MemorySegment source, MemorySegment target) {
        if (other instanceof CudaMemory peer) {
            // The stream waits for the default stream of this device only.
            peer.context.synchronizeDefault();
            if (peers.add(peer.device)) {
                quietly(() -> context.accessDirectly(peer.context));
            }
            run(stream -> context.copyFrom(peer.context, source, target, stream), source, target);
        } else {
            DeviceMemory.super.copyFrom(other, source, target);
        }
    }

    @Override
    public void fill(MemorySegment target, byte value) {
        run(stream -> context.fill(target, value, stream), target);
    }

    /// Does some work on a stream, and waits for it.
    ///
    /// @param touched the bytes on devices that it uses
    private void run(Consumer<Driver.Stream> work, MemorySegment... touched) {
        if (touched[0].byteSize() == 0) {
            return;
        }
        try (Holds _ = new Holds(touched)) {
            Driver.Stream stream = takeStream();
            try {
                work.accept(stream);
                context.synchronize(stream);
            } catch (RuntimeException | Error e) {
                quietly(() -> context.synchronize(stream));
                throw e;
            } finally {
                streams.add(stream);
            }
        }
    }

    private Driver.Stream takeStream() {
        Driver.Stream stream = streams.poll();
        return stream == null ? context.newStream() : stream;
    }

    /// Keeps blocks from being freed.
    private static final class Holds implements AutoCloseable {
        private final @Nullable Block[] blocks;

        Holds(MemorySegment... segments) {
            blocks = new Block[segments.length];
            try {
                for (int i = 0; i < segments.length; i++) {
                    blocks[i] = segments[i].byteSize() == 0 ? null : Block.hold(segments[i]);
                }
            } catch (IllegalStateException e) {
                close();
                throw e;
            }
        }

        @Override
        public void close() {
            for (Block block : blocks) {
                if (block != null) {
                    block.release();
                }
            }
        }
    }

    // ---- through the ring ----

    @Override
    public void upload(List<Upload> uploads) {
        upload(uploads, true, true);
    }

    private void upload(List<Upload> uploads, boolean isParallel, boolean isInterruptible) {
        Ring used = ring;
        List<UploadPlan.Batch> batches = UploadPlan.of(uploads, used.size().bufferBytes());
        try (Holds _ = new Holds(uploads.stream().map(Upload::target).toArray(MemorySegment[]::new))) {
            used.run(batches.size(), isParallel, isInterruptible, (index, buffer) -> {
                UploadPlan.Batch batch = batches.get(index);
                for (UploadPlan.Piece piece : batch.pieces()) {
                    piece.upload().source().read(piece.offset(), buffer.part(piece.start(), piece.size()));
                    // A fault of mapped bytes belongs to the thread that read them.
                    Faults.throwPending();
                }
                for (UploadPlan.Copy copy : batch.copies()) {
                    buffer.toDevice(buffer.part(copy.start(), copy.size()), copy.target());
                }
            });
        }
    }

    @Override
    public void download(MemorySegment source, HostWriter target) {
        try (Holds _ = new Holds(source)) {
            ring.runInOrder(source, (offset, part) -> target.write(offset, part.asReadOnly()));
        }
    }

    private void download(MemorySegment source, MemorySegment target) {
        long size = source.byteSize();
        Ring used = ring;
        long most = used.size().bufferBytes();
        int batches = Math.toIntExact(Math.ceilDiv(size, most));
        try (Holds _ = new Holds(source)) {
            used.run(batches, isForAnyThread(target), false, (index, buffer) -> {
                long start = index * most;
                MemorySegment part = buffer.part(0, Math.min(most, size - start));
                buffer.toHost(source.asSlice(start, part.byteSize()), part);
                buffer.await();
                target.asSlice(start, part.byteSize()).copyFrom(part);
                Faults.throwPending();
            });
        }
    }

    private static boolean isForAnyThread(MemorySegment host) {
        return host.isAccessibleBy(ANY_THREAD);
    }
}
