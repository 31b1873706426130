package io.undercroft.serializer;

import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.DiskFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;

/// The disk of this computer, which takes its time: nothing is brought to it until it is let go.
final class HeldDisk implements Disk {
    private final Disk disk = Disk.system();
    private final CountDownLatch reached = new CountDownLatch(1);
    private final CountDownLatch released = new CountDownLatch(1);

    /// Waits until all was written, and is to be brought to the disk.
    void awaitForce() throws InterruptedException {
        reached.await();
    }

    void letGo() {
        released.countDown();
    }

    private void hold() throws IOException {
        reached.countDown();
        try {
            released.await();
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
    }

    @Override
    public DiskFile create(Path path) throws IOException {
        return new HeldFile(disk.create(path));
    }

    @Override
    public DiskFile open(Path path) throws IOException {
        return new HeldFile(disk.open(path));
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        disk.rename(from, to);
    }

    @Override
    public void delete(Path path) throws IOException {
        disk.delete(path);
    }

    @Override
    public void forceDirectory(Path directory) throws IOException {
        disk.forceDirectory(directory);
    }

    private final class HeldFile implements DiskFile {
        private final DiskFile file;

        HeldFile(DiskFile file) {
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
        public Optional<MemorySegment> segment(long offset, long length) throws IOException {
            return file.segment(offset, length);
        }

        @Override
        public void write(long offset, MemorySegment bytes) throws IOException {
            file.write(offset, bytes);
        }

        @Override
        public void force() throws IOException {
            hold();
            file.force();
        }

        @Override
        public void truncate(long size) throws IOException {
            file.truncate(size);
        }

        @Override
        public boolean isAt(Path path) throws IOException {
            return file.isAt(path);
        }

        @Override
        public void close() throws IOException {
            file.close();
        }
    }
}
