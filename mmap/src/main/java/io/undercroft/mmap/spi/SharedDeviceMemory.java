package io.undercroft.mmap.spi;

import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedStorageHandle;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.util.Optional;

/// Shares the memory of a type of device between processes. Loaded by [java.util.ServiceLoader].
///
/// The process that shares memory writes a record of it to a named segment of shared memory, which it holds until it
/// has freed the memory. The [origin][io.undercroft.storage.Allocation#origin] of the memory is a [SharedStorageHandle]
/// of [SharedStorageHandle.Home#DEVICE] with that name and the identity of the record. Processes that have the memory
/// open hold the record too, so that the first process can find by [SharedMemory#registered] when it may free the
/// memory. Implementations are thread-safe.
public interface SharedDeviceMemory {
    /// Called when a handle is made. A process that opens the handle must see the results of all operations that were
    /// submitted to the device before. Does nothing for other types of devices.
    ///
    /// @param storage a shared storage on a device
    /// @throws IllegalStateException if the device fails
    void handOver(Storage storage);

    /// Opens the memory of a record.
    ///
    /// @param record the record, which is held until the method returns; [SharedMemory#retain] holds it longer
    /// @param handle a handle to all of the memory, which becomes the origin of the storage
    /// @return the storage, with one reference; empty if the record is of another type of device
    /// @throws IOException if the memory was freed
    /// @throws IllegalStateException if the device is missing or fails
    Optional<Storage> open(SharedMemory record, SharedStorageHandle handle) throws IOException;
}
