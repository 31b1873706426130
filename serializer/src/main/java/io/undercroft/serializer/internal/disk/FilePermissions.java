package io.undercroft.serializer.internal.disk;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;

/// Who may open a file that a writer made for itself (mode 0600) and now gives its name.
final class FilePermissions {
    private static final int PERMISSIONS = 0777;
    private static final int OWNER = 0700;
    private static final int OTHERS = 0007;
    private static final int OF_GROUP = 3;
    /// An attempt fails if another process deletes the file as abandoned.
    private static final int ATTEMPTS = 10;

    private FilePermissions() {}

    /// Gives a file the owner, the group and the mode of the one that it replaces, or the mode of new files there.
    /// Only root may give a file to another owner, and others only to their groups. If the group cannot be kept, the
    /// mode allows nobody what it did not allow them before. Does nothing where files have no mode.
    ///
    /// @param file the file; a symbolic link is not followed
    /// @param replaced the file that it replaces, which need not exist
    /// @throws IOException if the mode cannot be set
    static void give(Path file, Path replaced) throws IOException {
        if (!file.getFileSystem().supportedFileAttributeViews().contains("unix")) {
            return;
        }
        int mode;
        if (Files.isRegularFile(replaced)) {
            Map<String, Object> former = Files.readAttributes(replaced, "unix:uid,gid,mode");
            boolean isSameGroup = isSet(file, "unix:gid", Objects.requireNonNull(former.get("gid")));
            isSet(file, "unix:uid", Objects.requireNonNull(former.get("uid")));
            mode = (int) Objects.requireNonNull(former.get("mode")) & PERMISSIONS;
            mode = isSameGroup ? mode : withoutGroup(mode);
        } else {
            mode = modeOfNew(file);
        }
        if (mode(file) != mode) {
            // By a descriptor of the file, so that no link is followed; closing that releases the lock of the writer.
            Files.setAttribute(file, "unix:mode", mode, LinkOption.NOFOLLOW_LINKS);
        }
    }

    /// {@return whether two files of one directory have the same mode} Always true where files have no mode.
    ///
    /// @param file a file; a symbolic link is not followed
    /// @param other another file, likewise
    /// @throws IOException if it cannot be found out
    static boolean isSameMode(Path file, Path other) throws IOException {
        return !file.getFileSystem().supportedFileAttributeViews().contains("unix") || mode(file) == mode(other);
    }

    private static int mode(Path file) throws IOException {
        return (int) Files.getAttribute(file, "unix:mode", LinkOption.NOFOLLOW_LINKS) & PERMISSIONS;
    }

    private static boolean isSet(Path file, String attribute, Object value) throws IOException {
        if (Files.getAttribute(file, attribute, LinkOption.NOFOLLOW_LINKS).equals(value)) {
            return true;
        }
        try {
            Files.setAttribute(file, attribute, value, LinkOption.NOFOLLOW_LINKS);
            return true;
        } catch (FileSystemException _) {
            return false;
        }
    }

    /// Members of the former group are others now, and others may be members of the new one.
    private static int withoutGroup(int mode) {
        int both = mode & (mode >> OF_GROUP) & OTHERS;
        return (mode & OWNER) | (both << OF_GROUP) | both;
    }

    /// Returns the mode of a file that is made next to another one. The umask and the directory decide it.
    private static int modeOfNew(Path file) throws IOException {
        for (int attempt = 1;; attempt++) {
            Path empty = Temporaries.name(Objects.requireNonNull(file.getParent()));
            try {
                Files.createFile(empty);
                return mode(empty);
            } catch (NoSuchFileException e) {
                if (attempt == ATTEMPTS) {
                    throw e;
                }
            } finally {
                Files.deleteIfExists(empty);
                Temporaries.forget(empty);
            }
        }
    }
}
