package io.undercroft.properties.fuzzing;

import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.properties.Effort;
import io.undercroft.properties.RandomProof;
import io.undercroft.properties.Repository;
import io.undercroft.properties.Scratch;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/// Runs Jazzer on each target, in a JVM of its own: it changes inputs in the direction of code that none has reached.
///
/// What it finds stays in `property-tests/target/guided`: for each target the inputs that reach something new, from
/// which the next run goes on; those that break something; and in `corpus`, after a full run, the archive for the
/// repository.
public final class GuidedProof {
    private static final long EXECUTIONS = 10_000_000;
    private static final int SECONDS = 1800;
    private static final int QUICK_SECONDS = 3;
    private static final int HANG_SECONDS = 120;
    private static final int MINUTES = 90;
    /// Distinct ones of a target that are looked for.
    private static final int FINDINGS = 5;
    private static final Pattern EXECUTED = Pattern.compile("stat::number_of_executed_units:\\s*(\\d+)");
    private static final Pattern COVERED = Pattern.compile("cov: (\\d+)");

    /// Without the launcher of JUnit, in which Jazzer looks for tests first.
    private static final String CLASS_PATH = Arrays.stream(System.getProperty("java.class.path")
            .split(File.pathSeparator)).filter(entry -> !entry.contains("junit-platform-launcher"))
            .collect(Collectors.joining(File.pathSeparator));

    private final Path folder = Repository.path("property-tests/target/guided");
    private final Effort effort;
    private final long seed;
    private final Scratch scratch;
    private final List<Figure> figures = new ArrayList<>();

    private GuidedProof(Effort effort, long seed, Scratch scratch) {
        this.effort = effort;
        this.seed = seed;
        this.scratch = scratch;
    }

    /// The property `targets` is a pattern for the names of the targets; all of them by default.
    public static Report run(Effort effort) throws IOException {
        Pattern names = Pattern.compile(System.getProperty("targets", ".*"));
        return RandomProof.report("guided", (seed, scratch) -> {
            GuidedProof proof = new GuidedProof(effort, seed, scratch);
            for (FuzzTarget target : FuzzTargets.all(scratch)) {
                if (names.matcher(target.name()).matches()) {
                    proof.run(target);
                }
            }
            return proof.figures;
        });
    }

    private void run(FuzzTarget target) throws IOException {
        Path inputs = Files.createDirectories(folder.resolve(target.fileName()));
        Path given = Files.createDirectories(folder.resolve("seeds").resolve(target.fileName()));
        Path broken = Files.createDirectories(folder.resolve("broken").resolve(target.fileName()));
        List<byte[]> starts = target.seeds().get();
        starts.addAll(Corpus.inputs(target));
        Corpus.write(starts, given);
        String printed = jazzer(target, "-runs=" + EXECUTIONS,
                "-max_total_time=" + (effort == Effort.FULL ? SECONDS : QUICK_SECONDS),
                "-timeout=" + HANG_SECONDS, "-print_final_stats=1", "-seed=" + (int) (seed & Integer.MAX_VALUE),
                "-artifact_prefix=" + broken + "/", inputs.toString(), given.toString());
        figures.add(Figure.count(target.name() + ": executions", last(EXECUTED, printed)));
        figures.add(Figure.count(target.name() + ": edges reached", last(COVERED, printed)).atLeast(1));
        long findings = printed.lines().filter(line -> line.startsWith("DEDUP_TOKEN") || line.contains("ERROR: libF"))
                .count();
        figures.add(Figure.count(target.name() + ": findings", findings).atMost(0));
        if (findings > 0) {
            System.out.println("BROKEN: " + target.name() + "\n" + printed);
        }
        if (effort == Effort.FULL) {
            Path least = Files.createTempDirectory(folder, "least");
            jazzer(target, "-merge=1", least.toString(), inputs.toString(), given.toString());
            Corpus.pack(least, target, folder.resolve("corpus"));
        }
    }

    private static long last(Pattern pattern, String printed) {
        Matcher matcher = pattern.matcher(printed);
        long last = 0;
        while (matcher.find()) {
            last = Long.parseLong(matcher.group(1));
        }
        return last;
    }

    /// {@return what Jazzer prints}
    private String jazzer(FuzzTarget target, String... arguments) throws IOException {
        Path output = folder.resolve(target.fileName() + ".log");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow",
                "-XX:+EnableDynamicAgentLoading", "-XX:+UseSerialGC", "-Xmx1g",
                "-Dundercroft.repository=" + Repository.path(""), "-cp", CLASS_PATH,
                "com.code_intelligence.jazzer.Jazzer", "--target_class=" + Fuzzing.class.getName(),
                "--target_args=" + target.fileName() + " " + scratch.directory(),
                "--instrumentation_includes=io.undercroft.**",
                "--keep_going=" + FINDINGS,
                "--reproducer_path=" + folder));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true)
                .redirectOutput(output.toFile());
        // The target of web servers connects to one.
        builder.environment().put("JAZZER_SSRF_PERMISSIVE_UNTIL_CONFIGURED", "1");
        Process process = builder.start();
        try {
            if (!process.waitFor(MINUTES, TimeUnit.MINUTES)) {
                throw new IOException("Jazzer does not end: " + output);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        } finally {
            process.destroyForcibly();
        }
        return Files.readString(output);
    }
}
