package io.undercroft.properties.torch7;

import io.undercroft.properties.torch7.ObservedCase.Step;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/// Carries out the lines of one case, in a directory that is its working directory.
final class CaseRun implements AutoCloseable {
    /// When Torch7 was asked, in seconds: the time is part of some of its answers.
    private static final double ASKED_AT = 1795247880;
    /// What commands find: the rights that Torch7's files had, and a `luajit` that is a second JVM with our storages.
    private static final String PRELUDE = """
            umask 022
            luajit() {
                "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED "$MAIN" "$2"
            }
            """;

    private final Path directory;
    private final LuaProcess lua;

    CaseRun(Path directory) throws IOException {
        this.directory = directory;
        this.lua = new LuaProcess(directory);
        // It held the case itself when Torch7 was asked, and one case lists it.
        Files.createFile(directory.resolve("case.lua"));
        lua.define("sh", LuaFunction.of(arguments -> shell(LuaValues.print(arguments.get(1)))));
        lua.define("os", new LuaTable().with("time", LuaFunction.of(_ -> ASKED_AT)));
    }

    /// Carries out the next line.
    Outcome run(Step step) {
        try {
            String result = Notation.of(lua.run(step.lua()));
            return Outcome.of(result, withoutLastLineFeeds(lua.takePrinted()));
        } catch (Exception | OutOfMemoryError e) {
            return Outcome.of(e);
        }
    }

    @Override
    public void close() {
        lua.close();
    }

    /// What a command prints, errors too, in the language of Torch7's answers.
    private String shell(String command) {
        ProcessBuilder shell = new ProcessBuilder("/bin/sh", "-c", PRELUDE + command)
                .directory(directory.toFile()).redirectErrorStream(true);
        shell.environment().putAll(Map.of("LC_ALL", "C", "JAVA_HOME", System.getProperty("java.home"), "CLASSPATH",
                System.getProperty("java.class.path"), "MAIN", LuaProcess.class.getName()));
        try {
            byte[] output = shell.start().getInputStream().readAllBytes();
            return withoutLastLineFeeds(new String(output, StandardCharsets.ISO_8859_1));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String withoutLastLineFeeds(String text) {
        return text.replaceAll("\n+$", "");
    }
}
