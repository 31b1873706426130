package io.undercroft.cli;

import static io.undercroft.cli.Arguments.BASE;
import static io.undercroft.cli.Arguments.CHUNK;
import static io.undercroft.cli.Arguments.LOCATION;
import static io.undercroft.cli.Arguments.SHARING;
import static io.undercroft.cli.Arguments.WHOLE;
import static io.undercroft.cli.Arguments.flag;
import static io.undercroft.cli.Arguments.knownFile;

import io.undercroft.cli.internal.Json;
import io.undercroft.cli.internal.ProgressBar;
import io.undercroft.cli.internal.Savings;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.cli.internal.Weights;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.SourceFileException;
import io.undercroft.serializer.UnsavableValueException;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.StatePart;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.ArgSpec;

/// The command that saves what a file holds as another file.
final class ConvertCommand extends Commands {
    private static final String STANDARD_STREAM = "-";
    private static final String TO = "--to";
    private static final String TO_SETTING = "--to-set";
    private static final String PART = "--part";
    private static final String DELETE_OLD = "--delete-old-shards";
    private static final String IN_PLACE = "--in-place";
    private static final String KEEP_BASES = "--keep-bases";
    private static final String SELF_CONTAINED = "--self-contained";

    ConvertCommand(TextOutput out, CommandRunner run) {
        super(out, run);
        add("convert",
                "Converts a file to .croft or another format. OUT is replaced atomically if it exists. If it is the "
                        + "index of a set (its name ends in .safetensors.index.json), the files of the set must not "
                        + "exist. With --base IN, OUT is a .croft file that references the bytes of IN and does not "
                        + "copy them.",
                ConvertCommand::takes, this::convert);
    }

    private static List<ArgSpec> takes() {
        return List.of(knownFile("IN"),
                Arguments.file("OUT",
                        "The file to write, or a URI of a store; the suffix of its name selects the format. - writes "
                                + "a .croft file to standard output."),
                Arguments.text(PART, "PATH",
                        "Save only the part of the state that is at this path, for instance model."),
                Arguments.text(TO, "FORMAT",
                        "Write OUT in this format, whatever its suffix is.",
                        Arguments.formats(format -> format.capabilities().contains(Capability.SAVE))),
                Arguments.settings(TO_SETTING, "SETTING=VALUE", Setting.Use.WRITING,
                        "A setting for writing OUT, such as safetensors.shard=5GB. May be repeated."),
                Arguments.format(), Arguments.setting(),
                Arguments.at(), Arguments.root(), Arguments.location(), Arguments.base(), Arguments.whole(),
                Arguments.sharing(), Arguments.chunk(), Arguments.compress(), Arguments.allowDangerous(),
                Arguments.allowPart(), Arguments.large(),
                Arguments.dtype("Convert floating-point numbers, and decode blocks of quantized numbers, to this type; "
                        + "float32, for instance. Tensors of other types stay as they are."),
                flag(DELETE_OLD,
                        "If OUT replaces the index of a set, delete the files that the new index does not name."),
                flag(IN_PLACE,
                        "Allow OUT to be IN, or the index of the set that IN is. The new file is complete and durable "
                                + "before it replaces the old one."),
                flag(KEEP_BASES,
                        "Copy one snapshot of a .croft file without changes: with its time, message and all bytes of "
                                + "its storages. Bytes in other files are referenced, not copied."),
                flag(SELF_CONTAINED, "The same, but copy the bytes in other files too, so that OUT references none."),
                flag(Saver.REPORT, "Report which bytes were written."), Arguments.json());
    }

    /// The state of a file, or the part of it that is converted.
    private record Part(@Nullable Object state, SequencedMap<String, Tensor> tensors, int storages) {
        static Part of(Checkpoint checkpoint, Arguments arguments) {
            Object whole = checkpoint.tree();
            Object part = arguments.text(PART).isPresent()
                    ? part(checkpoint, arguments.text(PART).get())
                    : whole;
            StateIndex index = StateIndex.of(part);
            return new Part(part, index.tensors(), index.storages().size());
        }

        private static @Nullable Object part(Checkpoint checkpoint, String path) {
            try {
                return StatePart.at(checkpoint.tree(), path);
            } catch (NoSuchElementException e) {
                throw new NoSuchElementException(
                        "it cannot be made from " + checkpoint.location() + ": " + e.getMessage(), e);
            }
        }

