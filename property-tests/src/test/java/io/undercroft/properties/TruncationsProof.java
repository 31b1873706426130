package io.undercroft.properties;

import io.undercroft.benchmarks.Environment;
import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Goal;
import io.undercroft.benchmarks.Report;
import io.undercroft.serializer.Checkpoint;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/// Cuts files at every length, from the whole file less a byte down to nothing, and counts the cuts that are reported.
///
/// Quickly, it cuts larger files at every seventh length.
final class TruncationsProof {
    private static final int MANY = 20_000;

    private TruncationsProof() {}

    static Report run(Effort effort) throws IOException {
        List<Figure> figures = new ArrayList<>();
        try (Scratch scratch = Scratch.make()) {
            Path croft = scratch.file("sample.croft");
            Checkpoint.save(croft, Samples.state());
            figures.addAll(cut("a .croft file", croft, effort));
            Path torch = scratch.write("sample.pt", Files.readAllBytes(Fixtures.torchZip("views.pt")));
            figures.addAll(cut("a .pt file", torch, effort));
            return new Report("truncations", figures, Environment.of(scratch.directory()));
        }
    }

    private static List<Figure> cut(String what, Path path, Effort effort) throws IOException {
        long cuts = 0;
        long reported = 0;
        try (var file = FileChannel.open(path, StandardOpenOption.WRITE)) {
            int step = effort == Effort.QUICK && file.size() > MANY ? 7 : 1;
            for (long length = file.size() - 1; length >= 0; length -= step) {
                file.truncate(length);
                cuts++;
                if (Reading.of(path) == Reading.REPORTED) {
                    reported++;
                } else {
                    System.err.println("NOT REPORTED: " + what + " cut at " + length);
                }
            }
        }
        return List.of(Figure.count("lengths at which " + what + " was cut", cuts),
                Figure.of("cuts of " + what + " reported by open or verify", 100.0 * reported / cuts, "%")
                        .with(Goal.atLeast(100)));
    }
}
