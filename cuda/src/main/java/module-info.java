/// Storages on CUDA devices. Needs native access: `--enable-native-access=io.undercroft.cuda,jcuda`.
module io.undercroft.cuda {
    requires static transitive org.jspecify;
    requires transitive io.undercroft.storage;
    requires io.undercroft.mmap;
    requires jcuda;

    exports io.undercroft.cuda;

    provides io.undercroft.storage.spi.MemoryProvider with io.undercroft.cuda.internal.CudaProvider;
    provides io.undercroft.mmap.spi.SharedDeviceMemory with io.undercroft.cuda.internal.ImportedMemory;
}
