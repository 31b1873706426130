package io.undercroft.mmap;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.undercroft.mmap.internal.LinuxConstants;
import io.undercroft.mmap.internal.ErrnoException;
import io.undercroft.mmap.internal.Libc;
import io.undercroft.mmap.internal.Mapping;
import io.undercroft.storage.internal.support.Faults;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// Operations on the pages under a native segment: of a mapped file, of shared memory, of a storage
/// (`storage.segment()`), of anything else off the heap.
///
/// The system handles whole pages only: an operation on a segment applies to all pages that it overlaps.
///
/// | | where the system cannot be called |
/// |---|---|
/// | [#size], [#residentBytes] | nothing is returned |
/// | [#advise] | does nothing, as advice may |
/// | [#lock], [#unlock] | [UnsupportedOperationException] |
/// | [#force] | works for what the JDK mapped |
/// | [#probe], [#guard] | work, more slowly |
///
/// On which NUMA node memory lies is decided by the system (which takes the node of the thread that first touches a
/// page) or by `numactl`.
///
/// **Lifetime.** A closed segment throws [IllegalStateException], one of the heap [IllegalArgumentException]. The
/// caller keeps the segment open during the call: closing it meanwhile does no harm, but makes the result meaningless.
/// Safe for any thread.
public final class Pages {
    /// The smallest page there is: a careful read misses none.
    private static final long SMALLEST_PAGE = 4096;

    private Pages() {}

    /// {@return the size of a page in bytes, empty if the system cannot be called}
    public static OptionalLong size() {
        return Libc.find().stream().mapToLong(Libc::pageSize).findFirst();
    }

    /// Declares how a segment will be used. A hint: unsupported advice is ignored.
    ///
    /// @param segment which bytes
    /// @param advice how they will be used
    public static void advise(MemorySegment segment, ReadAdvice advice) {
        checkNative(segment);
        Libc.find().ifPresent(libc -> Mapping.advise(libc, segment, advice));
    }

    /// Reads all pages in and keeps them in memory until they are [unlocked][#unlock] or unmapped. (Locks do not add
    /// up: one unlock undoes all.)
    ///
    /// @param segment which bytes
    /// @throws IOException if the process may not lock so much; its message describes how to raise the limit
    /// @throws MappingException if a page cannot be read in
    /// @throws UnsupportedOperationException if the system cannot be called
    public static void lock(MemorySegment segment) throws IOException {
        Libc libc = required(segment);
        if (segment.byteSize() == 0) {
            return;
        }
        probe(segment);
        try {
            long start = libc.pageFloor(segment.address());
            libc.mlock(start, end(segment) - start);
        } catch (ErrnoException e) {
            throw new IOException(segment.byteSize() + " bytes cannot be locked in memory (" + e.getMessage() + "): "
                    + lockLimit()
                    + "; raise it by ulimit -l, LimitMEMLOCK= of systemd, or docker run --ulimit memlock=-1", e);
        }
    }

    /// Returns the limit, from the line `Max locked memory  8388608  8388608  bytes` of Linux.
    private static String lockLimit() {
        try (Stream<String> limits = Files.lines(Path.of("/proc/self/limits"))) {
            return limits.filter(line -> line.startsWith("Max locked memory")).findFirst()
                    .map(line -> "this process may lock " + line.split("\\s{2,}", -1)[1] + " bytes in all")
                    .orElse("the limit of this process is too low");
        } catch (IOException e) {
            return "the limit of this process is too low";
        }
    }

    /// Unlocks pages. Does nothing if they were not locked.
    ///
    /// @param segment which bytes
    /// @throws UnsupportedOperationException if the system cannot be called
    public static void unlock(MemorySegment segment) {
        Libc libc = required(segment);
        if (segment.byteSize() == 0) {
            return;
        }
        try {
            long start = libc.pageFloor(segment.address());
            libc.munlock(start, end(segment) - start);
        } catch (ErrnoException e) {
            throw new UncheckedIOException(segment.byteSize() + " bytes cannot be unlocked: " + e.getMessage(), e);
        }
    }

