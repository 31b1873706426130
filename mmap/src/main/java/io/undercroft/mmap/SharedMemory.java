package io.undercroft.mmap;

import static io.undercroft.mmap.internal.Constant.MAP_SHARED;
import static io.undercroft.mmap.internal.Constant.O_CREAT;
import static io.undercroft.mmap.internal.Constant.O_EXCL;
import static io.undercroft.mmap.internal.Constant.O_RDONLY;
import static io.undercroft.mmap.internal.Constant.O_RDWR;
import static io.undercroft.mmap.internal.Constant.PROT_READ;
import static io.undercroft.mmap.internal.Constant.PROT_WRITE;

import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.mmap.internal.Constant;
import io.undercroft.mmap.internal.ErrnoException;
import io.undercroft.mmap.internal.Libc;
import io.undercroft.mmap.internal.Lifetime;
import io.undercroft.mmap.internal.Mapping;
import io.undercroft.mmap.internal.OwnedNames;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ThreadLocalRandom;

/// A named run of bytes that several processes of one host have in common: POSIX shared memory, the file
/// `/dev/shm/NAME` on Linux. The payload is all there is, without a header, so that PyTorch's
/// `from_file('/dev/shm/NAME', shared=True)` and numpy's `memmap` see the same bytes.
///
/// A segment and its name are two things. [#close] takes the mapping of this process away; [#unlink] removes the
/// name, so that nobody new can attach, and the bytes go once the last process has closed. What is made by [#create]
/// is unlinked by the caller of `unlink` and nobody else: forgotten, it stays until the host restarts. Names that
/// belong to a storage, of the [#allocator] or of [FileStorage#openSharedMemory(String, long)], go with the storage.
///
/// **Lifetime.** The creator is the first holder. [#retain] adds one, and so does every [#allocation] until it is
/// freed; [#close] lets one go, and the last one unmaps. From then on the segment throws [IllegalStateException].
///
/// **Threads and processes.** Writes are seen by all processes at once but in no promised order; use the access modes
/// of [java.lang.invoke.VarHandle] to order them. The name can be found before [#create] has returned, so tell it to
/// others afterwards.
public final class SharedMemory implements AutoCloseable {
    private static final Path HOME = Path.of("/dev/shm");
    /// Read and write for the owner, nothing for others.
    private static final int OWNER_ONLY = 0600;
    private static final int SHOWN_NAME = 80;
    /// Ten digits to the base 36: more would make the name too long for macOS.
    private static final long FRESH_NAMES = 3_656_158_440_062_976L;
    private static final long ALL = -1;
    private static final boolean LINUX = System.getProperty("os.name").equals("Linux");

    private final String name;
    private final Lifetime lifetime;
    private final MemorySegment segment;

    private SharedMemory(String name, Lifetime lifetime, MemorySegment segment) {
        this.name = name;
        this.lifetime = lifetime;
        this.segment = segment;
    }

    /// Creates a segment of zeros that only this user may attach. All of its memory is there when this returns.
    ///
    /// @param name its name, with or without a slash in front
    /// @param nbytes its size in bytes, 0 or more
    /// @return the segment, readable and writable
    /// @throws SharedMemoryException if the name is not valid or in use, or there is not that much memory; nothing is
    ///     left behind
    /// @throws IllegalArgumentException if the size is negative
    public static SharedMemory create(String name, long nbytes) throws SharedMemoryException {
        if (nbytes < 0) {
            throw new IllegalArgumentException("shared memory cannot have " + nbytes + " bytes");
        }
        String plain = plainName(name);
        Libc libc = libc(plain);
        try {
            int fd = libc.shmOpen("/" + plain, Constant.flags(O_CREAT, O_EXCL, O_RDWR), OWNER_ONLY);
            try {
                if (nbytes > 0) {
                    libc.allocate(fd, 0, nbytes);
                }
                return map(libc, plain, fd, nbytes, Access.READ_WRITE);
            } catch (ErrnoException | RuntimeException | Error e) {
                discard(libc, plain, e);
                throw e;
            } finally {
                libc.close(fd);
            }
        } catch (ErrnoException e) {
            throw described(plain, nbytes, e);
        }
    }

    /// Attaches a segment that is there, for reading and writing.
    ///
    /// @param name its name, with or without a slash in front
    /// @return the segment, of the size it was created with
    /// @throws SharedMemoryException if the name is not valid or there is no such segment
    public static SharedMemory attach(String name) throws SharedMemoryException {
        return attach(name, Access.READ_WRITE);
    }

    /// Attaches a segment that is there, for reading only.
    ///
    /// @param name its name, with or without a slash in front
    /// @return the segment, of the size it was created with
    /// @throws SharedMemoryException if the name is not valid or there is no such segment
    public static SharedMemory attachReadOnly(String name) throws SharedMemoryException {
        return attach(name, Access.READ_ONLY);
    }

