package io.undercroft.spark.internal.jobs;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.BaseFile;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.LockedException;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.Retention;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.internal.analysis.ElementBudget;
import io.undercroft.serializer.internal.analysis.NamedTensors;
import io.undercroft.serializer.internal.analysis.SourceChecks;
import io.undercroft.serializer.internal.analysis.StateDiff;
import io.undercroft.serializer.internal.analysis.ValueDiff;
import io.undercroft.spark.TensorReadException;
import io.undercroft.spark.internal.files.Bins;
import io.undercroft.spark.internal.files.DataFile;
import io.undercroft.spark.internal.files.FileAccess;
import io.undercroft.spark.internal.jobs.FileResult.Status;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.sql.SparkSession;

/// What jobs do with one file each. A file that fails does not fail the job; a machine that is lost does not either, as
/// Spark runs its tasks elsewhere.
final class FileTasks {
    /// Bytes of the files of a task, which is repeated if its machine is lost.
    private static final long BYTES_OF_TASK = 1L << 30;
    private static final int TASKS_PER_CORE = 4;

    private FileTasks() {}

    /// What a job does with one file, on any machine. Spark may run it again after the machine was lost, while the
    /// first run is still going on.
    @FunctionalInterface
    interface Task extends Serializable {
        /// Processes a file.
        ///
        /// @param file the file
        /// @return what became of it
        /// @throws IOException if it is not readable; the job reports that and goes on with the other files
        FileResult run(DataFile file) throws IOException;
    }

    /// {@return the files, divided among tasks by their sizes}
    static JavaRDD<DataFile> perFile(SparkSession spark, List<DataFile> files) {
        JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
        List<List<DataFile>> bins = Bins.divide(files, DataFile::nbytes,
                TASKS_PER_CORE * context.defaultParallelism(), BYTES_OF_TASK);
        return context.parallelize(bins, Math.max(1, bins.size())).flatMap(List::iterator);
    }

    /// Runs a task for each file.
    ///
    /// @param spark the session
    /// @param files the files
    /// @param task what to do with each
    /// @return what became of each file, in the order of their URIs
    static List<FileResult> run(SparkSession spark, List<DataFile> files, Task task) {
        return perFile(spark, files).map(new Attempt(task)).collect().stream()
                .sorted((one, other) -> one.file().compareTo(other.file())).toList();
    }

    private record Attempt(Task task) implements Function<DataFile, FileResult> {
        @Override
        public FileResult call(DataFile file) {
            return attempt(file, task);
        }
    }

    /// Runs a task, and makes a result of its failure.
    static FileResult attempt(DataFile file, Task task) {
        try {
            return task.run(file);
        } catch (FormatException e) {
            return failed(file, SourceChecks.isUnreadable(e.code()) ? Status.UNREADABLE : Status.DAMAGED, e);
        } catch (IllegalArgumentException | UnsupportedOperationException e) {
            return failed(file, Status.REFUSED, e);
        } catch (IOException | NoSuchElementException | UncheckedIOException e) {
            return failed(file, Status.UNREADABLE, e);
        } catch (RuntimeException | InternalError e) {
            return failed(file, Status.FAILED, e);
        }
    }

    private static FileResult failed(DataFile file, Status status, Throwable why) {
        return new FileResult(file.toString(), status, TensorReadException.describe(why), file.nbytes(), 0);
    }

    /// Reads a whole file and compares it with its checksums.
    ///
    /// @param access opens files
    record Verify(FileAccess access) implements Task {
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
    }

    /// Writes a file anew as a `.croft` file. The target appears whole or not at all, so the task may run twice, also
    /// at the same time.
    ///
    /// @param access opens and writes files
    /// @param targets the target of each file
    /// @param consents the options of the job that allow what is refused without them
    record Convert(FileAccess access, Map<URI, URI> targets, Set<String> consents) implements Task {
        /// Targets that are current, or have several snapshots, are replaced.
        static final String OVERWRITE = "--overwrite";
        /// Files are converted that name functions with which they could run code in Python.
        static final String DANGEROUS = "--allow-dangerous";
        /// Files are converted that are one of several of a model.
        static final String PART = "--allow-part";

        private static final int ATTEMPTS = 10;
        private static final long PAUSE = 500;

        @Override
        public FileResult run(DataFile file) throws IOException {
            URI target = Objects.requireNonNull(targets.get(file.uri()), "a target");
            Optional<Path> local = DataFile.pathOf(target);
            for (int attempt = 1;; attempt++) {
                if (local.isPresent() && !consents.contains(OVERWRITE) && isCurrent(local.get(), file.modified())) {
                    return new FileResult(file.toString(), Status.CURRENT, null, target.toString(), file.nbytes(),
                            Files.size(local.get()));
                }
                try {
                    return convert(file, target, local);
                } catch (LockedException e) {
                    // Another job replaces the target, perhaps by the same.
                    if (attempt == ATTEMPTS) {
                        throw e;
                    }
                    pause();
                }
            }
        }

        /// Returns whether a target is not older than its source.
        private static boolean isCurrent(Path target, long modified) throws IOException {
            return Files.exists(target) && Files.getLastModifiedTime(target).toMillis() >= modified;
        }

        private static void pause() throws IOException {
            try {
                Thread.sleep(PAUSE);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted while another job wrote the target", e);
            }
        }

