package io.undercroft.storage.internal;

import io.undercroft.storage.internal.Block.Values;
import java.lang.foreign.MemorySegment;

/// Writes runs of elements of one dtype from a [Block].
interface BlockWriter {
    /// {@return the values of a block that represent the elements}
    Values values();

    /// Writes the first values of a block as elements.
    ///
    /// @param block the values
    /// @param bytes the destination of the elements
    /// @param position the index of the first element
    /// @param count the count
    void write(Block block, MemorySegment bytes, long position, int count);

    /// A writer of floats as integers of 8 or 16 bits, without a step through `int`s.
    ///
    /// @param integers the writer of the integers
    /// @param truncation how floats become integers
    record SmallFloats(BlockCodec.SmallIntegers integers, Truncation truncation) implements BlockWriter {
        @Override
        public Values values() {
            return Values.FLOATS;
        }

        @Override
        public void write(Block block, MemorySegment bytes, long position, int count) {
            if (integers.bits() == 8) {
                truncation.floatsToBytes(block, count);
                BlockCodec.writeBytes(block, bytes, position, count);
            } else {
                truncation.floatsToShorts(block, count);
                BlockCodec.writeShorts(block, bytes, position, count);
            }
        }
    }

    /// Complex numbers without an imaginary part.
    ///
    /// @param parts the writer of the parts
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
