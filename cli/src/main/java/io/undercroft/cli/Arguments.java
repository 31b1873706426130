package io.undercroft.cli;

import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.inspect.Inspection;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions.Compression;
import io.undercroft.serializer.SaveOptions.Sharing;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.TypeConversionException;

/// The arguments of a command, and descriptions of those that several commands have in common.
final class Arguments {
    static final String SALVAGE = "croft salvage FILE TARGET";
    static final String AT = "--at";
    private static final String ONLY = "--only";
    private static final String SORT = "--sort";
    static final String OUTPUT = "-o";
    static final String JSON = "--json";
    static final String ROOT = "--root";
    static final String LOCATION = "--map-location";
    static final String BASE = "--base";
    static final String WHOLE = "--whole-storages";
    static final String SHARING = "--sharing";
    static final String CHUNK = "--chunk";
    static final String COMPRESS = "--compress";
    static final String DTYPE = "--dtype";
    static final String LARGE = "--large";
    static final String ALLOW_DANGEROUS = "--allow-dangerous";
    static final String ALLOW_PART = "--allow-part";
    static final String FORMAT = "--format";
    static final String SETTING = "--set";
    private static final String KNOWN_FILE = "A file of any format that croft formats lists, a URI of a web server or "
            + "a store, or - for standard input.";

    private final ParseResult line;
    private final AbsentDevices absent = new AbsentDevices();

    Arguments(ParseResult line) {
        this.line = line;
    }

    // ---- descriptions

    /// Adds a description and `--help`. A list of commands shows the first sentence only.
    static CommandSpec describe(CommandSpec spec, String description) {
        spec.usageMessage().description(description.split("(?<=[.]) ", 2)).sortOptions(false);
        return spec
                .addOption(OptionSpec.builder("-h", "--help").usageHelp(true).description("Print this help.").build());
    }

    private static OptionSpec.Builder option(String name, String label, Class<?> type, String description) {
        return OptionSpec.builder(name).paramLabel(label).description(description).type(type);
    }

    private static OptionSpec.Builder options(String name, String label, Class<?> type, String description) {
        return option(name, label, List.class, description).auxiliaryTypes(type);
    }

    private static PositionalParamSpec.Builder parameter(String label, Class<?> type, String description) {
        return PositionalParamSpec.builder().paramLabel(label).description(description).type(type).required(true);
    }

    /// An option whose value is one of several.
    ///
    /// @param values the values, whose texts are words in lower case
    /// @param refusal the message about another word, as a format
    private static <T> ArgSpec choice(String name, String label, Class<T> type, List<T> values, String refusal,
            String description) {
        return option(name, label, type, description)
                .completionCandidates(values.stream().map(Arguments::lowerCase).toList())
                .converters(text -> values.stream().filter(value -> lowerCase(value).equals(text)).findFirst()
                        .orElseThrow(() -> new TypeConversionException(refusal.formatted(text))))
                .build();
    }

