package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/// Checks that boxes have each element of a tensor once.
///
/// The number of boxes that an element is in is a function of its place, which is determined by its mixed differences:
/// each box adds 1 or −1 at each of its corners. So the boxes have each element once if and only if the sums at all
/// corners are those of the whole tensor. If they are not, the first corner, in the order of the elements, whose sum
/// differs is the first element that is in no box or in several, since all corners before it are right.
///
/// Dimensions in which every box has the whole size add nothing. The work is in proportion to the boxes for each
/// combination of the other dimensions, of which there are few.
final class Tiling {
    /// The most dimensions in which a tensor is divided.
    private static final int MOST_DIVIDED = 16;
    /// The most corners of all boxes.
    private static final long MOST_CORNERS = 1L << 24;

    private final SlicedTensor tensor;
    private final long[] shape;
    private final List<SlicePart> parts;
    private final List<Shard> shards;

    private Tiling(SlicedTensor tensor, List<SlicePart> parts, List<Shard> shards) {
        this.tensor = tensor;
        this.shape = tensor.shape();
        this.parts = parts;
        this.shards = shards;
    }

    /// Checks the parts of a tensor.
    ///
    /// @param tensor the tensor
    /// @param parts its parts
    /// @param shards the shards of the set, for messages
    /// @throws FormatException by rule V22 if they are not in order, overlap, leave a gap or are not inside the tensor;
    ///     by rule V8 if the tensor is divided in too many ways
    static void check(SlicedTensor tensor, List<SlicePart> parts, List<Shard> shards) {
        new Tiling(tensor, parts, shards).check();
    }

    private void check() {
        SlicePart before = null;
        for (SlicePart part : parts) {
            checkInside(part);
            int order = before == null ? -1 : Arrays.compare(before.offset(), part.offset());
            if (order == 0) {
                throw overlap(part.offset());
            }
            if (order > 0) {
                throw broken("has its parts in another order than that of their offsets");
            }
            before = part;
        }
        if (Arrays.stream(shape).anyMatch(size -> size == 0)) {
            // No part is inside, since parts are not empty.
            return;
        }
        int[] divided = IntStream.range(0, shape.length)
                .filter(dim -> parts.stream().anyMatch(part -> part.size()[dim] != shape[dim])).toArray();
        if (divided.length > MOST_DIVIDED || (long) parts.size() << divided.length > MOST_CORNERS) {
            throw Rule.V8_LIMIT.broken("the tensor " + tensor.describe() + " is divided in " + divided.length
                    + " dimensions into " + parts.size() + " parts, of which the limits are " + MOST_DIVIDED + " and "
                    + (MOST_CORNERS >> Math.min(divided.length, MOST_DIVIDED)), tensor.offset());
        }
        checkSums(divided);
    }

    private void checkInside(SlicePart part) {
        boolean isInside = part.offset().length == shape.length && part.size().length == shape.length;
        for (int dim = 0; isInside && dim < shape.length; dim++) {
            isInside = part.size()[dim] > 0 && part.size()[dim] <= shape[dim]
                    && part.offset()[dim] <= shape[dim] - part.size()[dim];
        }
        if (!isInside) {
            throw broken("has a part of " + Arrays.toString(part.size()) + " at " + Arrays.toString(part.offset())
                    + ", in " + pathOf(part) + ", which is not inside it, or empty");
        }
    }

    private void checkSums(int[] divided) {
        NavigableMap<long[], Integer> sums = new TreeMap<>(Arrays::compare);
        add(sums, divided, new long[shape.length], shape, -1);
        // In their order, so that most corners cancel out soon, and the map stays small.
        for (SlicePart part : parts) {
            add(sums, divided, part.offset(), part.size(), 1);
        }
        Map.Entry<long[], Integer> first = sums.firstEntry();
        if (first != null) {
            long[] element = new long[shape.length];
            for (int i = 0; i < divided.length; i++) {
                element[divided[i]] = first.getKey()[i];
            }
            throw first.getValue() < 0 ? gap(element) : overlap(element);
        }
    }

    private static void add(NavigableMap<long[], Integer> sums, int[] divided, long[] offset, long[] size, int value) {
        for (int corner = 0; corner < 1 << divided.length; corner++) {
            long[] at = new long[divided.length];
            for (int i = 0; i < divided.length; i++) {
                int dim = divided[i];
                at[i] = offset[dim] + ((corner >> i & 1) == 0 ? 0 : size[dim]);
            }
            int signed = Integer.bitCount(corner) % 2 == 0 ? value : -value;
            sums.merge(at, signed, (sum, more) -> sum + more == 0 ? null : sum + more);
        }
    }

    private FormatException gap(long[] element) {
        return broken("is not complete: no shard has the elements from " + Arrays.toString(element) + " to "
                + Arrays.toString(endOfGap(element)) + ", which is exclusive");
    }

    /// Returns the end of a box of missing elements, which is made as large as possible from the last dimension on.
    private long[] endOfGap(long[] element) {
        long[] end = Arrays.stream(element).map(start -> start + 1).toArray();
        for (int dim = shape.length - 1; dim >= 0; dim--) {
            long stop = shape[dim];
            for (SlicePart part : parts) {
                if (part.offset()[dim] >= end[dim] && part.offset()[dim] < stop && meets(part, element, end, dim)) {
                    stop = part.offset()[dim];
                }
            }
            end[dim] = stop;
        }
        return end;
    }

    /// {@return whether a part has elements between two corners, in all dimensions but one}
    private static boolean meets(SlicePart part, long[] from, long[] to, int except) {
        return IntStream.range(0, from.length)
                .allMatch(dim -> dim == except || (part.offset()[dim] < to[dim] && part.end(dim) > from[dim]));
    }

    private FormatException overlap(long[] element) {
        String several = parts.stream().filter(part -> part.contains(element)).map(this::pathOf)
                .collect(Collectors.joining(", "));
        return broken("has the element " + Arrays.toString(element) + " in several parts, in " + several);
    }

    private String pathOf(SlicePart part) {
        return FormatException.quote(shards.get(part.shard()).path());
    }

    private FormatException broken(String what) {
        return Rule.V22_SLICE.broken("the tensor " + tensor.describe() + ' ' + what, tensor.offset());
    }
}
