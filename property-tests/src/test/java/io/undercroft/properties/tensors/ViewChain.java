package io.undercroft.properties.tensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.properties.Choices;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.DType.Kind;
import io.undercroft.storage.MemoryFormat;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// A tensor, and views of views of it, each with what it should be.
///
/// Some links copy; the chain goes on with the copy then, and remembers the memory that it left.
final class ViewChain {
    /// What the first tensor holds.
    enum Contents {
        /// All kinds of bytes, which may be seen as any dtype.
        BYTES,
        /// Small numbers above 0, which all dtypes can hold.
        NUMBERS
    }

    static final List<DType> DTYPES = List.of(DType.INT32, DType.UINT8, DType.INT8, DType.INT16, DType.INT64,
            DType.UINT16, DType.UINT32, DType.FLOAT32, DType.FLOAT64, DType.FLOAT16, DType.BFLOAT16, DType.COMPLEX64,
            DType.COMPLEX128, DType.COMPLEX32);
    private static final List<DType> ALL_DTYPES = Stream
            .concat(DTYPES.stream(), Stream.of(DType.QUINT4X2, DType.QUINT2X4)).toList();
    /// The last ones, at which a copy goes another way, are rare.
    private static final List<Integer> SIZES = List.of(2, 3, 1, 4, 0, 5, 2, 3, 1, 4, 2, 3, 5, 2, 3, 4, 1, 2, 3, 2, 64,
            65, 257);
    private static final int MAX_LINKS = 7;
    private static final int MAX_RANK = 5;
    private static final int MAX_NUMEL = 600;
    private static final int SMALL_NUMBERS = 100;

    private final Choices choices;
    private final Contents contents;
    private final ModelledTensor first;
    private final Set<Memory> memories = new LinkedHashSet<>();
    private final StringBuilder story = new StringBuilder();
    private ModelledTensor last;

    private ViewChain(Choices choices, Contents contents, ModelledTensor first) {
        this.choices = choices;
        this.contents = contents;
        this.first = first;
        this.last = first;
        memories.add(first.memory());
        story.append(first.dtype().name()).append(first.model().sizes());
    }

    /// A first tensor, somewhere in a new storage.
    static ViewChain start(Choices choices, Contents contents) {
        DType dtype = choices.of(contents == Contents.BYTES ? ALL_DTYPES : DTYPES);
        List<Integer> sizes = new ArrayList<>();
        for (int rank = choices.below(MAX_RANK + 1); rank > 0; rank--) {
            int size = choices.of(SIZES);
            sizes.add(product(sizes) * size <= MAX_NUMEL ? size : 1);
        }
        int offset = choices.below(4);
        int numel = offset + product(sizes) + choices.below(4);
        Memory memory = Memory.of(contents == Contents.BYTES ? bytes(dtype, numel) : numbers(dtype, numel));
        Shape shape = Shape.of(ModelledTensor.longs(sizes));
        Tensor tensor = Tensor.of(memory.storage, dtype, offset, shape, shape.contiguousStride());
        IndexModel model = IndexModel.rowMajor(List.copyOf(sizes), offset * dtype.bits(), dtype.bits());
        return new ViewChain(choices, contents, new ModelledTensor(tensor, memory, dtype, Set.of(), model));
    }

    /// {@return a chain of its own from the same first tensor on}
    ViewChain startAgain() {
        return new ViewChain(choices, contents, first);
    }

    boolean holdsNumbers() {
        return contents == Contents.NUMBERS;
    }

    ModelledTensor last() {
        return last;
    }

    /// {@return the links so far, for messages}
    @Override
    public String toString() {
        return story.toString();
    }

    /// Adds links to the chain, and looks at every element after each.
    ViewChain grow() {
        check();
        for (int link = 0; link < MAX_LINKS && !choices.areUsedUp(); link++) {
            addLink();
            check();
        }
        return this;
    }

