package io.undercroft.serializer.internal.disk;

import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/// An open file that this has tried to lock, without waiting.
///
/// A process loses its lock on a file when it closes *any* descriptor of the file. It may have a lock that this class
/// loader does not know of: that of a copy of this library in another one, or of a file with a second path. A file that
/// is found locked by this process therefore stays open until a later attempt finds that lock released.
public final class LockAttempt implements Closeable {
    /// The files that stay open, with their keys in the system.
    private static final Map<FileChannel, Optional<Object>> KEPT = new ConcurrentHashMap<>();

    private final FileChannel channel;
    private final boolean isLocked;

    private LockAttempt(FileChannel channel, boolean isLocked) {
        this.channel = channel;
        this.isLocked = isLocked;
    }

    /// Opens a file and tries to lock it.
    ///
    /// @param path its name
    /// @param options as in [RegularFiles#open]
    /// @return the attempt, to be closed whether the file was locked or not
    /// @throws IOException if the file cannot be opened, or its file system has no locks
    public static LockAttempt of(Path path, OpenOption... options) throws IOException {
        KEPT.keySet().removeIf(LockAttempt::isReleased);
        FileChannel kept = kept(path);
        if (kept != null) {
            return new LockAttempt(kept, false);
        }
        FileChannel channel = RegularFiles.open(path, options);
        try {
            return new LockAttempt(channel, channel.tryLock() != null);
        } catch (OverlappingFileLockException _) {
            KEPT.put(channel, key(path));
            return new LockAttempt(channel, false);
        } catch (Throwable e) {
            channel.close();
            throw e;
        }
    }

    private static boolean isReleased(FileChannel kept) {
        try {
            kept.tryLock();
            kept.close();
            return true;
        } catch (OverlappingFileLockException _) {
            return false;
        } catch (IOException _) {
            return true;
        }
    }

    private static @Nullable FileChannel kept(Path path) throws IOException {
        Optional<Object> key = KEPT.isEmpty() ? Optional.empty() : key(path);
        return KEPT.entrySet().stream().filter(each -> key.isPresent() && each.getValue().equals(key))
                .map(Map.Entry::getKey).findFirst().orElse(null);
    }

    /// Returns what tells a file from others on this host, or nothing where files have no such key.
    private static Optional<Object> key(Path path) throws IOException {
        try {
            return Optional.ofNullable(Files
                    .readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS).fileKey());
        } catch (NoSuchFileException _) {
            return Optional.empty();
        }
    }

    /// {@return whether the file is locked now, until this is closed} Otherwise another process, or other code of this
    /// one, has it locked.
    public boolean isLocked() {
        return isLocked;
    }

    /// {@return the open file}
    FileChannel channel() {
        return channel;
    }

    @Override
    public void close() throws IOException {
        if (!KEPT.containsKey(channel)) {
            channel.close();
        }
    }
}
