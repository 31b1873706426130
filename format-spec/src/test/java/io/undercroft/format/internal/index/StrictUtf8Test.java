package io.undercroft.format.internal.index;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class StrictUtf8Test {
    /// The first and the last byte of each range that the table of RFC 3629 has, and those next to them.
    private static final int[] FOLLOWING = {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF};

    private final CharsetDecoder strict = StandardCharsets.UTF_8.newDecoder();

    @Test
    void whatIsValidIsWhatTheDecoderOfTheJdkDecodes() {
        for (int lead = 0; lead < 256; lead++) {
            assertAsTheJdk(lead);
            for (int second : FOLLOWING) {
                assertAsTheJdk(lead, second);
                for (int third : FOLLOWING) {
                    assertAsTheJdk(lead, second, third);
                    for (int fourth : FOLLOWING) {
                        assertAsTheJdk(lead, second, third, fourth);
                    }
                }
            }
        }
    }

    private void assertAsTheJdk(int... sequence) {
        byte[] bytes = new byte[sequence.length];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) sequence[i];
        }
        if (StrictUtf8.isValid(MemorySegment.ofArray(bytes), 0, bytes.length) != isDecoded(bytes)) {
            // Only here, as the text of a description takes longer than the check.
            assertThat(bytes).as("valid as UTF-8: %s", isDecoded(bytes)).isNull();
        }
    }

    private boolean isDecoded(byte[] bytes) {
        try {
            strict.decode(ByteBuffer.wrap(bytes));
            return true;
        } catch (CharacterCodingException e) {
            return false;
        }
    }

    @Test
    void aByteThatIsNotAsciiIsFoundAtAnyPlaceOfATextOfAnyLength() {
        for (int length = 1; length < 20; length++) {
            for (int at = 0; at < length; at++) {
                byte[] bytes = new byte[length + 2];
                Arrays.fill(bytes, (byte) 'a');
                bytes[at + 1] = (byte) 0xFF;
                MemorySegment segment = MemorySegment.ofArray(bytes);

                assertThat(StrictUtf8.isValid(segment, 1, length)).isFalse();
                assertThat(StrictUtf8.isValid(segment, 1, at)).isTrue();
                assertThat(StrictUtf8.isValid(segment, at + 2L, length - at)).isTrue();
            }
        }
    }

    @Test
    void rangesAreComparedFromTheirStarts() {
        MemorySegment left = MemorySegment.ofArray("__ab".getBytes(StandardCharsets.US_ASCII));
        MemorySegment right = MemorySegment.ofArray("abc\u007F".getBytes(StandardCharsets.US_ASCII));

        assertThat(StrictUtf8.compare(left, 2, 4, right, 0, 2)).isZero();
        assertThat(StrictUtf8.compare(left, 2, 4, right, 0, 3)).isNegative();
        assertThat(StrictUtf8.compare(right, 0, 3, left, 2, 4)).isPositive();
        assertThat(StrictUtf8.compare(left, 2, 3, right, 1, 2)).isNegative();
        assertThat(StrictUtf8.compare(MemorySegment.ofArray(new byte[]{(byte) 0xC3}), right)).isPositive();
    }

    @Test
    void unpairedSurrogatesAreNotEncoded() {
        assertThat(StrictUtf8.encode("größer 🗃")).isEqualTo("größer 🗃".getBytes(StandardCharsets.UTF_8));
        assertThatIllegalArgumentException().isThrownBy(() -> StrictUtf8.encode("a\uD800b"));
        assertThatIllegalArgumentException().isThrownBy(() -> StrictUtf8.encode("\uDC00"));
    }
}
