package io.undercroft.serializer.internal.loading;

import io.undercroft.format.internal.Span;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.MatchReport;
import io.undercroft.serializer.PartlyLoadedException;
import io.undercroft.serializer.StateMismatchException;
import io.undercroft.serializer.TensorSpec;
import io.undercroft.serializer.internal.ElementPositions;
import io.undercroft.serializer.internal.SourceCheck;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// Copies the tensors of a checkpoint into those of a state: first everything that may refuse, then the copies.
public final class InPlaceLoad {
    private final Contents contents;
    private final MappedFile file;
    private final boolean isStrict;

    private InPlaceLoad(Contents contents, MappedFile file, boolean isStrict) {
        this.contents = contents;
        this.file = file;
        this.isStrict = isStrict;
    }

    /// Loads a state; see [io.undercroft.serializer.Checkpoint#loadInto].
    ///
    /// @param contents the checkpoint
    /// @param file its file, which is in messages
    /// @param state the destination
    /// @param isStrict whether both need to have the same names
    /// @return the report of the comparison
    public static MatchReport run(Contents contents, MappedFile file, @Nullable Object state, boolean isStrict) {
        return new InPlaceLoad(contents, file, isStrict).run(StateIndex.of(state).tensors());
    }

    private MatchReport run(Map<String, Tensor> targets) {
        Map<String, TensorSpec> expected = new HashMap<>();
        targets.forEach((name, tensor) -> expected.put(name, TensorSpec.of(tensor)));
        StateMatch match = StateMatch.compare(contents, expected, StateMatch.canBeCopied());
        MatchReport report = match.report();
        require(report, isStrict ? report.isExact() : report.isLoadable());
        List<TensorCopy> copies = copies(targets, match.names());
        CopyPlan plan = CopyPlan.of(copies);
        List<String> conflicting = plan.conflicts();
        MatchReport complete = new MatchReport(report.missing(), report.unexpected(), report.mismatched(), conflicting);
        require(complete, conflicting.isEmpty());
        carryOut(plan.copies());
        return complete;
    }

    private void require(MatchReport report, boolean isGood) {
        if (!isGood) {
            throw new StateMismatchException(file.location(), report,
                    "Nothing was changed; load into a state of the same names and shapes"
                            + (report.isLoadable() ? ", or with Checkpoint.loadMatching" : ""));
        }
    }

    /// The bytes of each tensor are read, and checked if the policy requires it, before any is copied.
    private List<TensorCopy> copies(Map<String, Tensor> targets, Map<String, String> names) {
        List<TensorCopy> copies = new ArrayList<>();
        targets.forEach((name, target) -> Optional.ofNullable(names.get(name)).flatMap(contents::tensor)
                .ifPresent(source -> copies.add(new TensorCopy(name, source, target))));
        fetch(copies);
        copies.forEach(TensorCopy::check);
        checkNoSourceChanges(copies);
        checkSources(copies);
        return copies;
    }

    /// Fetches what is in a store, so that tensors that are close to each other are one request.
    private void fetch(List<TensorCopy> copies) {
        if (file.source().isEmpty()) {
            return;
        }
        try {
            List<List<Storage>> groups = contents.loadGroups(copies.stream().map(copy -> copy.source().storage())
                    .map(storage -> storage.base().orElse(storage)).distinct()
                    .filter(storage -> !storage.isMaterialized() && !storage.isMeta()).toList());
            // Of several groups, the files of one are closed for the next, with what was fetched of them.
            if (groups.size() == 1) {
                contents.openGroup(groups.getFirst());
                MappedFile.fetch(groups.getFirst().stream()
                        .flatMap(storage -> contents.runs(storage).stream()).toList());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// A state that holds tensors of this very checkpoint: they can keep their elements, but not receive those of
    /// others.
    private static void checkNoSourceChanges(List<TensorCopy> copies) {
        Set<Storage> sources = copies.stream().map(copy -> TensorCopy.memoryOf(copy.source()))
                .collect(Collectors.toSet());
        copies.stream().filter(copy -> sources.contains(copy.memory())).forEach(TensorCopy::checkStays);
    }

    /// Compares what is to be copied with the checksums of its file.
    private static void checkSources(List<TensorCopy> copies) {
        Map<Storage, List<Span>> spans = new HashMap<>();
        for (TensorCopy copy : copies) {
            if (copy.source().numel() > 0) {
                spans.computeIfAbsent(copy.source().storage(), _ -> new ArrayList<>())
                        .add(ElementPositions.of(copy.source()));
            }
        }
        try {
            SourceCheck.run(spans);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void carryOut(List<TensorCopy> copies) {
        List<String> loaded = new ArrayList<>();
        for (TensorCopy copy : copies) {
            try {
                copy.run();
            } catch (RuntimeException | Error e) {
                throw new PartlyLoadedException(file.location(), loaded, List.of(copy.name()), e);
            }
            loaded.add(copy.name());
        }
    }
}
