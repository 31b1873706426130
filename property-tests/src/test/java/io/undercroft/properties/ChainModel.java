package io.undercroft.properties;

import io.undercroft.properties.states.Program;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Shrinkable;
import net.jqwik.api.ShrinkingDistance;
import net.jqwik.api.state.Action;
import net.jqwik.api.state.ActionChain;
import net.jqwik.api.state.Transformer;

/// Something that chains of actions are tried on, together with a plain model of it. It tells in Java what is done to
/// it, and a chain that fails prints that.
public abstract class ChainModel implements AutoCloseable {
    /// As many decisions as one action takes, and more.
    private static final int NUMBERS = 16;
    /// What jqwik expects of a generator.
    private static final int GENERATED = 1000;

    private final Program program = new Program();
    private Choices choices = new Choices(List.of());

    /// Does something to a model.
    ///
    /// @param <M> the model
    @FunctionalInterface
    public interface Step<M> {
        /// Does it.
        void take(M model) throws IOException;
    }

    /// Does something to a model, with something made for it.
    ///
    /// @param <M> the model
    /// @param <P> what is made
    @FunctionalInterface
    public interface StepWith<M, P> {
        /// Does it.
        void take(M model, P part) throws IOException;
    }

    /// {@return the action that takes a step} What exactly the step does depends on the model as it is then, and on
    /// [#choices()], of which each action has its own: so an action means something wherever it is in a chain.
    public static <M extends ChainModel> Action.Independent<M> action(Step<M> step) {
        return () -> remembered(Choices.numbers(NUMBERS).map(numbers -> new Taken<>(step, numbers)));
    }

    /// {@return the action that takes a step with something made for it}
    ///
    /// @param parts what is made for it
    /// @param step the step
    public static <M extends ChainModel, P> Action.Independent<M> action(Arbitrary<P> parts, StepWith<M, P> step) {
        return () -> remembered(Combinators.combine(Choices.numbers(NUMBERS), parts)
                .as((numbers, part) -> new Taken<>(model -> step.take(model, part), numbers)));
    }

    /// jqwik asks for the value of a transformer again to print it, and it has to be the one that was applied, which
    /// knows what the model told.
    private static <M> Arbitrary<Transformer<M>> remembered(Arbitrary<Transformer<M>> transformers) {
        return Arbitraries.fromGenerator(transformers.generator(GENERATED).mapShrinkable(Remembered::new));
    }

    private static final class Remembered<T> implements Shrinkable<T> {
        private final Shrinkable<? extends T> shrinkable;
        private final T value;

        Remembered(Shrinkable<? extends T> shrinkable) {
            this.shrinkable = shrinkable;
            this.value = shrinkable.value();
        }

        @Override
        public T value() {
            return value;
        }

        @Override
        public Stream<Shrinkable<T>> shrink() {
            return shrinkable.shrink().map(Remembered::new);
        }

        @Override
        public ShrinkingDistance distance() {
            return shrinkable.distance();
        }
    }

    /// Runs a chain, checks its model after each action, and closes it.
    ///
    /// @param chain the chain
    /// @param check what throws if the model is not what it should be
    public static <M extends ChainModel> void run(ActionChain<M> chain, Step<M> check) throws IOException {
        try {
            chain.withInvariant(model -> take(check, model)).run();
        } catch (RuntimeException | Error e) {
            // What fails is shrunk as long as it fails in the same way.
            try (M _ = chain.finalState().orElse(null)) {
                throw e;
            }
        }
        chain.finalState().orElseThrow().close();
    }

    private static <M> void take(Step<M> step, M model) {
        try {
            step.take(model);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// {@return a directory for the files of a model, which closes it}
    protected static Scratch makeScratch() {
        try {
            return Scratch.make();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// {@return the decisions of the step that is taken}
    public Choices choices() {
        return choices;
    }

    /// {@return what was done to this, in Java}
    public Program program() {
        return program;
    }

    /// Frees what is not freed by the garbage collector.
    @Override
    public void close() throws IOException {
        // Most have nothing of the kind.
    }

    @Override
    public String toString() {
        return program.toString();
    }

    private static final class Taken<M extends ChainModel> implements Transformer<M> {
        private final Step<M> step;
        private final List<Integer> numbers;
        private String told = "";

        Taken(Step<M> step, List<Integer> numbers) {
            this.step = step;
            this.numbers = numbers;
        }

        @Override
        public M apply(M model) {
            ChainModel chain = model;
            int start = chain.program.length();
            chain.choices = new Choices(numbers);
            try {
                ChainModel.take(step, model);
            } finally {
                told = chain.program.toString().substring(start).strip();
            }
            return model;
        }

        @Override
        public String transformation() {
            return told.isEmpty() ? "// nothing" : told;
        }
    }
}
