package io.undercroft.properties.tensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.properties.ChainModel;
import io.undercroft.properties.states.JavaSource;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.DType.Kind;
import io.undercroft.storage.MemoryFormat;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import net.jqwik.api.state.Action;
import net.jqwik.api.state.ActionChain;
import net.jqwik.api.state.ActionChainArbitrary;
import org.jspecify.annotations.Nullable;

/// A tensor, and views of views of it, each with what it should be.
///
/// Some links copy; the chain goes on with the copy then, and remembers the memory that it left. A chain can also go on
/// with its first tensor or with a new one, and keeps the one that it left for [ElementCopies].
final class ViewChain extends ChainModel {
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
    private static final int MAX_RANK = 5;
    private static final int MAX_NUMEL = 600;
    private static final int SMALL_NUMBERS = 100;

    private final Contents contents;
    private final Set<Memory> memories = new LinkedHashSet<>();
    private @Nullable ModelledTensor first;
    private @Nullable ModelledTensor left;
    private @Nullable ModelledTensor last;
    /// The variable of the call that makes the next tensor.
    private String called = "";

    private ViewChain(Contents contents) {
        this.contents = contents;
    }

    /// {@return views of views, in any order}
    static ActionChainArbitrary<ViewChain> chains(Contents contents) {
        return ActionChain.startWith(() -> new ViewChain(contents))
                .withAction(link(ViewChain::unsqueeze))
                .withAction(link(ViewChain::permute))
                .withAction(link(ViewChain::expand))
                .withAction(link(ViewChain::reshape))
                .withAction(link(ViewChain::flatten))
                .withAction(link(ViewChain::asStrided))
                .withAction(2, link(ViewChain::flag))
                .withAction(3, link(ViewChain::dtype))
                .withAction(link(ViewChain::copy))
                .withAction(link(ViewChain::squeezeAll))
                .withAction(ofOneDimension((chain, dim, _) -> chain.narrow(dim)))
                .withAction(ofOneDimension((chain, dim, _) -> chain.slice(dim)))
                .withAction(ofOneDimension((chain, dim, _) -> chain.select(dim)))
                .withAction(ofOneDimension(ViewChain::transpose))
                .withAction(ofOneDimension(ViewChain::movedim))
                .withAction(ofOneDimension((chain, dim, _) -> chain.unfold(dim)))
                .withAction(ofOneDimension(ViewChain::diagonal))
                .withAction(ofOneDimension((chain, dim, _) -> chain.squeeze(dim)));
    }

    /// {@return an action that the first time has a tensor made first}
    static Action.Independent<ViewChain> link(Step<ViewChain> step) {
        return action(chain -> {
            if (chain.last == null) {
                chain.start();
            }
            step.take(chain);
        });
    }

    private interface OfOneDimension {
        void take(ViewChain chain, int dim, int other);
    }

    private static Action.Independent<ViewChain> ofOneDimension(OfOneDimension step) {
        return link(chain -> {
            int rank = chain.model().rank();
            if (rank > 0) {
                step.take(chain, chain.choices().below(rank), chain.choices().below(rank));
            }
        });
    }

    /// Goes on with a tensor somewhere in a new storage.
    void start() {
        DType dtype = choices().of(contents == Contents.BYTES ? ALL_DTYPES : DTYPES);
        List<Integer> sizes = new ArrayList<>();
        for (int rank = choices().below(MAX_RANK + 1); rank > 0; rank--) {
            int size = choices().of(SIZES);
            sizes.add(product(sizes) * size <= MAX_NUMEL ? size : 1);
        }
        int offset = choices().below(4);
        int numel = offset + product(sizes) + choices().below(4);
        boolean areBytes = contents == Contents.BYTES;
        Memory memory = Memory.of(areBytes ? bytes(dtype, numel) : numbers(dtype, numel));
        Shape shape = Shape.of(ModelledTensor.longs(sizes));
        program().declare("s", memory.storage, "Storage.copyOf(ViewChain." + (areBytes ? "bytes(" : "numbers(")
                + JavaSource.of(dtype) + ", " + numel + "))");
        List<Object> arguments = new ArrayList<>(List.of(dtype, offset, shape));
        Arrays.stream(shape.contiguousStride()).forEach(arguments::add);
        called = program().declare("t",
                "Tensor.of(" + program().use(memory.storage) + ", " + arguments(arguments.toArray()) + ")");
        Tensor tensor = Tensor.of(memory.storage, dtype, offset, shape, shape.contiguousStride());
        IndexModel model = IndexModel.rowMajor(List.copyOf(sizes), offset * dtype.bits(), dtype.bits());
        left = last;
        next(new ModelledTensor(tensor, memory, dtype, Set.of(), model));
        first = last;
    }

