package io.undercroft.benchmarks;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CheckpointFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/// Frequent operations on checkpoints by this library, PyTorch, safetensors and NumPy, each with files of its own
/// format and its fastest call: with the same tensors, in turn, in one run. Loads are measured with the files in the
/// page cache and with the files read from the disk. Writes tables in Markdown and a chart as SVG. Below the tables of
/// sizes are the limits of the machine, measured in the same run.
final class PeersBenchmark {
    private static final String OURS = "Undercroft";
    private static final String OURS_SAFETENSORS = "Undercroft, .safetensors";
    private static final String TORCH = "PyTorch";
    private static final String SAFETENSORS = "safetensors";
    private static final String NUMPY = "NumPy";
    private static final List<String> COLUMNS = List.of(OURS, OURS_SAFETENSORS, TORCH, SAFETENSORS, NUMPY);
    private static final List<String> PEERS = List.of(TORCH, SAFETENSORS, NUMPY);
    private static final ValueLayout.OfInt WORD = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int PAGE = 4096;
    /// Between two snapshots, one of this number of tensors changes.
    private static final int CHANGED = 100;
    private static final Duration WARM_UP = Duration.ofSeconds(1);
    /// Compiling a save takes longer than that, and a save of few tensors is over in a few milliseconds.
    private static final Duration SHORT_SAVES = Duration.ofSeconds(3);
    /// The least number of rounds of what takes a millisecond: single runs differ by a factor of five.
    private static final int ROUNDS_OF_OPENS = 9;
    private static final String DURABLY = "_durably";
    private static final String ATOMICALLY = "_atomically";
    private static final String NAMES = "open, the names of all tensors";

    /// The cases by their names, as `--case` takes them: three sizes in 256 tensors, three numbers of tensors of 32
    /// bytes, and several processes with one file.
    static final List<String> CASES = List.of("small", "medium", "large", "few", "many", "most", "processes");
    /// The cases that need minutes, and 40 GiB of the disk or of patience, are measured on request.
    private static final List<String> USUAL = List.of("small", "medium", "few", "many", "processes");
    private static final List<String> QUICK = List.of("small");
    private static final int PROCESSES = 4;

    private final Bench bench;
    private final Path results;
    private final String only;
    private final List<Figure> figures = new ArrayList<>();
    private final StringBuilder tables = new StringBuilder();
    private final List<DotChart> charts = new ArrayList<>();

    private final Path croft;
    private final Path pt;
    private final Path safetensors;
    private final Path npz;

    /// @param results the directory for the table and the chart
    /// @param only one of [#CASES], or nothing for the usual ones
    PeersBenchmark(Bench bench, Path results, String only) {
        this.bench = bench;
        this.results = results;
        this.only = only;
        this.croft = bench.file("model.croft");
        this.pt = bench.file("model.pt");
        this.safetensors = bench.file("model.safetensors");
        this.npz = bench.file("model.npz");
    }

    List<Figure> run() throws IOException {
        List<String> usual = bench.effort() == Effort.FULL ? USUAL : QUICK;
        for (String name : only.isEmpty() ? usual : List.of(only)) {
            switch (name) {
                case "small" -> measureBytes(new Workload("16 MiB in 256 tensors", 256, 128, 128));
                case "medium" -> measureBytes(new Workload("1 GiB in 256 tensors", 256, 1024, 1024));
                case "large" -> measureLarge(new Workload("8 GiB in 256 tensors", 256, 2048, 4096));
                case "few" -> measureTensors(new Workload("10 tensors of 32 bytes", 10, 2, 4));
                case "many" -> measureTensors(new Workload("10 000 tensors of 32 bytes", 10_000, 2, 4));
                case "most" -> measureMost(new Workload("1 000 000 tensors of 32 bytes", 1_000_000, 2, 4));
                default -> measureProcesses();
            }
            write();
        }
        return figures;
    }

    /// What is measured so far; a row may take minutes.
    private void write() throws IOException {
        String name = only.isEmpty() ? "peers" : "peers-" + only;
        Files.writeString(results.resolve(name + ".md"), tables);
        if (!charts.isEmpty()) {
            Files.writeString(results.resolve(name + ".svg"), DotChart.page(charts));
        }
    }

