package io.undercroft.mmap;

import static io.undercroft.mmap.internal.LinuxConstants.MAP_SHARED;
import static io.undercroft.mmap.internal.LinuxConstants.O_RDONLY;
import static io.undercroft.mmap.internal.LinuxConstants.O_RDWR;
import static io.undercroft.mmap.internal.LinuxConstants.PROT_READ;
import static io.undercroft.mmap.internal.LinuxConstants.PROT_WRITE;

import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.mmap.internal.LinuxConstants;
import io.undercroft.mmap.internal.ErrnoException;
import io.undercroft.mmap.internal.FileIdentity;
import io.undercroft.mmap.internal.HolderRegistry;
import io.undercroft.mmap.internal.HolderRegistry.Attached;
import io.undercroft.mmap.internal.HolderRegistry.Draft;
import io.undercroft.mmap.internal.HolderRegistry.Hold;
import io.undercroft.mmap.internal.IoTask;
import io.undercroft.mmap.internal.Libc;
import io.undercroft.mmap.internal.Lifetime;
import io.undercroft.mmap.internal.Mapping;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.internal.support.Operation.Timing;
import io.undercroft.storage.internal.support.Operation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/// A segment of memory that several processes of one host share: POSIX shared memory, the file `/dev/shm/NAME` on
/// Linux, or memory without a name that is passed by its descriptor. There is no header, so PyTorch's
/// `from_file('/dev/shm/NAME', shared=True)` and numpy's `memmap` see the same bytes.
///
/// **Names.** A segment and its name have separate lifetimes. The bytes are freed when they have no name and no process
/// maps them. The creator chooses the lifetime of the name: [NameLifetime]. Processes that hold a segment are recorded
/// in a registry next to the segments (`/dev/shm/undercroft-UID`, or `/dev/shm/undercroft-UID-RANDOM` if another user
/// has that directory). It detects killed processes, so that a name is removed after its last holder, however that
/// ended; [#list] lists it, and [#gc] removes the names that killed processes left. Segments that other programs create
/// in `/dev/shm` can be attached too. They are not registered, and only [#unlink] removes them.
///
/// **Other users.** Any user can create a segment of any name. So a segment is attached by its name only if it belongs
/// to the user of this process or to root, unless the caller passes [TrustedOwner#ANYBODY].
///
/// **Lifetime.** The creator has one reference. [#retain] adds one, and so does every [#allocation] until it is freed;
/// [#close] releases one. When the last reference in this process is released, the segment is unmapped and this process
/// no longer holds the name; afterwards access throws [IllegalStateException]. A segment that is never closed is
/// released by the garbage collector, or when the JVM exits normally.
///
/// **Contents** are defined by the processes that share it. `PublishedCheckpoint` of the serializer puts a whole state
/// into one segment, tensors with their names and storages.
///
/// **Threads and processes.** All methods may be called from several threads at once. Writes are visible to all
/// processes at once, but in no guaranteed order; use the access modes of [java.lang.invoke.VarHandle] to order them.
public final class SharedMemory implements AutoCloseable {
    /// The numbers of ten digits to the base 36.
    private static final long FRESH_NAMES = 3_656_158_440_062_976L;
    private static final String THE_REGISTRY = "the registry of shared memory";
    private static final int SHOWN_LENGTH = 80;
    private static final long ALL = ByteRange.TO_THE_END;

    private final Source source;
    private final Lifetime lifetime;
    private final MemorySegment segment;

    /// The source of shared memory.
    ///
    /// @param name its name, without a slash; empty if it has none
    /// @param filename by what others find it, or null
    /// @param descriptor that which it keeps open, if it does
    /// @param identity which memory it is
    record Source(String name, @Nullable String filename, OptionalInt descriptor, FileIdentity identity) {
        /// {@return that of a named segment}
        ///
        /// @param name its name, without a slash
        /// @param identity which memory it is
        static Source named(String name, FileIdentity identity) {
            return new Source(name, "/" + name, OptionalInt.empty(), identity);
        }

