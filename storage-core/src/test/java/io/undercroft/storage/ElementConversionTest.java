package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ElementConversionTest {
    private static final List<String> ANSWERS = TorchCases.lines("conversions.txt");

    static Stream<String> everyCodeOfTheNarrowFloatsIsReadAsPyTorchReadsIt() {
        return answers("decode ");
    }

    @ParameterizedTest
    @MethodSource
    void everyCodeOfTheNarrowFloatsIsReadAsPyTorchReadsIt(String answer) {
        String[] parts = answer.split(" ", -1);
        byte[] codes = new byte[256];
        IntStream.range(0, codes.length).forEach(code -> codes[code] = (byte) code);
        Tensor tensor = Tensor.of(Storage.copyOf(codes), DType.of(parts[0]), 0, Shape.of(256), 1);
        for (int code = 0; code < codes.length; code++) {
            assertThat(tensor.getDouble(code)).as("code %d", code).isEqualTo(Double.valueOf(doubleOf(parts[1 + code])));
        }
    }

    static Stream<String> valuesAreWrittenAsPyTorchConvertsThem() {
        return answers("encode ");
    }

    @ParameterizedTest
    @MethodSource
    void valuesAreWrittenAsPyTorchConvertsThem(String answer) {
        String[] parts = answer.split(" ", -1);
        double[] values = answers("values ").flatMap(line -> Arrays.stream(line.split(" ", -1)))
                .mapToDouble(ElementConversionTest::doubleOf).toArray();
        Tensor tensor = Tensor.zeros(DType.of(parts[0]));
        boolean wholeNumbers = tensor.dtype().kind() == DType.Kind.SIGNED
                || tensor.dtype().kind() == DType.Kind.UNSIGNED;
        assertThat(values).hasSize(parts.length - 1);
        for (int i = 0; i < values.length; i++) {
            double value = wholeNumbers && !(Math.abs(values[i]) < 0x1p31) ? 0 : values[i];
            tensor.setDouble(new long[0], value);
            if (Double.isNaN(value) && tensor.dtype().kind() == DType.Kind.FLOATING) {
                // PyTorch writes other NaN bits when it converts many elements at once.
                assertThat(tensor.getDouble()).isNaN();
            } else {
                assertThat(hex(tensor)).as("%a", value).isEqualTo(parts[1 + i]);
            }
        }
    }

    @Test
    void integersKeepTheirLowerBits() {
        Tensor tensor = Tensor.zeros(DType.UINT8);
        tensor.setLong(new long[0], 300);
        assertThat(tensor.getLong()).isEqualTo(44);
        tensor.setDouble(new long[0], -1.9);
        assertThat(tensor.getLong()).isEqualTo(255);
    }

    @Test
    void unsignedLongsAreExactAsLongsAndRoundedAsDoubles() {
        Tensor tensor = Tensor.zeros(DType.UINT64);
        tensor.setLong(new long[0], -1);
        assertThat(Long.toUnsignedString(tensor.getLong())).isEqualTo("18446744073709551615");
        assertThat(tensor.getDouble()).isEqualTo(0x1p64);
        tensor.setDouble(new long[0], 1e19);
        assertThat(Long.toUnsignedString(tensor.getLong())).isEqualTo("10000000000000000000");
    }

    @Test
    void longsAreWrittenToFloatsWithOneRounding() {
        Tensor tensor = Tensor.zeros(DType.FLOAT32);
        // A detour through double would round to the tie, and from there down.
        tensor.setLong(new long[0], 0x4000_0040_0000_0001L);
        assertThat(tensor.getDouble()).isEqualTo((double) (float) 0x4000_0040_0000_0001L);
    }

    @Test
    void aByteThatIsNotZeroIsTrue() {
        Tensor tensor = Tensor.of(Storage.copyOf((byte) 2, (byte) 0), DType.BOOL, 0, Shape.of(2), 1);
        assertThat(tensor.getBoolean(0)).isTrue();
        assertThat(tensor.getLong(0)).isEqualTo(1);
        assertThat(tensor.getBoolean(1)).isFalse();
        tensor.setDouble(1, 0.5);
        assertThat(tensor.storage().get(1)).isEqualTo((byte) 1);
        tensor.setComplex(0, new Complex(0, 3));
        tensor.setComplex(1, new Complex(0, 0));
        assertThat(hex(tensor)).isEqualTo("0100");
    }

    @Test
    void complexElementsHaveTwoParts() {
        Tensor tensor = Tensor.zeros(DType.COMPLEX64, 2);
        tensor.setComplex(1, new Complex(1.5, -2));
        assertThat(tensor.getComplex(1)).isEqualTo(new Complex(1.5, -2));
        assertThat(tensor.getDouble(1)).isEqualTo(1.5);
        assertThat(tensor.getLong(1)).isEqualTo(1);
        tensor.setLong(1, 7);
        assertThat(tensor.getComplex(1)).isEqualTo(new Complex(7, 0));
        tensor.setComplex(0, new Complex(0, 3));
        assertThat(tensor.getBoolean(0)).isTrue();
    }

    @Test
    void elementsNarrowerThanAByteLieInItsLowestBitsFirst() {
        Tensor fours = Tensor.zeros(DType.QUINT4X2, 3);
        fours.setLong(0, 1);
        fours.setLong(1, 15);
        fours.setLong(2, 0x12);
        assertThat(hex(fours)).isEqualTo("f102");
        Tensor twos = Tensor.zeros(DType.QUINT2X4, 4);
        IntStream.range(0, 4).forEach(i -> twos.setDouble(i, i));
        assertThat(hex(twos)).isEqualTo("e4");
        assertThat(twos.getLong(2)).isEqualTo(2);
    }

    @Test
    void quantizedElementsAreTheIntegersThatAreStored() {
        Tensor tensor = Tensor.of(Storage.copyOf((byte) 0xFF), DType.QINT8, 0, Shape.SCALAR);
        assertThat(tensor.getLong()).isEqualTo(-1);
    }

    @Test
    void bitsHaveNoNumbers() {
        Tensor tensor = Tensor.zeros(DType.BITS8, 1);
        assertThatThrownBy(() -> tensor.getDouble(0)).isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("bits8");
        assertThatThrownBy(() -> tensor.getLong(0)).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(() -> tensor.setDouble(0, 1)).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(() -> tensor.setLong(0, 1)).isInstanceOf(UnsupportedOperationException.class);
    }

    @Test
    void elementsNeedNoAlignment() {
        MemorySegment bytes = MemorySegment.ofArray(new byte[9]).asSlice(1);
        Tensor tensor = Tensor.of(Storage.wrap(bytes), DType.FLOAT64, 0, Shape.SCALAR);
        tensor.setDouble(new long[0], Math.PI);
        assertThat(tensor.getDouble()).isEqualTo(Math.PI);
    }

    private static Stream<String> answers(String kind) {
        return ANSWERS.stream().filter(line -> line.startsWith(kind)).map(line -> line.substring(kind.length()));
    }

    private static double doubleOf(String bits) {
        return Double.longBitsToDouble(HexFormat.fromHexDigitsToLong(bits));
    }

    private static String hex(Tensor tensor) {
        MemorySegment bytes = tensor.bytes();
        byte[] copy = new byte[(int) bytes.byteSize()];
        MemorySegment.ofArray(copy).copyFrom(bytes);
        return HexFormat.of().formatHex(copy);
    }
}
