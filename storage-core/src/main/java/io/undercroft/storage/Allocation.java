package io.undercroft.storage;

import io.undercroft.storage.spi.Backing;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/// A block of memory and the action that releases it. The counterpart of PyTorch's `DataPtr`.
///
/// An allocation is owned by one [Storage] at a time, which frees it when the last reference to the storage is
/// released. Instances are thread-safe. Access to the bytes follows the rules of [MemorySegment].
public final class Allocation {
    private final MemorySegment segment;
    private final Sharing sharing;
    private final @Nullable String filename;
    private final @Nullable Origin origin;
    private final @Nullable Backing backing;
    /// Null if the garbage collector frees the bytes.
    private final @Nullable Runnable release;
    private final boolean isPinned;
    private final AtomicBoolean freed = new AtomicBoolean();

    /// The visibility of writes to the bytes.
    public enum Sharing {
        /// Visible to this process only: memory of this process, or a copy-on-write mapping.
        PRIVATE,
        /// Visible to every process that maps the same file or segment.
        SHARED
    }

    /// The location of the memory, in a form that is defined by the module that creates the allocation and is opaque to
    /// other code.
    public interface Origin {}

    /// Creates an allocation of the bytes of a segment.
    ///
    /// @param segment the bytes; read-only segments make read-only storages
    /// @param sharing whether the bytes are shared
    /// @param filename the name of the file or shared memory that has the bytes, or null for other memory
    /// @param release run once, when the bytes are released; must not throw
    public Allocation(MemorySegment segment, Sharing sharing, @Nullable String filename, Runnable release) {
        this(segment, sharing, filename, null, release);
    }

    /// Creates an allocation of the bytes of a segment, with an origin.
    ///
    /// @param segment the bytes; read-only segments make read-only storages
    /// @param sharing whether the bytes are shared
    /// @param filename the name of the file or shared memory that has the bytes, or null for other memory
    /// @param origin the location of the memory, or null
    /// @param release run once, when the bytes are released; must not throw
    public Allocation(MemorySegment segment, Sharing sharing, @Nullable String filename, @Nullable Origin origin,
            Runnable release) {
        this(segment, sharing, filename, origin, null, Objects.requireNonNull(release, "release"), false);
    }

    private Allocation(MemorySegment segment, Sharing sharing, @Nullable String filename, @Nullable Origin origin,
            @Nullable Backing backing, @Nullable Runnable release, boolean isPinned) {
        this.segment = Objects.requireNonNull(segment, "segment");
        this.sharing = Objects.requireNonNull(sharing, "sharing");
        this.filename = filename;
        this.origin = origin;
        this.backing = backing;
        this.release = release;
        this.isPinned = isPinned;
    }

    /// Creates a private allocation that the garbage collector frees with its segment.
    ///
    /// @param segment the bytes
    /// @return the allocation
    public static Allocation collected(MemorySegment segment) {
        return new Allocation(segment, Sharing.PRIVATE, null, null, null, null, false);
    }

    /// Returns an allocation of the same bytes that has a backing. It replaces this allocation, and frees it.
    ///
    /// @param file the file that the bytes are mapped from
    /// @return the allocation that replaces this one
    @CheckReturnValue
    public Allocation withBacking(Backing file) {
        Objects.requireNonNull(file, "file");
        return new Allocation(segment, sharing, filename, origin, file, release == null ? null : this::free, isPinned);
    }

    /// Returns an allocation of the same bytes, which it pins in place. It replaces this allocation, and frees it after
    /// the bytes are unpinned.
    ///
    /// @throws IllegalStateException if they cannot be pinned
    Allocation pinnedInPlace() {
        Runnable unpin = MemoryProviders.pinInPlace(segment, this::free);
        return new Allocation(segment, sharing, filename, origin, backing, unpin, true);
    }

    /// Returns whether the bytes were pinned by [#pinnedInPlace].
    boolean isPinned() {
        return isPinned;
    }

    /// {@return the bytes; its size is the allocation's size in bytes}
    public MemorySegment segment() {
        return segment;
    }

    /// {@return whether the bytes are shared}
    public Sharing sharing() {
        return sharing;
    }

    /// {@return the name of the file or shared memory that has the bytes; empty for other memory}
    public Optional<String> filename() {
        return Optional.ofNullable(filename);
    }

    /// {@return the location of the memory, if the creator of the allocation defined one}
    public Optional<Origin> origin() {
        return Optional.ofNullable(origin);
    }

    /// {@return the file that the bytes are mapped from, if it can be queried}
    public Optional<Backing> backing() {
        return Optional.ofNullable(backing);
    }

    /// Returns whether the garbage collector frees the bytes, so that [#free] does nothing.
    boolean isCollected() {
        return release == null;
    }

    /// Returns this allocation if it has the requested size; frees it otherwise.
    Allocation checkSize(long nbytes) {
        if (segment.byteSize() == nbytes) {
            return this;
        }
        free();
        throw new IllegalStateException(
                "an allocation of " + segment.byteSize() + " bytes came where " + nbytes + " were asked for");
    }

    /// Releases the bytes. The second and later calls do nothing.
    public void free() {
        if (freed.compareAndSet(false, true) && release != null) {
            release.run();
        }
    }
}