    /// Writes one element or all of them through the last tensor.
    ViewChain write() {
        int value = 1 + choices.below(SMALL_NUMBERS);
        switch (choices.below(5)) {
            case 0 -> writeOne(Encoding.number(last.dtype(), value, 0), index -> tensor().setLong(index, value));
            case 1 -> writeOne(Encoding.number(last.dtype(), value, 0), index -> tensor().setDouble(index, value));
            case 2 -> writeOne(Encoding.number(last.dtype(), value, value + 1),
                    index -> tensor().setComplex(index, new Complex(value, value + 1)));
            case 3 -> fill(value, () -> tensor().fill(value));
            default -> fill(value, () -> tensor().fill((double) value));
        }
        return this;
    }

    private void writeOne(List<Long> element, Consumer<long[]> write) {
        if (model().numel() > 0) {
            List<Integer> index = model().sizes().stream().map(choices::below).toList();
            write.accept(IntStream.range(0, index.size())
                    .mapToLong(d -> choices.yes() ? index.get(d) - model().size(d) : index.get(d)).toArray());
            last.write(model().place(index), element);
            story.append(" -> write").append(index);
        }
    }

    private void fill(int value, Runnable fill) {
        story.append(" -> fill");
        if (last.repeats()) {
            assertThatThrownBy(fill::run, "%s", this).isInstanceOf(IllegalArgumentException.class);
        } else {
            fill.run();
            model().places().forEach(place -> last.write(place, Encoding.number(last.dtype(), value, 0)));
        }
    }

    /// Looks at every element, and at every byte that the chain ever used.
    void check() {
        last.check(this);
        memories.forEach(memory -> memory.check(this));
    }

    // ---- links ----

    private void addLink() {
        switch (choices.below(15)) {
            case 0 -> unsqueeze();
            case 1 -> permute();
            case 2 -> expand();
            case 3 -> reshape();
            case 4 -> flatten();
            case 5 -> asStrided();
            case 6 -> flag();
            case 7 -> dtype();
            case 8 -> copy();
            case 9 -> squeezeAll();
            default -> ofOneDimension();
        }
    }

    private void ofOneDimension() {
        if (model().rank() == 0) {
            return;
        }
        int dim = choices.below(model().rank());
        int other = choices.below(model().rank());
        switch (choices.below(8)) {
            case 0 -> narrow(dim);
            case 1 -> slice(dim);
            case 2 -> select(dim);
            case 3 -> view("transpose", tensor().transpose(either(dim), either(other)), model().transpose(dim, other));
            case 4 -> view("movedim", tensor().movedim(either(dim), either(other)), model().movedim(dim, other));
            case 5 -> unfold(dim);
            case 6 -> diagonal(dim, other);
            default -> squeeze(dim);
        }
    }

    private void narrow(int dim) {
        int start = choices.below(model().size(dim) + 1);
        int length = choices.below(model().size(dim) - start + 1);
        int given = start > 0 && choices.yes() ? start - model().size(dim) : start;
        // From the end there is no place behind the last index.
        int counted = given == 0 ? start : given;
        view("narrow", tensor().narrow(either(dim), counted, length), model().slice(dim, start, length, 1));
    }

    private void slice(int dim) {
        int size = model().size(dim);
        int start = choices.below(size + 1);
        int end = choices.below(size + 3);
        int step = 1 + choices.below(3);
        int count = Math.max(Math.ceilDiv(Math.min(end, size) - start, step), 0);
        long givenStart = start < size && choices.yes() ? start - size : start;
        long givenEnd = end < size ? end - (choices.yes() ? size : 0) : end == size ? size : Long.MAX_VALUE;
        view("slice", tensor().slice(either(dim), givenStart, givenEnd, step),
                model().slice(dim, start, count, step));
    }

    private void select(int dim) {
        int size = model().size(dim);
        if (size > 0) {
            int index = choices.below(size);
            view("select", tensor().select(either(dim), choices.yes() ? index - size : index),
                    model().select(dim, index));
        }
    }

    private void unfold(int dim) {
        int window = choices.below(model().size(dim) + 1);
        int step = 1 + choices.below(3);
        if (model().rank() < MAX_RANK && model().numel() * window <= MAX_NUMEL) {
            view("unfold", tensor().unfold(either(dim), window, step), model().unfold(dim, window, step));
        }
    }