    /// Returns how much of a segment is in memory: for a mapped file, in the system's cache, whether this process has
    /// touched it or not. Shared memory that was reserved and never written is not in memory. (For a file that the
    /// process may not write, Linux reports all of it.)
    ///
    /// @param segment which bytes
    /// @return the size in bytes of the pages that are in memory now, empty if the system cannot be called
    public static OptionalLong residentBytes(MemorySegment segment) {
        checkNative(segment);
        Optional<Libc> libc = Libc.find();
        try {
            return libc.isEmpty() ? OptionalLong.empty() : OptionalLong.of(Mapping.residentBytes(libc.get(), segment));
        } catch (ErrnoException e) {
            throw new UncheckedIOException("the system does not report what is in memory: " + e.getMessage(), e);
        }
    }

    /// Writes what was changed in shared mapped bytes to the disk, and waits until it is there. Private mappings are
    /// not changed.
    ///
    /// @param segment which bytes, for instance those of a storage that [FileStorage#open] opened
    /// @throws IOException if writing failed
    /// @throws UnsupportedOperationException if the system cannot be called, and the JDK did not map the bytes
    public static void force(MemorySegment segment) throws IOException {
        checkNative(segment);
        Optional<Libc> libc = Libc.find();
        if (segment.byteSize() == 0) {
            return;
        }
        if (libc.isPresent()) {
            long start = libc.get().pageFloor(segment.address());
            libc.get().msync(start, end(segment) - start, LinuxConstants.MS_SYNC);
        } else if (segment.isMapped()) {
            segment.force();
        } else {
            throw unsupported();
        }
    }

    /// Checks whether all bytes of a segment can be read, for code that a missing page would crash: a native function,
    /// a copy to a device. All pages are read in; what is in memory already takes some 30 ns a page.
    ///
    /// A page that is lost after the probe (a file that is cut while it is copied) still kills the JVM. Files that are
    /// replaced by renaming never do.
    ///
    /// @param segment which bytes
    /// @throws TruncatedMappingException if a file behind it is too short now
    /// @throws MappingException if they cannot be read for another reason
    public static void probe(MemorySegment segment) {
        probe(segment, Libc.find());
    }

    /// As [#probe(MemorySegment)], with or without the C library.
    static void probe(MemorySegment segment, Optional<Libc> libc) {
        checkNative(segment);
        try {
            if (libc.isEmpty() || !isPopulated(libc.get(), segment)) {
                readCarefully(segment);
            }
        } catch (ErrnoException e) {
            throw lost(segment, e);
        } catch (InternalError error) {
            throw faulted(segment, error);
        }
    }

    /// Runs an action that reads mapped bytes, and throws a specific exception if they are missing: touching a page
    /// that is gone throws [InternalError], and in compiled code slightly later. So use this around a loop over
    /// elements, not inside it. It costs nothing.
    ///
    /// (A file that was cut within a page shows zeros there, which [MappedFile#guard] notices, and so does what
    /// storages and tensors do with many bytes.)
    ///
    /// @param <T> what comes of it
    /// @param segment the bytes that are read, for instance of a storage
    /// @param access reads them
    /// @return what came of it
    /// @throws TruncatedMappingException if a file behind the bytes is too short now
    /// @throws MappingException if they could not be read for another reason
    public static <T extends @Nullable Object> T guard(MemorySegment segment, Supplier<T> access) {
        try {
            T result = access.get();
            Faults.throwPending();
            return result;
        } catch (InternalError error) {
            throw faulted(segment, error);
        }
    }

    /// Returns whether the system has read all pages in; false if it has no call for that.
    private static boolean isPopulated(Libc libc, MemorySegment segment) throws ErrnoException {
        if (segment.byteSize() == 0) {
            return true;
        }
        try {
            long start = libc.pageFloor(segment.address());
            libc.madvise(start, end(segment) - start, LinuxConstants.MADV_POPULATE_READ);
            return true;
        } catch (ErrnoException e) {
            e.unless(ErrnoException.EINVAL);
            return false;
        }
    }

    private static void readCarefully(MemorySegment segment) {
        long last = segment.byteSize() - 1;
        for (long at = 0; at <= last; at += SMALLEST_PAGE) {
            segment.get(JAVA_BYTE, at);
        }
        if (last >= 0) {
            segment.get(JAVA_BYTE, last);
        }
        Faults.throwPending();
    }

    private static MappingException faulted(MemorySegment segment, InternalError error) {
        if (!Faults.isFault(error)) {
            throw error;
        }
        return lost(segment, error);
    }

