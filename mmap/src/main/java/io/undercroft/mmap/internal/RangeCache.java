package io.undercroft.mmap.internal;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.mmap.internal.support.Retries;
import io.undercroft.mmap.spi.RangeSource;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.internal.support.Operation.Timing;
import io.undercroft.storage.internal.support.Operation;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/// The bytes of a [RangeSource] in a temporary file of the same size, without those that were not requested yet. The
/// file has no name where the system permits that, so that it ends with the process.
///
/// Each byte is fetched once: threads that need the same bytes wait for one request. A request is for whole pages of 4
/// KiB, and for at least a block of 16 KiB, so that what is next to a few bytes is there as well. Missing bytes that
/// are adjacent are one request; long runs are several, some of which are under way at a time. Small reads that are
/// sequential fetch bytes ahead, twice as many each time.
public final class RangeCache implements AutoCloseable {
    /// The least number of bytes that are fetched together, at a multiple of it.
    static final int BLOCK = 16 << 10;
    /// Requests start and end at multiples of it, in bytes, or where bytes are that are present.
    private static final int PAGE = 4 << 10;
    /// The number of bytes of one request of a long run: 8 MiB.
    private static final long PART = 8L << 20;
    /// The maximum number of requests at a time.
    private static final int MOST_AT_ONCE = 6;
    /// The least number of bytes at the end of a file that are fetched together: 64 KiB.
    private static final long LAST = 64L << 10;
    /// The share of a file that is fetched together at its end, up to [#MOST_AHEAD]: the directory of a zip archive of
    /// large tensors is there, and is smaller.
    private static final long LAST_SHARE = 4096;
    /// The number of bytes that sequential small reads fetch at most: 1 MiB.
    private static final long MOST_AHEAD = 1L << 20;
    /// The size of the largest gap between ranges that a request spans: 64 KiB.
    private static final long MOST_GAP = 64L << 10;
    /// The share of the wanted bytes that gaps of more than a block may add to them.
    private static final long GAP_SHARE = 8;

    private final RangeSource source;
    private final long size;
    private final Path path;
    private final boolean isUnnamed;
    private final FileChannel out;
    private final HostFile file;
    private final Semaphore slots = new Semaphore(MOST_AT_ONCE);
    /// Guards the fields below.
    private final Object lock = new Object();
    private final ByteRanges present = new ByteRanges();
    /// The bytes of those that were supplied.
    private final ByteRanges supplied = new ByteRanges();
    private final NavigableMap<Long, Fetch> pending = new TreeMap<>();
    /// Bytes in memory, by their offsets.
    private final NavigableMap<Long, Passing> held = new TreeMap<>();
    /// Memory of requests that is used again while a load runs.
    private final Deque<Allocation> spare = new ArrayDeque<>();
    private int loads;
    /// The end of what the last small read has fetched.
    private long next;
    private long ahead;
    private boolean isClosed;

    /// A range of bytes.
    ///
    /// @param offset its start
    /// @param length its length, in bytes
    public record Range(long offset, long length) {
        long end() {
            return offset > Long.MAX_VALUE - length ? Long.MAX_VALUE : offset + length;
        }
    }

    /// A request for adjacent bytes.
    private static final class Fetch {
        private final long start;
        private final long end;
        private final CompletableFuture<@Nullable Void> done = new CompletableFuture<>();
        /// The number of threads that wait for it. Without any, it is not begun.
        private int waiting;

        Fetch(long start, long end) {
            this.start = start;
            this.end = end;
        }
    }

    private RangeCache(RangeSource source, Path path, boolean isUnnamed, FileChannel out, HostFile file) {
        this.source = source;
        this.size = source.size();
        this.path = path;
        this.isUnnamed = isUnnamed;
        this.out = out;
        this.file = file;
    }

