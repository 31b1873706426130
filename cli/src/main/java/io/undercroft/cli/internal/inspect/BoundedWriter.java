package io.undercroft.cli.internal.inspect;

import io.undercroft.format.FormatException;
import java.io.Writer;
import java.util.function.Supplier;

/// Counts what is written, and forgets it.
final class BoundedWriter extends Writer {
    private final Supplier<FormatException> tooLong;
    private long left;

    /// @param most the maximum number of characters
    /// @param tooLong makes what is thrown if there are more
    BoundedWriter(long most, Supplier<FormatException> tooLong) {
        this.left = most;
        this.tooLong = tooLong;
    }

    @Override
    public void write(char[] characters, int from, int length) {
        left -= length;
        if (left < 0) {
            throw tooLong.get();
        }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
}