        /// {@return what a named segment is called in messages}
        ///
        /// @param name its name, without a slash
        static String shown(String name) {
            return "shared memory /" + name;
        }

        /// {@return what it is called in messages}
        String what() {
            return filename == null ? "shared memory without a name" : "shared memory " + filename;
        }
    }

    private SharedMemory(Source source, Lifetime lifetime, MemorySegment segment) {
        this.source = source;
        this.lifetime = lifetime;
        this.segment = segment;
    }

    /// Creates a segment of zeros that only this user may attach, and whose name lasts until [#unlink] is called.
    ///
    /// @param name the name, with or without a leading slash
    /// @param nbytes the size in bytes, 0 or more
    /// @return the segment, readable and writable
    /// @throws SharedMemoryException as [#create(String, long, NameLifetime)]
    /// @throws IllegalArgumentException if the size is negative
    public static SharedMemory create(String name, long nbytes) throws SharedMemoryException {
        return create(name, nbytes, NameLifetime.UNTIL_UNLINKED);
    }

    /// Creates a segment of zeros that only this user may attach. All of its memory is allocated before the name
    /// becomes visible. A name whose lifetime has ended, as its holders were killed, is reused.
    ///
    /// @param name the name, with or without a leading slash
    /// @param nbytes the size in bytes, 0 or more
    /// @param lifetime the lifetime of the name
    /// @return the segment, readable and writable
    /// @throws SharedMemoryException if the name is not valid or in use, or there is not enough memory; nothing is left
    ///     behind
    /// @throws IllegalArgumentException if the size is negative
    public static SharedMemory create(String name, long nbytes, NameLifetime lifetime) throws SharedMemoryException {
        Objects.requireNonNull(lifetime, "lifetime");
        checkSize(nbytes);
        String plain = plain(name);
        Libc libc = libc("/" + plain);
        try (Draft draft = HolderRegistry.ofThisProcess().draft(plain)) {
            if (nbytes > 0) {
                libc.allocate(draft.descriptor(), 0, nbytes);
            }
            return named(libc, plain, draft, nbytes, () -> draft.create(plain, lifetime));
        } catch (IOException e) {
            throw SharedMemoryException.of(Source.shown(plain), nbytes, e);
        }
    }

    /// Attaches an existing segment, for reading and writing.
    ///
    /// @param name the name, with or without a leading slash
    /// @return the segment, of the size it was created with
    /// @throws SharedMemoryException if the name is not valid or does not exist, its lifetime has ended, or the segment
    ///     belongs to another user than this one and root
    public static SharedMemory attach(String name) throws SharedMemoryException {
        return attach(name, MapMode.SHARED, TrustedOwner.SELF_OR_ROOT);
    }

    /// Attaches an existing segment.
    ///
    /// @param name the name, with or without a leading slash
    /// @param mode [MapMode#SHARED] for reading and writing, or [MapMode#READ_ONLY]
    /// @param owner the accepted owners
    /// @return the segment, of the size it was created with
    /// @throws SharedMemoryException as [#attach(String)]
    /// @throws IllegalArgumentException if the mode is [MapMode#PRIVATE]
    public static SharedMemory attach(String name, MapMode mode, TrustedOwner owner) throws SharedMemoryException {
        Objects.requireNonNull(mode, "mode");
        if (mode == MapMode.PRIVATE) {
            throw new IllegalArgumentException("a segment is attached shared or read-only, not privately");
        }
        return attach(name, mode, ALL, owner);
    }

    /// Creates memory of zeros that has no name. Other processes of this user attach it by [#attachDescriptor(long,
    /// int)] with the number of this process and the [#descriptor], or open `/proc/PID/fd/FD` as a file. Child
    /// processes do not inherit the descriptor. The memory is freed when the last process that has it ends, even if it
    /// is killed.
    ///
    /// The descriptor stays open until the last reference in this process is released.
    ///
    /// @param nbytes the size in bytes, 0 or more
    /// @return the memory, readable and writable
    /// @throws SharedMemoryException if there is not enough memory, or no descriptor is left
    /// @throws IllegalArgumentException if the size is negative
    public static SharedMemory anonymous(long nbytes) throws SharedMemoryException {
        checkSize(nbytes);
        return Descriptors.create(libc("anonymous"), nbytes);
    }