    /// The allocator of fresh segments, each with a name of its own (`/undercroft_PID_RANDOM`), which [Allocation#filename]
    /// tells and which other processes may [#attach] or give to [FileStorage#openSharedMemory(String)]. The name is
    /// removed when its storage is freed, or when this JVM ends in order; processes that are attached keep the bytes.
    ///
    /// Where there is not that much shared memory it throws [OutOfMemoryError], where there is none at all
    /// [UncheckedIOException]; the message is that of [#create].
    ///
    /// @return the allocator, safe for any thread
    public static Allocator allocator() {
        return SharedMemory::allocate;
    }

    /// Creates a segment whose name goes with its storage, or attaches one that is there and makes it larger if it is
    /// too small.
    ///
    /// @param name its name, with or without a slash in front
    /// @param nbytes how many bytes; with 0, nothing is created
    /// @return the first bytes of the segment
    /// @throws SharedMemoryException as [#create] and [#attach]
    static Allocation openAtLeast(String name, long nbytes) throws SharedMemoryException {
        // Others may create or unlink the name between the two: then it is to be tried again.
        while (true) {
            try (SharedMemory memory = attach(name, Access.READ_WRITE, nbytes)) {
                return memory.allocation();
            } catch (SharedMemoryException e) {
                if (e.reason() != Reason.NOT_FOUND || nbytes == 0) {
                    throw e;
                }
            }
            try {
                return create(name, nbytes).owned();
            } catch (SharedMemoryException e) {
                if (e.reason() != Reason.EXISTS) {
                    throw e;
                }
            }
        }
    }

    /// Removes a name. Processes that are attached keep the bytes.
    ///
    /// @param name the name, with or without a slash in front
    /// @return whether there was such a name
    /// @throws SharedMemoryException if the name is not valid or belongs to somebody else
    public static boolean unlink(String name) throws SharedMemoryException {
        String plain = plainName(name);
        Libc libc = libc(plain);
        OwnedNames.ofThisProcess().forget(plain);
        try {
            libc.shmUnlink("/" + plain);
            return true;
        } catch (ErrnoException e) {
            if (e.errno() == ErrnoException.ENOENT) {
                return false;
            }
            throw described(plain, e);
        }
    }

    /// {@return the name, without a slash}
    public String name() {
        return name;
    }

    /// {@return the size in bytes}
    public long nbytes() {
        return segment.byteSize();
    }

    /// {@return the bytes, valid until the last holder lets go}
    public MemorySegment segment() {
        return segment;
    }

    /// The bytes as an allocation that holds the mapping until it is freed.
    ///
    /// @return the allocation; shared, its file name the name with a slash in front (as PyTorch's `filename`)
    /// @throws IllegalStateException if the last holder has let go
    public Allocation allocation() {
        lifetime.retain();
        return new Allocation(segment, Allocation.Sharing.SHARED, "/" + name, lifetime::release);
    }

    /// Adds a holder, who has to [#close] too.
    ///
    /// @return this segment
    /// @throws IllegalStateException if the last holder has let go
    public SharedMemory retain() {
        lifetime.retain();
        return this;
    }

    /// Lets one holder go, and with the last one the mapping of this process; the name stays. Does nothing when there
    /// is no holder left.
    @Override
    public void close() {
        lifetime.release();
    }

    /// {@return the name and the size, for messages}
    @Override
    public String toString() {
        return "shared memory /" + name + " of " + nbytes() + " bytes";
    }

    private enum Access {
        READ_ONLY, READ_WRITE
    }

    private static SharedMemory attach(String name, Access access) throws SharedMemoryException {
        return attach(name, access, ALL);
    }

    /// @param nbytes how many bytes to map, or [#ALL]; a smaller segment grows
    private static SharedMemory attach(String name, Access access, long nbytes) throws SharedMemoryException {
        String plain = plainName(name);
        Libc libc = libc(plain);
        try {
            int flags = (access == Access.READ_ONLY ? O_RDONLY : O_RDWR).value();
            int fd = libc.shmOpen("/" + plain, flags, 0);
            try {
                long size = libc.size(fd);
                if (size < nbytes) {
                    libc.allocate(fd, 0, nbytes);
                }
                return map(libc, plain, fd, nbytes == ALL ? size : nbytes, access);
            } finally {
                libc.close(fd);
            }
        } catch (ErrnoException e) {
            throw nbytes == ALL ? described(plain, e) : described(plain, nbytes, e);
        }
    }

    private static Allocation allocate(long nbytes) {
        long random = ThreadLocalRandom.current().nextLong(FRESH_NAMES);
        String fresh = "undercroft_" + ProcessHandle.current().pid() + "_" + Long.toString(random, Character.MAX_RADIX);
        try {
            return create(fresh, nbytes).owned();
        } catch (SharedMemoryException e) {
            if (e.reason() != Reason.FULL) {
                throw new UncheckedIOException(e);
            }
            OutOfMemoryError error = new OutOfMemoryError(e.getMessage());
            error.initCause(e);
            throw error;
        }
    }

    /// The creator's hold as an allocation that takes the name with it.
    private Allocation owned() {
        OwnedNames names = OwnedNames.ofThisProcess();
        names.add(name, lifetime);
        return new Allocation(segment, Allocation.Sharing.SHARED, "/" + name, () -> {
            names.remove(name, lifetime);
            lifetime.release();
        });
    }

