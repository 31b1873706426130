package io.undercroft.serializer;

import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.DiskFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Optional;

/// The disk of this computer, on which one operation fails, or that one and all after it. A write that fails has written half
/// of its bytes. Safe for use by several threads.
final class FailingDisk implements Disk {
    private final Disk disk = Disk.system();
    private final int failing;
    private final Failure failure;
    private int operations;

    /// What happens after the operation that fails.
    enum Failure {
        ONCE, FOR_GOOD
    }

    FailingDisk(int failing, Failure failure) {
        this.failing = failing;
        this.failure = failure;
    }

    /// {@return whether an operation has failed}
    synchronized boolean hasFailed() {
        return operations >= failing;
    }

    private synchronized boolean failsNow() {
        operations++;
        return operations == failing || (operations > failing && failure == Failure.FOR_GOOD);
    }

    private void operate() throws IOException {
        if (failsNow()) {
            throw new IOException("no space left");
        }
    }

    @Override
    public DiskFile create(Path path) throws IOException {
        operate();
        return new FailingFile(disk.create(path));
    }

    @Override
    public DiskFile open(Path path) throws IOException {
        operate();
        return new FailingFile(disk.open(path));
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        operate();
        disk.rename(from, to);
    }

    @Override
    public void delete(Path path) throws IOException {
        operate();
        disk.delete(path);
    }

    @Override
    public void forceDirectory(Path directory) throws IOException {
        operate();
        disk.forceDirectory(directory);
    }

    private final class FailingFile implements DiskFile {
        private final DiskFile file;

        FailingFile(DiskFile file) {
            this.file = file;
        }

        @Override
        public long size() throws IOException {
            operate();
            return file.size();
        }

        @Override
        public void read(long offset, MemorySegment into) throws IOException {
            operate();
            file.read(offset, into);
        }

        @Override
        public Optional<MemorySegment> segment(long offset, long length) throws IOException {
            operate();
            return file.segment(offset, length);
        }

        @Override
        public void write(long offset, MemorySegment bytes) throws IOException {
            if (failsNow()) {
                file.write(offset, bytes.asSlice(0, bytes.byteSize() / 2));
                throw new IOException("no space left");
            }
            file.write(offset, bytes);
        }

        @Override
        public void force() throws IOException {
            operate();
            file.force();
        }

        @Override
        public void truncate(long size) throws IOException {
            operate();
            file.truncate(size);
        }

        @Override
        public boolean isAt(Path path) throws IOException {
            operate();
            return file.isAt(path);
        }

        @Override
        public void close() throws IOException {
            file.close();
        }
    }
}
