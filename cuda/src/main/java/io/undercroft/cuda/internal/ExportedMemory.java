package io.undercroft.cuda.internal;

import io.undercroft.cuda.CudaException;
import io.undercroft.mmap.ByteRange;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.NameLifetime;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedMemoryException;
import io.undercroft.mmap.SharedSegment.Holder;
import io.undercroft.mmap.SharedStorageHandle;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.Device;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/// Memory of one device that other processes can open.
///
/// It is freed when its storage was released and no other process has it open: freeing it earlier is undefined for
/// those processes. The holders of its [record][SharedRecord] are the processes that have it open; a process that is
/// killed is removed from them. A process holds the record before it reads whether the storage was released, and
/// the storage is marked as released before the holders are counted. So either the process sees the mark, or it is
/// counted.
final class ExportedMemory implements Allocator {
    /// The driver shares memory in units of this size, and would share all bytes of the last one.
    private static final long UNIT = 2 << 20;
    private static final long FIRST_CHECK_MILLIS = 5;
    private static final long LAST_CHECK_MILLIS = 1000;

    private final CudaMemory memory;
    private final Driver.Context context;
    /// The memory that was not released, by the names of the records.
    private final Map<String, Block> blocks = new ConcurrentHashMap<>();
    /// Memory that was released here and is open in other processes.
    private final Set<Export> unfreed = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean willBeChecked = new AtomicBoolean();
    /// The event for all memory of the device, as the number of such events is limited. Kept until the process ends.
    private Driver.@Nullable Event event;

    ExportedMemory(CudaMemory memory, Driver.Context context) {
        this.memory = memory;
        this.context = context;
    }

    @Override
    public Device device() {
        return memory.device();
    }

    /// Allocates zeroed bytes, and writes the record of them.
    ///
    /// @throws CudaException if the device is out of memory, or this system cannot share its memory
    /// @throws UncheckedIOException if the record cannot be written
    @Override
    @SuppressWarnings("restricted")
    public Allocation allocate(long nbytes) {
        freeUnused();
        long size = Math.ceilDiv(nbytes, UNIT) * UNIT;
        long address = size == 0 ? 0 : memory.reserve(size, () -> context.allocateUnpooled(size));
        MemorySegment bytes = MemorySegment.ofAddress(address).reinterpret(nbytes, Arena.ofAuto(), null);
        Export export;
        try {
            export = new Export(address, record(address, nbytes));
        } catch (SharedMemoryException e) {
            free(address);
            throw new UncheckedIOException(e);
        } catch (RuntimeException | Error e) {
            free(address);
            throw e;
        }
        Block block = Block.of(bytes, export::release);
        blocks.put(export.record.name(), block);
        try {
            memory.fill(bytes, (byte) 0);
        } catch (RuntimeException | Error e) {
            block.release();
            throw e;
        }
        ByteRange all = ByteRange.bytes(nbytes);
        SharedStorageHandle handle = new SharedStorageHandle(SharedStorageHandle.Home.DEVICE, export.record.name(),
                export.record.identity().orElseThrow(), MapMode.SHARED, all, all);
        return new Allocation(bytes, Allocation.Sharing.SHARED, null, handle, block::release);
    }

    private SharedMemory record(long address, long nbytes) throws SharedMemoryException {
        byte[] handle = address == 0 ? new byte[Driver.HANDLE_BYTES] : context.handle(address);
        byte[] order = context.handle(event());
        String name = "undercroft_cuda_" + ProcessHandle.current().pid() + "_"
                + Long.toString(ThreadLocalRandom.current().nextLong(Long.MAX_VALUE), Character.MAX_RADIX);
        SharedMemory record = SharedMemory.create(name, SharedRecord.BYTES, NameLifetime.WITH_LAST_HOLDER);
        try {
            Holder self = record.registered().orElseThrow().holders().getFirst();
            new SharedRecord(self.pid(), self.start().toEpochMilli(), nbytes, context.pciId(), handle, order)
                    .write(record.segment());
            return record;
        } catch (RuntimeException | Error | SharedMemoryException e) {
            record.close();
            throw e;
        }
    }

    private synchronized Driver.Event event() {
        Driver.Event there = event;
        if (there == null) {
            there = context.newEvent();
            event = there;
        }
        return there;
    }

    /// Makes later openers of the memory wait for work submitted to the device before.
    void handOver() {
        context.record(event());
    }

    /// {@return the memory that this process shares by a record, which the caller has to [Block#release]; nothing if
    /// there is none}
    ///
    /// @param name the name of the record
    Optional<Block> find(String name) {
        return Optional.ofNullable(blocks.get(name)).flatMap(block -> Optional.ofNullable(Block.find(block.bytes())));
    }

    // ---- freeing ----

    /// Memory of one storage.
    private final class Export {
        private final long address;
        private final SharedMemory record;

        Export(long address, SharedMemory record) {
            this.address = address;
            this.record = record;
        }

        void release() {
            blocks.remove(record.name());
            SharedRecord.release(record.segment());
            if (!freeIfUnused()) {
                keep(this);
            }
        }

        boolean freeIfUnused() {
            if (isOpenElsewhere()) {
                return false;
            }
            free(address);
            record.close();
            return true;
        }

        /// Also if that is unknown, since the name of the record was removed.
        private boolean isOpenElsewhere() {
            try {
                return record.registered().stream().flatMap(segment -> segment.holders().stream())
                        .filter(holder -> holder.state() == Holder.State.ALIVE).count() != 1;
            } catch (SharedMemoryException _) {
                // Perhaps it can be read later.
                return true;
            }
        }
    }

    private void free(long address) {
        if (address != 0) {
            CudaMemory.quietly(() -> context.freeUnpooled(address));
        }
    }

    /// Frees memory that no process has open any more.
    void freeUnused() {
        for (Export each : List.copyOf(unfreed)) {
            if (unfreed.remove(each) && !each.freeIfUnused()) {
                keep(each);
            }
        }
    }

    /// A check that ran while the memory was taken out did not see it, and may have been the last one.
    private void keep(Export export) {
        unfreed.add(export);
        checkLater(FIRST_CHECK_MILLIS);
    }

    private void checkLater(long millis) {
        if (willBeChecked.compareAndSet(false, true)) {
            CompletableFuture.delayedExecutor(millis, TimeUnit.MILLISECONDS, Thread::startVirtualThread).execute(() -> {
                freeUnused();
                willBeChecked.set(false);
                if (!unfreed.isEmpty()) {
                    checkLater(Math.min(2 * millis, LAST_CHECK_MILLIS));
                }
            });
        }
    }
}
