package io.undercroft.interop.torch7;

import io.undercroft.storage.TypedStorage;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// Puts what objects are made of into parts of a file: the counterpart of [Input]. Belongs to one thread.
abstract sealed class Code permits BinaryCode, AsciiCode {
    private static final int LARGE = 1 << 20;

    private final List<Part> parts = new ArrayList<>();
    private final ByteArrayOutputStream pending = new ByteArrayOutputStream();

    static Code of(Encoding encoding) {
        return encoding == Encoding.ASCII ? new AsciiCode() : new BinaryCode(encoding);
    }

    abstract void writeInt(int value);

    /// Writes values of C's type `long` in one call, which matters in ASCII.
    abstract void writeLongs(long... values);

    abstract void writeDouble(double value);

    /// Writes bytes in one call.
    abstract void writeBytes(byte[] bytes);

    /// Writes whole elements, when the file is written.
    abstract void writeElements(TypedStorage elements);

    /// {@return all that was written}
    List<Part> parts() {
        flush();
        return List.copyOf(parts);
    }

    protected final void put(byte[] bytes) {
        if (bytes.length >= LARGE) {
            put(new Part.Bytes(MemorySegment.ofArray(bytes)));
            return;
        }
        pending.writeBytes(bytes);
        if (pending.size() >= LARGE) {
            flush();
        }
    }

    protected final void put(Part part) {
        flush();
        parts.add(part);
    }

    private void flush() {
        if (pending.size() > 0) {
            parts.add(new Part.Bytes(MemorySegment.ofArray(pending.toByteArray())));
            pending.reset();
        }
    }
}
