package io.undercroft.benchmarks;

import java.io.IOException;
import java.util.List;

/// Runs programs.
final class Processes {
    private Processes() {}

    /// Runs a program to its end.
    ///
    /// @param command the command line
    /// @return the lines that it printed
    /// @throws IOException if it fails
    static List<String> run(List<String> command) throws IOException {
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        List<String> printed = process.inputReader().lines().toList();
        if (process.onExit().join().exitValue() != 0) {
            throw new IOException("failed: " + String.join(" ", command));
        }
        return printed;
    }
}
