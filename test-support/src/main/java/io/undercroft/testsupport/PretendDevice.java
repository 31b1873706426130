package io.undercroft.testsupport;

import io.undercroft.storage.Allocation;
import io.undercroft.storage.Device;
import io.undercroft.storage.spi.DeviceMemory;
import io.undercroft.storage.spi.MemoryProvider;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/// Devices for tests, `xpu:0` and so on, whose memory is really the host's. Each test makes its own, which counts what
/// is done with it. A device uploads with two threads, in parts of an odd size.
public final class PretendDevice implements MemoryProvider {
    private static final Map<Device, Memory> DEVICES = new ConcurrentHashMap<>();
    private static final AtomicInteger NEXT = new AtomicInteger();

    /// {@return the memory of a device that nobody else uses}
    public static Memory fresh() {
        Device device = new Device("xpu", NEXT.getAndIncrement());
        return DEVICES.computeIfAbsent(device, Memory::new);
    }

    @Override
    public List<Device> devices() {
        return List.copyOf(DEVICES.keySet());
    }

    @Override
    public Optional<DeviceMemory> device(Device device) {
        return Optional.ofNullable(DEVICES.get(device));
    }

    /// Too few bytes of a device are free.
    public static final class DeviceIsFull extends IllegalStateException {
        private static final long serialVersionUID = 1L;

        private DeviceIsFull(long wanted, long free) {
            super(wanted + " bytes are wanted and " + free + " are free");
        }
    }

    /// The memory of one device.
    public static final class Memory implements DeviceMemory {
        private static final int PART = 100_003;
        private final Device device;
        /// How many allocations were made, and how many of them were not freed.
        public final AtomicInteger allocations = new AtomicInteger();
        public final AtomicInteger live = new AtomicInteger();
        /// How many calls of [#upload] there were, and how many bytes they copied.
        public final AtomicInteger uploads = new AtomicInteger();
        public final AtomicLong uploaded = new AtomicLong();
        /// How many bytes each copy to the host had.
        public final Queue<Long> fetches = new ConcurrentLinkedQueue<>();
        /// Run before each part is read.
        public volatile Runnable beforeReading = () -> {};
        /// How many bytes an allocation may have. Larger ones fail as they do on devices that have an exception of
        /// their own.
        public volatile long largestAllocation = Long.MAX_VALUE;

        private Memory(Device device) {
            this.device = device;
        }

        @Override
        public boolean isOutOfMemory(Throwable failure) {
            return failure instanceof DeviceIsFull;
        }

        @Override
        public Allocation allocate(long nbytes) {
            if (nbytes > largestAllocation) {
                throw new DeviceIsFull(nbytes, largestAllocation);
            }
            Arena arena = Arena.ofShared();
            allocations.incrementAndGet();
            live.incrementAndGet();
            return new Allocation(arena.allocate(nbytes, 256), Allocation.Sharing.PRIVATE, null, () -> {
                live.decrementAndGet();
                arena.close();
            });
        }

        @Override
        public Allocation allocateUninitialized(long nbytes) {
            Allocation bytes = allocate(nbytes);
            bytes.segment().fill((byte) 0x77);
            return bytes;
        }

        @Override
        public Device device() {
            return device;
        }

        @Override
        public void upload(List<Upload> wanted) {
            uploads.incrementAndGet();
            AtomicInteger next = new AtomicInteger();
            List<Runnable> parts = new ArrayList<>();
            for (Upload upload : wanted) {
                for (long at = 0; at < upload.target().byteSize(); at += PART) {
                    long start = at;
                    parts.add(() -> copy(upload, start));
                }
            }
            List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
            Runnable work = () -> {
                try {
                    for (int i = next.getAndIncrement(); i < parts.size() && failures.isEmpty(); i = next
                            .getAndIncrement()) {
                        parts.get(i).run();
                    }
                } catch (Throwable e) {
                    failures.add(e);
                }
            };
            Thread other = Thread.ofPlatform().start(work);
            work.run();
            boolean interrupted = false;
            while (other.isAlive()) {
                try {
                    other.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
            if (!failures.isEmpty()) {
                switch (failures.getFirst()) {
                    case RuntimeException e -> throw e;
                    case Error e -> throw e;
                    default -> throw new AssertionError(failures.getFirst());
                }
            }
        }

        private void copy(Upload upload, long start) {
            MemorySegment target = upload.target().asSlice(start, Math.min(PART, upload.target().byteSize() - start));
            try (Arena arena = Arena.ofConfined()) {
                // What is not filled must not show.
                MemorySegment buffer = arena.allocate(target.byteSize()).fill((byte) 0x5a);
                beforeReading.run();
                upload.source().read(start, buffer);
                fromHost(buffer, target);
                uploaded.addAndGet(target.byteSize());
            }
        }

        @Override
        public void toHost(MemorySegment source, MemorySegment target) {
            fetches.add(source.byteSize());
            target.copyFrom(source);
        }

        @Override
        public void fromHost(MemorySegment source, MemorySegment target) {
            target.copyFrom(source);
        }

        @Override
        public void copy(MemorySegment source, MemorySegment target) {
            target.copyFrom(source);
        }

        @Override
        public void fill(MemorySegment target, byte value) {
            target.fill(value);
        }
    }
}
