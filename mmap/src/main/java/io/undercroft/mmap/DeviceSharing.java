package io.undercroft.mmap;

import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.mmap.spi.SharedDeviceMemory;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;

/// Memory of devices that processes share, by the modules that provide it.
final class DeviceSharing {
    private static final List<SharedDeviceMemory> ALL = ServiceLoader
            .load(SharedDeviceMemory.class, SharedDeviceMemory.class.getClassLoader()).stream()
            .map(ServiceLoader.Provider::get).toList();

    private DeviceSharing() {}

    static void handOver(Storage storage) {
        ALL.forEach(each -> each.handOver(storage));
    }

    /// Opens all memory that a handle is to.
    static Storage open(SharedStorageHandle handle) throws IOException {
        try (SharedMemory memory = attach(handle)) {
            for (SharedDeviceMemory each : ALL) {
                Optional<Storage> opened = each.open(memory, handle);
                if (opened.isPresent()) {
                    return opened.get();
                }
            }
        }
        throw new SharedMemoryException(Reason.UNSUPPORTED, handle
                + " cannot be opened: no module here knows the device; CUDA devices need undercroft-cuda on the class "
                + "path", null);
    }

    private static SharedMemory attach(SharedStorageHandle handle) throws SharedMemoryException {
        SharedMemory there;
        try {
            there = SharedMemory.attach(handle.name(), MapMode.READ_ONLY, TrustedOwner.ANYBODY);
        } catch (SharedMemoryException e) {
            throw e.reason() == Reason.NOT_FOUND ? gone(handle, e) : e;
        }
        if (there.identity().orElse(0) != handle.identity()) {
            there.close();
            throw gone(handle, null);
        }
        return there;
    }

    private static SharedMemoryException gone(SharedStorageHandle handle, @Nullable Throwable cause) {
        return new SharedMemoryException(Reason.NOT_FOUND,
                handle + " cannot be opened: the storage was released, or the "
                        + "process that shared it has ended; ask for a new handle",
                cause);
    }
}
