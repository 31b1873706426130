package io.undercroft.cli;

import io.undercroft.cli.internal.Text;
import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;
import io.undercroft.serializer.BaseFile;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SnapshotInfo;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.internal.analysis.SourceChecks;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.SequencedMap;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/// Checks of a file before commands use it, and messages about damage.
final class IntegrityChecks {
    private static final int SHOWN_DAMAGES = 20;
    private static final String OTHER_FILE = "V18-BASE";
    private static final String OTHER_FILE_REMEDY = "Bring it back, or say with --root below which directory it is, "
            + "or with --base which file it is";

    private IntegrityChecks() {}

    /// Refuses a damaged file: its bytes must not get, in a new file, checksums that fit them.
    ///
    /// @throws FormatException if any part of it is damaged, or another file that it needs cannot be used
    static void require(Checkpoint checkpoint) throws IOException {
        require(checkpoint, _ -> false);
    }

    /// Refuses a damaged file, unless only the descriptions of tensors are wrong or unknown, which the command names.
    ///
    /// @throws FormatException as [#require(Checkpoint)]
    static void requireReadable(Checkpoint checkpoint) throws IOException {
        require(checkpoint, isDescription(checkpoint));
    }

    /// Returns whether damage is only that the description of a tensor is wrong or unknown.
    private static Predicate<Damage> isDescription(Checkpoint checkpoint) {
        Set<Damage> accepted = Saver.unreadable(checkpoint).values().stream()
                .map(fault -> Damage.of("", 0, fault)).collect(Collectors.toSet());
        return damage -> accepted.contains(
                new Damage("", damage.offset(), 0, damage.code(), damage.what(), damage.remedy()));
    }

    /// Names the tensors that cannot be read.
    ///
    /// @return the most severe of their codes
    static int noteUnreadable(Checkpoint checkpoint, SequencedMap<String, FormatException> unreadable,
            CommandRunner run) {
        return run.ofEach(List.copyOf(unreadable.sequencedEntrySet()), each -> run.fail(
                CommandRunner.code(each.getValue()), "%s: the tensor %s cannot be read, the others can: %s [%s]"
                        .formatted(checkpoint.location(), FormatException.quote(each.getKey()), each.getValue().what(),
                                each.getValue().code())));
    }

    private static void require(Checkpoint checkpoint, Predicate<Damage> isAccepted) throws IOException {
        List<Damage> damages = checkpoint.verify().damages().stream().filter(isAccepted.negate()).toList();
        if (damages.isEmpty()) {
            return;
        }
        Damage first = damages.getFirst();
        if (isOfOtherFile(first)) {
            throw new FormatException(first.code(), first.what(), first.offset(), OTHER_FILE_REMEDY);
        }
        if (isUnknown(first)) {
            throw new FormatException(first.code(), first.where() + " cannot be read: " + first.what(),
                    first.offset(), first.remedy());
        }
        String more = damages.size() == 1 ? "" : " (the first of " + damages.size() + ")";
        throw new FormatException("DAMAGED",
                subject(first) + " damaged" + more + ": " + first.what() + " [" + first.code() + "]",
                first.offset(), "Take the file from a backup or make it again; croft verify lists all damage"
                        + (checkpoint.format().equals("croft")
                                ? ", and " + Arguments.SALVAGE + " saves what is intact"
                                : ""));
    }

    /// Refuses to copy one of several states, or one of several files of a model, if the command line does not select
    /// it: the loss of the others would go unnoticed.
    ///
    /// @throws IllegalArgumentException if the file has parts that the state does not contain, and a setting to choose
    ///     what is opened, or is a part itself
    static void requireChosen(Checkpoint checkpoint, Arguments arguments) {
        checkpoint.unread().stream().filter(part -> part.kind() == Kind.FILE && !arguments.has(Arguments.ALLOW_PART))
                .findFirst().ifPresent(part -> {
                    throw new IllegalArgumentException("it is a part of a model, and lacks " + part.what()
                            + ". Name the index or the set of all files, or merge them first (llama.cpp does that with "
                            + "llama-gguf-split --merge); or save this part with " + Arguments.ALLOW_PART);
                });
        checkpoint.unread().stream().filter(part -> part.setting() != null && !arguments.isSet(part.setting()))
                .findFirst().ifPresent(part -> {
                    throw new IllegalArgumentException(
                            ("the file holds more than what would be saved: %s, %s at byte 0x%X. "
                                    + "Choose what to save with --set %s=1, 2 …")
                                    .formatted(part.what(), Text.bytes(part.nbytes()), part.offset(), part.setting()));
                });
    }

