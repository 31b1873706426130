package io.undercroft.cli.internal.cuda;

import static io.undercroft.cuda.internal.DeviceChecks.require;

import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.cuda.CudaDevice;
import io.undercroft.cuda.CudaException;
import io.undercroft.cuda.internal.RandomBytes;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.StorageCopier;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CancellationException;

/// Measures how fast bytes go between files, the host and a device. All that is compared runs in turn, in the same
/// rounds.
final class Rates {
    private static final int ROUNDS = 5;
    private static final double GIB = 1L << 30;
    private static final long TENSOR_BYTES = 64 << 20;
    private static final long PINNED_BYTES = 1L << 30;
    private static final long PROBE_BYTES = 256 << 20;
    /// The number of files that are loaded.
    private static final int FILES = 4;

    private static final String TO_DEVICE = "pinned memory to device";
    private static final String TO_HOST = "device to pinned memory";
    private static final String COLD = "model.croft to device, not in the page cache";
    private static final String SAVE = "device to a .croft file";
    private static final String DISK = "plain write past the page cache";
    /// Takes as long as the disk needs, so it is not run before the rounds.
    private static final Set<String> OF_THE_DISK = Set.of(COLD, SAVE, DISK);
    private static final String TORCH = "torch.load(map_location='cuda')";
    private static final String TORCH_MAPPED = "torch.load(mmap=True), then to('cuda')";
    private static final String SAFETENSORS = "safetensors load_file(device='cuda')";

    private final FigureList figures;
    private final CudaDevice device;
    private final Device target;
    private final Path directory;
    private final PythonPeer peer;
    private final TextOutput out;
    private final CudaCheck.TimeLimit time;
    private int tensors;
    private long size;
    private boolean hasFailed;
    private final Map<String, Contender> contenders = new LinkedHashMap<>();
    private final Map<String, List<Double>> rates = new LinkedHashMap<>();

    /// Prepares measurements.
    ///
    /// @param figures the list of results
    /// @param device the device
    /// @param directory the directory for files
    /// @param peer the peer to compare with
    /// @param out the output for progress
    /// @param time the time after which no further round is begun
    Rates(FigureList figures, CudaDevice device, Path directory, PythonPeer peer, TextOutput out,
            CudaCheck.TimeLimit time) {
        this.figures = figures;
        this.device = device;
        this.target = device.device();
        this.directory = directory;
        this.peer = peer;
        this.out = out;
        this.time = time;
    }

    /// Something that is measured.
    @FunctionalInterface
    private interface Contender {
        /// Does it once.
        ///
        /// @return GiB per second; what has to be prepared or cleaned up is not counted
        double run() throws IOException;
    }

    /// Measures everything.
    ///
    /// @param wanted the approximate size of a file in bytes; files are smaller if writing them would take too long
    /// @param sweeps whether loads with other numbers of threads and buffers are measured too, before the rounds, which
    ///     take the remaining time
    /// @throws IOException if the files cannot be written
    void run(long wanted, boolean sweeps) throws IOException {
        figures.environment("peers", peer.description());
        long most = Math.min(wanted, affordable(wanted));
        tensors = (int) Math.ceilDiv(most, TENSOR_BYTES);
        size = most / tensors / Float.BYTES * Float.BYTES * tensors;
        figures.environment("size", Text.bytes(size) + (most < wanted
                ? " instead of " + Text.bytes(wanted) + ", since the disk is slow and the time is limited"
                : ""));
        if (device.freeMemory() < 3 * size) {
            figures.omit("rates", "3 times the size of a file has to be free on the device; choose less with --gib");
            return;
        }
        out.line("measuring up to %d rounds with files of %.2f GiB ...".formatted(ROUNDS, size / GIB));
        out.flush();
        Path croft = directory.resolve("model.croft");
        Path torch = directory.resolve("model.pt");
        Path safetensors = directory.resolve("model.safetensors");
        Path cold = directory.resolve("cold.croft");
        Map<String, Tensor> there = prepare(List.of(croft, cold, torch, safetensors));
        if (sweeps) {
            PageCache.fill(croft);
            new Sweep(figures, target, croft, out, time).run(options -> load(croft, options));
        }
        Storage pinned = pinned();
        Storage onDevice = pinned.to(target);
        try {
            contenders.put(TO_DEVICE, () -> rate(pinned.nbytes(), () -> onDevice.copyFrom(pinned)));
            contenders.put(TO_HOST, () -> rate(pinned.nbytes(), () -> pinned.copyFrom(onDevice)));
            for (Path file : List.of(croft, torch, safetensors)) {
                contenders.put(cached(file), () -> {
                    PageCache.fill(file);
                    return load(file);
                });
            }
            contenders.put(COLD, () -> {
                PageCache.empty(cold);
                return load(cold);
            });
            contenders.put(SAVE, () -> write(file -> {
                Checkpoint.save(file, there);
                return size;
            }));
            contenders.put(DISK, () -> write(file -> PlainWrite.run(file, size)));
            addPeer(TORCH, "load", torch);
            addPeer(TORCH_MAPPED, "load_mapped", torch);
            addPeer(SAFETENSORS, "load_safetensors", safetensors);
            measure();
        } finally {
            pinned.release();
            onDevice.release();
            there.values().forEach(tensor -> tensor.storage().release());
        }
        report(croft, torch, safetensors);
    }

    /// {@return whether a call of the driver has failed}
    boolean hasFailed() {
        return hasFailed;
    }

