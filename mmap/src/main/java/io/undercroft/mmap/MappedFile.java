package io.undercroft.mmap;

import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.mmap.internal.ErrnoException;
import io.undercroft.mmap.internal.FileIdentity;
import io.undercroft.mmap.internal.HolderRegistry;
import io.undercroft.mmap.internal.HolderRegistry.Attached;
import io.undercroft.mmap.internal.HolderRegistry.Hold;
import io.undercroft.mmap.internal.HostFile;
import io.undercroft.mmap.internal.HostPath;
import io.undercroft.mmap.internal.IoTask;
import io.undercroft.mmap.internal.Libc;
import io.undercroft.mmap.internal.Lifetime;
import io.undercroft.mmap.internal.PosixFile;
import io.undercroft.mmap.internal.RangeCache;
import io.undercroft.mmap.internal.ReadAhead;
import io.undercroft.mmap.internal.StitchedMapping;
import io.undercroft.mmap.spi.RangeSource;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.internal.support.Faults;
import io.undercroft.storage.internal.support.Operation.Timing;
import io.undercroft.storage.internal.support.Operation;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// An open file whose bytes are mapped on demand, with one lifetime for all mappings.
///
/// **Lifetime.** The file is reference-counted. The caller that opened it has one reference; [#retain] adds one, and so
/// does every [#allocation] until it is freed; [#close] releases one. When the last reference is released, all mappings
/// are unmapped and the descriptor is closed; afterwards reading, mapping and every access to a mapped segment throw
/// [IllegalStateException]. Closing while other threads read is safe. While a native call uses a mapped segment (a
/// write to a socket, a copy to a device), the mappings stay until it ends; closing does not wait for it. A file that
/// is never closed is released by the garbage collector once neither it nor any of its segments is reachable.
///
/// **Truncation.** If the file is truncated after it was mapped, access to a missing page throws [InternalError];
/// [#guard] converts that to [TruncatedMappingException], as do the methods of storages and tensors that work on many
/// bytes. They also detect a new end within a page, the rest of which reads as zeros. Native code that accesses a
/// missing page crashes the JVM, and so does [MemorySegment#mismatch]: pass them only bytes of files that are replaced
/// by renaming, or [probe][Pages#probe] the bytes before.
///
/// **Threads.** All methods may be called from several threads at once, interrupted ones included.
public final class MappedFile implements AutoCloseable {
    /// Null if it is in a store.
    private final @Nullable Path path;
    private final String location;
    /// Null if it is a file of the host.
    private final @Nullable RangeCache remote;
    private final MapMode mode;
    private final MapBudget budget;
    private final HostFile file;
    private final long size;
    /// The number of the file in its file system, or 0 if that is not known.
    private final long identity;
    private final Lifetime lifetime;
    /// The end of the furthest byte that was ever handed out mapped.
    private final AtomicLong mappedEnd = new AtomicLong();
    private final Object wholeLock = new Object();
    private volatile @Nullable MemorySegment whole;
    /// The read-ahead of the mapping of the whole file, if it is on a disk and the C library is in use. Set before the
    /// mapping.
    private @Nullable ReadAhead readAhead;
    private boolean isInMemory;

    private MappedFile(@Nullable Path path, @Nullable RangeCache remote, HostFile file, MapMode mode, MapBudget budget)
            throws IOException {
        this.path = path;
        this.location = remote == null ? String.valueOf(path) : remote.source().location();
        this.remote = remote;
        this.mode = mode;
        this.budget = budget;
        this.file = file;
        this.size = file.size();
        this.identity = file.identity().orElse(0);
        this.lifetime = new Lifetime("the file " + location, remote == null ? file::close : remote::close);
    }

    /// Opens a regular file; for reading only, unless the mode is [MapMode#SHARED]. It has a separate budget. Pipes and
    /// devices are refused without waiting, also if one replaces the file at that moment (except one of the first small
    /// files of a process).
    ///
    /// The first files of a process of up to 4 MiB are opened, and mapped or copied, by the JDK, as binding the C
    /// library takes longer than opening them. As soon as the C library is bound, it opens all files.
    ///
    /// @param path the file
    /// @param mode the mode of its mappings
    /// @return the file, with one reference
    /// @throws IOException if it does not exist, is not a regular file, or cannot be opened; the message is one line
    public static MappedFile open(Path path, MapMode mode) throws IOException {
        return open(path, mode, new MapBudget());
    }

    /// Opens a regular file; for reading only, unless the mode is [MapMode#SHARED].
    ///
    /// @param path the file
    /// @param mode the mode of its mappings
    /// @param budget the budget of its stitched mappings, which may be shared with other files
    /// @return the file, with one reference
    /// @throws IOException if it does not exist, is not a regular file, or cannot be opened; the message is one line
    public static MappedFile open(Path path, MapMode mode, MapBudget budget) throws IOException {
        checkArguments(path, mode, budget);
        return opened(path, mode, budget, HostFile.open(path, mode));
    }

