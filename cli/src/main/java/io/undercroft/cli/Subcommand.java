package io.undercroft.cli;

import java.util.List;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;

/// One of the commands of `croft`.
///
/// @param description what it does, for the help; empty if the help does not show it
/// @param takes describes its parameters and options; asked only if this is the command that is wanted
/// @param body does it and returns the exit code
record Subcommand(String description, Supplier<List<ArgSpec>> takes, ToIntFunction<Arguments> body) {
    /// {@return a command that croft itself calls, without parameters}
    ///
    /// @param body does it and returns the exit code
    static Subcommand hidden(ToIntFunction<Arguments> body) {
        return new Subcommand("", List::of, body);
    }

    /// {@return how picocli describes it}
    CommandSpec spec() {
        CommandSpec spec = Arguments.describe(CommandSpec.create(), description);
        spec.usageMessage().hidden(description.isEmpty());
        takes.get().forEach(spec::add);
        return spec;
    }
}