    /// Returns the size with which all files can be written in a third of the remaining time.
    private long affordable(long wanted) throws IOException {
        Path file = directory.resolve("probe.bin");
        long start = System.nanoTime();
        try {
            long nbytes = PlainWrite.run(file, Math.min(wanted, PROBE_BYTES));
            return Math.max(PROBE_BYTES, (long) (nbytes / seconds(start) * time.secondsLeft() / 3 / FILES));
        } finally {
            Files.deleteIfExists(file);
        }
    }

    private static String cached(Path file) {
        return file.getFileName() + " to device, in the page cache";
    }

    /// Writes the files, and returns the tensors on the device.
    private Map<String, Tensor> prepare(List<Path> files) throws IOException {
        RandomBytes random = new RandomBytes();
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < tensors; i++) {
            state.put("layer." + i, random.tensor(DType.FLOAT32, size / tensors / Float.BYTES));
        }
        for (Path file : files) {
            Checkpoint.save(file, state);
        }
        StorageCopier copy = StorageCopier.to(target);
        Map<String, Tensor> there = new LinkedHashMap<>();
        state.forEach((name, tensor) -> there.put(name, copy.copy(tensor)));
        return there;
    }

    private Storage pinned() {
        Storage small = Storage.allocate(1).pinMemory();
        Allocator allocator = small.allocator().orElseThrow();
        small.release();
        return new RandomBytes().storage(Math.min(size, PINNED_BYTES), allocator);
    }

    private void addPeer(String what, String how, Path file) {
        if (!peer.isAvailable()) {
            figures.omit(what, peer.description());
            return;
        }
        contenders.put(what, () -> {
            PageCache.fill(file);
            return size / GIB / peer.seconds(how, file, size).orElseThrow();
        });
    }

    private static double rate(long nbytes, Runnable copy) {
        long start = System.nanoTime();
        copy.run();
        return nbytes / GIB / seconds(start);
    }

    private static double seconds(long start) {
        return (System.nanoTime() - start) / 1e9;
    }

    private double load(Path file) throws IOException {
        return load(file, OpenOptions.defaults());
    }

    private double load(Path file, OpenOptions defaults) throws IOException {
        OpenOptions options = defaults.devices(_ -> target).inMemory();
        long start = System.nanoTime();
        try (Checkpoint checkpoint = Checkpoint.open(file, options)) {
            double rate = size / GIB / seconds(start);
            List<Storage> storages = checkpoint.storages();
            boolean isThere = storages.stream().allMatch(storage -> storage.device().equals(target));
            long loaded = storages.stream().mapToLong(Storage::nbytes).sum();
            storages.forEach(Storage::release);
            require(isThere && loaded == size, "%d bytes of %d were loaded".formatted(loaded, size));
            return rate;
        }
    }

    private interface Writing {
        /// Writes a file.
        ///
        /// @return the number of bytes
        long to(Path file) throws IOException;
    }

    private double write(Writing writing) throws IOException {
        Path file = directory.resolve("written.croft");
        long start = System.nanoTime();
        try {
            long nbytes = writing.to(file);
            return nbytes / GIB / seconds(start);
        } finally {
            Files.deleteIfExists(file);
        }
    }

    /// Runs each contender once uncounted and then in each round; each round begins with the next one. Rounds end early
    /// if another one would take longer than the remaining time.
    private void measure() {
        double longest = 0;
        for (int round = -1; round < ROUNDS && (round < 1 || longest < time.secondsLeft()); round++) {
            long start = System.nanoTime();
            List<String> turns = new ArrayList<>(contenders.keySet());
            for (int turn = 0; turn < turns.size(); turn++) {
                String what = turns.get((round + 1 + turn) % turns.size());
                if (round >= 0 || !OF_THE_DISK.contains(what)) {
                    measure(what, round);
                }
            }
            longest = Math.max(longest, seconds(start));
        }
    }

    private void measure(String what, int round) {
        try {
            // This keeps the buffers of the ring, which are freed after some time without copies.
            Storage.copyOf((byte) 1).to(target).release();
            double rate = Objects.requireNonNull(contenders.get(what)).run();
            if (round >= 0) {
                rates.computeIfAbsent(what, _ -> new ArrayList<>()).add(rate);
                out.line("round %d: %-55s %8.2f GiB/s".formatted(round + 1, what, rate));
                out.flush();
            }
        } catch (IOException | RuntimeException e) {
            hasFailed |= e instanceof CudaException;
            figures.omit(what, CheckList.problem(e));
            contenders.remove(what);
            rates.remove(what);
            if (Thread.currentThread().isInterrupted()) {
                throw new CancellationException("the measurement was interrupted");
            }
        }
    }

    private void report(Path croft, Path torch, Path safetensors) {
        rates.forEach((what, samples) -> figures.add(FigureList.Figure.of(what, samples, "GiB/s")));
        for (Path file : List.of(croft, torch, safetensors)) {
            ratio(cached(file), TO_DEVICE, 0.85);
        }
        ratio(COLD, TO_DEVICE, Double.NaN);
        ratio(SAVE, DISK, 0.8);
        ratio(cached(torch), TORCH, 3);
        ratio(cached(torch), TORCH_MAPPED, Double.NaN);
        ratio(cached(safetensors), SAFETENSORS, 1.5);
    }

    private void ratio(String what, String other, double target) {
        List<Double> samples = rates.get(what);
        List<Double> others = rates.get(other);
        if (samples != null && others != null) {
            FigureList.Figure figure = FigureList.Figure.ratio(what + " / " + other, samples, others);
            figures.add(Double.isNaN(target) ? figure : figure.atLeast(target));
        }
    }
}
