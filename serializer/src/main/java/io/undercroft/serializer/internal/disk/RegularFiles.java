package io.undercroft.serializer.internal.disk;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/// Opens regular files only. A pipe, a device or a link at the path is refused without waiting. A file that is made
/// with [StandardOpenOption#CREATE_NEW] can be opened by this user only, until its writer widens its mode.
///
/// Files are opened for reading and writing, since opening a pipe in this way does not block: the file at the path is
/// checked first, but may be replaced before it is opened.
public final class RegularFiles {
    private static final Set<StandardOpenOption> READ_WRITE = EnumSet.of(StandardOpenOption.READ,
            StandardOpenOption.WRITE);
    private static final FileAttribute<?>[] OWNER_ONLY = {
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))};

    private RegularFiles() {}

    /// Opens a file for reading and writing.
    ///
    /// @param path its name; a symbolic link is not followed
    /// @param options the other options, for instance [StandardOpenOption#CREATE]
    /// @return the file
    /// @throws FileSystemException if something else than a regular file has the name
    /// @throws IOException if it cannot be opened
    public static FileChannel open(Path path, OpenOption... options) throws IOException {
        check(path);
        Set<OpenOption> all = new HashSet<>(READ_WRITE);
        all.add(LinkOption.NOFOLLOW_LINKS);
        all.addAll(List.of(options));
        boolean isPrivate = all.contains(StandardOpenOption.CREATE_NEW)
                && path.getFileSystem().supportedFileAttributeViews().contains("posix");
        return FileChannel.open(path, all, isPrivate ? OWNER_ONLY : new FileAttribute<?>[0]);
    }

    /// {@return whether a regular file has a name, and no symbolic link}
    ///
    /// @param path the name
    public static boolean isRegular(Path path) {
        return Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS);
    }

    private static void check(Path path) throws IOException {
        try {
            BasicFileAttributes found = Files.readAttributes(path, BasicFileAttributes.class,
                    LinkOption.NOFOLLOW_LINKS);
            if (!found.isRegularFile()) {
                throw new FileSystemException(path.toString(), null, (found.isDirectory()
                        ? "it is a directory and no file"
                        : "it is no regular file, but a link, a pipe or a device")
                        + "; take another name, or move it away");
            }
        } catch (NoSuchFileException _) {
            // Opening creates it, or throws.
        }
    }

    /// Fails if a path is not one of the host, but for instance of an archive.
    ///
    /// @param path the path of a file to be written
    /// @throws FileSystemException if it is in another file system of Java
    static void requireHost(Path path) throws FileSystemException {
        if (!path.getFileSystem().equals(FileSystems.getDefault())) {
            throw new FileSystemException(path.toString(), null, "it is in an archive or another file system of Java ("
                    + path.getFileSystem().provider().getScheme()
                    + "), and only files of the host can be written; save to a file there, then copy it");
        }
    }
}
