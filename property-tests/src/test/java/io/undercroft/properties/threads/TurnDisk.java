package io.undercroft.properties.threads;

import io.undercroft.serializer.internal.disk.Disk;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/// The disk of this computer, each operation of which is a step of the thread that calls it.
///
/// @param turns the threads
/// @param disk the disk
record TurnDisk(Turns turns, Disk disk) implements Disk {
    @Override
    public DiskFile create(Path path) throws IOException {
        turns.step("creates a temporary file");
        return new TurnFile(turns, disk.create(path));
    }

    @Override
    public DiskFile open(Path path) throws IOException {
        turns.step("opens " + path.getFileName());
        return new TurnFile(turns, disk.open(path));
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        turns.step("renames the temporary file to " + to.getFileName());
        disk.rename(from, to);
    }

    @Override
    public void delete(Path path) throws IOException {
        turns.step("deletes the temporary file");
        disk.delete(path);
    }

    @Override
    public void forceDirectory(Path directory) throws IOException {
        turns.step("forces the directory");
        disk.forceDirectory(directory);
    }

    private record TurnFile(Turns turns, DiskFile file) implements DiskFile {
        @Override
        public long size() throws IOException {
            return file.size();
        }

        @Override
        public void read(long offset, MemorySegment into) throws IOException {
            turns.step("reads " + into.byteSize() + " bytes at byte " + offset);
            file.read(offset, into);
        }

        @Override
        public void write(long offset, MemorySegment bytes) throws IOException {
            turns.step("writes " + bytes.byteSize() + " bytes at byte " + offset);
            file.write(offset, bytes);
        }

        @Override
        public void force() throws IOException {
            turns.step("forces the file");
            file.force();
        }

        @Override
        public void truncate(long size) throws IOException {
            turns.step("truncates the file to " + size + " bytes");
            file.truncate(size);
        }

        @Override
        public boolean isAt(Path path) throws IOException {
            return file.isAt(path);
        }

        @Override
        public void close() throws IOException {
            turns.step("closes the file");
            file.close();
        }
    }
}