    /// Opens an object of a store. Its bytes are fetched into a sparse temporary file when they are first read or
    /// mapped. The file is removed with the last reference.
    ///
    /// An interrupted thread does not wait for bytes: reading throws [java.io.InterruptedIOException], and mapping
    /// throws [MappingException] with that cause. All other methods work in interrupted threads too.
    ///
    /// @param source the object, which this method closes if it throws, and otherwise [#close]
    /// @param mode the mode of its mappings: [MapMode#PRIVATE] or [MapMode#READ_ONLY]
    /// @param budget the budget of its stitched mappings, which may be shared with other files
    /// @param directory the directory of the temporary file; empty for `java.io.tmpdir`
    /// @return the file, with one reference
    /// @throws RemoteFileException if a temporary file of that size cannot be created
    /// @throws IOException if a system call fails
    /// @throws UnsupportedOperationException if the mode is [MapMode#SHARED], as writes would not reach the store
    public static MappedFile open(RangeSource source, MapMode mode, MapBudget budget, Optional<Path> directory)
            throws IOException {
        Objects.requireNonNull(source, "source");
        Objects.requireNonNull(mode, "mode");
        Objects.requireNonNull(budget, "budget");
        if (mode == MapMode.SHARED) {
            source.close();
            throw new UnsupportedOperationException(source.location()
                    + " cannot be mapped shared: what is written would not reach it; map it copy-on-write");
        }
        RangeCache remote = RangeCache.open(source, mode, directory);
        try {
            return new MappedFile(null, remote, remote.file(), mode, budget);
        } catch (Throwable e) {
            remote.close();
            throw e;
        }
    }

    /// Attaches a segment of shared memory as a file whose parts are mapped on demand.
    ///
    /// @param name the name, with or without a leading slash
    /// @param mode the mode of its mappings
    /// @param budget the budget of its stitched mappings, which may be shared with other files
    /// @param owner the accepted owners
    /// @return the file, with one reference; its path is `/dev/shm/NAME`
    /// @throws SharedMemoryException if the name is not valid, there is no such segment, or it belongs to another user
    /// @throws IOException if it cannot be read
    public static MappedFile attach(String name, MapMode mode, MapBudget budget, TrustedOwner owner)
            throws IOException {
        String plain = SharedMemory.plain(name);
        Objects.requireNonNull(mode, "mode");
        Objects.requireNonNull(budget, "budget");
        Libc libc = SharedMemory.libc("/" + plain);
        int flags = SharedMemory.flag(mode);
        Timing timing = Operation.ATTACH.begin();
        try {
            Attached attached = HolderRegistry.ofThisProcess().attach(plain, flags, owner == TrustedOwner.ANYBODY);
            MappedFile file = attached(libc, HostPath.of("/dev/shm/" + plain), mode, budget, attached);
            timing.end(plain, file.size());
            return file;
        } catch (ErrnoException | SharedMemoryException e) {
            throw SharedMemoryException.of(SharedMemory.Source.shown(plain), e);
        }
    }

    private static MappedFile attached(Libc libc, Path path, MapMode mode, MapBudget budget, Attached attached)
            throws IOException {
        try {
            MappedFile file = opened(path, mode, budget, PosixFile.of(libc, attached.fd(), mode));
            file.isInMemory = true;
            attached.hold().ifPresent(file.lifetime::releaseWhenGone);
            return file;
        } catch (Throwable e) {
            attached.hold().ifPresent(Hold::release);
            throw e;
        }
    }

    /// As [#open(Path, MapMode, MapBudget)], with or without the C library.
    static MappedFile open(Path path, MapMode mode, MapBudget budget, Optional<Libc> libc) throws IOException {
        checkArguments(path, mode, budget);
        return opened(path, mode, budget, HostFile.open(libc, path, mode));
    }

    private static void checkArguments(Path path, MapMode mode, MapBudget budget) throws IOException {
        Objects.requireNonNull(path, "path");
        Objects.requireNonNull(mode, "mode");
        Objects.requireNonNull(budget, "budget");
        checkRegular(path);
    }

    /// Opens a regular file [MapMode#SHARED] and extends it with zeros if it is shorter. It is never truncated.
    ///
    /// @param path the file
    /// @param nbytes how many bytes it shall have at least, more than 0
    /// @param libc the C library, if there is one
    /// @return the file, with one reference
    /// @throws IOException if it cannot be opened or grown
    static MappedFile openAtLeast(Path path, long nbytes, Optional<Libc> libc) throws IOException {
        checkRegular(path);
        return grown(path, HostFile.open(libc, path, MapMode.SHARED), nbytes);
    }

    /// Creates a file [MapMode#SHARED], for its owner only.
    ///
    /// @param path the file
    /// @param nbytes how many zeros it shall have, more than 0
    /// @param libc the C library, if there is one
    /// @return the file, with one reference
    /// @throws FileAlreadyExistsException if it is there already
    /// @throws IOException if it cannot be created or grown; it is removed again then
    static MappedFile create(Path path, long nbytes, Optional<Libc> libc) throws IOException {
        Path folder = path.toAbsolutePath().getParent();
        if (folder != null && Files.notExists(folder)) {
            throw new NoSuchFileException(path.toString(), null, "its folder is not there; make it first");
        }
        HostFile file = HostFile.create(libc, path);
        try {
            return grown(path, file, nbytes);
        } catch (Throwable e) {
            Files.deleteIfExists(path);
            throw e;
        }
    }

