package io.undercroft.properties;

import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.DiskFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/// The disk of this computer, with a record of all that was done to it. Safe for use by several threads.
final class RecordingDisk implements Disk {
    private final Disk disk = Disk.system();
    private final List<DiskOperation> operations = Collections.synchronizedList(new ArrayList<>());

    /// {@return what was done, in order}
    List<DiskOperation> operations() {
        return List.copyOf(operations);
    }

    @Override
    public DiskFile create(Path path) throws IOException {
        operations.add(new DiskOperation.Create(path));
        return new RecordingFile(path, disk.create(path));
    }

    @Override
    public DiskFile open(Path path) throws IOException {
        return new RecordingFile(path, disk.open(path));
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        operations.add(new DiskOperation.Rename(from, to));
        disk.rename(from, to);
    }

    @Override
    public void delete(Path path) throws IOException {
        operations.add(new DiskOperation.Delete(path));
        disk.delete(path);
    }

    @Override
    public void forceDirectory(Path directory) throws IOException {
        operations.add(new DiskOperation.ForceDirectory(directory));
        disk.forceDirectory(directory);
    }

    private final class RecordingFile implements DiskFile {
        private final Path path;
        private final DiskFile file;

        RecordingFile(Path path, DiskFile file) {
            this.path = path;
            this.file = file;
        }

        @Override
        public long size() throws IOException {
            return file.size();
        }

        @Override
        public void read(long offset, MemorySegment into) throws IOException {
            file.read(offset, into);
        }

        @Override
        public void write(long offset, MemorySegment bytes) throws IOException {
            MemorySegment copy = MemorySegment.ofArray(bytes.toArray(ValueLayout.JAVA_BYTE));
            operations.add(new DiskOperation.Write(path, offset, copy));
            file.write(offset, bytes);
        }

        @Override
        public void force() throws IOException {
            operations.add(new DiskOperation.Force(path));
            file.force();
        }

        @Override
        public void truncate(long size) throws IOException {
            operations.add(new DiskOperation.Truncate(path, size));
            file.truncate(size);
        }

        @Override
        public boolean isAt(Path name) throws IOException {
            return file.isAt(name);
        }

        @Override
        public void close() throws IOException {
            file.close();
        }
    }
}