    /// Makes a temporary file for the bytes of a source.
    ///
    /// @param source the source, which then belongs to this
    /// @param mode the mode of the mappings, not [MapMode#SHARED]
    /// @param directory the directory of the temporary file; empty for that of the system
    /// @return the bytes, none of them present but those that the source brought along
    /// @throws RemoteFileException if there cannot be such a file; the source is closed then
    public static RangeCache open(RangeSource source, MapMode mode, Optional<Path> directory)
            throws RemoteFileException {
        Path folder = directory.orElseGet(() -> Path.of(System.getProperty("java.io.tmpdir")));
        try {
            return make(source, mode, folder);
        } catch (IOException e) {
            source.close();
            throw e instanceof RemoteFileException remote ? remote : noSpace(source, folder, e);
        } catch (Throwable e) {
            source.close();
            throw e;
        }
    }

    private static RangeCache make(RangeSource source, MapMode mode, Path directory) throws IOException {
        Path path = Files.createTempFile(directory, "undercroft-", ".part");
        // Without libc, a channel that an interrupt closes is opened again by its name.
        Optional<Libc> libc = Libc.find();
        RandomAccessFile out = null;
        HostFile file = null;
        boolean isKept = false;
        try {
            // Its own methods, unlike those of its channel, work in an interrupted thread.
            out = new RandomAccessFile(path.toFile(), "rw");
            out.setLength(source.size());
            file = HostFile.open(libc, path, mode);
            RangeCache cache = new RangeCache(source, path, libc.isPresent(), out.getChannel(), file);
            cache.addStart(out);
            isKept = libc.isEmpty();
            return cache;
        } catch (Throwable e) {
            if (out != null) {
                out.close();
            }
            if (file != null) {
                file.close();
            }
            throw e;
        } finally {
            if (isKept) {
                path.toFile().deleteOnExit();
            } else {
                Files.deleteIfExists(path);
            }
        }
    }

    private void addStart(RandomAccessFile out) throws IOException {
        MemorySegment start = source.start();
        for (long at = 0; at < start.byteSize(); at += BLOCK) {
            out.write(start.asSlice(at, Math.min(BLOCK, start.byteSize() - at)).toArray(ValueLayout.JAVA_BYTE));
        }
        present.add(0, start.byteSize());
        next = start.byteSize();
        ahead = Math.max(BLOCK, next);
    }

    /// {@return the temporary file} Only bytes that were [required][#require] are those of the source.
    public HostFile file() {
        return file;
    }

    /// {@return the source}
    public RangeSource source() {
        return source;
    }

    /// Fetches the bytes of a range that are missing, and waits until they are present.
    ///
    /// @param offset the start of the range
    /// @param length its length in bytes; what is past the end of the file is not fetched
    /// @throws InterruptedIOException if bytes are missing, and the thread is interrupted; it stays so
    /// @throws RemoteFileException if they cannot be fetched, or not be stored
    /// @throws IOException if this is closed
    public void require(long offset, long length) throws IOException {
        require(List.of(new Range(offset, length)));
    }

    /// Fetches several ranges as [#require(long, long)], several requests at a time.
    ///
    /// @param ranges the ranges
    /// @throws IOException as [#require(long, long)]
    public void require(List<Range> ranges) throws IOException {
        List<Fetch> needed = new ArrayList<>();
        synchronized (lock) {
            for (Range range : joined(ranges)) {
                needed.addAll(begin(rounded(range)));
            }
        }
        await(needed);
    }

    /// Returns the ranges of which bytes are missing, those joined that one request is to span.
    private List<Range> joined(List<Range> ranges) {
        List<Range> sorted = ranges.stream().filter(this::isMissing)
                .sorted(Comparator.comparingLong(Range::offset)).toList();
        List<Range> joined = new ArrayList<>();
        long gaps = 0;
        for (Range range : sorted) {
            long end = endOf(range);
            Range before = joined.isEmpty() ? null : joined.getLast();
            if (before != null) {
                long gap = Math.max(0, range.offset - before.end());
                long large = gap > BLOCK ? gaps + gap : gaps;
                long all = Math.max(end, before.end()) - before.offset;
                if (gap <= MOST_GAP && large <= (all - large) / GAP_SHARE) {
                    gaps = large;
                    joined.set(joined.size() - 1, new Range(before.offset, all));
                    continue;
                }
            }
            gaps = 0;
            joined.add(new Range(range.offset, end - range.offset));
        }
        return joined;
    }

