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

    /// Integers of 8 or 16 bits as floats, without the `int`s between. Those without a sign are read as signed ones
    /// that are less by half of their range.
    ///
    /// @param integers the reader of the integers
    record SmallFloats(BlockCodec.SmallIntegers integers) implements BlockReader {
        @Override
        public Values values() {
            return Values.FLOATS;
        }

        @Override
        public void read(MemorySegment bytes, long position, Block block, int count) {
            float[] floats = block.floats();
            if (integers.bits() == 8) {
                bytesToFloats(BlockCodec.readBytes(bytes, position, block, count), floats, count);
            } else {
                shortsToFloats(BlockCodec.readShorts(bytes, position, block, count), floats, count);
            }
        }

        private void bytesToFloats(byte[] stored, float[] floats, int count) {
            if (integers.signed()) {
                for (int i = 0; i < count; i++) {
                    floats[i] = stored[i];
                }
                return;
            }
            for (int i = 0; i < count; i++) {
                stored[i] ^= Byte.MIN_VALUE;
            }
            for (int i = 0; i < count; i++) {
                floats[i] = stored[i] + 0x1p7f;
            }
        }

        private void shortsToFloats(short[] stored, float[] floats, int count) {
            if (integers.signed()) {
                for (int i = 0; i < count; i++) {
                    floats[i] = stored[i];
                }
                return;
            }
            for (int i = 0; i < count; i++) {
                stored[i] ^= Short.MIN_VALUE;
            }
            for (int i = 0; i < count; i++) {
                floats[i] = stored[i] + 0x1p15f;
            }
        }
    }

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
