package io.undercroft.serializer.internal.disk;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.LockedException;
import java.io.Closeable;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/// The right to write to a file, which one writer has at a time (section 10.5 of the format).
///
/// It is a lock of the system on the file `NAME.lock`, so it ends with the process, however that ends. The file has one
/// line that describes the holder. Readers take no lock.
///
/// A process loses such a lock when it closes *any* descriptor of the file, that of another thread for instance
/// ([LockAttempt]). So while this process holds a lock it does not open the file again: neither to read its holder nor
/// to check its name.
public final class WriterLock implements Closeable {
    private static final int LONGEST_LINE = 512;
    private static final String LINE_START = "pid ";
    /// An attempt fails if the holder is about to delete the file.
    private static final int ATTEMPTS = 100;
    /// Less than any likely limit on the size of files.
    private static final int LARGEST_SIZE = 1 << 20;
    /// The locks that this process holds, by the path of their files, with the contents of the files. The locks of the
    /// system exclude other processes only.
    private static final Map<Path, String> HELD = new ConcurrentHashMap<>();

    private final Path path;
    private final LockAttempt lock;

    private WriterLock(Path path, LockAttempt lock) {
        this.path = path;
        this.lock = lock;
    }

    /// Takes the lock, without waiting.
    ///
    /// @param file the file to write to; it need not be there, but its directory must
    /// @return the lock
    /// @throws LockedException if it is held
    /// @throws IOException if the lock's file cannot be made or written
    public static WriterLock of(Path file) throws IOException {
        Path path = path(file);
        String line = LINE_START + ProcessHandle.current().pid() + " on " + host() + " since " + Instant.now();
        String holder = HELD.putIfAbsent(path, line);
        if (holder != null) {
            throw LockedException.bySelf(file, FormatException.quote(holder));
        }
        try {
            return new WriterLock(path, lock(file, path, line + "\n"));
        } catch (LockedException e) {
            HELD.remove(path);
            throw e;
        } catch (Throwable e) {
            removeAbandoned(file, path);
            HELD.remove(path);
            throw e;
        }
    }

    /// {@return whether a writer may be using a file, which may not exist yet}
    ///
    /// @param file the file
    public static boolean mayBeHeld(Path file) {
        try {
            return Files.exists(path(file), LinkOption.NOFOLLOW_LINKS);
        } catch (IOException _) {
            return false;
        }
    }

    private static Path path(Path file) throws IOException {
        RegularFiles.requireHost(file);
        Path real = real(file);
        return real.resolveSibling(real.getFileName() + ".lock");
    }

    private static Path real(Path file) throws IOException {
        if (Files.exists(file)) {
            return file.toRealPath();
        }
        Path absolute = file.toAbsolutePath();
        Path directory = absolute.getParent();
        return directory == null ? absolute : directory.toRealPath().resolve(absolute.getFileName());
    }

