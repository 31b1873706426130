/// Storages as arrays of other libraries, each of which a program adds if it uses its class.
module io.undercroft.adapters {
    requires static transitive org.jspecify;
    requires transitive io.undercroft.storage;
    requires static transitive ai.djl.api;
    requires static transitive com.microsoft.onnxruntime;
    requires static transitive org.apache.arrow.memory.core;
    requires static transitive org.apache.arrow.vector;
    requires static transitive chronicle.bytes;
    requires static chronicle.core;
    requires static transitive com.esotericsoftware.kryo;
    requires static transitive io.undercroft.serializer;
    requires static io.undercroft.mmap;

    exports io.undercroft.adapters;
}
