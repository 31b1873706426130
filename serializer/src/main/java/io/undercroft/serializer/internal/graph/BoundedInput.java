package io.undercroft.serializer.internal.graph;

import com.esotericsoftware.kryo.KryoException;
import com.esotericsoftware.kryo.io.Input;
import org.jspecify.annotations.Nullable;

/// The bytes of one object, for Kryo to read.
///
/// Kryo allocates the length that it reads before it checks for the bytes: six of them can require eight gigabytes.
/// Here a length is compared with the bytes that are left first.
final class BoundedInput extends Input {
    BoundedInput(byte[] bytes) {
        super(bytes);
    }

    /// {@return the number of bytes that have not been read}
    int left() {
        return limit() - position();
    }

    /// Only texts that are not ASCII have their length, plus one: 0 is null.
    @Override
    public @Nullable String readString() {
        int start = position();
        if (readVarIntFlag()) {
            int length = readVarIntFlag(true) - 1;
            // Each character takes a byte at least.
            if (length < -1 || length > left()) {
                throw new KryoException("a length of " + length + " where " + left() + " bytes are left");
            }
        }
        setPosition(start);
        return super.readString();
    }
}
