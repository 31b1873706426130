package io.undercroft.mmap.internal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/// The identity of a file, independent of its names: no two files of a host have the same one at a time.
///
/// @param device the device number of the file system
/// @param inode the inode number of the file
public record FileIdentity(int device, long inode) {
    /// More bits than inodes of memory file systems have, which count from 1.
    private static final int DEVICE_SHIFT = 40;

    /// {@return the identity of the file at a path, or nothing if there is none, or the system does not report it}
    ///
    /// @param path the path; symbolic links are followed
    /// @throws IOException if the system call fails
    public static Optional<FileIdentity> of(Path path) throws IOException {
        try {
            Map<String, Object> stat = Files.readAttributes(path, "unix:dev,ino");
            return stat.get("dev") instanceof Long device && stat.get("ino") instanceof Long inode
                    ? Optional.of(new FileIdentity(device.intValue(), inode))
                    : Optional.empty();
        } catch (NoSuchFileException | UnsupportedOperationException _) {
            return Optional.empty();
        }
    }

    /// Written out, since the JVM would make it when the first file is opened.
    @Override
    public boolean equals(Object other) {
        return other instanceof FileIdentity that && device == that.device && inode == that.inode;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(number());
    }

    /// {@return device and inode combined in one number}
    public long number() {
        return inode ^ ((long) device << DEVICE_SHIFT);
    }
}