    private static MappedFile grown(Path path, HostFile file, long nbytes) throws IOException {
        try {
            file.grow(nbytes);
        } catch (IOException e) {
            file.close();
            throw new FileSystemException(path.toString(), null,
                    "it cannot grow to " + nbytes + " bytes (" + e.getMessage()
                            + "); free some space, or ask for less");
        } catch (Throwable e) {
            file.close();
            throw e;
        }
        return opened(path, MapMode.SHARED, new MapBudget(), file);
    }

    /// Checked before opening, since opening a device may have effects, and since without libc opening a pipe waits for
    /// its other end.
    private static void checkRegular(Path path) throws IOException {
        if (!path.getFileSystem().equals(FileSystems.getDefault())) {
            throw new FileSystemException(path.toString(), null,
                    "only files of the host can be mapped; copy it out of its archive first");
        }
        if (Files.notExists(path)) {
            if (Files.isSymbolicLink(path)) {
                throw new NoSuchFileException(path.toString(), null, "it is a link to '"
                        + Files.readSymbolicLink(path) + "', which is missing; get that file, or name another");
            }
            // U+FFFD replaces bytes of a file name that the system's charset cannot decode.
            throw new NoSuchFileException(path.toString(), null, path.toString().indexOf('\uFFFD') < 0
                    ? "there is no such file; check the path"
                    : "there is no such file; a name that is not text in UTF-8 cannot be given, rename the file");
        }
        if (Files.isDirectory(path)) {
            throw new FileSystemException(path.toString(), null, "it is a directory; name a file in it");
        }
        if (Files.exists(path) && !Files.isRegularFile(path)) {
            throw new FileSystemException(path.toString(), null, HostFile.NOT_REGULAR);
        }
    }

    private static MappedFile opened(Path path, MapMode mode, MapBudget budget, HostFile file) throws IOException {
        try {
            // Files that the system makes up (/proc) have bytes to read but no size.
            if (file.size() == 0 && file.read(0, MemorySegment.ofArray(new byte[1])) > 0) {
                throw new FileSystemException(path.toString(), null,
                        "it has bytes but no size, as files in /proc; copy it into a regular file");
            }
            return new MappedFile(path, null, file, mode, budget);
        } catch (Throwable e) {
            file.close();
            throw e;
        }
    }

    /// {@return the path that the file was opened by}
    ///
    /// @throws UnsupportedOperationException if it is an object of a store, which has no path
    public Path path() {
        if (path == null) {
            throw new UnsupportedOperationException(location + " is no file of this host, and has no path");
        }
        return path;
    }

    /// {@return the path that the file was opened by, or the name of the object of a store, for messages}
    public String location() {
        return location;
    }

    /// {@return the object of a store; empty if this is a file of the host}
    public Optional<RangeSource> source() {
        return Optional.ofNullable(remote).map(RangeCache::source);
    }

    /// {@return the mode of its mappings}
    public MapMode mode() {
        return mode;
    }

    /// {@return the size of the file when it was opened, in bytes}
    public long size() {
        return size;
    }

    /// {@return the number of the file in its file system, which no other file has while this one is open; 0 if the
    /// system call fails}
    long identity() {
        return identity;
    }

    /// {@return whether the path, or the name in the store, still refers to this file: it was neither replaced nor
    /// removed}
    ///
    /// @throws IOException if the system call fails, or the store does not respond
    /// @throws IllegalStateException if the file is closed
    public boolean isCurrent() throws IOException {
        return held(() -> remote == null ? file.isAt(path()) : remote.source().isCurrent());
    }

    /// Fetches pieces of objects of stores that are about to be read or mapped, with several requests at a time. Pieces
    /// that are close to each other are fetched by one request: with gaps of up to 16 KiB, or of up to 64 KiB if the
    /// gaps have at most an eighth of the bytes of the pieces. Ignores pieces of files of the host.
    ///
    /// @param pieces the pieces; bytes past the end of a file are ignored
    /// @throws IOException if they cannot be fetched or stored
    /// @throws IllegalStateException if one of the files is closed
    public static void fetch(List<? extends Piece> pieces) throws IOException {
        for (Map.Entry<MappedFile, List<RangeCache.Range>> each : ranges(pieces).entrySet()) {
            each.getKey().held(() -> {
                each.getKey().remote().require(each.getValue());
                return each;
            });
        }
    }

    private RangeCache remote() {
        return Objects.requireNonNull(remote);
    }

    private static Map<MappedFile, List<RangeCache.Range>> ranges(List<? extends Piece> pieces) {
        Map<MappedFile, List<RangeCache.Range>> ranges = new LinkedHashMap<>();
        for (FilePiece run : Piece.files(pieces)) {
            if (run.file().remote != null) {
                ranges.computeIfAbsent(run.file(), _ -> new ArrayList<>())
                        .add(new RangeCache.Range(run.offset(), run.length()));
            }
        }
        return ranges;
    }

