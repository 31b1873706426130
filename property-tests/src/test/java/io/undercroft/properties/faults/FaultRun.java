package io.undercroft.properties.faults;

import io.undercroft.benchmarks.Figure;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// Lets each call of each piece of work fail once. In woven classes.
final class FaultRun {
    private static final Path SHARED = Path.of("/dev/shm");

    private final Path folder;
    private final Path oldCopy;
    private final Path latestCopy;
    private final String name;
    private final int tries;
    private final Random random;
    private final List<Figure> figures = new ArrayList<>();
    private final Map<String, Integer> thrown = new TreeMap<>();
    private final List<String> broken;
    private Map<String, byte[]> before = Map.of();
    private Set<String> namesAfter = new TreeSet<>();
    private @Nullable Checkpoint old;
    private @Nullable Checkpoint latest;

    private FaultRun(Path scratch, long seed, int tries, List<String> broken) throws IOException {
        this.folder = Files.createDirectories(scratch.resolve("work"));
        this.oldCopy = Files.createDirectories(scratch.resolve("old"));
        this.latestCopy = Files.createDirectories(scratch.resolve("latest"));
        this.random = new Random(seed);
        this.name = "undercroft-faults-" + ProcessHandle.current().pid() + "-" + Long.toString(System.nanoTime(), 36);
        this.tries = tries;
        this.broken = broken;
    }

    /// {@return what came out}
    ///
    /// @param scratch a folder
    /// @param seed of all that is random
    /// @param tries how many calls of each piece of work fail in each way, at most
    /// @param pattern the pieces of work, by their names
    /// @param broken takes what does not hold
    static List<Figure> run(Path scratch, long seed, int tries, String pattern, List<String> broken)
            throws IOException {
        FaultRun run = new FaultRun(scratch, seed, tries, broken);
        try {
            return run.run(pattern);
        } finally {
            for (Path each : List.of(run.folder, run.oldCopy, run.latestCopy)) {
                reset(each, Map.of());
                Files.delete(each);
            }
        }
    }

    private List<Figure> run(String pattern) throws IOException {
        for (Verb verb : new Verbs(name).all()) {
            if (verb.name().matches(pattern)) {
                try {
                    run(verb);
                } catch (Throwable e) {
                    broken.add(verb.name() + " without a fault: " + text(e));
                }
            }
        }
        thrown.forEach((what, count) -> figures.add(Figure.count(what, count)));
        figures.add(Figure.count("broken", broken.size()).atMost(0));
        return figures;
    }

    private void run(Verb verb) throws IOException {
        reset(folder, Map.of());
        reset(oldCopy, Map.of());
        verb.prepare().in(oldCopy);
        before = files(oldCopy);
        old = verb.result().in(oldCopy);
        verb.undo().in(oldCopy);
        // Loads classes, and fills caches of the process.
        reset(folder, before);
        verb.undo().in(folder);
        before(verb);
        verb.work().in(folder);
        namesAfter = names();
        reset(latestCopy, files(folder));
        latest = verb.result().in(latestCopy);
        // Maps all that will be compared.
        Verbs.compare(old, old);
        Verbs.compare(latest, latest);
        verb.undo().in(folder);
        for (FaultKind kind : FaultKind.values()) {
            run(verb, kind);
        }
        close(old);
        close(latest);
        if (isShared(verb) && !shared().isEmpty()) {
            broken.add(verb.name() + " leaves " + shared());
        }
    }

    private static void close(@Nullable Checkpoint checkpoint) {
        if (checkpoint != null) {
            checkpoint.close();
        }
    }

    private void before(Verb verb) throws IOException {
        reset(folder, before);
        if (isShared(verb)) {
            verb.prepare().in(folder);
        }
    }

    private static boolean isShared(Verb verb) {
        return !verb.undo().equals(Verb.NOTHING);
    }

    private void run(Verb verb, FaultKind kind) throws IOException {
        before(verb);
        FaultPoints.arm(kind, 0);
        verb.work().in(folder);
        int calls = FaultPoints.disarm();
        verb.undo().in(folder);
        int step = Math.max(1, calls / tries);
        int failures = 0;
        for (int number = 1 + random.nextInt(step);; number += step) {
            before(verb);
            if (!isHit(verb, kind, number)) {
                break;
            }
            failures++;
            if (number > 10 * calls + 100) {
                broken.add(verb.name() + ": does not end");
                break;
            }
        }
        figures.add(Figure.count(verb.name() + ", " + kind + ": calls", calls));
        figures.add(Figure.count(verb.name() + ", " + kind + ": of them failed", failures));
    }

