package io.undercroft.serializer.internal.writing;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Span;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.internal.Formats;
import io.undercroft.serializer.internal.SourceCheck;
import io.undercroft.serializer.internal.planning.Reach;
import io.undercroft.serializer.internal.planning.ReadableState;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.state.StateIndex;
import io.undercroft.storage.Storage;
import io.undercroft.storage.spi.Backing;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/// The files of another format than `.croft` that a state is written to.
///
/// @param file the file that is named, for messages
/// @param fileName the last part of its name
/// @param format its format
/// @param options the options of the save
/// @param index the tensors of the state
/// @param draft the file to be
/// @param nbytes the estimated number of bytes of all files
/// @param losses what the files do not keep
record FormatPlan(String file, String fileName, CheckpointFormat format, SaveOptions options, StateIndex index,
        Draft draft, long nbytes, List<SaveReport.Loss> losses) {
    /// Plans the files of a state.
    ///
    /// @param path the file that is named
    /// @param state the state
    /// @param format a format for writing
    /// @param options the other options of the save
    /// @return the plan
    /// @throws IllegalArgumentException if the format cannot hold the state
    static FormatPlan of(Path path, ReadableState state, CheckpointFormat format, SaveOptions options) {
        return of(path.toString(), String.valueOf(path.getFileName()), state, format, options);
    }

    /// Plans the files of a state, as [#of(Path, ReadableState, CheckpointFormat, SaveOptions)].
    ///
    /// @param file the file that is named, for messages
    /// @param fileName the last part of its name
    /// @param state the state
    /// @param format a format for writing
    /// @param options the other options of the save
    /// @return the plan
    /// @throws IllegalArgumentException if the format cannot hold the state
    static FormatPlan of(String file, String fileName, ReadableState state, CheckpointFormat format,
            SaveOptions options) {
        Draft draft = draft(file, fileName, state.tree(), state.names(), format, options);
        return new FormatPlan(file, fileName, format, options, state.names(), draft,
                PlannedSize.of(draft, state.names(), file, options), Losses.of(state, draft, format, options));
    }

    private static Draft draft(String file, String fileName, @Nullable Object tree, StateIndex index,
            CheckpointFormat format, SaveOptions options) {
        try {
            return Formats.draft(format, tree, options, fileName);
        } catch (ArithmeticException e) {
            throw PlannedSize.tooLarge(index, file, e);
        }
    }

    /// {@return the further files of a set, by their names} A format may be of a third party, so the names are checked.
    ///
    /// @throws IllegalArgumentException if one is no plain name, or that of the file itself
    SequencedMap<String, Draft> companions() {
        SequencedMap<String, Draft> companions = draft.companions();
        for (String name : companions.keySet()) {
            if (!Draft.isPlainName(name) || name.equalsIgnoreCase(fileName)) {
                throw new IllegalArgumentException(file + ": its format names a further file "
                        + FormatException.quote(name) + ", which is no plain name of another file");
            }
        }
        return companions;
    }

    /// Compares the source files, which may be damaged, with their checksums. They are checked after everything is
    /// written and before anything is renamed, as the bytes are then in the system's cache, and what a format read is
    /// in memory.
    ///
    /// @throws FormatException if they are damaged
    void checkSources() throws IOException {
        checkSources(index);
    }

    /// Compares the source files of a state with their checksums.
    ///
    /// @param index its tensors
    /// @throws FormatException if they are damaged
    static void checkSources(StateIndex index) throws IOException {
        Reach reach = Reach.of(index);
        Map<Storage, List<Span>> spans = new HashMap<>();
        for (Storage storage : index.storages()) {
            storage.backing().ifPresent(Backing::checkNotCut);
            spans.put(storage, reach.spans(storage));
        }
        SourceCheck.run(spans);
    }

    /// {@return the report of a save}
    ///
    /// @param files the files that were written, if they are on this host
    /// @param locations their names for messages
    /// @param written their size together, in bytes
    /// @param deleted files of the former set that were deleted
    /// @param leftBehind files of the former set that are still there
    SaveReport report(List<Path> files, List<String> locations, long written, List<Path> deleted,
            List<Path> leftBehind) {
        return new SaveReport(format.name(), files, locations, written, Losses.tensors(index).size(),
                Losses.names(draft, index).size(), index.storages().size(), losses, deleted, leftBehind,
                Optional.empty());
    }
}
