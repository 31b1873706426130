package io.undercroft.cli;

import io.undercroft.cli.internal.TextOutput;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.analysis.NamedTensors;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.StatePart;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.stream.Stream;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/// Completion of command lines in bash and zsh: commands, options and their values by a script of picocli, and names of
/// tensors by a command that the script runs.
final class Completion {
    /// The command that prints the names in a file.
    static final String NAMES = "complete-names";

    private static final int MOST_NAMES = 1000;
    private static final int MOST_VALUES = 100_000;
    private Completion() {}

    /// {@return the script}
    ///
    /// @param command all commands
    /// @throws IOException if a part of croft is missing
    static String script(CommandSpec command) throws IOException {
        try (InputStream names = Objects.requireNonNull(Completion.class.getResourceAsStream("names.bash"))) {
            return AutoComplete.bash("croft", new CommandLine(command))
                    + new String(names.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /// Prints the names of tensors, the paths of values, and those of the containers that they are in, that begin with
    /// a text. Names of more than one line or with characters that a terminal would obey are left out.
    static int printNames(Arguments arguments, TextOutput out) throws IOException {
        String typed = arguments.word(1);
        try (Checkpoint checkpoint = Inputs.open(arguments.path(0), OpenOptions.defaults().onMeta())) {
            NamedTensors named = new NamedTensors(checkpoint);
            Stream<String> paths = StatePart.scalars(checkpoint.tree(), MOST_VALUES).stream().map(StatePart::path)
                    .map(StateIndex::rawName);
            Stream.concat(named.tensors().sequencedKeySet().stream().map(named::typed), paths)
                    .flatMap(name -> withParents(name, typed))
                    .filter(name -> FormatException.printable(name).equals(name))
                    .distinct().limit(MOST_NAMES).forEach(out::line);
        }
        return CommandRunner.OK;
    }

    /// Returns a name and the paths of the containers around it, as far as they begin with a text.
    private static Stream<String> withParents(String name, String typed) {
        return name.startsWith(typed)
                ? Stream.iterate(name, path -> !path.isEmpty() && path.length() >= typed.length(),
                        path -> path.substring(0, Math.max(path.lastIndexOf('/'), 0)))
                : Stream.empty();
    }
}
