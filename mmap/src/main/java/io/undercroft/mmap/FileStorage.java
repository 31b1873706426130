package io.undercroft.mmap;

import io.undercroft.mmap.internal.Libc;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

/// Storages whose bytes are those of a file or of shared memory, mapped: Torch7's
/// `torch.ByteStorage(filename, shared, size, sharedMem)`, PyTorch's `torch.from_file` and
/// `UntypedStorage.from_file(filename, shared, nbytes)`.
///
/// | mode | visibility of writes | the file | when the storage is freed |
/// |---|---|---|---|
/// | [MapMode#READ_ONLY] | writing throws | has to be there, and readable | it is not changed |
/// | [MapMode#PRIVATE] | this storage only | has to be there, and readable | it is not changed |
/// | [MapMode#SHARED] | everyone | has to be there, and writable | it stays |
/// | [MapMode#SHARED] and a size | everyone | is created, and grows, if need be | it stays |
/// | [#openSharedMemory] | everyone | the name has to be there | it stays |
/// | [#openSharedMemory] and a size | everyone | is created, and grows, if need be | a name that it created is removed |
///
/// **Sizes.** A [ByteRange] selects bytes of the file: whole, so many bytes or elements, from an offset. A
/// file that is larger is never cut; a shared one that is smaller grows by zeros, and no byte of it changes; another
/// one that is smaller is refused.
///
/// | | here | PyTorch | Torch7 |
/// |---|---|---|---|
/// | no size | all bytes | 0 | all bytes |
/// | size 0 | nothing is mapped; the file has to be there | the file is not looked at | all bytes |
/// | a negative size | [IllegalArgumentException] | "Cannot allocate memory" | all bytes |
/// | an empty file, no size | an empty storage | | an error |
/// | more than 2^63-1 bytes | [IllegalArgumentException] | 2^62 floats make a tensor without memory | |
/// | bytes that fill no element | left over, as [TypedStorage] does | | left over |
/// | a file that grows | keeps every byte | its first byte becomes 0 | its first byte becomes 0 |
/// | growing that fails | a file that was created is removed | stays, empty or grown | stays |
/// | a file that is created | of mode 0600 | the same | the same |
/// | no name (`""`) | the directory, which is refused | shared: a temporary file | an error |
/// | `filename` | always | of shared ones | |
/// | `is_shared` | of shared ones | always | |
///
/// **All of these storages** cannot be resized. Slices keep them alive. They hold no file open, and release their
/// mapping with their last reference, or when they are unreachable. To wait until what was written to a shared
/// one is on the disk, call [Pages#force] with its segment.
///
/// **When bytes are lost.** Cutting a mapped file removes bytes of its storages: see [MappedFile] for the effects, and
/// [Pages#guard] for how to handle them.
public final class FileStorage {
    private FileStorage() {}

    /// Maps a whole file.
    ///
    /// @param path which file; reading it has to be allowed, and writing it if the mode is [MapMode#SHARED]
    /// @param mode what may be written, and its visibility
    /// @return a storage of all its bytes, with one reference
    /// @throws IOException as [#open(Path, MapMode, ByteRange)]
    public static Storage open(Path path, MapMode mode) throws IOException {
        return open(path, mode, ByteRange.whole());
    }

    /// Maps bytes of a file: as `torch.FloatStorage(filename, shared, size)` with [ByteRange#elements]. Through a
    /// [TypedStorage] or a [Tensor][io.undercroft.storage.Tensor] they are seen as elements.
    ///
    /// @param path which file; reading it has to be allowed, and writing it if the mode is [MapMode#SHARED]
    /// @param mode what may be written, and its visibility
    /// @param range which bytes; if it has a size, it is more than 0, and the mode is [MapMode#SHARED], a file that is
    ///     not there is created, for its owner only, and a shorter one grows. That takes no space yet where the file
    ///     system supports sparse files; where the disk is full by the time a page is written, that access throws
    ///     [InternalError]
    /// @return a storage of these bytes, with one reference
    /// @throws MappingException if the file does not have these bytes, or the system refuses; the message has the
    ///     numbers
    /// @throws NoSuchFileException if the file is not there, nor to be created, or its folder is not there
    /// @throws IOException if it is no regular file of the host, may not be opened, or cannot grow so far
    public static Storage open(Path path, MapMode mode, ByteRange range) throws IOException {
        return open(path, mode, range, Libc.find());
    }

