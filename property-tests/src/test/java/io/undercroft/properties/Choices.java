package io.undercroft.properties;

import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.RandomDistribution;

/// Decisions taken one after the other by numbers, each of which decides once. Only what damages files decides by
/// bytes.
///
/// Once they are used up, every decision is for the first possibility. So fewer of them make a simpler thing.
public final class Choices {
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;
    /// Few decisions have so many possibilities.
    private static final int LARGEST = (1 << 20) - 1;

    private final boolean areNumbers;
    private final Iterator<List<Integer>> steps;
    private ByteBuffer bytes;

    /// Creates choices by bytes, of which a decision takes as many as it has possibilities for.
    public Choices(byte... bytes) {
        this.areNumbers = false;
        this.steps = Collections.emptyIterator();
        this.bytes = ByteBuffer.wrap(bytes);
    }

    private Choices(Iterator<List<Integer>> steps) {
        this.areNumbers = true;
        this.steps = steps;
        this.bytes = ByteBuffer.allocate(0);
        next();
    }

    /// Creates choices by numbers.
    public Choices(List<Integer> numbers) {
        this(List.of(numbers).iterator());
    }

    /// {@return choices by the numbers of steps} A step that has fewer numbers, or is missing, leaves the numbers of
    /// the other steps as they are.
    public static Choices inSteps(List<List<Integer>> steps) {
        return new Choices(steps.iterator());
    }

    /// {@return numbers for the decisions of one step}
    ///
    /// @param most how many at most
    public static Arbitrary<List<Integer>> numbers(int most) {
        return Arbitraries.integers().between(0, LARGEST).withDistribution(RandomDistribution.uniform())
                .withoutEdgeCases().list().ofMaxSize(most)
                .withSizeDistribution(RandomDistribution.uniform());
    }

    /// {@return numbers for several steps}
    ///
    /// @param least how many steps at least
    /// @param most how many steps at most
    /// @param mostNumbers how many numbers one has at most
    public static Arbitrary<List<List<Integer>>> steps(int least, int most, int mostNumbers) {
        return numbers(mostNumbers).list().ofMinSize(least).ofMaxSize(most)
                .withSizeDistribution(RandomDistribution.uniform()).withoutEdgeCases();
    }

    /// {@return whether anything is left to decide by} Goes on to the next step if this one is used up.
    public boolean next() {
        while (areUsedUp() && steps.hasNext()) {
            List<Integer> numbers = steps.next();
            bytes = ByteBuffer.allocate(numbers.size() * Integer.BYTES);
            numbers.forEach(bytes::putInt);
            bytes.flip();
        }
        return !areUsedUp();
    }

    /// {@return whether nothing is left to decide by in this step}
    public boolean areUsedUp() {
        return !bytes.hasRemaining();
    }

    /// {@return a number from 0 to `bound - 1`; 0 when this step is used up}
    public int below(int bound) {
        int value = bits(bound <= 256 ? 1 : 4) & 0x7fff_ffff;
        return value % bound;
    }

    public boolean yes() {
        return below(2) == 1;
    }

    /// {@return 64 bits; 0 when this step is used up}
    public long bits() {
        if (areNumbers) {
            // Spread out; none is none.
            return bits(Integer.BYTES) * SPREAD;
        }
        return ((long) bits(4) << 32) | (bits(4) & 0xffff_ffffL);
    }

    /// {@return as many bytes as are left to decide by, up to a count}
    public byte[] bytes(int count) {
        byte[] taken = new byte[Math.min(count, bytes.remaining() / (areNumbers ? Integer.BYTES : 1))];
        for (int i = 0; i < taken.length; i++) {
            taken[i] = (byte) below(256);
        }
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
