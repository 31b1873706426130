package io.undercroft.spark.internal.table;

import io.undercroft.serializer.internal.analysis.LastBorrowed;
import io.undercroft.serializer.internal.analysis.Scratch;
import io.undercroft.serializer.internal.analysis.TensorBlocks;
import io.undercroft.storage.DType;
import io.undercroft.storage.DType.Kind;
import io.undercroft.storage.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.List;

/// The statistics of the elements of a tensor, computed in float64 and without NaN.
///
/// @param count the number of elements that are not NaN
/// @param min the smallest of these; not a number for none
/// @param max the largest; not a number for none
/// @param mean their mean; not a number for none
/// @param nans the number of elements that are NaN
record TensorStatistics(long count, double min, double max, double mean, long nans) {
    /// The number of elements that are decoded at a time.
    private static final long BLOCK = 1 << 16;
    private static final ValueLayout.OfDouble FLOAT64 = ValueLayout.JAVA_DOUBLE_UNALIGNED
            .withOrder(ByteOrder.LITTLE_ENDIAN);

    /// {@return whether the elements are numbers with an order}
    static boolean isPossible(Tensor tensor) {
        return !tensor.device().isMeta() && isOrdered(tensor.dtype().kind());
    }

    private static boolean isOrdered(Kind kind) {
        return switch (kind) {
            case FLOATING, SIGNED, UNSIGNED, BOOLEAN -> true;
            case COMPLEX, QUANTIZED, BITS -> false;
        };
    }

    /// Reads all elements, each stored one once if the tensor repeats it.
    ///
    /// @param tensor a tensor for which this [is possible][#isPossible]
    /// @param borrowed borrows its bytes
    /// @param scratch for converted elements
    /// @throws io.undercroft.format.FormatException if they are damaged
    static TensorStatistics of(Tensor tensor, LastBorrowed borrowed, Scratch scratch) {
        List<Tensor> distinct = TensorBlocks.distinct(List.of(tensor));
        long once = distinct.getFirst().numel();
        long times = once == 0 ? 1 : tensor.numel() / once;
        Sums sums = new Sums();
        TensorBlocks.forEach(distinct, BLOCK, blocks -> {
            sums.add(scratch.copy(borrowed.checked(blocks.getFirst()), DType.FLOAT64).bytes());
            return true;
        });
        return sums.count == 0
                ? new TensorStatistics(0, Double.NaN, Double.NaN, Double.NaN, times * sums.nans)
                : new TensorStatistics(times * sums.count, sums.min, sums.max, sums.mean(), times * sums.nans);
    }

    private static final class Sums {
        private double min = Double.POSITIVE_INFINITY;
        private double max = Double.NEGATIVE_INFINITY;
        private double mean;
        private long count;
        private long nans;

        void add(MemorySegment values) {
            double sum = 0;
            long numbers = 0;
            for (long at = 0; at < values.byteSize(); at += Double.BYTES) {
                double value = values.get(FLOAT64, at);
                if (Double.isNaN(value)) {
                    nans++;
                } else {
                    numbers++;
                    sum += value;
                    min = Math.min(min, value);
                    max = Math.max(max, value);
                }
            }
            if (numbers > 0) {
                // The sum of all could overflow; that of a block does only if its numbers are near the largest.
                count += numbers;
                mean += (sum / numbers - mean) * ((double) numbers / count);
            }
        }

        double mean() {
            return mean;
        }
    }
}
