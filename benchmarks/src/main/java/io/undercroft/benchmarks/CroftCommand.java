package io.undercroft.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;

/// The command `croft` of this repository: the script, and the `java` command that the script runs.
final class CroftCommand {
    private final Path script = Path.of(System.getProperty("undercroft.repository", ""), "croft").toAbsolutePath();
    private final Path java = Path.of(System.getProperty("java.home"));
    private final Path standIn;

    /// Builds the command if necessary.
    ///
    /// @param standIn the directory to create for a stand-in of a JDK, whose `java` prints its arguments
    /// @throws IOException if the command cannot be built
    CroftCommand(Path standIn) throws IOException {
        this.standIn = standIn;
        Processes.run(script("--version"));
        Path program = Files.createDirectories(standIn.resolve("bin")).resolve("java");
        Files.writeString(program, """
                #!/bin/sh
                printf '%s\\n' "$@"
                """);
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.copy(java.resolve("release"), standIn.resolve("release"));
    }

    /// {@return the command line of the script}
    List<String> script(String... arguments) {
        List<String> command = new ArrayList<>(List.of(script.toString()));
        command.addAll(List.of(arguments));
        return command;
    }

    /// {@return the command line of Java, with the flags that the script chooses for these arguments}
    ///
    /// @throws IOException if the script fails
    List<String> java(String... arguments) throws IOException {
        List<String> printing = new ArrayList<>(List.of("env", "CROFT_JAVA_HOME=" + standIn));
        printing.addAll(script(arguments));
        List<String> command = new ArrayList<>(List.of(java.resolve("bin").resolve("java").toString()));
        command.addAll(Processes.run(printing));
        return command;
    }
}