    private static LockAttempt lock(Path file, Path path, String line) throws IOException {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            LockAttempt lock = open(file, path);
            FileChannel channel = lock.channel();
            try {
                if (!lock.isLocked()) {
                    throw new LockedException(file, holder(channel));
                }
                checkOurs(file, path, channel);
                if (isNamed(path, channel)) {
                    sign(channel, line);
                    return lock;
                }
            } catch (FileSystemException | ClosedByInterruptException e) {
                lock.close();
                throw e;
            } catch (IOException e) {
                lock.close();
                throw unwritable(file, path, e);
            } catch (Throwable e) {
                lock.close();
                throw e;
            }
            lock.close();
        }
        throw new LockedException(file, "another process that takes and releases " + path + " all the time");
    }

    /// Deletes the file that an attempt has left that failed, unless it is another writer's by now, or another
    /// program's. An interrupt has closed the channel and with it released the lock, so it is taken again.
    private static void removeAbandoned(Path file, Path path) {
        boolean isInterrupted = Thread.interrupted();
        try (LockAttempt lock = LockAttempt.of(path)) {
            if (lock.isLocked()) {
                checkOurs(file, path, lock.channel());
                if (isNamed(path, lock.channel())) {
                    Files.deleteIfExists(path);
                }
            }
        } catch (IOException _) {
            // It stays, and means nothing.
        } finally {
            if (isInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /// The name may be that of a file of another program, which would be emptied. Files of locks are empty, have a line
    /// with `pid`, or are zeros, as [#isNamed] leaves them.
    private static void checkOurs(Path file, Path path, FileChannel channel) throws IOException {
        ByteBuffer start = ByteBuffer.allocate(LINE_START.length());
        channel.read(start, 0);
        String text = new String(start.array(), 0, start.position(), StandardCharsets.US_ASCII);
        if (!text.isEmpty() && !text.startsWith("\0") && !text.startsWith(LINE_START)) {
            throw new FileSystemException(file.toString(), null, "its lock would be " + path
                    + ", which is a file of another program; move that, or take another name. Nothing was changed");
        }
    }

    /// Writes the holder to the file. On a full disk the lock is held without it, since the line is only for messages,
    /// and operations that free space need the lock.
    private static void sign(FileChannel channel, String line) throws IOException {
        channel.truncate(0);
        try {
            channel.write(ByteBuffer.wrap(line.getBytes(StandardCharsets.UTF_8)), 0);
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException _) {
            channel.truncate(0);
        }
    }

    private static FileSystemException unwritable(Path file, Path path, IOException cause) {
        return AtomicFile.withCause(new FileSystemException(file.toString(), null,
                "its lock " + path + " cannot be written: " + cause.getMessage() + "; nothing was changed"), cause);
    }

    /// A link is not followed, since its target would be truncated.
    private static LockAttempt open(Path file, Path path) throws IOException {
        try {
            return LockAttempt.of(path, StandardOpenOption.CREATE);
        } catch (AccessDeniedException e) {
            boolean isThere = Files.exists(path, LinkOption.NOFOLLOW_LINKS);
            throw AtomicFile.withCause(new AccessDeniedException(file.toString(), null, isThere
                    ? "its lock " + path + " cannot be taken; ask its owner for access"
                    : "the directory " + path.getParent() + " is not writable, and the lock of the file is there; ask "
                            + "its owner for access, or write to a copy in another directory"),
                    e);
        } catch (FileSystemException e) {
            throw AtomicFile.withCause(new FileSystemException(file.toString(), null,
                    "its lock " + path + " cannot be taken: " + AtomicFile.reason(e) + "; nothing was changed"), e);
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            throw unwritable(file, path, e);
        }
    }

    /// Returns whether the path still names the file that was locked; the previous holder may have deleted it, and
    /// another process created it again. The locked file is given a size that no other file of that name has.
    private static boolean isNamed(Path path, FileChannel channel) throws IOException {
        long size = LONGEST_LINE + ThreadLocalRandom.current().nextLong(LARGEST_SIZE);
        channel.truncate(0);
        grow(channel, size);
        try {
            return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS).size() == size;
        } catch (NoSuchFileException _) {
            return false;
        }
    }

    /// Mapping makes a file longer without a block of the disk, which may have none left. Where a file cannot be
    /// mapped, a byte is written.
    private static void grow(FileChannel channel, long size) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            channel.map(FileChannel.MapMode.READ_WRITE, 0, size, arena);
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException _) {
            // It may be longer nevertheless.
        }
        if (channel.size() < size) {
            channel.write(ByteBuffer.wrap(new byte[1]), size - 1);
        }
    }

    /// Returns the line of the holder, read by the open channel. Some systems do not allow reading a locked file.
    private static String holder(FileChannel channel) {
        ByteBuffer bytes = ByteBuffer.allocate(LONGEST_LINE);
        try {
            channel.read(bytes, 0);
        } catch (IOException _) {
            return "another process";
        }
        String line = new String(bytes.array(), 0, bytes.position(), StandardCharsets.UTF_8);
        int end = line.indexOf('\n');
        return end < 0 ? "another process" : FormatException.quote(line.substring(0, end));
    }

    /// On Linux it is read from a file; resolving the address may take seconds.
    private static String host() {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        } catch (IOException _) {
            return hostOfAddress();
        }
    }

    private static String hostOfAddress() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException _) {
            return "localhost";
        }
    }

    /// Releases the lock. Its file is deleted first, so that no other process can have locked it meanwhile. It is
    /// emptied, since ext4 brings a file that was truncated and written to the disk when it is closed, in 0.2 ms.
    @Override
    public void close() throws IOException {
        try {
            Files.deleteIfExists(path);
            lock.channel().truncate(0);
        } catch (IOException _) {
            // Where an open file cannot be deleted it stays, and means nothing.
        }
        try {
            lock.close();
        } finally {
            HELD.remove(path);
        }
    }
}
