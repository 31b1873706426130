package io.undercroft.benchmarks;

import io.undercroft.benchmarks.jmh.ObjectCount;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.regex.Pattern;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/// Runs methods that JMH measures, each time in a new JVM with the flags of this one.
///
/// JMH itself would run one method to its end before it starts the next. Here, a run is one short fork, so that the
/// rounds of [Rounds] go through all contenders, Python's among them.
///
/// @param each how long a fork warms up, and then how long it measures
record Jmh(Duration each) {
    private static final int OPERATIONS = 100_000;
    private static final int WARM_UPS = 20;
    private static final String ROOM_FOR_GARBAGE = "-Xmn512m";

    /// A method as a contender. Its seconds are those of one operation, on average.
    ///
    /// @param name what the contender is called
    /// @param type the class of the method
    /// @param method its name
    /// @param parameters values for the class's parameters
    Contender contender(String name, Class<?> type, String method, Map<String, String> parameters) {
        return new Contender(name, () -> {
            TimeValue time = TimeValue.milliseconds(each.toMillis());
            RunResult result = run(options(type, method, parameters).warmupIterations(1).warmupTime(time)
                    .measurementIterations(1).measurementTime(time));
            return new Contender.Outcome(result.getPrimaryResult().getScore(), 0);
        });
    }

    /// Measures the memory that one operation of a method allocates once it is compiled.
    ///
    /// @param type the class of the method
    /// @param method its name
    /// @throws IOException if it cannot be run
    Allocated allocated(Class<?> type, String method) throws IOException {
        RunResult result = run(options(type, method, Map.of()).mode(Mode.SingleShotTime).warmupBatchSize(OPERATIONS)
                .warmupIterations(WARM_UPS).measurementBatchSize(OPERATIONS).measurementIterations(1)
                .addProfiler(ObjectCount.class).addProfiler(GCProfiler.class)
                .jvmArgsAppend(ROOM_FOR_GARBAGE));
        return new Allocated(secondary(result, ObjectCount.RESULT) / OPERATIONS,
                secondary(result, "gc.alloc.rate.norm") / OPERATIONS);
    }

    /// Measures the time and the allocations of one operation together.
    ///
    /// @param type the class of the method
    /// @param method its name
    /// @param parameters values for the class's parameters
    /// @param rounds the number of measured iterations
    /// @throws IOException if it cannot be run
    Rate rate(Class<?> type, String method, Map<String, String> parameters, int rounds) throws IOException {
        TimeValue time = TimeValue.milliseconds(each.toMillis());
        RunResult result = run(options(type, method, parameters).warmupIterations(rounds).warmupTime(time)
                .measurementIterations(rounds).measurementTime(time).addProfiler(GCProfiler.class));
        return new Rate(result.getPrimaryResult().getScore(), secondary(result, "gc.alloc.rate.norm"),
                secondary(result, "gc.alloc.rate"));
    }

    /// @param seconds the time of one operation, on average
    /// @param nbytes how many bytes it allocates on the heap, on average
    /// @param mebibytes how many MiB are allocated in a second
    record Rate(double seconds, double nbytes, double mebibytes) {}

    /// @param objects how many objects, on average
    /// @param nbytes how many bytes, on average
    record Allocated(double objects, double nbytes) {}

    private static ChainedOptionsBuilder options(Class<?> type, String method, Map<String, String> parameters) {
        var options = new OptionsBuilder().include("^" + Pattern.quote(type.getName() + "." + method) + "$").forks(1)
                .verbosity(VerboseMode.SILENT).shouldFailOnError(true);
        parameters.forEach(options::param);
        return options;
    }

    private static RunResult run(ChainedOptionsBuilder options) throws IOException {
        try {
            return new Runner(options.build()).runSingle();
        } catch (RunnerException e) {
            for (Throwable failure : e.getSuppressed()) {
                failure.printStackTrace();
            }
            throw new IOException("JMH failed: " + e.getMessage(), e);
        }
    }

    private static double secondary(RunResult result, String name) {
        Result<?> found = result.getSecondaryResults().get(name);
        if (found == null) {
            throw new IllegalStateException("JMH tells " + result.getSecondaryResults().keySet() + ", not " + name);
        }
        return found.getScore();
    }
}