    /// Attaches memory that another process has open, with or without a name ([#anonymous]).
    ///
    /// @param pid the number of that process
    /// @param fd the number of its descriptor
    /// @return all of the memory, readable and writable
    /// @throws SharedMemoryException if the process has ended, does not have the descriptor, or belongs to another
    ///     user; if the descriptor is neither of memory nor of a regular file; if the system has no `/proc`
    public static SharedMemory attachDescriptor(long pid, int fd) throws SharedMemoryException {
        return attachDescriptor(pid, fd, MapMode.SHARED);
    }

    static SharedMemory attachDescriptor(long pid, int fd, MapMode mode) throws SharedMemoryException {
        return Descriptors.attach(libc("the descriptor of another process"), pid, fd, mode);
    }

    /// Attaches memory by a descriptor that this process has open, for instance one that it inherited (bash `9<>FILE`,
    /// Python `pass_fds`).
    ///
    /// @param fd the number of the descriptor, which the caller closes
    /// @return all of the memory, readable and writable
    /// @throws SharedMemoryException if the descriptor is not open for reading and writing, or is neither of memory nor
    ///     of a regular file
    public static SharedMemory attachDescriptor(int fd) throws SharedMemoryException {
        return Descriptors.attach(libc("a descriptor"), fd);
    }

    /// Returns the allocator of fresh segments, each with a unique name (`/undercroft_PID_RANDOM`), which
    /// [Allocation#filename] returns and which other processes may [#attach] or pass to [FileStorage#openSharedMemory].
    /// The name lasts as long as the segment has a holder ([NameLifetime#WITH_LAST_HOLDER]): this storage, or another
    /// process.
    ///
    /// It throws [OutOfMemoryError] if there is not enough shared memory, and [UncheckedIOException] if there is none;
    /// the message is that of [#create].
    ///
    /// @return the allocator, safe for any thread
    public static Allocator allocator() {
        return nbytes -> allocate(nbytes, SharedMemory::fresh);
    }

    /// Returns the allocator of memory without a name, as of [#anonymous]. Its [Allocation#filename] is the path of its
    /// descriptor (`/proc/PID/fd/FD`), which processes of this user may open until the allocation is freed. It throws
    /// the exceptions of [#allocator].
    ///
    /// @return the allocator, safe for any thread
    public static Allocator anonymousAllocator() {
        return nbytes -> allocate(nbytes, SharedMemory::anonymous);
    }

    /// Creates a segment whose name is removed with its storage, or attaches one that is there and makes it larger if
    /// it is too small.
    ///
    /// @param name the name, with or without a leading slash
    /// @param nbytes how many bytes; with 0, nothing is created
    /// @return the first bytes of the segment
    /// @throws SharedMemoryException as [#create] and [#attach]
    static Allocation openAtLeast(String name, long nbytes) throws SharedMemoryException {
        // Others may create or unlink the name between the two: then it is to be tried again.
        while (true) {
            try (SharedMemory memory = attach(name, MapMode.SHARED, nbytes, TrustedOwner.SELF_OR_ROOT)) {
                return memory.allocation();
            } catch (SharedMemoryException e) {
                if (e.reason() != Reason.NOT_FOUND || nbytes <= 0) {
                    throw e;
                }
            }
            try (SharedMemory memory = create(name, nbytes, NameLifetime.WITH_CREATOR)) {
                return memory.allocation();
            } catch (SharedMemoryException e) {
                if (e.reason() != Reason.EXISTS) {
                    throw e;
                }
            }
        }
    }

    /// Removes a name. Processes that are attached keep the bytes.
    ///
    /// @param name the name, with or without a leading slash
    /// @return whether there was such a name
    /// @throws SharedMemoryException if the name is not valid or belongs to another user
    public static boolean unlink(String name) throws SharedMemoryException {
        String plain = plain(name);
        libc("/" + plain);
        return ask(Source.shown(plain), () -> HolderRegistry.ofThisProcess().unlink(plain));
    }

