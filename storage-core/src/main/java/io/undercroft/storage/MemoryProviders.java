package io.undercroft.storage;

import io.undercroft.storage.spi.DeviceMemory;
import io.undercroft.storage.spi.MemoryProvider;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// The providers of memory in other modules, or a message that names the missing module.
final class MemoryProviders {
    private static final List<MemoryProvider> ALL = ServiceLoader
            .load(MemoryProvider.class, MemoryProvider.class.getClassLoader()).stream()
            .map(ServiceLoader.Provider::get).toList();

    private static final ConcurrentMap<Device, DeviceMemory> DEVICES = new ConcurrentHashMap<>();

    private MemoryProviders() {}

    private static Allocator shared() {
        return first(MemoryProvider::shared).orElseThrow(() -> new IllegalStateException(
                "there is no shared memory here; it needs undercroft-mmap, Linux, and "
                        + "--enable-native-access=ALL-UNNAMED (on the module path io.undercroft.mmap)"));
    }

    /// Memory of a device that other processes can open.
    static Allocator shared(Device device) {
        return device.isCpu()
                ? shared()
                : device(device).shared().orElseThrow(() -> new IllegalStateException("there is no shared memory on "
                        + device + "; copy what is to be shared with cpu()"));
    }

    /// Large memory off the heap, as of [MemoryProvider#collected].
    static Optional<MemorySegment> collected(long nbytes) {
        return first(provider -> provider.collected(nbytes));
    }

    static Allocator pinned() {
        return first(MemoryProvider::pinned).orElseThrow(MemoryProviders::noPinnedMemory);
    }

    /// Pins bytes where they are, as of [MemoryProvider#pinInPlace].
    static Runnable pinInPlace(MemorySegment bytes, Runnable unpinned) {
        return first(provider -> provider.pinInPlace(bytes, unpinned)).orElseThrow(MemoryProviders::noPinnedMemory);
    }

    private static IllegalStateException noPinnedMemory() {
        return new IllegalStateException(
                "there is no pinned memory here; it needs undercroft-cuda on the class path and a CUDA device");
    }

    static DeviceMemory device(Device device) {
        return DEVICES.computeIfAbsent(device, MemoryProviders::find);
    }

    private static DeviceMemory find(Device device) {
        return first(provider -> provider.device(device)).orElseThrow(() -> new IllegalStateException(
                "there is no device " + device + " here, only " + available()
                        + "; cuda devices need undercroft-cuda on the class path and NVIDIA's driver"));
    }

    private static String available() {
        return Stream.concat(Stream.of(Device.CPU), ALL.stream().flatMap(provider -> provider.devices().stream()))
                .map(Device::toString).collect(Collectors.joining(", "));
    }

    /// Returns the exception for mapped bytes that cannot be read any more.
    static Optional<RuntimeException> lost(MemorySegment segment) {
        return first(provider -> provider.lost(segment));
    }

    private static <T> Optional<T> first(Function<MemoryProvider, Optional<T>> question) {
        return ALL.stream().map(question).flatMap(Optional::stream).findFirst();
    }
}