        private FileResult convert(DataFile file, URI target, Optional<Path> local) throws IOException {
            if (local.isPresent()) {
                Files.createDirectories(Objects.requireNonNull(local.get().getParent(), "a directory"));
                requireOneSnapshot(local.get());
            }
            try (Checkpoint source = access.open(file, OpenOptions.defaults())) {
                requireWhole(source);
                requireHarmless(source);
                SaveReport report = save(source, target);
                return new FileResult(file.toString(), Status.OK, null, target.toString(), file.nbytes(),
                        report.nbytes());
            }
        }

        private SaveReport save(Checkpoint source, URI target) throws LockedException {
            Object state = source.tree();
            SaveOptions options = SaveOptions.defaults().metadata(source.metadata()).format("croft")
                    .largest(ElementBudget.of(source).most());
            try {
                return access.save(target, state, options);
            } catch (LockedException e) {
                throw e;
            } catch (IOException e) {
                throw new IllegalStateException(target + " cannot be written: " + TensorReadException.describe(e), e);
            }
        }

        /// Refuses to replace a file to which others have committed.
        private void requireOneSnapshot(Path target) throws IOException {
            if (!consents.contains(OVERWRITE) && Files.exists(target)) {
                try (Checkpoint there = Checkpoint.open(target, OpenOptions.defaults().onMeta())) {
                    int snapshots = there.snapshots().size();
                    if (snapshots > 1) {
                        throw new IllegalArgumentException(target + " is older than its source, and has " + snapshots
                                + " snapshots, which would be lost; move it away, or convert with " + OVERWRITE);
                    }
                }
            }
        }

        /// Refuses what would get new checksums although it is damaged, and files of which only a part would be saved.
        /// Files with checksums are checked when they are read.
        private void requireWhole(Checkpoint source) throws IOException {
            if (!SourceChecks.hasChecksums(source)) {
                List<Damage> damages = source.verify().damages();
                if (!damages.isEmpty()) {
                    throw new FormatException("DAMAGED", describe(damages), damages.getFirst().offset(),
                            "Take the file from a backup or make it again");
                }
            }
            others(source).filter(_ -> !consents.contains(PART)).ifPresent(others -> {
                throw new IllegalArgumentException(others + "; merge the files first, or convert each with " + PART);
            });
            source.unread().stream().filter(part -> part.setting() != null).findFirst().ifPresent(part -> {
                throw new IllegalArgumentException("the file holds more than what would be saved: " + part.what()
                        + "; convert it with croft convert, which can choose what to save");
            });
        }

        private void requireHarmless(Checkpoint source) {
            List<String> dangerous = SourceChecks.dangerousNames(source);
            if (!dangerous.isEmpty() && !consents.contains(DANGEROUS)) {
                throw new IllegalArgumentException("it was perhaps made to attack: with "
                        + String.join(", ", dangerous)
                        + " it could run code in the program that loads it. Nothing of it was run. Take it from a"
                        + " source that you trust, or convert with " + DANGEROUS);
            }
        }
    }

    /// Compares the tensors of a file with those of another one, as `croft diff` does.
    ///
    /// @param access opens files
    /// @param others the other file of each
    /// @param isLarge whether elements out of proportion to the bytes that the files store are read
    record Diff(FileAccess access, Map<URI, DataFile> others, boolean isLarge) implements Task {
        @Override
        public FileResult run(DataFile file) throws IOException {
            DataFile other = Objects.requireNonNull(others.get(file.uri()), "the other file");
            try (Checkpoint a = access.open(file, OpenOptions.defaults());
                    Checkpoint b = access.open(other, OpenOptions.defaults())) {
                ElementBudget budget = isLarge ? ElementBudget.unlimited() : ElementBudget.of(a, b);
                StateDiff diff = new StateDiff(new NamedTensors(a), new NamedTensors(b), false, budget, (_, _) -> {});
                long different = diff.changes().size() + (long) diff.onlyInA().size() + diff.onlyInB().size();
                long values = diff.values().map(ValueDiff::count).orElse(0L);
                String counts = "%s tensors equal, %s changed, %s only in A, %s only in B%s%s".formatted(diff.equal(),
                        diff.changes().size(), diff.onlyInA().size(), diff.onlyInB().size(),
                        diff.tiesOfA().size() + diff.tiesOfB().size() == 0 ? "" : ", shared storages differ",
                        values == 0 ? "" : ", %s values differ".formatted(values));
                if (!diff.notCompared().isEmpty()) {
                    StateDiff.NotCompared first = diff.notCompared().getFirst();
                    return new FileResult(file.toString(), Status.UNREADABLE, "%s, %s not compared: %s: %s%s"
                            .formatted(counts, diff.notCompared().size(), first.name(), first.why(),
                                    first.why().equals(budget.refusal()) ? "; --large allows it" : ""),
                            other.toString(), file.nbytes(), different);
                }
                return new FileResult(file.toString(), diff.hasDifferences() ? Status.DIFFERENT : Status.OK, counts,
                        other.toString(), file.nbytes(), different);
            }
        }
    }

    /// Drops the older snapshots of a file.
    ///
    /// @param keep how many snapshots stay
    record Compact(int keep) implements Task {
        @Override
        public FileResult run(DataFile file) throws IOException {
            Path path = file.local()
                    .orElseThrow(() -> new IllegalArgumentException("files in stores cannot be compacted, "
                            + "as they are sealed; compact the file where it was written, and copy it"));
            try (CroftFile growing = CroftFile.open(path)) {
                long saved = growing.compact(Retention.last(keep));
                return new FileResult(file.toString(), saved == 0 ? Status.CURRENT : Status.OK, null, file.toString(),
                        file.nbytes(), file.nbytes() - saved);
            }
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
