package io.undercroft.interop.safetensors;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/// Whether tensors show common bytes, compared with the sets of these bytes.
class StrideOverlapTest {
    private static final List<DType> DTYPES = List.of(DType.UINT8, DType.INT16, DType.FLOAT32, DType.FLOAT64);

    private static boolean isPossible(Tensor one, Tensor other) {
        return StrideOverlap.isPossible(one, other,
                other.storageOffset() * other.itemsize() - one.storageOffset() * one.itemsize());
    }

    private static BitSet bytes(Tensor tensor) {
        BitSet bytes = new BitSet();
        long[] index = new long[tensor.dim()];
        for (long i = 0; i < tensor.numel(); i++) {
            long rest = i;
            long place = tensor.storageOffset();
            for (int dim = index.length - 1; dim >= 0; dim--) {
                place += rest % tensor.size(dim) * tensor.stride(dim);
                rest /= tensor.size(dim);
            }
            int first = (int) (place * tensor.itemsize());
            bytes.set(first, first + tensor.itemsize());
        }
        return bytes;
    }

    private static Tensor random(Storage storage, int mostStride, Random random) {
        DType dtype = DTYPES.get(random.nextInt(DTYPES.size()));
        long[] sizes = random.longs(random.nextInt(4), 1, 5).toArray();
        long[] strides = random.longs(sizes.length, 0, mostStride).toArray();
        return Tensor.of(storage, dtype, random.nextInt(40), Shape.of(sizes), strides);
    }

    @Test
    void anyTwoTensors() {
        Random random = new Random(11);
        Storage storage = Storage.allocate(8 * (40 + 3 * 4 * 30 + 1));
        int common = 0;
        for (int i = 0; i < 30_000; i++) {
            int mostStride = 1 + random.nextInt(30);
            Tensor one = random(storage, mostStride, random);
            Tensor other = random(storage, mostStride, random);
            boolean expected = bytes(one).intersects(bytes(other));
            assertThat(isPossible(one, other)).as("%s %s %d and %s %s %d", one, Arrays.toString(one.stride()),
                    one.storageOffset(), other, Arrays.toString(other.stride()), other.storageOffset())
                    .isEqualTo(expected);
            common += expected ? 1 : 0;
        }
        assertThat(common).isBetween(3_000, 27_000);
    }

    @Test
    void partsOfOneTensor() {
        Random random = new Random(12);
        Tensor base = Tensor.zeros(DType.FLOAT32, 6, 5, 7);
        for (int i = 0; i < 3_000; i++) {
            List<Tensor> parts = IntStream.range(0, 2).mapToObj(_ -> {
                Tensor part = base;
                for (int dim = 0; dim < 3; dim++) {
                    long from = random.nextLong(part.size(dim));
                    part = part.slice(dim, from, from + 1 + random.nextLong(part.size(dim) - from),
                            1 + random.nextLong(3));
                }
                return part.permute(2, 0, 1);
            }).toList();
            assertThat(isPossible(parts.get(0), parts.get(1)))
                    .isEqualTo(bytes(parts.get(0)).intersects(bytes(parts.get(1))));
        }
    }

    @Test
    void columnsOfALargeMatrixAreToldApartAtOnce() {
        Tensor matrix = Tensor.meta(DType.BFLOAT16, 1L << 20, 3 * 4096, 1024);
        assertThat(isPossible(matrix.narrow(1, 0, 4096), matrix.narrow(1, 4096, 4096))).isFalse();
        assertThat(isPossible(matrix.narrow(2, 0, 1000), matrix.narrow(2, 999, 2))).isTrue();
        assertThat(isPossible(matrix.slice(2, 0, 1024, 2), matrix.slice(2, 1, 1024, 2))).isFalse();
        assertThat(isPossible(matrix.slice(2, 0, 1024, 2), matrix.slice(2, 1, 1024, 3))).isTrue();
        Tensor row = Tensor.meta(DType.INT32, 1L << 40);
        assertThat(isPossible(row.slice(0, 0, 1L << 40, 6), row.slice(0, 1, 1L << 40, 4))).isFalse();
        assertThat(isPossible(row.slice(0, 0, 1L << 40, 6), row.slice(0, 1, 1L << 40, 35))).isTrue();
    }

    @Test
    void whatTakesLongToFindOutIsTakenForCommon() {
        // Sums of some of these to get another number: nobody knows how to find them fast.
        long[] strides = new Random(1).longs(30, 1L << 20, 1L << 30).toArray();
        long[] sizes = new long[strides.length];
        Arrays.fill(sizes, 2);
        Tensor one = Tensor.of(Storage.meta(1L << 40), DType.UINT8, 0, Shape.of(sizes), strides);
        Tensor other = Tensor.of(one.storage(), DType.UINT8, Arrays.stream(strides).sum() / 2, Shape.of(1), 1);
        assertThat(isPossible(one, other)).isTrue();
    }
}