    /// Refuses to copy a file that was made to attack the programs that load it, unless the command line allows it.
    ///
    /// @throws IllegalArgumentException if the file names dangerous classes or functions
    static void requireHarmless(Checkpoint checkpoint, Arguments arguments) {
        List<String> dangerous = SourceChecks.dangerousNames(checkpoint);
        if (!dangerous.isEmpty() && !arguments.has(Arguments.ALLOW_DANGEROUS)) {
            throw new IllegalArgumentException("it was perhaps made to attack: with %s, it could run code in the "
                    .formatted(Text.names(dangerous))
                    + "program that loads it. Nothing of it was run. Take it from a source that you trust, or save "
                    + "what it holds with " + Arguments.ALLOW_DANGEROUS);
        }
    }

    /// Warns of a file that was made to attack the programs that load it.
    static void noteDangerous(Checkpoint checkpoint, CommandRunner run) {
        List<String> dangerous = SourceChecks.dangerousNames(checkpoint);
        if (!dangerous.isEmpty()) {
            run.note("%s: it was perhaps made to attack: with %s, it could run code in the program that loads it. "
                    .formatted(checkpoint.location(), Text.names(dangerous))
                    + "Nothing of it was run. Do not load it in Python with weights_only=False");
        }
    }

    /// Refuses a damaged file, unless its bytes are checked when they are read: all that is saved of a file with
    /// checksums is, so that reading it twice would find nothing more. What was skipped when the file was opened, as a
    /// newer snapshot that is damaged, is not read. Tensors that cannot be read are left out when the state is saved.
    ///
    /// @throws FormatException if any part of it is damaged
    static void requireBeforeSaving(Checkpoint checkpoint) throws IOException {
        if (!SourceChecks.hasChecksums(checkpoint) || checkpoint.skippedCommit().isPresent()) {
            requireReadable(checkpoint);
        }
    }

    /// Prints which other files are missing.
    static void noteMissing(String file, List<BaseFile> missing, CommandRunner run) {
        missing.forEach(
                base -> run.note("%s: it has bytes in the file %s%s: %s. %s".formatted(file,
                        FormatException.quote(base.path()), base.uuid().map(" with the id %s"::formatted).orElse(""),
                        base.problem().orElse(""), OTHER_FILE_REMEDY)));
    }

    /// {@return the snapshot that was opened}
    ///
    /// @throws IllegalArgumentException if the format of the file has no snapshots
    static SnapshotInfo requireSnapshot(Checkpoint checkpoint) {
        return checkpoint.snapshot().orElseThrow(() -> new IllegalArgumentException("files of the format "
                + checkpoint.format() + " have no snapshots; croft convert makes a .croft file of one"));
    }

