package io.undercroft.properties.formats;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.benchmarks.Environment;
import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.format.FormatException;
import io.undercroft.properties.Effort;
import io.undercroft.properties.RandomProof;
import io.undercroft.properties.Repository;
import io.undercroft.properties.Scratch;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.DType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// Compares files with what the real libraries make of them, in one Python process: states that we write and they read,
/// states that they write and we read, and damaged files. Only where both open a file and see different values, or one
/// does not open a sound file of the other, something is broken; that the one refuses a damaged file and the other does
/// not is counted.
public final class DifferentialProof {
    private static final int STRIKES = 64;
    private static final int SHOWN = 3;
    private static final int ROUNDS_OF_OURS = 300;
    private static final int ROUNDS_OF_THEIRS = 1200;
    private static final int DAMAGES = 4000;
    private static final Pattern TAIL = Pattern.compile(".*/nbytes: ours is \"(\\d+)\", theirs \"(\\d+)\"");
    private static final List<Dialect> OURS = List.of(Dialect.TORCH_ZIP, Dialect.SAFETENSORS,
            Dialect.SAFETENSORS_COPIED, Dialect.NPY, Dialect.NPZ, Dialect.NPZ_DEFLATED, Dialect.GGUF);
    private static final List<String> THEIRS = List.of("torch-zip", "torch-legacy", "safetensors", "npy", "npz",
            "npz-deflated", "gguf");

    private final PythonPeer python;
    private final SplittableRandom random;
    private final Scratch scratch;
    private final Path kept;
    private final Map<Dialect, Supplier<ForeignSketch>> sketches = new EnumMap<>(Dialect.class);
    private final Map<String, Integer> counts = new TreeMap<>();
    private final List<Specimen> specimens = new ArrayList<>();

    private DifferentialProof(PythonPeer python, long seed, Scratch scratch, Path kept) {
        this.python = python;
        this.random = new SplittableRandom(seed);
        this.scratch = scratch;
        this.kept = kept;
        OURS.forEach(dialect -> sketches.put(dialect, RandomProof.samples(ForeignSketch.forPeers(dialect), seed)));
    }

    public static Report run(Effort effort) throws IOException {
        int times = effort == Effort.FULL ? 15 : 1;
        long seed = Long.getLong("seed", System.nanoTime());
        try (Scratch scratch = Scratch.make();
                PythonPeer python = PythonPeer.start(scratch.directory()).orElseThrow(() -> new IllegalStateException(
                        "set UNDERCROFT_PYTHON to a Python that has torch, safetensors, numpy and gguf"))) {
            Map<String, String> environment = new LinkedHashMap<>(Environment.of(scratch.directory()));
            environment.put("seed", Long.toString(seed));
            JsonNode versions = python.ask(Map.of("do", "versions")).orElseThrow();
            versions.properties().forEach(entry -> environment.put(entry.getKey(), entry.getValue().asText()));
            DifferentialProof proof = new DifferentialProof(python, seed, scratch,
                    Repository.path("property-tests/target/differential"));
            return new Report("differential", proof.figures(times), environment);
        }
    }

    private List<Figure> figures(int times) throws IOException {
        repeat(times * ROUNDS_OF_OURS, () -> {
            for (Dialect dialect : OURS) {
                writeOurs(dialect);
            }
        });
        repeat(times * ROUNDS_OF_THEIRS, () -> {
            for (String kind : THEIRS) {
                writeTheirs(kind);
            }
        });
        repeat(times * DAMAGES, this::damageOne);
        List<Figure> figures = new ArrayList<>();
        counts.forEach((what, count) -> figures.add(Figure.count(what, count)));
        int broken = counts.entrySet().stream().filter(entry -> isFault(entry.getKey())).mapToInt(Map.Entry::getValue)
                .sum();
        figures.add(Figure.count("sound files that one refuses, and files with other values", broken)
                .atMost(0));
        return figures;
    }

    private static boolean isFault(String row) {
        return row.endsWith("DIFFERENT") || row.endsWith("REFUSED");
    }

    @FunctionalInterface
    private interface Round {
        void run() throws IOException;
    }

    private static void repeat(int rounds, Round round) throws IOException {
        for (int i = 0; i < rounds; i++) {
            round.run();
        }
    }

    // ---- sound files ----

    private void writeOurs(Dialect dialect) throws IOException {
        ForeignSketch sketch = sketches.get(dialect).get();
        Object state = sketch.make();
        String row = "ours, " + dialect + ": ";
        Path path = scratch.file("ours");
        try {
            dialect.write(path, state);
        } catch (IllegalArgumentException _) {
            count(row + "states that we do not write");
            return;
        }
        Optional<JsonNode> theirs = read(dialect.format(), path, true);
        compare(row, path, described(dialect.format(), state), theirs, sketch);
    }

    private void writeTheirs(String kind) throws IOException {
        Path path = scratch.file("theirs");
        int seed = random.nextInt(1 << 30);
        JsonNode theirs = python.ask(Map.of("do", "write", "kind", kind, "file", path.toString(), "seed", seed))
                .orElseThrow().get("state");
        String row = "theirs, " + kind + ": ";
        try (Checkpoint opened = Checkpoint.open(path)) {
            compare(row, path, described(opened.format(), opened.state()), Optional.of(theirs), "the seed " + seed);
        } catch (FormatException e) {
            report(row + "REFUSED", path, e.getMessage());
        }
    }