    /// Returns the file, as far as the system reports it.
    ///
    /// @throws IllegalStateException if the bytes are gone because the segment was closed meanwhile
    static MappingException lost(MemorySegment segment, Throwable cause) {
        checkAlive(segment);
        List<MappedRegion> regions = MappedRegion.under(segment);
        for (MappedRegion region : regions) {
            long size = region.fileSize();
            if (size >= 0 && size < region.fileEnd()) {
                return new TruncatedMappingException(region.file(), region.fileEnd(), size);
            }
        }
        long at = firstUnread(segment);
        MemorySegment rest = segment.asSlice(at);
        List<MappedRegion> unread = MappedRegion.under(rest);
        String file = unread.isEmpty() ? "a mapping" : unread.getFirst().file();
        long offset = unread.isEmpty() ? at : unread.getFirst().fileStart();
        return unreadable(file, offset, rest.byteSize(), cause);
    }

    static MappingException unreadable(String file, long offset, long length, Throwable cause) {
        return MappingException.unreadable(file, length,
                new FileReadException(file, offset, new IOException("mapped bytes could not be read", cause)));
    }

    /// Reads page by page, after reading failed.
    ///
    /// @return the first byte of the first page that cannot be read, or 0 if all can be now
    private static long firstUnread(MemorySegment segment) {
        long at = 0;
        try {
            while (at < segment.byteSize()) {
                segment.get(JAVA_BYTE, at);
                Faults.throwPending();
                long inPage = (segment.address() + at) % SMALLEST_PAGE;
                at += SMALLEST_PAGE - inPage;
            }
            return 0;
        } catch (InternalError _) {
            return at;
        }
    }

    /// A part of a segment that a file backs, as Linux lists it in `/proc/self/maps`. Used in messages only: reading
    /// that file is slow, and other systems have none.
    ///
    /// @param file its path; that of one that has none any more ends in ` (deleted)`
    /// @param fileStart the offset of the part in the file, in bytes
    /// @param fileEnd the offset of the end in the file
    private record MappedRegion(String file, long fileStart, long fileEnd) {
        private static final Path MAPS = Path.of("/proc/self/maps");
        private static final Pattern LINE = Pattern
                .compile("(\\p{XDigit}+)-(\\p{XDigit}+) \\S+ (\\p{XDigit}+) \\S+ \\d+ +(/.*)");

        /// {@return the parts in order; none if nothing is known}
        ///
        /// @param segment the segment
        static List<MappedRegion> under(MemorySegment segment) {
            long start = segment.address();
            long end = start + segment.byteSize();
            try (Stream<String> lines = Files.lines(MAPS)) {
                return lines.map(LINE::matcher).filter(Matcher::matches).map(line -> overlap(line, start, end))
                        .flatMap(Optional::stream).toList();
            } catch (IOException e) {
                return List.of();
            }
        }

        /// {@return the size of the file now, in bytes, or -1 if that is not known}
        long fileSize() {
            try {
                return Files.size(Path.of(file));
            } catch (IOException | InvalidPathException e) {
                return -1;
            }
        }

        private static Optional<MappedRegion> overlap(Matcher line, long start, long end) {
            long from = Long.parseUnsignedLong(line.group(1), 16);
            long first = Math.max(from, start);
            long last = Math.min(Long.parseUnsignedLong(line.group(2), 16), end);
            long shift = Long.parseUnsignedLong(line.group(3), 16) - from;
            return first < last
                    ? Optional.of(new MappedRegion(line.group(4), first + shift, last + shift))
                    : Optional.empty();
        }
    }

    private static long end(MemorySegment segment) {
        return segment.address() + segment.byteSize();
    }

    private static Libc required(MemorySegment segment) {
        checkNative(segment);
        return Libc.find().orElseThrow(Pages::unsupported);
    }

    private static UnsupportedOperationException unsupported() {
        return new UnsupportedOperationException(
                "pages cannot be managed here: that needs Linux and " + Libc.nativeAccessFlag(),
                Libc.failure().orElse(null));
    }

    private static void checkNative(MemorySegment segment) {
        if (!segment.isNative()) {
            throw new IllegalArgumentException("the segment lies on the heap, whose pages belong to the JVM");
        }
        checkAlive(segment);
    }

    private static void checkAlive(MemorySegment segment) {
        if (!segment.scope().isAlive()) {
            throw new IllegalStateException("the segment is closed; use it before its arena or file is closed");
        }
    }
}
