package io.undercroft.cli.internal;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;

/// Standard output, or what a test puts in its place. Buffered; [#flush] before the process ends.
///
/// Unlike a [java.io.PrintStream] it does not swallow failures, so that `croft inspect … | head` ends early and a full disk is told.
/// They are unchecked and have a type of their own, so that they are not mistaken for a failure of the file in hand.
public final class Output extends Writer {
    private final Writer target;

    /// Standard output could not be written.
    public static final class Failure extends UncheckedIOException {
        private static final long serialVersionUID = 1L;

        private final boolean brokenPipe;

        Failure(IOException cause) {
            super("standard output: " + cause.getMessage(), cause);
            String message = String.valueOf(cause.getMessage());
            brokenPipe = message.contains("Broken pipe") || message.contains("EPIPE");
        }

        /// {@return whether only the reader went away, as `head` does when it has enough}
        public boolean isBrokenPipe() {
            return brokenPipe;
        }
    }

    /// Writes to `target`.
    ///
    /// @param target where to
    public Output(Writer target) {
        this.target = target;
    }

    /// {@return standard output in UTF-8, whatever the locale}
    public static Output standard() {
        // The writer encodes 8 KiB at a time, which is all the buffer it needs.
        return new Output(new OutputStreamWriter(new FileOutputStream(FileDescriptor.out), StandardCharsets.UTF_8));
    }

    /// Writes one line.
    ///
    /// @param text the line, without its end
    public void line(String text) {
        write(text);
        write("\n");
    }

    @Override
    public void write(String text) {
        attempt(() -> target.write(text));
    }

    @Override
    public void write(int character) {
        attempt(() -> target.write(character));
    }

    @Override
    public void write(char[] characters, int from, int length) {
        attempt(() -> target.write(characters, from, length));
    }

    @Override
    public void flush() {
        attempt(target::flush);
    }

    @Override
    public void close() {
        attempt(target::close);
    }

    private interface Write {
        void run() throws IOException;
    }

    private static void attempt(Write write) {
        try {
            write.run();
        } catch (IOException e) {
            throw new Failure(e);
        }
    }
}
