/// What the jar of Kryo lacks: jlink links explicit modules only.
module com.esotericsoftware.kryo {
    requires com.esotericsoftware.minlog;
    requires com.esotericsoftware.reflectasm;
    requires transitive org.objenesis;
    requires transitive jdk.unsupported;
    requires static java.desktop;
    requires static java.sql;

    exports com.esotericsoftware.kryo;
    exports com.esotericsoftware.kryo.io;
    exports com.esotericsoftware.kryo.serializers;
    exports com.esotericsoftware.kryo.unsafe;
    exports com.esotericsoftware.kryo.util;
}
