package io.undercroft.storage.spi;

import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.Device;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;

/// The memory of one device that the host cannot read or write directly.
///
/// The addresses and sizes of the segments of its allocations are those on the device. The host never accesses them,
/// but passes them, or slices of them, back to the methods here. All methods return when the bytes are in place, and
/// throw [IllegalStateException] if the device fails. Mapped bytes of the host were found to be readable immediately
/// before they are passed to these methods. An allocation that is freed while its bytes are copied stays until the copy
/// has ended; bytes that were freed before are refused. Instances are safe for use by several threads.
public interface DeviceMemory extends Allocator {
    /// {@return the device, with its index}
    @Override
    Device device();

    /// Allocates bytes that the caller overwrites completely before they are read. By default they are zeroed.
    ///
    /// @param nbytes how many bytes, 0 or more
    /// @return an allocation of exactly that size
    default Allocation allocateUninitialized(long nbytes) {
        return allocate(nbytes);
    }

    /// {@return whether an allocation failed because too few bytes of the device are free} Loading a file then throws
    /// an [OutOfMemoryError] that names the file and has the failure as its cause. The message of the failure says how
    /// many bytes were free, if that is known.
    ///
    /// @param failure what [#allocate] or [#allocateUninitialized] threw
    default boolean isOutOfMemory(Throwable failure) {
        return failure instanceof OutOfMemoryError;
    }

    /// {@return an allocator of memory on this device that other processes can open, or empty if there is none} Its
    /// allocations are [shared][Allocation.Sharing#SHARED], and have an [Allocation.Origin] with their location.
    default Optional<Allocator> shared() {
        return Optional.empty();
    }

    /// Copies from the device to the host.
    ///
    /// @param source on this device
    /// @param target on the host, of the same size
    void toHost(MemorySegment source, MemorySegment target);

    /// Copies from the host to the device.
    ///
    /// @param source on the host
    /// @param target on this device, of the same size
    void fromHost(MemorySegment source, MemorySegment target);

    /// Copies within the device; the two may overlap.
    ///
    /// @param source on this device
    /// @param target on this device, of the same size
    void copy(MemorySegment source, MemorySegment target);

    /// Copies from another device to this one. By default, the bytes pass through a host buffer of bounded size.
    ///
    /// @param other the memory of the other device
    /// @param source on the other device
    /// @param target on this device, of the same size
    default void copyFrom(DeviceMemory other, MemorySegment source, MemorySegment target) {
        other.download(source, (offset, from) -> fromHost(from, target.asSlice(offset, from.byteSize())));
    }

    /// Sets all bytes to one value.
    ///
    /// @param target on this device
    /// @param value the value
    void fill(MemorySegment target, byte value);

    /// Copies bytes that are not in memory of the host yet, such as those of a file. They pass through host buffers of
    /// bounded size that belong to the device. A device may read several parts at the same time, and copy one part
    /// while it reads another.
    ///
    /// By default, one thread reads and copies part after part.
    ///
    /// @param uploads what to copy, in the order in which it is best read
    /// @throws RuntimeException what a reader threw; no reader runs any more by then
    default void upload(List<Upload> uploads) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(DefaultTransfer.bufferSize(uploads), DefaultTransfer.ALIGNMENT);
            for (Upload upload : uploads) {
                DefaultTransfer.forEachPart(upload.target, buffer, (offset, part, target) -> {
                    upload.source.read(offset, part);
                    fromHost(part, target);
                });
            }
        }
    }

    /// Copies bytes to where the host consumes them part by part, such as a file. They pass through host buffers of
    /// bounded size that belong to the device. The parts are consumed one after the other, in ascending order, by the
    /// calling thread.
    ///
    /// @param source on this device
    /// @param target consumes the parts
    /// @throws RuntimeException what the consumer threw
    default void download(MemorySegment source, HostWriter target) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(DefaultTransfer.bufferSize(source), DefaultTransfer.ALIGNMENT);
            DefaultTransfer.forEachPart(source, buffer, (offset, part, from) -> {
                toHost(from, part);
                target.write(offset, part);
            });
        }
    }

    /// One run of bytes to copy to the device.
    ///
    /// @param target on the device
    /// @param source supplies the bytes
    record Upload(MemorySegment target, HostReader source) {}

    /// Supplies bytes part by part.
    @FunctionalInterface
    interface HostReader {
        /// Reads bytes into a buffer. Called by several threads at the same time, for parts that do not overlap, and
        /// for each byte once.
        ///
        /// @param offset the first byte, counted from the start of the upload
        /// @param into a buffer of the host; all of it is to be filled
        void read(long offset, MemorySegment into);
    }

    /// Consumes bytes part by part.
    @FunctionalInterface
    interface HostWriter {
        /// Consumes bytes. The buffer must not be used after the call.
        ///
        /// @param offset the first byte, counted from the start of the download
        /// @param from the bytes, in a buffer of the host
        void write(long offset, MemorySegment from);
    }
}