    /// Removes a name that lasts until it is unlinked ([NameLifetime#UNTIL_UNLINKED]), if no living process holds its
    /// segment: no process is attached, and its creator has closed it, ended, or was killed. Programs that map
    /// `/dev/shm/NAME` by other means are not counted, and keep the bytes. The check for holders and the removal are
    /// one step, so that a process that attaches or publishes at the same time keeps its segment.
    ///
    /// @param name the name, with or without a leading slash
    /// @return the segment, as it was; empty if this library made none of that name, it is removed automatically, or a
    ///     process holds it
    /// @throws SharedMemoryException if the name is not valid, or the registry cannot be read or written
    public static Optional<SharedSegment> unlinkIfUnheld(String name) throws SharedMemoryException {
        String plain = plain(name);
        libc("/" + plain);
        return ask(Source.shown(plain), () -> HolderRegistry.ofThisProcess().unlinkIfUnheld(plain));
    }

    /// Returns the named segments that this library made for this user and that are still there, with their holders.
    /// None where there is no shared memory.
    ///
    /// @return the segments, by name
    /// @throws SharedMemoryException if the registry cannot be read
    public static List<SharedSegment> list() throws SharedMemoryException {
        return Libc.find().isEmpty() ? List.of() : ask(THE_REGISTRY, () -> HolderRegistry.ofThisProcess().list());
    }

    /// Removes what killed processes left behind: names that should not outlive their holders, segments that were never
    /// given a name, and records. It removes nothing of a living process or of another library.
    ///
    /// There is no need to call this regularly: every process does so when it first holds a segment.
    ///
    /// @return the segments whose names were removed, as they were
    /// @throws SharedMemoryException if the registry cannot be read or written
    public static List<SharedSegment> gc() throws SharedMemoryException {
        return Libc.find().isEmpty() ? List.of() : ask(THE_REGISTRY, () -> HolderRegistry.ofThisProcess().gc());
    }

    /// {@return the name, without a slash; empty if the memory has none}
    public String name() {
        return source.name();
    }

    /// {@return the size in bytes}
    public long nbytes() {
        return segment.byteSize();
    }

    /// {@return the bytes, valid until the last holder releases it}
    public MemorySegment segment() {
        return segment;
    }

    /// {@return the descriptor of [#anonymous] memory, open until the last holder releases it; else nothing}
    public OptionalInt descriptor() {
        return source.descriptor();
    }

    /// Returns a number that identifies the memory: segments with the same number share their bytes, however they were
    /// attached, and a name that is created or published anew has another number.
    ///
    /// @return a number that no other memory of this host has at the same time; nothing where the system has none
    public OptionalLong identity() {
        return source.identity().inode() == 0 ? OptionalLong.empty() : OptionalLong.of(source.identity().number());
    }

    /// {@return this segment as [#list] shows it, with its present holders; nothing if it is not registered: other
    /// programs or users made it, or its name was removed or given to other memory}
    ///
    /// @throws SharedMemoryException if the registry cannot be read
    public Optional<SharedSegment> registered() throws SharedMemoryException {
        if (source.name().isEmpty()) {
            return Optional.empty();
        }
        return ask(source.what(), () -> HolderRegistry.ofThisProcess().find(source.name(), source.identity().inode()));
    }

    /// Returns the bytes as an allocation that holds the mapping until it is freed.
    ///
    /// @return the allocation; shared, its file name the name with a slash in front (as PyTorch's `filename`), or the
    ///     path of the descriptor it was created with or attached by
    /// @throws IllegalStateException if the last holder has released it
    public Allocation allocation() {
        lifetime.retain();
        SharedStorageHandle origin = SharedStorageHandle.ofMemory(source, segment);
        return new Allocation(segment, Allocation.Sharing.SHARED, source.filename(), origin, lifetime::release);
    }

    /// Adds a holder, which has to call [#close] too.
    ///
    /// @return this segment
    /// @throws IllegalStateException if the last holder has released it
    public SharedMemory retain() {
        lifetime.retain();
        return this;
    }

