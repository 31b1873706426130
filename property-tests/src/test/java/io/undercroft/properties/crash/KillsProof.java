package io.undercroft.properties.crash;

import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.properties.Effort;
import io.undercroft.properties.Main;
import io.undercroft.properties.RandomProof;
import io.undercroft.properties.Scratch;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// Kills processes at random moments while they save over a file that is there, or append to it. What is left has to be
/// the state before or the new one, whole; and after the next save nothing else may be left in the directory.
public final class KillsProof {
    public static final String SAVER = "saver";

    /// Several blocks, so that several threads write them.
    private static final int TENSORS = 6;
    private static final int COUNT = 1 << 20;

    private final Random random;
    private final Path path;
    private final int kills;
    private long last;
    private long inTheMiddle;
    private long former;
    private long newer;
    private long broken;
    private long leftByTheDead;
    private long leftAfterwards;

    private KillsProof(long seed, Path directory, int kills) {
        this.random = new Random(seed);
        this.path = directory.resolve("state.croft");
        this.kills = kills;
    }

    /// Not in memory, as most proofs are: past the page cache is another way.
    public static Report run(Effort effort) throws IOException {
        return RandomProof.report("kills", Scratch.onDisk(),
                (seed, scratch) -> new KillsProof(seed, scratch.directory(), effort == Effort.FULL ? 300 : 12).run());
    }

    private static Map<String, Object> state(long number) {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("number", number);
        for (int i = 0; i < TENSORS; i++) {
            // No two chunks are the same, so that all are written.
            double first = first(number, i);
            state.put("tensor" + i, Tensor.arange(DType.INT64, first, first + COUNT, 1));
        }
        return state;
    }

    private static double first(long number, int tensor) {
        return (double) (number * TENSORS + tensor) * COUNT;
    }

    /// The process that is killed: saves or appends the states whose numbers it is told, and says when it is done.
    @SuppressWarnings("SystemOut")
    public static void save(Path path) throws IOException {
        try (var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ", 2);
                Map<String, Object> state = state(Long.parseLong(words[1]));
                System.out.println("start");
                if (words[0].equals("append")) {
                    CroftFile.open(path).commit(state, SaveOptions.defaults());
                } else {
                    Checkpoint.save(path, state);
                }
                System.out.println("done");
            }
        }
    }

    private List<Figure> run() throws IOException {
        Checkpoint.save(path, state(0));
        for (int kill = 0; kill < kills; kill++) {
            killOne();
            look();
        }
        List<Figure> figures = new ArrayList<>();
        figures.add(Figure.count("processes killed", kills));
        figures.add(Figure.count("of them while they were saving", inTheMiddle).atLeast(1));
        figures.add(Figure.count("which left the state before", former).atLeast(1));
        figures.add(Figure.count("which left the new one", newer));
        figures.add(Figure.count("which left neither, whole", broken).atMost(0));
        figures.add(Figure.count("temporaries that the dead left", leftByTheDead).atLeast(1));
        figures.add(Figure.count("files that are left after the next save", leftAfterwards).atMost(0));
        return figures;
    }

    /// Each process saves twice undisturbed, which warms it up and clears away what the one before left. The next time
    /// it is killed, at some moment of the time that it has taken before.
    private void killOne() throws IOException {
        Process process = new ProcessBuilder(ProcessHandle.current().info().command().orElse("java"),
                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow",
                "-cp", System.getProperty("java.class.path"),
                Main.class.getName(), SAVER, path.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader answers = process.inputReader()) {
            save(process, answers);
            leftAfterwards += others();
            long nanos = save(process, answers);
            tell(process, answers, random.nextInt(3) > 0 ? "save" : "append");
            pause(random.nextLong(nanos));
            process.toHandle().destroyForcibly();
            inTheMiddle += answers.readLine() == null ? 1 : 0;
        } finally {
            process.destroyForcibly().onExit().join();
        }
    }

    /// Has the next state saved, and returns how long that takes.
    private long save(Process process, BufferedReader answers) throws IOException {
        tell(process, answers, "save");
        long start = System.nanoTime();
        expect(answers, "done");
        return System.nanoTime() - start;
    }

    /// Has the next state saved, and returns when that has begun.
    private void tell(Process process, BufferedReader answers, String how) throws IOException {
        last++;
        process.outputWriter().append(how).append(' ').append(Long.toString(last)).append('\n').flush();
        expect(answers, "start");
    }

    private static void expect(BufferedReader answers, String answer) throws IOException {
        String said = answers.readLine();
        if (!answer.equals(said)) {
            throw new IOException("a process that saves said " + said);
        }
    }

    private static void pause(long nanos) {
        try {
            TimeUnit.NANOSECONDS.sleep(nanos);
        } catch (InterruptedException e) {
            throw new IllegalStateException("nobody interrupts this thread", e);
        }
    }

    private void look() throws IOException {
        leftByTheDead += others();
        String fault = faultOf(path);
        if (fault != null) {
            broken++;
            System.err.println("BROKEN: " + fault);
        }
    }

    /// How many files there are besides the one that is saved. A lock is none: it means nothing once its holder is
    /// dead.
    private long others() throws IOException {
        try (Stream<Path> files = Files.list(path.getParent())) {
            return files.filter(file -> !file.equals(path) && !file.toString().endsWith(".lock")).count();
        }
    }

    private @Nullable String faultOf(Path file) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            Object number = checkpoint.state() instanceof Map<?, ?> state ? state.get("number") : null;
            if (!(number instanceof Long found) || (found != last && found != last - 1)) {
                return "it has the state " + number + " and not " + (last - 1) + " or " + last;
            }
            former += found == last ? 0 : 1;
            newer += found == last ? 1 : 0;
            for (int i = 0; i < TENSORS; i++) {
                if (!isCounting(checkpoint.tensor("tensor" + i), (long) first(found, i))) {
                    return "another tensor " + i + " in state " + found;
                }
            }
            return checkpoint.verify().isIntact() ? null : checkpoint.verify().damages().toString();
        } catch (RuntimeException e) {
            return e.toString();
        }
    }

    /// Looks at each element, and makes no tensor to compare with: hundreds of them would wait for the garbage
    /// collector.
    private static boolean isCounting(Tensor tensor, long first) {
        boolean counting = tensor.numel() == COUNT;
        for (int i = 0; i < COUNT && counting; i++) {
            counting = tensor.getLong(i) == first + i;
        }
        return counting;
    }
}
