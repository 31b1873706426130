package io.undercroft.properties.tensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.properties.Choices;
import io.undercroft.properties.states.JavaSource;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.DType.Kind;
import io.undercroft.storage.Tensor;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import net.jqwik.api.state.Action;

/// What should come of the elements of the last tensor of a chain, in other tensors.
final class ElementCopies {
    private final Choices choices;
    private final ViewChain chain;

    private ElementCopies(ViewChain chain) {
        this.choices = chain.choices();
        this.chain = chain;
    }

    /// {@return an action on the elements of the last tensor}
    static Action.Independent<ViewChain> action(Consumer<ElementCopies> step) {
        return ViewChain.link(chain -> step.accept(new ElementCopies(chain)));
    }

    // ---- to new tensors ----

    /// A copy is equal, whatever the strides, until one of its elements is written.
    void compare() {
        ModelledTensor from = chain.last();
        chain.tell("contentEquals", chain.program().use(from.tensor()) + ".copy()");
        Tensor copy = from.tensor().copy();
        assertThat(copy.contentEquals(from.tensor())).as("%s is its copy", chain.name()).isTrue();
        assertThat(from.tensor().contentEquals(from.tensor())).as("%s is itself", chain.name()).isTrue();
        if (from.model().numel() > 0) {
            long[] index = from.model().sizes().stream().mapToLong(choices::below).toArray();
            Complex old = copy.getComplex(index);
            copy.setLong(index, old.real() == 1 ? 2 : 1);
            assertThat(copy.contentEquals(from.tensor())).as("%s is a changed copy", chain.name()).isFalse();
        }
    }

    /// Converts numbers to another dtype and back.
    void convert() {
        ModelledTensor from = chain.last();
        DType other = choices.of(ViewChain.DTYPES);
        chain.tell("to", JavaSource.of(other));
        Tensor there = from.tensor().to(other);
        if (other.equals(from.dtype())) {
            assertThat(there).isSameAs(from.tensor());
            return;
        }
        ModelledTensor converted = converted(from, there, other);
        converted.check(chain.name() + " -> " + other);
        if (reals(converted).equals(reals(from))) {
            Tensor back = there.to(from.dtype());
            converted(converted, back, from.dtype()).check(chain.name() + " -> " + other + " -> " + from.dtype());
        }
    }

    private static List<Double> reals(ModelledTensor of) {
        return of.elements().stream().map(parts -> Encoding.number(of.dtype(), parts).real()).toList();
    }

    /// Arrays have the elements in order, converted.
    void toArrays() {
        chain.tell("toLongArray", "");
        Tensor tensor = chain.last().tensor();
        assertThat(tensor.toLongArray()).as("%s", chain.name()).isEqualTo(wholes(DType.INT64).toArray());
        assertThat(tensor.toIntArray()).as("%s", chain.name())
                .isEqualTo(wholes(DType.INT32).mapToInt(Math::toIntExact).toArray());
        assertThat(tensor.toDoubleArray()).as("%s", chain.name()).isEqualTo(chain.last().elements().stream()
                .mapToDouble(parts -> Encoding.number(chain.last().dtype(), parts).real()).toArray());
    }

    private LongStream wholes(DType dtype) {
        DType from = chain.last().dtype();
        return chain.last().elements().stream()
                .mapToLong(parts -> Encoding.whole(dtype, Encoding.convert(from, parts, dtype)));
    }

    private static ModelledTensor converted(ModelledTensor from, Tensor copy, DType dtype) {
        List<List<Long>> elements = from.elements().stream()
                .map(parts -> Encoding.convert(from.dtype(), parts, dtype)).toList();
        return new ModelledTensor(copy, Memory.holding(copy.storage(), dtype, elements), dtype, Set.of(),
                IndexModel.rowMajor(from.model().sizes(), 0, dtype.bits()));
    }

    // ---- to tensors that there are ----

    /// Copies another tensor into the last of the chain, which then has the values that the other had before: the one
    /// with which the chain did not go on, on the same storage or on another.
    void copyFrom() {
        ModelledTensor target = chain.last();
        ModelledTensor source = fitting(chain.left(), target);
        chain.tell("copyFrom", chain.program().use(source.tensor()));
        String story = chain.name();
        boolean fits = canExpand(source.model().sizes(), target.model().sizes());
        if (!fits || (target.repeats() && !isSameWindow(source, target))) {
            assertThatThrownBy(() -> target.tensor().copyFrom(source.tensor()), "%s", story)
                    .isInstanceOf(IllegalArgumentException.class);
        } else if (!target.repeats()) {
            Map<Integer, Set<List<Long>>> wanted = wanted(source, target);
            target.tensor().copyFrom(source.tensor());
            settle(target, wanted, story);
        }
        source.check(chain.name());
    }

