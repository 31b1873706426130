package io.undercroft.serializer.internal.loading;

import io.undercroft.serializer.internal.BinarySearch;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.spi.DeviceMemory.HostReader;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/// The bytes of one storage of a file, for a device.
public sealed interface DeviceContent {
    /// Bytes that are in files as they are in memory. Used for one upload.
    ///
    /// @param input the bytes
    /// @param runs the runs of which there are checksums, in order
    /// @param end the action when all bytes are on the device
    record Stored(PieceInput input, List<RunChecksum> runs, End end) implements DeviceContent, HostReader {
        @Override
        public void read(long offset, MemorySegment into) {
            input.read(offset, into);
            long end = offset + into.byteSize();
            for (int i = firstEndingBehind(offset); i < runs.size() && runs.get(i).start() < end; i++) {
                runs.get(i).add(offset, into);
            }
        }

        private int firstEndingBehind(long offset) {
            return BinarySearch.first(runs.size(), i -> runs.get(i).end() > offset);
        }

        Allocation finish(Allocation bytes) {
            List<Integer> damaged = IntStream.range(0, runs.size())
                    .filter(i -> !runs.get(i).matches()).boxed().toList();
            return end.finish(damaged, bytes);
        }
    }

    /// Bytes that are decoded in memory of the host.
    ///
    /// @param decoder makes them
    record Decoded(Supplier<Allocation> decoder) implements DeviceContent {}

    /// The action when all bytes are on the device.
    @FunctionalInterface
    interface End {
        /// Accepts or refuses the bytes.
        ///
        /// @param damaged the numbers of the runs whose checksums do not match
        /// @param bytes the bytes on the device, which belong to the callee
        /// @return the bytes of the storage
        /// @throws RuntimeException if they are damaged
        Allocation finish(List<Integer> damaged, Allocation bytes);
    }
}
