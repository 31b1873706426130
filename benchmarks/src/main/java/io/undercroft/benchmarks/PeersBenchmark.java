package io.undercroft.benchmarks;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// Frequent operations on checkpoints by this library, PyTorch, safetensors and NumPy, each with files of its own
/// format and its fastest call: with the same tensors, in turn, in one run. Loads are measured with the files in the
/// page cache and with the files read from the disk. Writes tables in Markdown and a chart as SVG. Below the tables of
/// sizes are the limits of the machine, measured in the same run.
final class PeersBenchmark {
    private static final String OURS = SafetensorsPeer.UNDERCROFT;
    private static final String OURS_SAFETENSORS = "Undercroft, .safetensors";
    private static final String TORCH = "PyTorch";
    private static final String SAFETENSORS = "safetensors";
    private static final String NUMPY = "NumPy";
    private static final List<String> PEERS = List.of(TORCH, SAFETENSORS, NUMPY);
    private static final List<String> JVM_PEERS = List.of(SafetensorsPeer.BY_HAND, SafetensorsPeer.JLAMA,
            SafetensorsPeer.DJL);
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
    private static final String SAVE = "save, durable";
    private static final String SAVE_ATOMIC = "save, durable and atomic";
    private static final String SAVE_PLAIN = "save, not durable";
    private static final String SAVE_AGAIN = "save again, 1 % changed, durable";
    private static final String CONVERT = "convert .pt to .safetensors, durable";
    private static final String ONE_ELEMENT = "open, one element";
    private static final String ONE_TENSOR = "open, one tensor";
    private static final String NAMES = "open, the names of all tensors";
    private static final String LOAD = "load all into memory";
    private static final String TOUCH = "map all, read from each page";
    private static final String ELEMENTS = "open, one tensor as float[]";
    private static final String ALL_BYTES = "open, read all bytes of all tensors";
    private static final String FROM_DISK = ", from the disk";
    private static final Workload SMALL = new Workload("16 MiB in 256 tensors", 256, 128, 128);
    private static final Workload FEW = new Workload("10 tensors of 32 bytes", 10, 2, 4);
    /// The rates to reach, compared with each other library.
    private static final Map<String, Double> AIMS = Map.of(
            row(SMALL, SAVE_PLAIN), 1.0,
            row(SMALL, TOUCH + FROM_DISK), 1.1,
            row(Workload.LARGE, LOAD), 1.2,
            row(Workload.LARGE, ONE_TENSOR), 1.3,
            row(FEW, SAVE_AGAIN), 0.9,
            row(Workload.LARGE, NAMES), 1.0,
            row(Workload.LARGE, ELEMENTS), 1.0,
            row(Workload.LARGE, ALL_BYTES), 1.0);
    /// The cases by their names, as `--case` takes them: three sizes in 256 tensors, three numbers of tensors of 32
    /// bytes, several processes with one file, and libraries for the JVM.
    static final List<String> CASES = List.of("small", "medium", "large", "few", "many", "most", "processes", "jvm");
    /// The cases that need minutes, and 40 GiB of the disk or of patience, are measured on request, and libraries for
    /// the JVM.
    private static final List<String> USUAL = List.of("small", "medium", "few", "many", "processes");
    private static final List<String> QUICK = List.of("small");
    private static final int PROCESSES = 4;

    private final Bench bench;
    private final StringBuilder tables = new StringBuilder();
    private final List<DotChart> charts = new ArrayList<>();
    private final Peer python;
    private final Path npz;
    /// The tensors of the case that is measured, their names in the report, the others that take part, and its chart.
    private Workload workload = Workload.LARGE;
    private List<String> peers = PEERS;
    private DotChart chart = new DotChart("", 0);

    private PeersBenchmark(Bench bench) {
        this.bench = bench;
        this.python = bench.python();
        this.npz = bench.file("model.npz");
    }

    static void run(Bench bench) throws IOException {
        PeersBenchmark benchmark = new PeersBenchmark(bench);
        for (String name : bench.only().isEmpty() ? bench.choose(USUAL, QUICK) : List.of(bench.only())) {
            switch (name) {
                case "small" -> benchmark.measureBytes(SMALL);
                case "medium" -> benchmark.measureBytes(Workload.LARGE);
                case "large" -> benchmark.measureLarge(new Workload("8 GiB in 256 tensors", 256, 2048, 4096));
                case "few" -> benchmark.measureTensors(FEW);
                case "many" -> benchmark.measureTensors(new Workload("10 000 tensors of 32 bytes", 10_000, 2, 4));
                case "most" -> benchmark.measureMost(new Workload("1 000 000 tensors of 32 bytes", 1_000_000, 2, 4));
                case "jvm" -> benchmark.measureJvm(Workload.large(bench));
                default -> benchmark.measureProcesses(Workload.large(bench));
            }
            benchmark.write();
        }
    }

