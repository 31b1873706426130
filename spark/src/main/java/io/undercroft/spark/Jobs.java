package io.undercroft.spark;

import io.undercroft.spark.internal.jobs.JobRunner;
import java.io.PrintStream;
import java.util.List;
import org.apache.spark.sql.SparkSession;

/// Jobs over many files, for `spark-submit`: convert, verify, diff, dedup and compact.
///
/// ```
/// spark-submit --class io.undercroft.spark.Jobs undercroft-spark.jar verify /data/checkpoints
/// ```
///
/// A job prints a line for each file with which something is wrong and a summary, and exits with the codes of `croft`:
/// 0 for success, 1 for a failure, 2 for a wrong command line or a file that is refused, 3 for one that is missing or
/// not readable, 4 for damage, 5 for differences; the code of the most severe result if files have several.
public final class Jobs {
    private Jobs() {}

    /// Runs a job in the session of `spark-submit`, and exits.
    ///
    /// @param arguments the verb and its arguments
    public static void main(String[] arguments) {
        SparkSession spark = SparkSession.builder().appName("croft " + String.join(" ", arguments)).getOrCreate();
        int code;
        try {
            code = run(spark, System.out, System.err, arguments);
        } finally {
            spark.stop();
        }
        if (code != 0) {
            System.exit(code);
        }
    }

    /// Runs a job in a session, and does not exit.
    ///
    /// @param spark the session
    /// @param out receives results
    /// @param err receives errors
    /// @param arguments the verb and its arguments
    /// @return the exit code
    public static int run(SparkSession spark, PrintStream out, PrintStream err, String... arguments) {
        return new JobRunner(spark, out, err).run(List.of(arguments));
    }
}
