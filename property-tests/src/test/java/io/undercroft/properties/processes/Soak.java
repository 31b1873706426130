package io.undercroft.properties.processes;

import io.undercroft.mmap.NameLifetime;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.serializer.PublishedCheckpoint;
import io.undercroft.serializer.SaveOptions;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/// Lets processes share memory ([SoakProcess]) and kills them at random moments, the more of them in the middle of
/// something. For each that is gone comes another. In the end all are killed, and what they left is collected.
final class Soak {
    static final String STARTED = "processes started";
    static final String KILLED = "processes killed";
    static final String IN_THE_MIDDLE = "of them in the middle of something";
    static final String ATTACHED = "done: attach";
    private static final int SIGKILL = 128 + 9;
    /// So much longer it may take, on a machine that has much to do, until there were enough kills and something was
    /// attached.
    private static final Duration PATIENCE = Duration.ofMinutes(10);
    /// Between two kills the processes come to the end of so many things: on a slow machine none would do anything
    /// else.
    private static final int DONE_BETWEEN_KILLS = 10;
    /// A process is killed so many microseconds after it began something, at most: 2 to that.
    private static final int MOMENT_LOG2 = 16;
    private static final List<String> JVM = List.of("-Xmx32m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            "-Xshare:auto", "-XX:-CreateCoredumpOnCrash", "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow");

    private final Plan plan;
    private final Random random;
    private final String prefix = "undercroft-soak-" + Long.toString(ThreadLocalRandom.current().nextLong(), 36) + "-";
    private final AtomicReferenceArray<Child> children;
    private final Map<String, LongAdder> counts = new ConcurrentHashMap<>();
    private final LongAdder ends = new LongAdder();
    private final Queue<String> troubles = new ConcurrentLinkedQueue<>();
    private final Set<Long> pids = ConcurrentHashMap.newKeySet();
    private volatile boolean isOver;

    /// How much to do.
    ///
    /// @param processes how many live at a time
    /// @param time how long at least
    /// @param kills how many at least, in the middle of something
    /// @param pause from one kill to the next, on average
    /// @param seed of all that is random
    record Plan(int processes, Duration time, int kills, Duration pause, long seed) {}

    /// What came out.
    ///
    /// @param counts how often what was said, by the words of [SoakProcess], and how many processes there were
    /// @param troubles what was torn or failed, in words
    /// @param collected what the dead had left in `/dev/shm`, and was to be collected
    /// @param leftovers what was left of the soak in `/dev/shm` after that
    /// @param foreign what came there meanwhile and is of somebody else
    /// @param gone what was put there next to it and is not there any more, or changed; other programs may remove their
    ///     own
    record Outcome(Map<String, Long> counts, List<String> troubles, List<Path> collected, List<Path> leftovers,
            List<Path> foreign, List<Path> gone) {
        /// {@return how often something was said}
        long count(String what) {
            return counts.getOrDefault(what, 0L);
        }

        /// {@return how often something was said that begins so}
        long countAll(String prefix) {
            return counts.entrySet().stream().filter(entry -> entry.getKey().startsWith(prefix))
                    .mapToLong(Map.Entry::getValue).sum();
        }
    }

    /// A process, and what is to become of it.
    private static final class Child {
        private final Process process;
        private final Writer writer;
        /// For the thread that listens to it.
        private final Random random;
        private volatile boolean isUp;
        /// To be killed when it next begins something.
        private volatile boolean isDoomed;
        private volatile boolean isKilled;

        Child(Process process, long seed) {
            this.process = process;
            this.writer = process.outputWriter();
            this.random = new Random(seed);
        }

        synchronized void tell(String line) {
            try {
                writer.append(line).append('\n').flush();
            } catch (IOException _) {
                // It is gone, and its successor gets the next offer.
            }
        }

        void kill() {
            isKilled = true;
            // Unlike the process, its handle leaves the streams alone: what was said before is heard.
            process.toHandle().destroyForcibly();
        }
    }

    Soak(Plan plan) {
        this.plan = plan;
        this.random = new Random(plan.seed());
        this.children = new AtomicReferenceArray<>(plan.processes());
    }

    Outcome run() throws IOException {
        SharedMemory.gc();
        // Next to what the library knows is what it does not, and must not touch.
        Path foreign = Files.write(ShmListing.HOME.resolve(prefix + "of-somebody-else"), new byte[1000]);
        try {
            ShmListing before = ShmListing.now();
            ShmListing dead = liveAndDie();
            SharedMemory.gc();
            for (int slot = 0; slot < plan.processes(); slot++) {
                SharedMemory.unlinkIfUnheld(SoakProcess.sweptName(prefix, slot));
            }
            return outcome(before, dead, ShmListing.now());
        } finally {
            Files.delete(foreign);
        }
    }

    /// {@return what is there when all processes are dead, and nothing was collected}
    private ShmListing liveAndDie() throws IOException {
        try {
            publishFirst();
            live();
        } catch (InterruptedException e) {
            throw new IllegalStateException("nobody interrupts this thread", e);
        } finally {
            PublishedCheckpoint.unpublish(lasting());
        }
        return ShmListing.now();
    }

    /// What lasts until it is unlinked is there from the beginning.
    private void publishFirst() throws IOException {
        PublishedCheckpoint
                .publish(lasting(), NumberedState.of(plan.seed()), SaveOptions.defaults(), NameLifetime.UNTIL_UNLINKED)
                .close();
    }

    private String lasting() {
        return SoakProcess.publishedName(prefix, NameLifetime.UNTIL_UNLINKED);
    }

    private void live() throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        try {
            for (int slot = 0; slot < plan.processes(); slot++) {
                int number = slot;
                Random seeds = new Random(random.nextLong());
                threads.add(Thread.ofPlatform().start(() -> occupy(number, seeds)));
            }
            killSome();
        } finally {
            isOver = true;
            for (int slot = 0; slot < plan.processes(); slot++) {
                killIfThere(children.get(slot));
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
    }

    private static void killIfThere(Child child) {
        if (child != null) {
            child.kill();
        }
    }

    private void killSome() throws InterruptedException {
        long start = System.nanoTime();
        long doneBefore = 0;
        while (isToGoOn(Duration.ofNanos(System.nanoTime() - start))) {
            Thread.sleep(random.nextLong(2 * plan.pause().toMillis()));
            Child victim = children.get(random.nextInt(plan.processes()));
            long done = ends.sum();
            if (victim == null || done - doneBefore < DONE_BETWEEN_KILLS) {
                continue;
            }
            doneBefore = done;
            if (victim.isUp && random.nextInt(4) != 0) {
                victim.isDoomed = true;
            } else if (victim.isUp || random.nextInt(10) == 0) {
                victim.kill();
            }
        }
    }

    private boolean isToGoOn(Duration passed) {
        boolean isEnough = counted(IN_THE_MIDDLE) >= plan.kills()
                && counted(ATTACHED) > 0;
        return passed.compareTo(plan.time()) < 0 || (!isEnough && passed.compareTo(plan.time().plus(PATIENCE)) < 0);
    }

    private long counted(String what) {
        return counts.getOrDefault(what, new LongAdder()).sum();
    }

    /// Has one process after the other.
    private void occupy(int slot, Random seeds) {
        try {
            while (!isOver) {
                Child child = start(slot, seeds.nextLong());
                children.set(slot, child);
                // The end may have come between the two.
                if (isOver) {
                    child.kill();
                }
                listen(child);
                bury(child);
            }
        } catch (IOException | InterruptedException e) {
            trouble("failed", "process " + slot + ": " + e);
        }
    }

    private Child start(int slot, long seed) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(JVM);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), SoakProcess.class.getName(), prefix,
                Integer.toString(slot), Integer.toString(plan.processes()), Long.toString(seed)));
        Child child = new Child(new ProcessBuilder(command).redirectErrorStream(true).start(), seed);
        pids.add(child.process.pid());
        count(STARTED);
        return child;
    }

    private void listen(Child child) throws IOException {
        try (BufferedReader lines = child.process.inputReader()) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                child.isUp = true;
                hear(child, line);
            }
        }
    }

    private void hear(Child child, String line) {
        String[] words = line.split(" ", 4);
        switch (words[0]) {
            case "begin" -> killInTheMiddle(child);
            case "end" -> {
                count("done: " + words[1]);
                ends.increment();
            }
            case "refused" -> count("refused " + words[1] + " " + words[2]);
            case "offer" -> pass(child, line.substring("offer ".length()));
            case "torn", "failed" -> trouble(words[0], line);
            // A JVM that dies has something to say too.
            default -> trouble("failed", line);
        }
    }

    private void killInTheMiddle(Child child) {
        if (child.isDoomed && !child.isKilled) {
            LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(1L << child.random.nextInt(MOMENT_LOG2 + 1)));
            count(IN_THE_MIDDLE);
            child.kill();
        }
    }

    private void pass(Child from, String offer) {
        Child to = children.get(from.random.nextInt(plan.processes()));
        if (to != null && to != from) {
            to.tell(offer);
        }
    }

    private void bury(Child child) throws InterruptedException {
        int code = child.process.waitFor();
        if (child.isKilled && code == SIGKILL) {
            count(KILLED);
        } else if (code == 0) {
            count("processes that ended by themselves");
        } else {
            trouble("failed", "process " + child.process.pid() + " died by itself with code " + code);
        }
    }

    private void trouble(String kind, String line) {
        count(kind);
        troubles.add(line);
    }

    private void count(String what) {
        counts.computeIfAbsent(what, _ -> new LongAdder()).increment();
    }

    private Outcome outcome(ShmListing before, ShmListing dead, ShmListing after) {
        Map<String, Long> numbers = new TreeMap<>();
        counts.forEach((what, count) -> numbers.put(what, count.sum()));
        Map<Boolean, List<Path>> more = after.since(before).stream()
                .collect(Collectors.partitioningBy(path -> isOurs(path, after)));
        List<Path> left = dead.since(before).stream().filter(path -> isOurs(path, dead)).toList();
        List<Path> gone = before.since(after).stream().filter(path -> path.toString().contains(prefix)).toList();
        return new Outcome(numbers, List.copyOf(troubles), left, more.get(true), more.get(false), gone);
    }

    private static String registry() {
        try {
            return "undercroft-" + Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private boolean isOurPid(String digits) {
        return digits.length() < 10 && pids.contains(Long.valueOf(digits));
    }

    /// Whether an entry is of this soak: by its own name or one of its processes. The registry and the directories in
    /// it are, unless something of others is in them.
    private boolean isOurs(Path path, ShmListing all) {
        if (path.toString().contains(prefix) || Pattern.compile("\\d+").matcher(path.getFileName().toString()).results()
                .anyMatch(number -> isOurPid(number.group()))) {
            return true;
        }
        return path.startsWith(registry()) && path.getNameCount() <= 2 && all.entries().keySet().stream()
                .filter(below -> !below.equals(path) && below.startsWith(path)).allMatch(below -> isOurs(below, all));
    }
}
