package io.undercroft.format;

import java.io.Serializable;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;

/// The remedy for a fault: text that may name options of the library. Programs can replace these names, as the `croft`
/// command does by its own options.
///
/// @param text the text, without a full stop, with `{}` in place of each option
/// @param options the options, in the order of their places in the text
public record Remedy(String text, List<Option> options) implements Serializable {
    private static final String PLACE = "{}";

    /// An option of the library.
    ///
    /// @param name the class and method that sets it, such as `OpenOptions.root`
    /// @param argument the text after the name, for instance an argument in parentheses; may be empty
    public record Option(String name, String argument) implements Serializable {
        /// {@return the name and the argument}
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
    /// @param text the text, without a full stop, with `{}` in place of each option
    /// @param options the names of the options, in the order of their places in the text
    public static Remedy naming(String text, String... options) {
        return new Remedy(text, List.of(options).stream().map(name -> new Option(name, "")).toList());
    }

    /// {@return this remedy with more text appended}
    ///
    /// @param more the text, without a full stop
    public Remedy and(String more) {
        return new Remedy(text + more, options);
    }

    /// {@return the text, with names of the caller for the options}
    ///
    /// @param words returns the name of an option
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

    /// {@return the text, with the names of the options in the library}
    @Override
    public String toString() {
        return in(Objects::toString);
    }
}
