import io.undercroft.spark.Jobs;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.SparkSession;

/// The driver of a cluster on this machine, started from its source: runs a job for each line that it reads, words
/// separated by tabs, and prints `ok` and how many seconds the job took. Arguments: the number of executors, each with
/// one core, and further options of theirs.
class SparkDriver {
    public static void main(String[] arguments) throws Exception {
        SparkSession spark = SparkSession.builder().appName("benchmark")
                .master("local-cluster[" + arguments[0] + ",1,1024]")
                .config("spark.executor.memory", "512m")
                .config("spark.executor.extraClassPath", System.getProperty("java.class.path"))
                .config("spark.executor.extraJavaOptions", arguments[1])
                .config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
                .getOrCreate();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream());
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            long start = System.nanoTime();
            int code = Jobs.run(spark, nowhere, System.err, line.split("\t"));
            double seconds = (System.nanoTime() - start) / 1e9;
            System.out.println(code == 0 ? "ok\t" + seconds + "\t0" : "error\tthe job failed, see above");
        }
        spark.stop();
    }
}
