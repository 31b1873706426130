package io.undercroft.interop.safetensors;

import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/// Which distances there are from a byte that one tensor shows to a byte that another one shows, both counted from the
/// first byte of each.
///
/// An element is reached by whole steps in each dimension. So a distance is a sum of steps forth in the one tensor and
/// back in the other, and of what lies between two bytes of elements. Steps that are no longer than what can be reached
/// without gaps only make that longer; what is left, one or two dimensions as a rule, is tried from the longest step
/// down.
final class StrideOverlap {
    /// The maximum number of sums that are tried. The steps of tensors that a program cut from another one are
    /// multiples of each other, and need a few.
    private static final int MOST_TRIED = 10_000;

    private final List<Steps> steps = new ArrayList<>();
    /// The reach of all shorter steps and of the bytes of elements, for each of the steps and for all.
    private final List<Reach> reaches = new ArrayList<>();
    private int tried;

    /// Steps of one length, in bytes.
    private record Steps(long length, long least, long most) {
        Steps and(Steps other) {
            return new Steps(length, least + other.least, most + other.most);
        }
    }

    /// Sums of some steps, where they can be: a distance within a run around 0 and a multiple of what all these steps
    /// are multiples of.
    ///
    /// @param least the least sum
    /// @param most the largest one
    /// @param multiple what the steps are multiples of; 0 if there are none but the run
    /// @param runLeast the least distance that needs none of the steps
    /// @param runMost the largest one; all between the two can be reached
    private record Reach(long least, long most, long multiple, long runLeast, long runMost) {
        Reach and(Steps more) {
            return new Reach(least + more.least * more.length, most + more.most * more.length,
                    gcd(multiple, more.length), runLeast, runMost);
        }

        Reach withoutGap(Steps more) {
            Reach longer = and(more);
            return new Reach(longer.least, longer.most, 0, longer.least, longer.most);
        }

        boolean mayHave(long distance) {
            return distance >= least && distance <= most && (multiple == 0
                    || Math.floorDiv(distance - runLeast, multiple) >= Math.ceilDiv(distance - runMost, multiple));
        }

        private static long gcd(long a, long b) {
            return b == 0 ? a : gcd(b, a % b);
        }
    }

    private StrideOverlap(Tensor from, Tensor to) {
        SortedMap<Long, Steps> all = new TreeMap<>();
        add(from, 1, all);
        add(to, -1, all);
        long least = 1L - to.itemsize();
        long most = from.itemsize() - 1L;
        Reach reach = new Reach(least, most, 0, least, most);
        for (Steps some : all.values()) {
            if (steps.isEmpty() && some.length <= reach.most - reach.least + 1) {
                reach = reach.withoutGap(some);
            } else {
                steps.add(some);
                reaches.add(reach);
                reach = reach.and(some);
            }
        }
        reaches.add(reach);
    }

    private static void add(Tensor tensor, int direction, SortedMap<Long, Steps> all) {
        for (int dim = 0; dim < tensor.dim(); dim++) {
            long length = tensor.stride(dim) * tensor.itemsize();
            long count = (tensor.size(dim) - 1) * direction;
            if (length > 0 && count != 0) {
                all.merge(length, new Steps(length, Math.min(count, 0), Math.max(count, 0)), Steps::and);
            }
        }
    }

    /// {@return whether two tensors show a common byte; also true if that would take long to find out}
    ///
    /// @param one a tensor with elements of whole bytes
    /// @param other another one
    /// @param distance the place of the first byte of the other, counted from the first byte of the one
    static boolean isPossible(Tensor one, Tensor other, long distance) {
        StrideOverlap distances = new StrideOverlap(one, other);
        return distances.has(distance, distances.steps.size());
    }

    /// @param count how many of the steps, from the shortest on, may be taken; no more than two tensors have dimensions
    private boolean has(long distance, int count) {
        Reach reach = reaches.get(count);
        if (count == 0 || !reach.mayHave(distance)) {
            return reach.mayHave(distance);
        }
        Steps longest = steps.get(count - 1);
        Reach rest = reaches.get(count - 1);
        long last = Math.min(longest.most, Math.floorDiv(distance - rest.least, longest.length));
        for (long n = Math.max(longest.least, Math.ceilDiv(distance - rest.most, longest.length)); n <= last; n++) {
            if (++tried > MOST_TRIED || has(distance - n * longest.length, count - 1)) {
                return true;
            }
        }
        return false;
    }
}
