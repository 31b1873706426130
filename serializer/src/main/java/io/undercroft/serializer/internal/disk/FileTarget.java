package io.undercroft.serializer.internal.disk;

import io.undercroft.serializer.spi.StoreTarget.Creation;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.OptionalLong;

/// The path of a file to write.
///
/// @param path the name that the caller gave, for messages
/// @param file the path with symbolic links resolved; the file need not exist
/// @param directory the directory of that file
/// @param disk the file system that it is on
/// @param isForced whether the file is forced to the disk before it becomes visible, and its name after that
public record FileTarget(Path path, Path file, Path directory, Disk disk, boolean isForced) implements Target {
    private static final int MOST_LINKS = 40;

    /// Follows symbolic links.
    ///
    /// @param path a name
    /// @param disk the file system that it is on
    /// @return the target of a file of that name
    /// @throws IOException if the links go round in circles, the path is not one of the host, or it is the root
    ///     directory
    public static FileTarget of(Path path, Disk disk) throws IOException {
        RegularFiles.requireHost(path);
        Path file = path.toAbsolutePath();
        for (int links = 0; Files.isSymbolicLink(file); links++) {
            if (links == MOST_LINKS) {
                throw new FileSystemException(path.toString(), null, "its symbolic links go round in circles");
            }
            file = file.resolveSibling(Files.readSymbolicLink(file));
        }
        Path directory = file.getParent();
        if (directory == null) {
            throw new FileSystemException(path.toString(), null, "it is a directory; name a file in it");
        }
        return new FileTarget(path, file, directory, disk, true);
    }

    /// {@return whether there is something of that name}
    public boolean exists() {
        return Files.exists(file);
    }

    @Override
    public String location() {
        return path.toString();
    }

    @Override
    public String fileName() {
        return String.valueOf(path.getFileName());
    }

    @Override
    public FileTarget sibling(String name) throws IOException {
        FileTarget sibling = of(file.resolveSibling(name), disk);
        return isForced ? sibling : sibling.unforced();
    }

    @Override
    public FileTarget unforced() {
        return new FileTarget(path, file, directory, disk, false);
    }

    /// {@inheritDoc}
    ///
    /// Another writer may be appending to a file that is there, and only then it matters.
    @Override
    public Closeable lock(boolean isAlways) throws IOException {
        requireDirectory();
        return isAlways || Files.isRegularFile(file) || WriterLock.mayBeHeld(file) ? WriterLock.of(file) : () -> {};
    }

    /// Refuses a path in a directory that does not exist.
    ///
    /// @throws NoSuchFileException if there is none
    public void requireDirectory() throws NoSuchFileException {
        if (!Files.isDirectory(directory)) {
            throw new NoSuchFileException(path.toString(), null,
                    "the directory " + directory + " does not exist; make it first");
        }
    }

    @Override
    public void requireSpace(long nbytes) throws IOException {
        OptionalLong free = disk.usableSpace(directory);
        if (free.isPresent() && nbytes > free.getAsLong()) {
            throw new FileSystemException(path.toString(), null,
                    "at least " + nbytes + " bytes would be written, and its file system has " + free.getAsLong()
                            + " free; free some space, or write to another file system. No file was made or changed");
        }
    }

    @Override
    public void requireAbsent() throws FileAlreadyExistsException {
        if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            throw new FileAlreadyExistsException(path.toString(), null, "the set would have a file " + fileName()
                    + ", and one is there; write to another directory, or delete it first");
        }
    }

    @Override
    public void forceDirectory() throws IOException {
        if (isForced) {
            disk.forceDirectory(directory);
        }
    }

    @Override
    public AtomicFile begin(Creation condition, Replacing rule) throws IOException {
        return AtomicFile.create(this, condition == Creation.IF_ABSENT ? Target::requireAbsent : rule);
    }

    @Override
    public void delete() throws IOException {
        disk.delete(file);
    }
}
