/// Opens and saves checkpoints.
///
/// A module whose classes are saved (`StateClasses`) opens their packages to `io.undercroft.serializer`.
// The command is compiled later.
@SuppressWarnings("module")
module io.undercroft.serializer {
    requires static transitive org.jspecify;
    requires transitive io.undercroft.format;
    requires transitive io.undercroft.storage;
    requires transitive io.undercroft.mmap;
    // For objects of classes without a constructor that has no parameters, and for I/O past the page cache.
    requires jdk.unsupported;

    exports io.undercroft.serializer;
    exports io.undercroft.serializer.spi;
    exports io.undercroft.serializer.state;
    exports io.undercroft.serializer.internal.analysis to io.undercroft.cli;
    exports io.undercroft.serializer.internal.tree to io.undercroft.cli, io.undercroft.interop;

    uses io.undercroft.serializer.spi.CheckpointFormat;
    uses io.undercroft.serializer.spi.StoreProvider;
}
