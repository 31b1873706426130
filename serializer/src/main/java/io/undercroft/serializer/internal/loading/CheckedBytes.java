package io.undercroft.serializer.internal.loading;

import io.undercroft.mmap.FileBacking;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Pages;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.serializer.internal.BinarySearch;
import io.undercroft.serializer.internal.MappedAccess;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.spi.Backing;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/// The bytes of a mapped storage, with the checksums that its file has of them. A run of them is compared when it is
/// read as a whole, at most once: first in memory and then, if these bytes differ, in the file, since a program may
/// write to a copy-on-write mapping. A run that is damaged in the file is refused unless memory has the intact bytes.
/// Safe for any thread.
final class CheckedBytes implements FileBacking {
    /// For smaller storages, distributing the work takes longer than computing the checksums.
    private static final long PARALLEL_BYTES = 4 << 20;

    private final MappedFile file;
    private final Allocation bytes;
    private final Supplier<List<CheckedRun>> table;
    private @Nullable List<CheckedRun> runs;
    private final BitSet compared = new BitSet();

    /// Bytes of which no run was compared.
    ///
    /// @param file the file that has the storage
    /// @param bytes the bytes
    /// @param table makes the runs that have checksums, in order, when they are first needed
    CheckedBytes(MappedFile file, Allocation bytes, Supplier<List<CheckedRun>> table) {
        this.file = file;
        this.bytes = bytes;
        this.table = table;
    }

    @Override
    public boolean hasChecksums() {
        return true;
    }

    @Override
    public void checkNotCut() {
        bytes.backing().ifPresent(Backing::checkNotCut);
    }

    @Override
    public Optional<FilePiece> source(long start, long end) {
        return mapping().flatMap(mapped -> mapped.source(start, end));
    }

    @Override
    public boolean isUnwritten(long start, long end) {
        return mapping().filter(mapped -> mapped.isUnwritten(start, end)).isPresent();
    }

    private Optional<FileBacking> mapping() {
        return bytes.backing().filter(FileBacking.class::isInstance).map(FileBacking.class::cast);
    }

    @Override
    public boolean matches(long start, long end, int crc32c) {
        List<CheckedRun> all = runs();
        int number = firstEndingAfter(all, start);
        boolean matches = number < all.size() && all.get(number).matches(start, end, crc32c);
        if (matches) {
            setCompared(number);
        }
        return matches;
    }

    @Override
    public void check(long start, long end) {
        List<CheckedRun> all = runs();
        for (int number = firstEndingAfter(all, start); number < all.size()
                && all.get(number).start() < end; number++) {
            if (!isCompared(number)) {
                if (!isIntact(all.get(number))) {
                    throw all.get(number).refusal();
                }
                setCompared(number);
            }
        }
    }

    /// Compares all runs, those of a large storage with several threads.
    ///
    /// @return the numbers of the damaged ones, in order
    List<Integer> damaged() {
        List<CheckedRun> all = runs();
        IntStream numbers = IntStream.range(0, all.size());
        List<Integer> damaged = Pages.guard(bytes.segment(),
                () -> (bytes.segment().byteSize() < PARALLEL_BYTES ? numbers : numbers.parallel())
                        .filter(number -> !isIntact(all.get(number))).boxed().toList());
        if (damaged.isEmpty()) {
            synchronized (compared) {
                compared.set(0, all.size());
            }
        }
        return damaged;
    }

    private boolean isIntact(CheckedRun run) {
        MemorySegment mapped = bytes.segment().asSlice(run.start(), run.end() - run.start());
        try {
            return run.isIntact(mapped);
        } catch (InternalError fault) {
            checkNotCut();
            return Pages.guard(mapped, () -> {
                throw fault;
            });
        } catch (IOException e) {
            checkNotCut();
            throw new UncheckedIOException(e);
        }
    }

    private boolean isCompared(int number) {
        synchronized (compared) {
            return compared.get(number);
        }
    }

    private void setCompared(int number) {
        synchronized (compared) {
            compared.set(number);
        }
    }

    private List<CheckedRun> runs() {
        synchronized (compared) {
            if (runs == null) {
                runs = MappedAccess.guarded(file, table);
            }
            return runs;
        }
    }

    /// {@return the number of the first run that ends after a byte} Runs of zeros that are in no file are between runs.
    private static int firstEndingAfter(List<CheckedRun> runs, long start) {
        return BinarySearch.first(runs.size(), number -> runs.get(number).end() > start);
    }
}
