package io.undercroft.cli;

import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.Sha256;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.inspect.JsonReport;
import io.undercroft.cli.internal.inspect.TextReport;
import io.undercroft.cli.internal.quickstart.PeerSide;
import io.undercroft.cli.internal.quickstart.Quickstart;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.Device;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.function.ToIntFunction;
import java.util.function.UnaryOperator;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.TypeConversionException;

/// The `croft` command: which commands there are, what they take, and what they do.
///
/// The commands are described by calls and not by picocli's annotations, and only the one that is asked for is: reading the
/// annotations of all would take longer than inspecting a file.
public final class Croft {
    private static final String VERSION = "croft 0.1.0-SNAPSHOT";
    private static final String SUFFIX = ".croft";
    private static final int SHOWN_DAMAGES = 20;

    private final Output out;
    private final Run run;
    private final SequencedMap<String, Subcommand> subcommands = new LinkedHashMap<>();

    /// @param spec describes what it takes
    /// @param body does it and returns the exit code
    private record Subcommand(UnaryOperator<CommandSpec> spec, ToIntFunction<ParseResult> body) {}

    private Croft(Output out, PrintWriter err) {
        this.out = out;
        this.run = new Run(out, err);
        subcommands.put("quickstart", new Subcommand(
                spec -> describe(spec,
                        "Shows the main job on a real PyTorch training checkpoint, and proves each step."),
                arguments -> run.of(() -> Quickstart.run(out, err))));
        subcommands.put("inspect", new Subcommand(
                spec -> describe(spec, "Shows what a file holds, and which tensors share a storage.")
                        .addPositional(file("FILE", "A .croft or .pt file."))
                        .addOption(flag("--json", "Print one JSON object (docs/inspect-json.md)."))
                        .addOption(flag("--hash", "Add the SHA-256 of every tensor and storage."))
                        .addOption(location()),
                this::inspect));
        subcommands.put("convert", new Subcommand(
                spec -> describe(spec,
                        "Saves what a file holds as a .croft file, atomically. A file of that name is replaced.")
                        .addPositional(file("IN", "A .croft or .pt file."))
                        .addPositional(file("OUT", "The .croft file to write."))
                        .addOption(location()),
                this::convert));
        subcommands.put("verify", new Subcommand(
                spec -> describe(spec,
                        "Reads everything in a file and checks it against the checksums that the file has.")
                        .addPositional(file("FILE", "A .croft or .pt file.")),
                this::verify));
        // What the launcher script runs after a build, so that the JVM sees what the commands load.
        subcommands.put("train", new Subcommand(Croft::hide, arguments -> run.of(Training::run)));
        // The second process of the quickstart.
        subcommands.put("quickstart-peer", new Subcommand(Croft::hide, arguments -> run.of(() -> {
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
            return Objects.requireNonNull(subcommands.get(arguments.commandSpec().name())).body().applyAsInt(arguments);
        } catch (ParameterException misuse) {
            String asked = misuse.getCommandLine().getCommandSpec().qualifiedName();
            return run.complain(misuse.getMessage() + ". See " + asked + " --help");
        }
    }

    private CommandSpec spec(String... args) {
        CommandSpec top = describe(CommandSpec.create().name("croft"),
                "Keeps tensor storages: opens, shows, converts and verifies files of tensors.");
        top.addOption(
                OptionSpec.builder("-V", "--version").versionHelp(true).description("Print the version.").build());
        top.usageMessage().synopsisSubcommandLabel("COMMAND");
        String asked = args.length > 0 && subcommands.containsKey(args[0]) ? args[0] : "";
        subcommands.forEach((name, subcommand) -> {
            if (asked.isEmpty() || asked.equals(name)) {
                top.addSubcommand(name, subcommand.spec().apply(CommandSpec.create()));
            }
        });
        return top;
    }

    private static CommandSpec describe(CommandSpec spec, String description) {
        spec.usageMessage().description(description).sortOptions(false);
        return spec
                .addOption(OptionSpec.builder("-h", "--help").usageHelp(true).description("Print this help.").build());
    }

    private static CommandSpec hide(CommandSpec spec) {
        spec.usageMessage().hidden(true);
        return spec;
    }

    private static PositionalParamSpec file(String label, String description) {
        return PositionalParamSpec.builder().paramLabel(label).description(description).type(Path.class).required(true)
                .build();
    }

    private static OptionSpec flag(String name, String description) {
        return OptionSpec.builder(name).description(description).type(boolean.class).build();
    }

    private static OptionSpec location() {
        return OptionSpec.builder("--map-location").paramLabel("DEVICE").type(Device.class).converters(Croft::device)
                .description("Where storages go, whatever device they were saved from: cpu or meta.").build();
    }

    private int print(String text) {
        return run.of(() -> {
            out.write(text);
            return Run.OK;
        });
    }

    private int inspect(ParseResult arguments) {
        Path file = arguments.matchedPositionalValue(0, Path.of(""));
        return run.of(file, () -> {
            try (Checkpoint checkpoint = Checkpoint.open(file, options(arguments))) {
                Sha256 digests = null;
                if (arguments.hasMatchedOption("--hash")) {
                    requireSound(checkpoint);
                    digests = new Sha256();
                }
                if (arguments.hasMatchedOption("--json")) {
                    JsonReport.print(checkpoint, digests, out);
                } else {
                    TextReport.print(checkpoint, digests, out);
                }
            }
            return Run.OK;
        });
    }

    private int convert(ParseResult arguments) {
        Path in = arguments.matchedPositionalValue(0, Path.of(""));
        Path target = arguments.matchedPositionalValue(1, Path.of(""));
        if (!target.toString().endsWith(SUFFIX)) {
            return run.complain(target + ": only .croft files can be written. Give OUT a name that ends in " + SUFFIX);
        }
        return run.of(in, () -> {
            try (Checkpoint checkpoint = Checkpoint.open(in, options(arguments))) {
                requireSound(checkpoint);
                return run.of(target, () -> save(checkpoint, target));
            }
        });
    }

    /// Damaged bytes must get neither a digest nor, in a new file, checksums that fit them.
    private static void requireSound(Checkpoint checkpoint) throws IOException {
        List<Damage> damages = checkpoint.verify();
        if (!damages.isEmpty()) {
            Damage first = damages.getFirst();
            String more = damages.size() == 1 ? "" : " (the first of " + damages.size() + ")";
            throw new FormatException("DAMAGED", first.where() + " is damaged" + more + ": " + first.what(),
                    first.offset(),
                    "Take the file from a backup or make it again; croft verify lists all damage");
        }
    }

    private int verify(ParseResult arguments) {
        Path file = arguments.matchedPositionalValue(0, Path.of(""));
        return run.of(file, () -> {
            // Whatever device its storages are for, its bytes are in the file.
            try (Checkpoint checkpoint = Checkpoint.open(file, at(Device.CPU))) {
                List<Damage> damages = checkpoint.verify();
                if (!damages.isEmpty()) {
                    return tell(file, damages);
                }
                out.line("%s: all is well (%s, %s, %s on %s)".formatted(file, checkpoint.format(),
                        Text.bytes(Files.size(file)), Text.count(checkpoint.names().size(), "tensor"),
                        Text.count(checkpoint.storages().size(), "storage")));
            }
            return Run.OK;
        });
    }

    private int save(Checkpoint checkpoint, Path target) throws IOException {
        long size = Files.size(checkpoint.path());
        Checkpoint.save(target, checkpoint.state(), SaveOptions.defaults().metadata(checkpoint.metadata()));
        out.line("%s (%s, %s) -> %s (%s): %s on %s".formatted(checkpoint.path(), checkpoint.format(), Text.bytes(size),
                target,
                Text.bytes(Files.size(target)), Text.count(checkpoint.names().size(), "tensor"),
                Text.count(checkpoint.storages().size(), "storage")));
        return Run.OK;
    }

    private int tell(Path file, List<Damage> damages) {
        damages.stream().limit(SHOWN_DAMAGES)
                .forEach(damage -> run.complain("%s: %s is damaged: %s (%d bytes at byte 0x%X)"
                        .formatted(file, damage.where(), damage.what(), damage.length(), damage.offset())));
        return run.complain("%s: %s. Take it from a backup or make it again"
                .formatted(file, Text.count(damages.size(), "damaged part")));
    }

    private static OpenOptions options(ParseResult arguments) {
        Device location = arguments.matchedOptionValue("--map-location", null);
        return location == null ? OpenOptions.defaults() : at(location);
    }

    private static OpenOptions at(Device location) {
        // What was saved without bytes has none to put anywhere.
        return OpenOptions.defaults().devices(saved -> saved.isMeta() ? saved : location);
    }

    private static Device device(String text) {
        return switch (text) {
            case "cpu" -> Device.CPU;
            case "meta" -> Device.META;
            default -> throw new TypeConversionException("storages can go to cpu or meta, not to '" + text + "'");
        };
    }
}
