/// Opens files on web servers: `https` URIs given to `Checkpoint.open`.
module io.undercroft.http {
    requires static transitive org.jspecify;
    requires io.undercroft.serializer;
    requires java.net.http;

    provides io.undercroft.serializer.spi.StoreProvider with io.undercroft.http.internal.HttpProvider;
}
