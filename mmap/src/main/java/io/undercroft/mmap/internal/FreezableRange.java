package io.undercroft.mmap.internal;

import static io.undercroft.mmap.internal.LinuxConstants.MAP_ANONYMOUS;
import static io.undercroft.mmap.internal.LinuxConstants.MAP_FIXED;
import static io.undercroft.mmap.internal.LinuxConstants.MAP_NORESERVE;
import static io.undercroft.mmap.internal.LinuxConstants.MAP_PRIVATE;
import static io.undercroft.mmap.internal.LinuxConstants.MAP_SHARED;
import static io.undercroft.mmap.internal.LinuxConstants.PROT_NONE;

import io.undercroft.mmap.ReadAdvice;
import io.undercroft.mmap.internal.PageMap.Span;
import io.undercroft.storage.internal.support.Freezable;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/// A range of a file in memory, mapped for a storage, that can be frozen.
///
/// There are two mappings. The *live* one is that of the storage. It is shared at first, so that writes change the
/// file. From the first freeze on it is private: the file does not change, and written pages are copied. The *view* is
/// a reserved address range before the first freeze, and a mapping of the file from then on. Images are read from it,
/// and pages that were written since are copied back to it at the next freeze.
///
/// Replacing the live mapping takes 100 ms for 1 GiB, as each page has to be removed from the old one. So its page
/// tables are moved first, all at once, to become the view (`mremap` with `MREMAP_DONTUNMAP`), and the mapping that is
/// replaced is empty. No address is unmapped at any time: a racing thread reads the bytes from before or after, and the
/// JVM does not crash.
///
/// Copying a page at its first write takes about as long as copying eight pages in a row. If much of a storage was
/// written, it is expected to be written again, and keeps its copies: from then on each freeze copies them to the file,
/// and writes cost nothing more. If little was written, the copies are discarded, so that the next freeze has little to
/// copy.
public final class FreezableRange implements Freezable {
    /// Ranges start at multiples of what a table of pages covers. A gap after each keeps the system from making one
    /// mapping of two, of which a part could not be taken away any more where mappings are scarce.
    private static final long ALIGNMENT = 2L << 20;
    private static final long FILE_SIZE = 1L << 62;
    /// If more than one in this number of pages was written, the copies are kept.
    private static final int MUCH = 8;
    /// More bytes than any processor can address.
    private static final long MOST = 1L << 60;
    /// The number of bytes that a thread copies at a time.
    private static final long PIECE = 1 << 20;

    private static final System.Logger LOG = System.getLogger(FreezableRange.class.getName());

    private final Libc libc;
    private final MemoryFile file;
    private final long offset;
    private final MemorySegment segment;
    private final Lifetime live;
    /// The lifetime of the bytes in the file and of the view, which the live mapping and the image hold.
    private final Lifetime kept;
    private final MemorySegment view;
    private State state = State.LIVE;
    private boolean isRead;

    private enum State {
        /// The live mapping is shared.
        LIVE,
        /// The live mapping is still shared, as making it private has failed, but the view is mapped.
        SHOWN,
        /// The live mapping is private.
        FROZEN
    }

    /// A file in memory without a name, of which ranges are allocated. A process has one, as descriptors are limited;
    /// it is made at the first need and stays as long as the process.
    ///
    /// It is as long as it can be from the start, and takes memory only where something was written. So no range is
    /// allocated twice, and no search for a free one is needed.
    ///
    /// @param libc the library
    /// @param fd its descriptor
    /// @param next the end of the ranges that were allocated
    private record MemoryFile(Libc libc, int fd, AtomicLong next) {
        static final Optional<MemoryFile> SHARED = Libc.find().flatMap(MemoryFile::create);

        private static Optional<MemoryFile> create(Libc libc) {
            try {
                int fd = libc.memfdCreate("undercroft");
                try {
                    libc.truncate(fd, FILE_SIZE);
                    return Optional.of(new MemoryFile(libc, fd, new AtomicLong()));
                } catch (Throwable e) {
                    libc.close(fd);
                    throw e;
                }
            } catch (ErrnoException e) {
                LOG.log(Level.WARNING, () -> "memory cannot be frozen here, and will be copied: " + e.getMessage());
                return Optional.empty();
            }
        }

        /// Hands out a range of zeros.
        long take(long length) {
            return next.getAndAdd(Math.addExact(length, 2 * ALIGNMENT - 1) & -ALIGNMENT);
        }

        /// Takes a range back, and gives its memory to the system.
        void recycle(long offset, long length) {
            try {
                libc.punchHole(fd, offset, length);
            } catch (ErrnoException e) {
                LOG.log(Level.WARNING, () -> length + " bytes of memory stay taken: " + e.getMessage());
            }
        }
    }

    private FreezableRange(Libc libc, MemoryFile file, long offset, MemorySegment segment, MemorySegment view,
            Lifetime live, Lifetime kept) {
        this.libc = libc;
        this.file = file;
        this.offset = offset;
        this.segment = segment;
        this.view = view;
        this.live = live;
        this.kept = kept;
    }

