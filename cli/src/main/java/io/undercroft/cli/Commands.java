package io.undercroft.cli;

import io.undercroft.cli.internal.TextOutput;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import picocli.CommandLine.Model.ArgSpec;

/// Commands that have something in common, in the order of the help.
abstract class Commands {
    final TextOutput out;
    final CommandRunner run;
    final Saver saver;
    private final SequencedMap<String, Subcommand> all = new LinkedHashMap<>();

    Commands(TextOutput out, CommandRunner run) {
        this.out = out;
        this.run = run;
        this.saver = new Saver(out, run);
    }

    /// Adds a command.
    ///
    /// @param description the description for the help
    /// @param takes describes its parameters and options; called only if this command was selected
    /// @param body does it and returns the exit code
    final void add(String name, String description, Supplier<List<ArgSpec>> takes, ToIntFunction<Arguments> body) {
        all.put(name, new Subcommand(description, takes, body));
    }

    /// {@return the commands by their names}
    final SequencedMap<String, Subcommand> all() {
        return all;
    }
}