    private static boolean isSameWindow(ModelledTensor source, ModelledTensor target) {
        return source.memory() == target.memory() && source.dtype().equals(target.dtype())
                && source.model().expand(target.model().sizes()).equals(target.model());
    }

    /// The source itself if it can be expanded to the target, else a window of its memory that can.
    private ModelledTensor fitting(ModelledTensor source, ModelledTensor target) {
        boolean copies = source.dtype().equals(target.dtype()) || convertible(source, target);
        if (copies && canExpand(source.model().sizes(), target.model().sizes())) {
            return source;
        }
        DType dtype = copies ? source.dtype() : target.dtype();
        Window window = window(source.memory(), dtype, target);
        Tensor tensor = chain.program().declare("t",
                Tensor.of(source.memory().storage, dtype, window.offset(), window.shape(), window.strides()),
                "Tensor.of(" + chain.program().use(source.tensor()) + ".storage(), " + JavaSource.of(dtype) + ", "
                        + window.offset() + ", " + JavaSource.of(window.shape()) + ", "
                        + JavaSource.numbers(window.strides()) + ")");
        return new ModelledTensor(tensor, source.memory(), dtype, Set.of(), window.model(dtype));
    }

    /// Half of the time the target's own window, moved a little and with its dimensions swapped.
    private Window window(Memory memory, DType dtype, ModelledTensor target) {
        List<Integer> sizes = target.model().sizes();
        List<Integer> steps = new ArrayList<>(IntStream.range(0, sizes.size())
                .mapToObj(d -> (int) target.tensor().stride(d)).toList());
        if (choices.yes() && steps.size() > 1) {
            Collections.swap(steps, choices.below(steps.size()), choices.below(steps.size()));
        }
        int moved = Math.max((int) target.tensor().storageOffset() + choices.below(5) - 2, 0);
        Window near = new Window(sizes, steps, moved);
        return choices.yes() && near.fits(memory, dtype) ? near : Window.choose(choices, sizes, memory, dtype);
    }

    /// Integers have any bits, and convert by losing the upper ones. Others convert where they are small numbers.
    private boolean convertible(ModelledTensor source, ModelledTensor target) {
        return chain.holdsNumbers() || (isPlainInteger(source.dtype()) && isPlainInteger(target.dtype()));
    }

    private static boolean isPlainInteger(DType dtype) {
        return dtype.kind() == Kind.SIGNED || dtype.kind() == Kind.UNSIGNED;
    }

    private static boolean canExpand(List<Integer> sizes, List<Integer> wanted) {
        int added = wanted.size() - sizes.size();
        return added >= 0 && IntStream.range(0, sizes.size())
                .allMatch(d -> sizes.get(d) == 1 || sizes.get(d).equals(wanted.get(d + added)));
    }

    /// What each place of the target may hold: one value, or any of several where elements share a place.
    private static Map<Integer, Set<List<Long>>> wanted(ModelledTensor source, ModelledTensor target) {
        List<Integer> places = source.model().expand(target.model().sizes()).places();
        Map<Integer, Set<List<Long>>> wanted = new HashMap<>();
        for (int i = 0; i < places.size(); i++) {
            List<Long> value = Encoding.convert(source.dtype(), source.element(places.get(i)), target.dtype());
            wanted.computeIfAbsent(target.model().places().get(i), place -> new HashSet<>()).add(value);
        }
        return wanted;
    }

    private static void settle(ModelledTensor target, Map<Integer, Set<List<Long>>> wanted, String story) {
        byte[] seen = target.memory().storage.segment().toArray(ValueLayout.JAVA_BYTE);
        wanted.forEach((place, values) -> {
            List<Long> value = Encoding.resolve(target.dtype(), target.flags(),
                    Encoding.read(seen, target.dtype(), place));
            assertThat(values).as("what %s leaves at bit %s", story, place).contains(value);
            target.write(place, value);
        });
    }
}