    /// {@return the snapshot that is opened of a file}
    ///
    /// @throws IllegalArgumentException if the format of the file has no snapshots
    static SnapshotInfo snapshot(Path file, OpenOptions options) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file, options)) {
            return requireSnapshot(checkpoint);
        }
    }

    /// Says why bytes were not read: lists the damage as `verify` does, or the other files that are missing, and only
    /// what that does not find by what was thrown. Wrong or unknown descriptions of tensors are not listed.
    ///
    /// @param failures what was thrown where bytes were read, by the messages
    /// @return the most severe of their codes
    static int noteUnread(Checkpoint checkpoint, Verification verification,
            SequencedMap<String, RuntimeException> failures, CommandRunner run) {
        List<Damage> damages = verification.damages().stream().filter(isDescription(checkpoint).negate()).toList();
        List<BaseFile> missing = verification.missingBases();
        if (!damages.isEmpty()) {
            return tell(checkpoint.location(), damages, missing.size(), run);
        }
        Predicate<RuntimeException> isOfMissing = each -> !missing.isEmpty() && each instanceof FormatException fault
                && fault.code().equals(OTHER_FILE);
        if (failures.values().stream().anyMatch(isOfMissing)) {
            noteMissing(checkpoint.location(), missing, run);
        }
        return run.ofEach(List.copyOf(failures.sequencedEntrySet()), each -> switch (each.getValue()) {
            case RuntimeException failure when isOfMissing.test(failure) -> CommandRunner.MISSING;
            case FormatException fault -> run.fail(CommandRunner.code(fault),
                    "%s: a digest is left out: %s".formatted(checkpoint.location(), each.getKey()));
            default -> run.fail(CommandRunner.MISSING, each.getKey());
        });
    }

    /// Lists damage and remedies.
    static int tell(Object file, Verification verification, CommandRunner run) {
        return tell(file, verification.damages(), verification.missingBases().size(), run);
    }

    private static int tell(Object file, List<Damage> damages, int missingFiles, CommandRunner run) {
        list(file, damages, run);
        if (damages.stream().allMatch(IntegrityChecks::isUnknown)) {
            return run.fail(CommandRunner.MISSING, "%s: no damage was found, but %s cannot be read".formatted(file,
                    Text.count(damages.size(), "part")));
        }
        long others = damages.stream().filter(IntegrityChecks::isOfOtherFile).count();
        if (others == damages.size() && others <= missingFiles) {
            run.note("%s: what was checked is not damaged, but %s cannot be used. %s".formatted(file,
                    Text.count(others, "other file"), OTHER_FILE_REMEDY));
            return CommandRunner.MISSING;
        }
        if (others == damages.size()) {
            return run.fail(CommandRunner.DAMAGED,
                    "%s: %s cannot be used. %s".formatted(file, Text.count(others, "other file"),
                            OTHER_FILE_REMEDY));
        }
        List<Remedy> remedies = damages.stream().filter(damage -> !isOfOtherFile(damage)).map(Damage::remedy).distinct()
                .toList();
        // What is wrong may be in a file that has bytes of this one.
        String remedy = remedies.size() == 1 && remedies.getFirst().options().isEmpty()
                ? remedies.getFirst().text()
                : "Take it from a backup or make it again";
        return run.fail(CommandRunner.DAMAGED, "%s: %s. %s".formatted(file,
                Text.count(damages.size() - others, "damaged part"), remedy));
    }

    /// Lists damage.
    static void list(Object file, List<Damage> damages, CommandRunner run) {
        damages.stream().limit(SHOWN_DAMAGES).forEach(damage -> run.note(file + ": " + describe(damage)));
    }

    private static String describe(Damage damage) {
        if (isOfOtherFile(damage)) {
            return "%s [%s]".formatted(damage.what(), damage.code());
        }
        return (isUnknown(damage) ? damage.where() + " cannot be read" : subject(damage) + " damaged")
                + ": %s [%s]%s".formatted(damage.what(), damage.code(), place(damage));
    }

    private static String place(Damage damage) {
        if (damage.offset() == FormatException.NO_OFFSET) {
            return "";
        }
        return " (%sat byte 0x%X)".formatted(damage.length() == 0 ? "" : damage.length() + " bytes ", damage.offset());
    }

    /// {@return the exit code of a command that found damage}
    static int code(Damage damage) {
        return SourceChecks.isUnreadable(damage.code()) ? CommandRunner.MISSING : CommandRunner.DAMAGED;
    }

    private static String subject(Damage damage) {
        return damage.where() + (damage.where().startsWith("tensors ") ? " are" : " is");
    }

    /// {@return whether nothing is wrong with a part, only that its type is not known or the disk fails}
    private static boolean isUnknown(Damage damage) {
        return SourceChecks.isUnreadable(damage.code()) && !isOfOtherFile(damage);
    }

    /// Returns whether no byte of the file itself is wrong, only that it needs another one that is not there.
    private static boolean isOfOtherFile(Damage damage) {
        return damage.code().equals(OTHER_FILE);
    }
}
