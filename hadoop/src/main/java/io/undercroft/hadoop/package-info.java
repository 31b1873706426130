/// Checkpoints on HDFS, S3 and other stores that the client of Hadoop reads and writes.
///
/// With this module and a client of Hadoop on the class path,
/// [Checkpoint.open][io.undercroft.serializer.Checkpoint#open(java.net.URI)] and
/// [Checkpoint.save][io.undercroft.serializer.Checkpoint#save(java.net.URI, Object)] take URIs such as
/// `hdfs://namenode/models/a.croft` and `s3a://bucket/a.croft`. The client is configured as in every program that uses
/// Hadoop: by `core-site.xml` on the class path or in the directory that `HADOOP_CONF_DIR` names. Programs that make a
/// [org.apache.hadoop.fs.FileSystem] of their own pass it to [io.undercroft.hadoop.HadoopFiles].
///
/// On the module path, `hadoop-client-api` and `hadoop-client-runtime` are automatic modules, which have no packages in
/// common; a program requires `io.undercroft.hadoop` and nothing else of them.
@NullMarked
package io.undercroft.hadoop;

import org.jspecify.annotations.NullMarked;