        /// Returns how many tensors and storages were saved, of which there are none for placeholders.
        String contents() {
            return Saver.contents(readable(), readableStorages());
        }

        void write(Json json, Checkpoint source, String target, long nbytes) throws IOException {
            Saver.write(json, source, readable(), readableStorages());
            json.member("target", target).member("nbytes", nbytes);
        }

        int readableStorages() {
            return storages - (int) unreadable().keySet().stream().map(tensors::get).distinct().count();
        }

        int readable() {
            return tensors.size() - unreadable().size();
        }

        SequencedMap<String, FormatException> unreadable() {
            return Unreadable.in(tensors);
        }
    }

    private int convert(Arguments arguments) {
        Path target = arguments.path(1);
        boolean isStream = target.toString().equals(STANDARD_STREAM);
        boolean isCroft = arguments.text(TO).map("croft"::equals).orElse(isStream || Targets.isCroft(target));
        if (isStream && !isCroft) {
            return run.complain("only a .croft file can go to standard output. Give OUT a name");
        }
        if (isCroft && arguments.has(TO_SETTING) && !Inputs.isUri(target)) {
            return run.complain("%s: %s is not for .croft files, whose format has no settings. Leave it out"
                    .formatted(target, TO_SETTING));
        }
        if (isStream && arguments.has(DELETE_OLD)) {
            return run.complain("standard output replaces no set of files. Leave out " + DELETE_OLD);
        }
        if (arguments.has(KEEP_BASES) || arguments.has(SELF_CONTAINED)) {
            return copy(arguments, isCroft && !isStream);
        }
        if (isStream) {
            return stream(arguments);
        }
        boolean isOfDirectories = arguments.text(TO).isPresent() && Targets.format(target, arguments.text(TO))
                .flatMap(CheckpointFormat::indexName).isPresent();
        if (Files.isDirectory(target) && !isOfDirectories) {
            return run.fail(CommandRunner.FAILED, "%s: it is a directory; name a file in it".formatted(target));
        }
        return isCroft
                ? replacing(arguments, (checkpoint, options) -> save(checkpoint, arguments, options))
                : export(arguments);
    }

    private int replacing(Arguments arguments, Saver.Save body) {
        Path target = arguments.path(1);
        return saver.save(arguments.path(0), target, arguments, (checkpoint, options) -> {
            if (Targets.isSame(Inputs.path(checkpoint, arguments.path(0)), target)
                    && checkpoint.snapshots().size() > 1) {
                return run.complain(
                        "%s: it would lose its other snapshots. Give OUT another name, or use croft compact"
                                .formatted(target));
            }
            // The library refuses the other files of a set, and does not know the source of a state without tensors.
            Path source = Path.of(checkpoint.fileSizes().firstEntry().getKey());
            if (!arguments.has(IN_PLACE) && Targets.isSame(source, target)) {
                throw new SourceFileException(Inputs.shown(target));
            }
            if (arguments.bases().isEmpty()) {
                run.noteUnusedRoot(checkpoint, arguments);
            }
            SaveOptions deleting = arguments.has(DELETE_OLD) ? options.deletingFormerFiles() : options;
            return body.run(checkpoint, arguments.has(IN_PLACE) ? deleting.replacingSource() : deleting);
        });
    }

    private int save(Checkpoint checkpoint, Arguments arguments, SaveOptions options) throws IOException {
        String target = Inputs.shown(arguments.path(1));
        Part part = Part.of(checkpoint, arguments);
        String size = Text.size(checkpoint);
        SaveReport saved = Targets.save(arguments.path(1), part.state,
                options.format("croft").settings(arguments.settings(TO_SETTING)));
        DedupReport report = saved.dedup().orElseThrow();
        long nbytes = saved.nbytes();
        run.say(arguments, "%s (%s, %s) -> %s (%s): %s".formatted(checkpoint.location(), checkpoint.format(), size,
                target, Text.bytes(nbytes), part.contents() + Saver.leftOut(report)), json -> {
                    part.write(json, checkpoint, target, nbytes);
                    Savings.write(json, report);
                });
        if (!arguments.has(Arguments.JSON) && isBase(arguments, checkpoint)) {
            sayWhatStays(checkpoint, report, arguments);
        }
        noteFormerFiles(saved, target, arguments);
        saver.report(report, arguments);
        return saver.noteLeftOut(checkpoint, target, part.unreadable(), arguments);
    }

