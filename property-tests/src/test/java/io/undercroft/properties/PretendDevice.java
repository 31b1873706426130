package io.undercroft.properties;

import io.undercroft.storage.Allocation;
import io.undercroft.storage.Device;
import io.undercroft.storage.spi.DeviceMemory;
import io.undercroft.storage.spi.MemoryProvider;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/// Devices for laws, whose memory is really the host's; each counts its allocations.
public final class PretendDevice implements MemoryProvider {
    private static final Map<Device, Memory> DEVICES = new ConcurrentHashMap<>();
    private static final AtomicInteger NEXT = new AtomicInteger();

    static Memory fresh() {
        return DEVICES.computeIfAbsent(new Device("xpu", NEXT.getAndIncrement()), Memory::new);
    }

    @Override
    public Optional<DeviceMemory> device(Device device) {
        return Optional.ofNullable(DEVICES.get(device));
    }

    static final class Memory implements DeviceMemory {
        private final Device device;
        private final AtomicInteger live = new AtomicInteger();

        private Memory(Device device) {
            this.device = device;
        }

        int allocationsLeft() {
            return live.get();
        }

        @Override
        public Allocation allocate(long nbytes) {
            Arena arena = Arena.ofShared();
            live.incrementAndGet();
            return new Allocation(arena.allocate(nbytes, 256), Allocation.Sharing.PRIVATE, null, () -> {
                live.decrementAndGet();
                arena.close();
            });
        }

        @Override
        public Device device() {
            return device;
        }

        @Override
        public void toHost(MemorySegment source, MemorySegment target) {
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