    /// Goes on with the first tensor.
    void startAgain() {
        left = last;
        last = first;
    }

    boolean holdsNumbers() {
        return contents == Contents.NUMBERS;
    }

    ModelledTensor last() {
        return Objects.requireNonNull(last);
    }

    /// {@return the tensor with which the chain did not go on, or the last one}
    ModelledTensor left() {
        return left == null ? last() : left;
    }

    /// {@return the variable of the last tensor}
    String name() {
        return program().use(tensor());
    }

    /// Whether there is a tensor.
    boolean isStarted() {
        return last != null;
    }

    /// Writes one element or all of them through the last tensor.
    void write() {
        int value = 1 + choices().below(SMALL_NUMBERS);
        DType dtype = last().dtype();
        switch (choices().below(5)) {
            case 0 -> writeOne("setLong", value, Encoding.number(dtype, value, 0),
                    index -> tensor().setLong(index, value));
            case 1 -> writeOne("setDouble", value, Encoding.number(dtype, value, 0),
                    index -> tensor().setDouble(index, value));
            case 2 -> writeOne("setComplex", new Complex(value, value + 1), Encoding.number(dtype, value, value + 1),
                    index -> tensor().setComplex(index, new Complex(value, value + 1)));
            case 3 -> fill(value, () -> tensor().fill(value));
            default -> fill(value, () -> tensor().fill((double) value));
        }
    }

    private void writeOne(String call, Object value, List<Long> element, Consumer<long[]> write) {
        if (model().numel() > 0) {
            List<Integer> index = model().sizes().stream().map(choices()::below).toList();
            long[] given = IntStream.range(0, index.size())
                    .mapToLong(d -> choices().yes() ? index.get(d) - model().size(d) : index.get(d)).toArray();
            tell(call, "new long[]{" + JavaSource.numbers(given) + "}, " + JavaSource.of(value));
            write.accept(given);
            last().write(model().place(index), element);
        }
    }

    private void fill(int value, Runnable fill) {
        tell("fill", Integer.toString(value));
        if (last().repeats()) {
            assertThatThrownBy(fill::run, "%s", called).isInstanceOf(IllegalArgumentException.class);
        } else {
            fill.run();
            model().places().forEach(place -> last().write(place, Encoding.number(last().dtype(), value, 0)));
        }
    }

    /// Looks at every element, and at every byte that the chain ever used.
    void check() {
        if (isStarted()) {
            last().check(called);
            memories.forEach(memory -> memory.check(called));
        }
    }

    // ---- links ----

    private void transpose(int dim, int other) {
        int first = either(dim);
        int second = either(other);
        call("transpose", first, second);
        view(tensor().transpose(first, second), model().transpose(dim, other));
    }

    private void movedim(int dim, int other) {
        int from = either(dim);
        int to = either(other);
        call("movedim", from, to);
        view(tensor().movedim(from, to), model().movedim(dim, other));
    }

    private void narrow(int dim) {
        int start = choices().below(model().size(dim) + 1);
        int length = choices().below(model().size(dim) - start + 1);
        int given = start > 0 && choices().yes() ? start - model().size(dim) : start;
        // From the end there is no place behind the last index.
        int counted = given == 0 ? start : given;
        int where = either(dim);
        call("narrow", where, counted, length);
        view(tensor().narrow(where, counted, length), model().slice(dim, start, length, 1));
    }

    private void slice(int dim) {
        int size = model().size(dim);
        int start = choices().below(size + 1);
        int end = choices().below(size + 3);
        int step = 1 + choices().below(3);
        int count = Math.max(Math.ceilDiv(Math.min(end, size) - start, step), 0);
        long givenStart = start < size && choices().yes() ? start - size : start;
        long givenEnd = end < size ? end - (choices().yes() ? size : 0) : end == size ? size : Long.MAX_VALUE;
        int where = either(dim);
        call("slice", where, givenStart, givenEnd, step);
        view(tensor().slice(where, givenStart, givenEnd, step), model().slice(dim, start, count, step));
    }

    private void select(int dim) {
        int size = model().size(dim);
        if (size > 0) {
            int index = choices().below(size);
            int where = either(dim);
            int given = choices().yes() ? index - size : index;
            call("select", where, given);
            view(tensor().select(where, given), model().select(dim, index));
        }
    }

