package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.PublishedCheckpoint;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
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
    private final Notes wholes = new Notes();
    private final Notes insides = new Notes();
    private String element = "";

    private StartupBenchmark(Bench bench) {
        this.bench = bench;
        this.cache = bench.file("startup.aot").toAbsolutePath();
    }

    static void run(Bench bench) throws IOException {
        new StartupBenchmark(bench).measure();
    }

    private void measure() throws IOException {
        bench.python().ask("make", 10, 64, 64, file("pt"), file("safetensors"));
        try (Checkpoint made = Checkpoint.open(file("safetensors"))) {
            Checkpoint.save(file(CROFT), new LinkedHashMap<>(made.tensors()));
        }
        try (Checkpoint made = Checkpoint.open(file(CROFT));
                PublishedCheckpoint _ = PublishedCheckpoint.publish(name, made)) {
            measure(jars());
        } finally {
            PublishedCheckpoint.unpublish(name);
        }
    }

    private void measure(String classPath) throws IOException {
        Peer.run(java(classPath, List.of("-XX:AOTCacheOutput=" + cache, "-Xlog:disable"), WAYS));
        Map<String, List<String>> commands = commands();
        String python = bench.python().program();
        for (int round = 0; round < bench.rounds(); round++) {
            once("bare Python", List.of(python, "-c", "pass"));
            once(BARE, java(classPath, List.of(), List.of()));
            once(PEER, List.of(python, "-c", PYTHON, file("safetensors").toString()));
            for (String format : WAYS) {
                once("." + format, java(classPath, List.of(), List.of(format)));
                once("." + format + WITH_CACHE, java(classPath, List.of("-XX:AOTCache=" + cache), List.of(format)));
            }
            for (Map.Entry<String, List<String>> command : commands.entrySet()) {
                time(command.getKey(), command.getValue());
            }
        }
        report(commands);
        for (String format : WAYS) {
            Figure count = Figure.count("." + format + ", classes from outside the JDK's archive",
                    classes(classPath, format));
            bench.add(format.equals(ATTACHED) ? count : count.atMost(MOST_CLASSES));
        }
    }

    /// {@return the command lines of croft by their labels: the `java` command alone, and the script} The flags that
    /// the script chooses for Java are printed by a stand-in of a JDK.
    private Map<String, List<String>> commands() throws IOException {
        String script = Path.of(System.getProperty("undercroft.repository", ""), "croft").toAbsolutePath().toString();
        // Builds the command if necessary.
        Peer.run(List.of(script, "--version"));
        Path standIn = bench.file("jdk").toAbsolutePath();
        Path program = Files.createDirectories(standIn.resolve("bin")).resolve("java");
        Files.writeString(program, """
                #!/bin/sh
                printf '%s\\n' "$@"
                """);
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.copy(Path.of(System.getProperty("java.home"), "release"), standIn.resolve("release"));
        Map<String, List<String>> arguments = new LinkedHashMap<>();
        arguments.put("croft --version", List.of(script, "--version"));
        FORMATS.forEach(format -> arguments.put("croft inspect ." + format,
                List.of(script, "inspect", file(format).toString())));
        Map<String, List<String>> commands = new LinkedHashMap<>();
        for (var command : arguments.entrySet()) {
            List<String> printing = Stream.concat(Stream.of("env", "CROFT_JAVA_HOME=" + standIn),
                    command.getValue().stream()).toList();
            commands.put(command.getKey(),
                    Stream.concat(Stream.of(Peer.java()), Peer.run(printing).stream()).toList());
            commands.put(SCRIPT + command.getKey(), command.getValue());
        }
        return commands;
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
        List<String> command = new ArrayList<>(List.of(Peer.java(), "--enable-native-access=ALL-UNNAMED"));
        command.addAll(options);
        command.addAll(List.of("-cp", classPath, StartupPeer.class.getName()));
        formats.forEach(format -> command.add(format.equals(ATTACHED) ? "shm:" + name : file(format).toString()));
        return command;
    }

    private List<String> time(String what, List<String> command) throws IOException {
        long start = System.nanoTime();
        List<String> printed = Peer.run(command);
        wholes.add(what, 1e3 * Contender.since(start));
        return printed;
    }

    private void once(String what, List<String> command) throws IOException {
        List<String> printed = time(what, command);
        if (!printed.isEmpty()) {
            insides.add(what, Double.parseDouble(printed.getFirst()));
            if (!element.isEmpty() && !element.equals(printed.getLast())) {
                throw new IllegalStateException(what + " read " + printed.getLast() + ", the others " + element);
            }
            element = printed.getLast();
        }
    }

    private void report(Map<String, List<String>> commands) {
        wholes.names().forEach(what -> bench.add(Figure.of(what + ", the whole process", wholes.of(what), "ms")));
        insides.names().forEach(what -> bench.add(Figure.of(what + ", in the program", insides.of(what), "ms")));
        for (String format : FORMATS) {
            for (String option : List.of("", WITH_CACHE)) {
                String what = "." + format + option;
                bench.add(ratio(what + ", compared with Python with safetensors", wholes, what, PEER)
                        .atMost(option.isEmpty() ? GOAL : GOAL_WITH_CACHE));
            }
        }
        for (String option : List.of("", WITH_CACHE)) {
            String attached = "." + ATTACHED + option;
            String what = attached + ", compared with opening it, ";
            bench.add(ratio(what + "the whole process", wholes, attached, "." + CROFT + option)
                    .atMost(GOAL_OF_ATTACHING));
            bench.add(ratio(what + "in the program", insides, attached, "." + CROFT + option)
                    .atMost(GOAL_OF_ATTACHING));
        }
        for (String command : commands.keySet()) {
            String what = command + (command.startsWith(SCRIPT) ? ", the script" : ", Java alone");
            Figure figure = ratio(what + ", compared with a bare JVM", wholes, command, BARE);
            bench.add(command.contains(" inspect ") ? figure.atMost(GOAL_OF_THE_COMMAND) : figure);
        }
    }

    private static Figure ratio(String what, Notes times, String one, String other) {
        return Figure.of(what, times.of(one).over(times.of(other)), "x");
    }

    private long classes(String classPath, String format) throws IOException {
        Path log = bench.file("classes.log").toAbsolutePath();
        Peer.run(java(classPath, List.of("-Xlog:class+load:file=" + log), List.of(format)));
        try (Stream<String> lines = Files.lines(log)) {
            return lines.filter(line -> line.contains(" source: ") && !line.contains("shared objects file")).count();
        }
    }
}
