package io.undercroft.storage.internal;

import io.undercroft.storage.internal.Block.Values;
import java.lang.foreign.MemorySegment;

/// Reads runs of elements of one dtype to a [Block].
interface BlockReader {
    /// {@return the values of a block that represent the elements}
    Values values();

    /// Reads elements to the first values of a block.
    ///
    /// @param bytes the bytes that contain them
    /// @param position the index of the first element
    /// @param block the block for the values
    /// @param count the count
    void read(MemorySegment bytes, long position, Block block, int count);

    /// The real parts of complex numbers.
    ///
    /// @param parts the reader of the parts
    record RealParts(BlockReader parts) implements BlockReader {
        @Override
        public Values values() {
            return parts.values();
        }

        @Override
        public void read(MemorySegment bytes, long position, Block block, int count) {
            parts.read(bytes, Math.multiplyExact(position, 2), block, 2 * count);
            block.keepReal(values(), count);
        }
    }

    /// Complex numbers as something that is 0 only if both parts are.
    ///
    /// @param parts the reader of the parts
    record EitherPart(BlockReader parts) implements BlockReader {
        @Override
        public Values values() {
            return Values.DOUBLES;
        }

        @Override
        public void read(MemorySegment bytes, long position, Block block, int count) {
            parts.read(bytes, Math.multiplyExact(position, 2), block, 2 * count);
            if (parts.values() == Values.FLOATS) {
                block.floatsToDoubles(2 * count);
            }
            block.keepNonZero(count);
        }
    }
}