    /// {@return whether the file that was read is a base too} Each may be given as the directory that it is in.
    private static boolean isBase(Arguments arguments, Checkpoint checkpoint) {
        Path given = arguments.path(0);
        return arguments.isBase(given) || arguments.isBase(Inputs.path(checkpoint, given));
    }

    /// The file that was read is a base.
    private void sayWhatStays(Checkpoint checkpoint, DedupReport report, Arguments arguments) throws IOException {
        Path target = arguments.path(1);
        long staying = staying(checkpoint, report, target);
        boolean hasOthers = arguments.bases().size() > 1;
        if (staying > 0) {
            run.say("%s are read from %s as it is. Open %s with --root DIR, a directory above %s."
                    .formatted(Text.bytes(staying), staying(checkpoint, hasOthers), target,
                            hasOthers ? "all of them" : "both"));
        }
        if (report.written() > 0) {
            run.say("%s were written, as %s does not have them as they are in memory."
                    .formatted(Text.bytes(report.written()), checkpoint.location()));
        }
    }

    /// Returns the files that have to stay, for a sentence about one.
    private static String staying(Checkpoint checkpoint, boolean hasOthers) {
        String source = checkpoint.location();
        if (hasOthers) {
            return source + " and the other files that --base names, each of which has to stay";
        }
        return checkpoint.fileSizes().size() == 1
                ? source + ", which has to stay"
                : "the files that " + source + " names, each of which has to stay";
    }

    /// Returns how many bytes the source keeps. What is shared may also be shared within the target, so the target is
    /// opened: without a root it does not look at a file of another format.
    private static long staying(Checkpoint checkpoint, DedupReport report, Path target) throws IOException {
        if (checkpoint.snapshot().isPresent()) {
            return report.sharedStorages() + report.sharedChunks();
        }
        try (Checkpoint referring = Checkpoint.open(target)) {
            return referring.verify().unverifiedBytes();
        }
    }

    /// Copies a snapshot as it is, in contrast to saving the state that it holds.
    private int copy(Arguments arguments, boolean isCroft) {
        Path source = arguments.path(0);
        Path target = arguments.path(1);
        String asked = arguments.has(KEEP_BASES) ? KEEP_BASES : SELF_CONTAINED;
        if (!isCroft) {
            return Targets.refuse("OUT", target, run);
        }
        Optional<String> misplaced = Stream
                .of(SELF_CONTAINED, PART, TO_SETTING, WHOLE, SHARING, CHUNK, Arguments.COMPRESS, DELETE_OLD, IN_PLACE,
                        Saver.REPORT, BASE, LOCATION, Arguments.DTYPE)
                .filter(arguments::has).filter(option -> !option.equals(asked))
                .filter(option -> !option.equals(BASE) || asked.equals(KEEP_BASES)).findFirst();
        if (misplaced.isPresent()) {
            return run.complain("%s: with %s a snapshot is copied as it is. Leave out %s".formatted(target, asked,
                    misplaced.get()));
        }
        return run.of(source, () -> Targets.isSame(source, target)
                ? Targets.refuseSame(source, "OUT", run)
                : copy(source, target, arguments));
    }

    private int copy(Path source, Path target, Arguments arguments) throws IOException {
        if (Inputs.isUri(source) || Inputs.isUri(target)) {
            return run.complain("%s: snapshots are copied between files of this machine only. Leave out %s and %s"
                    .formatted(Inputs.shown(Inputs.isUri(target) ? target : source), KEEP_BASES, SELF_CONTAINED));
        }
        long number;
        try (Checkpoint checkpoint = Checkpoint.open(source, arguments.openingOnMeta())) {
            number = IntegrityChecks.requireSnapshot(checkpoint).commit();
            run.noteSkippedCommit(checkpoint);
        }
        return run.writing(target, () -> {
            try (ProgressBar bar = ProgressBar.onTerminal();
                    CroftFile file = CroftFile.open(source, SaveOptions.defaults().progress(bar),
                            arguments.opening())) {
                if (arguments.has(KEEP_BASES)) {
                    file.copy(target, number);
                } else {
                    file.copyWithBases(target, number);
                }
            }
            long nbytes = Files.size(target);
            run.say(arguments, "%s (snapshot %d, %s) -> %s (%s)".formatted(source, number,
                    Text.bytes(Files.size(source)), target, Text.bytes(nbytes)),
                    json -> json.member("source", source.toString()).member("snapshot", number)
                            .member("target", target.toString()).member("nbytes", nbytes));
            return CommandRunner.OK;
        });
    }

