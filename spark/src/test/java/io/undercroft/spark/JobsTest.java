package io.undercroft.spark;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/// The jobs, run by two executors.
@ExtendWith(Cluster.class)
class JobsTest {
    private static final int KIBIBYTE = 1 << 10;

    @TempDir
    Path directory;

    /// The exit code and the output of a job.
    private record Ran(int code, String out, String err) {}

    private static Ran run(Object... arguments) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        int code = Jobs.run(SparkSession.active(), new PrintStream(out, true, UTF_8), new PrintStream(err, true, UTF_8),
                Stream.of(arguments).map(Object::toString).toArray(String[]::new));
        return new Ran(code, lines(out), lines(err));
    }

    private static String lines(ByteArrayOutputStream printed) {
        return printed.toString(UTF_8).replace(System.lineSeparator(), "\n");
    }

    /// Hadoop gives the path of a file as a URI has it, without a slash at the end.
    private static String uriPath(Path file) {
        String path = file.toUri().getRawPath();
        return path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
    }

    private Path in() {
        return directory.resolve("in");
    }

    private Path out() {
        return directory.resolve("out");
    }

    private static List<String> filesBelow(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            return files.filter(Files::isRegularFile).map(file -> directory.relativize(file).toString()).sorted()
                    .toList();
        }
    }

    @Test
    void aTreeIsConvertedOnceAndIsTheSameAfterwards() throws Exception {
        TestFiles.tree(in());

        Ran first = run("convert", in(), out());

        assertThat(first).isEqualTo(new Ran(0, "2 files, 2 ok\n", ""));
        assertThat(filesBelow(out())).containsExactly("a.croft", "sub/b.croft");
        FileTime written = Files.getLastModifiedTime(out().resolve("a.croft"));
        Files.setLastModifiedTime(in().resolve("sub/b.safetensors"), FileTime.from(Instant.now().plusSeconds(5)));
        assertThat(run("convert", in(), out()).out()).isEqualTo("2 files, 1 current, 1 ok\n");
        assertThat(Files.getLastModifiedTime(out().resolve("a.croft"))).isEqualTo(written);

        Ran diff = run("diff", in(), out());
        assertThat(diff.out()).contains("c.croft: only in").endsWith("3 files, 2 ok, 1 different\n");
        assertThat(diff.code()).isEqualTo(5);
        assertThat(run("diff", in() + "/a.pt", out() + "/a.croft").code()).isZero();
        assertThat(run("verify", out())).isEqualTo(new Ran(0, "2 files, 2 ok, 0 bytes without checksums\n", ""));
    }

    @Test
    void filesOfOtherFileSystemsAreReadAndWritten() throws Exception {
        TestFiles.tree(in());
        SparkSession.active().sparkContext().hadoopConfiguration().set("fs.count.impl",
                CountingFileSystem.class.getName());
        String source = "count://" + uriPath(in());
        String target = "count://" + uriPath(out());

        assertThat(run("convert", source, target)).isEqualTo(new Ran(0, "2 files, 2 ok\n", ""));

        assertThat(run("convert", source, target).out()).isEqualTo("2 files, 2 current\n");
        assertThat(run("verify", target).out()).startsWith("2 files, 2 ok");
        assertThat(run("diff", source + "/a.pt", target + "/a.croft").code()).isZero();
        assertThat(run("compact", source).out()).startsWith("refused  " + source + "/sub/c.croft: ");
        assertThat(filesBelow(out())).filteredOn(name -> name.endsWith(".croft")).hasSize(2);
    }

    @Test
    void aSetIsOneFile() throws Exception {
        Files.createDirectories(in());
        Checkpoint.save(in().resolve("model.safetensors.index.json"),
                Map.of("a", TestFiles.random(1, KIBIBYTE), "b", TestFiles.random(2, KIBIBYTE)));
        long tensors = SparkSession.active().read().format("croft").load(in().toString()).count();

        assertThat(run("convert", in(), out()).code()).isZero();

        assertThat(tensors).isEqualTo(2);
        assertThat(filesBelow(out())).containsExactly("model.croft");
        try (Checkpoint whole = Checkpoint.open(out().resolve("model.croft"))) {
            assertThat(whole.names()).containsExactlyInAnyOrder("a", "b");
        }
    }

    /// Kills the executor of a running task as soon as another task has ended.
    private static final class Killer extends SparkListener {
        private final Map<Long, String> running = new ConcurrentHashMap<>();
        private final AtomicBoolean hasKilled = new AtomicBoolean();
        private final AtomicInteger removed = new AtomicInteger();
        private final Set<Integer> failures = ConcurrentHashMap.newKeySet();

        @Override
        public void onTaskStart(SparkListenerTaskStart start) {
            running.put(start.taskInfo().taskId(), start.taskInfo().executorId());
        }

        @Override
        public void onTaskEnd(SparkListenerTaskEnd end) {
            running.remove(end.taskInfo().taskId());
            if (end.taskInfo().failed()) {
                failures.add(end.taskInfo().index());
            }
            running.values().stream().findFirst().filter(_ -> !hasKilled.get()).flatMap(Cluster::executor)
                    .ifPresent(process -> hasKilled.set(process.destroyForcibly()));
        }

        @Override
        public void onExecutorRemoved(SparkListenerExecutorRemoved gone) {
            removed.incrementAndGet();
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void anExecutorThatIsKilledLeavesNothingHalfWritten() throws Exception {
        Files.createDirectories(in());
        for (int i = 0; i < 24; i++) {
            Checkpoint.save(in().resolve("m" + i + ".pt"), Map.of("w", TestFiles.random(i, 1 << 20)));
        }
        Killer killer = new Killer();
        SparkSession.active().sparkContext().addSparkListener(killer);

        Ran converted = run("convert", in(), out());

        SparkSession.active().sparkContext().removeSparkListener(killer);
        assertThat(killer.hasKilled).isTrue();
        assertThat(killer.failures).isNotEmpty();
        assertThat(converted.code()).as(converted.toString()).isZero();
        assertThat(filesBelow(out()).stream().filter(name -> name.endsWith(".croft"))).hasSize(24);
        assertThat(run("verify", out()).out()).startsWith("24 files, 24 ok");
        assertThat(run("diff", in(), out()).code()).isZero();
    }

    @Test
    void twoJobsMayWriteTheSameFilesAtOnce() throws Exception {
        TestFiles.tree(in());
        for (int round = 0; round < 2; round++) {
            List<Future<Ran>> jobs = new ArrayList<>();
            try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
                for (int job = 0; job < 2; job++) {
                    jobs.add(threads.submit(() -> run("convert", in(), out(), "--overwrite")));
                }
            }
            for (Future<Ran> job : jobs) {
                assertThat(job.get()).isEqualTo(new Ran(0, "2 files, 2 ok\n", ""));
            }
            assertThat(run("verify", out()).out()).startsWith("2 files, 2 ok");
        }
        assertThat(filesBelow(out())).containsExactly("a.croft", "sub/b.croft");
    }

    @Test
    void aFileThatCannotBeReadLeavesTheOthers() throws Exception {
        TestFiles.tree(in());
        Files.writeString(in().resolve("broken.pt"), "no checkpoint");
        Path cut = in().resolve("sub/cut.croft");
        Files.write(cut, new byte[0]);

        Ran converted = run("convert", in(), out(), "--report", directory.resolve("report"));

        assertThat(converted.code()).isEqualTo(3);
        assertThat(converted.out()).startsWith("unreadable  file://" + uriPath(in()) + "/broken.pt: ")
                .endsWith("3 files, 2 ok, 1 unreadable\n");
        Dataset<Row> report = SparkSession.active().read().json(directory.resolve("report").toString());
        assertThat(report.where("status = 'ok'").count()).isEqualTo(2);
        assertThat(report.where("status = 'unreadable' and detail like '%FORMAT-UNKNOWN%'").count()).isEqualTo(1);
        Ran verified = run("verify", in());
        assertThat(verified.code()).isIn(3, 4);
        assertThat(verified.out()).contains("broken.pt", "cut.croft", "5 files, 2 ok");
    }

    @Test
    void aFileThatIsOnePartOfAModelIsReportedAndConvertedOnlyIfThatIsAllowed() throws Exception {
        Files.createDirectories(in());
        Checkpoint.save(in().resolve("model-00001-of-00003.safetensors"), Map.of("w", TestFiles.random(1, 10)));

        Ran refused = run("convert", in(), out());

        assertThat(refused.code()).isEqualTo(2);
        assertThat(refused.out()).contains("lacks 2 other files of the same model", "--allow-part");
        assertThat(filesBelow(out())).isEmpty();
        assertThat(run("verify", in(), "--report", directory.resolve("report")).code()).isZero();
        assertThat(SparkSession.active().read().json(directory.resolve("report").toString())
                .where("detail like '%lacks 2 other files%'").count()).isEqualTo(1);
        assertThat(run("convert", in(), out(), "--allow-part").code()).isZero();
    }

    @Test
    void elementsOutOfProportionAreComparedIfThatIsAllowed() throws Exception {
        Files.createDirectories(in());
        Files.createDirectories(out());
        Tensor stored = Tensor.arange(DType.FLOAT32, 1 << 15);
        for (Path folder : List.of(in(), out())) {
            Checkpoint.save(folder.resolve("a.pt"), Map.of("w", stored.asStrided(Shape.of(1 << 14, 1 << 14),
                    new long[]{1, 1}, folder.equals(in()) ? 0 : 1)));
        }

        Ran left = run("diff", in(), out());
        Ran compared = run("diff", in(), out(), "--large");

        assertThat(left.code()).isEqualTo(3);
        assertThat(left.out()).contains("1 not compared", "out of proportion", "--large");
        assertThat(compared.code()).isEqualTo(5);
        assertThat(compared.out()).contains("1 changed");
    }

    @Test
    void damageIsFoundAndIsNotConverted() throws Exception {
        Files.createDirectories(in());
        Path file = in().resolve("m.croft");
        Checkpoint.save(file, Map.of("w", TestFiles.random(1, 1 << 18)));
        byte[] bytes = Files.readAllBytes(file);
        bytes[bytes.length / 2] ^= 1;
        Files.write(file, bytes);

        Ran verified = run("verify", in());

        assertThat(verified.code()).isEqualTo(4);
        assertThat(verified.out()).startsWith("damaged  file://" + uriPath(file) + ": ")
                .endsWith("bytes without checksums\n");
    }

    @Test
    void dedupCountsWhatOneFileWouldWrite() throws Exception {
        Files.createDirectories(in());
        Tensor shared = TestFiles.random(1, 3 << 18);
        Map<String, Object> one = Map.of("shared", shared, "own", TestFiles.random(2, 1000), "zeros",
                Tensor.zeros(DType.FLOAT32, 1 << 18));
        Map<String, Object> two = Map.of("shared", shared, "own", TestFiles.random(3, 1000));
        Checkpoint.save(in().resolve("one.pt"), one);
        Checkpoint.save(in().resolve("two.safetensors"), two);
        Checkpoint.save(in().resolve("three.croft"), two);
        long written = Checkpoint.save(directory.resolve("all.croft"), List.of(one, two)).dedup().orElseThrow()
                .written();

        Ran dedup = run("dedup", in());

        assertThat(dedup.code()).isZero();
        assertThat(dedup.out()).contains(" " + written + " of them different");
    }

    @Test
    void compressedFilesAreComparedVerifiedAndCompacted() throws Exception {
        Files.createDirectories(in());
        Files.createDirectories(out());
        SaveOptions options = SaveOptions.defaults().compress(SaveOptions.Compression.AGAINST_BASE);
        Path file = in().resolve("a.croft");
        try (CroftFile growing = CroftFile.open(file)) {
            for (int step = 0; step < 3; step++) {
                Tensor weight = TestFiles.random(1, 3 << 18);
                weight.narrow(0, 0, 1000L * step).fill(step);
                growing.commit(Map.of("w", weight), options);
            }
        }
        try (Checkpoint newest = Checkpoint.open(file)) {
            assertThat(newest.extents(newest.tensor("w").storage())).anyMatch(Extent::isCompressed);
            Checkpoint.save(out().resolve("a.croft"), newest.tree());
        }

        assertThat(run("verify", in()).out()).startsWith("1 file, 1 ok");
        assertThat(run("diff", in(), out()).code()).isZero();
        assertThat(run("compact", in(), "--keep", 1).out()).startsWith("1 file, 1 ok, ");
        assertThat(run("verify", in()).out()).startsWith("1 file, 1 ok");
        assertThat(run("diff", in(), out()).code()).isZero();
    }

    @Test
    void compactingDropsOlderSnapshots() throws Exception {
        TestFiles.tree(in());
        Path file = in().resolve("sub/c.croft");
        long before = Files.size(file);

        assertThat(run("compact", in(), "--keep", 1).out()).startsWith("1 file, 1 ok, ");

        assertThat(Files.size(file)).isLessThan(before);
        assertThat(run("compact", in()).out()).isEqualTo("1 file, 1 current, 0 bytes freed\n");
        try (CroftFile growing = CroftFile.open(file)) {
            assertThat(growing.snapshots()).hasSize(1);
        }
    }

    @Test
    void aTargetThatHasGrownIsNotReplaced() throws Exception {
        TestFiles.tree(in());
        run("convert", in(), out());
        Path grown = out().resolve("a.croft");
        try (CroftFile growing = CroftFile.open(grown)) {
            growing.commit(TestFiles.state(8), "mine");
        }
        Files.setLastModifiedTime(grown, FileTime.fromMillis(0));

        Ran again = run("convert", in(), out());

        assertThat(again.code()).isEqualTo(2);
        assertThat(again.out()).startsWith("refused  ").contains("has 2 snapshots, which would be lost");
        assertThat(run("convert", in(), out(), "--overwrite").code()).isZero();
    }

    @Test
    void twoSourcesOfOneTargetAreRefusedBeforeAnythingIsWritten() throws Exception {
        TestFiles.tree(in());
        Checkpoint.save(in().resolve("a.safetensors"), Map.of("w", TestFiles.random(1, 10)));

        Ran refused = run("convert", in(), out());

        assertThat(refused.code()).isEqualTo(2);
        assertThat(refused.err()).contains("would both be converted to", "--keep-suffix");
        assertThat(out()).doesNotExist();
        assertThat(run("convert", in(), out(), "--keep-suffix").code()).isZero();
        assertThat(filesBelow(out())).containsExactly("a.pt.croft", "a.safetensors.croft", "sub/b.safetensors.croft");
    }

    @Test
    void wrongCommandLinesSayWhatIsRight() {
        assertThat(run().code()).isEqualTo(2);
        assertThat(run("comvert").err()).startsWith("there is no job comvert\n").contains("verify PATH...");
        assertThat(run("verify").err()).startsWith("0 paths are given, and it takes at least 1\n");
        assertThat(run("diff", in(), out(), directory).err()).startsWith("3 paths are given, and it takes 2\n");
        assertThat(run("compact", in(), "--keep", "0").err()).startsWith("--keep is 0; it may be a number from 1\n");
        assertThat(run("verify", in(), "--keep", "1").err()).startsWith("--keep is no option of this job");
        assertThat(run("verify", in(), "--report", directory).err()).startsWith(directory + " exists; ");
        Ran absent = run("verify", in());
        assertThat(absent.code()).isEqualTo(3);
        assertThat(absent.err()).isEqualTo("the path " + in() + " matches no file; check the path, and that all "
                + "machines have the file system that it is in\n");
    }
}