    private DotChart begin(Workload workload) {
        DotChart chart = new DotChart(workload.what(), PEERS.size() + 1);
        tables.append("| ").append(workload.what()).append(" | ").append(String.join(" | ", COLUMNS))
                .append(" | compared with the fastest other |\n|---|").append("---|".repeat(COLUMNS.size() + 1))
                .append('\n');
        return chart;
    }

    private void end(DotChart chart) throws IOException {
        tables.append('\n');
        charts.add(chart);
        bench.peers().ask("settle", croft, pt, safetensors, npz);
    }

    private void measureBytes(Workload workload) throws IOException {
        bench.prepare(workload);
        bench.peers().ask("write_numpy", npz);
        Map<String, Object> state = SaveBenchmark.copyToMemory(pt);
        Checkpoint.save(croft, state);

        DotChart chart = begin(workload);
        job(workload, chart, "save, others not durable", WARM_UP, saves(state, ""));
        job(workload, chart, "save, durable", WARM_UP, saves(state, DURABLY));
        job(workload, chart, "save, durable and atomic", WARM_UP, saves(state, ATOMICALLY));
        job(workload, chart, "save again, 1 % changed, durable", WARM_UP, secondSaves(state));
        release(state);
        job(workload, chart, "convert .pt to .safetensors, durable", WARM_UP, conversions());
        reads(workload, chart);
        end(chart);
        limits(workload);
    }

    private void reads(Workload workload, DotChart chart) throws IOException {
        String tensor = workload.someName();
        opening(workload, chart, "open, one element", opens(tensor));
        opening(workload, chart, "open, one tensor", refreshed(oneTensor(tensor), workload));
        readingJob(workload, chart, "load all into memory", refreshed(loads(), workload));
        readingJob(workload, chart, "map all, read from each page", touches());
    }

    /// Only one process has the tensors in memory at a time, and files are read from the disk: the cache has no space
    /// for all of them. What the others take for a save is also what they take for the second one.
    private void measureLarge(Workload workload) throws IOException {
        bench.prepare(workload);
        bench.peers().ask("write_numpy", npz);
        Timings plain = time(Duration.ZERO, peerSaves(""));
        Timings durable = time(Duration.ZERO, peerSaves(DURABLY));
        bench.peers().ask("forget");
        Map<String, Object> state = SaveBenchmark.copyToMemory(pt);
        Checkpoint.save(croft, state);

        DotChart chart = begin(workload);
        Timings ours = time(Duration.ZERO, ourSaves(state));
        report(workload, chart, "save, others not durable", ours.and(plain));
        report(workload, chart, "save, durable", ours.and(durable));
        report(workload, chart, "save again, 1 % changed, durable",
                time(Duration.ZERO, List.of(ourSecondSave(state))).and(durable));
        release(state);
        bench.peers().ask("settle", bench.file("made.croft"), bench.file("snapshots.croft"));
        job(workload, chart, "convert .pt to .safetensors, durable", Duration.ZERO, conversions());
        String tensor = workload.someName();
        opening(workload, chart, "open, one element", opens(tensor));
        opening(workload, chart, "open, one tensor", refreshed(oneTensor(tensor), new Workload("", 1, 2048, 4096)));
        job(workload, chart, "load all into memory, from the disk", Duration.ZERO,
                evicted(loads(), workload));
        job(workload, chart, "map all, read from each page, from the disk", Duration.ZERO,
                evicted(touches(), workload));
        end(chart);
        limits(workload);
    }

    private void measureTensors(Workload workload) throws IOException {
        bench.prepare(workload);
        bench.peers().ask("write_numpy", npz);
        DotChart chart = begin(workload);
        Map<String, Object> state = SaveBenchmark.copyToMemory(pt);
        Checkpoint.save(croft, state);
        job(workload, chart, "save, durable", SHORT_SAVES, saves(state, DURABLY));
        job(workload, chart, "save, durable and atomic", SHORT_SAVES, saves(state, ATOMICALLY));
        job(workload, chart, "save again, 1 % changed, durable", SHORT_SAVES, secondSaves(state));
        release(state);
        job(workload, chart, "convert .pt to .safetensors, durable", SHORT_SAVES, conversions());
        String tensor = workload.someName();
        openingJob(workload, chart, "open, one element", opens(tensor));
        openingJob(workload, chart, "open, one tensor", oneTensor(tensor));
        openingJob(workload, chart, NAMES, names());
        job(workload, chart, "load all into memory", WARM_UP, loads());
        end(chart);
    }

