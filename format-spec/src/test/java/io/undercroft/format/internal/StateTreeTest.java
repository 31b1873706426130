package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.Tag;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import net.openhft.chronicle.bytes.Bytes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class StateTreeTest {
    @ParameterizedTest
    @ValueSource(longs = {0, 1, -1, 127, 128, -128, -129, 300, 1L << 62, Long.MAX_VALUE, Long.MIN_VALUE})
    void integersComeBack(long value) {
        StateTreeReader reader = written(tree -> tree.writeInteger(value));
        assertThat(reader.next()).isEqualTo(StateToken.INTEGER);
        assertThat(reader.longValue()).isEqualTo(value);
        assertThat(reader.bigIntegerValue()).isEqualTo(value);
        assertThat(reader.next()).isEqualTo(StateToken.DONE);
        assertThat(reader.next()).isEqualTo(StateToken.DONE);
    }

    /// Chronicle Bytes is the reference for the stop-bit encoding of numbers.
    @Test
    void numbersAreEncodedAsChronicleEncodesThem() {
        SplittableRandom random = new SplittableRandom(7);
        LongStream edges = LongStream.range(0, Long.SIZE - 1).flatMap(bit -> LongStream.of((1L << bit) - 1, 1L << bit));
        LongStream others = random.longs(1000, 0, Long.MAX_VALUE).map(value -> value >>> random.nextInt(Long.SIZE));
        long[] values = LongStream.concat(LongStream.concat(edges, LongStream.of(Long.MAX_VALUE)), others).toArray();
        Bytes<?> expected = Bytes.allocateElasticOnHeap();
        expected.writeByte((byte) Tag.LIST).writeStopBit(values.length);
        StateTreeWriter written = new StateTreeWriter();
        written.openList(values.length);
        for (long value : values) {
            expected.writeByte((byte) Tag.INTEGER).writeStopBit(value);
            written.writeInteger(value);
        }

        assertThat(written.toByteArray()).isEqualTo(expected.toByteArray());
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1000, 2000, 3000})
    void treesOfAllTokensAreWrittenAsChronicleWritesThem(long seed) {
        for (long each = seed; each < seed + 500; each++) {
            TwoTreeWriters writers = new TwoTreeWriters(each);
            writers.write(0);
            assertThat(Arrays.mismatch(writers.tree(), writers.bytes())).as("the tree of seed " + each).isNegative();
        }
    }

    @ParameterizedTest
    @CsvSource({"9223372036854775808", "-9223372036854775809", "18446744073709551616",
            "-340282366920938463463374607431768211456", "123456789012345678901234567890"})
    void integersOfAnySizeComeBack(BigInteger value) {
        StateTreeReader reader = written(tree -> tree.writeInteger(value));
        assertThat(reader.next()).isEqualTo(StateToken.BIG_INTEGER);
        assertThat(reader.bigIntegerValue()).isEqualTo(value);
    }

    @Test
    void aBigIntegerThatFitsALongIsWrittenAsOne() {
        assertThat(written(tree -> tree.writeInteger(BigInteger.TEN)).next()).isEqualTo(StateToken.INTEGER);
    }

    @Test
    void floatsKeepEveryBit() {
        double nan = Double.longBitsToDouble(0x7FF8_0000_0000_1234L);
        StateTreeReader reader = written(tree -> tree.writeComplex(nan, -0.0));
        assertThat(reader.next()).isEqualTo(StateToken.COMPLEX);
        assertThat(Double.doubleToRawLongBits(reader.doubleValue())).isEqualTo(0x7FF8_0000_0000_1234L);
        assertThat(Double.doubleToRawLongBits(reader.imaginaryValue())).isEqualTo(Long.MIN_VALUE);
    }

    @Test
    void narrowNumbersComeBackAsSuch() {
        StateTreeReader reader = written(tree -> {
            tree.openList(4);
            tree.writeInt8(Byte.MIN_VALUE);
            tree.writeInt16(Short.MIN_VALUE);
            tree.writeInt32(Integer.MAX_VALUE);
            tree.writeFloat32(Float.intBitsToFloat(0x7FC0_1234));
        });
        reader.next();
        assertThat(reader.next()).isEqualTo(StateToken.INT8);
        assertThat(reader.longValue()).isEqualTo(Byte.MIN_VALUE);
        assertThat(reader.next()).isEqualTo(StateToken.INT16);
        assertThat(reader.longValue()).isEqualTo(Short.MIN_VALUE);
        assertThat(reader.next()).isEqualTo(StateToken.INT32);
        assertThat(reader.bigIntegerValue()).isEqualTo(Integer.MAX_VALUE);
        assertThat(reader.next()).isEqualTo(StateToken.FLOAT32);
        assertThat(Float.floatToRawIntBits(reader.floatValue())).isEqualTo(0x7FC0_1234);
        assertThatIllegalStateException().isThrownBy(reader::doubleValue);
        assertThat(reader.next()).isEqualTo(StateToken.END);
    }

    @Test
    void narrowNumbersAreLittleEndian() {
        StateTreeWriter tree = new StateTreeWriter();
        tree.openTuple(4);
        tree.writeInt8((byte) -2);
        tree.writeInt16((short) 0x1234);
        tree.writeInt32(0x12345678);
        tree.writeFloat32(1);
        assertThat(tree.toByteArray()).isEqualTo(HexFormat.of().parseHex("11040bfe0c34120d785634120e0000803f"));
    }

    @Test
    void containersGiveTheirCountThenTheirValuesThenAnEnd() {
        StateTreeReader reader = written(tree -> {
            assertThat(tree.openMap(1)).isZero();
            tree.writeString("key");
            assertThat(tree.openTuple(0)).isEqualTo(1);
        });
        assertThat(reader.next()).isEqualTo(StateToken.MAP);
        assertThat(reader.count()).isEqualTo(1);
        assertThat(reader.container()).isZero();
        assertThat(reader.next()).isEqualTo(StateToken.STRING);
        assertThat(reader.text()).isEqualTo("key");
        assertThat(reader.next()).isEqualTo(StateToken.TUPLE);
        assertThat(reader.count()).isZero();
        assertThat(reader.depth()).isEqualTo(2);
        assertThat(reader.next()).isEqualTo(StateToken.END);
        assertThat(reader.next()).isEqualTo(StateToken.END);
        assertThat(reader.next()).isEqualTo(StateToken.DONE);
    }

    @Test
    void objectsGiveTheirTypeThenValueAndAttributes() {
        StateTreeReader reader = written(tree -> {
            tree.openObject("Größe");
            tree.writeBytes(MemorySegment.ofArray(new byte[]{1, 2}));
            tree.writeNull();
        });
        assertThat(reader.next()).isEqualTo(StateToken.OBJECT);
        assertThat(reader.text()).isEqualTo("Größe");
        assertThat(reader.count()).isEqualTo(2);
        assertThat(reader.next()).isEqualTo(StateToken.BYTES);
        assertThat(reader.bytes().toArray(ValueLayout.JAVA_BYTE)).containsExactly(1, 2);
        assertThat(reader.next()).isEqualTo(StateToken.NULL);
        assertThat(reader.next()).isEqualTo(StateToken.END);
    }

    @Test
    void aListMayHoldItself() {
        StateTreeReader reader = written(tree -> tree.writeReference(tree.openList(1)));
        reader.next();
        assertThat(reader.next()).isEqualTo(StateToken.REFERENCE);
        assertThat(reader.index()).isZero();
    }

    @Test
    void storagesAndShapesComeBack() {
        StateTreeReader reader = written(tree -> {
            tree.openList(3);
            tree.writeStorage(5);
            tree.writeTypedStorage(5, 0);
            tree.writeShape(2, 0, Long.MAX_VALUE);
        });
        reader.next();
        assertThat(reader.next()).isEqualTo(StateToken.STORAGE);
        assertThat(reader.storageDType()).isEqualTo(-1);
        assertThat(reader.next()).isEqualTo(StateToken.STORAGE);
        assertThat(reader.index()).isEqualTo(5);
        assertThat(reader.storageDType()).isZero();
        assertThat(reader.next()).isEqualTo(StateToken.SHAPE);
        assertThat(reader.shape()).containsExactly(2, 0, Long.MAX_VALUE);
        assertThat(reader.next()).isEqualTo(StateToken.END);
    }

    @ParameterizedTest
    @CsvSource({"'',ends", "'00',unknown tag", "'ff',unknown tag", "'0101',after its value", "'04',ends",
            "'048000',shortest form", "'04ffffffffffffffffff01',past 2^63-1", "'0902c328',not UTF-8",
            "'0905616263',ends", "'1001',container of 1 entries", "'10ffffffffffffffff7f',container",
            "'1201',container of 1 entries", "'120101',container of 1 entries", "'1002100201',container of 2 entries",
            "'0608ffffffffffffffff',big integer of 8", "'0609000000000000000000',needless", "'07000000',ends",
            "'0b',ends", "'0c00',ends", "'0d000000',ends", "'0e000000',ends", "'0f',unknown tag",
            "'14016101',container of 2 entries", "'1401610102',neither a map nor null",
            "'1401610115',neither a map nor null", "'20ffffffff0f',index"})
    void aMalformedTreeIsRefused(String hex, String because) {
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> drain(reader(hex)))
                .withMessageContaining(because).extracting(FormatException::code).isEqualTo("V16-TREE");
    }

    @ParameterizedTest
    @ValueSource(strings = {"1500", "10021000" + "1502"})
    void aReferenceToAContainerThatIsNotYetOpenIsRefused(String hex) {
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> drain(reader(hex)))
                .extracting(FormatException::code).isEqualTo("V10-INDEX");
    }

    @Test
    void depthIsLimitedWithoutRecursion() {
        drain(reader("1001".repeat(127) + "1000"));
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> drain(reader("1001".repeat(128) + "1000")))
                .extracting(FormatException::code).isEqualTo("V8-LIMIT");
    }

    @Test
    void shapesAreLimitedInRank() {
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> drain(reader("2441" + "00".repeat(65))))
                .extracting(FormatException::code).isEqualTo("V8-LIMIT");
    }

    @Test
    void accessorsOfAnotherTokenAreRefused() {
        StateTreeReader reader = written(StateTreeWriter::writeNull);
        reader.next();
        assertThatIllegalStateException().isThrownBy(reader::longValue);
        assertThatIllegalStateException().isThrownBy(reader::text);
        assertThatIllegalStateException().isThrownBy(reader::count);
        assertThatIllegalStateException().isThrownBy(reader::shape);
    }

    @Test
    void theWriterRefusesWhatWouldBeNoTree() {
        StateTreeWriter tree = new StateTreeWriter();
        assertThatIllegalStateException().isThrownBy(tree::toByteArray);
        assertThatIllegalStateException().isThrownBy(() -> tree.writeReference(0));
        assertThatIllegalArgumentException().isThrownBy(() -> tree.writeString("\uD800"));
        assertThatIllegalArgumentException().isThrownBy(() -> tree.writeTensor(-1));
        tree.openList(1);
        assertThatIllegalStateException().isThrownBy(tree::toByteArray).withMessageContaining("lacks 1");
        tree.writeNull();
        assertThatIllegalStateException().isThrownBy(tree::writeNull);
        assertThat(tree.toByteArray()).containsExactly(0x10, 1, 1);
    }

    @Test
    void theWriterRefusesDepthThatTheReaderWould() {
        StateTreeWriter tree = new StateTreeWriter();
        for (int depth = 0; depth < 128; depth++) {
            tree.openList(1);
        }
        assertThatIllegalArgumentException().isThrownBy(() -> tree.openList(0));
        tree.writeNull();
        drain(new StateTreeReader(MemorySegment.ofArray(tree.toByteArray()), Limits.DEFAULT, 0));
    }

    private static StateTreeReader written(Consumer<StateTreeWriter> content) {
        StateTreeWriter tree = new StateTreeWriter();
        content.accept(tree);
        return new StateTreeReader(MemorySegment.ofArray(tree.toByteArray()), Limits.DEFAULT, 0);
    }

    private static StateTreeReader reader(String hex) {
        return new StateTreeReader(MemorySegment.ofArray(HexFormat.of().parseHex(hex)), Limits.DEFAULT, 0);
    }

    private static void drain(StateTreeReader reader) {
        while (reader.next() != StateToken.DONE) {
            assertThat(reader.depth()).isLessThanOrEqualTo(128);
        }
    }
}
