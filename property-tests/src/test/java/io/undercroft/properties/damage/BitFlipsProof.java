package io.undercroft.properties.damage;

import io.undercroft.benchmarks.Environment;
import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.properties.Effort;
import io.undercroft.properties.Samples;
import io.undercroft.properties.Scratch;
import io.undercroft.serializer.Checkpoint;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/// Flips the bits of files, one after the other, and counts the flips that are reported: of a saved file by open, read
/// and verify of the library, of the golden files by those of the format, in memory and on all processors.
///
/// Quickly, it flips one bit of each byte: the first of the first byte, the second of the second and so on; and of the
/// golden files only every 41st byte.
public final class BitFlipsProof {
    private static final int[] ALL_BITS = {0, 1, 2, 3, 4, 5, 6, 7};
    private static final int QUICK_STEP = 41;
    private static final int STRETCH = 1 << 12;

    private BitFlipsProof() {}

    /// How many bits were flipped, and how many of the flips were reported.
    private record Count(long flipped, long reported) {
        static final Count NONE = new Count(0, 0);

        Count plus(Count other) {
            return new Count(flipped + other.flipped, reported + other.reported);
        }

        Count and(boolean isReported) {
            return new Count(flipped + 1, reported + (isReported ? 1 : 0));
        }
    }

    public static Report run(Effort effort) throws IOException {
        List<Figure> figures = new ArrayList<>();
        try (Scratch scratch = Scratch.make()) {
            Path path = scratch.file("sample.croft");
            Checkpoint.save(path, Samples.state());
            figures.addAll(figures("a .croft file", flipAll(path, effort)));
            for (GoldenFile file : GoldenFile.all()) {
                figures.addAll(figures(file.name(), flipAll(file, effort)));
            }
            return new Report("bitflips", figures, Environment.of(scratch.directory()));
        }
    }

    private static Count flipAll(Path path, Effort effort) throws IOException {
        Count count = Count.NONE;
        try (var file = new RandomAccessFile(path.toFile(), "rw")) {
            for (long offset = 0; offset < file.length(); offset++) {
                for (int bit : bits(offset, effort)) {
                    flip(file, offset, bit);
                    count = count.and(isReported(Reading.of(path), path.toString(), offset, bit));
                    flip(file, offset, bit);
                }
            }
        }
        return count;
    }

    private static void flip(RandomAccessFile file, long offset, int bit) throws IOException {
        file.seek(offset);
        int value = file.read();
        file.seek(offset);
        file.write(value ^ (1 << bit));
    }

    private static Count flipAll(GoldenFile file, Effort effort) {
        int step = effort == Effort.FULL ? 1 : QUICK_STEP;
        return IntStream.rangeClosed(0, (int) (file.bytes().byteSize() / STRETCH)).parallel()
                .mapToObj(stretch -> flipStretch(file, stretch * STRETCH, step, effort))
                .reduce(Count.NONE, Count::plus);
    }

    /// Flips bits in a copy, so that several threads may do so at once.
    private static Count flipStretch(GoldenFile file, int from, int step, Effort effort) {
        byte[] bytes = file.bytes().toArray(ValueLayout.JAVA_BYTE);
        Count count = Count.NONE;
        int to = Math.min(bytes.length, from + STRETCH);
        for (int offset = from + (step - from % step) % step; offset < to; offset += step) {
            if (!file.isMeant(offset)) {
                continue;
            }
            for (int bit : bits(offset, effort)) {
                bytes[offset] ^= (byte) (1 << bit);
                count = count.and(isReported(reading(bytes), file.name(), offset, bit));
                bytes[offset] ^= (byte) (1 << bit);
            }
        }
        return count;
    }

    private static Reading reading(byte[] bytes) {
        try {
            return GoldenFile.reading(MemorySegment.ofArray(bytes));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static int[] bits(long offset, Effort effort) {
        return effort == Effort.FULL ? ALL_BITS : new int[]{(int) (offset % Byte.SIZE)};
    }

    private static boolean isReported(Reading reading, String file, long offset, int bit) {
        if (reading != Reading.REPORTED) {
            System.err.println("NOT REPORTED: bit " + bit + " of byte " + offset + " of " + file);
        }
        return reading == Reading.REPORTED;
    }

    private static List<Figure> figures(String what, Count count) {
        return List.of(Figure.count("bits flipped in " + what, count.flipped()),
                Figure.of("flips in " + what + " reported by open or verify",
                        100.0 * count.reported() / count.flipped(), "%").atLeast(100));
    }
}
