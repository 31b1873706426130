package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.DType.Kind;
import io.undercroft.storage.Tensor.Flag;
import io.undercroft.storage.internal.Convention;
import io.undercroft.storage.internal.Conversion;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class StridedCopyTest {
    /// A source and a target of one shape.
    record Pair(Tensor source, Tensor target) {
        @Override
        public String toString() {
            return text(source) + " to " + text(target);
        }

        private static String text(Tensor tensor) {
            return tensor.dtype().name() + tensor.shape() + Arrays.toString(tensor.stride()) + tensor.flags();
        }
    }

    static Stream<Pair> everyElementArrivesConvertedAndNothingElseIsTouched() {
        List<DType> numeric = dtypes(Kind.FLOATING, Kind.SIGNED, Kind.UNSIGNED, Kind.COMPLEX, Kind.BOOLEAN);
        return IntStream.range(0, 500).mapToObj(seed -> {
            Random random = new Random(seed);
            Pair pair = pair(random, numeric);
            fill(pair.source.storage(), random);
            fill(pair.target.storage(), random);
            return pair;
        });
    }

    @ParameterizedTest
    @MethodSource
    void everyElementArrivesConvertedAndNothingElseIsTouched(Pair pair) {
        MemorySegment expected = pair.target.storage().copy().segment();
        for (long[] index : indices(pair.source.shape())) {
            int itemsize = pair.target.dtype().itemsize();
            Conversion.convert(pair.source.dtype(), pair.source.storage().segment().asSlice(byteOf(pair.source, index)),
                    pair.target.dtype(), expected.asSlice(byteOf(pair.target, index), itemsize), 1,
                    Convention.PYTORCH);
        }
        copy(pair.source, pair.target);
        assertThat(hex(pair.target.storage().segment())).isEqualTo(hex(expected));
    }

    static Stream<Pair> flagsOfBothSidesAreCarriedOut() {
        List<DType> signed = new ArrayList<>(dtypes(Kind.FLOATING, Kind.SIGNED, Kind.COMPLEX));
        // The first has no signs; the others have no negative zero, which the expectation below would make on the way.
        signed.removeAll(List.of(DType.FLOAT8_E8M0FNU, DType.FLOAT8_E4M3FNUZ, DType.FLOAT8_E5M2FNUZ));
        return IntStream.range(0, 500).mapToObj(seed -> {
            Random random = new Random(seed);
            Pair pair = pair(random, signed);
            for (long[] index : indices(pair.source.shape())) {
                pair.source.setComplex(index, new Complex(random.nextInt(7) - 3, random.nextInt(7) - 3));
            }
            return new Pair(withRandomFlags(pair.source, random), withRandomFlags(pair.target, random));
        });
    }

    @ParameterizedTest
    @MethodSource
    void flagsOfBothSidesAreCarriedOut(Pair pair) {
        Tensor target = pair.target;
        Tensor expected = Tensor.of(target.storage().copy(), target.dtype(), target.storageOffset(), target.shape(),
                target.stride()).withFlags(target.flags());
        for (long[] index : indices(target.shape())) {
            expected.setComplex(index, pair.source.getComplex(index));
        }
        copy(pair.source, target);
        assertThat(hex(target.storage().segment())).isEqualTo(hex(expected.storage().segment()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"uint8", "int16", "float32", "float64", "complex128", "quint4x2", "quint2x4"})
    void transposesOfAllWidthsAreExactAtTheEdgesOfTiles(String name) {
        DType dtype = DType.of(name);
        for (long[] size : new long[][]{{1, 70}, {8, 8}, {31, 33}, {64, 64}, {65, 63}, {130, 67}, {3, 200}}) {
            Tensor matrix = Tensor.zeros(dtype, size);
            fill(matrix.storage(), new Random(size[0]));
            Tensor turned = matrix.transpose(0, 1).copy();
            for (long row = 0; row < size[0]; row++) {
                for (long column = 0; column < size[1]; column++) {
                    assertThat(bits(turned.select(0, column).select(0, row)))
                            .as("%d, %d of %d x %d", row, column, size[0], size[1])
                            .isEqualTo(bits(matrix.select(0, row).select(0, column)));
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 64, 1 << 20, 1 << 26})
    void elementsOfBitsAreNoNumbersWhateverTheirWidth(int bits) {
        DType wide = DType.opaque("wide", bits);
        Tensor tensor = Tensor.zeros(wide, 1);
        assertThatThrownBy(() -> tensor.copyFrom(Tensor.of(1f))).isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("without a numeric value");
        assertThatThrownBy(() -> tensor.to(DType.FLOAT32)).isInstanceOf(UnsupportedOperationException.class);
    }

    @ParameterizedTest
    @ValueSource(ints = {12, 24, 8 * 64, 8 * 1000 + 4, 8 * 100_000})
    void elementsOfUnusualWidthsAreTransposed(int bits) {
        Tensor matrix = Tensor.zeros(DType.opaque("wide", bits), 3, 2);
        fill(matrix.storage(), new Random(bits));
        assertThat(matrix.t().copy().t().contentEquals(matrix)).isTrue();
        Tensor column = matrix.select(1, 1);
        assertThat(column.copy().select(0, 2).contentEquals(matrix.select(0, 2).select(0, 1))).isTrue();
    }

    @Test
    void transposedPicturesAreExact() {
        Tensor pictures = Tensor.zeros(DType.UINT8, 2, 70, 66, 3);
        fill(pictures.storage(), new Random(7));
        Tensor channelsFirst = pictures.permute(0, 3, 1, 2).copy();
        assertThat(channelsFirst.isContiguous()).isTrue();
        assertThat(channelsFirst.permute(0, 2, 3, 1).contentEquals(pictures)).isTrue();
        assertThat(channelsFirst.getLong(1, 2, 69, 65)).isEqualTo(pictures.getLong(1, 69, 65, 2));
    }

    @Test
    void elementsThatEndInsideAByteAreConvertedBothWays() {
        Tensor nibbles = Tensor.zeros(DType.QUINT4X2, 5, 3);
        for (long[] index : indices(nibbles.shape())) {
            nibbles.setLong(index, index[0] * 3 + index[1]);
        }
        Tensor floats = Tensor.zeros(DType.FLOAT32, 3, 5);
        copy(nibbles.transpose(0, 1), floats);
        assertThat(floats.getDouble(2, 4)).isEqualTo(14);
        Tensor back = Tensor.zeros(DType.QUINT4X2, 5, 3);
        copy(floats.transpose(0, 1), back);
        assertThat(back.contentEquals(nibbles)).isTrue();
    }

    @Test
    void anOverlappingSourceIsReadBeforeItIsOverwritten() {
        Tensor numbers = Tensor.of(0, 1, 2, 3, 4, 5, 6, 7);
        copy(numbers.narrow(0, 0, 6), numbers.narrow(0, 2, 6));
        assertThat(numbers.contentEquals(Tensor.of(0, 1, 0, 1, 2, 3, 4, 5))).isTrue();
        copy(numbers.narrow(0, 2, 6), numbers.narrow(0, 0, 6));
        assertThat(numbers.contentEquals(Tensor.of(0, 1, 2, 3, 4, 5, 4, 5))).isTrue();
    }

    @Test
    void aMatrixCanBeTransposedInItsPlace() {
        Tensor matrix = Tensor.zeros(DType.INT16, 100, 100);
        fill(matrix.storage(), new Random(3));
        Tensor before = matrix.copy();
        copy(matrix.transpose(0, 1), matrix);
        assertThat(matrix.contentEquals(before.transpose(0, 1))).isTrue();
    }

    @Test
    void anOverlapIsFoundAcrossStoragesAndDtypes() {
        MemorySegment bytes = MemorySegment.ofArray(new byte[64]);
        Tensor ints = Tensor.of(Storage.wrap(bytes), DType.INT32, 0, Shape.of(8), 1);
        for (int i = 0; i < 8; i++) {
            ints.setLong(i, i);
        }
        Tensor doubles = Tensor.of(Storage.wrap(bytes), DType.FLOAT64, 0, Shape.of(8), 1);
        copy(ints, doubles);
        assertThat(doubles.contentEquals(Tensor.of(0.0, 1, 2, 3, 4, 5, 6, 7))).isTrue();
    }

    @Test
    void aTensorIsNegatedInItsPlace() {
        Tensor numbers = Tensor.of(1f, -2f, 3f);
        copy(numbers.withFlags(Set.of(Flag.NEG)), numbers);
        assertThat(numbers.contentEquals(Tensor.of(-1f, 2f, -3f))).isTrue();
    }

    @Test
    void theSignOfANaNIsNegatedToo() {
        Tensor nan = Tensor.of(Float.intBitsToFloat(0x7FC0_0001)).withFlags(Set.of(Flag.NEG));
        assertThat(hex(nan.copy().bytes())).isEqualTo("0100c0ff");
    }

    @Test
    void aFloat8WithOneNaNHasNoNegativeZero() {
        Tensor tensor = Tensor.of(Storage.copyOf((byte) 0, (byte) 0x80, (byte) 0x40), DType.FLOAT8_E4M3FNUZ, 0,
                Shape.of(3), 1);
        assertThat(hex(tensor.withFlags(Set.of(Flag.NEG)).copy().bytes())).isEqualTo("0080c0");
    }

    @Test
    void anEmptyTensorIsCopiedToAnotherOne() {
        Tensor target = Tensor.zeros(DType.FLOAT32, 0, 3);
        copy(Tensor.zeros(DType.INT8, 0, 3), target);
        assertThat(target.numel()).isZero();
    }

    @Test
    void anotherShapeIsRefused() {
        assertThatThrownBy(() -> copy(Tensor.zeros(DType.INT8, 2), Tensor.zeros(DType.INT8, 3)))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("[2]").hasMessageContaining("[3]");
    }

    @Test
    void aTargetWhoseElementsShareTheirPlaceIsRefused() {
        Tensor target = Tensor.zeros(DType.INT8, 1).expand(3);
        assertThatThrownBy(() -> copy(Tensor.zeros(DType.INT8, 3), target))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("3 elements");
    }

    @Test
    void bitsAreMovedButNotConverted() {
        Tensor bits = Tensor.of(Storage.copyOf((byte) 1, (byte) 2), DType.BITS8, 0, Shape.of(2), 1);
        Tensor target = Tensor.zeros(DType.BITS8, 2);
        copy(bits, target);
        assertThat(target.contentEquals(bits)).isTrue();
        assertThatThrownBy(() -> copy(bits, Tensor.zeros(DType.INT8, 2)))
                .isInstanceOf(UnsupportedOperationException.class).hasMessageContaining("bits8");
    }

    private static void copy(Tensor source, Tensor target) {
        target.copyFrom(source);
    }

    private static List<DType> dtypes(Kind... kinds) {
        return DType.values().stream().filter(dtype -> List.of(kinds).contains(dtype.kind())).toList();
    }

    private static Pair pair(Random random, List<DType> dtypes) {
        long[] sizes = random.longs(random.nextInt(5), 1, random.nextInt(8) == 0 ? 24 : 7).toArray();
        DType from = dtypes.get(random.nextInt(dtypes.size()));
        DType to = random.nextInt(3) == 0 ? from : dtypes.get(random.nextInt(dtypes.size()));
        return new Pair(tensor(random, from, sizes, random.nextInt(4) == 0), tensor(random, to, sizes, false));
    }

    /// A tensor whose dimensions lie in any order, with gaps or without; or some of them all in one place.
    private static Tensor tensor(Random random, DType dtype, long[] sizes, boolean repeats) {
        List<Integer> order = new ArrayList<>(IntStream.range(0, sizes.length).boxed().toList());
        if (random.nextBoolean()) {
            Collections.shuffle(order, random);
        } else {
            Collections.reverse(order);
        }
        long[] stride = new long[sizes.length];
        long step = random.nextInt(3) == 0 ? 2 : 1;
        for (int d : order) {
            stride[d] = repeats && random.nextBoolean() ? 0 : step;
            step = step * sizes[d] + (random.nextInt(3) == 0 ? random.nextInt(4) : 0);
        }
        long offset = random.nextInt(5);
        Storage storage = Storage.wrap(MemorySegment.ofArray(new byte[(int) ((offset + step) * dtype.itemsize())]));
        return Tensor.of(storage, dtype, offset, Shape.of(sizes), stride);
    }

    private static Tensor withRandomFlags(Tensor tensor, Random random) {
        Set<Flag> flags = EnumSet.noneOf(Flag.class);
        if (random.nextBoolean()) {
            flags.add(Flag.NEG);
        }
        if (random.nextBoolean() && tensor.dtype().kind() == Kind.COMPLEX) {
            flags.add(Flag.CONJ);
        }
        return tensor.withFlags(flags);
    }

    private static List<long[]> indices(Shape shape) {
        List<long[]> all = new ArrayList<>();
        for (long flat = 0; flat < shape.numel(); flat++) {
            long[] index = new long[shape.rank()];
            long rest = flat;
            for (int d = shape.rank() - 1; d >= 0; d--) {
                index[d] = rest % shape.size(d);
                rest /= shape.size(d);
            }
            all.add(index);
        }
        return all;
    }

    private static long byteOf(Tensor tensor, long[] index) {
        long position = tensor.storageOffset();
        for (int d = 0; d < index.length; d++) {
            position += index[d] * tensor.stride(d);
        }
        return position * tensor.dtype().itemsize();
    }

    private static void fill(Storage storage, Random random) {
        byte[] bytes = new byte[(int) storage.nbytes()];
        random.nextBytes(bytes);
        storage.segment().copyFrom(MemorySegment.ofArray(bytes));
    }

    private static String bits(Tensor element) {
        return hex(element.copy().bytes());
    }

    private static String hex(MemorySegment bytes) {
        byte[] copy = new byte[(int) bytes.byteSize()];
        MemorySegment.ofArray(copy).copyFrom(bytes);
        return HexFormat.of().formatHex(copy);
    }
}