    private boolean isMissing(Range range) {
        return !present.contains(range.offset, endOf(range)) && findHeld(range.offset, range.length) == null;
    }

    private long endOf(Range range) {
        return Math.min(size, range.end());
    }

    /// Fetches ranges into memory, several requests at a time, for reads that follow. They are not stored.
    ///
    /// @param ranges the ranges; those that are present already are not fetched
    /// @return what releases the memory
    /// @throws IOException as [#readThrough]
    public Runnable hold(List<Range> ranges) throws IOException {
        List<Range> wanted;
        synchronized (lock) {
            wanted = joined(ranges);
        }
        Deque<CompletableFuture<Passing>> parts = new ArrayDeque<>();
        List<Long> offsets = new ArrayList<>();
        try {
            wanted.forEach(range -> parts.add(begin(range.offset, range.length)));
            for (Range range : wanted) {
                Passing read = parts.element().get();
                parts.remove();
                synchronized (lock) {
                    if (held.putIfAbsent(range.offset, read) == null) {
                        offsets.add(range.offset);
                        continue;
                    }
                }
                read.close();
            }
        } catch (InterruptedException e) {
            offsets.forEach(this::release);
            throw Retries.interrupted(source.location(), e);
        } catch (ExecutionException e) {
            offsets.forEach(this::release);
            throw failed(e.getCause());
        } finally {
            free(parts);
        }
        return () -> offsets.forEach(this::release);
    }

    private void release(long offset) {
        Passing released;
        synchronized (lock) {
            released = Objects.requireNonNull(held.remove(offset));
        }
        released.close();
    }

    private Map.@Nullable Entry<Long, Passing> findHeld(long offset, long length) {
        Map.Entry<Long, Passing> floor = held.floorEntry(offset);
        return floor == null || floor.getValue().bytes.byteSize() - (offset - floor.getKey()) < length
                ? null
                : floor;
    }

    /// Copies bytes that are [held][#hold].
    ///
    /// @param offset the offset of the bytes
    /// @param into the destination
    /// @return whether they were there
    public boolean readHeld(long offset, MemorySegment into) {
        Map.Entry<Long, Passing> entry;
        synchronized (lock) {
            entry = findHeld(offset, into.byteSize());
            if (entry == null) {
                return false;
            }
            entry.getValue().users++;
        }
        try (Passing part = entry.getValue()) {
            MemorySegment.copy(part.bytes, offset - entry.getKey(), into, 0, into.byteSize());
            return true;
        }
    }

    /// Fetches bytes as [#require(long, long)], for a read, which others may follow.
    ///
    /// @param offset the start of the range
    /// @param length its length in bytes
    /// @throws IOException as [#require(long, long)]
    public void requireForRead(long offset, long length) throws IOException {
        if (length <= 0 || offset >= size) {
            return;
        }
        List<Fetch> needed;
        synchronized (lock) {
            Range wanted = new Range(offset, length);
            long missing = present.nextAbsent(offset);
            if (missing >= endOf(wanted)) {
                return;
            }
            needed = begin(length < MOST_AHEAD ? withMore(missing, endOf(wanted)) : rounded(wanted));
        }
        await(needed);
    }

    /// Returns what is fetched for a small read.
    ///
    /// @param missing its first byte that is missing
    /// @param end its end
    private Range withMore(long missing, long end) {
        long last = Math.clamp(size / LAST_SHARE, LAST, MOST_AHEAD);
        if (size - missing <= last) {
            // The end of a file is read backwards: that of a zip archive.
            next = size;
            return new Range(Math.max(0, size - last), Math.min(size, last));
        }
        boolean isSequential = missing >= next && missing - next < BLOCK;
        ahead = isSequential ? Math.min(2 * ahead, MOST_AHEAD) : BLOCK;
        Range range = rounded(isSequential
                ? new Range(next, Math.max(end - next, ahead))
                : new Range(missing, end - missing));
        next = range.end();
        return range;
    }

    /// Begins a load: until [#endLoad], reads are not confirmed, and memory of requests is kept for others.
    public void beginLoad() {
        synchronized (lock) {
            loads++;
        }
    }

