package io.undercroft.spark.internal.jobs;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.analysis.ElementBudget;
import io.undercroft.serializer.analysis.NamedTensors;
import io.undercroft.serializer.analysis.StateDiff;
import io.undercroft.serializer.analysis.ValueDiff;
import io.undercroft.spark.internal.files.DataFile;
import io.undercroft.spark.internal.files.FileAccess;
import io.undercroft.spark.internal.jobs.FileResult.Status;
import java.io.IOException;
import java.net.URI;
import java.util.Map;
import java.util.Objects;

/// Compares the tensors of a file with those of another one, as `croft diff` does.
///
/// @param access opens files
/// @param others the other file of each
/// @param isLarge whether elements out of proportion to the bytes that the files store are read
record DiffTask(FileAccess access, Map<URI, DataFile> others, boolean isLarge) implements FileTask {
    @Override
    public FileResult run(DataFile file) throws IOException {
        DataFile other = Objects.requireNonNull(others.get(file.uri()), "the other file");
        try (Checkpoint a = access.open(file, OpenOptions.defaults());
                Checkpoint b = access.open(other, OpenOptions.defaults())) {
            ElementBudget budget = isLarge ? ElementBudget.unlimited() : ElementBudget.of(a, b);
            StateDiff diff = new StateDiff(new NamedTensors(a), new NamedTensors(b), false, budget, (_, _) -> {});
            long different = diff.changes().size() + (long) diff.onlyInA().size() + diff.onlyInB().size();
            long values = diff.values().map(ValueDiff::count).orElse(0L);
            String counts = "%d tensors equal, %d changed, %d only in A, %d only in B%s%s".formatted(diff.equal(),
                    diff.changes().size(), diff.onlyInA().size(), diff.onlyInB().size(),
                    diff.tiesOfA().size() + diff.tiesOfB().size() == 0 ? "" : ", shared storages differ",
                    values == 0 ? "" : ", %d values differ".formatted(values));
            if (!diff.notCompared().isEmpty()) {
                StateDiff.NotCompared first = diff.notCompared().getFirst();
                return new FileResult(file.toString(), Status.UNREADABLE, "%s, %d not compared: %s: %s%s"
                        .formatted(counts, diff.notCompared().size(), first.name(), first.why(),
                                first.why().equals(budget.refusal()) ? "; --large allows it" : ""),
                        other.toString(), file.nbytes(), different);
            }
            return new FileResult(file.toString(), diff.hasDifferences() ? Status.DIFFERENT : Status.OK, counts,
                    other.toString(), file.nbytes(), different);
        }
    }
}