    private void unfold(int dim) {
        int window = choices().below(model().size(dim) + 1);
        int step = 1 + choices().below(3);
        if (model().rank() < MAX_RANK && model().numel() * window <= MAX_NUMEL) {
            int where = either(dim);
            call("unfold", where, window, step);
            view(tensor().unfold(where, window, step), model().unfold(dim, window, step));
        }
    }

    private void diagonal(int rows, int columns) {
        if (rows != columns) {
            int offset = choices().below(9) - 4;
            int down = either(rows);
            int right = either(columns);
            call("diagonal", offset, down, right);
            view(tensor().diagonal(offset, down, right), model().diagonal(offset, rows, columns));
        }
    }

    private void squeeze(int dim) {
        IndexModel squeezed = model().size(dim) == 1 ? model().select(dim, 0) : model();
        int where = either(dim);
        call("squeeze", where);
        view(tensor().squeeze(where), squeezed);
    }

    private void squeezeAll() {
        call("squeeze");
        view(tensor().squeeze(), model().reshape(model().sizes().stream().filter(size -> size != 1).toList()));
    }

    private void unsqueeze() {
        if (model().rank() < MAX_RANK) {
            int dim = choices().below(model().rank() + 1);
            int given = choices().yes() ? dim - model().rank() - 1 : dim;
            call("unsqueeze", given);
            view(tensor().unsqueeze(given), model().unsqueeze(dim));
        }
    }

    private void permute() {
        List<Integer> order = new ArrayList<>(IntStream.range(0, model().rank()).boxed().toList());
        for (int d = order.size() - 1; d > 0; d--) {
            Collections.swap(order, d, choices().below(d + 1));
        }
        int[] given = order.stream().mapToInt(this::either).toArray();
        call("permute", Arrays.stream(given).boxed().toArray());
        view(tensor().permute(given), model().permute(order));
    }

    private void expand() {
        List<Integer> wanted = new ArrayList<>();
        List<Integer> given = new ArrayList<>();
        if (model().rank() < MAX_RANK && choices().yes()) {
            wanted.add(choices().below(4));
        }
        given.addAll(wanted);
        for (int size : model().sizes()) {
            wanted.add(size == 1 ? choices().below(4) : size);
            given.add(wanted.getLast() == size && choices().yes() ? -1 : wanted.getLast());
        }
        if (product(wanted) <= MAX_NUMEL) {
            call("expand", given.toArray());
            view(tensor().expand(ModelledTensor.longs(given)), model().expand(List.copyOf(wanted)));
        }
    }

    /// A view where strides can say it, else a copy.
    private void reshape() {
        List<Integer> sizes = otherSizes();
        IndexModel wanted = model().reshape(sizes);
        int unknown = choices().below(2 * sizes.size() + 1);
        List<Integer> given = unknown < sizes.size() && model().numel() > 0
                ? IndexModel.changed(sizes, unknown, -1)
                : sizes;
        long[] asked = ModelledTensor.longs(given);
        if (wanted.isStrided()) {
            last().seenAs(tensor().view(asked), wanted).check(called + " -> view" + given);
        } else {
            assertThatThrownBy(() -> tensor().view(asked), "%s -> view%s", called,
                    given).isInstanceOf(IllegalArgumentException.class);
        }
        call("reshape", given.toArray());
        viewOrCopy(tensor().reshape(asked), wanted);
    }

    private void flatten() {
        if (model().rank() == 0) {
            call("flatten");
            view(tensor().flatten(), model().reshape(List.of(1)));
            return;
        }
        int start = choices().below(model().rank());
        int end = start + choices().below(model().rank() - start);
        List<Integer> sizes = new ArrayList<>(model().sizes());
        List<Integer> joined = sizes.subList(start, end + 1);
        int size = product(joined);
        joined.clear();
        sizes.add(start, size);
        int from = either(start);
        int to = either(end);
        call("flatten", from, to);
        viewOrCopy(tensor().flatten(from, to), model().reshape(List.copyOf(sizes)));
    }

    private void asStrided() {
        int rank = choices().below(4);
        List<Integer> sizes = IntStream.range(0, rank).mapToObj(d -> choices().of(SIZES.subList(0, 6))).toList();
        Window window = Window.choose(choices(), sizes, last().memory(), last().dtype());
        tellNext("asStrided", JavaSource.of(window.shape()) + ", new long[]{" + JavaSource.numbers(window.strides())
                + "}, " + window.offset());
        view(tensor().asStrided(window.shape(), window.strides(), window.offset()), window.model(last().dtype()));
    }

    // ---- links that show the same bits as something else ----