    private void diagonal(int rows, int columns) {
        if (rows != columns) {
            int offset = choices.below(9) - 4;
            view("diagonal", tensor().diagonal(offset, either(rows), either(columns)),
                    model().diagonal(offset, rows, columns));
        }
    }

    private void squeeze(int dim) {
        IndexModel squeezed = model().size(dim) == 1 ? model().select(dim, 0) : model();
        view("squeeze", tensor().squeeze(either(dim)), squeezed);
    }

    private void squeezeAll() {
        view("squeeze", tensor().squeeze(),
                model().reshape(model().sizes().stream().filter(size -> size != 1).toList()));
    }

    private void unsqueeze() {
        if (model().rank() < MAX_RANK) {
            int dim = choices.below(model().rank() + 1);
            int given = choices.yes() ? dim - model().rank() - 1 : dim;
            view("unsqueeze", tensor().unsqueeze(given), model().unsqueeze(dim));
        }
    }

    private void permute() {
        List<Integer> order = new ArrayList<>(IntStream.range(0, model().rank()).boxed().toList());
        for (int d = order.size() - 1; d > 0; d--) {
            Collections.swap(order, d, choices.below(d + 1));
        }
        view("permute", tensor().permute(order.stream().mapToInt(this::either).toArray()), model().permute(order));
    }

    private void expand() {
        List<Integer> wanted = new ArrayList<>();
        List<Integer> given = new ArrayList<>();
        if (model().rank() < MAX_RANK && choices.yes()) {
            wanted.add(choices.below(4));
        }
        given.addAll(wanted);
        for (int size : model().sizes()) {
            wanted.add(size == 1 ? choices.below(4) : size);
            given.add(wanted.getLast() == size && choices.yes() ? -1 : wanted.getLast());
        }
        if (product(wanted) <= MAX_NUMEL) {
            view("expand", tensor().expand(ModelledTensor.longs(given)), model().expand(List.copyOf(wanted)));
        }
    }

    /// A view where strides can say it, else a copy.
    private void reshape() {
        List<Integer> sizes = otherSizes();
        IndexModel wanted = model().reshape(sizes);
        int unknown = choices.below(2 * sizes.size() + 1);
        List<Integer> given = unknown < sizes.size() && model().numel() > 0
                ? IndexModel.changed(sizes, unknown, -1)
                : sizes;
        long[] asked = ModelledTensor.longs(given);
        if (wanted.isStrided()) {
            last.seenAs(tensor().view(asked), wanted).check(this + " -> view" + given);
        } else {
            assertThatThrownBy(() -> tensor().view(asked), "%s -> view%s", this,
                    given).isInstanceOf(IllegalArgumentException.class);
        }
        viewOrCopy("reshape", tensor().reshape(asked), wanted);
    }

    private void flatten() {
        if (model().rank() == 0) {
            view("flatten", tensor().flatten(), model().reshape(List.of(1)));
            return;
        }
        int start = choices.below(model().rank());
        int end = start + choices.below(model().rank() - start);
        List<Integer> sizes = new ArrayList<>(model().sizes());
        List<Integer> joined = sizes.subList(start, end + 1);
        int size = product(joined);
        joined.clear();
        sizes.add(start, size);
        viewOrCopy("flatten", tensor().flatten(either(start), either(end)), model().reshape(List.copyOf(sizes)));
    }

    private void asStrided() {
        int rank = choices.below(4);
        List<Integer> sizes = IntStream.range(0, rank).mapToObj(d -> choices.of(SIZES.subList(0, 6))).toList();
        Window window = Window.choose(choices, sizes, last.memory(), last.dtype());
        view("asStrided", tensor().asStrided(window.shape(), window.strides(), window.offset()),
                window.model(last.dtype()));
    }

    // ---- links that show the same bits as something else ----

    private void flag() {
        DType dtype = last.dtype();
        if (choices.yes() && dtype.kind() == Kind.COMPLEX) {
            flagged("conj", tensor().conj(), Flag.CONJ);
        } else if (dtype.kind() == Kind.QUANTIZED) {
            assertThatThrownBy(tensor()::neg).isInstanceOf(IllegalArgumentException.class);
        } else if (dtype.kind() != Kind.UNSIGNED || contents == Contents.BYTES) {
            // The negative of a small unsigned integer is not small.
            flagged("neg", tensor().neg(), Flag.NEG);
        }
    }

