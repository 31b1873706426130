package io.undercroft.properties.mutants;

import io.undercroft.benchmarks.Environment;
import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.properties.Effort;
import io.undercroft.properties.Main;
import io.undercroft.properties.Repository;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.tools.ToolProvider;

/// Plants faults in copies of sources, one at a time, and runs the laws that must notice them in another JVM, where the
/// compiled copies come before the classes. For each fault that a law notices, prints what jqwik shrank the sample to.
public final class MutantsProof {
    private static final int QUICK = 7;
    /// The part of the faults that laws must notice: 27 of 30.
    private static final double WANTED = 0.9;
    private static final int MINUTES = 10;
    /// The least code of a JVM that crashed, which a fault in memory can make it do.
    private static final int SIGNALLED = 128;

    private MutantsProof() {}

    public static Report run(Effort effort) throws IOException {
        List<Mutant> mutants = effort == Effort.FULL ? Mutant.all() : Mutant.all().subList(0, QUICK);
        Path folder = Files.createTempDirectory("undercroft-mutants-");
        try {
            // All of them first, so that one that no longer compiles is found at once.
            Map<Mutant, Path> compiled = new LinkedHashMap<>();
            for (Mutant mutant : mutants) {
                compiled.put(mutant, compiled(mutant, Files.createTempDirectory(folder, "")));
            }
            Set<String> laws = new HashSet<>();
            int unfounded = 0;
            int killed = 0;
            for (Mutant mutant : mutants) {
                if (laws.add(mutant.law())) {
                    unfounded += failure(mutant.law(), Files.createTempDirectory(folder, "")).isPresent() ? 1 : 0;
                }
                Optional<String> failure = failure(mutant.law(), compiled.get(mutant));
                System.out.println((failure.isPresent() ? "killed: " : "SURVIVES: ") + mutant.fault() + "\n    by "
                        + mutant.law().substring(mutant.law().lastIndexOf('.') + 1));
                failure.ifPresent(report -> report.lines().forEach(line -> System.out.println("    " + line)));
                killed += failure.isPresent() ? 1 : 0;
            }
            return new Report("mutants", List.of(
                    Figure.count("laws that fail without a fault", unfounded).atMost(0),
                    Figure.count("faults that were planted", mutants.size()),
                    Figure.count("faults that laws noticed", killed).atLeast(Math.ceil(WANTED * mutants.size()))),
                    Environment.of(folder));
        } finally {
            delete(folder);
        }
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    /// Compiles the changed sources into a folder of their own.
    private static Path compiled(Mutant mutant, Path folder) throws IOException {
        Path classes = Files.createDirectory(folder.resolve("classes"));
        List<String> arguments = new ArrayList<>(List.of("-proc:none", "-nowarn", "-implicit:none", "-d",
                classes.toString(), "-cp", System.getProperty("java.class.path")));
        for (Map.Entry<String, String> source : mutant.sources().entrySet()) {
            Path file = folder.resolve(Path.of(source.getKey()).getFileName());
            arguments.add(Files.writeString(file, source.getValue()).toString());
        }
        ByteArrayOutputStream faults = new ByteArrayOutputStream();
        if (ToolProvider.getSystemJavaCompiler().run(null, null, faults, arguments.toArray(String[]::new)) != 0) {
            throw new IllegalStateException(mutant.fault() + ": " + faults.toString(StandardCharsets.UTF_8));
        }
        return classes;
    }

    /// {@return what a law that fails has printed}
    ///
    /// @param law the law, or the name of a proof
    /// @param classes what comes before the classes
    private static Optional<String> failure(String law, Path classes) throws IOException {
        Path folder = Files.createDirectories(classes.resolveSibling(classes.getFileName() + "-run"));
        Files.createDirectory(folder.resolve("target"));
        Path output = folder.resolve("output");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow",
                "-XX:+UseSerialGC", "-Dundercroft.tries=all", "-Dundercroft.repository=" + Repository.path(""), "-cp",
                classes + File.pathSeparator + System.getProperty("java.class.path")));
        boolean isProof = !law.contains(".");
        command.addAll(isProof
                ? List.of(Main.class.getName(), law, "--quick", "--seed", "1")
                : List.of(LawRunner.class.getName(), law));
        Process process = new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true)
                .redirectOutput(output.toFile()).start();
        try {
            if (!process.waitFor(MINUTES, TimeUnit.MINUTES)) {
                return Optional.of("it does not end");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        } finally {
            process.destroyForcibly();
        }
        String printed = Files.readString(output);
        int code = process.exitValue();
        if (isProof) {
            // A file that the fault broke may also end the proof by an exception.
            return code == 0
                    ? Optional.empty()
                    : printed.lines().filter(line -> line.startsWith("BROKEN")).findFirst()
                            .or(() -> Optional.of(printed));
        }
        if (code != LawRunner.HOLDS && code != LawRunner.FAILED && code < SIGNALLED) {
            throw new IllegalStateException(law + " exits with " + code + ": " + printed);
        }
        return code == LawRunner.HOLDS ? Optional.empty() : Optional.of(shrunk(printed));
    }

    /// {@return the schedule of threads in which a law failed, or what jqwik shrank a sample to, and how the law failed
    /// with it}
    private static String shrunk(String printed) {
        int start = printed.indexOf("timestamp = ");
        int table = printed.indexOf("|---", start);
        int sample = printed.indexOf("Shrunk Sample", table);
        int end = printed.indexOf("Original Sample", sample);
        int schedule = printed.indexOf("BROKEN: ");
        if (schedule >= 0) {
            return printed.substring(schedule).stripTrailing();
        }
        return start < 0 || table < 0 || sample < 0 || end < 0
                ? printed
                : printed.substring(printed.indexOf('\n', start), table).stripTrailing() + "\n"
                        + printed.substring(sample, end).stripTrailing();
    }
}
