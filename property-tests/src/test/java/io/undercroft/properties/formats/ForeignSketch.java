package io.undercroft.properties.formats;

import io.undercroft.properties.Choices;
import io.undercroft.properties.states.Program;
import io.undercroft.properties.states.Sketch;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;

/// How a state of the kind that a format was made for is made. Each step puts some things into it, which numbers of its
/// own decide about. So any part of a sketch is a sketch.
///
/// @param dialect the format
/// @param isForPeers whether the real library can hold the state, too
/// @param steps the numbers of the steps, see [Choices#inSteps]
/// @param annotations the numbers of an [AnnotatedMaker]; none adds nothing
public record ForeignSketch(Dialect dialect, boolean isForPeers, List<List<Integer>> steps,
        List<Integer> annotations) implements Sketch {
    private static final int MOST_STEPS = 6;
    private static final int MOST_NUMBERS = 80;

    /// {@return states of the kinds that some formats were made for}
    public static Arbitrary<ForeignSketch> of(Dialect... dialects) {
        return Combinators.combine(Arbitraries.of(dialects), Choices.steps(0, MOST_STEPS, MOST_NUMBERS))
                .as((dialect, steps) -> new ForeignSketch(dialect, false, steps, List.of()));
    }

    /// {@return such states that the real library can hold, too}
    public static Arbitrary<ForeignSketch> forPeers(Dialect dialect) {
        return of(dialect).map(sketch -> new ForeignSketch(dialect, true, sketch.steps, List.of()));
    }

    /// {@return such states with more in them, which formats keep or not}
    public static Arbitrary<ForeignSketch> annotated(Dialect... dialects) {
        return Combinators.combine(of(dialects), Choices.numbers(MOST_NUMBERS))
                .as((sketch, annotations) -> new ForeignSketch(sketch.dialect, false, sketch.steps, annotations));
    }

    @Override
    public Object make() {
        return make(new Program());
    }

    private Object make(Program program) {
        Choices choices = Choices.inSteps(steps);
        Object plain = isForPeers ? dialect.makeForPeers(choices, program) : dialect.make(choices, program);
        Object state = AnnotatedMaker.annotate(plain, new Choices(annotations), program);
        program.line("Object state = " + program.use(state));
        return state;
    }

    /// {@return a Java program that makes the state, as statements the last of which declares `state`}
    @Override
    public String toString() {
        Program program = new Program();
        program.note("// for " + dialect);
        make(program);
        return program.toString();
    }
}
