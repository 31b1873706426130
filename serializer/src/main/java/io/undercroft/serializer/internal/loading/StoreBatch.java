package io.undercroft.serializer.internal.loading;

import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.storage.Storage;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/// Storages of files in stores that are loaded together, as their bytes are close to each other: a request for each
/// would take longer than the bytes.
///
/// @param storages the storages
/// @param runs what is read when they are touched, as far as it is known
record StoreBatch(List<Storage> storages, List<FilePiece> runs) {
    /// The number of bytes of a batch, as of a request. A larger storage is a batch of its own.
    private static final long SIZE = 8L << 20;
    /// The size from which a storage is also a batch of its own if its runs are read into its memory directly: that one
    /// copy less makes up for more requests.
    private static final long DIRECT = 4L << 20;
    /// The largest gap that counts as part of a batch: a larger one is hardly ever in a request.
    private static final long GAP = 64L << 10;

    /// A storage and what is read of it.
    private record Planned(Storage storage, List<FilePiece> runs) {}

    /// A run of bytes and the number of the batch that has it.
    private record Owned(int batch, long offset, long end) {}

    /// {@return what is to be fetched into memory before the storages are touched}
    List<FilePiece> held() {
        return isOfItsOwn(storages.getFirst(), runs) ? List.of() : runs;
    }

    /// All storages, in batches, and the runs that several of these have.
    ///
    /// @param batches the batches
    /// @param common runs of files that are to be stored on this host, so that they are fetched once
    record Plan(List<StoreBatch> batches, List<FilePiece> common) {
        /// {@return the files that the runs are in}
        Set<MappedFile> files() {
            return batches.stream().flatMap(batch -> batch.runs.stream()).map(FilePiece::file)
                    .collect(Collectors.toUnmodifiableSet());
        }
    }

    /// Divides storages into batches, in the order of their bytes in files.
    ///
    /// @param storages the storages
    /// @param runs returns what is read when a storage is touched; an empty list if that is not known
    /// @return the batches
    static Plan plan(List<Storage> storages, Function<Storage, List<FilePiece>> runs) {
        Map<MappedFile, Integer> files = new HashMap<>();
        List<Planned> known = new ArrayList<>();
        List<StoreBatch> batches = new ArrayList<>();
        for (Storage storage : storages) {
            List<FilePiece> all = runs.apply(storage);
            if (all.isEmpty() || isOfItsOwn(storage, all)) {
                batches.add(new StoreBatch(List.of(storage), all));
            } else {
                all.forEach(run -> files.putIfAbsent(run.file(), files.size()));
                known.add(new Planned(storage, all));
            }
        }
        known.sort(Comparator.<Planned>comparingInt(each -> files.getOrDefault(each.runs.getFirst().file(), 0))
                .thenComparingLong(each -> each.runs.getFirst().offset()));
        batches.addAll(filled(known, share(known)));
        return new Plan(batches, common(batches));
    }

    private static boolean isOfItsOwn(Storage storage, List<FilePiece> runs) {
        return storage.nbytes() > SIZE || (storage.nbytes() >= DIRECT && PieceReader.areReadOnce(runs));
    }

    /// Returns the number of bytes from which on a batch is full. Where the threads load several batches each, these
    /// are of equal size, so that the last threads do not wait for each other: of eight batches of 8 MiB, six threads
    /// would load two at the end.
    private static long share(List<Planned> all) {
        long nbytes = all.stream().mapToLong(each -> each.storage.nbytes()).sum();
        long rounds = Math.ceilDiv(nbytes, EagerLoad.REMOTE_THREADS * SIZE);
        return rounds > 1 ? Math.ceilDiv(nbytes, EagerLoad.REMOTE_THREADS * rounds) : SIZE;
    }

    private static List<StoreBatch> filled(List<Planned> sorted, long share) {
        List<StoreBatch> batches = new ArrayList<>();
        List<Storage> storages = new ArrayList<>();
        List<FilePiece> runs = new ArrayList<>();
        long nbytes = 0;
        for (Planned each : sorted) {
            long more = 0;
            FilePiece before = runs.isEmpty() ? null : runs.getLast();
            for (FilePiece run : each.runs) {
                long gap = before == null || before.file() != run.file()
                        ? 0
                        : run.offset() - before.offset() - before.length();
                more += run.length() + (gap > 0 && gap <= GAP ? gap : 0);
                before = run;
            }
            if (!storages.isEmpty() && (nbytes >= share || nbytes + more > SIZE)) {
                batches.add(new StoreBatch(List.copyOf(storages), List.copyOf(runs)));
                storages.clear();
                runs.clear();
                nbytes = 0;
            }
            storages.add(each.storage);
            runs.addAll(each.runs);
            nbytes += more;
        }
        if (!storages.isEmpty()) {
            batches.add(new StoreBatch(storages, runs));
        }
        return batches;
    }

    /// Equal bytes are in a file once, so that storages of several batches may have them.
    private static List<FilePiece> common(List<StoreBatch> batches) {
        Map<MappedFile, List<Owned>> byFile = new HashMap<>();
        for (int number = 0; number < batches.size(); number++) {
            for (FilePiece run : batches.get(number).runs) {
                byFile.computeIfAbsent(run.file(), _ -> new ArrayList<>())
                        .add(new Owned(number, run.offset(), run.offset() + run.length()));
            }
        }
        List<FilePiece> common = new ArrayList<>();
        byFile.forEach((file, all) -> {
            all.sort(Comparator.comparingLong(Owned::offset));
            Ends ends = new Ends();
            long done = 0;
            for (Owned run : all) {
                long start = Math.max(run.offset, done);
                done = Math.max(done, Math.min(run.end, ends.ofOthers(run.batch)));
                if (done > start) {
                    common.add(file.piece(start, done - start));
                }
                ends.add(run);
            }
        });
        return common;
    }

    /// The last ends of two batches, which is all that is needed to tell where the runs of other batches end: there may
    /// be thousands of batches that have the same bytes.
    private static final class Ends {
        private int batch = -1;
        private long end;
        private long endOfOthers;

        long ofOthers(int number) {
            return number == batch ? endOfOthers : end;
        }

        void add(Owned run) {
            if (run.batch != batch && run.end > end) {
                endOfOthers = end;
                batch = run.batch;
                end = run.end;
            } else if (run.batch == batch) {
                end = Math.max(end, run.end);
            } else {
                endOfOthers = Math.max(endOfOthers, run.end);
            }
        }
    }
}
