package io.undercroft.interop.torch7;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import java.io.IOException;
import java.io.Serial;
import java.lang.foreign.MemorySegment;

/// The bytes of a file, one after the other, through a small buffer. Belongs to one thread.
final class FileBytes {
    /// For those who read a file whole.
    static final long UNLIMITED = Long.MAX_VALUE;
    /// The most bytes that are taken at once, for a string or the code of a function.
    private static final int LONGEST = 1 << 28;

    private static final int BUFFER = 1 << 14;

    private final MappedFile file;
    private final byte[] buffer = new byte[BUFFER];
    private long budget;
    private long position;
    /// Which part of the file the buffer has.
    private long start;
    private int filled;

    /// More was to be read than was allowed. No fault of the file.
    static final class BudgetSpent extends RuntimeException {
        @Serial
        private static final long serialVersionUID = 1;

        BudgetSpent() {
            super("more was to be read than was allowed", null, false, false);
        }
    }

    /// @param file the file
    /// @param position where to begin
    /// @param budget how many bytes may be read, rounded to whole buffers; those that are skipped do not count
    FileBytes(MappedFile file, long position, long budget) {
        this.file = file;
        this.position = position;
        this.budget = budget;
    }

    MappedFile file() {
        return file;
    }

    long position() {
        return position;
    }

    long remaining() {
        return file.size() - position;
    }

    /// {@return the next byte, from 0 to 255, or -1 at the end of the file; it stays the next one}
    int peek() throws IOException {
        if (position < start || position >= start + filled) {
            fill();
        }
        return filled == 0 ? -1 : buffer[(int) (position - start)] & 0xFF;
    }

    /// {@return the next byte, from 0 to 255}
    ///
    /// @throws FormatException if the file ends here
    int next() throws IOException {
        int value = peek();
        if (value < 0) {
            throw Torch7Faults.ends(position);
        }
        position++;
        return value;
    }

    private void fill() throws IOException {
        start = position;
        filled = (int) Math.min(BUFFER, remaining());
        spend(filled);
        file.read(start, MemorySegment.ofArray(buffer).asSlice(0, filled));
    }

    private void spend(long bytes) {
        budget -= bytes;
        if (budget < 0) {
            throw new BudgetSpent();
        }
    }

    /// {@return the next bytes}
    ///
    /// @throws FormatException if the file ends before
    byte[] take(int count) throws IOException {
        require(count);
        if (count > LONGEST) {
            throw Torch7Faults.tooLong(count, position);
        }
        byte[] bytes;
        if (position >= start && position + count <= start + filled) {
            bytes = new byte[count];
            System.arraycopy(buffer, (int) (position - start), bytes, 0, count);
        } else {
            spend(count);
            bytes = new byte[count];
            file.read(position, MemorySegment.ofArray(bytes));
        }
        position += count;
        return bytes;
    }

    /// Passes bytes over without reading them.
    ///
    /// @throws FormatException if the file ends before
    void skip(long count) {
        require(count);
        position += count;
    }

    private void require(long count) {
        if (count > remaining()) {
            throw Torch7Faults.ends(file.size());
        }
    }
}