    /// Ends a load. What it read is to be [confirmed][RangeSource#confirm] before it is used.
    public void endLoad() {
        List<Allocation> unused = List.of();
        synchronized (lock) {
            loads--;
            if (loads == 0) {
                unused = List.copyOf(spare);
                spare.clear();
            }
        }
        unused.forEach(Allocation::free);
    }

    private void readSource(long offset, MemorySegment into) throws IOException {
        Timing timing = Operation.FETCH.begin();
        source.read(offset, into);
        timing.end(source.location(), into.byteSize());
        boolean isConfirmedLater;
        synchronized (lock) {
            isConfirmedLater = loads > 0;
        }
        if (!isConfirmedLater) {
            source.confirm();
        }
    }

    /// Stores bytes of the source that the caller has from elsewhere, so that they are not fetched.
    ///
    /// @param offset their offset
    /// @param bytes the bytes, all of them in the file
    /// @throws RemoteFileException if they cannot be stored
    /// @throws IOException if this is closed
    public void supply(long offset, MemorySegment bytes) throws IOException {
        for (long done = 0; done < bytes.byteSize(); done += PART) {
            write(offset + done, bytes.asSlice(done, Math.min(PART, bytes.byteSize() - done)));
        }
        synchronized (lock) {
            supplied.add(offset, offset + bytes.byteSize());
            present.add(offset, offset + bytes.byteSize());
        }
    }

    /// Reads bytes from the source without storing them, several requests at a time.
    ///
    /// @param offset the offset of the bytes, all of them in the file
    /// @param into the destination, which this thread alone writes to
    /// @throws InterruptedIOException if the thread is interrupted; it stays so
    /// @throws RemoteFileException if they cannot be fetched
    /// @throws IOException if this is closed
    public void readThrough(long offset, MemorySegment into) throws IOException {
        long step = PART;
        if (into.byteSize() <= step) {
            readDirectly(offset, into);
            return;
        }
        Deque<CompletableFuture<Passing>> parts = new ArrayDeque<>();
        long started = 0;
        try {
            for (long done = 0; done < into.byteSize(); done += step) {
                while (started < into.byteSize() && parts.size() < MOST_AT_ONCE) {
                    parts.add(begin(offset + started, Math.min(step, into.byteSize() - started)));
                    started += step;
                }
                // Still among the parts while this waits, so that its memory is freed if that is interrupted.
                try (Passing part = parts.element().get()) {
                    parts.remove();
                    MemorySegment.copy(part.bytes, 0, into, done, part.bytes.byteSize());
                }
            }
        } catch (InterruptedException e) {
            throw Retries.interrupted(source.location(), e);
        } catch (ExecutionException e) {
            throw failed(e.getCause());
        } finally {
            free(parts);
        }
    }

    /// A single request needs no other thread, and no memory on the way.
    private void readDirectly(long offset, MemorySegment into) throws IOException {
        try {
            slots.acquire();
        } catch (InterruptedException e) {
            throw Retries.interrupted(source.location(), e);
        }
        try {
            readSource(offset, into);
        } catch (RuntimeException e) {
            throw failed(e);
        } finally {
            slots.release();
        }
    }

    private static void free(Collection<CompletableFuture<Passing>> parts) {
        for (CompletableFuture<Passing> part : parts) {
            var _ = part.thenAccept(Passing::close);
        }
    }

    /// Bytes on the way to a reader.
    private final class Passing implements AutoCloseable {
        private final Allocation memory;
        private final MemorySegment bytes;
        /// The number of those that have to close this: one that keeps it, and those that copy. Guarded by the lock.
        private int users = 1;

        Passing(long length) {
            Allocation kept;
            long size;
            synchronized (lock) {
                kept = length > PART ? null : spare.poll();
                // Its unfilled part is never touched.
                size = loads > 0 ? Math.max(length, PART) : length;
            }
            this.memory = kept != null ? kept : AnonymousMemory.allocator().allocate(size);
            this.bytes = memory.segment().asSlice(0, length);
        }

