package io.undercroft.serializer.internal.planning;

import io.undercroft.storage.spi.Backing;
import java.lang.foreign.MemorySegment;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/// The bytes of a storage as they were when a snapshot was taken, as far as they are saved. Reading throws if the save
/// was cancelled.
final class SnapshotBytes implements PlannedStorage.Bytes {
    private final String name;
    private final SaveControl control;
    private PlannedStorage.@Nullable Bytes source;
    /// The runs by the offset of the first byte.
    private final NavigableMap<Long, Run> runs = new TreeMap<>();

    /// A run of bytes.
    private record Run(MemorySegment bytes, AtomicLong read) {}

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
        runs.put(start, new Run(bytes, new AtomicLong()));
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
