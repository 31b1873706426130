package io.undercroft.benchmarks;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece;
import io.undercroft.storage.Allocation;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/// A storage of 1 GiB whose chunks of 64 KiB lie in a file in no order, no two of them adjacent as in the storage: made
/// one range of addresses, and given back. The same range is copied for comparison. The file is in the page cache.
final class StitchBenchmark {
    private static final int EXTENTS = 16_384;
    private static final int EXTENT_BYTES = 64 << 10;
    private static final String WHAT = EXTENTS + " extents of 64 KiB: ";
    private static final long SEED = 4;
    /// Every so many extents one is read.
    private static final int READ_EVERY = 256;
    private static final double MILLISECONDS = 50;

    private final Bench bench;
    private final List<Integer> order;

    private StitchBenchmark(Bench bench) {
        this.bench = bench;
        this.order = new ArrayList<>(IntStream.range(0, EXTENTS).boxed().toList());
        Collections.shuffle(order, new Random(SEED));
    }

    static void run(Bench bench) throws IOException {
        new StitchBenchmark(bench).measure();
    }

    private void measure() throws IOException {
        Path path = bench.file("scattered");
        write(path);
        MapBudget enough = new MapBudget();
        MapBudget none = new MapBudget(0);
        double first = stitch(path, enough).made.seconds();
        Timings timings = bench.time(List.of(new Contender("map", () -> stitch(path, enough).made),
                new Contender("unmap", () -> stitch(path, enough).freed),
                new Contender("copy", () -> stitch(path, none).made),
                new Contender("free the copy", () -> stitch(path, none).freed)));
        for (String contender : timings.contenders()) {
            Figure figure = timings.millis(WHAT, contender);
            bench.add(contender.equals("map") ? figure.atMost(MILLISECONDS) : figure);
        }
        bench.add(Figure.of(WHAT + "map, the first of the process", first * 1e3, "ms"));
        bench.add(timings.compared(WHAT, "map", "copy"));
    }

    /// One life of a range.
    ///
    /// @param made how long it took to make
    /// @param freed how long it took to give back
    private record Life(Contender.Outcome made, Contender.Outcome freed) {}

    private Life stitch(Path path, MapBudget budget) throws IOException {
        Allocation range;
        double seconds;
        try (MappedFile file = MappedFile.open(path, MapMode.PRIVATE, budget)) {
            List<Piece> pieces = order.stream().<Piece>map(i -> file.piece((long) i * EXTENT_BYTES, EXTENT_BYTES))
                    .toList();
            long start = System.nanoTime();
            range = file.allocation(pieces);
            seconds = Contender.since(start);
        }
        double witness = read(range.segment());
        long start = System.nanoTime();
        range.free();
        return new Life(new Contender.Outcome(seconds, witness), Contender.Outcome.since(start, witness));
    }

    /// A sum that is another one if two extents change places.
    private static double read(MemorySegment range) {
        double sum = 0;
        for (int i = 0; i < EXTENTS; i += READ_EVERY) {
            sum += (i + 1.0) * range.get(JAVA_LONG, (long) i * EXTENT_BYTES);
        }
        return sum;
    }

    /// Each extent starts with its number; its other pages are holes.
    private static void write(Path path) throws IOException {
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            ByteBuffer number = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder());
            for (long i = 0; i < EXTENTS; i++) {
                file.write(number.clear().putLong(i + 1).flip(), i * EXTENT_BYTES);
            }
            file.write(ByteBuffer.allocate(1), (long) EXTENTS * EXTENT_BYTES - 1);
        }
    }
}