    /// What is measured so far; a row may take minutes.
    private void write() throws IOException {
        bench.write("peers", ".md", tables);
        if (!charts.isEmpty()) {
            bench.write("peers", ".svg", DotChart.page(charts));
        }
    }

    private void prepare(Workload made, boolean withNumpy) throws IOException {
        workload = made;
        bench.prepare(made);
        if (withNumpy) {
            python.ask("write_numpy", npz);
        }
    }

    private void begin() {
        chart = new DotChart(workload.what(), peers.size() + 1);
        table(Stream.of(List.of(workload.what()), columns(), List.of("compared with the fastest other"))
                .flatMap(List::stream).toArray(String[]::new));
    }

    private List<String> columns() {
        List<String> ours = peers.equals(PEERS) ? List.of(OURS, OURS_SAFETENSORS) : List.of(OURS);
        return Stream.concat(ours.stream(), peers.stream()).toList();
    }

    private void table(String... titles) {
        tables.append(Bench.row(List.of(titles))).append("|---".repeat(titles.length)).append("|\n");
    }

    private void end() throws IOException {
        tables.append('\n');
        charts.add(chart);
        bench.settleAll(npz);
    }

    private Map<String, Tensor> state() throws IOException {
        Map<String, Tensor> state = Bench.copyToMemory(bench.pt());
        Checkpoint.save(bench.croft(), state);
        return state;
    }

    private void release(Map<String, Tensor> state) throws IOException {
        Bench.release(state);
        python.ask("forget");
    }

    private void measureBytes(Workload made) throws IOException {
        prepare(made, true);
        Map<String, Tensor> state = state();
        begin();
        job(SAVE_PLAIN, WARM_UP, saves(state, ""));
        job(SAVE, WARM_UP, saves(state, DURABLY));
        job(SAVE_ATOMIC, WARM_UP, saves(state, ATOMICALLY));
        job(SAVE_AGAIN, WARM_UP, secondSaves(state));
        release(state);
        job(CONVERT, WARM_UP, conversions());
        readings(workload.nbytes());
        job(LOAD, WARM_UP, refreshed(loads(), workload.nbytes()));
        fromDisk(LOAD, refreshed(loads(), workload.nbytes()));
        job(TOUCH, WARM_UP, touches());
        fromDisk(TOUCH, touches());
        end();
        limits();
    }

    /// @param fresh how much memory is touched before one tensor is read
    private void readings(long fresh) throws IOException {
        openingJob(ONE_ELEMENT, opens());
        fromDisk(ONE_ELEMENT, opens());
        openingJob(ONE_TENSOR, refreshed(oneTensor(), fresh));
        fromDisk(ONE_TENSOR, refreshed(oneTensor(), fresh));
    }

    /// Only one process has the tensors in memory at a time, and files are read from the disk: the cache has no space
    /// for all of them. What the others take for a save is also what they take for the second one.
    private void measureLarge(Workload made) throws IOException {
        prepare(made, true);
        Timings plain = time(Duration.ZERO, peerSaves(""));
        Timings durable = time(Duration.ZERO, peerSaves(DURABLY));
        python.ask("forget");
        Map<String, Tensor> state = state();
        begin();
        report(SAVE_PLAIN, time(Duration.ZERO, ourSaves(state, "")).and(plain));
        report(SAVE, time(Duration.ZERO, ourSaves(state, DURABLY)).and(durable));
        report(SAVE_AGAIN, time(Duration.ZERO, List.of(ourSecondSave(state))).and(durable));
        release(state);
        python.ask("settle", bench.file("made.croft"), bench.file("snapshots.croft"));
        job(CONVERT, Duration.ZERO, conversions());
        readings(made.nbytes() / made.count());
        fromDisk(LOAD, loads());
        fromDisk(TOUCH, touches());
        end();
        limits();
    }

