package io.undercroft.interop;

import io.undercroft.storage.Allocation;
import io.undercroft.storage.Device;
import io.undercroft.storage.spi.DeviceMemory;
import io.undercroft.storage.spi.MemoryProvider;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/// A device for tests, `xpu:0`, whose memory is really the host's.
public final class PretendDevice implements MemoryProvider {
    /// The only one there is.
    public static final Device DEVICE = new Device("xpu", 0);
    /// How many bytes were brought to the host, each time. Cleared by whoever asks.
    public static final Queue<Long> FETCHED = new ConcurrentLinkedQueue<>();

    @Override
    public Optional<DeviceMemory> device(Device device) {
        return device.equals(DEVICE) ? Optional.of(new Memory()) : Optional.empty();
    }

    private static final class Memory implements DeviceMemory {
        @Override
        public Allocation allocate(long nbytes) {
            return Allocation.collected(Arena.ofAuto().allocate(nbytes));
        }

        @Override
        public Device device() {
            return DEVICE;
        }

        @Override
        public void toHost(MemorySegment source, MemorySegment target) {
            FETCHED.add(source.byteSize());
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
