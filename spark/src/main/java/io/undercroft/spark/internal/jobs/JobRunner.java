package io.undercroft.spark.internal.jobs;

import io.undercroft.serializer.internal.analysis.Sizes;
import io.undercroft.spark.internal.files.DataFile;
import io.undercroft.spark.internal.files.FileAccess;
import io.undercroft.spark.internal.files.FileList;
import io.undercroft.spark.internal.files.FormatNames;
import io.undercroft.spark.internal.jobs.FileResult.Status;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.ToLongFunction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/// Runs a job of a command line, prints its results, and finds its exit code.
public final class JobRunner {
    private static final String USAGE = """
            convert IN OUT [--overwrite] [--allow-dangerous] [--allow-part] [--keep-suffix]
                                  write all files below IN as .croft files below OUT
            verify PATH...        read all files and compare them with their checksums
            diff A B [--large]    compare the tensors of the files of two trees
            dedup PATH...         count the distinct bytes of the storages of all files
            compact PATH... [--keep N]
                                  drop all but the newest N snapshots (1 unless given) of .croft files
            All jobs: [--glob GLOB] names of files; [--root DIR] the directory of bases;
            [--report DIR] writes the results as JSON lines""";
    private static final String CROFT = ".croft";
    private static final String LARGE = "--large";
    private static final String KEEP_SUFFIX = "--keep-suffix";
    private static final String KEEP = "--keep";
    private static final String GLOB = "--glob";
    private static final String REPORT = "--report";
    private static final String ROOT = "--root";
    private static final int USAGE_CODE = 2;
    private static final int MISSING_CODE = 3;
    private static final StructType COLUMNS = new StructType().add("file", DataTypes.StringType)
            .add("status", DataTypes.StringType).add("detail", DataTypes.StringType)
            .add("target", DataTypes.StringType).add("bytes", DataTypes.LongType)
            .add("result", DataTypes.LongType);

    private final SparkSession spark;
    private final PrintStream out;
    private final PrintStream err;

    /// A runner.
    ///
    /// @param spark the session
    /// @param out receives results
    /// @param err receives errors
    public JobRunner(SparkSession spark, PrintStream out, PrintStream err) {
        this.spark = spark;
        this.out = out;
        this.err = err;
    }

    /// Runs a job.
    ///
    /// @param arguments its verb and arguments
    /// @return the exit code
    public int run(List<String> arguments) {
        try {
            return run(arguments.isEmpty() ? "" : arguments.getFirst(),
                    arguments.subList(Math.min(1, arguments.size()), arguments.size()));
        } catch (UsageException e) {
            err.println(e.getMessage());
            err.println(USAGE);
            return USAGE_CODE;
        } catch (IOException e) {
            err.println(e.getMessage());
            return MISSING_CODE;
        }
    }

    private int run(String verb, List<String> rest) throws IOException {
        return switch (verb) {
            case "convert" -> convert(arguments(rest, Set.of(FileTasks.Convert.OVERWRITE, FileTasks.Convert.DANGEROUS,
                    FileTasks.Convert.PART, KEEP_SUFFIX), Set.of()));
            case "verify" -> verify(arguments(rest, Set.of(), Set.of()));
            case "diff" -> diff(arguments(rest, Set.of(LARGE), Set.of()));
            case "dedup" -> dedup(arguments(rest, Set.of(), Set.of()));
            case "compact" -> compact(arguments(rest, Set.of(), Set.of(KEEP)));
            default -> throw new UsageException(verb.isEmpty() ? "no job is given" : "there is no job " + verb);
        };
    }

    private static JobArguments arguments(List<String> rest, Set<String> flags, Set<String> values) {
        Set<String> all = new HashSet<>(values);
        all.addAll(Set.of(GLOB, REPORT, ROOT));
        return new JobArguments(rest, flags, all);
    }

    private Configuration configuration() {
        return spark.sparkContext().hadoopConfiguration();
    }

    private FileAccess access(JobArguments arguments) {
        return new FileAccess(configuration(), arguments.value(ROOT).orElse(null));
    }

    private List<DataFile> files(JobArguments arguments, List<String> paths, boolean withIndexes) throws IOException {
        if (arguments.value(REPORT).isPresent()) {
            Path report = new Path(arguments.value(REPORT).get());
            if (report.getFileSystem(configuration()).exists(report)) {
                throw new UsageException(report + " exists; give " + REPORT + " a directory that does not");
            }
        }
        return new FileList(configuration(), arguments.value(GLOB).orElse(null), withIndexes).of(paths);
    }

    // ---- the jobs

    private int verify(JobArguments arguments) throws IOException {
        List<DataFile> files = files(arguments, arguments.paths(1, Integer.MAX_VALUE), false);
        List<FileResult> results = FileTasks.run(spark, files, new FileTasks.Verify(access(arguments)));
        return end(results, arguments, "%s, %s bytes without checksums"
                .formatted(count(results), sum(results, FileResult::result)));
    }

