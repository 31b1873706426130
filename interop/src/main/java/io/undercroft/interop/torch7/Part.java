package io.undercroft.interop.torch7;

import io.undercroft.serializer.spi.Output;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// A run of bytes of a file that is to be written.
interface Part {
    /// {@return how many bytes, as near as is known}
    long nbytes();

    void writeTo(Output output) throws IOException;

    /// Bytes that are there.
    ///
    /// @param bytes what to write
    record Bytes(MemorySegment bytes) implements Part {
        @Override
        public long nbytes() {
            return bytes.byteSize();
        }

        @Override
        public void writeTo(Output output) throws IOException {
            output.write(bytes);
        }
    }
}
