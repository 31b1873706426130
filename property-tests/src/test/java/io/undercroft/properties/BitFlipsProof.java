package io.undercroft.properties;

import io.undercroft.benchmarks.Environment;
import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Goal;
import io.undercroft.benchmarks.Report;
import io.undercroft.serializer.Checkpoint;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import java.util.List;

/// Flips the bits of a saved file, one after the other, and counts the flips that open, read and verify report.
///
/// Quickly, it flips one bit of each byte: the first of the first byte, the second of the second and so on.
final class BitFlipsProof {
    private static final int[] ALL_BITS = {0, 1, 2, 3, 4, 5, 6, 7};

    private BitFlipsProof() {}

    static Report run(Effort effort) throws IOException {
        try (Scratch scratch = Scratch.make()) {
            Path path = scratch.file("sample.croft");
            Checkpoint.save(path, Samples.state());
            long bits = 0;
            long reported = 0;
            try (var file = new RandomAccessFile(path.toFile(), "rw")) {
                for (long offset = 0; offset < file.length(); offset++) {
                    for (int bit : effort == Effort.FULL ? ALL_BITS : new int[]{(int) (offset % Byte.SIZE)}) {
                        bits++;
                        flip(file, offset, bit);
                        if (Reading.of(path) == Reading.REPORTED) {
                            reported++;
                        } else {
                            System.err.println("NOT REPORTED: bit " + bit + " of byte " + offset);
                        }
                        flip(file, offset, bit);
                    }
                }
            }
            return report(scratch, bits, reported);
        }
    }

    private static void flip(RandomAccessFile file, long offset, int bit) throws IOException {
        file.seek(offset);
        int value = file.read();
        file.seek(offset);
        file.write(value ^ (1 << bit));
    }

    private static Report report(Scratch scratch, long bits, long reported) throws IOException {
        return new Report("bitflips",
                List.of(Figure.count("bits flipped in a .croft file", bits),
                        Figure.of("flips reported by open or verify", 100.0 * reported / bits, "%")
                                .with(Goal.atLeast(100))),
                Environment.of(scratch.directory()));
    }
}