    /// Bytes of objects of stores in memory; see [#hold].
    public interface Held extends AutoCloseable {
        /// Releases the memory. Must be called once.
        @Override
        void close();
    }

    /// Fetches pieces of objects of stores that are read once, as [#fetch], into memory instead of the temporary file.
    /// Until the result is closed, reads of them copy from memory.
    ///
    /// @param pieces the pieces; each should be smaller than a few MiB. Bytes past the end of a file are ignored
    /// @return the memory, which the caller closes
    /// @throws IOException if they cannot be fetched
    /// @throws IllegalStateException if one of the files is closed
    public static Held hold(List<? extends Piece> pieces) throws IOException {
        List<Runnable> releases = new ArrayList<>();
        try {
            for (Map.Entry<MappedFile, List<RangeCache.Range>> each : ranges(pieces).entrySet()) {
                releases.add(each.getKey().held(() -> each.getKey().remote().hold(each.getValue())));
            }
        } catch (Throwable e) {
            releases.forEach(Runnable::run);
            throw e;
        }
        return () -> releases.forEach(Runnable::run);
    }

    /// An action that reads many bytes of files; see [#load].
    @FunctionalInterface
    public interface Load {
        /// Runs the action.
        ///
        /// @throws IOException if reading fails
        void run() throws IOException;
    }

    /// Runs an action whose results are used only after it. Stores are asked once, at its end, whether their objects
    /// were replaced, and not after each read. No thread may use other bytes of the files before that.
    ///
    /// @param files the files that the action reads
    /// @param load the action
    /// @throws RemoteFileException if an object was replaced or removed, even if the action threw another exception
    /// @throws IOException if the action throws it
    public static void load(Collection<MappedFile> files, Load load) throws IOException {
        List<RangeCache> remotes = files.stream().distinct().flatMap(file -> Stream.ofNullable(file.remote)).toList();
        remotes.forEach(RangeCache::beginLoad);
        try {
            load.run();
        } catch (IOException | RuntimeException | Error e) {
            try {
                confirm(remotes);
            } catch (IOException | RuntimeException other) {
                if (other instanceof RemoteFileException changed
                        && changed.kind() == RemoteFileException.Kind.CHANGED) {
                    changed.addSuppressed(e);
                    throw changed;
                }
                e.addSuppressed(other);
            }
            throw e;
        } finally {
            remotes.forEach(RangeCache::endLoad);
        }
        confirm(remotes);
    }

    private static void confirm(List<RangeCache> remotes) throws IOException {
        for (RangeCache remote : remotes) {
            remote.source().confirm();
        }
    }

    /// {@return whether bytes of an object of a store have been fetched} True for a file of the host.
    ///
    /// @param offset the offset of the first byte in the file
    /// @param length the number of bytes
    /// @throws IllegalStateException if the file is closed
    public boolean isFetched(long offset, long length) {
        try (MappedFile _ = retain()) {
            return remote == null || remote.isPresent(offset, length);
        }
    }

    /// Reads bytes that are not read again soon. Bytes of an object of a store that are not in the temporary file are
    /// not stored there. Bytes of a file of the host that are not in the page cache are read past it, if they are 1 MiB
    /// or more, are aligned to pages in the file and in memory, and the file system supports it.
    ///
    /// @param offset the offset of the first byte in the file
    /// @param into the destination, filled completely
    /// @throws IOException if they cannot be read, or the file is shorter
    /// @throws IllegalArgumentException if the offset is negative
    /// @throws IllegalStateException if the file is closed
    public void readOnce(long offset, MemorySegment into) throws IOException {
        if (remote == null) {
            read(offset, into, true);
            return;
        }
        if (offset < 0 || into.byteSize() > size - offset
                || remote.isPartlySupplied(offset, into.byteSize()) || remote.isPresent(offset, into.byteSize())) {
            read(offset, into);
            return;
        }
        try (MappedFile _ = retain()) {
            if (!remote.readHeld(offset, into)) {
                remote.readThrough(offset, into);
            }
        }
    }

    /// {@return whether [#readOnce] reads bytes past the page cache, into memory that is aligned to pages} False for an
    /// object of a store.
    ///
    /// @param offset the offset of the first byte in the file
    /// @param length the number of bytes
    /// @throws IllegalStateException if the file is closed
    public boolean isReadPastCache(long offset, long length) {
        try (MappedFile _ = retain()) {
            return remote == null && file.isReadPastCache(offset, length);
        }
    }

