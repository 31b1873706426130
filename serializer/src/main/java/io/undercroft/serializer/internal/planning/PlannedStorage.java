package io.undercroft.serializer.internal.planning;

import io.undercroft.format.internal.Span;
import io.undercroft.serializer.internal.BinarySearch;
import io.undercroft.storage.BorrowedBytes;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.spi.Backing;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// A storage that is to be saved, as it was when the save was planned.
///
/// @param number its number in the snapshot
/// @param nbytes its size in bytes
/// @param device its device
/// @param reached the runs of its bytes that are worth saving, in order, apart from each other
/// @param zeros runs that are not among them because they are known to be zeros, in order, apart from each other
/// @param bytes the source of its bytes
public record PlannedStorage(int number, long nbytes, Device device, List<Span> reached, List<Span> zeros,
        Bytes bytes) {
    /// The bytes of a storage: its current ones, or those of a copy that was made for the save.
    public interface Bytes {
        /// {@return a run of them: in place, or a copy in the buffer if they are on a device}
        ///
        /// @param offset the first byte
        /// @param length the number of bytes; a copy has only those that tensors use
        /// @param buffer memory of the host, of at least that many bytes if they are on a device
        MemorySegment slice(long offset, long length, MemorySegment buffer);

        /// {@return whether they are on a device, where the host cannot read them in place}
        default boolean areOnDevice() {
            return false;
        }

        /// {@return whether a thread may read them}
        ///
        /// @param thread any thread
        default boolean isAccessibleBy(Thread thread) {
            return true;
        }

        /// {@return the file that they are mapped from, if there is one that can be queried, and they are in memory}
        default Optional<Backing> backing() {
            return Optional.empty();
        }

        /// {@return their start in the bytes of that file's mapping}
        default long start() {
            return 0;
        }

        /// {@return their name in messages}
        String describe();

        /// {@return whether they are decoded for the save alone, and are in memory only from the first [#slice] to
        /// [#release]}
        default boolean areDecoded() {
            return false;
        }

        /// Ends reading them. Calling it again has no effect.
        default void release() {}
    }

    /// {@return whether all its bytes are worth saving}
    boolean isReachedWhole() {
        return device.isMeta() || nbytes == 0
                || (!reached.isEmpty() && reached.getFirst().start() == 0 && reached.getFirst().end() == nbytes);
    }

    /// {@return a storage whose bytes are read in place}
    ///
    /// @param number its number in the snapshot
    /// @param storage the storage
    /// @param reached the runs of its bytes that are worth saving
    /// @param zeros runs that are known to be zeros, in order
    static PlannedStorage of(int number, Storage storage, List<Span> reached, List<Span> zeros) {
        return new PlannedStorage(number, storage.nbytes(), storage.device(), without(reached, zeros), zeros,
                new StorageBytes(storage));
    }

    private static List<Span> without(List<Span> spans, List<Span> others) {
        if (others.isEmpty()) {
            return spans;
        }
        List<Span> rest = new ArrayList<>();
        for (Span span : spans) {
            long start = span.start();
            for (Span other : others) {
                if (other.end() > start && other.start() < span.end()) {
                    if (other.start() > start) {
                        rest.add(new Span(start, other.start()));
                    }
                    start = other.end();
                }
            }
            if (start < span.end()) {
                rest.add(new Span(start, span.end()));
            }
        }
        return rest;
    }

    /// {@return whether other threads than this one may read all of some storages}
    ///
    /// @param storages the storages
    public static boolean areOpenToAll(List<PlannedStorage> storages) {
        Thread other = Thread.ofPlatform().unstarted(() -> {});
        return storages.stream().filter(storage -> !storage.reached.isEmpty())
                .allMatch(storage -> storage.bytes.isAccessibleBy(other));
    }

    /// {@return the same storage with its bytes elsewhere}
    ///
    /// @param elsewhere as many bytes as it has
    PlannedStorage with(Bytes elsewhere) {
        return new PlannedStorage(number, nbytes, device, reached, zeros, elsewhere);
    }

    /// {@return a run of its bytes, like [Bytes#slice]}
    ///
    /// @param offset the first byte
    /// @param length the number of bytes
    /// @param buffer memory of the host for bytes on a device
    /// @throws IllegalStateException if it has fewer bytes than when the save was planned
    public MemorySegment slice(long offset, long length, MemorySegment buffer) {
        return bytes.slice(offset, length, buffer);
    }

    /// Compares what was read of a run of bytes with the checksums of its source file, if that has some.
    /// Bytes that are not reached may be damaged.
    ///
    /// @param from the first byte
    /// @param to the first byte after the last
    /// @param crc32c the CRC32C of what was read
    /// @throws RuntimeException if they are damaged
    public void check(long from, long to, int crc32c) {
        Backing file = bytes.backing().filter(Backing::hasChecksums).orElse(null);
        if (file != null && !file.matches(bytes.start() + from, bytes.start() + to, crc32c)) {
            check(from, to, file);
        }
    }

    /// Compares a run of bytes as [#check(long, long, int)] does, as it is in memory now.
    ///
    /// @param from the first byte
    /// @param to the first byte after the last
    public void check(long from, long to) {
        bytes.backing().filter(Backing::hasChecksums).ifPresent(file -> check(from, to, file));
    }

    private void check(long from, long to, Backing file) {
        for (int i = firstReachedBehind(from); i < reached.size() && reached.get(i).start() < to; i++) {
            file.check(bytes.start() + Math.max(from, reached.get(i).start()),
                    bytes.start() + Math.min(to, reached.get(i).end()));
        }
    }

    /// Throws if the file of the bytes was truncated since they were mapped.
    public void checkNotCut() {
        bytes.backing().ifPresent(Backing::checkNotCut);
    }

    /// {@return whether a run of bytes holds one that is reached}
    ///
    /// @param start the first byte
    /// @param end the end of the run
    public boolean reaches(long start, long end) {
        int first = firstReachedBehind(start);
        return first < reached.size() && reached.get(first).touches(start, end);
    }

    /// {@return whether a run of bytes holds one that is known to be zero}
    ///
    /// @param start the first byte
    /// @param end the end of the run
    public boolean hasZeros(long start, long end) {
        int first = firstBehind(zeros, start);
        return first < zeros.size() && zeros.get(first).touches(start, end);
    }

    /// {@return the end of the bytes from a byte on that are all not reached, and all known to be zeros or all not}
    ///
    /// @param start the first byte
    public long endOfUnread(long start) {
        int next = firstReachedBehind(start);
        int zero = firstBehind(zeros, start);
        long end = next < reached.size() ? reached.get(next).start() : nbytes;
        if (zero < zeros.size()) {
            Span run = zeros.get(zero);
            end = Math.min(end, run.start() <= start ? run.end() : run.start());
        }
        return end;
    }

    private int firstReachedBehind(long start) {
        return firstBehind(reached, start);
    }

    private static int firstBehind(List<Span> spans, long start) {
        return BinarySearch.first(spans.size(), number -> spans.get(number).end() > start);
    }

    /// The current bytes of a storage: in place; or copied to the host run by run, if they are on a device; or decoded,
    /// and in memory while they are being saved.
    static final class StorageBytes implements Bytes {
        private final Storage storage;
        /// Its size when the save was planned.
        private final long nbytes;
        private final boolean isOnDevice;
        private final boolean isDecoded;
        private @Nullable BorrowedBytes borrowed;

        StorageBytes(Storage storage) {
            this.storage = storage;
            this.nbytes = storage.nbytes();
            this.isOnDevice = !storage.device().isCpu() && !storage.isMeta();
            this.isDecoded = !isOnDevice && storage.isDecodedOnDemand();
        }

        /// {@return the storage, if it is in memory of the host already}
        Optional<Storage> inPlace() {
            return isOnDevice || isDecoded ? Optional.empty() : Optional.of(storage);
        }

        @Override
        public MemorySegment slice(long offset, long length, MemorySegment buffer) {
            if (isOnDevice) {
                requireSize(storage.nbytes());
                return copied(offset, buffer.asSlice(0, length));
            }
            MemorySegment all = isDecoded ? decoded().segment() : storage.segment();
            requireSize(all.byteSize());
            return all.asSlice(offset, length);
        }

        private void requireSize(long now) {
            if (now < nbytes) {
                throw new IllegalStateException(describe() + " had " + nbytes
                        + " bytes, and was resized while it was being saved; save it before or after");
            }
        }

        private MemorySegment copied(long offset, MemorySegment into) {
            Storage part = storage.slice(offset, into.byteSize());
            try {
                var _ = Storage.wrap(into).copyFrom(part);
            } finally {
                part.release();
            }
            return into;
        }

        private synchronized Storage decoded() {
            if (borrowed == null) {
                borrowed = storage.borrow();
            }
            return borrowed.storage();
        }

        /// Returns the storage that has the bytes of the host, or null while there is none.
        private synchronized @Nullable Storage onHost() {
            if (isDecoded) {
                return borrowed == null ? null : borrowed.storage();
            }
            return isOnDevice ? null : storage;
        }

        @Override
        public boolean areOnDevice() {
            return isOnDevice;
        }

        @Override
        public boolean areDecoded() {
            return isDecoded;
        }

        @Override
        public boolean isAccessibleBy(Thread thread) {
            return isOnDevice || isDecoded || storage.segment().isAccessibleBy(thread);
        }

        @Override
        public Optional<Backing> backing() {
            return Optional.ofNullable(onHost()).flatMap(Storage::backing);
        }

        @Override
        public long start() {
            Storage host = onHost();
            return host == null ? 0 : host.sliceOffset();
        }

        @Override
        public String describe() {
            return storage.describe();
        }

        @Override
        public synchronized void release() {
            if (borrowed != null) {
                borrowed.close();
                borrowed = null;
            }
        }
    }
}
