/// The exception of all formats, and for named modules the codec of `.croft` files.
// These modules are compiled later.
@SuppressWarnings("module")
module io.undercroft.format {
    requires static transitive org.jspecify;
    requires com.dynatrace.hash4j;
    requires com.github.luben.zstd_jni;

    exports io.undercroft.format;
    exports io.undercroft.format.dump to io.undercroft.cli, io.undercroft.interop;
    exports io.undercroft.format.internal to io.undercroft.serializer;

    provides io.undercroft.format.dump.FormatDump with io.undercroft.format.dump.SetDump;
}
