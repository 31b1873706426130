/// File mappings and shared memory. Needs native access: `--enable-native-access=io.undercroft.mmap`.
module io.undercroft.mmap {
    requires static transitive org.jspecify;
    requires transitive io.undercroft.storage;

    exports io.undercroft.mmap;
    exports io.undercroft.mmap.spi;

    uses io.undercroft.mmap.spi.SharedDeviceMemory;

    provides io.undercroft.storage.spi.MemoryProvider with io.undercroft.mmap.internal.HostMemory;
}