    private int compact(JobArguments arguments) throws IOException {
        int keep = arguments.number(KEEP, 1);
        List<DataFile> files = files(arguments, arguments.paths(1, Integer.MAX_VALUE), false).stream()
                .filter(file -> file.name().endsWith(CROFT)).toList();
        List<FileResult> results = FileTasks.run(spark, files, new FileTasks.Compact(keep));
        long saved = sum(results, result -> result.target() == null ? 0 : result.bytes() - result.result());
        return end(results, arguments, "%s, %s bytes freed".formatted(count(results), saved));
    }

    private int dedup(JobArguments arguments) throws IOException {
        List<DataFile> files = files(arguments, arguments.paths(1, Integer.MAX_VALUE), false);
        List<FileResult> results = DedupJob.run(spark, access(arguments), files);
        Set<String> read = new HashSet<>();
        results.stream().filter(result -> result.status() == Status.OK).forEach(result -> read.add(result.file()));
        long nbytes = 0;
        for (DataFile file : files) {
            nbytes = Sizes.sum(nbytes, read.contains(file.toString()) ? file.nbytes() : 0);
        }
        long unique = sum(results, FileResult::result);
        return end(results, arguments,
                "%s of %s bytes; their storages have %s bytes, %s of them different; one pool of extents would save %s"
                        .formatted(count(results), nbytes, sum(results, result -> result.status() == Status.OK
                                ? result.bytes()
                                : 0), unique, Math.max(0, nbytes - unique)));
    }

    private int diff(JobArguments arguments) throws IOException {
        List<String> paths = arguments.paths(2, 2);
        List<DataFile> left = files(arguments, paths.subList(0, 1), false);
        List<DataFile> right = files(arguments, paths.subList(1, 2), false);
        Map<String, DataFile> unpaired = new LinkedHashMap<>();
        right.forEach(file -> unpaired.put(file.relative(), file));
        Map<URI, DataFile> others = new HashMap<>();
        for (DataFile file : left) {
            DataFile same = left.size() == 1 && right.size() == 1
                    ? unpaired.remove(right.getFirst().relative())
                    : unpaired.remove(file.relative());
            if (same != null) {
                others.put(file.uri(), same);
            }
        }
        // A tree that was converted has the same names with another suffix.
        Map<String, List<DataFile>> stems = new HashMap<>();
        unpaired.values().forEach(file -> stems.computeIfAbsent(stem(file), _ -> new ArrayList<>()).add(file));
        for (DataFile file : left) {
            List<DataFile> sameStem = stems.getOrDefault(stem(file), List.of());
            if (!others.containsKey(file.uri()) && sameStem.size() == 1
                    && unpaired.remove(sameStem.getFirst().relative()) != null) {
                others.put(file.uri(), sameStem.getFirst());
            }
        }
        List<FileResult> results = new ArrayList<>(FileTasks.run(spark,
                left.stream().filter(file -> others.containsKey(file.uri())).toList(),
                new FileTasks.Diff(access(arguments), Map.copyOf(others), arguments.has(LARGE))));
        left.stream().filter(file -> !others.containsKey(file.uri())).forEach(file -> results
                .add(new FileResult(file.toString(), Status.DIFFERENT, "only in " + paths.get(0), file.nbytes(), 0)));
        unpaired.values().forEach(file -> results
                .add(new FileResult(file.toString(), Status.DIFFERENT, "only in " + paths.get(1), file.nbytes(), 0)));
        return end(results, arguments, count(results));
    }

    private static String stem(DataFile file) {
        String relative = file.relative();
        return relative.substring(0, relative.length() - file.name().length()) + FormatNames.stem(file.name());
    }

    private int convert(JobArguments arguments) throws IOException {
        List<String> paths = arguments.paths(2, 2);
        List<DataFile> sources = files(arguments, paths.subList(0, 1), true).stream()
                .filter(file -> !file.name().endsWith(CROFT)).toList();
        Path out = new Path(paths.get(1));
        FileSystem store = out.getFileSystem(configuration());
        Map<URI, URI> targets = targets(sources, store.makeQualified(out), arguments.has(KEEP_SUFFIX));
        Map<URI, Long> existing = arguments.has(FileTasks.Convert.OVERWRITE) ? Map.of() : modified(paths.get(1));
        List<FileResult> results = new ArrayList<>();
        List<DataFile> left = new ArrayList<>();
        for (DataFile source : sources) {
            URI target = Objects.requireNonNull(targets.get(source.uri()));
            if (existing.getOrDefault(target, Long.MIN_VALUE) >= source.modified()) {
                results.add(new FileResult(source.toString(), Status.CURRENT, null, target.toString(),
                        source.nbytes(), 0));
            } else {
                left.add(source);
            }
        }
        results.addAll(FileTasks.run(spark, left,
                new FileTasks.Convert(access(arguments), Map.copyOf(targets), arguments.flags())));
        return end(results, arguments, count(results));
    }

