package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.Digest128;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ChecksumsTest {
    @Test
    void crc32cHasItsPublishedCheckValue() {
        assertThat(Checksums.crc32c(segment("123456789".getBytes(StandardCharsets.US_ASCII)))).isEqualTo(0xE3069283);
    }

    @Test
    void xxh3OfNothingIsItsPublishedValue() {
        assertThat(Digest128.of(segment())).hasToString("99aa06d3014798d86001c324468d497f");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 17, 240, 241, 65_535, 65_536, 65_537, 300_000})
    void sumsDoNotDependOnWhereTheBytesLieOrHowTheyAreFed(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment offHeap = arena.allocate(length);
            MemorySegment.copy(segment(bytes), 0, offHeap, 0, length);
            assertThat(Checksums.crc32c(offHeap)).isEqualTo(Checksums.crc32c(segment(bytes)));
            assertThat(Digest128.of(offHeap)).isEqualTo(Digest128.of(segment(bytes)));
            assertThat(fedInPieces(offHeap).digest()).isEqualTo(Digest128.of(offHeap));
            assertThat(fedInPieces(offHeap).checksum()).isEqualTo(Checksums.crc32c(offHeap));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 65_537, 262_144, 300_000})
    void copyingSumsUpWhatItCopies(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        MemorySegment copy = segment(new byte[length]);
        ExtentDigester digester = new ExtentDigester();
        digester.copy(segment(bytes), copy);
        ExtentSums sums = digester.finish();
        assertThat(copy.mismatch(segment(bytes))).isEqualTo(-1);
        assertThat(sums).isEqualTo(fedInPieces(copy));
    }

    private static ExtentSums fedInPieces(MemorySegment bytes) {
        ExtentDigester digester = new ExtentDigester();
        for (long at = 0; at < bytes.byteSize(); at += 777) {
            digester.update(bytes.asSlice(at, Math.min(777, bytes.byteSize() - at)));
        }
        return digester.finish();
    }

    private static MemorySegment segment(byte... bytes) {
        return MemorySegment.ofArray(bytes);
    }
}
