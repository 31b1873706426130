package io.undercroft.interop.torch;

import io.undercroft.interop.internal.Utf8;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Typed;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.jspecify.annotations.Nullable;

/// A string of bytes in a pickle. It is read when it becomes a value, which the elements of an array never do.
final class ByteString {
    /// The type of the bytes in Python.
    enum Kind {
        /// `bytes`.
        BYTES,
        /// `bytearray`.
        BYTEARRAY,
        /// `str` of Python 2, which had one type for text and bytes.
        STRING
    }

    private final PickleInput input;
    private final long position;
    private final long length;
    private final Kind kind;
    /// The bytes of a string that the pickle has in another form.
    private final byte @Nullable [] decoded;
    private @Nullable Object value;

    /// A string that is stored in the pickle without an encoding.
    ///
    /// @param input the pickle
    /// @param position where it starts there
    /// @param length how many bytes it has, of which all are there
    ByteString(PickleInput input, long position, long length, Kind kind) {
        this.input = input;
        this.position = position;
        this.length = length;
        this.kind = kind;
        this.decoded = null;
    }

    /// A string of Python 2 that the pickle has as a line of text.
    ByteString(PickleInput input, byte[] decoded) {
        this.input = input;
        this.position = 0;
        this.length = decoded.length;
        this.kind = Kind.STRING;
        this.decoded = decoded;
    }

    /// {@return where it starts in the pickle}
    long position() {
        return position;
    }

    /// {@return how many bytes it has}
    long length() {
        return length;
    }

    /// {@return the bytes of a string that the pickle has in another form, or null}
    byte @Nullable [] decoded() {
        return decoded;
    }

    /// {@return the value that it is in a state, always the same}
    ///
    /// @param budget what running the pickle may cost
    Object value(ReadBudget budget) {
        Object known = value;
        if (known == null) {
            byte[] bytes = bytes(budget);
            known = switch (kind) {
                case BYTES -> bytes;
                case BYTEARRAY -> {
                    budget.takeMemory(ReadBudget.CONTAINER);
                    yield new Typed(Globals.BYTEARRAY, bytes);
                }
                // As in PyTorch.
                case STRING -> Utf8.textOrBytes(bytes);
            };
            value = known;
        }
        return known;
    }

    /// {@return the bytes, which are read unless the pickle has them in another form}
    ///
    /// @param budget what running the pickle may cost
    byte[] bytes(ReadBudget budget) {
        if (decoded != null) {
            return decoded;
        }
        budget.takeText(length);
        try {
            return input.bytes(position, length);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
