/// Storages and tensors in memory.
// These modules are compiled later.
@SuppressWarnings("module")
module io.undercroft.storage {
    requires static transitive org.jspecify;
    // For programs that record events.
    requires static jdk.jfr;

    exports io.undercroft.storage;
    exports io.undercroft.storage.spi;
    exports io.undercroft.storage.internal.support to
            io.undercroft.mmap, io.undercroft.serializer, io.undercroft.cuda, io.undercroft.cli;

    uses io.undercroft.storage.spi.MemoryProvider;
}
