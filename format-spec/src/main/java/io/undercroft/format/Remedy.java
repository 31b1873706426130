package io.undercroft.format;

import java.io.Serializable;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;

/// What to do about a fault: text that may name options of the library. A program that shows it can use other names, as
/// the `croft` command does for its own options.
///
/// @param text the text, without a full stop, with `{}` where an option is named
/// @param options the options, in the order in which the text names them
public record Remedy(String text, List<Option> options) implements Serializable {
    private static final String PLACE = "{}";

    /// An option of the library.
    ///
    /// @param name the class and method that sets it, such as `OpenOptions.root`
    /// @param argument what follows the name in Java, perhaps nothing
    public record Option(String name, String argument) implements Serializable {
        /// {@return the option as a programmer calls it}
        @Override
        public String toString() {
            return name + argument;
        }
    }

    /// Makes the text safe to print.
    public Remedy {
        text = FormatException.printable(text);
        options = List.copyOf(options);
    }

    /// {@return a remedy that names no option}
    ///
    /// @param text the text, without a full stop
    public static Remedy of(String text) {
        return new Remedy(text, List.of());
    }

    /// {@return a remedy that names options without arguments}
    ///
    /// @param text the text, without a full stop, with `{}` where an option is named
    /// @param options the names of the options, in that order
    public static Remedy naming(String text, String... options) {
        return new Remedy(text, List.of(options).stream().map(name -> new Option(name, "")).toList());
    }

    /// {@return the same, with more text behind it}
    ///
    /// @param more the text, without a full stop
    public Remedy and(String more) {
        return new Remedy(text + more, options);
    }

    /// {@return the text, with each option in the words of the caller}
    ///
    /// @param words what an option is called
    public String in(Function<? super Option, String> words) {
        StringBuilder said = new StringBuilder();
        int done = 0;
        for (Option option : options) {
            int place = text.indexOf(PLACE, done);
            said.append(text, done, place).append(FormatException.printable(words.apply(option)));
            done = place + PLACE.length();
        }
        return said.append(text, done, text.length()).toString();
    }

    /// {@return the text for programmers}
    @Override
    public String toString() {
        return in(Objects::toString);
    }
}