    /// Stores bytes of an object of a store in the temporary file, so that they are not fetched.
    ///
    /// @param offset the offset of the first byte in the file
    /// @param bytes the bytes
    /// @throws IOException if they cannot be stored
    /// @throws IllegalArgumentException if the file is shorter
    /// @throws IllegalStateException if the file is closed, or is a file of the host
    public void supply(long offset, MemorySegment bytes) throws IOException {
        if (remote == null) {
            throw new IllegalStateException(location + " is a file of the host, whose bytes are there");
        }
        if (offset < 0 || bytes.byteSize() > size - offset) {
            throw new IllegalArgumentException(location + " does not have " + bytes.byteSize() + " bytes at byte "
                    + offset);
        }
        try (MappedFile _ = retain()) {
            remote.supply(offset, bytes);
        }
    }

    /// {@return whether a path refers to this file} False if the system does not number files.
    ///
    /// @param other the path
    /// @throws IOException if the system call fails
    /// @throws IllegalStateException if the file is closed
    public boolean isAt(Path other) throws IOException {
        return identity != 0 && held(() -> file.isAt(other));
    }

    /// {@return whether the file begins with the given bytes}
    ///
    /// @param signature the bytes
    /// @throws IOException if reading fails
    /// @throws IllegalStateException if the file is closed
    public boolean startsWith(byte[] signature) throws IOException {
        if (size() < signature.length) {
            return false;
        }
        MemorySegment start = MemorySegment.ofArray(new byte[signature.length]);
        read(0, start);
        return start.mismatch(MemorySegment.ofArray(signature)) < 0;
    }

    /// Reads bytes into memory, without mapping them.
    ///
    /// @param offset the offset of the first byte in the file
    /// @param into the destination, on or off the heap, which is filled completely
    /// @throws EOFException if the file is shorter
    /// @throws IOException if reading fails
    /// @throws IllegalArgumentException if the offset is negative
    /// @throws IllegalStateException if the file is closed
    public void read(long offset, MemorySegment into) throws IOException {
        read(offset, into, false);
    }

    private void read(long offset, MemorySegment into, boolean isOnce) throws IOException {
        if (offset < 0) {
            throw new IllegalArgumentException("there is no byte " + offset + " in a file");
        }
        try (MappedFile _ = retain()) {
            if (remote != null) {
                if (remote.readHeld(offset, into)) {
                    return;
                }
                remote.requireForRead(offset, into.byteSize());
            }
            long count = isOnce ? file.readOnce(offset, into) : file.read(offset, into);
            if (count < into.byteSize()) {
                throw new EOFException(location + ": it ends at byte " + (offset + count) + ", before the "
                        + into.byteSize() + " bytes at byte " + offset + " are read; is it complete?");
            }
        }
    }

    /// Maps a run of bytes.
    ///
    /// @param offset the offset of the first byte in the file, which need not be at a page boundary
    /// @param length the number of bytes, 0 or more
    /// @return exactly these bytes, valid until the last reference to the file is released
    /// @throws MappingException if the file does not have these bytes, or a system call fails
    /// @throws IllegalArgumentException if a number is negative
    /// @throws IllegalStateException if the file is closed
    public MemorySegment map(long offset, long length) {
        FilePiece run = piece(offset, length);
        try (MappedFile _ = retain()) {
            if (length == 0) {
                return nothing();
            }
            long end = Math.addExact(offset, length);
            file.checkInside(end);
            if (remote != null) {
                remote.require(offset, length);
            }
            MemorySegment segment = file.map(offset, length, lifetime.arena());
            hasMapped(end);
            return segment;
        } catch (ArithmeticException e) {
            throw refused(List.of(run), tooLong());
        } catch (IOException e) {
            throw refused(List.of(run), e);
        }
    }

    private static EOFException tooLong() {
        return new EOFException("the pieces add up to more than 2^63 - 1 bytes");
    }

    /// {@return a run of bytes of this file, as a part of a stitched mapping}
    ///
    /// @param offset the offset of the first byte in the file
    /// @param length the number of bytes
    /// @throws IllegalArgumentException if a number is negative
    public FilePiece piece(long offset, long length) {
        return new FilePiece(this, offset, length);
    }

    /// Maps pieces of this and other files, and zeros, one after the other into one contiguous range of addresses
    /// (stitched). The range has the mode and the lifetime of this file: it is unmapped when the last reference to this
    /// file is released. The other files may be closed before.
    ///
    /// Whole pages are mapped if the offset of a piece in its file and in the range match modulo the page size; other
    /// pieces, pieces below 16 KiB, and the edges of pieces are copied. Adjacent pieces count as one. If the budget has
    /// fewer mappings left than the range needs, all of it is copied. As copies are not shared, the pieces of a
    /// [MapMode#SHARED] file must be adjacent pieces of that file.
    ///
    /// @param pieces the pieces, in order
    /// @return a segment as long as all pieces together, valid until the last reference to this file is released. It
    ///     starts on a 64-byte boundary if the offsets and lengths of all pieces are multiples of 64
    /// @throws MappingException if a file does not have these bytes, or a system call fails
    /// @throws UnsupportedOperationException if the file is shared and the pieces are not its own and adjacent
    /// @throws IllegalStateException if this file is closed, or one of the others
    public MemorySegment map(List<Piece> pieces) {
        return map(pieces, lifetime.arena());
    }

