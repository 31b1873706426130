package io.undercroft.properties.torch7;

import static org.assertj.core.api.Assertions.fail;

import io.undercroft.properties.torch7.ObservedCase.Step;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/// What a line led to: an error, or what it printed and the values it returned.
record Outcome(Optional<Throwable> error, String printed, String result) {
    /// Which of our exceptions stands for which of Torch7's errors. What Lua finds wrong with an argument's type does
    /// not compile in Java.
    private static final Map<Pattern, Class<? extends Throwable>> ERRORS = Map.of(
            Pattern.compile("(number|boolean|torch\\.\\*?\\w*Storage) expected, got|is not a number|cannot be indexed"
                    + "|attempt to call method"),
            ClassCastException.class,
            Pattern.compile("invalid memory size|size mismatch|invalid storage offset"), IllegalArgumentException.class,
            Pattern.compile("not enough memory"), OutOfMemoryError.class,
            Pattern.compile("out of bounds"), IndexOutOfBoundsException.class,
            Pattern.compile("storage that is not resizable"), UnsupportedOperationException.class,
            Pattern.compile("unable to (open|stretch|resize|mmap)|required mapping size|could not unlink"),
            UncheckedIOException.class);

    static Outcome of(Throwable error) {
        return new Outcome(Optional.of(error), "", "");
    }

    static Outcome of(String result, String printed) {
        return new Outcome(Optional.empty(), printed, result);
    }

    /// {@return whether Torch7 did the same}
    boolean isThatOf(Step step) {
        return step.error()
                .map(message -> error.filter(expected(message)::isInstance).isPresent())
                .orElseGet(() -> error.isEmpty() && printed.equals(step.printed()) && result.equals(step.result()));
    }

    /// Fails, with both, unless Torch7 did the same.
    void checkAgainst(Step step) {
        if (!isThatOf(step)) {
            fail("Torch7: %s%nours:   %s".formatted(step.answer(), describe()), error.orElse(null));
        }
    }

    /// {@return in one line: the name of the exception that explains the error, or all that was printed and returned}
    String describe() {
        String answer = printed.isEmpty() && result.isEmpty() ? "nothing" : printed + result;
        return error.map(thrown -> cause(thrown).getClass().getSimpleName()).orElse(answer);
    }

    private static Throwable cause(Throwable thrown) {
        return thrown instanceof UncheckedIOException ? thrown.getCause() : thrown;
    }

    private static Class<? extends Throwable> expected(String message) {
        return ERRORS.entrySet().stream().filter(entry -> entry.getKey().matcher(message).find())
                .findFirst().orElseThrow(() -> new IllegalArgumentException("an unknown error of Torch7: " + message))
                .getValue();
    }
}
