package io.undercroft.properties.damage;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.BaseFiles;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.FreeRange;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.Verifier;
import io.undercroft.properties.Repository;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;

/// A golden file of the format, to be damaged in memory.
///
/// @param name what it shows
/// @param bytes all of it
/// @param free the ranges about whose bytes nothing is said
record GoldenFile(String name, MemorySegment bytes, List<FreeRange> free) {
    /// {@return files that do not need others: one of everything, several snapshots, a free range, shared chunks, a
    /// sealed one, compressed chunks}
    static List<GoldenFile> all() throws IOException {
        List<GoldenFile> files = new ArrayList<>();
        for (String name : List.of("everything", "snapshots", "torn", "dedup", "sealed", "coded")) {
            files.add(read(name + ".croft"));
        }
        return files;
    }

    private static GoldenFile read(String name) throws IOException {
        MemorySegment bytes = MemorySegment
                .ofArray(Files.readAllBytes(Repository.path("format-spec/src/test/resources/golden/" + name)))
                .asReadOnly();
        Snapshot snapshot = Snapshot.open(ByteSource.of(bytes), Limits.DEFAULT);
        List<FreeRange> free = new ArrayList<>();
        for (int number = 0; number < snapshot.freeRangeCount(); number++) {
            free.add(snapshot.freeRange(number));
        }
        return new GoldenFile(name, bytes, List.copyOf(free));
    }

    /// {@return whether the format says something about the byte at this place}
    boolean isMeant(long offset) {
        return free.stream().noneMatch(
                range -> offset >= range.offset() && offset < range.offset() + range.length());
    }

    /// {@return what opening and verifying say of bytes} Whatever is thrown but [FormatException] is the caller's to
    /// see.
    static Reading reading(MemorySegment bytes) throws IOException {
        ByteSource source = ByteSource.of(bytes);
        try {
            Snapshot snapshot = Snapshot.open(source, Limits.DEFAULT);
            return Verifier.verify(source, snapshot, BaseFiles.none()).findings().isEmpty()
                    ? Reading.SOUND
                    : Reading.REPORTED;
        } catch (FormatException e) {
            return Reading.REPORTED;
        }
    }
}
