package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.numpy.ArrayBytes;
import io.undercroft.mmap.MappedFile;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/// The bytes of a pickle, in order, and the storages of the arrays in it.
///
/// Reads a pickle that is stored uncompressed, in place: the elements of its arrays are not read before they are used.
/// One that is compressed was read into memory. For use by one thread.
final class PickleInput {
    private final ByteReader in;
    private final long start;
    private final @Nullable MappedFile file;
    private final @Nullable Storage memory;
    private final String name;
    private final ArrayStorages storages;
    private final boolean isNested;

    private PickleInput(ByteReader in, @Nullable MappedFile file, @Nullable Storage memory, String name,
            ArrayStorages storages, boolean isNested) {
        this.in = in;
        this.start = in.position();
        this.file = file;
        this.memory = memory;
        this.name = name;
        this.storages = storages;
        this.isNested = isNested;
    }

    /// {@return a pickle in a file}
    ///
    /// @param file the file
    /// @param in reads it, from the first byte of the pickle on; other bytes may follow
    /// @param storages makes the storages of arrays
    static PickleInput of(MappedFile file, ByteReader in, ArrayStorages storages) {
        return new PickleInput(in, file, null, file.location(), storages, false);
    }

    /// {@return a pickle in memory}
    ///
    /// @param pickle the pickle; other bytes may follow
    /// @param name the name of the file, for messages
    /// @param storages makes the storages of arrays
    static PickleInput of(MemorySegment pickle, String name, ArrayStorages storages) {
        return new PickleInput(new ByteReader(pickle, PickleInput::tooShort), null, null, name, storages, false);
    }

    /// {@return a pickle in memory, between other things}
    ///
    /// @param in reads it, from the first byte of the pickle on; other bytes may follow
    /// @param memory the memory from its start, if it stays as it is; else arrays are copied from it now
    /// @param name the name of the file, for messages
    /// @param storages makes the storages of arrays
    static PickleInput of(ByteReader in, @Nullable Storage memory, String name, ArrayStorages storages) {
        return new PickleInput(in, null, memory, name, storages, false);
    }

    /// {@return the refusal of a pickle that ends in the middle of something}
    static RuntimeException tooShort(long due, long position, long left) {
        return PickleFault.malformed("the pickle ends too early: " + Long.toUnsignedString(due) + " bytes are due and "
                + left + " are left");
    }

    /// {@return the pickle between the opcodes of this one that is next}
    ///
    /// @throws PickleFault if this one is between the opcodes of another one itself
    PickleInput nested() {
        if (isNested) {
            throw PickleFault.malformed("a pickle is in a pickle that is in another one");
        }
        return new PickleInput(in, file, memory, name, storages, true);
    }

    /// {@return the bytes}
    ByteReader in() {
        return in;
    }

    /// {@return the name of the file}
    String name() {
        return name;
    }

    /// {@return how many bytes have been read}
    long used() {
        return in.position() - start;
    }

    /// {@return how many bytes there are, with those that follow the pickle}
    long size() {
        return in.end() - start;
    }

    /// {@return where a position is in the file, or [FormatException#NO_OFFSET] if the pickle is compressed there}
    long offset(long position) {
        return file == null ? FormatException.NO_OFFSET : position;
    }

    /// {@return bytes that are there}
    ///
    /// @throws IOException if reading fails
    byte[] bytes(long position, long length) throws IOException {
        long here = in.position();
        try {
            return in.at(position).bytes(length);
        } finally {
            in.at(here);
        }
    }

    /// {@return the elements of an array that are the bytes of a string}
    ///
    /// @param run the string
    /// @throws IOException if reading fails
    ArrayBytes elements(ByteString run) throws IOException {
        byte[] decoded = run.decoded();
        if (decoded != null) {
            return storages.inMemory(decoded);
        }
        if (memory != null) {
            return storages.inMemory(memory.slice(run.position(), run.length()));
        }
        return file == null
                ? storages.inMemory(bytes(run.position(), run.length()))
                : storages.inFile(file, run.position(), run.length());
    }

    /// {@return the elements of an array that are bytes in memory}
    ArrayBytes elements(byte[] bytes) {
        return storages.inMemory(bytes);
    }
}