    private MemorySegment map(List<Piece> pieces, Arena arena) {
        List<MappedFile> held = new ArrayList<>();
        try {
            held.add(retain());
            Map<MappedFile, Long> ends = ends(pieces);
            for (MappedFile each : ends.keySet()) {
                held.add(each.retain());
            }
            MemorySegment segment = checkedMap(pieces, ends, arena);
            ends.forEach(MappedFile::hasMapped);
            return segment;
        } catch (ArithmeticException e) {
            throw refused(pieces, tooLong());
        } finally {
            held.forEach(MappedFile::close);
        }
    }

    /// Returns for each file that has a byte in pieces, where in it the furthest one ends.
    ///
    /// @throws ArithmeticException if that does not fit a `long`
    private static Map<MappedFile, Long> ends(List<Piece> pieces) {
        Map<MappedFile, Long> ends = new LinkedHashMap<>();
        for (Piece piece : pieces) {
            if (piece instanceof FilePiece run && run.length() > 0) {
                ends.merge(run.file(), Math.addExact(run.offset(), run.length()), Math::max);
            }
        }
        return ends;
    }

    private void hasMapped(long end) {
        long before = mappedEnd.get();
        while (before < end && !mappedEnd.compareAndSet(before, end)) {
            before = mappedEnd.get();
        }
    }

    private MemorySegment checkedMap(List<Piece> pieces, Map<MappedFile, Long> ends, Arena arena) {
        List<StitchedMapping.Run> runs = runs(pieces);
        long length = runs.stream().mapToLong(StitchedMapping.Run::length).reduce(0, Math::addExact);
        checkInside(pieces, ends);
        try {
            fetch(pieces);
            return length == 0 ? nothing() : map(runs, length, arena);
        } catch (EOFException e) {
            // One of them was cut meanwhile: which?
            checkInside(pieces, ends);
            throw refused(pieces, e);
        } catch (IOException e) {
            throw refused(pieces, e);
        }
    }

    private static void checkInside(List<Piece> pieces, Map<MappedFile, Long> ends) {
        for (Map.Entry<MappedFile, Long> end : ends.entrySet()) {
            MappedFile each = end.getKey();
            try {
                each.file.checkInside(end.getValue());
            } catch (IOException e) {
                throw each.refused(pieces.stream().filter(each::has).toList(), e);
            }
        }
    }

    private boolean has(Piece piece) {
        return piece instanceof FilePiece run && run.file() == this;
    }

    /// Returns the same bytes in the fewest runs, none of them empty.
    ///
    /// @throws ArithmeticException if the length of one does not fit a `long`
    private static List<StitchedMapping.Run> runs(List<Piece> pieces) {
        List<StitchedMapping.Run> runs = new ArrayList<>();
        for (Piece piece : pieces) {
            if (piece instanceof Piece.DecodedPiece) {
                throw new IllegalArgumentException("bytes that are decoded cannot be mapped");
            }
            if (piece.length() > 0) {
                StitchedMapping.Run next = piece instanceof FilePiece run
                        ? new StitchedMapping.Run(run.file().file, run.offset(), run.length())
                        : new StitchedMapping.Run(null, 0, piece.length());
                StitchedMapping.Run both = runs.isEmpty() ? null : runs.getLast().with(next);
                if (both == null) {
                    runs.add(next);
                } else {
                    runs.set(runs.size() - 1, both);
                }
            }
        }
        return runs;
    }

    private MemorySegment nothing() {
        MemorySegment nothing = lifetime.arena().allocate(0);
        return mode == MapMode.READ_ONLY ? nothing.asReadOnly() : nothing;
    }

    private MemorySegment map(List<StitchedMapping.Run> runs, long length, Arena arena) throws IOException {
        if (mode != MapMode.SHARED) {
            return file.stitch(runs, length, budget, arena);
        }
        if (runs.size() == 1 && runs.getFirst().file() == file) {
            return file.map(runs.getFirst().offset(), length, arena);
        }
        throw new UnsupportedOperationException(location
                + " is mapped shared: only adjacent pieces of it make one range; map them one by one, or privately");
    }

    /// Maps a run of bytes as an allocation, which has a reference to the file until it is freed.
    ///
    /// @param offset the offset of the first byte in the file
    /// @param length the number of bytes
    /// @return the allocation; [Allocation.Sharing#SHARED] only in [MapMode#SHARED], its file name the path
    /// @throws MappingException as [#map(long, long)]
    /// @throws IllegalStateException if the file is closed
    public Allocation allocation(long offset, long length) {
        return run(map(offset, length), offset);
    }

    private Allocation run(MemorySegment segment, long offset) {
        List<Piece> pieces = file.mapsInPlace() ? List.of(piece(offset, segment.byteSize())) : List.of();
        return allocated(segment, offset)
                .withBacking(new MappedBytes(segment, pieces, true, Map.of(this, offset + segment.byteSize())));
    }

