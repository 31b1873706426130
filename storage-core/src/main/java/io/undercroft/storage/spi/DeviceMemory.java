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
/// The segments of its allocations have addresses on the device. The host never accesses them, but passes them, or
/// slices of them, to the methods of this interface. All methods return after the bytes were copied, and throw
/// [IllegalStateException] if the device fails or the bytes were freed before. Callers check that mapped bytes of the
/// host are readable immediately before they pass them. An allocation that is freed during a copy is released after the
/// copy has ended. Instances are thread-safe.
public interface DeviceMemory extends Allocator {
    /// {@return the device, with its index}
    @Override
    Device device();

    /// Allocates bytes that the caller overwrites completely before they are read. By default, they are zeroed.
    ///
    /// @param nbytes the size in bytes, 0 or more
    /// @return an allocation of exactly that size
    default Allocation allocateUninitialized(long nbytes) {
        return allocate(nbytes);
    }

    /// {@return whether an allocation failed because the device does not have enough free memory} A load of a file then
    /// throws an [OutOfMemoryError] that names the file and has the failure as its cause.
    ///
    /// @param failure the exception of [#allocate] or [#allocateUninitialized]
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

    /// Copies within the device. The segments may overlap.
    ///
    /// @param source on this device
    /// @param target on this device, of the same size
    void copy(MemorySegment source, MemorySegment target);

    /// Copies from another device to this one. By default, the bytes are copied through a host buffer of bounded size.
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

    /// Copies bytes that are not in host memory, such as those of a file, to the device. They are copied in parts
    /// through host buffers of bounded size, which belong to the device. A device may read several parts concurrently,
    /// and copy one part while it reads another.
    ///
    /// By default, the calling thread reads and copies one part after the other.
    ///
    /// @param uploads the bytes to copy, in the order in which they should be read
    /// @throws RuntimeException the exception of a reader, after all readers have ended
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

    /// Copies bytes of the device to a consumer, such as a writer of a file. They are copied in parts through host
    /// buffers of bounded size, which belong to the device. The calling thread consumes the parts one after the other,
    /// in ascending order.
    ///
    /// @param source on this device
    /// @param target the consumer of the parts
    /// @throws RuntimeException the exception of the consumer
    default void download(MemorySegment source, HostWriter target) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(DefaultTransfer.bufferSize(source), DefaultTransfer.ALIGNMENT);
            DefaultTransfer.forEachPart(source, buffer, (offset, part, from) -> {
                toHost(from, part);
                target.write(offset, part);
            });
        }
    }

    /// A range of bytes to copy to the device.
    ///
    /// @param target the bytes on the device
    /// @param source the source of the bytes
    record Upload(MemorySegment target, HostReader source) {}

    /// A source of bytes that are read in parts.
    @FunctionalInterface
    interface HostReader {
        /// Reads bytes into a buffer. Called by several threads concurrently, for parts that do not overlap, once for
        /// each byte.
        ///
        /// @param offset the offset of the first byte in the upload
        /// @param into a buffer of the host, which the reader must fill
        void read(long offset, MemorySegment into);
    }

    /// A consumer of bytes that are written in parts.
    @FunctionalInterface
    interface HostWriter {
        /// Consumes bytes. The buffer must not be used after the call.
        ///
        /// @param offset the offset of the first byte in the download
        /// @param from the bytes, in a buffer of the host
        void write(long offset, MemorySegment from);
    }
}
