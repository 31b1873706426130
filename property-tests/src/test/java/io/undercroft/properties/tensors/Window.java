package io.undercroft.properties.tensors;

import io.undercroft.properties.Choices;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import java.util.List;
import java.util.stream.IntStream;

/// Any geometry that fits a memory, gaps and overlaps included.
///
/// @param sizes the size in each dimension
/// @param steps elements from one index to the next
/// @param offset where the first element lies, in elements
record Window(List<Integer> sizes, List<Integer> steps, int offset) {
    static Window choose(Choices choices, List<Integer> sizes, Memory memory, DType dtype) {
        int space = memory.bytes.length * Byte.SIZE / dtype.bits();
        if (space == 0) {
            List<Integer> empty = sizes.contains(0) ? sizes : List.of(0);
            return new Window(empty, empty, 0);
        }
        int offset = choices.below(space);
        int[] steps = new int[sizes.size()];
        int left = space - 1 - offset;
        for (int d = steps.length - 1; d >= 0; d--) {
            int intervals = Math.max(sizes.get(d) - 1, 0);
            steps[d] = choices.below(intervals == 0 ? 5 : Math.min(left / intervals, 70) + 1);
            left -= intervals * steps[d];
        }
        return new Window(sizes, IntStream.of(steps).boxed().toList(), offset);
    }

    /// {@return whether all elements lie in a memory}
    boolean fits(Memory memory, DType dtype) {
        int end = offset + 1;
        for (int d = 0; d < sizes.size(); d++) {
            end += (sizes.get(d) - 1) * steps.get(d);
        }
        return sizes.contains(0) || end <= memory.bytes.length * Byte.SIZE / dtype.bits();
    }

    Shape shape() {
        return Shape.of(ModelledTensor.longs(sizes));
    }

    long[] strides() {
        return ModelledTensor.longs(steps);
    }

    IndexModel model(DType dtype) {
        return IndexModel.strided(sizes, steps.stream().map(step -> step * dtype.bits()).toList(),
                offset * dtype.bits());
    }
}
