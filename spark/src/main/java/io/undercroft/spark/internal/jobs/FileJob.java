package io.undercroft.spark.internal.jobs;

import io.undercroft.format.FormatException;
import io.undercroft.spark.TensorReadException;
import io.undercroft.spark.internal.files.Bins;
import io.undercroft.spark.internal.files.DataFile;
import io.undercroft.spark.internal.jobs.FileResult.Status;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.sql.SparkSession;

/// Runs a task for each of many files. A file that fails does not fail the job; a machine that is lost does not either,
/// as Spark runs its tasks elsewhere.
final class FileJob {
    /// Bytes of the files of a task, which is repeated if its machine is lost.
    private static final long BYTES_OF_TASK = 1L << 30;
    private static final int TASKS_PER_CORE = 4;
    /// Codes of files that are not damaged, but of no format or version that is known, or need another file.
    private static final Set<String> UNREADABLE = Set.of("FORMAT-UNKNOWN", "V18-BASE", "V13-UNSUPPORTED");

    private FileJob() {}

    /// {@return the files, divided among tasks by their sizes}
    static JavaRDD<DataFile> perFile(SparkSession spark, List<DataFile> files) {
        JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
        List<List<DataFile>> bins = Bins.divide(files, DataFile::nbytes,
                TASKS_PER_CORE * context.defaultParallelism(), BYTES_OF_TASK);
        return context.parallelize(bins, Math.max(1, bins.size())).flatMap(List::iterator);
    }

    /// Runs a task for each file.
    ///
    /// @param spark the session
    /// @param files the files
    /// @param task what to do with each
    /// @return what became of each file, in the order of their URIs
    static List<FileResult> run(SparkSession spark, List<DataFile> files, FileTasks.Task task) {
        return perFile(spark, files).map(new Attempt(task)).collect().stream()
                .sorted((one, other) -> one.file().compareTo(other.file())).toList();
    }

    private record Attempt(FileTasks.Task task) implements Function<DataFile, FileResult> {
        @Override
        public FileResult call(DataFile file) {
            return attempt(file, task);
        }
    }

    /// Runs a task, and makes a result of its failure.
    static FileResult attempt(DataFile file, FileTasks.Task task) {
        try {
            return task.run(file);
        } catch (FormatException e) {
            return failed(file, UNREADABLE.contains(e.code()) ? Status.UNREADABLE : Status.DAMAGED, e);
        } catch (IllegalArgumentException | UnsupportedOperationException e) {
            return failed(file, Status.REFUSED, e);
        } catch (IOException | NoSuchElementException | UncheckedIOException e) {
            return failed(file, Status.UNREADABLE, e);
        } catch (RuntimeException | InternalError e) {
            return failed(file, Status.FAILED, e);
        }
    }

    private static FileResult failed(DataFile file, Status status, Throwable why) {
        return new FileResult(file.toString(), status, TensorReadException.describe(why), file.nbytes(), 0);
    }
}