    /// NumPy takes minutes for a million arrays, each a file in a zip archive, and is left out. PyTorch takes a minute
    /// to open the file, whatever is read of it, so that is measured once. The others save again what they saved
    /// before.
    private void measureMost(Workload workload) throws IOException {
        bench.prepare(workload);
        DotChart chart = begin(workload);
        Map<String, Object> state = SaveBenchmark.copyToMemory(pt);
        Checkpoint.save(croft, state);
        Timings saved = time(WARM_UP, withoutNumpy(saves(state, DURABLY)));
        report(workload, chart, "save, durable", saved);
        report(workload, chart, "save again, 1 % changed, durable",
                time(WARM_UP, List.of(ourSecondSave(state))).and(saved.only(TORCH, SAFETENSORS)));
        release(state);
        String tensor = workload.someName();
        Timings opened = time(WARM_UP, withoutNumpy(opens(tensor)));
        report(workload, chart, "open, one element", opened);
        Timings torch = opened.only(TORCH);
        report(workload, chart, "open, one tensor",
                time(WARM_UP, without(TORCH, withoutNumpy(oneTensor(tensor)))).and(torch));
        report(workload, chart, NAMES, time(WARM_UP, without(TORCH, withoutNumpy(names()))).and(torch));
        job(workload, chart, "load all into memory", WARM_UP, withoutNumpy(loads()));
        job(workload, chart, "convert .pt to .safetensors, durable", WARM_UP, conversions());
        end(chart);
    }

    private static List<Contender> withoutNumpy(List<Contender> contenders) {
        return without(NUMPY, contenders);
    }

    private static List<Contender> without(String name, List<Contender> contenders) {
        return contenders.stream().filter(contender -> !contender.name().equals(name)).toList();
    }

    private void release(Map<String, Object> state) throws IOException {
        state.values().forEach(tensor -> ((Tensor) tensor).storage().release());
        state.clear();
        bench.peers().ask("forget");
    }

    private Timings time(Duration warmUp, List<Contender> contenders) throws IOException {
        return Rounds.bounded(warmUp, bench.rounds()).time(contenders);
    }

    private void limits(Workload workload) throws IOException {
        Timings limits = new MachineLimits(bench, workload.nbytes()).measure();
        tables.append("| limits of the machine for ").append(workload.nbytes() >> 20)
                .append(" MiB, one thread | time | rate |\n|---|---|---|\n");
        for (String limit : limits.contenders()) {
            Samples seconds = limits.of(limit);
            figures.add(Figure.of(workload.what() + ", limit, " + limit, seconds.map(s -> s * 1e3), "ms"));
            tables.append("| ").append(limit).append(" | ").append(Timings.shown(seconds.median()))
                    .append(String.format(Locale.ROOT, " | %.3g GiB/s |%n", workload.nbytes() / 0x1p30
                            / seconds.median()));
        }
        tables.append('\n');
    }

    // ---- several processes ----

    /// What several processes with one file take of the memory: the growth of the sum of their proportional set sizes.
    private void measureProcesses() throws IOException {
        Workload workload = bench.effort() == Effort.FULL
                ? new Workload("1 GiB in 256 tensors", 256, 1024, 1024)
                : new Workload("64 MiB in 256 tensors", 256, 256, 256);
        bench.prepare(workload);
        bench.peers().ask("forget");
        try (Checkpoint made = Checkpoint.open(pt)) {
            Checkpoint.save(croft, made.tree());
        }
        tables.append("| ").append(PROCESSES).append(" processes read all of ").append(workload.what())
                .append(" | growth of PSS, all together | copies |\n|---|---|---|\n");
        memory(workload, "Undercroft, Checkpoint.open", jvms("map", croft));
        memory(workload, "Undercroft, Checkpoint.open of .safetensors", jvms("map", safetensors));
        memory(workload, "PyTorch, torch.load(mmap=True)", pythons("keep_torch_mmap", pt));
        memory(workload, "safetensors, safe_open", pythons("keep_safe_open", safetensors));
        memory(workload, "Undercroft, OpenOptions.inMemory", jvms("load", croft));
        memory(workload, "PyTorch, torch.load", pythons("keep_torch", pt));
        memory(workload, "safetensors, load_file, cloned", pythons("keep_safetensors_clones", safetensors));
        tables.append('\n');
        bench.peers().ask("settle", croft, pt, safetensors);
    }

