package io.undercroft.serializer.internal.loading;

import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.internal.loading.IncrementalChecksum.Kind;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/// Checksums of bytes that arrive in parts.
class IncrementalChecksumTest {
    private static int sum(Kind kind, byte[] bytes) {
        Checksum sum = kind == Kind.CRC32 ? new CRC32() : new CRC32C();
        sum.update(bytes);
        return (int) sum.getValue();
    }

    @ParameterizedTest
    @EnumSource
    void partsInAnyOrderHaveTheChecksumOfAll(Kind kind) {
        Random random = new Random(17);
        for (int size : new int[]{0, 1, 2, 7, 255, 4096, 100_003}) {
            byte[] bytes = new byte[size];
            random.nextBytes(bytes);
            for (int parts = 1; parts < 20; parts++) {
                assertThat(arrived(kind, bytes, sum(kind, bytes), parts, random).matches()).isTrue();
                assertThat(arrived(kind, bytes, sum(kind, bytes) ^ 1, parts, random).matches()).isFalse();
            }
        }
    }

    private static IncrementalChecksum arrived(Kind kind, byte[] bytes, int expected, int parts, Random random) {
        List<Integer> borders = new ArrayList<>(List.of(0, bytes.length));
        for (int i = 1; i < parts; i++) {
            borders.add(random.nextInt(bytes.length + 1));
        }
        Collections.sort(borders);
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < parts; i++) {
            if (borders.get(i) < borders.get(i + 1)) {
                order.add(i);
            }
        }
        Collections.shuffle(order, random);
        IncrementalChecksum run = new IncrementalChecksum(kind, 0, bytes.length, expected);
        for (int part : order) {
            run.add(borders.get(part), MemorySegment.ofArray(bytes).asSlice(borders.get(part),
                    borders.get(part + 1) - borders.get(part)));
        }
        return run;
    }

    @ParameterizedTest
    @EnumSource
    void aPartThatIsMissingOrDamagedDoesNotMatch(Kind kind) {
        byte[] bytes = noise(1000, 3);
        IncrementalChecksum missing = new IncrementalChecksum(kind, 0, 1000, sum(kind, bytes));
        missing.add(0, MemorySegment.ofArray(bytes).asSlice(0, 400));
        missing.add(401, MemorySegment.ofArray(bytes).asSlice(401));
        assertThat(missing.matches()).isFalse();
        IncrementalChecksum damaged = new IncrementalChecksum(kind, 0, 1000, sum(kind, bytes));
        bytes[500] ^= 4;
        damaged.add(300, MemorySegment.ofArray(bytes).asSlice(300));
        damaged.add(0, MemorySegment.ofArray(bytes).asSlice(0, 300));
        assertThat(damaged.matches()).isFalse();
    }

    /// A second run of zeros (as far as the linear part goes) may be combined at once or in halves.
    @ParameterizedTest
    @EnumSource
    void runsMayBeLongerThanWhatFitsIntoMemory(Kind kind) {
        int half = kind.combine(0x12345678, 0, 1L << 40);
        assertThat(kind.combine(half, 0, 1L << 40)).isEqualTo(kind.combine(0x12345678, 0, 1L << 41));
    }
}