    private void measureTensors(Workload made) throws IOException {
        prepare(made, true);
        begin();
        Map<String, Tensor> state = state();
        job(SAVE, SHORT_SAVES, saves(state, DURABLY));
        job(SAVE_ATOMIC, SHORT_SAVES, saves(state, ATOMICALLY));
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
        report(SAVE, saved);
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
        table("limits of the machine for " + (workload.nbytes() >> 20) + " MiB, one thread", "time", "rate");
        for (String limit : limits.contenders()) {
            double seconds = limits.of(limit).median();
            bench.add(limits.millis(workload.what() + ", limit, ", limit));
            tables.append(Bench.row(List.of(limit, Timings.shown(seconds),
                    String.format(Locale.ROOT, "%.3g GiB/s", workload.nbytes() / 0x1p30 / seconds))));
        }
        tables.append('\n');
    }

    // ---- several processes ----

    /// What several processes with one file take of the memory: the growth of the sum of their proportional set sizes.
    private void measureProcesses(Workload made) throws IOException {
        workload = made;
        bench.prepareAll(made);
        table(PROCESSES + " processes read all of " + made.what(), "growth of PSS, all together", "copies");
        memory("Undercroft, Checkpoint.open", Peer::jvm, "map", bench.croft());
        memory("Undercroft, Checkpoint.open of .safetensors", Peer::jvm, "map", bench.safetensors());
        memory("PyTorch, torch.load(mmap=True)", python::another, "keep_torch_mmap", bench.pt());
        memory("safetensors, safe_open", python::another, "keep_safe_open", bench.safetensors());
        memory("Undercroft, OpenOptions.inMemory", Peer::jvm, "load", bench.croft());
        memory("PyTorch, torch.load", python::another, "keep_torch", bench.pt());
        memory("safetensors, load_file, cloned", python::another, "keep_safetensors_clones", bench.safetensors());
        tables.append('\n');
        bench.settleAll();
    }

    private void memory(String what, Peer.Group.Starting starting, String request, Path file) throws IOException {
        long growth;
        try (Peer.Group processes = new Peer.Group(PROCESSES, starting)) {
            growth = processes.growth(request, file);
        }
        double copies = (double) growth / workload.nbytes();
        bench.add(Figure.of(PROCESSES + " processes, " + workload.what() + ", growth of PSS: " + what, copies,
                "copies"));
        tables.append(Bench.row(List.of(what, (growth >> 20) + " MiB", String.format(Locale.ROOT, "%.2f", copies))));
    }

    // ---- libraries for the JVM ----

    /// A `.safetensors` file in the page cache, read by this library, by hand, and by libraries that a program on the
    /// JVM may use instead: each in a JVM of its own with the default heap, which has nothing else to run.
    private void measureJvm(Workload made) throws IOException {
        prepare(made, false);
        python.ask("forget");
        peers = JVM_PEERS;
        begin();
        List<String> flags = List.of("--add-modules=jdk.incubator.vector", "-Dai.djl.offline=true");
        Path libraries = Path.of(System.getProperty("undercroft.repository"), "benchmarks/target/other-libraries");
        String classPath = File.pathSeparator + Files.readString(libraries);
        List<Peer> jvms = new ArrayList<>();
        try {
            for (String library : columns()) {
                jvms.add(Peer.jvm(SafetensorsPeer.class, flags, classPath, library));
            }
            openingJob(NAMES, bench.warmUp(), readers(jvms, "names", bench.safetensors()));
            openingJob(ELEMENTS, bench.warmUp(), readers(jvms, "one", bench.safetensors(), made.someName()));
            job(ALL_BYTES, bench.warmUp(), readers(jvms, "all", bench.safetensors()));
        } finally {
            jvms.forEach(Peer::close);
        }
        end();
    }

