package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/// Pickles, numbers and runs of bytes that are one after the other in a part of a file. For use by one thread.
final class PickleStream {
    private final @Nullable MappedFile file;
    /// Keeps the memory of the pickles, if arrays may use it later.
    private final @Nullable Storage memory;
    private final String name;
    private final ReadBudget budget;
    private final ByteReader in;

    /// @param file the file
    /// @param start where the part starts
    /// @param end where it ends, within the file
    /// @param budget what reading the pickles may cost
    PickleStream(MappedFile file, long start, long end, ReadBudget budget) {
        this.file = file;
        this.memory = null;
        this.name = file.location();
        this.budget = budget;
        this.in = new ByteReader(file, start, end,
                (due, position, left) -> refused(due + " bytes are due and " + left + " are left", position));
    }

    /// @param bytes the part, in memory
    /// @param name the name of the file that it is from
    /// @param budget what reading the pickles may cost
    PickleStream(MemorySegment bytes, String name, ReadBudget budget) {
        this(bytes, null, name, budget);
    }

    /// @param bytes the part, in memory that stays as it is; arrays are copied from it when they are touched
    /// @param name the name of the file that it is from
    /// @param budget what reading the pickles may cost
    PickleStream(Storage bytes, String name, ReadBudget budget) {
        this(bytes.segment(), bytes, name, budget);
    }

    private PickleStream(MemorySegment bytes, @Nullable Storage memory, String name, ReadBudget budget) {
        this.file = null;
        this.memory = memory;
        this.name = name;
        this.budget = budget;
        this.in = new ByteReader(bytes,
                (due, position, left) -> refused(due + " bytes are due and " + left + " are left", position));
    }

    /// {@return the numbers between pickles, and the bytes of storages}
    ByteReader bytes() {
        return in;
    }

    /// {@return where in the file the next thing starts}
    long position() {
        return in.position();
    }

    /// Runs a pickle.
    ///
    /// @param references what the pickle refers to
    /// @param names receives the names that are not in the table
    /// @param arrays makes the storages of arrays
    /// @return what it builds
    /// @throws IOException if reading fails
    /// @throws FormatException if it is malformed, or uses a name that it may not use
    @Nullable
    Object pickle(Unpickler.References references, ForeignNames names, ArrayStorages arrays) throws IOException {
        PickleInput input = file == null
                ? PickleInput.of(in, memory, name, arrays)
                : PickleInput.of(file, in, arrays);
        return new Unpickler(input, references, names, budget).run();
    }

    /// Runs a pickle that refers to nothing outside itself.
    ///
    /// @return what it builds
    /// @throws IOException if reading fails
    /// @throws FormatException if it is malformed or uses anything that is not in the table
    @Nullable
    Object pickle() throws IOException {
        return pickle(Unpickler.References.NONE, ForeignNames.ofTensors(), ArrayStorages.ofSizes());
    }

    /// {@return whether some bytes further on 8 bytes are a number}
    ///
    /// @param ahead how many bytes further on
    /// @param number the number
    /// @throws IOException if reading fails
    boolean startsWith(long ahead, long number) throws IOException {
        long here = in.position();
        boolean found = in.remaining() - ahead >= Long.BYTES && in.at(here + ahead).i64() == number;
        in.at(here);
        return found;
    }

    /// {@return a refusal of what is at an offset of the file}
    static FormatException refused(String what, long offset) {
        return PickleFault.malformed(what).at("", offset);
    }

    /// {@return the next opcode, which is stepped over with its argument}
    ///
    /// @throws IOException if reading fails
    /// @throws FormatException if there is none
    Opcode skip() throws IOException {
        Opcode opcode = opcode();
        long at = in.position();
        long argument = argument(opcode);
        if (argument < 0 || argument > in.remaining()) {
            throw refused("the pickle ends too early, in the argument of opcode " + opcode, at);
        }
        in.skip(argument);
        return opcode;
    }

    private Opcode opcode() throws IOException {
        long at = in.position();
        int code = in.u8();
        try {
            return Opcode.of(code);
        } catch (PickleFault refused) {
            throw refused.at("", at);
        }
    }

    /// {@return the bytes of the argument of an opcode, without the field for their length}
    private long argument(Opcode opcode) throws IOException {
        return switch (opcode) {
            case PROTO, BININT1, BINGET, BINPUT, EXT1 -> 1;
            case BININT2, EXT2 -> 2;
            case BININT, LONG_BINGET, LONG_BINPUT, EXT4 -> 4;
            case BINFLOAT, FRAME -> 8;
            case LONG1, SHORT_BINSTRING, SHORT_BINUNICODE, SHORT_BINBYTES -> in.u8();
            case LONG4, BINSTRING, BINUNICODE, BINBYTES -> in.u32();
            case BINUNICODE8, BINBYTES8, BYTEARRAY8 -> in.i64();
            case GLOBAL, INST -> {
                skipLine(Unpickler.LONGEST_LINE);
                skipLine(Unpickler.LONGEST_LINE);
                yield 0;
            }
            case INT, LONG, FLOAT, GET, PUT, PERSID -> {
                skipLine(PickleText.LONGEST_NUMBER);
                yield 0;
            }
            case STRING, UNICODE -> {
                skipLine(TorchZipFormat.LARGEST_PICKLE);
                yield 0;
            }
            default -> 0;
        };
    }

    private void skipLine(long longest) throws IOException {
        long start = in.position();
        while (in.u8() != '\n') {
            if (in.position() - start > longest) {
                throw refused("a line does not end", start);
            }
        }
    }
}