    /// {@return whether there can be such ranges}
    public static boolean isSupported() {
        return MemoryFile.SHARED.isPresent();
    }

    /// Maps a new range and allocates its memory.
    ///
    /// @param nbytes its size in bytes, more than 0
    /// @return the range, with one holder
    /// @throws ErrnoException if there is no such memory
    public static FreezableRange allocate(long nbytes) throws ErrnoException {
        MemoryFile file = MemoryFile.SHARED.orElseThrow();
        Libc libc = file.libc;
        if (nbytes > MOST) {
            throw new ErrnoException("mmap", ErrnoException.ENOMEM);
        }
        long length = libc.pageCeil(nbytes);
        long offset = file.take(length);
        Lifetime kept = new Lifetime("frozen memory", () -> {});
        kept.runAfterRelease(() -> file.recycle(offset, length));
        Lifetime live = new Lifetime("memory that can be frozen", () -> {});
        live.runAfterRelease(kept::release);
        try {
            long space = (length + ALIGNMENT - 1) & -ALIGNMENT;
            long address = reserve(libc, 2 * space);
            MemorySegment whole = Mapping.segment(libc, address, space, live.arena());
            MemorySegment view = Mapping.segment(libc, address + space, space, kept.arena());
            map(libc, address, length, MAP_SHARED, file, offset);
            Mapping.advise(libc, whole.asSlice(0, length), ReadAdvice.HUGE_PAGES);
            Mapping.populate(libc, whole.asSlice(0, length));
            return new FreezableRange(libc, file, offset, whole.asSlice(0, nbytes), view.asSlice(0, nbytes), live,
                    kept);
        } catch (Throwable e) {
            live.release();
            throw e;
        }
    }

    /// Reserves addresses, aligned so that whole page tables can be moved.
    private static long reserve(Libc libc, long length) throws ErrnoException {
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        long more = ALIGNMENT;
        long address = libc.mmap(0, length + more, PROT_NONE, flags, -1, 0);
        long aligned = (address + more - 1) & -more;
        Mapping.unmap(libc, address, aligned - address);
        Mapping.unmap(libc, aligned + length, address + more - aligned);
        return aligned;
    }

    private static void map(Libc libc, long address, long length, int sharing, MemoryFile file, long offset)
            throws ErrnoException {
        int flags = sharing | MAP_FIXED | MAP_NORESERVE;
        libc.mmap(address, length, Mapping.READ_WRITE, flags, file.fd, offset);
    }

    /// {@return the bytes of the storage}
    public MemorySegment segment() {
        return segment;
    }

    /// Releases the bytes of the storage, and those of the file unless an image is open.
    public void release() {
        live.release();
    }

    @Override
    public synchronized Optional<Image> freeze() {
        if (isRead) {
            return Optional.empty();
        }
        live.retain();
        try {
            keep();
            kept.retain();
            isRead = true;
            return Optional.of(new KeptImage(view.asReadOnly()));
        } catch (ErrnoException e) {
            // For instance because the number of mappings is limited. The storage has its bytes in any case.
            return Optional.empty();
        } finally {
            live.release();
        }
    }

    private void keep() throws ErrnoException {
        if (state == State.FROZEN) {
            bringBack();
            return;
        }
        long length = libc.pageCeil(segment.byteSize());
        if (state == State.LIVE) {
            if (!libc.copyMapping(segment.address(), view.address(), length)) {
                map(libc, view.address(), length, MAP_SHARED, file, offset);
            }
            state = State.SHOWN;
        }
        map(libc, segment.address(), length, MAP_PRIVATE, file, offset);
        state = State.FROZEN;
    }

    private void bringBack() {
        List<Span> copies = PageMap.copies(segment);
        long bytes = 0;
        List<Span> pieces = new ArrayList<>();
        for (Span copy : copies) {
            bytes += copy.length();
            for (long done = 0; done < copy.length(); done += PIECE) {
                pieces.add(new Span(copy.from() + done, Math.min(PIECE, copy.length() - done)));
            }
        }
        (bytes > PIECE ? pieces.parallelStream() : pieces.stream()).forEach(
                piece -> MemorySegment.copy(segment, piece.from(), view, piece.from(), piece.length()));
        if (bytes < segment.byteSize() / MUCH) {
            copies.forEach(copy -> Mapping.forget(libc, segment.asSlice(copy.from(), copy.length())));
        }
    }

    private synchronized void endRead() {
        isRead = false;
    }

    private final class KeptImage implements Image {
        private final MemorySegment bytes;
        private final AtomicBoolean closed = new AtomicBoolean();

        KeptImage(MemorySegment bytes) {
            this.bytes = bytes;
        }

        @Override
        public MemorySegment segment() {
            if (closed.get()) {
                throw new IllegalStateException("the image was closed; read it before");
            }
            return bytes;
        }

        @Override
        public void close() {
            if (closed.compareAndSet(false, true)) {
                endRead();
                kept.release();
            }
        }
    }
}
