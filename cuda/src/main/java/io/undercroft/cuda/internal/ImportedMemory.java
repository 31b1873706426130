package io.undercroft.cuda.internal;

import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedMemoryException;
import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.mmap.SharedSegment;
import io.undercroft.mmap.SharedSegment.Holder;
import io.undercroft.mmap.SharedStorageHandle;
import io.undercroft.mmap.spi.SharedDeviceMemory;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/// Opens memory of CUDA devices that other processes share.
public final class ImportedMemory implements SharedDeviceMemory {
    private static final long FIRST_PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(50);
    private static final long LAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /// For [java.util.ServiceLoader].
    public ImportedMemory() {}

    @Override
    public void handOver(Storage storage) {
        if (storage.isCuda()) {
            CudaMemory memory = CudaMemory.of(storage.device().index());
            if (storage.base().orElse(storage).allocator().orElse(null) instanceof ExportedMemory exported) {
                exported.handOver();
            } else {
                // The event is that of the process that allocated the memory.
                memory.context().synchronizeDefault();
            }
        }
    }

    @Override
    public Optional<Storage> open(SharedMemory segment, SharedStorageHandle handle) throws SharedMemoryException {
        Optional<SharedRecord> record = SharedRecord.read(segment.segment());
        return record.isEmpty() ? Optional.empty() : Optional.of(new Opening(segment, handle, record.get()).open());
    }

    /// Memory while it is opened.
    private record Opening(SharedMemory segment, SharedStorageHandle handle, SharedRecord shared) {
        Storage open() throws SharedMemoryException {
            check();
            CudaMemory memory = CudaMemory.of(Driver.get().indexOf(shared.pciId(), handle.toString()));
            Block block = shared.pid() == ProcessHandle.current().pid() ? own(memory) : imported(memory);
            MemorySegment bytes = handle.mode() == MapMode.READ_ONLY ? block.bytes().asReadOnly() : block.bytes();
            return Storage.over(new Allocation(bytes, Allocation.Sharing.SHARED, null, handle, block::release),
                    memory.device());
        }

        /// Memory of this process, to be opened with other access than it has.
        private Block own(CudaMemory memory) {
            return memory.exported().find(handle.name()).orElseThrow(() -> new IllegalStateException(
                    handle + " cannot be opened: another copy of the library in this process "
                            + "has shared it, and CUDA opens handles of other processes only"));
        }

        private Block imported(CudaMemory memory) throws SharedMemoryException {
            Driver.Context context = memory.context();
            long address = shared.nbytes() == 0 ? 0 : context.open(shared.memory(), shared.nbytes());
            Block block = block(context, address);
            try {
                await(memory);
                // It may have ended meanwhile, and its memory be used for something else.
                check();
            } catch (RuntimeException | Error | SharedMemoryException e) {
                block.release();
                throw e;
            }
            return block;
        }

        @SuppressWarnings("restricted")
        private Block block(Driver.Context context, long address) {
            MemorySegment bytes = MemorySegment.ofAddress(address).reinterpret(shared.nbytes(), Arena.ofAuto(), null);
            SharedMemory held = segment.retain();
            Optional<ProcessHandle> owner = ProcessHandle.of(shared.pid()).filter(process -> process.info()
                    .startInstant().map(Instant::toEpochMilli).filter(start -> start == shared.startMillis())
                    .isPresent());
            return Block.of(bytes, () -> {
                if (address != 0) {
                    CudaMemory.quietly(() -> context.close(address));
                }
                held.close();
            }, () -> {
                if (!owner.map(Opening::isRunning).orElse(false) && !isHeldByOwner(held)) {
                    throw new IllegalStateException("process " + shared.pid() + ", which shared these "
                            + shared.nbytes() + " bytes of device " + shared.pciId()
                            + ", has ended, and they are lost; ask for a handle to another storage");
                }
            });
        }

        /// Quick, but not sufficient to conclude that a process has ended: the time when it started depends on the
        /// clock, which may have been set since.
        private static boolean isRunning(ProcessHandle process) {
            return process.isAlive() && !isZombie(process);
        }

        /// Returns whether a process has ended and its parent has not waited for it, as in containers whose first
        /// process waits for none.
        private static boolean isZombie(ProcessHandle process) {
            try {
                String status = Files.readString(Path.of("/proc/" + process.pid() + "/stat"),
                        StandardCharsets.ISO_8859_1);
                // "PID (NAME) STATE ...", where the name may have brackets too.
                return status.startsWith(") Z ", status.lastIndexOf(')'));
            } catch (IOException _) {
                return true;
            }
        }

        /// Returns whether the process is known to have the record, which takes longer to find out.
        private boolean isHeldByOwner(SharedMemory held) {
            try {
                return held.registered().stream().flatMap(each -> each.holders().stream()).anyMatch(this::isOwner);
            } catch (SharedMemoryException _) {
                return false;
            }
        }

        /// @throws SharedMemoryException if the memory was freed
        private void check() throws SharedMemoryException {
            if (SharedRecord.isReleased(segment.segment())) {
                throw gone("process " + shared.pid() + " has released the storage");
            }
            SharedSegment registered = segment.registered().orElseThrow(() -> new SharedMemoryException(
                    Reason.NOT_PERMITTED, handle + " cannot be opened: the record of the processes that have it "
                            + "open was removed or is another user's; open it as the user that shared it",
                    null));
            if (registered.holders().stream().noneMatch(this::isOwner)) {
                throw gone("process " + shared.pid() + ", which shared it, has ended");
            }
            if (shared.nbytes() != handle.base().nbytes()) {
                throw gone("the storage has " + shared.nbytes() + " bytes");
            }
        }

        private boolean isOwner(Holder holder) {
            return holder.pid() == shared.pid() && holder.start().toEpochMilli() == shared.startMillis()
                    && holder.state() == Holder.State.ALIVE;
        }

        private SharedMemoryException gone(String why) {
            return new SharedMemoryException(Reason.NOT_FOUND, handle + " cannot be opened: " + why
                    + "; ask for a new handle", null);
        }

        /// Waits for what was submitted to the device before the handle was made. The owner may end before that is
        /// done, and then it never is.
        private void await(CudaMemory memory) throws SharedMemoryException {
            Driver.Context context = memory.context();
            Driver.Event event = context.open(shared.event());
            try {
                // The default stream must not wait for the other process.
                Driver.Stream stream = context.newIndependentStream();
                try {
                    context.waitFor(event, stream);
                    awaitAll(context, stream);
                } finally {
                    CudaMemory.quietly(() -> context.destroy(stream));
                }
            } finally {
                CudaMemory.quietly(() -> context.destroy(event));
            }
        }

        private void awaitAll(Driver.Context context, Driver.Stream stream) throws SharedMemoryException {
            boolean interrupted = false;
            try {
                long pause = FIRST_PAUSE_NANOS;
                while (!context.isDone(stream)) {
                    LockSupport.parkNanos(pause);
                    // Else it would not pause any more.
                    interrupted |= Thread.interrupted();
                    pause = Math.min(2 * pause, LAST_PAUSE_NANOS);
                    check();
                }
            } finally {
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        }
    }
}
