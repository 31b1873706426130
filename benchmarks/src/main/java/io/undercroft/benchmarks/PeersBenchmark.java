package io.undercroft.benchmarks;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
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
import java.util.function.BiFunction;
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
    private static final String SAVE_AGAIN = "save again, 1 % changed, durable";
    private static final String CONVERT = "convert .pt to .safetensors, durable";
    private static final String ONE_ELEMENT = "open, one element";
    private static final String ONE_TENSOR = "open, one tensor";
    private static final String NAMES = "open, the names of all tensors";
    private static final String LOAD = "load all into memory";
    private static final String TOUCH = "map all, read from each page";
    private static final String FROM_DISK = ", from the disk";
    /// The cases by their names, as `--case` takes them: three sizes in 256 tensors, three numbers of tensors of 32
    /// bytes, and several processes with one file.
    static final List<String> CASES = List.of("small", "medium", "large", "few", "many", "most", "processes");
    /// The cases that need minutes, and 40 GiB of the disk or of patience, are measured on request.
    private static final List<String> USUAL = List.of("small", "medium", "few", "many", "processes");
    private static final List<String> QUICK = List.of("small");
    private static final int PROCESSES = 4;

    private final Bench bench;
    private final StringBuilder tables = new StringBuilder();
    private final List<DotChart> charts = new ArrayList<>();
    private final Path croft;
    private final Path pt;
    private final Path safetensors;
    private final Path npz;
    /// The tensors of the case that is measured, their names in the report, and its chart.
    private Workload workload = Workload.LARGE;
    private DotChart chart = new DotChart("", 0);

    private PeersBenchmark(Bench bench) {
        this.bench = bench;
        this.croft = bench.file("model.croft");
        this.pt = bench.file("model.pt");
        this.safetensors = bench.file("model.safetensors");
        this.npz = bench.file("model.npz");
    }

    static void run(Bench bench) throws IOException {
        PeersBenchmark benchmark = new PeersBenchmark(bench);
        for (String name : bench.only().isEmpty() ? bench.choose(USUAL, QUICK) : List.of(bench.only())) {
            switch (name) {
                case "small" -> benchmark.measureBytes(new Workload("16 MiB in 256 tensors", 256, 128, 128));
                case "medium" -> benchmark.measureBytes(Workload.LARGE);
                case "large" -> benchmark.measureLarge(new Workload("8 GiB in 256 tensors", 256, 2048, 4096));
                case "few" -> benchmark.measureTensors(new Workload("10 tensors of 32 bytes", 10, 2, 4));
                case "many" -> benchmark.measureTensors(new Workload("10 000 tensors of 32 bytes", 10_000, 2, 4));
                case "most" -> benchmark.measureMost(new Workload("1 000 000 tensors of 32 bytes", 1_000_000, 2, 4));
                default -> benchmark.measureProcesses(Workload.large(bench));
            }
            benchmark.write();
        }
    }

    /// What is measured so far; a row may take minutes.
    private void write() throws IOException {
        String name = bench.only().isEmpty() ? "peers" : "peers-" + bench.only();
        Files.writeString(bench.results().resolve(name + ".md"), tables);
        if (!charts.isEmpty()) {
            Files.writeString(bench.results().resolve(name + ".svg"), DotChart.page(charts));
        }
    }

    private void prepare(Workload made, boolean withNumpy) throws IOException {
        workload = made;
        bench.prepare(made);
        if (withNumpy) {
            bench.python().ask("write_numpy", npz);
        }
    }

    private void begin() {
        chart = new DotChart(workload.what(), PEERS.size() + 1);
        tables.append("| ").append(workload.what()).append(" | ").append(String.join(" | ", COLUMNS))
                .append(" | compared with the fastest other |\n|---|").append("---|".repeat(COLUMNS.size() + 1))
                .append('\n');
    }

    private void end() throws IOException {
        tables.append('\n');
        charts.add(chart);
        bench.python().ask("settle", croft, pt, safetensors, npz);
    }

    private Map<String, Tensor> state() throws IOException {
        Map<String, Tensor> state = Bench.copyToMemory(pt);
        Checkpoint.save(croft, state);
        return state;
    }

    private void release(Map<String, Tensor> state) throws IOException {
        Bench.release(state);
        bench.python().ask("forget");
    }

    private void measureBytes(Workload made) throws IOException {
        prepare(made, true);
        Map<String, Tensor> state = state();
        begin();
        job("save, others not durable", WARM_UP, saves(state, ""));
        job("save, durable", WARM_UP, saves(state, DURABLY));
        job("save, durable and atomic", WARM_UP, saves(state, ATOMICALLY));
        job(SAVE_AGAIN, WARM_UP, secondSaves(state));
        release(state);
        job(CONVERT, WARM_UP, conversions());
        openingJob(ONE_ELEMENT, opens());
        job(ONE_ELEMENT + FROM_DISK, Duration.ZERO, evicted(opens()));
        openingJob(ONE_TENSOR, refreshed(oneTensor(), workload.nbytes()));
        job(ONE_TENSOR + FROM_DISK, Duration.ZERO, evicted(refreshed(oneTensor(), workload.nbytes())));
        job(LOAD, WARM_UP, refreshed(loads(), workload.nbytes()));
        job(LOAD + FROM_DISK, Duration.ZERO, evicted(refreshed(loads(), workload.nbytes())));
        job(TOUCH, WARM_UP, touches());
        job(TOUCH + FROM_DISK, Duration.ZERO, evicted(touches()));
        end();
        limits();
    }

    /// Only one process has the tensors in memory at a time, and files are read from the disk: the cache has no space
    /// for all of them. What the others take for a save is also what they take for the second one.
    private void measureLarge(Workload made) throws IOException {
        prepare(made, true);
        Timings plain = time(Duration.ZERO, peerSaves(""));
        Timings durable = time(Duration.ZERO, peerSaves(DURABLY));
        bench.python().ask("forget");
        Map<String, Tensor> state = state();
        begin();
        Timings ours = time(Duration.ZERO, ourSaves(state));
        report("save, others not durable", ours.and(plain));
        report("save, durable", ours.and(durable));
        report(SAVE_AGAIN, time(Duration.ZERO, List.of(ourSecondSave(state))).and(durable));
        release(state);
        bench.python().ask("settle", bench.file("made.croft"), bench.file("snapshots.croft"));
        job(CONVERT, Duration.ZERO, conversions());
        openingJob(ONE_ELEMENT, opens());
        job(ONE_ELEMENT + FROM_DISK, Duration.ZERO, evicted(opens()));
        long oneTensor = made.nbytes() / made.count();
        openingJob(ONE_TENSOR, refreshed(oneTensor(), oneTensor));
        job(ONE_TENSOR + FROM_DISK, Duration.ZERO, evicted(refreshed(oneTensor(), oneTensor)));
        job(LOAD + FROM_DISK, Duration.ZERO, evicted(loads()));
        job(TOUCH + FROM_DISK, Duration.ZERO, evicted(touches()));
        end();
        limits();
    }

    private void measureTensors(Workload made) throws IOException {
        prepare(made, true);
        begin();
        Map<String, Tensor> state = state();
        job("save, durable", SHORT_SAVES, saves(state, DURABLY));
        job("save, durable and atomic", SHORT_SAVES, saves(state, ATOMICALLY));
        job(SAVE_AGAIN, SHORT_SAVES, secondSaves(state));
        release(state);
        job(CONVERT, SHORT_SAVES, conversions());
        openingJob(ONE_ELEMENT, opens());
        openingJob(ONE_TENSOR, oneTensor());
        openingJob(NAMES, names());
        job(LOAD, WARM_UP, loads());
        end();
    }

    /// NumPy takes minutes for a million arrays, each a file in a zip archive, and is left out. PyTorch takes a minute
    /// to open the file, whatever is read of it, so that is measured once. The others save again what they saved
    /// before.
    private void measureMost(Workload made) throws IOException {
        prepare(made, false);
        begin();
        Map<String, Tensor> state = state();
        Timings saved = time(WARM_UP, without(saves(state, DURABLY), NUMPY));
        report("save, durable", saved);
        report(SAVE_AGAIN, time(WARM_UP, List.of(ourSecondSave(state))).and(saved.only(TORCH, SAFETENSORS)));
        release(state);
        Timings opened = time(WARM_UP, without(opens(), NUMPY));
        report(ONE_ELEMENT, opened);
        Timings torch = opened.only(TORCH);
        report(ONE_TENSOR, time(WARM_UP, without(oneTensor(), NUMPY, TORCH)).and(torch));
        report(NAMES, time(WARM_UP, without(names(), NUMPY, TORCH)).and(torch));
        job(LOAD, WARM_UP, without(loads(), NUMPY));
        job(CONVERT, WARM_UP, conversions());
        end();
    }

    private static List<Contender> without(List<Contender> contenders, String... names) {
        return contenders.stream().filter(contender -> !List.of(names).contains(contender.name())).toList();
    }

    private void limits() throws IOException {
        Timings limits = new MachineLimits(bench, workload.nbytes()).measure();
        tables.append("| limits of the machine for ").append(workload.nbytes() >> 20)
                .append(" MiB, one thread | time | rate |\n|---|---|---|\n");
        for (String limit : limits.contenders()) {
            double seconds = limits.of(limit).median();
            bench.add(limits.millis(workload.what() + ", limit, ", limit));
            tables.append("| ").append(limit).append(" | ").append(Timings.shown(seconds))
                    .append(String.format(Locale.ROOT, " | %.3g GiB/s |%n", workload.nbytes() / 0x1p30 / seconds));
        }
        tables.append('\n');
    }

    // ---- several processes ----

    /// What several processes with one file take of the memory: the growth of the sum of their proportional set sizes.
    private void measureProcesses(Workload made) throws IOException {
        prepare(made, false);
        bench.python().ask("forget");
        Bench.convert(pt, croft);
        tables.append("| ").append(PROCESSES).append(" processes read all of ").append(workload.what())
                .append(" | growth of PSS, all together | copies |\n|---|---|---|\n");
        memory("Undercroft, Checkpoint.open", Peer::jvm, "map", croft);
        memory("Undercroft, Checkpoint.open of .safetensors", Peer::jvm, "map", safetensors);
        memory("PyTorch, torch.load(mmap=True)", bench.python()::another, "keep_torch_mmap", pt);
        memory("safetensors, safe_open", bench.python()::another, "keep_safe_open", safetensors);
        memory("Undercroft, OpenOptions.inMemory", Peer::jvm, "load", croft);
        memory("PyTorch, torch.load", bench.python()::another, "keep_torch", pt);
        memory("safetensors, load_file, cloned", bench.python()::another, "keep_safetensors_clones", safetensors);
        tables.append('\n');
        bench.python().ask("settle", croft, pt, safetensors);
    }

    private void memory(String what, Peer.Group.Starting starting, String request, Path file) throws IOException {
        long growth;
        try (Peer.Group processes = new Peer.Group(PROCESSES, starting)) {
            growth = processes.growth(request, file);
        }
        double copies = (double) growth / workload.nbytes();
        bench.add(Figure.of(PROCESSES + " processes, " + workload.what() + ", growth of PSS: " + what, copies,
                "copies"));
        tables.append("| ").append(what).append(String.format(Locale.ROOT, " | %d MiB | %.2f |%n", growth >> 20,
                copies));
    }

    // ---- contenders ----

    private static List<Contender> refreshed(List<Contender> contenders, long nbytes) {
        return contenders.stream().map(contender -> contender.refreshed(nbytes)).toList();
    }

    /// The same after removing the files of all contenders from the page cache. The pages that the files had may then
    /// go to the host of the machine, and the contender needs as many again, and memory for the tensors: both are
    /// touched before, so that none has to wait for the host.
    private List<Contender> evicted(List<Contender> contenders) {
        long available = AnonymousMemory.available().orElse(Long.MAX_VALUE);
        long touched = Math.min(2 * workload.nbytes(), available / 4 * 3);
        return refreshed(contenders, touched).stream().map(contender -> contender
                .after(() -> bench.python().ask("evict", croft, pt, safetensors, npz))).toList();
    }

    private List<Contender> saves(Map<String, Tensor> state, String durably) {
        return Stream.concat(ourSaves(state).stream(), peerSaves(durably).stream()).toList();
    }

    private List<Contender> ourSaves(Map<String, Tensor> state) {
        return List.of(
                bench.writing(OURS, bench.file("made.croft"), nbytes(state), path -> Checkpoint.save(path, state)),
                bench.writing(OURS_SAFETENSORS, bench.file("made.safetensors"), nbytes(state),
                        path -> Checkpoint.save(path, state)));
    }

    private List<Contender> peerSaves(String durably) {
        Peer python = bench.python();
        return List.of(python.contender(TORCH, "torch_save" + durably, bench.file("made.pt")),
                python.contender(SAFETENSORS, "safetensors_save" + (durably.isEmpty() ? "_file" : durably),
                        bench.file("made.safetensors")),
                python.contender(NUMPY, "numpy_savez" + durably, bench.file("made.npz")));
    }

    /// The other libraries save everything again, since none of them can append.
    private List<Contender> secondSaves(Map<String, Tensor> state) throws IOException {
        return Stream.concat(Stream.of(ourSecondSave(state)), peerSaves(DURABLY).stream()).toList();
    }

    /// Commits to a file that stays open, as a training run does.
    private Contender ourSecondSave(Map<String, Tensor> state) throws IOException {
        Path path = bench.file("snapshots.croft");
        Checkpoint.save(path, state);
        CroftFile file = CroftFile.open(path);
        List<Storage> changing = state.values().stream().limit(Math.max(1, state.size() / CHANGED))
                .map(Tensor::storage).toList();
        return Contender.of(OURS, nbytes(state), () -> file.commit(state, SaveOptions.defaults())).after(() -> {
            changing.forEach(storage -> storage.fill((byte) (storage.get(0) + 1)));
            bench.python().ask("settle");
        });
    }

    private List<Contender> conversions() {
        Path made = bench.file("made.safetensors");
        return List.of(bench.writing(OURS, made, 0, path -> Bench.convert(pt, path)),
                bench.python().contender(TORCH, "torch_to_safetensors", pt, made));
    }

    private List<Contender> opens() {
        String tensor = workload.someName();
        return contenders((name, file) -> Contender.opening(name, file, tensor), "torch_load_mmap",
                "safetensors_safe_open", "numpy_element", tensor);
    }

    /// By [Checkpoint#rows], which reads a part of a tensor into memory, here all of its rows.
    private List<Contender> oneTensor() {
        String tensor = workload.someName();
        return contenders((name, file) -> new Contender(name, () -> {
            long start = System.nanoTime();
            try (Checkpoint checkpoint = Checkpoint.open(file)) {
                Tensor copy = checkpoint.rows(tensor, 0, checkpoint.tensor(tensor).size(0));
                double seconds = (System.nanoTime() - start) / 1e9;
                double witness = witness(sum(copy.bytes(), Integer.BYTES));
                copy.storage().release();
                return new Contender.Outcome(seconds, witness);
            }
        }), "torch_one", "safetensors_one", "numpy_one", tensor);
    }

    private List<Contender> names() {
        return contenders((name, file) -> new Contender(name, () -> {
            long start = System.nanoTime();
            try (Checkpoint checkpoint = Checkpoint.open(file)) {
                return Contender.Outcome.since(start,
                        checkpoint.names().stream().mapToInt(String::length).sum());
            }
        }), "torch_names", "safetensors_names", "numpy_names");
    }

    private List<Contender> loads() {
        return contenders((name, file) -> new Contender(name, () -> {
            long start = System.nanoTime();
            try (Checkpoint checkpoint = Checkpoint.open(file, OpenOptions.defaults().inMemory())) {
                double seconds = (System.nanoTime() - start) / 1e9;
                return new Contender.Outcome(seconds, sum(checkpoint, Integer.BYTES));
            }
        }), "torch_load_all_fresh", "safetensors_load_all_fresh", "numpy_load_all_fresh");
    }

    /// NumPy maps no archives.
    private List<Contender> touches() {
        return without(contenders((name, file) -> new Contender(name, () -> {
            long start = System.nanoTime();
            try (Checkpoint checkpoint = Checkpoint.open(file)) {
                return Contender.Outcome.since(start, sum(checkpoint, PAGE));
            }
        }), "torch_touch", "safetensors_touch", ""), NUMPY);
    }

    /// {@return our two formats and the three peers, in the order of the columns}
    ///
    /// @param ours makes a contender with a name that reads one of our files
    /// @param torch the function of the peer
    /// @param safe the function of the peer
    /// @param numpy the function of the peer
    /// @param arguments what the functions take besides their files
    private List<Contender> contenders(BiFunction<String, Path, Contender> ours, String torch, String safe,
            String numpy, String... arguments) {
        return List.of(ours.apply(OURS, croft), ours.apply(OURS_SAFETENSORS, safetensors),
                peer(TORCH, torch, pt, arguments), peer(SAFETENSORS, safe, safetensors, arguments),
                peer(NUMPY, numpy, npz, arguments));
    }

    private Contender peer(String column, String function, Path file, String... arguments) {
        return bench.python().contender(column,
                Stream.concat(Stream.of(function, file), Stream.of(arguments)).toArray());
    }

    private static long nbytes(Map<String, Tensor> state) {
        return state.values().stream().mapToLong(Tensor::nbytes).sum();
    }

    /// Returns the sum of the words of all tensors that are a distance apart, as `all_read` and `touched` in Python.
    private static double sum(Checkpoint checkpoint, int distance) {
        return witness(checkpoint.tensors().values().stream().mapToLong(tensor -> sum(tensor.bytes(), distance))
                .sum());
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

    // ---- rounds and rows ----

    private Timings time(Duration warmUp, List<Contender> contenders) throws IOException {
        return Rounds.bounded(warmUp, bench.rounds()).time(contenders);
    }

    private void job(String what, Duration warmUp, List<Contender> contenders) throws IOException {
        report(what, time(warmUp, contenders));
    }

    private void openingJob(String what, List<Contender> contenders) throws IOException {
        report(what, Rounds.bounded(WARM_UP, Math.max(bench.rounds(), ROUNDS_OF_OPENS)).time(contenders));
    }

    private void report(String what, Timings timings) throws IOException {
        String job = workload.what() + ", " + what + ": ";
        List<String> present = timings.contenders();
        List<String> others = PEERS.stream().filter(present::contains).toList();
        present.forEach(contender -> bench.add(timings.millis(job, contender)));
        others.forEach(other -> bench.add(timings.compared(job, OURS, other)));
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