    private void memory(Workload workload, String what, long growth) {
        double copies = (double) growth / workload.nbytes();
        figures.add(Figure.of(PROCESSES + " processes, " + workload.what() + ", growth of PSS: " + what, copies,
                "copies"));
        tables.append("| ").append(what).append(String.format(Locale.ROOT, " | %d MiB | %.2f |%n", growth >> 20,
                copies));
    }

    /// Returns by how much the PSS of JVMs grows while all of them open a file and read all of its bytes.
    private static long jvms(String how, Path file) throws IOException {
        List<TalkingProcess> jvms = new ArrayList<>();
        try {
            for (int i = 0; i < PROCESSES; i++) {
                jvms.add(TalkingProcess.java(OpenPeer.class));
            }
            for (TalkingProcess jvm : jvms) {
                jvm.answer();
            }
            List<Long> pids = jvms.stream().map(TalkingProcess::pid).toList();
            long before = Pss.of(pids);
            for (TalkingProcess jvm : jvms) {
                jvm.say(how + " " + file);
                jvm.answer();
            }
            return Pss.of(pids) - before;
        } finally {
            jvms.forEach(TalkingProcess::close);
        }
    }

    private long pythons(String request, Path file) throws IOException {
        List<Peers> pythons = new ArrayList<>();
        try {
            for (int i = 0; i < PROCESSES; i++) {
                pythons.add(bench.peers().another());
                pythons.getLast().ask("versions");
            }
            List<Long> pids = pythons.stream().map(Peers::pid).toList();
            long before = Pss.of(pids);
            for (Peers python : pythons) {
                python.ask(request, file);
            }
            return Pss.of(pids) - before;
        } finally {
            pythons.forEach(Peers::close);
        }
    }

    // ---- contenders ----

    private void opening(Workload workload, DotChart chart, String what, List<Contender> contenders)
            throws IOException {
        openingJob(workload, chart, what, contenders);
        fromDiskJob(workload, chart, what, contenders);
    }

    private void openingJob(Workload workload, DotChart chart, String what, List<Contender> contenders)
            throws IOException {
        int rounds = Math.max(bench.rounds(), ROUNDS_OF_OPENS);
        report(workload, chart, what, Rounds.bounded(WARM_UP, rounds).time(contenders));
    }

    private void readingJob(Workload workload, DotChart chart, String what, List<Contender> contenders)
            throws IOException {
        job(workload, chart, what, WARM_UP, contenders);
        fromDiskJob(workload, chart, what, contenders);
    }

    private void fromDiskJob(Workload workload, DotChart chart, String what, List<Contender> contenders)
            throws IOException {
        job(workload, chart, what + ", from the disk", Duration.ZERO, evicted(contenders, workload));
    }

    private static List<Contender> refreshed(List<Contender> contenders, Workload workload) {
        return contenders.stream().map(contender -> EagerBenchmark.refreshed(contender, workload.nbytes())).toList();
    }

    /// Measures the same after removing the files of all contenders from the page cache. The pages that the files had
    /// may then go to the host of the machine, and the contender needs as many again, and memory for the tensors: both
    /// are touched before, so that none has to wait for the host.
    private List<Contender> evicted(List<Contender> contenders, Workload workload) {
        long available = AnonymousMemory.available().orElse(Long.MAX_VALUE);
        long touched = Math.min(2 * workload.nbytes(), available / 4 * 3);
        return contenders.stream().map(contender -> EagerBenchmark.refreshed(contender, touched))
                .map(contender -> new Contender(contender.name(), () -> {
                    bench.peers().ask("evict", croft, pt, safetensors, npz);
                    return contender.task().run();
                })).toList();
    }

    private List<Contender> saves(Map<String, Object> state, String durably) {
        return Stream.concat(ourSaves(state).stream(), peerSaves(durably).stream()).toList();
    }

