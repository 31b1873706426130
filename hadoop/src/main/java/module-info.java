/// Opens and saves files on HDFS and object stores by the client of Hadoop: `hdfs`, `s3a` and other URIs given to
/// `Checkpoint.open` and `Checkpoint.save`.
module io.undercroft.hadoop {
    requires static transitive org.jspecify;
    requires transitive io.undercroft.serializer;
    requires static transitive hadoop.client.api;

    exports io.undercroft.hadoop;

    provides io.undercroft.serializer.spi.StoreProvider with io.undercroft.hadoop.internal.HadoopProvider;
}
