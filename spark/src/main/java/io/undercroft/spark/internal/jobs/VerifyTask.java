package io.undercroft.spark.internal.jobs;

import io.undercroft.serializer.BaseFile;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.Verification;
import io.undercroft.spark.internal.files.DataFile;
import io.undercroft.spark.internal.files.FileAccess;
import io.undercroft.spark.internal.jobs.FileResult.Status;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/// Reads a whole file and compares it with its checksums.
///
/// @param access opens files
record VerifyTask(FileAccess access) implements FileTask {
    @Override
    public FileResult run(DataFile file) throws IOException {
        try (Checkpoint checkpoint = access.open(file, OpenOptions.defaults())) {
            Verification found = checkpoint.verify();
            String uri = file.toString();
            if (!found.damages().isEmpty()) {
                return new FileResult(uri, Status.DAMAGED, describe(found.damages()), file.nbytes(),
                        found.unverifiedBytes());
            }
            if (!found.missingBases().isEmpty()) {
                return new FileResult(uri, Status.UNREADABLE, "it has bytes in files that are not there: "
                        + found.missingBases().stream().map(BaseFile::path).collect(Collectors.joining(", ")),
                        file.nbytes(), found.unverifiedBytes());
            }
            return new FileResult(uri, found.isComplete() ? Status.OK : Status.UNVERIFIED,
                    others(checkpoint).orElse(null),
                    file.nbytes(), found.unverifiedBytes());
        }
    }

    /// {@return what a file lacks if it is one of several of a model}
    ///
    /// @param checkpoint the open file
    static Optional<String> others(Checkpoint checkpoint) {
        return checkpoint.unread().stream().filter(part -> part.kind() == Kind.FILE).findFirst()
                .map(part -> "it is a part of a model, and lacks " + part.what());
    }

    /// {@return the first damage, and how many there are}
    static String describe(List<Damage> damages) {
        Damage first = damages.getFirst();
        return "%s: %s [%s]%s".formatted(first.where(), first.what(), first.code(),
                damages.size() == 1 ? "" : ", the first of " + damages.size() + " damaged parts");
    }
}
