package io.undercroft.hadoop;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/// A cluster of HDFS with three datanodes and small blocks, one for all tests of a JVM.
final class Hdfs {
    static final int DATANODES = 3;
    static final long BLOCK = 1 << 20;

    private static final MiniDFSCluster CLUSTER = start();

    private Hdfs() {}

    private static MiniDFSCluster start() {
        try {
            Path folder = Files.createTempDirectory("undercroft-hdfs");
            Configuration configuration = new Configuration();
            configuration.set("hdfs.minidfs.basedir", folder.toString());
            configuration.setLong("dfs.blocksize", BLOCK);
            configuration.setBoolean("dfs.namenode.edits.noeditlogchannelflush", true);
            MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration).numDataNodes(DATANODES).build();
            Runtime.getRuntime().addShutdownHook(new Thread(() -> end(cluster, folder)));
            cluster.waitActive();
            return cluster;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void end(MiniDFSCluster cluster, Path folder) {
        cluster.shutdown();
        try (var files = Files.walk(folder)) {
            files.sorted(java.util.Comparator.reverseOrder()).map(Path::toFile).forEach(java.io.File::delete);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static MiniDFSCluster cluster() {
        return CLUSTER;
    }

    static FileSystem fileSystem() throws IOException {
        return CLUSTER.getFileSystem();
    }

    static URI uri(String path) {
        return URI.create(CLUSTER.getURI().toString() + path);
    }
}