    private List<Contender> ourSaves(Map<String, Object> state) {
        return List.of(
                bench.writing(OURS, bench.file("made.croft"), path -> Checkpoint.save(path, state), nbytes(state)),
                bench.writing(OURS_SAFETENSORS, bench.file("made.safetensors"), path -> Checkpoint.save(path, state),
                        nbytes(state)));
    }

    private List<Contender> peerSaves(String durably) {
        return List.of(peer(TORCH, "torch_save" + durably, bench.file("made.pt")),
                peer(SAFETENSORS, "safetensors_save" + (durably.isEmpty() ? "_file" : durably),
                        bench.file("made.safetensors")),
                peer(NUMPY, "numpy_savez" + durably, bench.file("made.npz")));
    }

    /// The other libraries save everything again, since none of them can append.
    private List<Contender> secondSaves(Map<String, Object> state) throws IOException {
        return Stream.concat(Stream.of(ourSecondSave(state)), peerSaves(DURABLY).stream()).toList();
    }

    /// Commits to a file that stays open, as a training run does.
    private Contender ourSecondSave(Map<String, Object> state) throws IOException {
        Path path = bench.file("snapshots.croft");
        Checkpoint.save(path, state);
        CheckpointFile file = CheckpointFile.open(path);
        List<Storage> changing = new ArrayList<>();
        for (Object tensor : state.values()) {
            changing.add(((Tensor) tensor).storage());
        }
        changing.subList(Math.max(1, changing.size() / CHANGED), changing.size()).clear();
        return new Contender(OURS, () -> {
            for (Storage storage : changing) {
                storage.fill((byte) (storage.get(0) + 1));
            }
            bench.peers().ask("settle");
            long start = System.nanoTime();
            file.commit(state, SaveOptions.defaults());
            return outcome(start, (double) nbytes(state));
        });
    }

    private List<Contender> conversions() {
        Path made = bench.file("made.safetensors");
        return List.of(bench.writing(OURS, made, path -> {
            try (Checkpoint checkpoint = Checkpoint.open(pt)) {
                Checkpoint.save(path, checkpoint.tree());
            }
        }, 0), peer(TORCH, "torch_to_safetensors", pt, made));
    }

    private List<Contender> opens(String tensor) {
        return List.of(Contender.opening(OURS, croft, tensor),
                Contender.opening(OURS_SAFETENSORS, safetensors, tensor),
                peer(TORCH, "torch_load_mmap", pt, tensor),
                peer(SAFETENSORS, "safetensors_safe_open", safetensors, tensor),
                peer(NUMPY, "numpy_element", npz, tensor));
    }

    private List<Contender> oneTensor(String tensor) {
        return List.of(copyingOne(OURS, croft, tensor), copyingOne(OURS_SAFETENSORS, safetensors, tensor),
                peer(TORCH, "torch_one", pt, tensor), peer(SAFETENSORS, "safetensors_one", safetensors, tensor),
                peer(NUMPY, "numpy_one", npz, tensor));
    }

    /// By [Checkpoint#rows], which reads a part of a tensor into memory, here all of its rows.
    private static Contender copyingOne(String name, Path file, String tensor) {
        return new Contender(name, () -> {
            long start = System.nanoTime();
            try (Checkpoint checkpoint = Checkpoint.open(file)) {
                Tensor copy = checkpoint.rows(tensor, 0, checkpoint.tensor(tensor).size(0));
                double seconds = (System.nanoTime() - start) / 1e9;
                double witness = witness(sum(copy.bytes(), Integer.BYTES));
                copy.storage().release();
                return new Contender.Outcome(seconds, witness);
            }
        });
    }

    private List<Contender> names() {
        return List.of(naming(OURS, croft), naming(OURS_SAFETENSORS, safetensors), peer(TORCH, "torch_names", pt),
                peer(SAFETENSORS, "safetensors_names", safetensors), peer(NUMPY, "numpy_names", npz));
    }

    private static Contender naming(String name, Path file) {
        return new Contender(name, () -> {
            long start = System.nanoTime();
            try (Checkpoint checkpoint = Checkpoint.open(file)) {
                return outcome(start, checkpoint.names().stream().mapToInt(String::length).sum());
            }
        });
    }