    private static String lowerCase(Object value) {
        return value.toString().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    static ArgSpec file(String label, String description) {
        return parameter(label, Path.class, description).converters(Arguments::named).build();
    }

    static ArgSpec files(int first, String label, String description) {
        return parameter(label, List.class, description).auxiliaryTypes(Path.class).index(first + "..*").arity("1..*")
                .converters(Arguments::named).build();
    }

    static ArgSpec knownFile(String label) {
        return file(label, KNOWN_FILE);
    }

    static ArgSpec knownFiles() {
        return files(0, "FILE", KNOWN_FILE.replace("A file", "One or more files"));
    }

    static ArgSpec sharedName() {
        return parameter("NAME", String.class, "The name of the shared memory, such as weights.").build();
    }

    static ArgSpec words(String label, String description) {
        return parameter(label, List.class, description).auxiliaryTypes(String.class).required(false).index("0..*")
                .arity("0..*").build();
    }

    static ArgSpec flag(String name, String description) {
        return OptionSpec.builder(name).description(description).type(boolean.class).build();
    }

    static ArgSpec tensor() {
        return parameter("NAME", String.class,
                "The name of a tensor, or the path of another value, as croft inspect shows it.").build();
    }

    static ArgSpec output(String description) {
        return path(OUTPUT, "OUT", description);
    }

    static ArgSpec json() {
        return flag(JSON, "Print one JSON object (docs/inspect-json.md).");
    }

    static ArgSpec text(String name, String label, String description) {
        return text(name, label, description, List.of());
    }

    /// An option with a text.
    ///
    /// @param values what a shell completes; made only if it asks
    static ArgSpec text(String name, String label, String description, Iterable<String> values) {
        return option(name, label, String.class, description).completionCandidates(values).build();
    }

    static ArgSpec texts(String name, String label, String description, Iterable<String> values) {
        return options(name, label, String.class, description).completionCandidates(values).build();
    }

    static ArgSpec path(String name, String label, String description) {
        return option(name, label, Path.class, description).converters(Arguments::named).build();
    }

    static ArgSpec number(String name, String description) {
        return option(name, "N", long.class, description).converters(Arguments::whole).build();
    }

    static ArgSpec at() {
        return number(AT,
                "Open snapshot N instead of the newest one. croft snapshots lists the numbers.");
    }

    static ArgSpec atOfTwo() {
        return options(AT, "N", Long.class,
                "Open snapshot N of A instead of the newest one. Given twice, the second is "
                        + "of B. croft snapshots lists the numbers.")
                .converters(Arguments::whole).build();
    }

    static ArgSpec only() {
        return texts(ONLY, "PATTERN", "Only tensors whose whole name matches: * is any characters but /, ? is one, and "
                + "** any keys, as in 'model/**/*.weight'. May be repeated.", List.of());
    }

    static ArgSpec sort() {
        return choice(SORT, "WHAT", Inspection.Order.class, List.of(Inspection.Order.values()),
                "tensors are sorted by name, size or dtype, not by '%s'",
                "The order of the tensors, instead of that of the state: name, size (of the elements, the largest "
                        + "first) or dtype.");
    }

    static ArgSpec root() {
        return path(ROOT, "DIR", "The directory that contains the other files that this file references.");
    }

    static ArgSpec location() {
        return choice(LOCATION, "DEVICE", Device.class, List.of(Device.CPU, Device.META),
                "storages can go to cpu or meta, not to '%s'",
                "The device of all storages, instead of the one that they were saved from: cpu or meta.");
    }

    static ArgSpec format() {
        return text(FORMAT, "NAME",
                "The format of the file, if it cannot be recognised by its bytes. croft formats lists the formats.",
                formats(_ -> true));
    }

    /// The names of formats, for completion.
    static Iterable<String> formats(Predicate<CheckpointFormat> test) {
        return () -> Checkpoint.formats().stream().filter(test).map(CheckpointFormat::name).iterator();
    }

    static ArgSpec setting() {
        return settings(SETTING, "NAME=VALUE", Setting.Use.OPENING,
                "A setting for reading the file, such as torch7.longs=4. May be repeated.");
    }

    /// An option for settings.
    ///
    /// @param label in a command without its like: the script for completion finds the values by it
    static ArgSpec settings(String name, String label, Setting.Use use, String description) {
        return option(name, label, Map.class, description).auxiliaryTypes(String.class, String.class)
                .completionCandidates(() -> Checkpoint.formats().stream().flatMap(format -> format.settings().stream())
                        .filter(setting -> setting.use() == use).map(setting -> setting.name() + "=").distinct()
                        .iterator())
                .build();
    }

    static ArgSpec base() {
        return files(BASE, "FILE",
                "Reference bytes in FILE instead of writing equal ones. FILE may be the file that is "
                        + "read, or one that it references: then all these bytes are referenced. May be repeated.");
    }

    static ArgSpec otherFile() {
        return files(BASE, "OTHER", "A file that this file references, if its name has changed. May be repeated.");
    }

    private static ArgSpec files(String name, String label, String description) {
        return options(name, label, Path.class, description).converters(Arguments::named).build();
    }

    static ArgSpec whole() {
        return flag(WHOLE, "Save also the bytes of storages that no tensor uses.");
    }

    static ArgSpec dtype(String description) {
        return text(DTYPE, "DTYPE", description, () -> DType.values().stream().map(DType::name).iterator());
    }

    static ArgSpec large() {
        return flag(LARGE, "Read or write more elements than 256 MiB and 64 times the bytes that the file stores.");
    }

    static ArgSpec allowDangerous() {
        return flag(ALLOW_DANGEROUS, "Save what a file holds that would run code if Python loaded it. Nothing of it is "
                + "run here.");
    }

    static ArgSpec allowPart() {
        return flag(ALLOW_PART, "Save a file that is one part of a model in several files, without the others.");
    }

    static ArgSpec sharing() {
        return choice(SHARING, "WHAT", Sharing.class, List.of(Sharing.CONTENT, Sharing.IDENTITY),
                "bytes can be shared by content or identity, not by '%s'",
                "What is stored once: content (equal bytes, the default) or identity (each storage).");
    }

    static ArgSpec chunk() {
        return option(CHUNK, "SIZE", long.class, "The size of the blocks that are compared to find equal bytes, 64K to "
                + "1G; 1M by default.").converters(Arguments::size).build();
    }

    static ArgSpec compress() {
        return compress("Compress chunks: alone, or as the difference from the tensor of the same name in a file of "
                + "--base or in the snapshot before (against-base). They are decoded when they are read.");
    }

    static ArgSpec compressOlder() {
        return compress("Compress chunks that the newest snapshot does not have: alone, or as the difference from the "
                + "tensor of the same name in that snapshot (against-base). The newest snapshot stays as it is.");
    }

    private static ArgSpec compress(String description) {
        return choice(COMPRESS, "HOW", Compression.class,
                List.of(Compression.ALONE, Compression.AGAINST_BASE, Compression.NONE),
                "bytes can be compressed alone or against-base, or none, not '%s'", description);
    }

    // ---- what was given

    boolean has(String option) {
        return line.hasMatchedOption(option);
    }

    Path path(int position) {
        return line.matchedPositionalValue(position, Path.of(""));
    }

    Optional<Path> path(String option) {
        return Optional.ofNullable(line.matchedOptionValue(option, null));
    }

    String word(int position) {
        return line.matchedPositionalValue(position, "");
    }

    List<String> words() {
        return line.matchedPositionalValue(0, List.of());
    }

    int count(String option) {
        return has(option) ? line.matchedOption(option).getValue() instanceof List<?> all ? all.size() : 1 : 0;
    }

    Optional<Path> output() {
        return Optional.ofNullable(line.matchedOptionValue(OUTPUT, null));
    }

    List<Path> paths(int first) {
        return line.matchedPositionalValue(first, List.of());
    }

    Optional<String> text(String option) {
        return Optional.ofNullable(line.matchedOptionValue(option, null));
    }

    List<String> texts(String option) {
        return line.matchedOptionValue(option, List.of());
    }

    long number(String option, long byDefault) {
        return line.matchedOptionValue(option, byDefault);
    }

    List<Path> bases() {
        return has(BASE) ? line.matchedOptionValue(BASE, List.of()) : List.of();
    }

    /// {@return whether the input file is also a base, so that the output file references it}
    boolean isBase(Path source) {
        return basesBut(source).size() < bases().size();
    }

    /// {@return the bases without the file in hand}
    List<Path> basesBut(Path source) {
        return bases().stream().filter(base -> !isSame(base, source)).toList();
    }

    private static boolean isSame(Path one, Path other) {
        try {
            return Targets.isSame(one, other);
        } catch (IOException _) {
            // It cannot be opened either, which is reported then.
            return false;
        }
    }

    /// {@return the options for opening the file} By default storages of missing devices are loaded to the CPU.
    ///
    /// @throws IllegalArgumentException if no file can be opened like that
    OpenOptions opening() {
        return opening(devices(), bases());
    }

    /// {@return the options for opening a file that may also be one of the bases}
    ///
    /// @throws IllegalArgumentException if no file can be opened like that
    OpenOptions opening(Path source) {
        return opening(devices(), basesBut(source));
    }

    private UnaryOperator<Device> devices() {
        Device location = line.matchedOptionValue(LOCATION, null);
        return location == null ? absent : _ -> location;
    }

    /// {@return the same, with the bytes of all storages, whatever device they are for}
    ///
    /// @throws IllegalArgumentException if no file can be opened like that
    OpenOptions openingOnCpu() {
        return opening(_ -> Device.CPU, bases());
    }

    /// {@return the options for opening one of two files that are compared, with the bytes of all storages that have
    /// bytes}
    ///
    /// @param position 0 for the first file, 1 for the second
    /// @throws IllegalArgumentException if no file can be opened like that
    OpenOptions openingOneOfTwo(int position) {
        List<Long> snapshots = line.matchedOptionValue(AT, List.of());
        OpenOptions options = openingNewest(Arguments::onHost, bases());
        return position < snapshots.size() ? options.snapshot(snapshots.get(position)) : options;
    }

    /// {@return the options for opening a file with all storages that have bytes on the CPU}
    ///
    /// @throws IllegalArgumentException if no file can be opened with these arguments
    OpenOptions openingOnHost() {
        return opening(Arguments::onHost, bases());
    }

    private static Device onHost(Device saved) {
        return saved.isMeta() ? saved : Device.CPU;
    }

    /// {@return the options for opening a file with all storages on the meta device}
    ///
    /// @throws IllegalArgumentException if no file can be opened with these arguments
    OpenOptions openingOnMeta() {
        return opening(_ -> Device.META, bases());
    }

    /// {@return the order of tensors, if one was given}
    Optional<Inspection.Order> order() {
        return Optional.ofNullable(line.matchedOptionValue(SORT, null));
    }

    /// {@return the devices of storages that [#opening] has sent to the CPU so far}
    Set<String> absentDevices() {
        return absent.met();
    }

    /// {@return the settings of a format, by name}
    Map<String, String> settings(String option) {
        return line.matchedOptionValue(option, Map.of());
    }

    /// {@return whether a setting was given for the file that is opened}
    boolean isSet(String setting) {
        return settings(SETTING).containsKey(setting);
    }

    /// {@return the directory below which other files are, if it was given}
    Optional<Path> rootDirectory() {
        return Optional.ofNullable(line.matchedOptionValue(ROOT, null));
    }

    /// Refuses a setting that is for the other of the two files, which another option takes.
    ///
    /// @throws IllegalArgumentException if a setting of the option is for files that are used otherwise
    void requireUse(String option, Setting.Use use, String other) {
        if (settings(option).isEmpty()) {
            // This does not load all formats.
            return;
        }
        List<Setting> known = Checkpoint.formats().stream().flatMap(format -> format.settings().stream())
                .filter(setting -> settings(option).containsKey(setting.name())).toList();
        known.stream().filter(setting -> known.stream()
                .noneMatch(same -> same.name().equals(setting.name()) && same.use() == use)).findFirst()
                .ifPresent(setting -> {
                    throw new IllegalArgumentException("the setting '%s' is for files that are %s; %s"
                            .formatted(setting.name(), use == Setting.Use.OPENING ? "written" : "opened", other));
                });
    }

    private OpenOptions opening(UnaryOperator<Device> location, List<Path> bases) {
        OpenOptions options = openingNewest(location, bases);
        return has(AT) ? options.snapshot(number(AT, 0)) : options;
    }

    private OpenOptions openingNewest(UnaryOperator<Device> location, List<Path> bases) {
        requireUse(SETTING, Setting.Use.OPENING, "croft convert takes it with --to-set");
        OpenOptions options = OpenOptions.defaults().devices(location).settings(settings(SETTING));
        Optional<String> format = text(FORMAT);
        if (format.isPresent()) {
            options = options.format(format.get());
        }
        for (Path base : bases) {
            options = options.base(base);
        }
        if (has(ONLY)) {
            options = options.only(texts(ONLY).toArray(String[]::new));
        }
        return rootDirectory().map(options::root).orElse(options);
    }

    /// {@return the dtype that elements are converted to, if one was given}
    ///
    /// @throws IllegalArgumentException if there is no such type
    Optional<DType> dtype() {
        return text(DTYPE).map(name -> DType.find(name).orElseThrow(() -> new IllegalArgumentException(
                "%s: there is no type %s; one is float32".formatted(DTYPE, FormatException.quote(name)))));
    }

    /// {@return what is compressed}
    Compression compression() {
        return line.matchedOptionValue(COMPRESS, Compression.NONE);
    }

    /// {@return the options that were given and are about how a `.croft` file is saved}
    Stream<String> savingOptions() {
        return Stream.of(BASE, WHOLE, SHARING, CHUNK, COMPRESS).filter(this::has);
    }

    /// {@return the options for saving the state of a file} If the file is one of the bases, whole storages are saved:
    /// bytes that no tensor reaches take no space then.
    ///
    /// @param source the file
    /// @throws IllegalArgumentException if none can be saved like that
    SaveOptions saving(Path source) {
        SaveOptions options = SaveOptions.defaults().sharing(line.matchedOptionValue(SHARING, Sharing.CONTENT))
                .chunkSize(line.matchedOptionValue(CHUNK, SaveOptions.defaults().chunkSize()))
                .compress(compression());
        if (options.sharing() == Sharing.IDENTITY && !bases().isEmpty()) {
            throw new IllegalArgumentException("bytes of a base are shared by content; leave out --sharing or --base");
        }
        for (Path base : basesBut(source)) {
            options = options.base(base);
        }
        if (isBase(source)) {
            options = options.base(source, opening(source)).wholeStorages();
        }
        if (has(WHOLE)) {
            options = options.wholeStorages();
        }
        Optional<DType> dtype = dtype();
        if (dtype.isPresent()) {
            options = options.dtype(dtype.get());
        }
        return rootDirectory().map(options::root).orElse(options);
    }

    /// In Java it is the current directory.
    private static Path named(String text) {
        if (text.isEmpty()) {
            throw new TypeConversionException("a file has no empty name");
        }
        return Path.of(text);
    }

    private static long whole(String text) {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException _) {
            throw new TypeConversionException("'" + text + (text.matches("[+-]?[0-9]+")
                    ? "' has more digits than any number that is possible here"
                    : "' is no whole number"));
        }
    }

    private static long size(String text) {
        return Text.parseBytes(text).orElseThrow(() -> new TypeConversionException(
                "'" + text + "' is no size; write for instance 65536, 256K, 1M or 1G"));
    }

    /// Takes storages that were saved from another device than the CPU to the CPU, and remembers which devices these
    /// were: their bytes are in the file, and the device need not be here.
    private static final class AbsentDevices implements UnaryOperator<Device> {
        private final SortedSet<String> met = new ConcurrentSkipListSet<>();

        @Override
        public Device apply(Device saved) {
            if (!saved.isCpu()) {
                met.add(saved.toString());
            }
            return Device.CPU;
        }

        /// {@return the devices seen so far, as PyTorch writes them}
        Set<String> met() {
            return Collections.unmodifiableSet(met);
        }
    }
}