    private void flagged(String what, Tensor made, Flag flag) {
        next(what, new ModelledTensor(made, last.memory(), last.dtype(), toggled(flag), model()));
    }

    private void dtype() {
        int way = choices.below(4);
        if (way > 0 && contents == Contents.BYTES) {
            otherDType(choices.of(ALL_DTYPES));
        } else if (last.dtype().kind() == Kind.COMPLEX) {
            part(way);
        } else if (last.dtype().kind() == Kind.FLOATING && !last.dtype().equals(DType.BFLOAT16)) {
            complex();
        }
    }

    private void otherDType(DType wanted) {
        int from = last.dtype().bits();
        int to = wanted.bits();
        boolean wide = from >= Byte.SIZE && to >= Byte.SIZE && model().rank() > 0;
        String what = "view " + wanted.name();
        if (from == to) {
            seenAs(what, () -> tensor().view(wanted), wanted, last.isResolved(), this::model);
        } else if (from > to) {
            boolean possible = last.isResolved() && wide && lastDimensionIsRun();
            seenAs(what, () -> tensor().view(wanted), wanted, possible, () -> model().split(from / to, to));
        } else {
            boolean possible = last.isResolved() && wide && model().canJoin(to / from, from);
            seenAs(what, () -> tensor().view(wanted), wanted, possible, () -> model().join(to / from));
        }
    }

    private boolean lastDimensionIsRun() {
        int size = model().size(model().rank() - 1);
        return IntStream.range(0, model().numel()).filter(i -> i % size > 0)
                .allMatch(i -> model().places().get(i) == model().places().get(i - 1) + last.width());
    }

    private void part(int way) {
        DType part = DType.of(switch (last.dtype().bits()) {
            case 128 -> "float64";
            case 64 -> "float32";
            default -> "float16";
        });
        IndexModel pairs = model().pairs(part.bits());
        boolean conjugated = last.flags().contains(Flag.CONJ);
        Set<Flag> real = conjugated ? toggled(Flag.CONJ) : last.flags();
        Set<Flag> imaginary = EnumSet.noneOf(Flag.class);
        imaginary.addAll(real.contains(Flag.NEG) == conjugated ? Set.of() : Set.of(Flag.NEG));
        if (way < 2) {
            next("real", new ModelledTensor(tensor().real(), last.memory(), part, real,
                    pairs.select(model().rank(), 0)));
        } else if (way == 2) {
            next("imag", new ModelledTensor(tensor().imag(), last.memory(), part, imaginary,
                    pairs.select(model().rank(), 1)));
        } else if (model().rank() < MAX_RANK) {
            seenAs("viewAsReal", tensor()::viewAsReal, part, !conjugated, () -> pairs);
        }
    }

    private void complex() {
        DType wanted = DType.of(switch (last.dtype().bits()) {
            case 64 -> "complex128";
            case 32 -> "complex64";
            default -> "complex32";
        });
        boolean pairs = model().rank() > 0 && model().size(model().rank() - 1) == 2
                && model().canJoin(2, last.width());
        seenAs("viewAsComplex", tensor()::viewAsComplex, wanted, pairs,
                () -> model().join(2).select(model().rank() - 1, 0));
    }

    /// Such views ask for strides that a dimension of size 1 has too, and a tensor without elements, although nobody
    /// can see them. So these may be refused where they are possible.
    private void seenAs(String what, Supplier<Tensor> view, DType dtype, boolean possible,
            Supplier<IndexModel> meaning) {
        Tensor made;
        try {
            made = view.get();
        } catch (IllegalArgumentException e) {
            boolean obvious = possible && model().numel() > 0 && !model().sizes().contains(1);
            assertThat(obvious).as("%s -> %s is possible, but: %s", this, what, e).isFalse();
            return;
        }
        assertThat(possible).as("%s -> %s is possible", this, what).isTrue();
        next(what, new ModelledTensor(made, last.memory(), dtype, last.flags(), meaning.get()));
    }

