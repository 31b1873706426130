package io.undercroft.interop.torch;

import io.undercroft.storage.Allocation;
import io.undercroft.storage.Device;
import io.undercroft.storage.spi.DeviceMemory;
import io.undercroft.storage.spi.MemoryProvider;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;

/// A device for tests, `xpu:0`, whose memory is really the host's.
public final class PretendDevice implements MemoryProvider {
    static final Device DEVICE = new Device("xpu", 0);
    /// The most bytes that were brought to the host at once.
    static final AtomicLong LARGEST_COPY = new AtomicLong();

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
            LARGEST_COPY.accumulateAndGet(source.byteSize(), Math::max);
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
