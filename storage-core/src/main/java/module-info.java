/// Storages and tensors in memory.
module io.undercroft.storage {
    requires static transitive org.jspecify;

    exports io.undercroft.storage;
    exports io.undercroft.storage.spi;

    uses io.undercroft.storage.spi.MemoryProvider;
}