    /// Maps pieces as an allocation, which has references to the file and to the files of the pieces until it is freed.
    /// Its mappings and copies are released then.
    ///
    /// @param pieces the pieces, in order
    /// @return the allocation; [Allocation.Sharing#SHARED] only in [MapMode#SHARED], its file name the path
    /// @throws MappingException as [#map(List)]
    /// @throws IllegalStateException if the file is closed
    public Allocation allocation(List<Piece> pieces) {
        long start = pieces.stream().filter(piece -> piece.length() > 0)
                .mapToLong(piece -> piece instanceof FilePiece run ? run.offset() : 0)
                .findFirst().orElse(0);
        Lifetime range = new Lifetime("a range of " + location, () -> {});
        List<MappedFile> held = new ArrayList<>();
        try {
            Map<MappedFile, Long> ends = ends(pieces);
            // They are asked whether they were truncated.
            ends.keySet().forEach(each -> held.add(each.retain()));
            Allocation here = allocated(map(pieces, range.arena()), start);
            List<Piece> known = Libc.hasBegun() ? List.copyOf(pieces) : List.of();
            return new Allocation(here.segment(), here.sharing(), here.filename().orElse(null),
                    here.origin().orElse(null), () -> {
                        range.release();
                        here.free();
                        held.forEach(MappedFile::close);
                    }).withBacking(new MappedBytes(here.segment(), known, false, ends));
        } catch (Throwable e) {
            range.release();
            held.forEach(MappedFile::close);
            throw e;
        }
    }

    /// Maps a run of bytes as the only thing that is ever mapped of the file, and closes the descriptor now: a process
    /// may have far more mappings than open files. Nothing but [#close] may be called afterwards.
    ///
    /// @param offset from which byte of the file
    /// @param nbytes how many bytes
    /// @return the allocation, as of [#allocation(long, long)]
    /// @throws MappingException as [#map(long, long)]
    Allocation onlyAllocation(long offset, long nbytes) {
        if (offset > size) {
            throw refused(List.of(piece(offset, nbytes)), new EOFException("the file ends at byte " + size));
        }
        Path at = path();
        long number = identity;
        Allocation only = allocation(offset, nbytes).withBacking(() -> checkNotCut(at, number, offset + nbytes));
        file.close();
        return only;
    }

    /// Throws if a file that is mapped and not open any more is too short. It is looked at by its path, for as long as
    /// that still leads to it.
    private static void checkNotCut(Path path, long identity, long end) {
        try {
            boolean isThere = FileIdentity.of(path).filter(found -> found.number() == identity).isPresent();
            long size = isThere ? Files.size(path) : end;
            if (size < end) {
                throw new TruncatedMappingException(path.toString(), end, size);
            }
        } catch (IOException _) {
            // The path names another file or none: its current size cannot be queried.
        }
    }

    /// @param offset where in the file the segment starts, if that is at one place
    private Allocation allocated(MemorySegment segment, long offset) {
        lifetime.retain();
        if (mode != MapMode.SHARED) {
            return new Allocation(segment, Allocation.Sharing.PRIVATE, location, lifetime::release);
        }
        SharedStorageHandle origin = SharedStorageHandle.ofFile(path(), identity,
                new ByteRange(offset, segment.byteSize()));
        return new Allocation(segment, Allocation.Sharing.SHARED, location, origin, lifetime::release);
    }

    /// Returns a part of one mapping of the whole file, which all windows share, as an allocation with a reference to
    /// the file. For files with many storages, for which separate mappings would be slow; the system limits a process
    /// to some tens of thousands.
    ///
    /// Writes through a window are visible in overlapping windows, also of a [MapMode#PRIVATE] file; allocations of
    /// [#allocation] are independent. (Without native access, windows of such a file are separate copies.)
    ///
    /// @param offset the offset of the first byte in the file
    /// @param length the number of bytes
    /// @return the allocation, as of [#allocation(long, long)]
    /// @throws MappingException if the file does not have these bytes or became shorter, or a system call fails
    /// @throws IllegalStateException if the file is closed
    public Allocation window(long offset, long length) {
        boolean outside = offset < 0 || length <= 0 || offset > size - length;
        if (outside || !file.mapsLazily()) {
            return allocation(offset, length);
        }
        try (MappedFile _ = retain()) {
            file.checkInside(offset + length);
            if (remote != null) {
                remote.require(offset, length);
            }
            MemorySegment all = whole();
            if (offset > all.byteSize() - length) {
                // The file has grown since its bytes were mapped.
                return allocation(offset, length);
            }
            hasMapped(offset + length);
            if (readAhead != null) {
                readAhead.use(offset, length);
            }
            checkNotTruncated();
            return run(all.asSlice(offset, length), offset);
        } catch (IOException e) {
            throw refused(List.of(piece(offset, length)), e);
        }
    }

    /// Runs an action that reads many mapped bytes, and throws a descriptive exception if the file was truncated. One
    /// system call after the action also detects a new end within a page, where reads return zeros.
    ///
    /// @param <T> the type of the result
    /// @param access the action, which reads mapped bytes of this file
    /// @return the result of the action
    /// @throws TruncatedMappingException if the file no longer has all mapped bytes
    /// @throws MappingException if the bytes could not be read from the disk
    /// @throws IllegalStateException if the file is closed
    public <T extends @Nullable Object> T guard(Supplier<T> access) {
        try (MappedFile _ = retain()) {
            return watched(access);
        } catch (IOException e) {
            throw unknownSize(e);
        }
    }

