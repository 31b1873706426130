package io.undercroft.benchmarks;

import io.undercroft.format.internal.ExtentDigester;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;

/// A second snapshot of a state of which one chunk in a hundred has changed: how much is written, and how fast the rest
/// is recognised. Besides it, in the same run, what the parts of the work cost: copying and summing the same bytes.
final class DeltaBenchmark {
    private static final long CHUNK = 1 << 20;
    private static final double CHANGED = 0.01;
    private static final int WARM_UP = 3;
    private static final String APPEND = "append, durable";
    private static final String MAPPED = "append, durable, of storages that are mapped from the file";
    private static final String UNCHANGED = "append, durable, of these without a change";
    private static final String COPYING = "copying the same bytes out of memory";
    private static final String SUMMING = "summing the same bytes up (CRC32C and XXH3)";

    private final Bench bench;
    private final RandomGenerator random = RandomGeneratorFactory.of("L64X128MixRandom").create(7);

    private DeltaBenchmark(Bench bench) {
        this.bench = bench;
    }

    static void run(Bench bench) throws IOException {
        new DeltaBenchmark(bench).measure();
    }

    private void measure() throws IOException {
        int tensors = bench.choose(64, 8);
        Map<String, Tensor> state = state(tensors, 16 * CHUNK);
        Path path = bench.file("delta.croft");
        Checkpoint.save(path, state);
        Path mappedPath = bench.file("mapped.croft");
        Checkpoint.save(mappedPath, state);
        double payload = tensors * 16.0 * CHUNK;
        for (int round = 0; round < WARM_UP; round++) {
            change(state);
            CroftFile.open(path).commit(state, SaveOptions.defaults());
            timeMapped(mappedPath, true);
        }
        Notes notes = new Notes();
        for (int round = 0; round < bench.rounds(); round++) {
            long changed = change(state);
            bench.python().ask("settle");
            long before = Files.size(path);
            long start = System.nanoTime();
            DedupReport report = CroftFile.open(path).commit(state, SaveOptions.defaults());
            notes.add(APPEND, Contender.since(start));
            long written = Files.size(path) - before;
            notes.add("written", (double) written);
            notes.add("share", 100.0 * (written - report.index()) / payload);
            if (report.written() != changed) {
                throw new IllegalStateException(report.written() + " bytes were written, and " + changed + " changed");
            }
            notes.add(SUMMING, timeSumming(state));
            notes.add(COPYING, timeCopying(state));
            notes.add(MAPPED, timeMapped(mappedPath, true));
            notes.add(UNCHANGED, timeMapped(mappedPath, false));
        }
        bench.add(Figure.count("payload in bytes", (long) payload));
        bench.add(Figure.of("written to the file, index included", notes.of("written"), "bytes"));
        bench.add(Figure.of("of the payload, index not included", notes.of("share"), "%").atMost(1.05));
        bench.add(Figure.of(APPEND, notes.of(APPEND), "s"));
        bench.add(rate(APPEND, notes, payload).atLeast(5));
        bench.add(Figure.of(MAPPED, notes.of(MAPPED), "s"));
        bench.add(Figure.of(UNCHANGED, notes.of(UNCHANGED), "s"));
        bench.add(Figure.of("append from memory compared with one of mapped storages",
                notes.of(APPEND).over(notes.of(MAPPED)), "x"));
        bench.add(rate(COPYING, notes, payload));
        bench.add(rate(SUMMING, notes, payload));
    }

    private static Figure rate(String what, Notes seconds, double nbytes) {
        return Figure.of(what, seconds.of(what).map(s -> nbytes / s / 1e9), "GB/s");
    }

    private Map<String, Tensor> state(int tensors, long nbytes) {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int number = 0; number < tensors; number++) {
            Tensor tensor = Tensor.zeros(DType.INT64, nbytes / Long.BYTES);
            MemorySegment bytes = tensor.storage().segment();
            for (long at = 0; at < nbytes; at += Long.BYTES) {
                bytes.set(ValueLayout.JAVA_LONG, at, random.nextLong());
            }
            state.put("layer." + number, tensor);
        }
        return state;
    }

    /// Changes one byte in one chunk of a hundred; returns how many bytes these chunks have.
    private long change(Map<String, Tensor> state) {
        List<Storage> storages = state.values().stream().map(Tensor::storage).toList();
        long chunks = storages.size() * 16L;
        long count = Math.max(1, (long) (chunks * CHANGED));
        random.longs(0, chunks).distinct().limit(count).forEach(chunk -> {
            Storage storage = storages.get((int) (chunk / 16));
            long at = chunk % 16 * CHUNK + random.nextLong(CHUNK);
            storage.set(at, (byte) (storage.get(at) + 1));
        });
        return count * CHUNK;
    }

    /// Opens the newest snapshot copy-on-write, and commits it to the same file. Opening does not count.
    private double timeMapped(Path path, boolean isChanged) throws IOException {
        try (Checkpoint newest = Checkpoint.open(path)) {
            Map<String, Tensor> state = new LinkedHashMap<>();
            newest.names().forEach(name -> state.put(name, newest.tensor(name)));
            if (isChanged) {
                change(state);
            }
            bench.python().ask("settle");
            long start = System.nanoTime();
            CroftFile.open(path).commit(state, SaveOptions.defaults());
            return Contender.since(start);
        }
    }

    private static double timeSumming(Map<String, Tensor> state) {
        ExtentDigester digester = new ExtentDigester();
        long start = System.nanoTime();
        for (Tensor tensor : state.values()) {
            digester.update(tensor.storage().segment());
            digester.finish();
        }
        return Contender.since(start);
    }

    private static double timeCopying(Map<String, Tensor> state) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(CHUNK);
            long start = System.nanoTime();
            for (Tensor tensor : state.values()) {
                MemorySegment bytes = tensor.storage().segment();
                for (long at = 0; at < bytes.byteSize(); at += CHUNK) {
                    MemorySegment.copy(bytes, at, buffer, 0, CHUNK);
                }
            }
            return Contender.since(start);
        }
    }
}