    private static Map<URI, URI> targets(List<DataFile> sources, Path out, boolean isKeepingSuffix) {
        Map<URI, URI> targets = new HashMap<>();
        Map<URI, DataFile> sourceOf = new HashMap<>();
        for (DataFile source : sources) {
            Path target = new Path(out, (isKeepingSuffix ? source.relative() : stem(source)) + CROFT);
            DataFile other = sourceOf.putIfAbsent(target.toUri(), source);
            if (other != null) {
                throw new UsageException(other + " and " + source + " would both be converted to " + target
                        + "; nothing was written. Give " + KEEP_SUFFIX + ", so that they get different names");
            }
            targets.put(source.uri(), target.toUri());
        }
        return targets;
    }

    private Map<URI, Long> modified(String out) throws IOException {
        Map<URI, Long> modified = new HashMap<>();
        try {
            new FileList(configuration(), "*" + CROFT, false).of(List.of(out))
                    .forEach(file -> modified.put(file.uri(), file.modified()));
        } catch (FileNotFoundException _) {
            // The first run makes the directory.
        }
        return modified;
    }

    // ---- results

    private static String count(List<FileResult> results) {
        StringBuilder counts = new StringBuilder(results.size() + (results.size() == 1 ? " file" : " files"));
        for (Status status : Status.values()) {
            long count = results.stream().filter(result -> result.status() == status).count();
            if (count > 0) {
                counts.append(", ").append(count).append(' ').append(name(status));
            }
        }
        return counts.toString();
    }

    private static long sum(List<FileResult> results, ToLongFunction<FileResult> size) {
        return Sizes.sum(results.stream().mapToLong(size));
    }

    private static String name(Status status) {
        return status.name().toLowerCase(Locale.ROOT);
    }

    /// Prints what is to be done about, and the summary. Exits with the code of the most severe result.
    private int end(List<FileResult> results, JobArguments arguments, String summary) {
        Status worst = Status.CURRENT;
        for (FileResult result : results) {
            worst = result.status().compareTo(worst) > 0 ? result.status() : worst;
            if (result.status().compareTo(Status.UNVERIFIED) > 0) {
                out.println(name(result.status()) + "  " + result.file()
                        + (result.detail() == null ? "" : ": " + result.detail()));
            }
        }
        out.println(summary);
        arguments.value(REPORT).ifPresent(directory -> spark.createDataFrame(results.stream()
                .map(JobRunner::row).toList(), COLUMNS).coalesce(1).write().json(directory));
        return worst.exitCode();
    }

    private static Row row(FileResult result) {
        return RowFactory.create(result.file(), name(result.status()), result.detail(), result.target(),
                result.bytes(), result.result());
    }

    // ---- arguments

    /// The command line is wrong.
    private static final class UsageException extends IllegalArgumentException {
        private static final long serialVersionUID = 1;

        UsageException(String message) {
            super(message);
        }
    }

    /// The arguments of a job: paths, options without a value and options with one.
    private static final class JobArguments {
        private final List<String> paths = new ArrayList<>();
        private final Set<String> flags = new HashSet<>();
        private final Map<String, String> values = new HashMap<>();

        /// Reads arguments.
        ///
        /// @param arguments what follows the verb
        /// @param allowedFlags the options without a value
        /// @param allowedValues the options with a value
        /// @throws UsageException if an option is unknown or has no value
        JobArguments(List<String> arguments, Set<String> allowedFlags, Set<String> allowedValues) {
            for (int i = 0; i < arguments.size(); i++) {
                String each = arguments.get(i);
                if (!each.startsWith("--")) {
                    paths.add(each);
                } else if (allowedFlags.contains(each)) {
                    flags.add(each);
                } else if (!allowedValues.contains(each)) {
                    throw new UsageException(each + " is no option of this job; it has "
                            + String.join(", ", allowedFlags) + " " + String.join(", ", allowedValues));
                } else if (++i == arguments.size()) {
                    throw new UsageException(each + " needs a value");
                } else {
                    values.put(each, arguments.get(i));
                }
            }
        }

        /// {@return the paths}
        ///
        /// @param least how many there are at least
        /// @param most how many there are at most
        /// @throws UsageException if there are fewer or more
        List<String> paths(int least, int most) {
            if (paths.size() < least || paths.size() > most) {
                throw new UsageException("%s paths are given, and it takes %s".formatted(paths.size(),
                        least == most ? "" + least : "at least " + least));
            }
            return paths;
        }

        /// {@return the options without a value that are given}
        Set<String> flags() {
            return Set.copyOf(flags);
        }

        boolean has(String flag) {
            return flags.contains(flag);
        }

        Optional<String> value(String option) {
            return Optional.ofNullable(values.get(option));
        }

        /// {@return the number that an option has as its value}
        ///
        /// @throws UsageException if it is no number of at least 1
        int number(String option, int otherwise) {
            String text = values.get(option);
            if (text == null) {
                return otherwise;
            }
            try {
                int number = Integer.parseInt(text);
                if (number > 0) {
                    return number;
                }
            } catch (NumberFormatException _) {
                // The exception below says what is allowed.
            }
            throw new UsageException(option + " is " + text + "; it may be a number from 1");
        }
    }
}
