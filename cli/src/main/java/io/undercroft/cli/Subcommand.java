package io.undercroft.cli;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;

/// One of the commands of `croft`, or several that share a first word.
///
/// @param description the description for the help; empty if the help does not show it
/// @param takes describes its parameters and options; called only if this command was selected
/// @param body does it and returns the exit code
/// @param members the commands whose second word chooses among them; empty if this is one command
record Subcommand(String description, Supplier<List<ArgSpec>> takes, ToIntFunction<Arguments> body,
        SequencedMap<String, Subcommand> members) {
    private static final SequencedMap<String, Subcommand> NONE = Collections
            .unmodifiableSequencedMap(new LinkedHashMap<>());

    /// One command.
    ///
    /// @param description the description for the help
    /// @param takes describes its parameters and options
    /// @param body does it and returns the exit code
    Subcommand(String description, Supplier<List<ArgSpec>> takes, ToIntFunction<Arguments> body) {
        this(description, takes, body, NONE);
    }

    /// {@return a hidden command that only croft itself calls}
    ///
    /// @param takes describes its parameters
    /// @param body does it and returns the exit code
    static Subcommand hidden(Supplier<List<ArgSpec>> takes, ToIntFunction<Arguments> body) {
        return new Subcommand("", takes, body);
    }

    /// {@return commands that share a first word}
    ///
    /// @param description the description for the help
    /// @param members the commands by their second word
    static Subcommand group(String description, SequencedMap<String, Subcommand> members) {
        return new Subcommand(description, List::of, _ -> {
            throw new IllegalStateException("a group is no command");
        }, members);
    }

    boolean isHidden() {
        return description.isEmpty();
    }

    boolean isGroup() {
        return !members.isEmpty();
    }

    /// {@return its description for picocli}
    CommandSpec spec() {
        CommandSpec spec = Arguments.describe(CommandSpec.create(), description);
        spec.usageMessage().hidden(isHidden());
        takes.get().forEach(spec::add);
        members.forEach((name, member) -> spec.addSubcommand(name, member.spec()));
        if (isGroup()) {
            spec.usageMessage().synopsisSubcommandLabel("COMMAND");
        }
        return spec;
    }
}
