package io.undercroft.serializer.internal;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.util.UUID;

/// A file that appears under its name whole and durable, or not at all.
///
/// The bytes go to a temporary file in the same directory, since only a rename within one file system is atomic. [#commit]
/// brings them to the disk, renames the file over the target and brings the directory to the disk. Closing without a
/// commit deletes the temporary file; the target stays as it was. Belongs to one thread.
final class AtomicFile implements AutoCloseable {
    /// A segment is written in pieces that a `ByteBuffer` can hold.
    private static final long PIECE = 1 << 30;
    private static final int MOST_LINKS = 40;

    private final Path target;
    private final Path temporary;
    private final FileChannel channel;
    private boolean committed;

    private AtomicFile(Path target, Path temporary, FileChannel channel) {
        this.target = target;
        this.temporary = temporary;
        this.channel = channel;
    }

    /// Starts a file.
    ///
    /// @param path the name it gets; a symbolic link keeps pointing where it points, and the file there is replaced
    /// @throws IOException if the directory is missing or not writable, or `path` is a directory
    static AtomicFile create(Path path) throws IOException {
        Path target = linkTarget(path);
        Path directory = target.getParent();
        if (directory == null || Files.isDirectory(target)) {
            throw new FileSystemException(path.toString(), null, "it is a directory; name a file in it");
        }
        if (!Files.isDirectory(directory)) {
            throw new NoSuchFileException(path.toString(), null,
                    "the directory " + directory + " does not exist; make it first");
        }
        // Without the target's name, which may be as long as names can be.
        Path temporary = directory.resolve("." + UUID.randomUUID() + ".croft-tmp");
        try {
            FileChannel channel = FileChannel.open(temporary, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
            AtomicFile file = new AtomicFile(target, temporary, channel);
            try {
                file.copyPermissions();
                return file;
            } catch (IOException e) {
                file.close();
                throw e;
            }
        } catch (AccessDeniedException e) {
            throw withCause(
                    new AccessDeniedException(path.toString(), null, "the directory " + directory + " is not writable"),
                    e);
        }
    }

    /// Where a chain of links leads to, whether or not there is a file yet.
    private static Path linkTarget(Path path) throws IOException {
        Path target = path.toAbsolutePath();
        for (int links = 0; Files.isSymbolicLink(target); links++) {
            if (links == MOST_LINKS) {
                throw new FileSystemException(path.toString(), null, "its symbolic links go round in circles");
            }
            target = target.resolveSibling(Files.readSymbolicLink(target));
        }
        return target;
    }

    /// A file that is replaced keeps its mode.
    private void copyPermissions() throws IOException {
        boolean posix = Files.getFileStore(temporary).supportsFileAttributeView(PosixFileAttributeView.class);
        if (posix && Files.isRegularFile(target)) {
            Files.setPosixFilePermissions(temporary, Files.getPosixFilePermissions(target));
        }
    }

    /// Writes bytes.
    ///
    /// @param offset where, in bytes from the start of the file; what is skipped reads as zeros
    /// @param bytes what to write
    /// @throws IOException if the disk is full or failing; the message has the target
    void write(long offset, MemorySegment bytes) throws IOException {
        try {
            for (long done = 0; done < bytes.byteSize();) {
                ByteBuffer piece = bytes.asSlice(done, Math.min(PIECE, bytes.byteSize() - done)).asByteBuffer();
                while (piece.hasRemaining()) {
                    done += channel.write(piece, offset + done);
                }
            }
        } catch (FileSystemException e) {
            throw e;
        } catch (ClosedByInterruptException e) {
            throw failed("the thread that saves was interrupted", e);
        } catch (IOException e) {
            throw failed("writing " + bytes.byteSize() + " bytes failed", e);
        }
    }

    /// Makes the file durable and gives it its name.
    ///
    /// @throws IOException if that fails; the target is then as it was
    void commit() throws IOException {
        try {
            channel.force(true);
            channel.close();
        } catch (IOException e) {
            throw failed("bringing it to the disk failed", e);
        }
        try {
            Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE);
        } catch (AtomicMoveNotSupportedException e) {
            throw failed("its file system cannot rename atomically", e);
        } catch (IOException e) {
            throw failed("giving it its name failed", e);
        }
        committed = true;
        forceDirectory();
    }

    /// Deletes the temporary file unless the file was committed.
    @Override
    public void close() throws IOException {
        channel.close();
        if (!committed) {
            Files.deleteIfExists(temporary);
        }
    }

    /// A rename is durable only when the directory is; systems that cannot open a directory do without.
    private void forceDirectory() throws IOException {
        Path directory = target.getParent();
        if (directory == null || System.getProperty("os.name").startsWith("Windows")) {
            return;
        }
        try (FileChannel handle = FileChannel.open(directory, StandardOpenOption.READ)) {
            handle.force(true);
        }
    }

    private FileSystemException failed(String what, IOException cause) {
        String detail = cause instanceof FileSystemException system ? system.getReason() : cause.getMessage();
        String reason = what + (detail == null ? "" : ": " + detail) + "; no file was made or changed";
        return withCause(new FileSystemException(target.toString(), null, reason), cause);
    }

    private static <E extends IOException> E withCause(E exception, IOException cause) {
        exception.initCause(cause);
        return exception;
    }
}