        @Override
        public void close() {
            synchronized (lock) {
                users--;
                if (users > 0) {
                    return;
                }
                if (loads > 0 && memory.segment().byteSize() == PART && spare.size() < MOST_AT_ONCE) {
                    spare.push(memory);
                    return;
                }
            }
            memory.free();
        }
    }

    private CompletableFuture<Passing> begin(long offset, long length) {
        CompletableFuture<Passing> part = new CompletableFuture<>();
        Thread.ofVirtual().name("reads " + source.location()).start(() -> {
            slots.acquireUninterruptibly();
            Passing read = null;
            try {
                read = new Passing(length);
                readSource(offset, read.bytes);
                part.complete(read);
            } catch (Throwable e) {
                if (read != null) {
                    read.close();
                }
                part.completeExceptionally(e);
            } finally {
                slots.release();
            }
        });
        return part;
    }

    /// {@return whether bytes are present}
    ///
    /// @param offset the start of a range
    /// @param length its length in bytes
    public boolean isPresent(long offset, long length) {
        synchronized (lock) {
            return present.contains(offset, endOf(new Range(offset, length)));
        }
    }

    /// {@return whether some of a range of bytes were supplied}
    ///
    /// @param offset the start of the range
    /// @param length its length in bytes
    public boolean isPartlySupplied(long offset, long length) {
        synchronized (lock) {
            return supplied.intersects(offset, endOf(new Range(offset, length)));
        }
    }

    /// Returns a range with what is fetched together with it: a small file as a whole.
    private Range rounded(Range range) {
        if (size <= LAST) {
            return new Range(0, size);
        }
        Range pages = rounded(range, PAGE);
        return pages.length < BLOCK ? rounded(pages, BLOCK) : pages;
    }

    private Range rounded(Range range, int step) {
        long start = range.offset / step * step;
        return new Range(start, Math.min(size, Math.ceilDiv(endOf(range), step) * step) - start);
    }

    /// Begins the requests for bytes that are missing and that no other thread has begun, and counts this thread among
    /// those that wait for all of them.
    private List<Fetch> begin(Range range) throws IOException {
        List<Fetch> needed = new ArrayList<>();
        long at = present.nextAbsent(range.offset);
        if (isClosed && at < range.end()) {
            throw new IOException(source.location() + " is closed");
        }
        while (at < range.end()) {
            Map.Entry<Long, Fetch> before = pending.floorEntry(at);
            Fetch fetch = before == null || before.getValue().end <= at ? null : before.getValue();
            if (fetch == null) {
                Fetch begun = new Fetch(at, endOfRun(at, range.end()));
                pending.put(at, begun);
                Thread.ofVirtual().name("fetches " + source.location()).start(() -> run(begun));
                fetch = begun;
            }
            fetch.waiting++;
            needed.add(fetch);
            at = present.nextAbsent(fetch.end);
        }
        return needed;
    }

    private long endOfRun(long start, long stop) {
        // A little more than one part is one request.
        long end = Math.min(stop - start <= PART + PART / 8 ? stop : start + PART, present.nextPresent(start));
        Long under = pending.higherKey(start);
        return under == null ? end : Math.min(end, under);
    }

    private void run(Fetch fetch) {
        slots.acquireUninterruptibly();
        try {
            if (isWanted(fetch)) {
                fetch(fetch);
                finish(fetch, true);
                fetch.done.complete(null);
            }
        } catch (Throwable e) {
            finish(fetch, false);
            fetch.done.completeExceptionally(e);
        } finally {
            slots.release();
        }
    }

    /// Nobody waits any more if another request of all who did has failed, or if they were interrupted.
    private boolean isWanted(Fetch fetch) {
        synchronized (lock) {
            if (fetch.waiting > 0) {
                return true;
            }
            pending.remove(fetch.start);
            return false;
        }
    }

    private void finish(Fetch fetch, boolean isDone) {
        synchronized (lock) {
            pending.remove(fetch.start);
            if (isDone) {
                present.add(fetch.start, fetch.end);
            }
        }
    }

