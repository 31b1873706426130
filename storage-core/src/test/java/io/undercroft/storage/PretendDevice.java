package io.undercroft.storage;

import io.undercroft.storage.spi.DeviceMemory;
import io.undercroft.storage.spi.MemoryProvider;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/// Two devices for tests, `xpu:0` and `xpu:1`, whose memory is really the host's; they count the allocations. Memory of
/// `xpu:1` can be shared. A test may have them bring shared memory, pin memory of the host, or miss its bytes. Tests of
/// all other modules use that of test-support, which depends on this module.
public final class PretendDevice implements MemoryProvider {
    static final Device DEVICE = new Device("xpu", 0);
    static final Device OTHER = new Device("xpu", 1);
    static final AtomicInteger ALLOCATIONS = new AtomicInteger();
    /// How many of them were to be overwritten anyway.
    static final AtomicInteger UNINITIALIZED = new AtomicInteger();
    /// The largest copy to or from the host in bytes.
    static final AtomicLong LARGEST = new AtomicLong();
    /// What is asked for shared memory, if that is wanted.
    static final AtomicReference<@Nullable Supplier<Allocator>> SHARED = new AtomicReference<>();

    @Override
    public Optional<Allocator> shared() {
        return Optional.ofNullable(SHARED.get()).map(Supplier::get);
    }

    /// What pins bytes where they are, if that is wanted.
    static final AtomicReference<@Nullable BiFunction<MemorySegment, Runnable, Runnable>> PIN = new AtomicReference<>();

    @Override
    public Optional<Runnable> pinInPlace(MemorySegment bytes, Runnable unpinned) {
        return Optional.ofNullable(PIN.get()).map(pin -> pin.apply(bytes, unpinned));
    }

    /// What is said of bytes that are asked for, if something is.
    static final AtomicReference<@Nullable RuntimeException> LOST = new AtomicReference<>();

    @Override
    public Optional<RuntimeException> lost(MemorySegment segment) {
        return Optional.ofNullable(LOST.get());
    }

    @Override
    public List<Device> devices() {
        return List.of(DEVICE, OTHER);
    }

    @Override
    public Optional<DeviceMemory> device(Device device) {
        return device.type().equals("xpu") && device.index() <= 1
                ? Optional.of(new Memory(device.index() == 1 ? OTHER : DEVICE))
                : Optional.empty();
    }

    /// Memory that other processes can open, it says.
    private record SharedMemory(Device device) implements Allocator {
        @Override
        public Allocation allocate(long nbytes) {
            return new Allocation(Arena.ofAuto().allocate(nbytes), Allocation.Sharing.SHARED, null, () -> {});
        }
    }

    private record Memory(Device device) implements DeviceMemory {
        @Override
        public Optional<Allocator> shared() {
            return device.equals(OTHER) ? Optional.of(new SharedMemory(device)) : Optional.empty();
        }

        @Override
        public Allocation allocate(long nbytes) {
            ALLOCATIONS.incrementAndGet();
            return Allocation.collected(Arena.ofAuto().allocate(nbytes));
        }

        @Override
        public Allocation allocateUninitialized(long nbytes) {
            UNINITIALIZED.incrementAndGet();
            return allocate(nbytes);
        }

        @Override
        public void toHost(MemorySegment source, MemorySegment target) {
            LARGEST.accumulateAndGet(source.byteSize(), Math::max);
            target.copyFrom(source);
        }

        @Override
        public void fromHost(MemorySegment source, MemorySegment target) {
            LARGEST.accumulateAndGet(source.byteSize(), Math::max);
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
