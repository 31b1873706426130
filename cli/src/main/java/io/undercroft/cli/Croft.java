package io.undercroft.cli;

import io.undercroft.cli.internal.TextOutput;
import io.undercroft.cli.internal.quickstart.Quickstart;
import io.undercroft.cli.internal.quickstart.SecondProcess;
import io.undercroft.storage.internal.support.NearNames;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/// The `croft` command: its subcommands and their selection.
///
/// The commands are described by calls and not by picocli's annotations, and only the selected one is: reading the
/// annotations of all would take longer than inspecting a file.
public final class Croft {
    private static final String VERSION = "croft 0.1.0-SNAPSHOT";
    /// Former commands, and the commands that replace them.
    private static final Map<String, String> FORMER = Map.of(
            "export", "convert FILE OUT --keep-bases", "flatten", "convert FILE OUT --self-contained",
            "adopt", "convert SOURCE OUT --base SOURCE", "commit", "set create", "shards", "set list",
            "publish", "shm publish", "unpublish", "shm remove", "shared", "shm list", "gc", "shm gc");

    private final TextOutput out;
    private final CommandRunner run;
    private final SequencedMap<String, Subcommand> subcommands = new LinkedHashMap<>();

    private Croft(TextOutput out, PrintWriter err) {
        this.out = out;
        this.run = new CommandRunner(out, err);
        subcommands.put("quickstart", new Subcommand(
                "Opens, converts, maps and shares a PyTorch training checkpoint, and checks each step. It needs no "
                        + "input.",
                List::of,
                _ -> run.of(() -> Quickstart.run(out, err))));
        subcommands.putAll(new ReadingCommands(out, run).all());
        subcommands.putAll(new ExtractCommand(out, run).all());
        subcommands.putAll(new DedupCommand(out, run).all());
        subcommands.putAll(new HexdumpCommand(out, run).all());
        subcommands.putAll(new ConvertCommand(out, run).all());
        subcommands.putAll(new GrowingCommands(out, run).all());
        subcommands.put("set", Subcommand.group("Makes or lists a set: .croft files that are opened together.",
                new SetCommands(out, run).all()));
        subcommands.put("shm", Subcommand.group("Publishes, lists and removes shared memory.",
                new SharingCommands(out, run).all()));
        subcommands.putAll(new MachineCommands(out, run).all());
        subcommands.put("completion", new Subcommand(
                "Prints a script by which bash and zsh complete commands and options. In ~/.bashrc or ~/.zshrc: "
                        + "source <(croft completion)",
                List::of, _ -> run.of(() -> {
                    out.write(Completion.script(spec()));
                    return CommandRunner.OK;
                })));
        subcommands.put("help", new Subcommand("Prints the help of a command.",
                () -> List.of(Arguments.words("COMMAND", "A command; without one, all commands are listed.")),
                this::help));
        subcommands.put(Completion.NAMES, Subcommand.hidden(
                () -> List.of(Arguments.file("FILE", "A file."), Arguments.tensor()),
                arguments -> run.of(() -> Completion.printNames(arguments, out))));
        // What the launcher script runs after a build, so that the JVM sees what the commands load.
        subcommands.put("train-bulk", Subcommand.hidden(Croft::trainingFiles, arguments -> run.of(
                () -> Training.runBulk(arguments.path(0)))));
        subcommands.put("train-short", Subcommand.hidden(Croft::trainingFiles, arguments -> run.of(
                () -> Training.runSmall(arguments.path(0)))));
        // The second process of the quickstart.
        subcommands.put("quickstart-peer", Subcommand.hidden(List::of, _ -> run.of(() -> {
            return SecondProcess.run(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)), out);
        })));
    }

    /// Runs the command. The process ends with its exit code.
    ///
    /// @param args the command line
    public static void main(String[] args) {
        // Otherwise picocli searches all jars for a class of Groovy.
        System.setProperty("picocli.disable.closures", "true");
        PrintWriter err = new PrintWriter(new FileOutputStream(FileDescriptor.err), true, StandardCharsets.UTF_8);
        int code = execute(TextOutput.standard(), err, args);
        if (code != CommandRunner.OK) {
            System.exit(code);
        }
        // System.exit would first initialize the JDK's logging: docs/decisions/0073.
    }

    /// Runs the command.
    ///
    /// @param out takes results
    /// @param err takes messages
    /// @param args the command line
    /// @return the exit code
    static int execute(TextOutput out, PrintWriter err, String... args) {
        // Numbers are for programs, too.
        Locale.setDefault(Locale.ROOT);
        return new Croft(out, err).execute(args);
    }

    /// {@return the command lines of all commands that the help shows, such as `shm list`}
    static Set<String> names() {
        Set<String> names = new LinkedHashSet<>();
        new Croft(new TextOutput(OutputStream.nullOutputStream()), new PrintWriter(Writer.nullWriter())).subcommands
                .forEach((name, command) -> {
                    if (command.isGroup()) {
                        command.members().keySet().forEach(member -> names.add(name + " " + member));
                    } else if (!command.isHidden()) {
                        names.add(name);
                    }
                });
        return names;
    }

    private int execute(String... args) {
        Optional<String> misnamed = misnamed(List.of(args));
        if (misnamed.isPresent()) {
            return run.complain(misnamed.get());
        }
        // A file may be called @name.
        CommandLine command = new CommandLine(spec(args)).setExpandAtFiles(false);
        try {
            ParseResult parsed = command.parseArgs(args);
            CommandLine last = parsed.asCommandLineList().getLast();
            if (last.isUsageHelpRequested()) {
                return print(last.getUsageMessage());
            }
            if (last.isVersionHelpRequested()) {
                return print(VERSION + "\n");
            }
            Subcommand chosen = null;
            SequencedMap<String, Subcommand> known = subcommands;
            while (parsed.hasSubcommand()) {
                parsed = parsed.subcommand();
                chosen = Objects.requireNonNull(known.get(parsed.commandSpec().name()));
                known = chosen.members();
            }
            if (chosen == null || chosen.isGroup()) {
                throw new ParameterException(last, "Missing required subcommand");
            }
            return chosen.body().applyAsInt(new Arguments(parsed));
        } catch (ParameterException misuse) {
            return run.complain(inPlainWords(misuse));
        }
    }

    private static List<ArgSpec> trainingFiles() {
        return List.of(Arguments.file("DIR", "The directory of the files."));
    }

    /// Some messages of the parser count from 0, or repeat a word.
    private static String inPlainWords(ParameterException misuse) {
        CommandSpec asked = misuse.getCommandLine().getCommandSpec();
        String what = String.valueOf(misuse.getMessage())
                .replaceFirst("^Unmatched argument(s?) (from|at) index \\d+: ", "Unexpected argument$1: ")
                .replaceFirst("^Value for option option ", "Value for option ");
        Optional<String> meant = misuse instanceof UnmatchedArgumentException unmatched
                ? Nearest.to(unmatched.getUnmatched().getFirst(), asked.optionsMap().keySet())
                : Optional.empty();
        return what + meant.map("; did you mean %s?"::formatted).orElse(".") + " See " + asked.qualifiedName()
                + " --help";
    }

    private int help(Arguments arguments) {
        List<String> words = arguments.words();
        Optional<String> misnamed = words.isEmpty() ? Optional.empty() : misnamed(words);
        if (misnamed.isPresent() && !isGroup(words)) {
            return run.complain(misnamed.get());
        }
        CommandLine asked = new CommandLine(spec(words.toArray(String[]::new)));
        for (String word : words) {
            asked = asked.getSubcommands().getOrDefault(word, asked);
        }
        return print(asked.getUsageMessage());
    }

    private boolean isGroup(List<String> words) {
        return words.size() == 1 && subcommands.containsKey(words.getFirst());
    }

    /// {@return the problem of the words that should name a command; nothing if they name one, or an option is
    /// the next}
    private Optional<String> misnamed(List<String> words) {
        SequencedMap<String, Subcommand> known = subcommands;
        StringBuilder path = new StringBuilder("croft");
        for (String word : words) {
            if (known.isEmpty() || word.startsWith("-")) {
                return Optional.empty();
            }
            Subcommand next = known.get(word);
            if (next == null) {
                return Optional.of("There is no command '%s'%s See %s --help"
                        .formatted(word, instead(word, path.toString(), known), path));
            }
            known = next.members();
            path.append(' ').append(word);
        }
        return known.isEmpty()
                ? Optional.empty()
                : Optional.of("Missing command, one of %s. See %s --help".formatted(names(known), path));
    }

    private static String instead(String word, String path, SequencedMap<String, Subcommand> known) {
        Optional<String> meant = path.equals("croft") && FORMER.containsKey(word)
                ? Optional.ofNullable(FORMER.get(word))
                : Nearest.to(word, shown(known));
        return meant.map(name -> "; did you mean %s %s?".formatted(path, name))
                .orElseGet(() -> ", only " + names(known) + ".");
    }

    private static List<String> shown(SequencedMap<String, Subcommand> known) {
        return known.entrySet().stream().filter(each -> !each.getValue().isHidden()).map(Map.Entry::getKey).toList();
    }

    private static String names(SequencedMap<String, Subcommand> known) {
        return String.join(", ", shown(known));
    }

    private CommandSpec spec(String... args) {
        CommandSpec top = Arguments.describe(CommandSpec.create().name("croft"),
                "Opens, shows, converts, saves and verifies files of tensors.");
        top.addOption(
                OptionSpec.builder("-V", "--version").versionHelp(true).description("Print the version.").build());
        top.usageMessage().synopsisSubcommandLabel("COMMAND").exitCodeListHeading("Exit codes:%n")
                .exitCodeList(CommandRunner.CODES);
        String asked = args.length > 0 && subcommands.containsKey(args[0]) ? args[0] : "";
        subcommands.forEach((name, subcommand) -> {
            if (asked.isEmpty() ? !subcommand.isHidden() : asked.equals(name)) {
                top.addSubcommand(name, subcommand.spec());
            }
        });
        return top;
    }

    private int print(String text) {
        return run.of(() -> {
            out.write(text);
            return CommandRunner.OK;
        });
    }

    /// Finds the word that a mistyped one probably means.
    private static final class Nearest {
        /// One typing error is allowed for so many letters.
        private static final int LETTERS_PER_ERROR = 3;

        private Nearest() {}

        /// {@return the known word that is closest to what was typed, or nothing if none is close}
        ///
        /// @param typed the word that was typed
        /// @param known the existing words
        static Optional<String> to(String typed, Collection<String> known) {
            int allowed = Math.max(1, typed.length() / LETTERS_PER_ERROR);
            Optional<String> nearest = known.stream().filter(word -> NearNames.edits(typed, word) <= allowed)
                    .min(Comparator.comparingInt(word -> NearNames.edits(typed, word)));
            return nearest.isPresent() || typed.length() < LETTERS_PER_ERROR
                    ? nearest
                    : known.stream().filter(word -> word.startsWith(typed)).findFirst();
        }
    }
}
