package io.undercroft.properties.tensors;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// What views mean, without strides: a shape, and for each element, in row-major order, the place where it lies.
///
/// A view goes through all of its indices, and says for each which index of the tensor before it is meant. Nothing is
/// put together from one view to the next, so nothing can be put together wrongly.
///
/// @param sizes the size in each dimension
/// @param places the first bit of each element, counted from the start of the storage
record IndexModel(List<Integer> sizes, List<Integer> places) {
    /// Elements one after another.
    static IndexModel rowMajor(List<Integer> sizes, int first, int width) {
        int numel = sizes.stream().reduce(1, Math::multiplyExact);
        return new IndexModel(sizes, IntStream.range(0, numel).mapToObj(i -> first + i * width).toList());
    }

    /// What `asStrided` is asked for; steps and places in bits.
    static IndexModel strided(List<Integer> sizes, List<Integer> steps, int first) {
        List<Integer> places = indices(sizes).stream().map(
                index -> IntStream.range(0, index.size()).map(d -> index.get(d) * steps.get(d)).sum() + first).toList();
        return new IndexModel(sizes, places);
    }

    /// Every index of a shape, in row-major order.
    static List<List<Integer>> indices(List<Integer> sizes) {
        if (sizes.isEmpty()) {
            return List.of(List.of());
        }
        if (sizes.contains(0)) {
            // The other sizes may be anything.
            return List.of();
        }
        List<List<Integer>> inner = indices(sizes.subList(1, sizes.size()));
        return IntStream.range(0, sizes.getFirst()).boxed()
                .flatMap(i -> inner.stream().map(rest -> with(rest, 0, i))).toList();
    }

    int rank() {
        return sizes.size();
    }

    int numel() {
        return places.size();
    }

    int size(int dim) {
        return sizes.get(dim);
    }

    int place(List<Integer> index) {
        int flat = 0;
        for (int d = 0; d < rank(); d++) {
            flat = flat * size(d) + index.get(d);
        }
        return places.get(flat);
    }

    // ---- views ----

    IndexModel select(int dim, int at) {
        return view(without(sizes, dim), index -> with(index, dim, at));
    }

    IndexModel slice(int dim, int start, int count, int step) {
        return view(changed(sizes, dim, count), index -> changed(index, dim, start + index.get(dim) * step));
    }

    /// @param order for each new dimension, the old one
    IndexModel permute(List<Integer> order) {
        return view(order.stream().map(sizes::get).toList(),
                index -> IntStream.range(0, rank()).mapToObj(old -> index.get(order.indexOf(old))).toList());
    }

    IndexModel transpose(int first, int second) {
        List<Integer> order = new ArrayList<>(IntStream.range(0, rank()).boxed().toList());
        Collections.swap(order, first, second);
        return permute(order);
    }

    IndexModel movedim(int from, int to) {
        List<Integer> others = without(IntStream.range(0, rank()).boxed().toList(), from);
        return permute(with(others, to, from));
    }

    /// The same elements in the same order.
    IndexModel reshape(List<Integer> wanted) {
        return new IndexModel(wanted, places);
    }

    IndexModel unsqueeze(int dim) {
        return reshape(with(sizes, dim, 1));
    }

    /// New dimensions in front; those of size 1 repeated.
    IndexModel expand(List<Integer> wanted) {
        int added = wanted.size() - rank();
        return view(wanted, index -> IntStream.range(0, rank())
                .mapToObj(d -> size(d) == 1 ? 0 : index.get(d + added)).toList());
    }

    IndexModel unfold(int dim, int size, int step) {
        List<Integer> wanted = with(changed(sizes, dim, (size(dim) - size) / step + 1), rank(), size);
        return view(wanted, index -> changed(without(index, rank()), dim, index.get(dim) * step + index.get(rank())));
    }

    IndexModel diagonal(int offset, int rows, int columns) {
        int down = Math.max(-offset, 0);
        int right = Math.max(offset, 0);
        int length = Math.max(Math.min(size(rows) - down, size(columns) - right), 0);
        int first = Math.min(rows, columns);
        int second = Math.max(rows, columns);
        List<Integer> wanted = with(without(without(sizes, second), first), rank() - 2, length);
        return view(wanted, index -> {
            int along = index.get(rank() - 2);
            List<Integer> old = with(with(without(index, rank() - 2), first, 0), second, 0);
            return changed(changed(old, rows, along + down), columns, along + right);
        });
    }

    // ---- views of another width ----

    /// Each element as several, in the last dimension.
    IndexModel split(int parts, int width) {
        List<Integer> wanted = changed(sizes, rank() - 1, size(rank() - 1) * parts);
        return new IndexModel(wanted, partsOf(parts, width));
    }

    /// Each element as two, in a new last dimension.
    IndexModel pairs(int width) {
        return new IndexModel(with(sizes, rank(), 2), partsOf(2, width));
    }

    /// Several elements of the last dimension as one.
    IndexModel join(int parts) {
        List<Integer> firsts = IntStream.range(0, numel() / parts).mapToObj(i -> places.get(i * parts)).toList();
        return new IndexModel(changed(sizes, rank() - 1, size(rank() - 1) / parts), firsts);
    }

    /// Whether elements of a width lie such that several make a wider one, which starts at a multiple of its own width.
    boolean canJoin(int parts, int width) {
        return rank() > 0 && size(rank() - 1) % parts == 0 && IntStream.range(0, numel()).allMatch(i -> i % parts == 0
                ? places.get(i) % (parts * width) == 0
                : places.get(i) == places.get(i - 1) + width);
    }

    private List<Integer> partsOf(int parts, int width) {
        return places.stream().flatMap(place -> IntStream.range(0, parts).mapToObj(i -> place + i * width)).toList();
    }

    // ---- what can be said of the places ----

    /// Whether each element of a width lies right behind the one before it.
    boolean isRun(int width) {
        return IntStream.range(1, numel()).allMatch(i -> places.get(i) == places.get(i - 1) + width);
    }

    /// Whether there are strides that lead to these places.
    boolean isStrided() {
        if (numel() == 0) {
            return true;
        }
        List<Integer> zero = Collections.nCopies(rank(), 0);
        List<Integer> steps = IntStream.range(0, rank())
                .mapToObj(d -> size(d) == 1 ? 0 : place(changed(zero, d, 1)) - place(zero)).toList();
        return strided(sizes, steps, place(zero)).places.equals(places);
    }

    private IndexModel view(List<Integer> wanted, UnaryOperator<List<Integer>> old) {
        return new IndexModel(wanted, indices(wanted).stream().map(index -> place(old.apply(index))).toList());
    }

    // ---- lists ----

    static List<Integer> changed(List<Integer> values, int at, int value) {
        return with(without(values, at), at, value);
    }

    static List<Integer> with(List<Integer> values, int at, int value) {
        return Stream.of(values.subList(0, at), List.of(value), values.subList(at, values.size()))
                .flatMap(List::stream).toList();
    }

    static List<Integer> without(List<Integer> values, int at) {
        return Stream.concat(values.subList(0, at).stream(), values.subList(at + 1, values.size()).stream()).toList();
    }
}