    private static SharedMemory map(Libc libc, String name, int fd, long nbytes, Access access) throws ErrnoException {
        Lifetime lifetime = new Lifetime("shared memory /" + name, () -> {});
        MemorySegment segment = nbytes == 0 ? lifetime.arena().allocate(0) : mapped(libc, fd, nbytes, access, lifetime);
        return new SharedMemory(name, lifetime, access == Access.READ_ONLY ? segment.asReadOnly() : segment);
    }

    private static MemorySegment mapped(Libc libc, int fd, long nbytes, Access access, Lifetime lifetime)
            throws ErrnoException {
        int protection = access == Access.READ_ONLY ? PROT_READ.value() : PROT_READ.value() | PROT_WRITE.value();
        long address = libc.mmap(0, nbytes, protection, MAP_SHARED.value(), fd, 0);
        return Mapping.segment(libc, address, nbytes, lifetime.arena());
    }

    private static Libc libc(String name) throws SharedMemoryException {
        return Libc.find().orElseThrow(() -> new SharedMemoryException(Reason.UNSUPPORTED, "/" + name
                + ": shared memory is not supported here: it needs Linux or macOS and --enable-native-access=ALL-UNNAMED",
                Libc.failure().orElse(null)));
    }

    private static String plainName(String name) throws SharedMemoryException {
        String plain = name.startsWith("/") ? name.substring(1) : name;
        int length = plain.getBytes(StandardCharsets.UTF_8).length;
        int limit = Constant.SHM_NAME_MAX.value();
        if (plain.isEmpty() || plain.equals(".") || plain.equals("..")) {
            throw badName(name, "it has to name something; use a word such as weights");
        }
        if (plain.indexOf('/') >= 0 || plain.chars().anyMatch(Character::isISOControl)) {
            throw badName(name, "it may have one slash, in front, and no NUL or other control character");
        }
        if (length > limit) {
            throw badName(name, "it has " + length + " bytes and may have " + limit);
        }
        return plain;
    }

    private static void discard(Libc libc, String name, Throwable failure) {
        try {
            libc.shmUnlink("/" + name);
        } catch (ErrnoException e) {
            failure.addSuppressed(e);
        }
    }

    private static SharedMemoryException badName(String name, String rule) {
        String shown = name.substring(0, Math.min(name.length(), SHOWN_NAME)).replaceAll("\\p{Cntrl}", "?");
        return new SharedMemoryException(Reason.BAD_NAME, "'" + shown + "' is no name for shared memory: " + rule,
                null);
    }

    private static SharedMemoryException described(String name, long nbytes, ErrnoException e) {
        return switch (e.errno()) {
            case ErrnoException.EEXIST -> new SharedMemoryException(Reason.EXISTS,
                    "shared memory /" + name + " exists already: attach to it, unlink it first, or choose another name",
                    e);
            case ErrnoException.ENOSPC, ErrnoException.ENOMEM, ErrnoException.EFBIG -> new SharedMemoryException(
                    Reason.FULL, "shared memory /" + name + " wants " + nbytes + " bytes, but " + free()
                            + ": unlink what is no longer used, or enlarge it (docker run --shm-size=SIZE; in Kubernetes an "
                            + "emptyDir of medium Memory at /dev/shm; on a host mount -o remount,size=SIZE /dev/shm)",
                    e);
            default -> described(name, e);
        };
    }

    private static SharedMemoryException described(String name, ErrnoException e) {
        String what = "shared memory /" + name;
        return switch (e.errno()) {
            case ErrnoException.ENOENT -> missing(what, e);
            case ErrnoException.EACCES, ErrnoException.EPERM -> new SharedMemoryException(Reason.NOT_PERMITTED,
                    what + " may not be used: it, or " + HOME + ", belongs to another user; run as that user", e);
            case ErrnoException.EMFILE, ErrnoException.ENFILE -> new SharedMemoryException(Reason.SYSTEM,
                    what + " cannot be opened: too many files are open; close some, or raise the limit (ulimit -n)", e);
            case ErrnoException.ENOMEM -> new SharedMemoryException(Reason.SYSTEM,
                    what + " cannot be mapped: unmap others, or raise the limits (sysctl vm.max_map_count, ulimit -v)",
                    e);
            default -> new SharedMemoryException(Reason.SYSTEM, what + ": " + e.getMessage(), e);
        };
    }

    private static SharedMemoryException missing(String what, ErrnoException e) {
        if (LINUX && !Files.isDirectory(HOME)) {
            return new SharedMemoryException(Reason.UNSUPPORTED,
                    what + ": this system has no " + HOME + "; mount a tmpfs there", e);
        }
        return new SharedMemoryException(Reason.NOT_FOUND, what
                + " is not there: it was never created, or it was unlinked; create it, or ask its owner for the name",
                e);
    }

    private static String free() {
        try {
            return Files.getFileStore(HOME).getUsableSpace() + " are free in " + HOME;
        } catch (IOException e) {
            return "there is not so much free";
        }
    }
}