    /// Maps a whole file as elements.
    ///
    /// @param path which file, as for [#open(Path, MapMode)]
    /// @param dtype the type of the elements
    /// @param mode what may be written, and its visibility
    /// @return a storage of all its bytes, with one reference; those at the end that fill no element are left over
    /// @throws IOException as [#open(Path, MapMode, ByteRange)]
    public static TypedStorage open(Path path, DType dtype, MapMode mode) throws IOException {
        return new TypedStorage(open(path, mode), dtype);
    }

    /// Maps elements of a file, from its start: `torch.FloatStorage(filename, shared, size)`.
    ///
    /// @param path which file, as for [#open(Path, MapMode, ByteRange)], which may create or enlarge it
    /// @param dtype the type of the elements
    /// @param mode what may be written, and its visibility
    /// @param size how many elements
    /// @return a storage of these elements, with one reference
    /// @throws IllegalArgumentException if the size is negative, or its bytes are more than 2^63-1
    /// @throws IOException as [#open(Path, MapMode, ByteRange)]
    public static TypedStorage open(Path path, DType dtype, MapMode mode, long size) throws IOException {
        return new TypedStorage(open(path, mode, ByteRange.elements(dtype, size)), dtype);
    }

    /// Attaches a shared memory segment. With a size, attaches its start, makes it so long first if it is shorter, and
    /// creates it if it is not there.
    ///
    /// The name lasts as long as the storage that created it ([NameLifetime#WITH_CREATOR]): it is removed when that is
    /// freed, when its JVM ends, and when its process is found to have been killed. Those that are attached keep the
    /// bytes. (In Torch7 every storage removes it, and all but the first fail to.)
    ///
    /// @param name its name, with or without a slash in front
    /// @param range which bytes, from 0 on; of no bytes, and of all, nothing is created
    /// @return a storage of these bytes, with one reference
    /// @throws SharedMemoryException if the name is not valid, there is not that much memory, or no such segment where
    ///     none is created
    /// @throws IllegalArgumentException if the range does not begin at byte 0
    public static Storage openSharedMemory(String name, ByteRange range) throws SharedMemoryException {
        if (range.offset() != 0) {
            throw new IllegalArgumentException("a storage starts where shared memory does, not at " + range.offset());
        }
        return Storage.over(SharedMemory.openAtLeast(name, range.nbytes()));
    }

    /// As [#open(Path, MapMode, ByteRange)], with or without the C library.
    static Storage open(Path path, MapMode mode, ByteRange range, Optional<Libc> libc) throws IOException {
        return mode == MapMode.SHARED && range.nbytes() > 0
                ? openOrCreate(path, range, libc)
                : mapped(MappedFile.open(path, mode, new MapBudget(), libc), range);
    }

    /// Others may create or delete the file between the two: then it is to be tried again.
    private static Storage openOrCreate(Path path, ByteRange range, Optional<Libc> libc) throws IOException {
        while (true) {
            try {
                return mapped(MappedFile.openAtLeast(path, range.end(), libc), range);
            } catch (NoSuchFileException _) {
                // Created below.
            }
            try {
                return created(path, range, libc);
            } catch (FileAlreadyExistsException e) {
                if (Files.isSymbolicLink(path) && Files.notExists(path)) {
                    throw new NoSuchFileException(path.toString(), null,
                            "it is a link to a file that is not there; create that file, or remove the link");
                }
            }
        }
    }

    private static Storage created(Path path, ByteRange range, Optional<Libc> libc) throws IOException {
        MappedFile file = MappedFile.create(path, range.end(), libc);
        try {
            return mapped(file, range);
        } catch (RuntimeException | Error e) {
            Files.deleteIfExists(path);
            throw e;
        }
    }

    private static Storage mapped(MappedFile file, ByteRange range) {
        try (file) {
            ByteRange bytes = range.of(file.size());
            return Storage.over(file.onlyAllocation(bytes.offset(), bytes.nbytes()));
        }
    }
}
