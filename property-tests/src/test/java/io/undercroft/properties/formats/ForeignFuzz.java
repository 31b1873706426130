package io.undercroft.properties.formats;

import io.undercroft.benchmarks.Figure;
import io.undercroft.properties.Scratch;
import io.undercroft.properties.damage.ForeignReading;
import io.undercroft.properties.damage.Vandal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/// Damages files of other formats and reads them, and counts what becomes of them.
final class ForeignFuzz {
    private static final int STRIKES = 64;
    private static final int SHOWN = 5;
    /// When a file is taken for one that is never read to its end.
    private static final long PATIENCE_SECONDS = 60;

    private final SplittableRandom random;
    private final Scratch scratch;
    private final Path kept;
    private final Map<String, List<Specimen>> specimens;
    private final Map<String, Count> counts = new LinkedHashMap<>();
    private ExecutorService reader = newReader();

    private static final class Count {
        private final Map<ForeignReading.Outcome, Integer> outcomes = new EnumMap<>(ForeignReading.Outcome.class);
        private int broken;
    }

    /// @param specimens what is damaged
    /// @param seed of all choices
    /// @param scratch where the files are
    /// @param kept where those are copied to that are not read as they should be
    ForeignFuzz(List<Specimen> specimens, long seed, Scratch scratch, Path kept) {
        this.specimens = specimens.stream()
                .collect(Collectors.groupingBy(Specimen::format, TreeMap::new, Collectors.toList()));
        this.random = new SplittableRandom(seed);
        this.scratch = scratch;
        this.kept = kept;
        this.specimens.keySet().forEach(format -> counts.put(format, new Count()));
    }

    /// Damages a file of each format in turn, and so on.
    ///
    /// @param goesOn asked before each round
    void run(BooleanSupplier goesOn) throws IOException {
        while (goesOn.getAsBoolean()) {
            for (String format : specimens.keySet()) {
                tryOne(format);
            }
        }
        reader.shutdownNow();
    }

    /// {@return how many were opened, refused and broken, for each format}
    List<Figure> figures() {
        List<Figure> figures = new ArrayList<>();
        counts.forEach((format, count) -> {
            figures.add(Figure.count(format + ": damaged files that open",
                    count.outcomes.getOrDefault(ForeignReading.Outcome.OPENED, 0)));
            figures.add(Figure.count(format + ": damaged files that are refused",
                    count.outcomes.getOrDefault(ForeignReading.Outcome.REFUSED, 0)));
            figures.add(Figure.count(format + ": broken", count.broken).atMost(0));
        });
        return figures;
    }

    private void tryOne(String format) throws IOException {
        List<Specimen> all = specimens.get(format);
        Specimen specimen = all.get(random.nextInt(all.size()));
        byte[] strikes = new byte[STRIKES];
        random.nextBytes(strikes);
        int way = random.nextInt(1 << 16);
        Path path = scratch.write("damaged", ForeignVandal.damage(specimen, strikes));
        Count count = counts.get(format);
        Future<ForeignReading.Outcome> reading = reader.submit(() -> ForeignReading.of(path, way));
        try {
            count.outcomes.merge(reading.get(PATIENCE_SECONDS, TimeUnit.SECONDS), 1, Integer::sum);
        } catch (ExecutionException e) {
            keep(specimen, way, path, e.getCause(), count.broken++);
        } catch (TimeoutException e) {
            keep(specimen, way, path, e, count.broken++);
            reader.shutdownNow();
            reader = newReader();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        }
    }

    private void keep(Specimen specimen, int way, Path path, Throwable fault, int before) throws IOException {
        if (before >= SHOWN) {
            return;
        }
        Files.createDirectories(kept);
        Path copy = kept.resolve(specimen.format() + "-" + before + "-" + specimen.name().replaceAll("\\W+", "_"));
        Files.copy(path, copy, StandardCopyOption.REPLACE_EXISTING);
        System.err.println("BROKEN: " + specimen.format() + ", from " + specimen.name() + ", read in way " + way % 6
                + ", kept as " + copy + ", where "
                + Vandal.difference(specimen.bytes(), Files.readAllBytes(path)));
        fault.printStackTrace();
    }

    private static ExecutorService newReader() {
        return Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("reader").factory());
    }
}