    /// Releases one holder, and with the last one the mapping of this process and its hold on the name. Does nothing if
    /// there is no holder left.
    @Override
    public void close() {
        lifetime.release();
    }

    /// {@return the name and the size, for messages}
    @Override
    public String toString() {
        return source.what() + " of " + nbytes() + " bytes";
    }

    /// Gives a draft its name, and attaches it.
    ///
    /// @param libc the library
    /// @param name the name, without a slash
    /// @param draft the draft, all of whose memory is there
    /// @param nbytes its size in bytes
    /// @param naming gives it the name
    /// @return the segment, the creator's hold
    /// @throws IOException if it cannot be mapped or named; nothing stays mapped then
    static SharedMemory named(Libc libc, String name, Draft draft, long nbytes, IoTask<Hold> naming)
            throws IOException {
        Source source = Source.named(name, libc.identity(draft.descriptor()));
        SharedMemory memory = map(libc, source, draft.descriptor(), nbytes, MapMode.SHARED);
        try {
            Hold hold = naming.run();
            memory.lifetime.releaseWhenGone(hold);
            return memory;
        } catch (Throwable e) {
            memory.close();
            throw e;
        }
    }

    /// Maps memory.
    ///
    /// @param libc the library
    /// @param source its origin
    /// @param fd a descriptor of it
    /// @param nbytes how many bytes of it
    /// @param mode what is allowed
    /// @return the memory, with one holder
    /// @throws ErrnoException if it cannot be mapped
    static SharedMemory map(Libc libc, Source source, int fd, long nbytes, MapMode mode) throws ErrnoException {
        Lifetime lifetime = new Lifetime(source.what(), () -> {});
        try {
            if (nbytes == 0) {
                return new SharedMemory(source, lifetime, limited(lifetime.arena().allocate(0), mode));
            }
            int protection = mode == MapMode.READ_ONLY ? PROT_READ : PROT_READ | PROT_WRITE;
            long address = libc.mmap(0, nbytes, protection, MAP_SHARED, fd, 0);
            MemorySegment segment = Mapping.segment(libc, address, nbytes, lifetime.arena());
            return new SharedMemory(source, lifetime, limited(segment, mode));
        } catch (Throwable e) {
            lifetime.release();
            throw e;
        }
    }

    /// Returns the flag that opens a descriptor for a mode.
    static int flag(MapMode mode) {
        return mode == MapMode.SHARED ? O_RDWR : O_RDONLY;
    }

    private static MemorySegment limited(MemorySegment segment, MapMode mode) {
        return mode == MapMode.READ_ONLY ? segment.asReadOnly() : segment;
    }

    /// Has something done when the memory is unmapped.
    ///
    /// @param action must not throw, nor reach this segment
    void runAfterRelease(Runnable action) {
        lifetime.runAfterRelease(action);
    }

    /// @param nbytes how many bytes to map, or [#ALL]; a smaller segment grows
    private static SharedMemory attach(String name, MapMode mode, long nbytes, TrustedOwner owner)
            throws SharedMemoryException {
        String plain = plain(name);
        Libc libc = libc("/" + plain);
        Timing timing = Operation.ATTACH.begin();
        try {
            Attached attached = HolderRegistry.ofThisProcess().attach(plain, flag(mode),
                    owner == TrustedOwner.ANYBODY);
            try {
                SharedMemory memory = attached(libc, plain, attached, mode, nbytes);
                timing.end(plain, memory.nbytes());
                return memory;
            } finally {
                libc.close(attached.fd());
            }
        } catch (IOException e) {
            String what = Source.shown(plain);
            throw nbytes == ALL ? SharedMemoryException.of(what, e) : SharedMemoryException.of(what, nbytes, e);
        }
    }