    private boolean isHit(Verb verb, FaultKind kind, int number) throws IOException {
        List<Object> held = FaultPoints.held();
        long open = openFiles().size();
        long mapped = Proc.mappings(folder.toString());
        Set<String> names = names();
        Throwable failure = null;
        FaultPoints.arm(kind, number);
        try {
            verb.work().in(folder);
        } catch (Throwable e) {
            failure = e;
        } finally {
            FaultPoints.disarm();
        }
        boolean isInterrupted = Thread.interrupted();
        Throwable place = FaultPoints.place();
        String problem = "";
        try {
            if (place == null) {
                if (failure != null) {
                    problem = "fails without a fault";
                }
                verb.undo().in(folder);
                return false;
            }
            problem = problem(verb, kind, failure, isInterrupted, place, names);
            if (problem.isEmpty()) {
                problem = leaks(held, open, mapped);
            }
            // What is done already may be refused the second time.
            if (problem.isEmpty() && failure != null && !isDone(verb)) {
                verb.work().in(folder);
                verify(verb, latest);
                if (!names().equals(namesAfter) && !isRemoval(place)) {
                    problem = "leaves, after the next try: " + names();
                }
            }
            verb.undo().in(folder);
            if (problem.isEmpty()) {
                problem = leaks(held, open, mapped);
            }
            if (problem.isEmpty() && isShared(verb)) {
                List<String> drafts = shared().stream().filter(file -> file.contains("/drafts/")).toList();
                problem = drafts.isEmpty() ? "" : "leaves " + drafts;
            }
        } catch (Throwable e) {
            problem = "later: " + text(e);
        }
        if (!problem.isEmpty()) {
            broken.add(verb.name() + ", " + place + "\n  " + problem + "\n"
                    + (place == null ? "" : text(place)) + (failure == null ? "" : "  and threw " + text(failure)));
        }
        thrown.merge((failure == null ? "nothing" : failure.getClass().getSimpleName()) + " after " + kind, 1,
                Integer::sum);
        return place != null;
    }

    private String problem(Verb verb, FaultKind kind, @Nullable Throwable failure, boolean isInterrupted,
            Throwable place, Set<String> names) throws IOException {
        if (kind == FaultKind.INTERRUPT && !isInterrupted) {
            return "loses the interrupt";
        }
        if (failure == null) {
            verify(verb, latest);
            return names().equals(namesAfter) || isRemoval(place) ? "" : "leaves " + names();
        }
        if (kind.isAbsorbed()) {
            return "does not go on";
        }
        boolean isTyped = failure instanceof IOException || failure instanceof UncheckedIOException
                || (kind == FaultKind.OUT_OF_MEMORY && failure instanceof OutOfMemoryError);
        if (!isTyped) {
            return "is no exception for that";
        }
        if (failure instanceof FormatException) {
            return "says that a file is damaged";
        }
        // The first use of shared memory afterwards does what could not be done.
        close(verb.result().in(folder));
        boolean isNew = names().equals(namesAfter);
        if (!names().equals(names) && !isNew && !isRemoval(place)) {
            return "leaves " + names() + ", not " + names;
        }
        try {
            verify(verb, old);
        } catch (AssertionError e) {
            verify(verb, latest);
        }
        return "";
    }

    /// A file that cannot be deleted is left to the next writer.
    private static boolean isRemoval(Throwable place) {
        String site = place.getMessage();
        return site.endsWith("Files.deleteIfExists") || site.endsWith("unlink");
    }

    private boolean isDone(Verb verb) throws IOException {
        return !verb.name().startsWith("open") && !names().equals(before.keySet()) && names().equals(namesAfter);
    }

    private void verify(Verb verb, @Nullable Checkpoint expected) throws IOException {
        Checkpoint actual = verb.result().in(folder);
        try {
            Verbs.compare(expected, actual);
        } finally {
            close(actual);
        }
    }

    private String leaks(List<Object> held, long open, long mapped) throws IOException {
        List<Object> more = FaultPoints.held();
        more.removeAll(held);
        if (!more.isEmpty()) {
            return "holds " + more;
        }
        if (openFiles().size() > open) {
            return "has open " + openFiles();
        }
        return Proc.mappings(folder.toString()) > mapped ? "has files mapped" : "";
    }

    private List<String> openFiles() throws IOException {
        return Proc.openFiles().stream().filter(file -> file.contains(folder.toString()) || file.contains(name))
                .toList();
    }

    private static String text(Throwable e) {
        StringWriter text = new StringWriter();
        e.printStackTrace(new PrintWriter(text));
        return text.toString().lines().filter(line -> !line.contains("io.undercroft.properties")
                && !line.contains("java.base/")).limit(24).map(line -> "  " + line + "\n").reduce("", String::concat);
    }

    /// {@return the names of files in the folder, and of shared memory of this process}
    private Set<String> names() throws IOException {
        Set<String> names = new TreeSet<>();
        try (Stream<Path> files = Files.list(folder)) {
            files.forEach(file -> names.add(file.getFileName().toString()));
        }
        if (Files.exists(SHARED.resolve(name))) {
            names.add("shared memory");
        }
        return names;
    }

    /// {@return what this process has in shared memory}
    private List<String> shared() throws IOException {
        String process = "/" + ProcessHandle.current().pid() + "-";
        try (Stream<Path> files = Files.isDirectory(SHARED) ? Files.walk(SHARED) : Stream.of()) {
            return files.map(Path::toString).filter(file -> file.contains(name) || file.contains(process)).toList();
        } catch (UncheckedIOException _) {
            // Something went meanwhile.
            return shared();
        }
    }

    private static Map<String, byte[]> files(Path folder) throws IOException {
        Map<String, byte[]> files = new TreeMap<>();
        try (DirectoryStream<Path> found = Files.newDirectoryStream(folder)) {
            for (Path file : found) {
                files.put(file.getFileName().toString(), Files.readAllBytes(file));
            }
        }
        return files;
    }

    private static void reset(Path folder, Map<String, byte[]> files) throws IOException {
        try (DirectoryStream<Path> found = Files.newDirectoryStream(folder)) {
            for (Path file : found) {
                Files.delete(file);
            }
        }
        for (Map.Entry<String, byte[]> file : files.entrySet()) {
            Files.write(folder.resolve(file.getKey()), file.getValue());
        }
    }
}
