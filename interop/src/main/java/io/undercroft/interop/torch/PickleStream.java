package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.spi.ReadBudget;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/// Pickles, numbers and runs of bytes that are one after the other in a part of a file. Nothing says how long a
/// pickle is, so its end is looked for first; then it is read and run. Belongs to one thread.
final class PickleStream {
    private static final int BUFFER = 1 << 16;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final MappedFile file;
    private final long end;
    private final ReadBudget budget;
    private long position;
    private MemorySegment buffer = MemorySegment.NULL;
    private long buffered;

    /// @param file the file
    /// @param start where the part starts
    /// @param end where it ends, within the file
    /// @param budget what reading the pickles may cost
    PickleStream(MappedFile file, long start, long end, ReadBudget budget) {
        this.file = file;
        this.position = start;
        this.end = end;
        this.budget = budget;
    }

    /// {@return where in the file the next thing starts}
    long position() {
        return position;
    }

    /// {@return whether nothing is left}
    boolean isAtEnd() {
        return position == end;
    }

    /// Runs a pickle.
    ///
    /// @param persistent gives what a persistent id refers to; throws [PickleFault]
    /// @return what it builds
    /// @throws IOException if reading fails
    /// @throws FormatException if it is malformed or asks for anything that is not in the table
    @Nullable
    Object pickle(Function<@Nullable Object, @Nullable Object> persistent) throws IOException {
        long start = position;
        long length = findStop() - start;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pickle = arena.allocate(length, Long.BYTES);
            file.read(start, pickle);
            position = start + length;
            return new Unpickler(new PickleInput(pickle), persistent, budget, file.path().toString()).run(start);
        }
    }

    /// Runs a pickle that refers to nothing outside itself.
    ///
    /// @return what it builds
    /// @throws IOException if reading fails
    /// @throws FormatException if it is malformed or asks for anything that is not in the table
    @Nullable
    Object pickle() throws IOException {
        return pickle(_ -> {
            throw PickleFault.malformed("a persistent id where there is nothing to refer to");
        });
    }

    /// {@return the next 4 bytes as a number}
    ///
    /// @throws IOException if reading fails
    /// @throws FormatException if the part ends before
    int i32() throws IOException {
        return bytes(run(Integer.BYTES), Integer.BYTES).get(INT, 0);
    }

    /// {@return the next 8 bytes as a number}
    ///
    /// @throws IOException if reading fails
    /// @throws FormatException if the part ends before
    long i64() throws IOException {
        return bytes(run(Long.BYTES), Long.BYTES).get(LONG, 0);
    }

    /// {@return how many bytes are left}
    long remaining() {
        return end - position;
    }

    /// {@return whether some bytes further on 8 bytes are a number}
    ///
    /// @param ahead how many bytes further on
    /// @param number the number
    /// @throws IOException if reading fails
    boolean startsWith(long ahead, long number) throws IOException {
        return remaining() - ahead >= Long.BYTES && bytes(position + ahead, Long.BYTES).get(LONG, 0) == number;
    }

    /// Passes over bytes.
    ///
    /// @param nbytes how many
    /// @return where in the file they start
    /// @throws FormatException if the part ends before
    long run(long nbytes) {
        if (nbytes < 0 || nbytes > end - position) {
            throw refused(nbytes + " bytes are due and " + (end - position) + " are left", position);
        }
        long start = position;
        position += nbytes;
        return start;
    }

    /// {@return a refusal of what is at an offset of the file}
    static FormatException refused(String what, long offset) {
        return PickleFault.malformed(what).at("", offset);
    }

    /// Steps over opcodes up to the one that ends the pickle.
    private long findStop() throws IOException {
        long at = position;
        while (at - position < TorchZipFormat.LARGEST_PICKLE) {
            Opcode opcode = opcode(at);
            at++;
            if (opcode == Opcode.STOP) {
                return at;
            }
            long argument = argument(opcode, at);
            if (argument < 0 || argument > end - at) {
                throw refused("the pickle ends too early, in the argument of opcode " + opcode, at);
            }
            at += argument;
        }
        throw new FormatException("TORCH-PICKLE", "the pickle has more than " + TorchZipFormat.LARGEST_PICKLE
                + " bytes", position, "Keep large data in tensors and not in lists");
    }

    private Opcode opcode(long at) throws IOException {
        int code = u8(at);
        try {
            return Opcode.of(code);
        } catch (PickleFault refused) {
            throw refused.at("", at);
        }
    }

    /// {@return the bytes behind an opcode that belong to it}
    private long argument(Opcode opcode, long at) throws IOException {
        return switch (opcode) {
            case PROTO, BININT1, BINGET, BINPUT -> 1;
            case BININT2 -> 2;
            case BININT, LONG_BINGET, LONG_BINPUT -> 4;
            case BINFLOAT, FRAME -> 8;
            case LONG1, SHORT_BINSTRING, SHORT_BINUNICODE, SHORT_BINBYTES -> 1 + u8(at);
            case LONG4, BINSTRING, BINUNICODE, BINBYTES -> 4 + Integer.toUnsignedLong(bytes(at, 4).get(INT, 0));
            case BINUNICODE8, BINBYTES8, BYTEARRAY8 -> {
                long length = bytes(at, 8).get(LONG, 0);
                yield length < 0 || length > end - at ? -1 : 8 + length;
            }
            case GLOBAL -> line(line(at)) - at;
            default -> 0;
        };
    }

    /// {@return what is behind a line}
    private long line(long start) throws IOException {
        long at = start;
        while (u8(at) != '\n') {
            at++;
            if (at - start > PickleInput.LONGEST_LINE) {
                throw refused("a name does not end", start);
            }
        }
        return at + 1;
    }

    private int u8(long at) throws IOException {
        return Byte.toUnsignedInt(bytes(at, 1).get(ValueLayout.JAVA_BYTE, 0));
    }

    /// {@return a few bytes, through a buffer}
    private MemorySegment bytes(long at, int length) throws IOException {
        if (length > end - at) {
            throw refused("the file ends too early", at);
        }
        if (at < buffered || at + length > buffered + buffer.byteSize()) {
            buffer = MemorySegment.ofArray(new byte[(int) Math.min(BUFFER, end - at)]);
            buffered = at;
            file.read(at, buffer);
        }
        return buffer.asSlice(at - buffered, length);
    }
}
