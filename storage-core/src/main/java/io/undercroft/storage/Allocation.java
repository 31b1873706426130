package io.undercroft.storage;

import io.undercroft.storage.spi.Backing;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/// A run of bytes and the action that releases it: what PyTorch calls a `DataPtr`.
///
/// An allocation is owned by one [Storage] at a time, which frees it when the last reference to the storage is
/// released. Freeing twice does nothing the second time. Instances are safe for use by several threads; the bytes are
/// as safe as [MemorySegment] makes them.
public final class Allocation {
    private final MemorySegment segment;
    private final Sharing sharing;
    private final @Nullable String filename;
    private final @Nullable Origin origin;
    private final @Nullable Backing backing;
    /// Null where the garbage collector does it.
    private final @Nullable Runnable release;
    private final boolean isPinned;
    private final AtomicBoolean freed = new AtomicBoolean();

    /// The visibility of writes to the bytes.
    public enum Sharing {
        /// Not shared: memory of this process, or a copy-on-write mapping.
        PRIVATE,
        /// Every process that maps the same file or segment.
        SHARED
    }

    /// The location of the memory, defined by the creator of an allocation to find it again. Opaque to all others.
    public interface Origin {}

    /// An allocation over `segment`.
    ///
    /// @param segment the bytes; read-only segments make read-only storages
    /// @param sharing whether the bytes are shared
    /// @param filename the file or shared memory name behind the bytes, or null when there is none
    /// @param release run once, when the bytes are released; must not throw
    public Allocation(MemorySegment segment, Sharing sharing, @Nullable String filename, Runnable release) {
        this(segment, sharing, filename, null, release);
    }

    /// An allocation over `segment` that other processes can find.
    ///
    /// @param segment the bytes; read-only segments make read-only storages
    /// @param sharing whether the bytes are shared
    /// @param filename the file or shared memory name behind the bytes, or null when there is none
    /// @param origin what is known of the memory behind the bytes, or null
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

    /// The same bytes with what is known of the file behind them. The new allocation takes this one's place, and frees
    /// it.
    ///
    /// @param file the file behind the bytes
    /// @return the allocation to use from now on
    @CheckReturnValue
    public Allocation withBacking(Backing file) {
        Objects.requireNonNull(file, "file");
        return new Allocation(segment, sharing, filename, origin, file, release == null ? null : this::free, isPinned);
    }

    /// The same bytes, pinned where they are. The new allocation takes this one's place, and frees it after they are
    /// not pinned any more.
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

    /// {@return the file or the name of shared memory that has the bytes; empty for other memory}
    public Optional<String> filename() {
        return Optional.ofNullable(filename);
    }

    /// {@return the location of the memory behind the bytes, if its creator defined one}
    public Optional<Origin> origin() {
        return Optional.ofNullable(origin);
    }

    /// {@return the file behind the bytes, if there is one that can be queried}
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
