package io.undercroft.cli;

import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.quickstart.PeerSide;
import io.undercroft.cli.internal.quickstart.Quickstart;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/// The `croft` command: which commands there are, and which one is wanted.
///
/// The commands are described by calls and not by picocli's annotations, and only the one that is asked for is: reading
/// the annotations of all would take longer than inspecting a file.
public final class Croft {
    private static final String VERSION = "croft 0.1.0-SNAPSHOT";

    private final Output out;
    private final Run run;
    private final SequencedMap<String, Subcommand> subcommands = new LinkedHashMap<>();

    private Croft(Output out, PrintWriter err) {
        this.out = out;
        this.run = new Run(out, err);
        subcommands.put("quickstart", new Subcommand(
                "Shows the main job on a real PyTorch training checkpoint, and proves each step.", List::of,
                _ -> run.of(() -> Quickstart.run(out, err))));
        subcommands.putAll(new ReadingCommands(out, run).all());
        subcommands.put("convert", new ConvertCommand(out, run).command());
        subcommands.putAll(new SavingCommands(out, run).all());
        subcommands.putAll(new SharingCommands(out, run).all());
        subcommands.putAll(new CopyingCommands(run).all());
        subcommands.putAll(new SetCommands(out, run).all());
        subcommands.putAll(new MachineCommands(out, run).all());
        subcommands.put("help", new Subcommand("Prints how a command is called.",
                () -> List.of(Arguments.optionalWord("COMMAND", "A command, or nothing for a list of all.")),
                this::help));
        // What the launcher script runs after a build, so that the JVM sees what the commands load.
        subcommands.put("train", Subcommand.hidden(_ -> run.of(Training::run)));
        // The second process of the quickstart.
        subcommands.put("quickstart-peer", Subcommand.hidden(_ -> run.of(() -> {
            return PeerSide.run(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)), out);
        })));
    }

    /// Runs the command and ends the process.
    ///
    /// @param args the command line
    public static void main(String[] args) {
        // Numbers are for programs, too.
        Locale.setDefault(Locale.ROOT);
        PrintWriter err = new PrintWriter(new FileOutputStream(FileDescriptor.err), true, StandardCharsets.UTF_8);
        System.exit(execute(Output.standard(), err, args));
    }

    /// Runs the command.
    ///
    /// @param out takes results
    /// @param err takes messages
    /// @param args the command line
    /// @return the exit code
    static int execute(Output out, PrintWriter err, String... args) {
        return new Croft(out, err).execute(args);
    }

    private int execute(String... args) {
        // A file may be called @name.
        CommandLine command = new CommandLine(spec(args)).setExpandAtFiles(false);
        try {
            ParseResult parsed = command.parseArgs(args);
            List<CommandLine> line = parsed.asCommandLineList();
            CommandLine last = line.getLast();
            if (last.isUsageHelpRequested()) {
                return print(last.getUsageMessage());
            }
            if (last.isVersionHelpRequested()) {
                return print(VERSION + "\n");
            }
            if (!parsed.hasSubcommand()) {
                throw new ParameterException(command, "Missing required subcommand");
            }
            ParseResult arguments = parsed.subcommand();
            return Objects.requireNonNull(subcommands.get(arguments.commandSpec().name())).body()
                    .applyAsInt(new Arguments(arguments));
        } catch (ParameterException misuse) {
            String asked = misuse.getCommandLine().getCommandSpec().qualifiedName();
            String what = isCommand(args) ? inPlainWords(String.valueOf(misuse.getMessage())) : noCommand(args);
            return run.complain(what + ". See " + asked + " --help");
        }
    }

    /// Some messages of the parser count from 0, or repeat a word.
    private static String inPlainWords(String message) {
        return message.replaceFirst("^Unmatched argument(s?) (from|at) index \\d+: ", "Unexpected argument$1: ")
                .replaceFirst("^Value for option option ", "Value for option ");
    }

    private int help(Arguments arguments) {
        String asked = arguments.word(0);
        if (!asked.isEmpty() && !isCommand(asked)) {
            return run.complain(noCommand(asked) + ". See croft --help");
        }
        CommandLine top = new CommandLine(spec(asked));
        return print(Objects.requireNonNullElse(top.getSubcommands().get(asked), top).getUsageMessage());
    }

    private boolean isCommand(String... args) {
        return args.length > 0 && (args[0].startsWith("-") || subcommands.containsKey(args[0]));
    }

    private String noCommand(String... args) {
        String known = subcommands.entrySet().stream().filter(each -> !each.getValue().description().isEmpty())
                .map(Map.Entry::getKey).collect(Collectors.joining(", "));
        return (args.length == 0 ? "Missing command" : "There is no command '" + args[0] + "'") + ", only " + known;
    }

    private CommandSpec spec(String... args) {
        CommandSpec top = Arguments.describe(CommandSpec.create().name("croft"),
                "Keeps tensor storages: opens, shows, saves and verifies files of tensors.");
        top.addOption(
                OptionSpec.builder("-V", "--version").versionHelp(true).description("Print the version.").build());
        top.usageMessage().synopsisSubcommandLabel("COMMAND");
        String asked = args.length > 0 && subcommands.containsKey(args[0]) ? args[0] : "";
        subcommands.forEach((name, subcommand) -> {
            if (asked.isEmpty() || asked.equals(name)) {
                top.addSubcommand(name, subcommand.spec());
            }
        });
        return top;
    }

    private int print(String text) {
        return run.of(() -> {
            out.write(text);
            return Run.OK;
        });
    }
}
