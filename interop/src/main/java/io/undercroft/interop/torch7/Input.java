package io.undercroft.interop.torch7;

import io.undercroft.interop.internal.ByteReader;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.storage.DType;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/// A reader of the parts of objects, in the order of the file. For use by one thread. What exceeds the rest of the file
/// is refused before any memory is allocated for it.
abstract sealed class Input permits BinaryInput, AsciiInput {
    /// The most bytes that are taken at once, for a string or the code of a function.
    private static final int LONGEST = 1 << 28;

    protected final MappedFile file;
    protected final ByteReader bytes;

    /// @param file the file
    /// @param start where the first object begins
    /// @param limits how much is read
    Input(MappedFile file, long start, ByteReader.Limits limits) {
        this.file = file;
        this.bytes = new ByteReader(file, start, file.size(), limits);
    }

    /// Elements of a storage, which are not read yet.
    ///
    /// @param offset where they begin in the file, in bytes
    /// @param nbytes how many bytes they have in memory
    /// @param decoder how they are read, or null if they are in the file as in memory
    record Elements(long offset, long nbytes, FileStorages.@Nullable Decoder decoder) {}

    /// {@return the objects of a file from its start}
    static Input of(Encoding encoding, MappedFile file) {
        return of(encoding, file, Torch7Faults::tooShort);
    }

    /// {@return the objects of a file from its start}
    ///
    /// @param limits how much of it is read
    static Input of(Encoding encoding, MappedFile file, ByteReader.Limits limits) {
        return encoding == Encoding.ASCII ? new AsciiInput(file, 0, limits) : new BinaryInput(encoding, file, limits);
    }

    long position() {
        return bytes.position();
    }

    long remaining() {
        return bytes.remaining();
    }

    /// {@return whether no object follows} White space at the end of a text is none.
    boolean isAtEnd() throws IOException {
        return remaining() == 0;
    }

    /// {@return whether everything up to now is laid out as Torch7 does; it reads more than it writes}
    boolean isTidy() {
        return true;
    }

    /// {@return the fewest bytes that an object takes}
    abstract int smallestObject();

    abstract int readInt() throws IOException;

    /// {@return one value of C's type `long`}
    long readLong() throws IOException {
        return readLongs(1)[0];
    }

    /// Reads values of C's type `long` that were written in one call, which matters in ASCII.
    abstract long[] readLongs(int count) throws IOException;

    abstract double readDouble() throws IOException;

    /// Reads bytes that were written in one call.
    ///
    /// @param count how many; not negative
    byte[] readBytes(int count) throws IOException {
        bytes.require(count);
        if (count > LONGEST) {
            throw Torch7Faults.of("STRING", "a string of " + count + " bytes, more than are read into memory",
                    position());
        }
        return bytes.bytes(count);
    }

    /// Passes elements over.
    ///
    /// @param dtype their type
    /// @param count how many; not negative
    abstract Elements skipElements(DType dtype, long count) throws IOException;
}