    private void flag() {
        DType dtype = last().dtype();
        if (choices().yes() && dtype.kind() == Kind.COMPLEX) {
            flagged("conj", tensor().conj(), Flag.CONJ);
        } else if (dtype.kind() == Kind.QUANTIZED) {
            assertThatThrownBy(tensor()::neg).isInstanceOf(IllegalArgumentException.class);
        } else if (dtype.kind() != Kind.UNSIGNED || contents == Contents.BYTES) {
            // The negative of a small unsigned integer is not small.
            flagged("neg", tensor().neg(), Flag.NEG);
        }
    }

    private void flagged(String call, Tensor made, Flag flag) {
        call(call);
        next(new ModelledTensor(made, last().memory(), last().dtype(), toggled(flag), model()));
    }

    private void dtype() {
        int way = choices().below(4);
        if (contents == Contents.BYTES && choices().yes()) {
            otherDType(choices().of(ALL_DTYPES));
        } else if (last().dtype().kind() == Kind.COMPLEX) {
            part(way);
        } else if (last().dtype().kind() == Kind.FLOATING && !last().dtype().equals(DType.BFLOAT16)) {
            complex();
        }
    }

    private void otherDType(DType wanted) {
        int from = last().dtype().bits();
        int to = wanted.bits();
        boolean wide = from >= Byte.SIZE && to >= Byte.SIZE && model().rank() > 0;
        call("view", wanted);
        if (from == to) {
            seenAs(() -> tensor().view(wanted), wanted, last().isResolved(), this::model);
        } else if (from > to) {
            boolean possible = last().isResolved() && wide && lastDimensionIsRun();
            seenAs(() -> tensor().view(wanted), wanted, possible, () -> model().split(from / to, to));
        } else {
            boolean possible = last().isResolved() && wide && model().canJoin(to / from, from);
            seenAs(() -> tensor().view(wanted), wanted, possible, () -> model().join(to / from));
        }
    }

    private boolean lastDimensionIsRun() {
        int size = model().size(model().rank() - 1);
        return IntStream.range(0, model().numel()).filter(i -> i % size > 0)
                .allMatch(i -> model().places().get(i) == model().places().get(i - 1) + last().width());
    }

    private void part(int way) {
        DType part = DType.of(switch (last().dtype().bits()) {
            case 128 -> "float64";
            case 64 -> "float32";
            default -> "float16";
        });
        IndexModel pairs = model().pairs(part.bits());
        boolean conjugated = last().flags().contains(Flag.CONJ);
        Set<Flag> real = conjugated ? toggled(Flag.CONJ) : last().flags();
        Set<Flag> imaginary = EnumSet.noneOf(Flag.class);
        imaginary.addAll(real.contains(Flag.NEG) == conjugated ? Set.of() : Set.of(Flag.NEG));
        if (way < 2) {
            call("real");
            next(new ModelledTensor(tensor().real(), last().memory(), part, real,
                    pairs.select(model().rank(), 0)));
        } else if (way == 2) {
            call("imag");
            next(new ModelledTensor(tensor().imag(), last().memory(), part, imaginary,
                    pairs.select(model().rank(), 1)));
        } else if (model().rank() < MAX_RANK) {
            call("viewAsReal");
            seenAs(tensor()::viewAsReal, part, !conjugated, () -> pairs);
        }
    }

    private void complex() {
        DType wanted = DType.of(switch (last().dtype().bits()) {
            case 64 -> "complex128";
            case 32 -> "complex64";
            default -> "complex32";
        });
        boolean pairs = model().rank() > 0 && model().size(model().rank() - 1) == 2
                && model().canJoin(2, last().width());
        call("viewAsComplex");
        seenAs(tensor()::viewAsComplex, wanted, pairs,
                () -> model().join(2).select(model().rank() - 1, 0));
    }

    /// Such views ask for strides that a dimension of size 1 has too, and a tensor without elements, although nobody
    /// can see them. So these may be refused where they are possible.
    private void seenAs(Supplier<Tensor> view, DType dtype, boolean possible,
            Supplier<IndexModel> meaning) {
        Tensor made;
        try {
            made = view.get();
        } catch (IllegalArgumentException e) {
            boolean obvious = possible && model().numel() > 0 && !model().sizes().contains(1);
            assertThat(obvious).as("%s is possible, but: %s", called, e).isFalse();
            return;
        }
        assertThat(possible).as("%s is possible", called).isTrue();
        next(new ModelledTensor(made, last().memory(), dtype, last().flags(), meaning.get()));
    }

    private Set<Flag> toggled(Flag flag) {
        Set<Flag> flags = EnumSet.of(flag);
        for (Flag old : last().flags()) {
            if (!flags.remove(old)) {
                flags.add(old);
            }
        }
        return flags;
    }

