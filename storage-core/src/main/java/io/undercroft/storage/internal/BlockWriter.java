package io.undercroft.storage.internal;

import io.undercroft.storage.internal.Block.Values;
import java.lang.foreign.MemorySegment;

/// Writes runs of elements of one dtype from a [Block].
interface BlockWriter {
    /// {@return which values of a block stand for the elements}
    Values values();

    /// Writes the first values of a block as elements.
    ///
    /// @param block the values
    /// @param bytes where the elements go
    /// @param position how many elements lie before the first
    /// @param count how many
    void write(Block block, MemorySegment bytes, long position, int count);

    /// Complex numbers without an imaginary part.
    ///
    /// @param parts how the parts are written
    record RealParts(BlockWriter parts) implements BlockWriter {
        @Override
        public Values values() {
            return parts.values();
        }

        @Override
        public void write(Block block, MemorySegment bytes, long position, int count) {
            block.addImaginary(values(), count);
            parts.write(block, bytes, Math.multiplyExact(position, 2), 2 * count);
        }
    }
}
