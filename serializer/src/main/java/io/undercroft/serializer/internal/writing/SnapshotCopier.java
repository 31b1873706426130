package io.undercroft.serializer.internal.writing;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.BaseFiles;
import io.undercroft.format.internal.BaseRecord;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.ExtentDigester;
import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.IndexCopy;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.StorageRecord;
import io.undercroft.serializer.internal.Progress;
import io.undercroft.serializer.internal.disk.Sink;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// Copies snapshots to a new file: their bytes, common bytes once, and their indexes. The checksums of copied bytes are
/// compared. For use by one thread.
final class SnapshotCopier implements AutoCloseable {
    private static final long PIECE = 1 << 17;

    private final Sink sink;
    private final NewFile pages;
    private final ByteSource file;
    private final Progress progress;
    private final BaseFiles bases;
    /// One place for each, or two if the first is not aligned as a large storage requires.
    private final Map<Source, List<Long>> places = new HashMap<>();
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment piece = arena.allocate(PIECE);
    private final int chunkLog2;
    private final ExtentDigester digester = new ExtentDigester();
    private long position;

    /// The former place of bytes.
    ///
    /// @param file the identity of a base, or something else for the file itself
    private record Source(Object file, long offset, long length) {}

    /// A copier into a new file.
    ///
    /// @param sink the sink to write to
    /// @param pages its pages
    /// @param file the file that the snapshots are in
    /// @param bases the files of the bases to copy; those that are not found remain bases
    /// @param chunkLog2 the logarithm of the chunk size of both files
    /// @param progress counts the bytes of storages that are copied
    SnapshotCopier(Sink sink, NewFile pages, ByteSource file, BaseFiles bases, int chunkLog2, Progress progress) {
        this.sink = sink;
        this.pages = pages;
        this.file = file;
        this.bases = bases;
        this.chunkLog2 = chunkLog2;
        this.progress = progress;
    }

    /// Adds a snapshot to the new file.
    ///
    /// @param snapshot a snapshot, newer than those added before
    /// @throws FormatException if it is damaged
    /// @throws IOException if reading or writing fails
    void add(Snapshot snapshot) throws IOException {
        position = pages.start();
        IndexCopy copy = IndexCopy.of(snapshot);
        for (long alignment : new long[]{FileLayout.SMALL_ALIGNMENT, FileLayout.MAPPING_ALIGNMENT}) {
            for (int number = 0; number < snapshot.storageCount(); number++) {
                StorageRecord storage = snapshot.storage(number);
                if (FileLayout.alignment(storage.nbytes(), chunkLog2) == alignment) {
                    place(snapshot, storage, copy);
                }
            }
        }
        pages.add(copy.build(pages.nextSequence()), position, snapshot.commit().timeMillis(),
                snapshot.commit().message());
    }

    private void place(Snapshot snapshot, StorageRecord storage, IndexCopy copy) throws IOException {
        for (int i = 0; i < storage.extentCount(); i++) {
            int extent = storage.firstExtent() + i;
            ExtentRecord record = snapshot.extent(extent);
            if (record.kind() != ExtentKind.ZERO) {
                place(snapshot, extent, storage.nbytes(), copy);
            }
        }
    }

    /// Copies the bytes of an extent, unless they are there already or stay in their base.
    private void place(Snapshot snapshot, int extent, long nbytes, IndexCopy copy) throws IOException {
        ExtentRecord record = snapshot.extent(extent);
        Object identity = "";
        ByteSource from = file;
        if (record.base() != ExtentRecord.THIS_FILE) {
            BaseRecord base = snapshot.base(record.base() - 1);
            var opened = bases.open(base);
            if (opened.isEmpty()) {
                return;
            }
            identity = base.identity();
            from = opened.get();
        }
        Source source = new Source(identity, record.fileOffset(), record.storedLength());
        List<Long> found = places.computeIfAbsent(source, _ -> new ArrayList<>(1));
        long alignment = FileLayout.alignment(nbytes, chunkLog2);
        Optional<Long> serving = found.stream().filter(place -> place % alignment == 0).findFirst();
        if (serving.isEmpty()) {
            long place = FileLayout.placeExtent(position, nbytes, chunkLog2);
            copyBytes(from, record, place);
            position = place + record.storedLength();
            found.add(place);
        }
        copy.place(extent, serving.orElse(found.getLast()));
    }

    private void copyBytes(ByteSource from, ExtentRecord record, long place) throws IOException {
        for (long done = 0; done < record.storedLength(); done += PIECE) {
            MemorySegment bytes = piece.asSlice(0, Math.min(PIECE, record.storedLength() - done));
            from.read(record.fileOffset() + done, bytes);
            digester.update(bytes);
            sink.write(place + done, bytes);
            progress.add(bytes.byteSize());
        }
        if (!digester.finish().equals(record.sums())) {
            throw Rule.V14_CHECKSUM.broken("the bytes of an extent are damaged, and are not carried over",
                    record.fileOffset());
        }
    }

    @Override
    public void close() {
        arena.close();
    }
}
