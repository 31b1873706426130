package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Published;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// New processes that open a small file, list its names and read one element: JVMs without and with an AOT cache, and
/// Pythons with safetensors, in turn; and JVMs that attach to the same state in shared memory, which are compared with
/// those that open the `.croft` file. The JVMs run with the default options. The command `croft`, run by its script and
/// as the `java` command that the script runs, is compared with a JVM that does nothing.
final class StartupBenchmark {
    private static final String CROFT = "croft";
    private static final String ATTACHED = "croft, attached";
    private static final List<String> FORMATS = List.of(CROFT, "safetensors", "pt");
    private static final List<String> WAYS = List.of(CROFT, "safetensors", "pt", ATTACHED);
    private static final double GOAL = 1.0;
    private static final double GOAL_WITH_CACHE = 0.5;
    private static final double GOAL_OF_ATTACHING = 1.5;
    private static final int MOST_CLASSES = 250;
    private static final double GOAL_OF_THE_COMMAND = 3.0;
    private static final String BARE = "bare JVM";
    private static final String SCRIPT = "./";
    private static final String PEER = "Python with safetensors";
    private static final String WITH_CACHE = " with an AOT cache";
    private static final String PYTHON = """
            import time
            start = time.perf_counter()
            import sys
            from safetensors import safe_open
            with safe_open(sys.argv[1], framework="np") as file:
                element = file.get_slice(list(file.keys())[0])[3:4, 17:18]
            print(1e3 * (time.perf_counter() - start))
            print(element[0, 0])
            """;

    private final Bench bench;
    private final Path cache;
    private final String name = "undercroft_startup_" + ProcessHandle.current().pid();
    private final List<Figure> figures = new ArrayList<>();
    private final Map<String, List<Double>> wholes = new LinkedHashMap<>();
    private final Map<String, List<Double>> insides = new LinkedHashMap<>();
    private String element = "";

    StartupBenchmark(Bench bench) {
        this.bench = bench;
        this.cache = bench.file("startup.aot").toAbsolutePath();
    }

    List<Figure> run() throws IOException {
        bench.peers().ask("make", 10, 64, 64, file("pt"), file("safetensors"));
        try (Checkpoint made = Checkpoint.open(file("safetensors"))) {
            Checkpoint.save(file(CROFT), new LinkedHashMap<>(made.tensors()));
        }
        try (Checkpoint made = Checkpoint.open(file(CROFT)); Published _ = Published.publish(name, made)) {
            measure(jars());
        } finally {
            Published.unpublish(name);
        }
        return figures;
    }

    private void measure(String classPath) throws IOException {
        Processes.run(java(classPath, List.of("-XX:AOTCacheOutput=" + cache, "-Xlog:disable"), WAYS));
        Map<String, List<String>> commands = commands();
        for (int round = 0; round < bench.rounds(); round++) {
            once("bare Python", List.of(bench.peers().interpreter(), "-c", "pass"));
            once(BARE, java(classPath, List.of(), List.of()));
            once(PEER, List.of(bench.peers().interpreter(), "-c", PYTHON, file("safetensors").toString()));
            for (String format : WAYS) {
                once("." + format, java(classPath, List.of(), List.of(format)));
                once("." + format + WITH_CACHE, java(classPath, List.of("-XX:AOTCache=" + cache), List.of(format)));
            }
            for (Map.Entry<String, List<String>> command : commands.entrySet()) {
                time(command.getKey(), command.getValue());
            }
        }
        report();
        commands.keySet().forEach(this::compareWithBare);
        for (String format : WAYS) {
            Figure count = Figure.count("." + format + ", classes from outside the JDK's archive",
                    classes(classPath, format));
            figures.add(format.equals(ATTACHED) ? count : count.with(Goal.atMost(MOST_CLASSES)));
        }
    }

    /// {@return the command lines of croft by their labels: the `java` command alone, and the script}
    private Map<String, List<String>> commands() throws IOException {
        CroftCommand croft = new CroftCommand(bench.file("jdk").toAbsolutePath());
        Map<String, List<String>> commands = new LinkedHashMap<>();
        commands.put("croft --version", croft.java("--version"));
        commands.put(SCRIPT + "croft --version", croft.script("--version"));
        for (String format : FORMATS) {
            String path = file(format).toString();
            commands.put("croft inspect ." + format, croft.java("inspect", path));
            commands.put(SCRIPT + "croft inspect ." + format, croft.script("inspect", path));
        }
        return commands;
    }

