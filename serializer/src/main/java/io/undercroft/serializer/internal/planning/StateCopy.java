package io.undercroft.serializer.internal.planning;

import io.undercroft.format.internal.Span;
import io.undercroft.serializer.internal.Workers;
import io.undercroft.storage.Storage;
import io.undercroft.storage.internal.support.Faults;
import io.undercroft.storage.internal.support.Freezable;
import io.undercroft.storage.internal.support.Freezable.Image;
import io.undercroft.storage.spi.Backing;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/// Takes a snapshot of the bytes of storages that are to be saved: memory that can be frozen is frozen, other bytes are
/// copied, those on devices to the host. The storages must not be written to meanwhile; afterwards they may be changed
/// and freed.
///
/// Bytes that no tensor uses are not copied. Copies are made by several threads, into one run of memory.
final class StateCopy {
    private final long chunkSize;
    private final SaveControl control;
    private final ResourceStack resources;
    private final IdentityHashMap<Freezable, Image> images = new IdentityHashMap<>();
    private final List<Run> copied = new ArrayList<>();

    /// A run of bytes of a storage to copy.
    ///
    /// @param from the storage
    /// @param span the bytes
    /// @param into the target
    private record Run(PlannedStorage from, Span span, SnapshotBytes into) {
        /// The number of bytes that a thread copies at a time: enough for little overhead, few enough that all threads
        /// end together.
        static final long PIECE = 4 << 20;

        long length() {
            return span.end() - span.start();
        }

        void addPieces(MemorySegment memory, List<Piece> pieces) {
            into.add(span.start(), memory);
            for (long done = 0; done < length(); done += PIECE) {
                MemorySegment part = memory.asSlice(done, Math.min(PIECE, length() - done));
                pieces.add(new Piece(from, span.start() + done, part));
            }
        }
    }

    private record Piece(PlannedStorage from, long start, MemorySegment into) {
        void copy() {
            MemorySegment bytes = from.slice(start, into.byteSize(), into);
            if (!from.bytes().areOnDevice()) {
                into.copyFrom(bytes);
            }
            Faults.throwPending();
        }
    }

    private StateCopy(long chunkSize, SaveControl control, ResourceStack resources) {
        this.chunkSize = chunkSize;
        this.control = control;
        this.resources = resources;
    }

    /// Takes a snapshot.
    ///
    /// @param storages the storages
    /// @param chunkSize the size of chunks in the file, in bytes: what is saved of a storage is whole chunks
    /// @param staging the memory for copies
    /// @param control informed of the bytes read of the snapshot
    /// @param resources receives what is to be closed when the snapshot was read, also if this fails
    /// @return the storages with the bytes of the snapshot
    /// @throws IOException if there is no memory for the copies
    static List<PlannedStorage> of(List<PlannedStorage> storages, long chunkSize, Staging staging,
            SaveControl control, ResourceStack resources) throws IOException {
        StateCopy copy = new StateCopy(chunkSize, control, resources);
        resources.add(() -> copy.images.values().forEach(Image::close));
        copy.freeze(storages);
        List<PlannedStorage> taken = storages.stream()
                .map(storage -> storage.device().isMeta() ? storage : copy.moved(storage)).toList();
        copy.copy(staging);
        return taken;
    }

    private void freeze(List<PlannedStorage> storages) {
        Set<Freezable> memory = Collections.newSetFromMap(new IdentityHashMap<>());
        storages.forEach(storage -> freezable(storage).ifPresent(memory::add));
        memory.forEach(each -> each.freeze().ifPresent(image -> images.put(each, image)));
    }

    /// Bytes that are not loaded yet are those of a file.
    private static Optional<Freezable> freezable(PlannedStorage storage) {
        return inPlace(storage).filter(Storage::isMaterialized).flatMap(Storage::origin)
                .filter(Freezable.class::isInstance).map(Freezable.class::cast);
    }

    private static Optional<Storage> inPlace(PlannedStorage storage) {
        return storage.bytes() instanceof PlannedStorage.StorageBytes bytes ? bytes.inPlace() : Optional.empty();
    }

    private PlannedStorage moved(PlannedStorage storage) {
        SnapshotBytes bytes = new SnapshotBytes(storage.bytes().describe(), control);
        Optional<MemorySegment> frozen = frozen(storage);
        for (Span chunk : chunks(storage)) {
            if (frozen.isPresent()) {
                bytes.add(chunk.start(), frozen.get().asSlice(chunk.start(), chunk.end() - chunk.start()));
            } else {
                copied.add(new Run(storage, chunk, bytes));
            }
        }
        return storage.with(bytes);
    }

    /// Returns the bytes of a storage in the image of its memory, if there is one.
    private Optional<MemorySegment> frozen(PlannedStorage storage) {
        return inPlace(storage).flatMap(there -> freezable(storage).map(images::get)
                .map(image -> image.segment().asSlice(there.sliceOffset(), storage.nbytes())));
    }

