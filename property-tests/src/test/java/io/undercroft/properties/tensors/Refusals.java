package io.undercroft.properties.tensors;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.DType;
import io.undercroft.storage.DType.Kind;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/// Everything that is just outside of what can be asked of a tensor.
final class Refusals {
    private final Tensor tensor;
    private final IndexModel model;
    private final Object story;

    private Refusals(ModelledTensor modelled, Object story) {
        this.tensor = modelled.tensor();
        this.model = modelled.model();
        this.story = story;
    }

    /// Asks for all of it, one after the other.
    static void check(ModelledTensor modelled, Object story) {
        var refusals = new Refusals(modelled, story);
        // A tensor without dimensions takes 0 and -1 for one.
        int dims = Math.max(modelled.model().rank(), 1);
        refusals.outsideDimensions(dims);
        refusals.outsideDimensions(-dims - 1);
        IntStream.range(0, modelled.model().rank()).forEach(refusals::outsideDimension);
        refusals.otherSizes();
        refusals.outsideMemory(modelled);
        refusals.otherElements();
    }

    private void outsideDimensions(int dim) {
        outside("select", () -> tensor.select(dim, 0));
        outside("narrow", () -> tensor.narrow(dim, 0, 0));
        outside("slice", () -> tensor.slice(dim, 0, 1, 1));
        outside("transpose", () -> tensor.transpose(dim, 0));
        outside("transpose", () -> tensor.transpose(0, dim));
        outside("movedim", () -> tensor.movedim(dim, 0));
        outside("movedim", () -> tensor.movedim(0, dim));
        outside("squeeze", () -> tensor.squeeze(dim));
        outside("unfold", () -> tensor.unfold(dim, 0, 1));
        outside("diagonal", () -> tensor.diagonal(0, dim, 0));
        outside("flatten", () -> tensor.flatten(dim, dim));
        outside("size", () -> tensor.size(dim));
        outside("unsqueeze", () -> tensor.unsqueeze(dim < 0 ? -model.rank() - 2 : model.rank() + 1));
    }

    private void outsideDimension(int dim) {
        int size = model.size(dim);
        long[] index = new long[model.rank()];
        for (long at : new long[]{size, -size - 1L, Long.MAX_VALUE, Long.MIN_VALUE}) {
            outside("select", () -> tensor.select(dim, at));
            outside("narrow", () -> tensor.narrow(dim, at, 1));
            outside("narrow", () -> tensor.narrow(dim, 0, Math.max(at, size + 1L)));
            index[dim] = at;
            outside("getLong", () -> tensor.getLong(index));
            outside("setLong", () -> tensor.setLong(index, 1));
            outside("setDouble", () -> tensor.setDouble(index, 1));
        }
        outside("narrow", () -> tensor.narrow(dim, 0, -1));
        wrong("slice", () -> tensor.slice(dim, 0, size, 0));
        wrong("slice", () -> tensor.slice(dim, 0, size, -1));
        wrong("unfold", () -> tensor.unfold(dim, size + 1, 1));
        wrong("unfold", () -> tensor.unfold(dim, -1, 1));
        wrong("unfold", () -> tensor.unfold(dim, 0, 0));
        wrong("diagonal", () -> tensor.diagonal(0, dim, dim - model.rank()));
        wrong("squeeze", () -> tensor.squeeze(dim, dim));
        if (size != 1) {
            wrong("expand",
                    () -> tensor.expand(ModelledTensor.longs(IndexModel.changed(model.sizes(), dim, size + 1))));
        }
        if (dim > 0) {
            wrong("flatten", () -> tensor.flatten(dim, dim - 1));
            wrong("expand", () -> tensor.expand(ModelledTensor.longs(IndexModel.without(model.sizes(), 0))));
            wrong("permute", () -> tensor.permute(new int[model.rank()]));
        }
    }

    private void otherSizes() {
        wrong("view", () -> tensor.view(model.numel() + 1));
        wrong("reshape", () -> tensor.reshape(model.numel() + 1));
        wrong("reshape", () -> tensor.reshape(-1, -1));
        wrong("reshape", () -> tensor.reshape(-2, model.numel()));
        wrong("permute", () -> tensor.permute(new int[model.rank() + 1]));
        outside("getDouble", () -> tensor.getDouble(new long[model.rank() + 1]));
        outside("setDouble", () -> tensor.setDouble(new long[model.rank() + 1], 1));
        wrong("copyTo", () -> tensor.copyTo(MemorySegment.ofArray(new byte[(int) tensor.nbytes() + 1])));
        wrong("copyFrom", () -> tensor.copyFrom(MemorySegment.ofArray(new byte[(int) tensor.nbytes() + 1])));
        List<Integer> more = IndexModel.with(model.sizes(), 0, 1);
        wrong("copyFrom", () -> tensor.copyFrom(Tensor.zeros(tensor.dtype(), ModelledTensor.longs(more))));
    }

    private void outsideMemory(ModelledTensor modelled) {
        long space = modelled.memory().bytes.length * (long) Byte.SIZE / modelled.width();
        wrong("asStrided", () -> tensor.asStrided(Shape.SCALAR, new long[0], space));
        wrong("asStrided", () -> tensor.asStrided(Shape.SCALAR, new long[0], -1));
        wrong("asStrided", () -> tensor.asStrided(Shape.of(space + 1), new long[]{1}, 0));
        wrong("asStrided", () -> tensor.asStrided(Shape.of(2), new long[]{space}, 0));
        wrong("asStrided", () -> tensor.asStrided(Shape.of(2), new long[]{-1}, 1));
        wrong("asStrided", () -> tensor.asStrided(Shape.of(2, 2), new long[]{1}, 0));
        wrong("asStrided", () -> tensor.asStrided(Shape.of(3), new long[]{Long.MAX_VALUE}, 0));
    }

    private void otherElements() {
        if (tensor.dtype().kind() != Kind.COMPLEX) {
            wrong("imag", tensor::imag);
            wrong("viewAsReal", tensor::viewAsReal);
            wrong("flags", () -> tensor.withFlags(Collections.singleton(Tensor.Flag.CONJ)));
        }
        if (tensor.dtype().kind() != Kind.FLOATING || tensor.dtype().equals(DType.BFLOAT16)) {
            wrong("viewAsComplex", tensor::viewAsComplex);
        }
    }

    private void outside(String what, ThrowingCallable asked) {
        assertThatThrownBy(asked, "%s of %s", what, story).isInstanceOf(IndexOutOfBoundsException.class);
    }

    private void wrong(String what, ThrowingCallable asked) {
        assertThatThrownBy(asked, "%s of %s", what, story).isInstanceOf(IllegalArgumentException.class);
    }
}
