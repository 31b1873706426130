package io.undercroft.testsupport;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;

/// Commands of the operating system.
public final class Commands {
    private Commands() {}

    /// {@return whether a command is there and ends without an error} What it prints is lost.
    public static boolean succeed(String... command) throws InterruptedException {
        try {
            return new ProcessBuilder(command).redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD).start().waitFor() == 0;
        } catch (IOException _) {
            return false;
        }
    }

    /// {@return a path as a word of a script of `sh`, which may have blanks}
    public static String quoted(Path path) {
        return "'" + path.toString().replace("'", "'\\''") + "'";
    }

    /// Makes a named pipe.
    public static void makePipe(Path path) throws InterruptedException {
        assertThat(succeed("mkfifo", path.toString())).isTrue();
    }
}
