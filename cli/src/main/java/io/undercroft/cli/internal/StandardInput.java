package io.undercroft.cli.internal;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;

/// Standard input as a file, `-` on the command line. Formats need random access, which a pipe does not have, so all
/// bytes are first copied to a temporary file, which is deleted before the process ends.
public final class StandardInput {
    /// The name of standard input in messages.
    public static final String NAME = "standard input";
    private static final String ON_COMMAND_LINE = "-";
    private static final int BUFFER = 1 << 17;
    private static final String PREFIX = "croft-standard-input-";
    private static final Path DIRECTORY = Path.of(System.getProperty("java.io.tmpdir"));
    private static final Pattern COPY = Pattern.compile(Pattern.quote(DIRECTORY.resolve(PREFIX).toString()) + "[0-9]+");

    private StandardInput() {}

    /// {@return whether a file on the command line is standard input}
    ///
    /// @param file the file
    public static boolean isMeant(Path file) {
        return file.toString().equals(ON_COMMAND_LINE);
    }

    /// {@return a text in which words replace the path of the temporary file}
    ///
    /// @param text any text
    public static String shown(String text) {
        return text.contains(PREFIX) ? COPY.matcher(text).replaceAll(NAME) : text;
    }

    /// Opens the file on standard input.
    ///
    /// @param options the options for opening it
    /// @return the open file
    /// @throws IOException if it cannot be read or copied
    public static Checkpoint open(OpenOptions options) throws IOException {
        Path copy = Files.createTempFile(DIRECTORY, PREFIX, "");
        // This deletes the file if the process is terminated before it is deleted below.
        copy.toFile().deleteOnExit();
        try {
            try (OutputStream out = Files.newOutputStream(copy)) {
                copyTo(out);
            } catch (IOException e) {
                throw new FileSystemException(NAME, null, "it could not be copied to " + DIRECTORY + ": "
                        + e.getMessage() + ". JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=DIR names another directory");
            }
            return Checkpoint.open(copy, options);
        } finally {
            // The open file stays readable without its name.
            Files.deleteIfExists(copy);
        }
    }

    private static void copyTo(OutputStream out) throws IOException {
        try (ProgressBar bar = ProgressBar.onTerminal()) {
            byte[] buffer = new byte[BUFFER];
            long copied = 0;
            for (int n = System.in.read(buffer); n >= 0; n = System.in.read(buffer)) {
                out.write(buffer, 0, n);
                copied += n;
                bar.advanced(copied);
            }
        }
    }
}