    private int stream(Arguments arguments) {
        if (arguments.has(Saver.REPORT) || arguments.has(Arguments.JSON)) {
            return run.complain("the file and the report cannot both go to standard output. Give OUT a name");
        }
        if (ProgressBar.terminal().isPresent()) {
            return run.complain("standard output is a terminal, which a .croft file would upset. Give OUT a name");
        }
        return saver.save(arguments.path(0), arguments.path(0), arguments, (checkpoint, options) -> {
            Part part = Part.of(checkpoint, arguments);
            DedupReport report = Checkpoint.save(out.channel(), part.state, options);
            if (report.unreached() > 0) {
                run.note(checkpoint.location() + Saver.leftOut(report));
            }
            return saver.noteLeftOut(checkpoint, checkpoint.location(), part.unreadable(), arguments);
        });
    }

    private int export(Arguments arguments) {
        Optional<String> misplaced = Stream.concat(arguments.savingOptions(), Stream.of(Saver.REPORT))
                .filter(arguments::has).filter(option -> !option.equals(BASE)).findFirst();
        if (misplaced.isPresent()) {
            return refuseForOthers(misplaced.get(), arguments);
        }
        Path target = arguments.path(1);
        if (arguments.text(TO).isEmpty() && Targets.format(target, Optional.empty()).isEmpty()) {
            return run.complain("%s: no format is known by the end of its name. Choose one with --to (croft formats "
                    .formatted(target) + "lists them), or give OUT a name that ends in .croft");
        }
        // It may be a base of the file that is read.
        return replacing(arguments, (checkpoint, options) -> arguments.has(BASE)
                && (checkpoint.bases().isEmpty() || isBase(arguments, checkpoint))
                        ? refuseForOthers(BASE, arguments)
                        : export(checkpoint, arguments, options));
    }

    private int refuseForOthers(String option, Arguments arguments) {
        return run.complain("%s: %s is for .croft files. Leave it out, or give OUT a name that ends in .croft"
                .formatted(arguments.path(1), option));
    }

    private int export(Checkpoint checkpoint, Arguments arguments, SaveOptions options) throws IOException {
        String target = Inputs.shown(arguments.path(1));
        Part part = Part.of(checkpoint, arguments);
        Optional<CheckpointFormat> format = Targets.format(arguments.path(1), arguments.text(TO));
        String size = Text.size(checkpoint);
        SaveOptions exporting = exporting(arguments, options).leavingOutUnreadable().metadata(options.metadata())
                .progress(options.progress()).largest(options.largest().orElseThrow());
        SaveReport report;
        try {
            report = Targets.save(arguments.path(1), part.state, exporting);
        } catch (UnsavableValueException e) {
            boolean holdsState = format.filter(each -> each.capabilities().contains(Capability.STATE)).isPresent();
            String remedy = Weights.in(part.state, e.path(), !holdsState)
                    .map(path -> StatePart.join(arguments.text(PART).orElse(""), path))
                    .map(path -> ". Take a part of the state with --part, for instance --part " + Text.argument(path))
                    .orElse("");
            throw new IllegalArgumentException(e.getMessage() + remedy, e);
        }
        boolean sharing = format.filter(each -> each.capabilities().contains(Capability.SHARING)).isPresent();
        run.say(arguments, "%s (%s, %s) -> %s (%s): %s".formatted(checkpoint.location(), checkpoint.format(), size,
                target, Text.bytes(report.nbytes()),
                sharing ? part.contents() : Text.count(part.readable(), "tensor")),
                json -> part.write(json, checkpoint, target, report.nbytes()));
        noteFormerFiles(report, target, arguments);
        report.losses().stream().filter(ConvertCommand::isWorthSaying)
                .forEach(loss -> run.note(target + ": " + describe(loss, report.format(), sharing, report.names())));
        return saver.noteLeftOut(checkpoint, target, part.unreadable(), arguments);
    }

