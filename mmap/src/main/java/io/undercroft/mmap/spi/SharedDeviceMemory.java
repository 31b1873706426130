package io.undercroft.mmap.spi;

import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedStorageHandle;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.util.Optional;

/// Shares the memory of some kind of device between processes. Found by [java.util.ServiceLoader].
///
/// The process that shares memory writes a record of it into shared memory with a name, which it holds until it has
/// freed the memory. The [origin][io.undercroft.storage.Allocation#origin] of the memory is a [SharedStorageHandle] of
/// [SharedStorageHandle.Home#DEVICE] with that name and the identity of the record. Processes that have the memory open
/// hold the record too, so that [SharedMemory#registered] shows the first one when it may free the memory.
/// Implementations are safe for use by several threads.
public interface SharedDeviceMemory {
    /// Called when a handle is made: a process that opens it must see what was submitted to the device before. Does
    /// nothing for other kinds of devices.
    ///
    /// @param storage a shared storage on a device
    /// @throws IllegalStateException if the device fails
    void handOver(Storage storage);

    /// Opens the memory of a record.
    ///
    /// @param record the record, held until this returns; [SharedMemory#retain] holds it longer
    /// @param handle a handle to all of the memory, the origin of what is opened
    /// @return the storage, with one reference; nothing if the record is of another kind of device
    /// @throws IOException if the memory is gone
    /// @throws IllegalStateException if the device is not here, or fails
    Optional<Storage> open(SharedMemory record, SharedStorageHandle handle) throws IOException;
}
