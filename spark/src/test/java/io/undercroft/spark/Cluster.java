package io.undercroft.spark;

import java.nio.file.Path;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;

/// The session of all tests: a cluster of two executors, each a process with one core. It is stopped after the last test.
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
    public void beforeAll(ExtensionContext context) {
        context.getRoot().getStore(Namespace.GLOBAL).getOrComputeIfAbsent(Session.class, _ -> new Session(start()),
                Session.class);
    }

    private static SparkSession start() {
        return SparkSession.builder().appName("tests").master("local-cluster[2,1,1024]")
                .config("spark.executor.memory", "640m")
                .config("spark.executor.extraClassPath", System.getProperty("java.class.path"))
                .config("spark.executor.extraJavaOptions", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
                        + " -XX:ActiveProcessorCount=1")
                .config("spark.ui.enabled", "false")
                .config("spark.sql.shuffle.partitions", "2")
                .config("spark.sql.warehouse.dir", Path.of("target", "warehouse").toUri().toString())
                .getOrCreate();
    }

    static SparkSession session() {
        return SparkSession.active();
    }

    /// {@return the processes of the executors}
    static List<ProcessHandle> executors() {
        return ProcessHandle.current().descendants()
                .filter(process -> process.info().arguments().filter(all -> List.of(all).contains(EXECUTOR))
                        .isPresent())
                .toList();
    }
}