    private List<Contender> readers(List<Peer> jvms, Object... request) {
        return IntStream.range(0, jvms.size()).mapToObj(i -> jvms.get(i).contender(columns().get(i), request)).toList();
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
                .after(() -> python.ask("evict", bench.croft(), bench.pt(), bench.safetensors(), npz))).toList();
    }

    private List<Contender> saves(Map<String, Tensor> state, String durably) {
        return Stream.concat(ourSaves(state, durably).stream(), peerSaves(durably).stream()).toList();
    }

    /// Ours are atomic, durable or not.
    private List<Contender> ourSaves(Map<String, Tensor> state, String durably) {
        SaveOptions options = durably.isEmpty() ? SaveOptions.defaults().unforced() : SaveOptions.defaults();
        return List.of(
                bench.writing(OURS, bench.file("made.croft"), nbytes(state),
                        path -> Checkpoint.save(path, state, options)),
                bench.writing(OURS_SAFETENSORS, bench.file("made.safetensors"), nbytes(state),
                        path -> Checkpoint.save(path, state, options)));
    }

    private List<Contender> peerSaves(String durably) {
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
            python.ask("settle");
        });
    }

    private List<Contender> conversions() {
        Path made = bench.file("made.safetensors");
        return List.of(bench.writing(OURS, made, 0, path -> Bench.convert(bench.pt(), path)),
                python.contender(TORCH, "torch_to_safetensors", bench.pt(), made));
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
                double seconds = Contender.since(start);
                double witness = Contender.witness(Contender.sum(copy.bytes(), Integer.BYTES));
                copy.storage().release();
                return new Contender.Outcome(seconds, witness);
            }
        }), "torch_one", "safetensors_one", "numpy_one", tensor);
    }

    private List<Contender> names() {
        return contenders((name, file) -> Contender.opening(name, file,
                checkpoint -> checkpoint.names().stream().mapToInt(String::length).sum()), "torch_names",
                "safetensors_names", "numpy_names");
    }

    private List<Contender> loads() {
        return contenders((name, file) -> Contender.loading(name, file, OpenOptions.defaults()::inMemory),
                "torch_load_all_fresh", "safetensors_load_all_fresh", "numpy_load_all_fresh");
    }

    /// NumPy maps no archives.
    private List<Contender> touches() {
        return without(contenders((name, file) -> Contender.opening(name, file,
                checkpoint -> Contender.sum(checkpoint, PAGE)), "torch_touch", "safetensors_touch", ""), NUMPY);
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
        return List.of(ours.apply(OURS, bench.croft()), ours.apply(OURS_SAFETENSORS, bench.safetensors()),
                peer(TORCH, torch, bench.pt(), arguments), peer(SAFETENSORS, safe, bench.safetensors(), arguments),
                peer(NUMPY, numpy, npz, arguments));
    }

    private Contender peer(String column, String function, Path file, String... arguments) {
        return python.contender(column, Stream.concat(Stream.of(function, file), Stream.of(arguments)).toArray());
    }

    private static long nbytes(Map<String, Tensor> state) {
        return state.values().stream().mapToLong(Tensor::nbytes).sum();
    }

    // ---- rounds and rows ----

    private Timings time(Duration warmUp, List<Contender> contenders) throws IOException {
        return Rounds.bounded(warmUp, bench.rounds()).time(contenders);
    }

    private void job(String what, Duration warmUp, List<Contender> contenders) throws IOException {
        report(what, time(warmUp, contenders));
    }

    private void fromDisk(String what, List<Contender> contenders) throws IOException {
        job(what + FROM_DISK, Duration.ZERO, evicted(contenders));
    }

    private void openingJob(String what, List<Contender> contenders) throws IOException {
        openingJob(what, WARM_UP, contenders);
    }

    private void openingJob(String what, Duration warmUp, List<Contender> contenders) throws IOException {
        report(what, Rounds.bounded(warmUp, Math.max(bench.rounds(), ROUNDS_OF_OPENS)).time(contenders));
    }

    private static String row(Workload workload, String what) {
        return workload.what() + ", " + what;
    }

    private static Figure aimed(String row, Figure compared) {
        Double aim = AIMS.get(row);
        return aim == null ? compared : compared.atLeast(aim);
    }

    private void report(String what, Timings timings) throws IOException {
        String row = row(workload, what);
        String job = row + ": ";
        List<String> present = timings.contenders();
        List<String> others = peers.stream().filter(present::contains).toList();
        present.forEach(contender -> bench.add(timings.millis(job, contender)));
        others.forEach(other -> bench.add(aimed(row, timings.compared(job, OURS, other))));
        String fastest = others.stream().min(Comparator.comparingDouble(other -> timings.of(other).median()))
                .orElseThrow();
        Samples ratio = timings.speedup(OURS, fastest);
        Stream<String> times = columns().stream()
                .map(column -> present.contains(column) ? Timings.shown(timings.of(column).median()) : "");
        String compared = String.format(Locale.ROOT, "%.3g x (%.3g to %.3g)", ratio.median(), ratio.quantile(0.25),
                ratio.quantile(0.75));
        tables.append(Bench.row(Stream.of(Stream.of(what), times, Stream.of(compared)).flatMap(each -> each).toList()));
        chart.row(what);
        for (String column : present) {
            if (!column.equals(OURS_SAFETENSORS)) {
                chart.point(column, column.equals(OURS) ? 0 : 1 + peers.indexOf(column), timings.of(column).median());
            }
        }
        write();
    }
}
