package io.undercroft.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;

/// The session of all tests: a cluster of two executors, each a process with one core. It is stopped after the last
/// test.
public final class Cluster implements BeforeAllCallback {
    private static final String EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend";

    /// Closed by JUnit after all tests.
    private record Session(SparkSession spark) implements AutoCloseable {
        @Override
        public void close() {
            spark.stop();
        }
    }

    @Override
    public void beforeAll(ExtensionContext context) throws IOException {
        // Spark wants to see the directory of its jars, which are on the class path here.
        Files.createDirectories(Path.of(System.getenv("SPARK_HOME"), "jars"));
        context.getRoot().getStore(Namespace.GLOBAL).getOrComputeIfAbsent(Session.class, _ -> new Session(start()),
                Session.class);
    }

    private static SparkSession start() {
        return SparkSession.builder().appName("tests").master("local-cluster[2,1,1024]")
                .config("spark.executor.memory", "640m")
                .config("spark.executor.extraClassPath", System.getProperty("java.class.path"))
                .config("spark.executor.extraJavaOptions", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
                        + " -XX:ActiveProcessorCount=1")
                // An executor keeps the file system of the first job, and with it the configuration of that job.
                .config("spark.hadoop.fs.AbstractFileSystem.count.impl", CountingFileContext.class.getName())
                .config("spark.ui.enabled", "false")
                .config("spark.sql.shuffle.partitions", "2")
                // Queries of a few rows are interpreted in less time than it takes to compile them.
                .config("spark.sql.codegen.wholeStage", "false")
                .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
                .config("spark.sql.warehouse.dir", Path.of("target", "warehouse").toUri().toString())
                .getOrCreate();
    }

    /// {@return the process of an executor} Linux only: the JDK does not return such long command lines.
    ///
    /// @param id its id in Spark
    static Optional<ProcessHandle> executor(String id) {
        return ProcessHandle.current().descendants().filter(process -> {
            List<String> all = commandLine(process);
            return all.contains(EXECUTOR) && all.get(all.indexOf("--executor-id") + 1).equals(id);
        }).findFirst();
    }

    private static List<String> commandLine(ProcessHandle process) {
        try {
            return List.of(Files.readString(Path.of("/proc", process.pid() + "", "cmdline")).split("\0"));
        } catch (IOException _) {
            // It has ended.
            return List.of();
        }
    }
}
