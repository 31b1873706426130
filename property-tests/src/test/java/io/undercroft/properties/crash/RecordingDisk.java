package io.undercroft.properties.crash;

import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.Formats;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.Disk.DiskFile;
import io.undercroft.serializer.internal.disk.FileTarget;
import io.undercroft.serializer.internal.extents.FileHistory;
import io.undercroft.serializer.internal.writing.Save;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/// The disk of this computer, with faults, and with a record of all that was done to it, below the choice between the
/// page cache and the way past it. Safe for use by several threads.
final class RecordingDisk implements Disk {
    /// A write that is cut short leaves a piece of a page, but whole sectors past the page cache.
    private static final int SECTOR = 512;

    private final Disk disk = Disk.system(this::open);
    private final List<DiskOperation> operations = new ArrayList<>();
    private DiskFault fault;
    private int changes;

    /// How bytes get to the disk.
    enum Way {
        CACHED, DIRECT
    }

    /// A disk without faults.
    RecordingDisk() {
        this(DiskFault.NONE);
    }

    /// A disk with a fault.
    ///
    /// @param fault the fault
    RecordingDisk(DiskFault fault) {
        this.fault = fault;
    }

    /// {@return what was done, in order}
    synchronized List<DiskOperation> operations() {
        return List.copyOf(operations);
    }

    /// From now on nothing fails.
    synchronized void mend() {
        fault = DiskFault.NONE;
    }

    @Override
    public synchronized DiskFile create(Path path) throws IOException {
        fail(path);
        operations.add(new DiskOperation.Create(path));
        return disk.create(path);
    }

    @Override
    public DiskFile open(Path path) throws IOException {
        return disk.open(path);
    }

    @Override
    public synchronized void rename(Path from, Path to) throws IOException {
        fail(from);
        operations.add(new DiskOperation.Rename(from, to));
        disk.rename(from, to);
    }

    @Override
    public synchronized void delete(Path path) throws IOException {
        fail(path);
        operations.add(new DiskOperation.Delete(path));
        disk.delete(path);
    }

    @Override
    public synchronized void forceDirectory(Path directory) throws IOException {
        fail(directory);
        operations.add(new DiskOperation.ForceDirectory(directory));
        disk.forceDirectory(directory);
    }

    /// Past the cache goes what is said to, on file systems too that have no such way: what is recorded is the same.
    private FileChannel open(Path path, OpenOption... options) throws IOException {
        Set<OpenOption> all = new HashSet<>(Arrays.asList(options));
        boolean isDirect = all.removeIf(option -> option.toString().equals("DIRECT"));
        all.addAll(Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS));
        return new RecordingChannel(this, path, isDirect ? Way.DIRECT : Way.CACHED, FileChannel.open(path, all));
    }

    /// A write to a channel of this disk.
    synchronized int write(FileChannel channel, Path path, Way way, ByteBuffer bytes, long position)
            throws IOException {
        boolean isHit = fault.hits(++changes);
        if (isHit && fault.manner() == DiskFault.Manner.NOTHING_DONE) {
            throw new IOException("no space left");
        }
        int length = isHit ? part(bytes.remaining(), way) : bytes.remaining();
        byte[] copy = new byte[length];
        bytes.get(copy);
        if (length > 0) {
            operations.add(new DiskOperation.Write(path, position, MemorySegment.ofArray(copy), way));
            ByteBuffer source = ByteBuffer.wrap(copy);
            while (source.hasRemaining()) {
                channel.write(source, position + source.position());
            }
        }
        if (isHit && fault.manner() == DiskFault.Manner.PART_DONE) {
            throw new IOException("no space left");
        }
        return length;
    }

    /// A part that ends neither with a page nor, through the cache, with a sector.
    private static int part(int length, Way way) {
        int part = length / 2 + 3 * SECTOR + 100;
        part = part < length ? part : length / 2;
        return way == Way.DIRECT ? part / SECTOR * SECTOR : Math.max(1, part);
    }

    /// A force of a file of this disk.
    synchronized void force(FileChannel channel, Path path) throws IOException {
        if (fault.hits(++changes) && fault.manner() != DiskFault.Manner.SHORT) {
            operations.add(new DiskOperation.FailedForce(path));
            throw new IOException("the disk failed");
        }
        operations.add(new DiskOperation.Force(path));
        channel.force(true);
    }

    /// A cut of a file of this disk.
    synchronized void truncate(FileChannel channel, Path path, long size) throws IOException {
        fail(path);
        operations.add(new DiskOperation.Truncate(path, size));
        channel.truncate(size);
    }

    private void fail(Path path) throws IOException {
        if (fault.hits(++changes) && fault.manner() != DiskFault.Manner.SHORT) {
            throw new IOException(path + ": the disk failed");
        }
    }

    /// Saves a state as a new file, whose format is that of its name.
    void save(Path file, Object state, SaveOptions options) throws IOException {
        Save.prepare(FileTarget.of(file, this), Formats.forWriting(file, options.format().orElse(null)), state,
                options, null).run();
    }

    /// Saves a state as the next snapshot of a file, as a writer that has not seen the file.
    void commit(Path file, Object state, SaveOptions options) throws IOException {
        commit(file, new FileHistory(), state, options);
    }

    /// Saves a state as the next snapshot of a file, as a writer that knows it.
    void commit(Path file, FileHistory history, Object state, SaveOptions options) throws IOException {
        Save.prepareCommit(FileTarget.of(file, this), history, state, options, null).run();
    }
}
