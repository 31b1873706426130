package io.undercroft.serializer.internal.analysis;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.Extent.Place;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Compares tensors of two files by the digests that the files have of their extents, without reading an element. For
/// use by one thread.
final class ExtentComparison {
    private final Side a;
    private final Side b;

    /// The result of comparing the digests of two tensors.
    enum Verdict {
        EQUAL, DIFFERENT, UNKNOWN
    }

    /// The extents of the storage of a file that was last compared.
    private static final class Side {
        private final Checkpoint checkpoint;
        private @Nullable Storage last;
        private List<Extent> extents = List.of();

        Side(Checkpoint checkpoint) {
            this.checkpoint = checkpoint;
        }

        List<Extent> of(Storage storage) {
            if (storage != last) {
                extents = checkpoint.extents(storage);
                last = storage;
            }
            return extents;
        }
    }

    ExtentComparison(Checkpoint a, Checkpoint b) {
        this.a = new Side(a);
        this.b = new Side(b);
    }

    /// Compares two tensors of one dtype and shape, of which the elements are bytes of the storages.
    ///
    /// @return [Verdict#UNKNOWN] if a file has no digests, or not of the same runs of bytes
    Verdict compare(Tensor left, Tensor right) {
        if (left.numel() == 0) {
            return Verdict.EQUAL;
        }
        if (!left.dtype().isByteSized() || !Arrays.equals(left.stride(), right.stride())
                || isLazy(left) || isLazy(right)) {
            return Verdict.UNKNOWN;
        }
        List<Extent> ours = a.of(left.storage());
        List<Extent> others = b.of(right.storage());
        if (ours.isEmpty() || others.isEmpty()) {
            return Verdict.UNKNOWN;
        }
        return compare(ours, left.storageOffset() * left.itemsize(), others,
                right.storageOffset() * right.itemsize(), TensorBlocks.span(left), left.isContiguous());
    }

    private static boolean isLazy(Tensor tensor) {
        return tensor.is(Tensor.Flag.CONJ) || tensor.is(Tensor.Flag.NEG);
    }

    /// @param isWhole whether all bytes of the spans are elements
    private static Verdict compare(List<Extent> left, long leftStart, List<Extent> right, long rightStart, long length,
            boolean isWhole) {
        int i = find(left, leftStart);
        int j = find(right, rightStart);
        Verdict verdict = Verdict.EQUAL;
        for (long at = 0; at < length;) {
            Extent one = left.get(i);
            Extent other = right.get(j);
            boolean isOneRun = one.start() - leftStart == other.start() - rightStart && one.length() == other.length();
            boolean isInSpan = one.start() >= leftStart && one.end() <= leftStart + length;
            if (one.place() == Place.NOWHERE && other.place() == Place.NOWHERE) {
                at = Math.min(one.end() - leftStart, other.end() - rightStart);
            } else if (!isOneRun || one.digest().isEmpty() || other.digest().isEmpty()) {
                return Verdict.UNKNOWN;
            } else {
                if (!one.digest().equals(other.digest())) {
                    if (!isWhole || !isInSpan) {
                        return Verdict.UNKNOWN;
                    }
                    verdict = Verdict.DIFFERENT;
                }
                at = one.end() - leftStart;
            }
            i += one.end() - leftStart <= at ? 1 : 0;
            j += other.end() - rightStart <= at ? 1 : 0;
        }
        return verdict;
    }

    /// Returns the extent that has a byte of a storage.
    private static int find(List<Extent> extents, long position) {
        int low = 0;
        int high = extents.size() - 1;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (extents.get(middle).end() <= position) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }
}
