package io.undercroft.properties.damage;

import io.undercroft.benchmarks.Environment;
import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.properties.Effort;
import io.undercroft.properties.Samples;
import io.undercroft.properties.Scratch;
import io.undercroft.serializer.Checkpoint;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/// Cuts files at every length, from the whole file less a byte down to nothing, and counts the cuts that are reported.
///
/// Quickly, it cuts larger files at every seventh length, and the golden files at every 41st.
public final class TruncationsProof {
    private static final int MANY = 20_000;
    private static final int QUICK_STEP = 41;

    private TruncationsProof() {}

    public static Report run(Effort effort) throws IOException {
        List<Figure> figures = new ArrayList<>();
        try (Scratch scratch = Scratch.make()) {
            Path croft = scratch.file("sample.croft");
            Checkpoint.save(croft, Samples.state());
            figures.addAll(cut("a .croft file", croft, effort));
            Path torch = scratch.write("sample.pt", Files.readAllBytes(Fixtures.torchZip("views.pt")));
            figures.addAll(cut("a .pt file", torch, effort));
            for (GoldenFile file : GoldenFile.all()) {
                figures.addAll(cut(file, effort));
            }
            return new Report("truncations", figures, Environment.of(scratch.directory()));
        }
    }

    /// Cuts a golden file in memory. While all of the snapshot before the newest is there, that one has to open. Cut
    /// where its first snapshot ends, a file is what it was before the first append, and there is nothing to report.
    private static List<Figure> cut(GoldenFile file, Effort effort) throws IOException {
        int step = effort == Effort.QUICK ? QUICK_STEP : 1;
        Snapshot newest = Snapshot.open(ByteSource.of(file.bytes()), Limits.DEFAULT);
        long sequence = newest.commit().sequence() - 1;
        long whole = sequence == 0 ? file.bytes().byteSize() : newest.openAt(sequence).commit().committedLength();
        long first = sequence == 0 ? -1 : newest.openAt(1).commit().committedLength();
        long cuts = 0;
        long opened = 0;
        long reported = 0;
        for (long length = file.bytes().byteSize() - 1; length >= 0; length -= step) {
            MemorySegment cut = file.bytes().asSlice(0, length);
            boolean opens = opens(cut, sequence);
            cuts++;
            opened += opens ? 1 : 0;
            Reading expected = length == first ? Reading.SOUND : Reading.REPORTED;
            if (GoldenFile.reading(cut) == expected && opens == length >= whole) {
                reported++;
            } else {
                System.err.println("NOT AS IT SHOULD BE: " + file.name() + " cut at " + length);
            }
        }
        return List.of(Figure.count("lengths at which " + file.name() + " was cut", cuts),
                Figure.count("of which the snapshot before opens", opened), reported(file.name(), reported, cuts));
    }

    private static boolean opens(MemorySegment file, long sequence) throws IOException {
        try {
            return Snapshot.open(ByteSource.of(file), Limits.DEFAULT).commit().sequence() == sequence;
        } catch (FormatException e) {
            return false;
        }
    }

    private static Figure reported(String what, long reported, long cuts) {
        return Figure.of("cuts of " + what + " reported by open or verify", 100.0 * reported / cuts, "%")
                .atLeast(100);
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
                reported(what, reported, cuts));
    }
}
