package io.undercroft.format.internal.index;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

class LittleEndianTest {
    private static final int LONGEST = 25;

    @Test
    void rangesAreTheSameIfEachOfTheirBytesIs() {
        for (int length = 0; length < LONGEST; length++) {
            for (int at = -1; at <= length; at++) {
                MemorySegment bytes = counting();
                MemorySegment others = counting().asSlice(2);
                others.set(ValueLayout.JAVA_BYTE, 1L + at, (byte) -1);
                boolean isOutside = at < 0 || at == length;

                assertThat(LittleEndian.haveSameBytes(bytes, 3, others, 1, length)).as("byte %s of %s", at, length)
                        .isEqualTo(isOutside);
            }
        }
    }

    private static MemorySegment counting() {
        byte[] bytes = new byte[LONGEST + 4];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) i;
        }
        return MemorySegment.ofArray(bytes);
    }

    @Test
    void theFirstByteThatIsNotZeroIsNamed() {
        for (int length = 1; length < LONGEST; length++) {
            for (int at = 0; at < length; at++) {
                byte[] bytes = new byte[LONGEST + 2];
                bytes[1 + at] = 1;
                bytes[1 + length] = 1;
                MemorySegment segment = MemorySegment.ofArray(bytes);
                long to = 1L + length;
                long expected = 1000L + 1 + at;

                assertThat(LittleEndian.isZero(segment, 1, 1L + at)).isTrue();
                assertThat(LittleEndian.isZero(segment, 1, to)).isFalse();
                assertThatExceptionOfType(FormatException.class)
                        .isThrownBy(() -> LittleEndian.requireZero(segment, 1, to, 1000, "a test"))
                        .satisfies(e -> assertThat(e.offset()).isEqualTo(expected));
            }
        }
    }
}
