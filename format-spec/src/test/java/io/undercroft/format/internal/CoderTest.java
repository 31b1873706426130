package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdCompressCtx;
import io.undercroft.format.FormatException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Section 11.5 of `SPEC.md`: coding and decoding an extent.
class CoderTest {
    private static final long PLACE = 4096;
    private static final int SIZE = 200;
    private static final int FRAME = 0xFD2F_B528;
    private static final int SKIPPABLE = 0x184D_2A50;

    /// Bytes that can be coded: of few values, of one, of numbers that are near to each other, of NaNs.
    private static List<byte[]> patterns(int length) {
        byte[] few = new byte[length];
        byte[] same = new byte[length];
        ByteBuffer floats = ByteBuffer.allocate(length + Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer nans = ByteBuffer.allocate(length + Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        Random random = new Random(length);
        for (int i = 0; i < length; i++) {
            few[i] = (byte) random.nextInt(3);
        }
        Arrays.fill(same, (byte) 0xFF);
        for (int i = 0; i < length; i += Float.BYTES) {
            floats.putFloat(i, 1 + random.nextInt(64) / 64f);
            nans.putInt(i, random.nextBoolean() ? 0x7FC0_1234 : 0xFFFF_FFFF);
        }
        return List.of(few, same, Arrays.copyOf(floats.array(), length), Arrays.copyOf(nans.array(), length));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4, 8})
    void bytesOfAnyWidthAndLengthComeBack(int width) throws IOException {
        for (int elements : new int[]{100, 101, 127, 1001, 8192}) {
            for (byte[] bytes : patterns(width * elements)) {
                assertThat(decoded(width, coded(width, bytes, null), bytes.length, null)).isEqualTo(bytes);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4, 8})
    void bytesComeBackWithTheHelpOfTheirReference(int width) throws IOException {
        for (int elements : new int[]{100, 101, 127, 1001, 8192}) {
            byte[] reference = new byte[width * elements];
            new Random(elements).nextBytes(reference);
            for (byte[] change : patterns(reference.length)) {
                byte[] bytes = changed(width, reference, change);
                byte[] coded = coded(width, bytes, reference);
                assertThat(decoded(width, coded, bytes.length, reference)).isEqualTo(bytes);
                assertThat(coded).as("the change is coded").isEqualTo(coded(width, change, null));
            }
        }
    }

    /// Adds to each element a number that the planes have: 0, 1, 2, 3 and 4 are 0, -1, 1, -2 and 2.
    private static byte[] changed(int width, byte[] reference, byte[] planes) {
        byte[] sums = new byte[reference.length];
        for (int at = 0; at < sums.length; at += width) {
            BigInteger number = element(width, planes, at);
            BigInteger half = number.shiftRight(1);
            BigInteger sum = element(width, reference, at).add(number.testBit(0) ? half.not() : half);
            for (int i = 0; i < width; i++) {
                sums[at + i] = sum.shiftRight(Byte.SIZE * i).byteValue();
            }
        }
        return sums;
    }

    private static BigInteger element(int width, byte[] bytes, int at) {
        BigInteger number = BigInteger.ZERO;
        for (int i = width - 1; i >= 0; i--) {
            number = number.shiftLeft(Byte.SIZE).or(BigInteger.valueOf(bytes[at + i] & 0xFF));
        }
        return number;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4, 8})
    void thereIsAFrameForEachPlaneOfTheSpecification(int width) {
        for (byte[] bytes : patterns(width * 133)) {
            byte[] coded = coded(width, bytes, null);
            int elements = bytes.length / width;
            int at = 0;
            for (int j = 0; j < width; j++) {
                int frame = (int) Zstd.findFrameCompressedSize(coded, at);
                byte[] plane = Zstd.decompress(Arrays.copyOfRange(coded, at, at + frame), elements);
                for (int i = 0; i < elements; i++) {
                    assertThat(plane[i]).isEqualTo(bytes[i * width + j]);
                }
                at += frame;
            }
        }
    }

    @Test
    void theWidthIsThatOfElementsThatMakeUpTheBytes() {
        assertThat(Coding.width(4, 4096)).isEqualTo(4);
        assertThat(Coding.width(16, 4096)).isEqualTo(8);
        assertThat(Coding.width(6, 4096)).isEqualTo(2);
        assertThat(Coding.width(3, 4096)).isEqualTo(1);
        assertThat(Coding.width(8, 1002)).isEqualTo(2);
        assertThat(Coding.width(8, 1001)).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(ints = {1 << 10, 1 << 16, (1 << 20) - 3, 1 << 20, 1 << 22})
    void bytesThatAreAllTheSameArePaddedToWhatReadersAccept(int length) throws IOException {
        byte[] zeros = new byte[length];
        byte[] coded = coded(1, zeros, null);
        assertThat((long) coded.length).isBetween(Coding.leastLength(length), Coding.leastLength(length) + 32);
        assertThat(decoded(1, coded, length, null)).isEqualTo(zeros);
        assertThat(Features.coding(1, coded, 0, 0, false).fits(length)).isTrue();
    }

    @Test
    void bytesThatDoNotBecomeFewerAreNotCoded() {
        try (Coder coder = Coder.open()) {
            for (int length : new int[]{1, 8, 9, 15, 16, 1000, 1 << 16, 1 << 20}) {
                byte[] bytes = new byte[length];
                new Random(length).nextBytes(bytes);
                assertThat(coder.code(MemorySegment.ofArray(bytes), 1, null)).isNull();
            }
            for (int length = 1; length < 12; length++) {
                assertThat(coder.code(MemorySegment.ofArray(new byte[length]), 1, null)).isNull();
            }
        }
    }

    @Test
    void memoryOffTheHeapIsCodedToo() throws IOException {
        byte[] bytes = patterns(4096).getFirst();
        try (Coder coder = Coder.open(); Arena arena = Arena.ofConfined()) {
            MemorySegment segment = arena.allocate(4097).asSlice(1).copyFrom(MemorySegment.ofArray(bytes));
            assertThat(coder.code(segment, 2, null).toArray(ValueLayout.JAVA_BYTE))
                    .isEqualTo(coded(2, bytes, null));
        }
    }

    @Test
    void oneCoderTakesExtentsOfAnySizeInTurn() throws IOException {
        try (Coder coder = Coder.open()) {
            for (int length : new int[]{1 << 16, 256, 1 << 20, 4096, 1 << 20}) {
                byte[] bytes = patterns(length).getFirst();
                byte[] coded = coder.code(MemorySegment.ofArray(bytes), 2, null).toArray(ValueLayout.JAVA_BYTE);
                assertThat(decoded(coder, Features.coding(2, coded, 0, 0, false), coded, length, null))
                        .isEqualTo(bytes);
            }
        }
    }

    @Test
    void aCoderTakesNewMemoryOnlyIfItNeedsMore() throws IOException {
        try (Coder coder = Coder.open()) {
            long place = coder.code(MemorySegment.ofArray(patterns(1 << 16).getFirst()), 1, null).address();
            for (int i = 0; i < 1000; i++) {
                byte[] bytes = patterns(256 + i).getFirst();
                MemorySegment coded = coder.code(MemorySegment.ofArray(bytes), 1, null);
                assertThat(coded.address()).isEqualTo(place);
                byte[] kept = coded.toArray(ValueLayout.JAVA_BYTE);
                assertThat(decoded(coder, Features.coding(1, kept, 0, 0, false), kept, bytes.length, null))
                        .isEqualTo(bytes);
            }
        }
    }

    @Test
    void aCoderThatIsClosedTwiceGivesItsMemoryBackOnce() {
        MemorySegment bytes = MemorySegment.ofArray(patterns(4096).getFirst());
        Coder first = Coder.open();
        assertThat(first.code(bytes, 1, null)).isNotNull();
        first.close();
        first.close();
        try (Coder second = Coder.open(); Coder third = Coder.open()) {
            assertThat(second.code(bytes, 1, null).address()).isNotEqualTo(third.code(bytes, 1, null).address());
        }
    }

    @Test
    void damagedCodedBytesAreFoundAtEveryBit() {
        byte[] bytes = patterns(SIZE).getFirst();
        byte[] coded = coded(1, bytes, null);
        Coding coding = Features.coding(1, coded, 0, 0, false);
        for (int bit = 0; bit < coded.length * Byte.SIZE; bit++) {
            byte[] damaged = flipped(coded, bit);
            refused(Rule.V14_CHECKSUM, coding, damaged);
        }
    }

    /// Who forges the checksum of the coded bytes too gets what the checksum of the extent will tell from what was
    /// coded.
    @Test
    void forgedCodedBytesAreRefusedOrDecodeToAsManyBytes() throws IOException {
        byte[] bytes = patterns(SIZE).getFirst();
        byte[] coded = coded(1, bytes, null);
        int decoded = 0;
        for (int bit = 0; bit < coded.length * Byte.SIZE; bit++) {
            byte[] forged = flipped(coded, bit);
            try {
                byte[] found = decoded(1, forged, SIZE, null);
                assertThat(found).hasSize(SIZE);
                decoded += Arrays.equals(found, bytes) ? 0 : 1;
            } catch (FormatException e) {
                assertThat(e.code()).isEqualTo(Rule.V14_CHECKSUM.code());
                assertThat(e.offset()).isEqualTo(PLACE);
            }
        }
        assertThat(decoded).as("other bytes").isPositive();
    }

    private static byte[] flipped(byte[] bytes, int bit) {
        byte[] flipped = bytes.clone();
        flipped[bit / Byte.SIZE] ^= (byte) (1 << bit % Byte.SIZE);
        return flipped;
    }

    /// A frame of equal bytes, as RFC 8878 has them.
    private static byte[] frame(int descriptor, int claimed, int kind, int size, int... more) {
        ByteBuffer frame = ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN).putInt(FRAME).put((byte) descriptor);
        frame.put((byte) claimed);
        for (int each : more) {
            frame.put((byte) each);
        }
        int head = 1 | kind << 1 | size << 3;
        frame.putShort((short) head).put((byte) (head >> 16)).put((byte) 0);
        return Arrays.copyOf(frame.array(), frame.position());
    }

    private static byte[] frame(int size) {
        return frame(0x20, size, 1, size);
    }

    private static byte[] skippable(int magic, int claimed, int size) {
        return ByteBuffer.allocate(8 + size).order(ByteOrder.LITTLE_ENDIAN).putInt(magic).putInt(claimed).array();
    }

    private static byte[] joined(byte[]... parts) {
        ByteBuffer all = ByteBuffer.allocate(Arrays.stream(parts).mapToInt(part -> part.length).sum());
        Arrays.stream(parts).forEach(all::put);
        return all.array();
    }

    @Test
    void aFrameForEachPlaneAndPaddingAreDecoded() throws IOException {
        for (byte[] right : List.of(frame(SIZE), joined(frame(SIZE), skippable(SKIPPABLE, 0, 0)),
                joined(frame(SIZE), skippable(SKIPPABLE, 5, 5)), frame(0, 0x58, 1, SIZE), frame(0, 0xA8, 1, SIZE))) {
            assertThat(decoded(1, right, SIZE, null)).isEqualTo(new byte[SIZE]);
            assertThat(decoded(2, joined(frame(SIZE), right), 2 * SIZE, null)).isEqualTo(new byte[2 * SIZE]);
        }
    }

    @Test
    void whatIsNotOneFrameOfAsManyBytesIsRefused() {
        List<byte[]> wrong = new ArrayList<>();
        wrong.add(frame(SIZE - 1));
        wrong.add(frame(SIZE + 1));
        wrong.add(frame(0));
        wrong.add(frame(0x20, SIZE, 1, SIZE - 1));
        wrong.add(frame(0x20, SIZE, 1, SIZE + 1));
        wrong.add(frame(0x20, SIZE - 1, 1, SIZE));
        wrong.add(joined(frame(SIZE / 2), frame(SIZE / 2)));
        wrong.add(joined(frame(SIZE), frame(0)));
        wrong.add(joined(frame(SIZE), new byte[1]));
        wrong.add(joined(frame(SIZE), skippable(SKIPPABLE + 1, 0, 0)));
        wrong.add(joined(frame(SIZE), skippable(SKIPPABLE, 1, 0)));
        wrong.add(joined(frame(SIZE), skippable(SKIPPABLE, 0, 1)));
        wrong.add(joined(frame(SIZE), skippable(SKIPPABLE, -1, 0)));
        wrong.add(joined(frame(SIZE), skippable(SKIPPABLE, 0, 0), skippable(SKIPPABLE, 0, 0)));
        wrong.add(joined(skippable(SKIPPABLE, 0, 0), frame(SIZE)));
        wrong.add(skippable(SKIPPABLE, 0, 0));
        for (int length = 1; length < frame(SIZE).length; length++) {
            wrong.add(Arrays.copyOf(frame(SIZE), length));
        }
        for (int other : new int[]{0xFD2F_B527, 0xFD2F_B526, 0xFD2F_B525, 0xFD2F_B524, 0x1EB5_2FFD, 0xEC30_A437}) {
            byte[] older = frame(SIZE);
            ByteBuffer.wrap(older).order(ByteOrder.LITTLE_ENDIAN).putInt(other);
            wrong.add(older);
        }
        wrong.add(frame(0x20, SIZE, 3, SIZE));
        wrong.add(frame(0x21, 5, 1, SIZE, SIZE));
        wrong.add(frame(0, 0xFF, 1, SIZE));
        wrong.add(frame(0xE0, 0xFF, 1, SIZE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F));
        wrong.add(frame(0x28, SIZE, 1, SIZE));
        wrong.add(frame(0x24, SIZE, 1, SIZE));
        for (byte[] each : wrong) {
            refused(Rule.V14_CHECKSUM, Features.coding(4, each, 0, 0, false), each);
        }
    }

    @Test
    void aFrameThatNeedsADictionaryIsRefusedOrDecodesToOtherBytes() throws IOException {
        byte[] bytes = new byte[1000];
        new Random(1).nextBytes(bytes);
        byte[] coded;
        try (ZstdCompressCtx compression = new ZstdCompressCtx().loadDict(bytes)) {
            coded = compression.compress(bytes);
        }
        assertThat(coded).hasSizeLessThan(100);
        refused(Rule.V14_CHECKSUM, Features.coding(1, coded, 0, 0, false), coded, bytes.length);
    }

    @Test
    void anUnknownCodecIsRefusedBeforeAnythingIsRead() {
        byte[] coded = frame(SIZE);
        try (Coder coder = Coder.open()) {
            assertThatExceptionOfType(FormatException.class)
                    .isThrownBy(() -> coder.decode(new Coding(3, 1, coded.length, 0, 0, 0), _ -> {
                        throw new AssertionError("read");
                    }, _ -> {}, MemorySegment.ofArray(new byte[SIZE]), PLACE))
                    .extracting(FormatException::code).isEqualTo(Rule.V13_UNSUPPORTED.code());
        }
    }

    private static void refused(Rule rule, Coding coding, byte[] coded) {
        refused(rule, coding, coded, SIZE);
    }

    private static void refused(Rule rule, Coding coding, byte[] coded, int length) {
        assertThatExceptionOfType(FormatException.class).as(Arrays.toString(coded)).isThrownBy(() -> {
            try (Coder coder = Coder.open()) {
                decoded(coder, coding, coded, length, null);
            }
        }).extracting(FormatException::code).isEqualTo(rule.code());
    }

    private static byte[] coded(int width, byte[] bytes, byte @Nullable [] reference) {
        return Features.coded(width, bytes, reference);
    }

    private static byte[] decoded(int width, byte[] coded, int length, byte @Nullable [] reference) throws IOException {
        try (Coder coder = Coder.open()) {
            return decoded(coder, Features.coding(width, coded, 0, 0, reference != null), coded, length, reference);
        }
    }

    private static byte[] decoded(Coder coder, Coding coding, byte[] coded, int length, byte @Nullable [] reference)
            throws IOException {
        byte[] bytes = new byte[length];
        Arrays.fill(bytes, (byte) 0x5A);
        coder.decode(coding, into -> into.copyFrom(MemorySegment.ofArray(coded)),
                into -> into.copyFrom(MemorySegment.ofArray(reference)), MemorySegment.ofArray(bytes), PLACE);
        return bytes;
    }
}