    private static SharedMemory attached(Libc libc, String name, Attached attached, MapMode mode, long nbytes)
            throws ErrnoException {
        int fd = attached.fd();
        try {
            long size = libc.size(fd);
            if (size < nbytes) {
                libc.allocate(fd, 0, nbytes);
            }
            Source source = Source.named(name, libc.identity(fd));
            SharedMemory memory = map(libc, source, fd, nbytes == ALL ? size : nbytes, mode);
            attached.hold().ifPresent(memory.lifetime::releaseWhenGone);
            return memory;
        } catch (ErrnoException e) {
            attached.hold().ifPresent(Hold::release);
            throw e;
        }
    }

    private static SharedMemory fresh(long nbytes) throws SharedMemoryException {
        long random = ThreadLocalRandom.current().nextLong(FRESH_NAMES);
        String name = "undercroft_" + ProcessHandle.current().pid() + "_" + Long.toString(random, Character.MAX_RADIX);
        return create(name, nbytes, NameLifetime.WITH_LAST_HOLDER);
    }

    /// The way in which an allocator makes its memory.
    @FunctionalInterface
    private interface Maker {
        SharedMemory make(long nbytes) throws SharedMemoryException;
    }

    private static Allocation allocate(long nbytes, Maker maker) {
        try (SharedMemory memory = maker.make(nbytes)) {
            return memory.allocation();
        } catch (SharedMemoryException e) {
            if (e.reason() != Reason.FULL) {
                throw new UncheckedIOException(e);
            }
            OutOfMemoryError error = new OutOfMemoryError(e.getMessage());
            error.initCause(e);
            throw error;
        }
    }

    /// @param what the kind of the requested memory, for messages
    private static <T> T ask(String what, IoTask<T> question) throws SharedMemoryException {
        try {
            return question.run();
        } catch (IOException e) {
            throw SharedMemoryException.of(what, e);
        }
    }

    /// {@return the library}
    ///
    /// @param what the operation, for the message
    /// @throws SharedMemoryException if it cannot be called
    static Libc libc(String what) throws SharedMemoryException {
        Optional<Libc> libc = Libc.find();
        if (libc.isPresent()) {
            return libc.get();
        }
        throw new SharedMemoryException(Reason.UNSUPPORTED, what
                + ": shared memory is not supported here: it needs Linux and " + Libc.nativeAccessFlag(),
                Libc.failure().orElse(null));
    }

    private static void checkSize(long nbytes) {
        if (nbytes < 0) {
            throw new IllegalArgumentException("shared memory cannot have " + nbytes + " bytes");
        }
    }

    /// {@return the name without its slash}
    ///
    /// @param name a name, with or without a slash in front
    /// @throws SharedMemoryException if it is not valid
    static String plain(String name) throws SharedMemoryException {
        String plain = Objects.requireNonNull(name, "name").startsWith("/") ? name.substring(1) : name;
        int length = plain.getBytes(StandardCharsets.UTF_8).length;
        int limit = LinuxConstants.SHM_NAME_MAX;
        if (plain.isEmpty() || plain.equals(".") || plain.equals("..")) {
            throw bad(name, "it has to name something; use a word such as weights");
        }
        if (plain.indexOf('/') >= 0 || hasControl(plain)) {
            throw bad(name, "it may have one slash, in front, and no NUL or other control character");
        }
        if (!StandardCharsets.UTF_8.newEncoder().canEncode(plain)) {
            throw bad(name, "it has half of a surrogate pair, which is no text");
        }
        if (length > limit) {
            throw bad(name, "it has " + length + " bytes and may have " + limit);
        }
        if (plain.startsWith("undercroft-") && plain.matches("undercroft-\\d+(-[0-9a-z]{1,13})?")) {
            throw bad(name, "it is that of the directory where a user's segments are registered; use another");
        }
        return plain;
    }

    private static boolean hasControl(String name) {
        for (int i = 0; i < name.length(); i++) {
            if (Character.isISOControl(name.charAt(i))) {
                return true;
            }
        }
        return false;
    }

    private static SharedMemoryException bad(String name, String rule) {
        String shown = name.substring(0, Math.min(name.length(), SHOWN_LENGTH)).replaceAll("\\p{Cntrl}", "?");
        return new SharedMemoryException(Reason.BAD_NAME, "'" + shown + "' is no name for shared memory: " + rule,
                null);
    }
}
