/// File mappings and shared memory. Needs native access: `--enable-native-access=io.undercroft.mmap`.
// These modules are compiled later.
@SuppressWarnings("module")
module io.undercroft.mmap {
    requires static transitive org.jspecify;
    requires transitive io.undercroft.storage;
    requires jdk.management;

    exports io.undercroft.mmap;
    exports io.undercroft.mmap.spi;
    exports io.undercroft.mmap.internal.support to io.undercroft.cli, io.undercroft.hadoop, io.undercroft.http,
            io.undercroft.serializer;

    uses io.undercroft.mmap.spi.SharedDeviceMemory;

    provides io.undercroft.storage.spi.MemoryProvider with io.undercroft.mmap.internal.HostMemory;
}