    private void fetch(Fetch fetch) throws IOException {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment bytes = arena.allocate(fetch.end - fetch.start);
            readSource(fetch.start, bytes);
            write(fetch.start, bytes);
        }
    }

    private void write(long offset, MemorySegment bytes) throws IOException {
        ByteBuffer buffer = bytes.asByteBuffer();
        try {
            while (buffer.hasRemaining()) {
                out.write(buffer, offset + buffer.position());
            }
        } catch (IOException e) {
            if (isClosed()) {
                throw e;
            }
            throw noSpace(source, path.getParent(), e);
        }
    }

    private static RemoteFileException noSpace(RangeSource source, @Nullable Path directory, IOException e) {
        return new RemoteFileException(source.location(), Kind.NO_SPACE, "its bytes cannot be stored in " + directory
                + " (" + e.getMessage() + "); free some space there, or name another directory with "
                + "OpenOptions.temporaryDirectory", e);
    }

    private void await(List<Fetch> fetches) throws IOException {
        int awaited = 0;
        try {
            for (Fetch fetch : fetches) {
                fetch.done.get();
                awaited++;
            }
        } catch (InterruptedException e) {
            throw Retries.interrupted(source.location(), e);
        } catch (ExecutionException e) {
            throw failed(e.getCause());
        } finally {
            if (awaited < fetches.size()) {
                synchronized (lock) {
                    fetches.forEach(fetch -> fetch.waiting--);
                }
            }
        }
    }

    private IOException failed(@Nullable Throwable cause) {
        return cause instanceof IOException failure
                ? failure
                : new IOException(source.location() + ": " + cause, cause);
    }

    private boolean isClosed() {
        synchronized (lock) {
            return isClosed;
        }
    }

    /// Ends what is under way and closes the temporary file; mappings stay. Does nothing the second time.
    @Override
    public void close() {
        synchronized (lock) {
            if (isClosed) {
                return;
            }
            isClosed = true;
        }
        source.close();
        file.close();
        try {
            out.close();
            if (!isUnnamed) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            System.getLogger(RangeCache.class.getName()).log(System.Logger.Level.WARNING,
                    "closing the temporary file " + path + " failed", e);
        }
    }

    /// A set of bytes of a file, as ranges. It takes memory for each range that touches no other one, and none for the
    /// size of the file.
    static final class ByteRanges {
        /// The ends of the ranges by their starts; they do not overlap or touch.
        private final NavigableMap<Long, Long> ends = new TreeMap<>();

        /// Adds the bytes of a range.
        ///
        /// @param start the offset of the first byte
        /// @param end the offset after the last one
        void add(long start, long end) {
            if (start >= end) {
                return;
            }
            long from = start;
            long to = end;
            Map.Entry<Long, Long> before = ends.floorEntry(start);
            if (before != null && before.getValue() >= start) {
                from = before.getKey();
                to = Math.max(to, before.getValue());
            }
            for (Map.Entry<Long, Long> after = ends.ceilingEntry(from); after != null
                    && after.getKey() <= to; after = ends.ceilingEntry(from)) {
                to = Math.max(to, after.getValue());
                ends.remove(after.getKey());
            }
            ends.put(from, to);
        }

        /// {@return whether all bytes of a range are in the set}
        ///
        /// @param start the offset of the first byte
        /// @param end the offset after the last one
        boolean contains(long start, long end) {
            return start >= end || nextAbsent(start) >= end;
        }

        /// {@return whether a byte of a range is in the set}
        ///
        /// @param start the offset of the first byte
        /// @param end the offset after the last one
        boolean intersects(long start, long end) {
            Map.Entry<Long, Long> before = ends.lowerEntry(end);
            return start < end && before != null && before.getValue() > start;
        }

        /// {@return the offset of the first byte that is not in the set, from an offset on}
        ///
        /// @param offset the offset
        long nextAbsent(long offset) {
            Map.Entry<Long, Long> before = ends.floorEntry(offset);
            return before == null ? offset : Math.max(offset, before.getValue());
        }

        /// {@return the offset of the first byte that is in the set, from one that is not; [Long#MAX_VALUE] if there is
        /// none}
        ///
        /// @param absent the offset of a byte that is not in the set
        long nextPresent(long absent) {
            Long start = ends.higherKey(absent);
            return start == null ? Long.MAX_VALUE : start;
        }
    }
}
