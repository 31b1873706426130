package io.undercroft.serializer;

import io.undercroft.serializer.internal.Formats;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.Disk.DiskFile;
import io.undercroft.serializer.internal.disk.FileTarget;
import io.undercroft.serializer.internal.extents.FileHistory;
import io.undercroft.serializer.internal.writing.Save;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Optional;

/// The disk of this computer, with a word to say before each operation.
abstract class ForwardingDisk implements Disk {
    private final Disk disk = Disk.system();

    /// What may be asked of a disk or of a file on it. (Closing is not, since that has to work.)
    enum Operation {
        CREATE, OPEN, RENAME, DELETE, FORCE_DIRECTORY, SIZE, READ, READ_ONCE, SEGMENT, WRITE, FORCE, TRUNCATE, IS_AT
    }

    /// Called before an operation, which does not happen if this throws.
    abstract void before(Operation operation) throws IOException;

    /// Called before bytes are read or mapped.
    void beforeRead(long offset, long length) {}

    /// Called before bytes are read past the page cache.
    void beforeReadOnce(long length) {}

    /// {@return whether bytes are read past the page cache}
    boolean isReadPastCache(DiskFile file, long offset, long length) {
        return file.isReadPastCache(offset, length);
    }

    /// Called before a write.
    void beforeWrite(long offset) {}

    /// Called in place of a write that does not happen, since it failed; may write a part of it.
    void writePart(DiskFile file, long offset, MemorySegment bytes) throws IOException {}

    @Override
    public DiskFile create(Path path) throws IOException {
        before(Operation.CREATE);
        return new ForwardingFile(disk.create(path));
    }

    @Override
    public DiskFile open(Path path) throws IOException {
        before(Operation.OPEN);
        return new ForwardingFile(disk.open(path));
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        before(Operation.RENAME);
        disk.rename(from, to);
    }

    @Override
    public void delete(Path path) throws IOException {
        before(Operation.DELETE);
        disk.delete(path);
    }

    @Override
    public void forceDirectory(Path directory) throws IOException {
        before(Operation.FORCE_DIRECTORY);
        disk.forceDirectory(directory);
    }

    private final class ForwardingFile implements DiskFile {
        private final DiskFile file;

        ForwardingFile(DiskFile file) {
            this.file = file;
        }

        @Override
        public long size() throws IOException {
            before(Operation.SIZE);
            return file.size();
        }

        @Override
        public void read(long offset, MemorySegment into) throws IOException {
            before(Operation.READ);
            beforeRead(offset, into.byteSize());
            file.read(offset, into);
        }

        @Override
        public boolean isReadPastCache(long offset, long length) {
            return ForwardingDisk.this.isReadPastCache(file, offset, length);
        }

        @Override
        public void readOnce(long offset, MemorySegment into) throws IOException {
            before(Operation.READ_ONCE);
            beforeReadOnce(into.byteSize());
            file.readOnce(offset, into);
        }

        @Override
        public Optional<MemorySegment> segment(long offset, long length) throws IOException {
            before(Operation.SEGMENT);
            beforeRead(offset, length);
            return file.segment(offset, length);
        }

        @Override
        public void write(long offset, MemorySegment bytes) throws IOException {
            beforeWrite(offset);
            try {
                before(Operation.WRITE);
            } catch (IOException e) {
                writePart(file, offset, bytes);
                throw e;
            }
            file.write(offset, bytes);
        }

        @Override
        public void force() throws IOException {
            before(Operation.FORCE);
            file.force();
        }

        @Override
        public void truncate(long size) throws IOException {
            before(Operation.TRUNCATE);
            file.truncate(size);
        }

        @Override
        public boolean isAt(Path path) throws IOException {
            before(Operation.IS_AT);
            return file.isAt(path);
        }

        @Override
        public void close() throws IOException {
            file.close();
        }
    }

    /// Saves a state as a new file, whose format is that of its name.
    static void save(Disk disk, Path file, Object state, SaveOptions options) throws IOException {
        Save.prepare(FileTarget.of(file, disk), Formats.forWriting(file, null), state, options, null).run();
    }

    /// Saves a state as the next snapshot of a file.
    static void commit(Disk disk, Path file, Object state, SaveOptions options) throws IOException {
        Save.prepareCommit(FileTarget.of(file, disk), new FileHistory(), state, options, null).run();
    }
}
