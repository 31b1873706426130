package io.undercroft.mmap;

import io.undercroft.mmap.internal.Libc;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

/// Storages whose bytes are those of a file or of shared memory, mapped: Torch7's
/// `torch.ByteStorage(filename, shared, size, sharedMem)` and PyTorch's `UntypedStorage.from_file(filename, shared,
/// nbytes)`.
///
/// | | who sees what is written | the file | when the storage is freed |
/// |---|---|---|---|
/// | [#openPrivate(Path)] | this storage only | has to be there, and readable | it stays as it is |
/// | [#openShared(Path)] | everyone | has to be there, and writable | it stays |
/// | [#openShared(Path, long)] | everyone | is created, and grows, if need be | it stays |
/// | [#openSharedMemory(String)] | everyone | the name has to be there | it stays |
/// | [#openSharedMemory(String, long)] | everyone | is created, and grows, if need be | the name goes, if this storage created it |
///
/// **Sizes** are bytes, 0 or more. Without one, the storage has all bytes there are; none at all is fine. (Torch7
/// refuses an empty file.) With 0 it has none, nothing is mapped, and what is named has to be there. (PyTorch does not
/// even look; Torch7 takes 0 and negative numbers for "all".) With fewer bytes than there are it has the first of them;
/// nothing is ever cut off. A file grows by zeros, and no byte of it changes: Torch7 and PyTorch write a zero over the
/// first.
///
/// **All of these storages** cannot be resized, have a [Storage#filename] (PyTorch: shared ones only), and are
/// [Storage#isShared] as they were opened. Slices keep them alive. They hold no file open, and give their mapping back
/// with their last reference, or when nobody can reach them any more. To see the bytes as elements, lay a
/// `TypedStorage` or tensors over them.
///
/// **When bytes go away.** Cutting a file short that is mapped takes bytes from under its storages: see [MappedFile].
public final class FileStorage {
    private FileStorage() {}

    /// Maps a whole file copy-on-write.
    ///
    /// @param path which file; reading it has to be allowed
    /// @return a storage of all its bytes, with one reference
    /// @throws IOException if it is not there, no regular file, or may not be read
    public static Storage openPrivate(Path path) throws IOException {
        return whole(MappedFile.open(path, MapMode.PRIVATE));
    }

    /// Maps the start of a file copy-on-write.
    ///
    /// @param path which file; reading it has to be allowed
    /// @param nbytes how many bytes; the file must have as many
    /// @return a storage of that size, with one reference
    /// @throws MappingException if the file is shorter; the message has both numbers
    /// @throws IOException if it is not there, no regular file, or may not be read
    /// @throws IllegalArgumentException if the size is negative
    public static Storage openPrivate(Path path, long nbytes) throws IOException {
        checkSize(nbytes);
        return start(MappedFile.open(path, MapMode.PRIVATE), nbytes);
    }

    /// Maps a whole file so that what is written reaches it.
    ///
    /// @param path which file; reading and writing it has to be allowed
    /// @return a storage of all its bytes, with one reference
    /// @throws IOException if it is not there, no regular file, or may not be written
    public static Storage openShared(Path path) throws IOException {
        return whole(MappedFile.open(path, MapMode.SHARED));
    }

    /// Maps the start of a file so that what is written reaches it, and makes the file so long first if it is shorter.
    /// One that is not there is created, for its owner only (mode 0600).
    ///
    /// Growing takes no space yet where the file system knows sparse files; where the disk is full by the time a page is
    /// written, that access throws [InternalError].
    ///
    /// @param path which file; reading and writing it has to be allowed
    /// @param nbytes how many bytes; with 0, nothing is created
    /// @return a storage of that size, with one reference
    /// @throws NoSuchFileException if the folder is not there, or with 0 the file
    /// @throws IOException if it is no regular file, may not be written, or cannot grow so far
    /// @throws IllegalArgumentException if the size is negative
    public static Storage openShared(Path path, long nbytes) throws IOException {
        return openShared(path, nbytes, Libc.find());
    }

    /// As [#openShared(Path, long)], with or without the C library.
    static Storage openShared(Path path, long nbytes, Optional<Libc> libc) throws IOException {
        checkSize(nbytes);
        return start(nbytes == 0
                ? MappedFile.open(path, MapMode.SHARED, new MapBudget(), libc)
                : MappedFile.openAtLeast(path, nbytes, libc), nbytes);
    }

    /// Attaches all of a shared memory segment that is there.
    ///
    /// @param name its name, with or without a slash in front
    /// @return a storage of all its bytes, with one reference; the name stays when it is freed
    /// @throws SharedMemoryException if the name is not valid or there is no such segment
    public static Storage openSharedMemory(String name) throws SharedMemoryException {
        try (SharedMemory memory = SharedMemory.attach(name)) {
            return Storage.over(memory.allocation());
        }
    }

    /// Creates a shared memory segment, or attaches the start of one that is there and makes it so long first if it is
    /// shorter.
    ///
    /// The storage that created the name removes it when it is freed, or when this JVM ends in order; those that are
    /// attached keep the bytes. (In Torch7 every storage removes it, and all but the first fail to.)
    ///
    /// @param name its name, with or without a slash in front
    /// @param nbytes how many bytes; with 0, nothing is created
    /// @return a storage of that size, with one reference
    /// @throws SharedMemoryException if the name is not valid, there is not that much memory, or with 0 no such segment
    /// @throws IllegalArgumentException if the size is negative
    public static Storage openSharedMemory(String name, long nbytes) throws SharedMemoryException {
        checkSize(nbytes);
        return Storage.over(SharedMemory.openAtLeast(name, nbytes));
    }

    private static Storage whole(MappedFile file) {
        return start(file, file.size());
    }

    private static Storage start(MappedFile file, long nbytes) {
        try (file) {
            return Storage.over(file.onlyAllocation(nbytes));
        }
    }

    private static void checkSize(long nbytes) {
        if (nbytes < 0) {
            throw new IllegalArgumentException("a storage cannot have " + nbytes + " bytes");
        }
    }
}