    // ---- links that may copy ----

    private void copy() {
        switch (choices().below(5)) {
            case 0 -> {
                call("copy");
                next(last().rowMajorCopy(tensor().copy()));
            }
            case 1 -> sameOrCopy("contiguous", tensor().contiguous(), last().isOneRun());
            case 2 -> sameOrCopy("resolveConj", tensor().resolveConj(), !last().flags().contains(Flag.CONJ));
            case 3 -> sameOrCopy("resolveNeg", tensor().resolveNeg(), !last().flags().contains(Flag.NEG));
            default -> channelsLast();
        }
    }

    private void channelsLast() {
        if (model().rank() < 4) {
            assertThatThrownBy(() -> tensor().copy(MemoryFormat.CHANNELS_LAST), "channels of %s",
                    name()).isInstanceOf(IllegalArgumentException.class);
            return;
        }
        MemoryFormat format = model().rank() == 4 ? MemoryFormat.CHANNELS_LAST : MemoryFormat.CHANNELS_LAST_3D;
        if (model().numel() == 0) {
            // Without elements the order is a question of strides alone, of which the model knows nothing.
            assertThat(tensor().contiguous(format).shape()).isEqualTo(tensor().shape());
            return;
        }
        boolean inOrder = last().isResolved() && last().startsOnByte() && last().isChannelsLast();
        Tensor ordered = tensor().contiguous(format);
        assertThat(ordered == tensor()).as("%s -> contiguous %s is this", called, format).isEqualTo(inOrder);
        assertThat(ordered.isContiguous(format)).as("%s -> contiguous %s", called, format).isTrue();
        if (ordered != tensor()) {
            last().channelsLastCopy(ordered).check(called + " -> contiguous " + format);
        }
        tellNext("copy", "MemoryFormat." + format);
        next(last().channelsLastCopy(tensor().copy(format)));
    }

    private void sameOrCopy(String what, Tensor made, boolean same) {
        call(what);
        assertThat(made == tensor()).as("%s is this", called).isEqualTo(same);
        next(same ? last() : last().rowMajorCopy(made));
    }

    private void viewOrCopy(Tensor made, IndexModel meaning) {
        ModelledTensor seen = last().seenAs(made, meaning);
        next(meaning.isStrided() ? seen : seen.rowMajorCopy(made));
    }

    // ---- parts ----

    private Tensor tensor() {
        return last().tensor();
    }

    private IndexModel model() {
        return last().model();
    }

    private void view(Tensor made, IndexModel meaning) {
        next(last().seenAs(made, meaning));
    }

    private void next(ModelledTensor made) {
        program().name(called, made.tensor());
        last = made;
        memories.add(made.memory());
    }

    /// Tells that the next tensor is made by a call on the last one.
    private void call(String method, Object... arguments) {
        tellNext(method, arguments(arguments));
    }

    private void tellNext(String method, String arguments) {
        called = program().declare("t", name() + "." + method + "(" + arguments + ")");
    }

    /// Tells of a call on the last tensor.
    void tell(String method, String arguments) {
        program().line(name() + "." + method + "(" + arguments + ")");
    }

    private static String arguments(Object... arguments) {
        return Arrays.stream(arguments).map(JavaSource::of).collect(Collectors.joining(", "));
    }

    /// The same dimension, counted from one end or the other.
    private int either(int dim) {
        return choices().yes() ? dim - model().rank() : dim;
    }

    /// Any sizes of as many elements.
    private List<Integer> otherSizes() {
        List<Integer> sizes = new ArrayList<>();
        int rest = model().numel();
        while (sizes.size() < MAX_RANK - 1 && choices().yes()) {
            int size = 1 + choices().below(6);
            if (rest % size == 0) {
                sizes.add(choices().below(sizes.size() + 1), size);
                rest /= size;
            }
        }
        if (rest != 1 || choices().yes()) {
            sizes.add(choices().below(sizes.size() + 1), rest);
        }
        return List.copyOf(sizes);
    }

    private static int product(List<Integer> sizes) {
        return sizes.stream().reduce(1, Math::multiplyExact);
    }

    static byte[] bytes(DType dtype, int numel) {
        byte[] bytes = new byte[(int) dtype.nbytes(numel)];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i * 37 + 11);
        }
        return bytes;
    }

    static byte[] numbers(DType dtype, int numel) {
        return Memory.packed(dtype, IntStream.range(0, numel)
                .mapToObj(i -> Encoding.number(dtype, 1 + i % SMALL_NUMBERS, 1 + (i + 7) % SMALL_NUMBERS)).toList());
    }
}