    private void noteFormerFiles(SaveReport report, String target, Arguments arguments) {
        if (!arguments.has(Arguments.JSON) && !report.deleted().isEmpty()) {
            run.say("%s: deleted %s of the set that it replaced".formatted(target,
                    Text.count(report.deleted().size(), "file")));
        }
        if (!report.leftBehind().isEmpty()) {
            run.note("%s: %s of the set that it replaced %s left behind: %s".formatted(target,
                    Text.count(report.leftBehind().size(), "file"), report.leftBehind().size() == 1 ? "is" : "are",
                    Text.names(report.leftBehind().stream().map(file -> String.valueOf(file.getFileName())).toList())));
        }
    }

    private static SaveOptions exporting(Arguments arguments, SaveOptions saving) {
        arguments.requireUse(TO_SETTING, Setting.Use.WRITING, "give it with --set");
        SaveOptions options = SaveOptions.defaults();
        Optional<String> format = arguments.text(TO);
        if (format.isPresent()) {
            options = options.format(format.get());
        }
        if (saving.dtype().isPresent()) {
            options = options.dtype(saving.dtype().get());
        }
        if (arguments.has(DELETE_OLD)) {
            options = options.deletingFormerFiles();
        }
        if (arguments.has(IN_PLACE)) {
            options = options.replacingSource();
        }
        return options.settings(arguments.settings(TO_SETTING));
    }

    /// Every state dict of PyTorch has the versions of the classes of its modules as an attribute.
    private static boolean isWorthSaying(SaveReport.Loss loss) {
        // Each tensor that cannot be read has a line of its own.
        return loss.kind() != SaveReport.Kind.UNREADABLE && (loss.kind() != SaveReport.Kind.ATTRIBUTES
                || loss.names().stream().anyMatch(name -> !name.endsWith("_metadata")));
    }

    private static String describe(SaveReport.Loss loss, String format, boolean keepsSharing, int names) {
        return switch (loss.kind()) {
            case SHARING -> "%s%d tensors that share storages were each written for themselves"
                    .formatted(keepsSharing ? "" : format + " keeps no sharing: ", loss.count());
            case METADATA ->
                "%s keeps no metadata: left out %s %s".formatted(format, loss.count() == 1 ? "was" : "were",
                        Text.names(loss.names()));
            case REQUIRES_GRAD -> "%s does not say which tensors require gradients: %s".formatted(format,
                    Text.count(loss.count(), "tensor") + (loss.count() == 1 ? " does" : " do"));
            case LISTS -> ("%s written as tables of Lua, whose keys count from 1, so that what is in them has other "
                    + "names%s").formatted(Text.count(loss.count(), "list") + (loss.count() == 1 ? " was" : " were"),
                            loss.names().getFirst().isEmpty() ? "" : "; the first is " + loss.names().getFirst());
            case KEYS -> "keys of %s that are no text were written as text%s".formatted(
                    Text.count(loss.count(), "map"), loss.names().getFirst().isEmpty()
                            ? ""
                            : "; the first is " + loss.names().getFirst());
            case UNREACHED ->
                "left out were " + Text.bytes(loss.count()) + " of storages that no tensor reaches; a .croft file"
                        + " written with --whole-storages, or a .pt file, keeps them";
            case WEIGHTS_ONLY ->
                "torch.load refuses it with weights_only=True, as it holds %s; load it with weights_only=False"
                        .formatted(Text.names(loss.names()));
            case ATTRIBUTES -> "left out %s, which %s does not keep: %s".formatted(
                    Text.count(loss.count(), "attribute"), format, Text.names(loss.names()));
            case METADATA_ONLY -> ("safetensors.torch.load_file returns %d of %d names, as only the metadata has %s; "
                    + "--to-set safetensors.sharing=copy writes every name as a tensor")
                    .formatted(names - loss.count(), names, Text.names(loss.names()));
            case OBJECTS -> "%s keeps no objects: what state_dict() has was written of %s of the class%s %s"
                    .formatted(format, Text.count(loss.count(), "object"), loss.names().size() == 1 ? "" : "es",
                            Text.names(loss.names()));
            case OUTSIDE_STATE_DICT -> "left out %s, which state_dict() does not have: %s"
                    .formatted(Text.count(loss.count(), "tensor"), Text.names(loss.names()));
            case REQUIRED_METADATA -> "programs such as llama.cpp do not load it, as it has no metadata %s"
                    .formatted(Text.names(loss.names()));
            case UNREADABLE -> "left out %s that cannot be read: %s".formatted(Text.count(loss.count(), "tensor"),
                    Text.names(loss.names()));
        };
    }
}
