package io.undercroft.benchmarks.jmh;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.Collection;
import java.util.List;
import javax.management.JMException;
import javax.management.ObjectName;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/// Counts the objects that one operation allocates: those that the heap has more of after many operations, dead or
/// alive, as long as no garbage was collected meanwhile. What compiled code does not allocate is not counted.
public final class ObjectCount implements InternalProfiler {
    /// The name of the result, in objects an operation.
    public static final String RESULT = "objects";

    private long objects;
    private long collections;

    @Override
    public String getDescription() {
        return "objects that one operation allocates";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        // The heap as it is now would be full too soon.
        System.gc();
        collections = collections();
        objects = objectsInHeap();
    }

    @Override
    public Collection<? extends Result<?>> afterIteration(BenchmarkParams benchmark, IterationParams iteration,
            IterationResult result) {
        long allocated = objectsInHeap() - objects;
        if (collections() != collections) {
            throw new IllegalStateException("garbage was collected, so that objects cannot be counted");
        }
        double each = allocated / (double) result.getMetadata().getMeasuredOps();
        return List.of(new ScalarResult(RESULT, each, "#/op", AggregationPolicy.AVG));
    }

    /// The last line of the histogram is `Total`, the number of objects and their bytes.
    private static long objectsInHeap() {
        try {
            var diagnosticCommand = new ObjectName("com.sun.management:type=DiagnosticCommand");
            Object[] includingGarbage = {new String[]{"-all"}};
            String[] signature = {String[].class.getName()};
            String histogram = (String) ManagementFactory.getPlatformMBeanServer().invoke(diagnosticCommand,
                    "gcClassHistogram", includingGarbage, signature);
            String total = histogram.substring(histogram.lastIndexOf("Total"));
            return Long.parseLong(total.split("\\s+", 3)[1]);
        } catch (JMException e) {
            throw new IllegalStateException("this JVM does not tell how many objects it has", e);
        }
    }

    private static long collections() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream()
                .mapToLong(GarbageCollectorMXBean::getCollectionCount).sum();
    }
}