    private Set<Flag> toggled(Flag flag) {
        Set<Flag> flags = EnumSet.of(flag);
        for (Flag old : last.flags()) {
            if (!flags.remove(old)) {
                flags.add(old);
            }
        }
        return flags;
    }

    // ---- links that may copy ----

    private void copy() {
        switch (choices.below(5)) {
            case 0 -> next("copy", last.rowMajorCopy(tensor().copy()));
            case 1 -> sameOrCopy("contiguous", tensor().contiguous(), last.isOneRun());
            case 2 -> sameOrCopy("resolveConj", tensor().resolveConj(), !last.flags().contains(Flag.CONJ));
            case 3 -> sameOrCopy("resolveNeg", tensor().resolveNeg(), !last.flags().contains(Flag.NEG));
            default -> channelsLast();
        }
    }

    private void channelsLast() {
        if (model().rank() < 4) {
            assertThatThrownBy(() -> tensor().copy(MemoryFormat.CHANNELS_LAST), "channels of %s",
                    this).isInstanceOf(IllegalArgumentException.class);
            return;
        }
        MemoryFormat format = model().rank() == 4 ? MemoryFormat.CHANNELS_LAST : MemoryFormat.CHANNELS_LAST_3D;
        if (model().numel() == 0) {
            // Without elements the order is a question of strides alone, of which the model knows nothing.
            assertThat(tensor().contiguous(format).shape()).isEqualTo(tensor().shape());
            return;
        }
        boolean inOrder = last.isResolved() && last.startsOnByte() && last.isChannelsLast();
        Tensor ordered = tensor().contiguous(format);
        assertThat(ordered == tensor()).as("%s -> contiguous %s is this", this, format).isEqualTo(inOrder);
        assertThat(ordered.isContiguous(format)).as("%s -> contiguous %s", this, format).isTrue();
        if (ordered != tensor()) {
            last.channelsLastCopy(ordered).check(this + " -> contiguous " + format);
        }
        next("copy " + format, last.channelsLastCopy(tensor().copy(format)));
    }

    private void sameOrCopy(String what, Tensor made, boolean same) {
        assertThat(made == tensor()).as("%s -> %s is this", this, what).isEqualTo(same);
        next(what, same ? last : last.rowMajorCopy(made));
    }

    private void viewOrCopy(String what, Tensor made, IndexModel meaning) {
        ModelledTensor seen = last.seenAs(made, meaning);
        next(what, meaning.isStrided() ? seen : seen.rowMajorCopy(made));
    }

    // ---- parts ----

    private Tensor tensor() {
        return last.tensor();
    }

    private IndexModel model() {
        return last.model();
    }

    private void view(String what, Tensor made, IndexModel meaning) {
        next(what, last.seenAs(made, meaning));
    }

    private void next(String what, ModelledTensor made) {
        last = made;
        memories.add(made.memory());
        story.append(" -> ").append(what).append(made.model().sizes());
    }

    /// The same dimension, counted from one end or the other.
    private int either(int dim) {
        return choices.yes() ? dim - model().rank() : dim;
    }

    /// Any sizes of as many elements.
    private List<Integer> otherSizes() {
        List<Integer> sizes = new ArrayList<>();
        int rest = model().numel();
        while (sizes.size() < MAX_RANK - 1 && choices.yes()) {
            int size = 1 + choices.below(6);
            if (rest % size == 0) {
                sizes.add(choices.below(sizes.size() + 1), size);
                rest /= size;
            }
        }
        if (rest != 1 || choices.yes()) {
            sizes.add(choices.below(sizes.size() + 1), rest);
        }
        return List.copyOf(sizes);
    }

    private static int product(List<Integer> sizes) {
        return sizes.stream().reduce(1, Math::multiplyExact);
    }

    private static byte[] bytes(DType dtype, int numel) {
        byte[] bytes = new byte[(int) dtype.nbytes(numel)];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i * 37 + 11);
        }
        return bytes;
    }

    private static byte[] numbers(DType dtype, int numel) {
        return Memory.packed(dtype, IntStream.range(0, numel)
                .mapToObj(i -> Encoding.number(dtype, 1 + i % SMALL_NUMBERS, 1 + (i + 7) % SMALL_NUMBERS)).toList());
    }
}
