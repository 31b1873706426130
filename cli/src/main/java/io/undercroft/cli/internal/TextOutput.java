package io.undercroft.cli.internal;

import io.undercroft.format.FormatException;
import java.io.BufferedWriter;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/// Standard output, or a replacement of it in tests. Buffered; call [#flush] before the process ends.
///
/// Unlike a [java.io.PrintStream] it does not swallow failures, so that `croft inspect … | head` ends early and a full
/// disk is reported. They are unchecked and have a separate type, so that they are not mistaken for a failure of the
/// file.
public final class TextOutput extends Writer {
    /// The width of output that is no terminal.
    private static final int UNLIMITED = Integer.MAX_VALUE;
    private static final Pattern COLUMNS = Pattern.compile("[1-9][0-9]{0,4}");

    private final OutputStream stream;
    private final Writer text;
    private final int width;

    /// Standard output could not be written.
    public static final class Failure extends UncheckedIOException {
        private static final long serialVersionUID = 1L;

        private final boolean brokenPipe;

        Failure(IOException cause) {
            super("standard output: " + cause.getMessage(), cause);
            String message = String.valueOf(cause.getMessage());
            brokenPipe = message.contains("Broken pipe") || message.contains("EPIPE");
        }

        /// {@return whether only the reader closed the pipe, as `head` does}
        public boolean isBrokenPipe() {
            return brokenPipe;
        }
    }

    /// Writes to a stream, text in UTF-8.
    ///
    /// @param stream the destination
    public TextOutput(OutputStream stream) {
        this(stream, UNLIMITED);
    }

    /// Writes to a terminal.
    ///
    /// @param stream the destination
    /// @param width its width in characters
    public TextOutput(OutputStream stream, int width) {
        this.stream = stream;
        this.width = width;
        // Without a buffer it would copy every line.
        this.text = new BufferedWriter(new OutputStreamWriter(stream, StandardCharsets.UTF_8));
    }

    /// {@return standard output, independent of the locale; if it is a terminal, with the width that the environment
    /// names, as the script that starts croft sets it}
    public static TextOutput standard() {
        String columns = System.getenv("COLUMNS");
        boolean isKnown = columns != null && COLUMNS.matcher(columns).matches() && ProgressBar.terminal().isPresent();
        return new TextOutput(new FileOutputStream(FileDescriptor.out),
                isKnown ? Integer.parseInt(columns) : UNLIMITED);
    }

    /// {@return the number of characters that a line of a table may have}
    int width() {
        return width;
    }

    /// {@return the stream for bytes, after the text that was written before; to be used instead of this}
    public WritableByteChannel channel() {
        flush();
        return new Bytes(Channels.newChannel(stream));
    }

    /// Writes one line. Text from files may be part of it: what could break the line or command a terminal is
    /// [escaped][FormatException#printable].
    ///
    /// @param line its text, without its end
    public void line(String line) {
        write(FormatException.printable(line));
        write("\n");
    }

    @Override
    public void write(String line) {
        attempt(() -> text.write(line));
    }

    @Override
    public void write(int character) {
        attempt(() -> text.write(character));
    }

    @Override
    public void write(char[] characters, int from, int length) {
        attempt(() -> text.write(characters, from, length));
    }

    @Override
    public void flush() {
        attempt(text::flush);
    }

    @Override
    public void close() {
        attempt(text::close);
    }

    /// Standard output as a channel.
    private record Bytes(WritableByteChannel channel) implements WritableByteChannel {
        @Override
        public int write(ByteBuffer bytes) {
            try {
                return channel.write(bytes);
            } catch (IOException e) {
                throw new Failure(e);
            }
        }

        @Override
        public boolean isOpen() {
            return channel.isOpen();
        }

        @Override
        public void close() {
            attempt(channel::close);
        }
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
