package io.undercroft.format.internal.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import java.util.stream.LongStream;
import net.openhft.chronicle.bytes.Bytes;
import org.junit.jupiter.api.Test;

/// Chronicle Bytes is the reference for the stop-bit encoding of numbers.
class TreeBytesTest {
    @Test
    void numbersAreEncodedAsChronicleEncodesThem() {
        SplittableRandom random = new SplittableRandom(7);
        LongStream edges = LongStream.range(0, Long.SIZE - 1).flatMap(bit -> LongStream.of((1L << bit) - 1, 1L << bit));
        LongStream others = random.longs(1000, 0, Long.MAX_VALUE).map(value -> value >>> random.nextInt(Long.SIZE));
        Bytes<?> expected = Bytes.allocateElasticOnHeap();
        TreeBytes written = new TreeBytes();
        LongStream.concat(LongStream.concat(edges, LongStream.of(Long.MAX_VALUE)), others).forEach(value -> {
            expected.writeStopBit(value);
            written.number(value);
        });

        assertThat(written.toByteArray()).isEqualTo(expected.toByteArray());
    }

    @Test
    void fieldsOfAllWidthsAreWrittenAsChronicleWritesThem() {
        SplittableRandom random = new SplittableRandom(8);
        Bytes<?> expected = Bytes.allocateElasticOnHeap();
        TreeBytes written = new TreeBytes();
        for (int i = 0; i < 100; i++) {
            long value = random.nextLong();
            byte[] run = new byte[random.nextInt(300)];
            random.nextBytes(run);
            expected.writeByte((byte) value).writeShort((short) value).writeInt((int) value).writeLong(value);
            expected.write(run);
            written.u8((int) value);
            written.fixed(value, Short.BYTES);
            written.fixed(value, Integer.BYTES);
            written.fixed(value, Long.BYTES);
            written.bytes(run);
        }

        assertThat(written.toByteArray()).isEqualTo(expected.toByteArray());
        assertThat(written.size()).isEqualTo((int) expected.writePosition());
    }
}
