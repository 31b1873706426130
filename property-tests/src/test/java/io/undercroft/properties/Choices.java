package io.undercroft.properties;

import java.nio.ByteBuffer;
import java.util.List;

/// Decisions taken one after the other: those of one step of a [ChainModel] from numbers, and those of makers that have
/// no sketch from a run of bytes.
///
/// Once they are used up, every decision is for the first possibility. So fewer of them make a simpler thing.
public final class Choices {
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    private final ByteBuffer bytes;
    private final boolean areNumbers;

    public Choices(byte... bytes) {
        this.bytes = ByteBuffer.wrap(bytes);
        this.areNumbers = false;
    }

    /// Creates choices by numbers, each of which decides once.
    public Choices(List<Integer> numbers) {
        this.bytes = ByteBuffer.allocate(numbers.size() * Integer.BYTES);
        numbers.forEach(bytes::putInt);
        bytes.flip();
        this.areNumbers = true;
    }

    public boolean areUsedUp() {
        return !bytes.hasRemaining();
    }

    /// {@return a number from 0 to `bound - 1`; 0 when the bytes are used up}
    public int below(int bound) {
        int value = bits(bound <= 256 ? 1 : 4) & 0x7fff_ffff;
        return value % bound;
    }

    public boolean yes() {
        return below(2) == 1;
    }

    /// {@return 64 bits; 0 when the bytes are used up}
    public long bits() {
        if (areNumbers) {
            // Spread out; none is none.
            return bits(Integer.BYTES) * SPREAD;
        }
        return ((long) bits(4) << 32) | (bits(4) & 0xffff_ffffL);
    }

    /// {@return as many bytes as are left, up to a count}
    public byte[] bytes(int count) {
        byte[] taken = new byte[Math.min(count, bytes.remaining())];
        bytes.get(taken);
        return taken;
    }

    public <T> T of(List<T> possibilities) {
        return possibilities.get(below(possibilities.size()));
    }

    private int bits(int count) {
        int value = 0;
        for (int i = 0; i < (areNumbers ? Integer.BYTES : count); i++) {
            value = (value << 8) | (bytes.hasRemaining() ? bytes.get() & 0xff : 0);
        }
        return value;
    }
}