    /// Adds a reference, which another call of [#close] releases.
    ///
    /// @return this file
    /// @throws IllegalStateException if the file is closed
    public MappedFile retain() {
        lifetime.retain();
        return this;
    }

    /// Releases one reference; with the last one, all mappings and the descriptor. Does nothing if none is left.
    @Override
    public void close() {
        lifetime.release();
    }

    /// {@return the path and the mode, for messages}
    @Override
    public String toString() {
        return location + " (" + mode + ", " + size + " bytes)";
    }

    /// Returns the mapping that all windows share, made with the first of them, of the bytes that the file has then. It
    /// may be cut afterwards behind all windows, as a `.croft` file is by an append that fails.
    private MemorySegment whole() throws IOException {
        MemorySegment existing = whole;
        if (existing != null) {
            return existing;
        }
        synchronized (wholeLock) {
            if (whole == null) {
                MemorySegment mapped = readable();
                if (remote == null && !isInMemory && Libc.hasBegun()) {
                    readAhead = new ReadAhead(mapped.byteSize(),
                            (offset, length, advice) -> Pages.advise(mapped.asSlice(offset, length), advice));
                }
                whole = mapped;
            }
            return whole;
        }
    }

    /// A small file is copied. If a part of it cannot be read, each window is copied for itself.
    private MemorySegment readable() throws IOException {
        try {
            return file.mapAll(lifetime.arena());
        } catch (FileReadException _) {
            return nothing();
        }
    }

    private MappingException refused(List<Piece> pieces, IOException cause) {
        long offset = pieces.stream()
                .mapToLong(p -> p instanceof FilePiece run ? run.offset() : Long.MAX_VALUE)
                .min().orElse(0);
        long length = pieces.stream().mapToLong(Piece::length).reduce(0,
                (a, b) -> Long.MAX_VALUE - a < b ? Long.MAX_VALUE : a + b);
        if (cause instanceof FileReadException read) {
            return MappingException.unreadable(read.getFile() == null ? location : read.getFile(), length, read);
        }
        return new MappingException(location, "cannot be mapped: " + what(cause), offset, length, remedy(cause), cause);
    }

    private static @Nullable String what(IOException cause) {
        return cause instanceof RemoteFileException remote ? remote.getReason() : cause.getMessage();
    }

    private static String remedy(IOException cause) {
        if (cause instanceof RemoteFileException || cause instanceof InterruptedIOException) {
            return "Touch it again to try again, or copy the file to a local disk";
        }
        if (cause instanceof EOFException) {
            return "Check that the file is complete and that these are its offsets";
        }
        if (cause instanceof ErrnoException errno && errno.errno() == ErrnoException.ENOMEM) {
            return "Close other mapped files, or raise the limits (sysctl vm.max_map_count, ulimit -v)";
        }
        return "Open it with OpenOptions.inMemory(), or copy it to a local disk and open it there";
    }

    private <T extends @Nullable Object> T watched(Supplier<T> access) throws IOException {
        try {
            T result = access.get();
            checkNotTruncated();
            return result;
        } catch (InternalError fault) {
            throw faulted(fault);
        }
    }

    /// Throws an exception if the file is shorter than required. The mapped bytes of its last page past its end read as
    /// zeros.
    ///
    /// @param end the minimum size of the file, in bytes
    /// @throws TruncatedMappingException if it is shorter
    /// @throws MappingException if the system call fails
    /// @throws IllegalStateException if the file is closed
    public void requireAtLeast(long end) {
        try (MappedFile _ = retain()) {
            checkLength(end);
        } catch (IOException e) {
            throw unknownSize(e);
        }
    }

    /// {@return the current size of the file, in bytes; the size of an object of a store when it was opened}
    ///
    /// @throws IOException if the system call fails
    /// @throws IllegalStateException if the file is closed
    public long currentSize() throws IOException {
        return remote == null ? held(file::size) : size;
    }

    private <T extends @Nullable Object> T held(IoTask<T> task) throws IOException {
        try (MappedFile _ = retain()) {
            return task.run();
        }
    }

    private MappingException unknownSize(IOException e) {
        return new MappingException(location, "its size cannot be queried", 0, size, "Open it again", e);
    }

    private void checkNotTruncated() throws IOException {
        checkLength(mappedEnd.get());
    }

    private void checkLength(long mapped) throws IOException {
        long now = file.size();
        if (now < mapped) {
            throw new TruncatedMappingException(location, mapped, now);
        }
    }

    private RuntimeException faulted(InternalError fault) throws IOException {
        if (!Faults.isFault(fault)) {
            throw fault;
        }
        checkNotTruncated();
        MemorySegment all = whole;
        return all != null
                ? Pages.lost(all, fault)
                : Pages.unreadable(location, 0, mappedEnd.get(), fault);
    }
}