    /// @param source what made the file
    private void compare(String row, Path path, JsonNode ours, Optional<JsonNode> theirs, Object source)
            throws IOException {
        JsonNode state = theirs.orElse(null);
        if (state == null || state.has("refused")) {
            String fault = state == null ? "the process died" : state.get("refused").asText();
            report(row + "REFUSED", path, fault + ", by\n" + source);
        } else if (!ours.equals(state)) {
            report(row + "DIFFERENT", path, difference("", ours, state) + ", by\n" + source);
        } else {
            count(row + "files that both read alike");
            keepAsSpecimen(path);
        }
    }

    private void keepAsSpecimen(Path path) throws IOException {
        if (specimens.size() < 2000 && Files.size(path) < 1 << 15) {
            try (Checkpoint opened = Checkpoint.open(path)) {
                specimens.add(new Specimen("", opened.format(), Files.readAllBytes(path)));
            }
        }
    }

    // ---- damaged files ----

    private void damageOne() throws IOException {
        if (specimens.isEmpty()) {
            return;
        }
        Specimen specimen = specimens.get(random.nextInt(specimens.size()));
        byte[] strikes = new byte[STRIKES];
        random.nextBytes(strikes);
        Path path = scratch.write("damaged", ForeignVandal.damage(specimen, strikes));
        String row = "damaged " + specimen.format() + ": ";
        Optional<JsonNode> theirs = read(specimen.format(), path, false);
        if (theirs.isEmpty()) {
            count(row + "files that end their process");
        }
        boolean theirsOpens = theirs.isPresent() && !theirs.get().has("refused");
        try (Checkpoint opened = Checkpoint.open(path, OpenOptions.defaults().format(specimen.format()))) {
            JsonNode ours = described(specimen.format(), opened.state());
            if (!theirsOpens) {
                count(row + "files that only we open");
            } else if (!opened.verify().damages().isEmpty()) {
                count(row + "files that both open, and in which we find damage");
            } else if (ours.equals(theirs.get())) {
                count(row + "files that both open alike");
            } else if (!opened.unread().isEmpty()) {
                // NumPy takes a record for an array by its first bytes, and we by its name.
                count(row + "files that both open, and of which we say that we do not read something");
            } else if (isTail(specimen.format(), difference("", ours, theirs.get()))) {
                count(row + "files of which only we read the bytes behind the last whole element");
            } else {
                report(row + "DIFFERENT", path, difference("", ours, theirs.get()));
            }
        } catch (FormatException _) {
            count(row + (theirsOpens ? "files that only they open" : "files that both refuse"));
        }
    }

    /// PyTorch writes the bytes behind the last whole element of a storage in the old format, and does not read them.
    private static boolean isTail(String format, String difference) {
        Matcher sizes = TAIL.matcher(difference);
        if (!format.equals("torch-legacy") || !sizes.matches()) {
            return false;
        }
        long more = Long.parseLong(sizes.group(1)) - Long.parseLong(sizes.group(2));
        return more > 0 && more < DType.COMPLEX128.itemsize();
    }

    // ---- descriptions ----

    /// {@return what the library says; nothing if its process died}
    private Optional<JsonNode> read(String format, Path path, boolean trusted) throws IOException {
        return python.ask(Map.of("do", "read", "format", format, "file", path.toString(), "trusted", trusted))
                .map(answer -> answer.has("refused") ? answer : answer.get("state"));
    }

    private static JsonNode described(String format, Object state) {
        return switch (format) {
            case "torch-zip", "torch-legacy", "torch-tar" -> Described.tree(state);
            case "npy" -> Described.named(Map.of("", (Tensor) state));
            default -> Described.named(NamedSameness.named((Map<?, ?>) state));
        };
    }

    /// {@return the first difference, in the order of the names of fields, since that of the size of a storage tells
    /// more than that of its digest}
    private static String difference(String path, JsonNode ours, JsonNode theirs) {
        if (ours.isContainerNode() && theirs.isContainerNode() && ours.size() == theirs.size()) {
            if (ours.isArray()) {
                for (int i = 0; i < ours.size(); i++) {
                    if (!ours.get(i).equals(theirs.path(i))) {
                        return difference(path + "/" + i, ours.get(i), theirs.path(i));
                    }
                }
            }
            for (Map.Entry<String, JsonNode> entry : ours.properties().stream()
                    .sorted(Map.Entry.comparingByKey()).toList()) {
                if (!entry.getValue().equals(theirs.path(entry.getKey()))) {
                    return difference(path + "/" + entry.getKey(), entry.getValue(), theirs.path(entry.getKey()));
                }
            }
        }
        return path + ": ours is " + shortened(ours) + ", theirs " + shortened(theirs);
    }

    private static String shortened(JsonNode node) {
        String text = node.toString();
        return text.length() < 300 ? text : text.substring(0, 300) + " ...";
    }

    private void count(String what) {
        counts.merge(what, 1, Integer::sum);
    }

    private void report(String what, Path path, String fault) throws IOException {
        count(what);
        int number = counts.get(what);
        if (number <= SHOWN) {
            Files.createDirectories(kept);
            Path copy = kept.resolve(what.replaceAll("\\W+", "-") + "-" + number);
            Files.copy(path, copy, StandardCopyOption.REPLACE_EXISTING);
            System.err.println("BROKEN: " + what + ", kept as " + copy + ": " + fault);
        }
    }
}