    private void compareWithBare(String command) {
        Samples bare = new Samples(wholes.getOrDefault(BARE, List.of()));
        String what = command + (command.startsWith(SCRIPT) ? ", the script" : ", Java alone");
        Figure figure = Figure.of(what + ", compared with a bare JVM",
                new Samples(wholes.getOrDefault(command, List.of())).over(bare), "x");
        figures.add(command.contains(" inspect ") ? figure.with(Goal.atMost(GOAL_OF_THE_COMMAND)) : figure);
    }

    private Path file(String format) {
        return bench.file("model." + format).toAbsolutePath();
    }

    /// {@return a class path of jars only, which an AOT cache requires}
    private String jars() throws IOException {
        Path jar = bench.file("startup.jar").toAbsolutePath();
        String peer = StartupPeer.class.getName().replace('.', '/') + ".class";
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream classes = new JarOutputStream(out);
                InputStream peerClass = StartupPeer.class.getResourceAsStream("/" + peer)) {
            classes.putNextEntry(new JarEntry(peer));
            Objects.requireNonNull(peerClass).transferTo(classes);
        }
        return Stream.concat(Stream.of(jar.toString()),
                Stream.of(System.getProperty("java.class.path").split(File.pathSeparator, -1))
                        .filter(entry -> entry.endsWith(".jar")))
                .collect(Collectors.joining(File.pathSeparator));
    }

    private List<String> java(String classPath, List<String> options, List<String> formats) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("--enable-native-access=ALL-UNNAMED");
        command.addAll(options);
        command.addAll(List.of("-cp", classPath, StartupPeer.class.getName()));
        formats.forEach(format -> command.add(format.equals(ATTACHED) ? "shm:" + name : file(format).toString()));
        return command;
    }

    private List<String> time(String what, List<String> command) throws IOException {
        long start = System.nanoTime();
        List<String> printed = Processes.run(command);
        wholes.computeIfAbsent(what, _ -> new ArrayList<>()).add((System.nanoTime() - start) / 1e6);
        return printed;
    }

    private void once(String what, List<String> command) throws IOException {
        List<String> printed = time(what, command);
        if (!printed.isEmpty()) {
            insides.computeIfAbsent(what, _ -> new ArrayList<>()).add(Double.valueOf(printed.getFirst()));
            if (!element.isEmpty() && !element.equals(printed.getLast())) {
                throw new IllegalStateException(what + " read " + printed.getLast() + ", the others " + element);
            }
            element = printed.getLast();
        }
    }

    private void report() {
        wholes.forEach((what, times) -> figures.add(Figure.of(what + ", the whole process", new Samples(times), "ms")));
        insides.forEach((what, times) -> figures.add(Figure.of(what + ", in the program", new Samples(times), "ms")));
        Samples peer = new Samples(wholes.getOrDefault(PEER, List.of()));
        for (String format : FORMATS) {
            figures.add(compared("." + format, peer, GOAL));
            figures.add(compared("." + format + WITH_CACHE, peer, GOAL_WITH_CACHE));
        }
        figures.add(attached(wholes, "", "the whole process"));
        figures.add(attached(insides, "", "in the program"));
        figures.add(attached(wholes, WITH_CACHE, "the whole process"));
        figures.add(attached(insides, WITH_CACHE, "in the program"));
    }

    private static Figure attached(Map<String, List<Double>> times, String option, String what) {
        Samples attached = new Samples(times.getOrDefault("." + ATTACHED + option, List.of()));
        Samples opened = new Samples(times.getOrDefault("." + CROFT + option, List.of()));
        return Figure.of("." + ATTACHED + option + ", compared with opening it, " + what, attached.over(opened), "x")
                .with(Goal.atMost(GOAL_OF_ATTACHING));
    }

    private Figure compared(String what, Samples peer, double goal) {
        return Figure.of(what + ", compared with Python with safetensors",
                new Samples(wholes.getOrDefault(what, List.of())).over(peer), "x").with(Goal.atMost(goal));
    }

    private long classes(String classPath, String format) throws IOException {
        Path log = bench.file("classes.log").toAbsolutePath();
        Processes.run(java(classPath, List.of("-Xlog:class+load:file=" + log), List.of(format)));
        try (Stream<String> lines = Files.lines(log)) {
            return lines.filter(line -> line.contains(" source: ") && !line.contains("shared objects file")).count();
        }
    }
}