    /// Returns the chunks of a storage that tensors use, adjacent ones joined.
    private List<Span> chunks(PlannedStorage storage) {
        List<Span> chunks = new ArrayList<>();
        for (Span reached : storage.reached()) {
            long start = reached.start() & -chunkSize;
            long end = Math.min(storage.nbytes(), (reached.end() + chunkSize - 1) & -chunkSize);
            if (!chunks.isEmpty() && chunks.getLast().end() >= start) {
                start = chunks.removeLast().start();
            }
            if (start < end) {
                chunks.add(new Span(start, end));
            }
        }
        return chunks;
    }

    private void copy(Staging staging) throws IOException {
        if (copied.isEmpty()) {
            return;
        }
        long nbytes = copied.stream().mapToLong(StateCopy::space).reduce(0, Math::addExact);
        MemorySegment memory = resources.add(staging.borrow(nbytes)).segment();
        List<Piece> pieces = new ArrayList<>();
        long position = 0;
        for (Run run : copied) {
            run.addPieces(memory.asSlice(position, run.length()), pieces);
            position += space(run);
        }
        copyDecoded(pieces);
        if (PlannedStorage.areOpenToAll(copied.stream().map(Run::from).toList())) {
            Workers.share(pieces, Piece::copy);
        } else {
            pieces.forEach(Piece::copy);
        }
        for (Run run : copied) {
            keepSource(run);
        }
    }

    /// Keeps the source of a copy, which is checked when it is saved against the file that it was mapped from.
    private void keepSource(Run run) {
        run.from.checkNotCut();
        inPlace(run.from).filter(_ -> run.from.bytes().backing().filter(Backing::hasChecksums).isPresent())
                .ifPresent(storage -> {
                    resources.add(storage.retain()::release);
                    run.into.copyOf(run.from.bytes());
                });
    }

    /// Copies storages that have to be decoded, one after the other.
    private void copyDecoded(List<Piece> pieces) {
        PlannedStorage.Bytes last = null;
        try {
            for (Piece piece : pieces) {
                PlannedStorage.Bytes bytes = piece.from.bytes();
                if (bytes.areDecoded()) {
                    if (last != null && last != bytes) {
                        last.release();
                    }
                    last = bytes;
                    piece.copy();
                    piece.from.checkNotCut();
                    piece.from.check(piece.start, piece.start + piece.into.byteSize());
                }
            }
        } finally {
            if (last != null) {
                last.release();
            }
        }
        pieces.removeIf(piece -> piece.from.bytes().areDecoded());
    }

    private static long space(Run run) {
        return (run.length() + Storage.ALIGNMENT - 1) & -Storage.ALIGNMENT;
    }

    /// The bytes of a storage as they were when a snapshot was taken, as far as they are saved. Reading throws if the
    /// save was cancelled.
    private static final class SnapshotBytes implements PlannedStorage.Bytes {
        private final String name;
        private final SaveControl control;
        private PlannedStorage.@Nullable Bytes source;
        /// The runs by the offset of the first byte.
        private final NavigableMap<Long, Taken> runs = new TreeMap<>();

        /// A run of bytes.
        private record Taken(MemorySegment bytes, AtomicLong read) {}

        /// Creates an object without bytes.
        ///
        /// @param name the name of the storage in messages
        /// @param control receives the number of bytes read
        SnapshotBytes(String name, SaveControl control) {
            this.name = name;
            this.control = control;
        }

        /// Adds bytes. Called before any are read.
        ///
        /// @param start the first of them, in the storage
        /// @param bytes all of them
        void add(long start, MemorySegment bytes) {
            runs.put(start, new Taken(bytes, new AtomicLong()));
            control.expect(bytes.byteSize());
        }

        /// Sets the bytes that these are copies of, before any are read. They are kept until the save has ended.
        ///
        /// @param copied the bytes of the storage, which are those of a file with checksums
        void copyOf(PlannedStorage.Bytes copied) {
            source = copied;
        }

        @Override
        public Optional<Backing> backing() {
            return source == null ? Optional.empty() : source.backing();
        }

        @Override
        public long start() {
            return source == null ? 0 : source.start();
        }

        @Override
        public MemorySegment slice(long offset, long length, MemorySegment buffer) {
            var found = runs.floorEntry(offset);
            if (found == null) {
                throw new IndexOutOfBoundsException("byte " + offset + " of " + name + " is not in the snapshot");
            }
            long start = offset - found.getKey();
            MemorySegment slice = found.getValue().bytes().asSlice(start, length);
            long end = start + length;
            long before = found.getValue().read().getAndAccumulate(end, Math::max);
            control.read(Math.max(0, end - before));
            return slice;
        }

        @Override
        public boolean isAccessibleBy(Thread thread) {
            return runs.values().stream().allMatch(run -> run.bytes().isAccessibleBy(thread));
        }

        @Override
        public String describe() {
            return name;
        }
    }
}