    private List<Contender> loads() {
        return List.of(loading(OURS, croft), loading(OURS_SAFETENSORS, safetensors),
                peer(TORCH, "torch_load_all_fresh", pt), peer(SAFETENSORS, "safetensors_load_all_fresh", safetensors),
                peer(NUMPY, "numpy_load_all_fresh", npz));
    }

    private static Contender loading(String name, Path file) {
        return new Contender(name, () -> {
            long start = System.nanoTime();
            try (Checkpoint checkpoint = Checkpoint.open(file, OpenOptions.defaults().inMemory())) {
                double seconds = (System.nanoTime() - start) / 1e9;
                return new Contender.Outcome(seconds, sum(checkpoint, Integer.BYTES));
            }
        });
    }

    private List<Contender> touches() {
        return List.of(touching(OURS, croft), touching(OURS_SAFETENSORS, safetensors),
                peer(TORCH, "torch_touch", pt), peer(SAFETENSORS, "safetensors_touch", safetensors));
    }

    private static Contender touching(String name, Path file) {
        return new Contender(name, () -> {
            long start = System.nanoTime();
            try (Checkpoint checkpoint = Checkpoint.open(file)) {
                return outcome(start, sum(checkpoint, PAGE));
            }
        });
    }

    private static Contender.Outcome outcome(long start, double witness) {
        return new Contender.Outcome((System.nanoTime() - start) / 1e9, witness);
    }

    private Contender peer(String column, String function, Object... arguments) {
        Object[] request = new Object[arguments.length + 1];
        request[0] = function;
        System.arraycopy(arguments, 0, request, 1, arguments.length);
        return bench.peers().contender(column, request);
    }

    private static long nbytes(Map<String, Object> state) {
        return state.values().stream().mapToLong(tensor -> ((Tensor) tensor).nbytes()).sum();
    }

    /// Returns the sum of the words of all tensors that are a distance apart, as `all_read` and `touched` in Python.
    private static double sum(Checkpoint checkpoint, int distance) {
        long sum = 0;
        for (Tensor tensor : checkpoint.tensors().values()) {
            sum += sum(tensor.bytes(), distance);
        }
        return witness(sum);
    }

    /// Sums are printed as numbers that a double represents exactly.
    private static double witness(long sum) {
        return (double) Math.floorMod(sum, 1L << 52);
    }

    private static long sum(MemorySegment bytes, int distance) {
        long sum = 0;
        for (long at = 0; at < bytes.byteSize(); at += distance) {
            sum += bytes.get(WORD, at);
        }
        return sum;
    }

    private void job(Workload workload, DotChart chart, String what, Duration warmUp, List<Contender> contenders)
            throws IOException {
        report(workload, chart, what, time(warmUp, contenders));
    }

    private void report(Workload workload, DotChart chart, String what, Timings timings) throws IOException {
        List<String> present = timings.contenders();
        for (String contender : present) {
            figures.add(Figure.of(workload.what() + ", " + what + ": " + contender,
                    timings.of(contender).map(s -> s * 1e3), "ms"));
        }
        List<String> others = PEERS.stream().filter(present::contains).toList();
        for (String other : others) {
            figures.add(Figure.of(workload.what() + ", " + what + ": " + OURS + " compared with " + other,
                    timings.speedup(OURS, other), "x"));
        }
        String fastest = others.stream().min(Comparator.comparingDouble(other -> timings.of(other).median()))
                .orElseThrow();
        Samples ratio = timings.speedup(OURS, fastest);
        tables.append("| ").append(what);
        for (String column : COLUMNS) {
            tables.append(" | ").append(present.contains(column) ? Timings.shown(timings.of(column).median()) : "");
        }
        tables.append(String.format(Locale.ROOT, " | %.3g x (%.3g to %.3g) |%n", ratio.median(), ratio.quantile(0.25),
                ratio.quantile(0.75)));
        chart.row(what);
        for (String column : present) {
            if (!column.equals(OURS_SAFETENSORS)) {
                chart.point(column, column.equals(OURS) ? 0 : 1 + PEERS.indexOf(column), timings.of(column).median());
            }
        }
        write();
    }
}
