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

/// Opens storages on mapped files and shared memory: Torch7's `torch.ByteStorage(filename, shared, size, sharedMem)`,
/// PyTorch's `torch.from_file` and `UntypedStorage.from_file(filename, shared, nbytes)`.
///
/// | mode | visibility of writes | the file | when the storage is freed |
/// |---|---|---|---|
/// | [MapMode#READ_ONLY] | writes throw | must exist and be readable | it is not changed |
/// | [MapMode#PRIVATE] | this storage only | must exist and be readable | it is not changed |
/// | [MapMode#SHARED] | all processes | must exist and be writable | it stays |
/// | [MapMode#SHARED] and a size | all processes | is created or extended | it stays |
/// | [#openSharedMemory] | all processes | the name must exist | it stays |
/// | [#openSharedMemory] and a size | all processes | is created or extended | a name that it created is removed |
///
/// **Sizes.** A [ByteRange] selects bytes of the file. A file is never truncated. A smaller file is extended with zeros
/// in [MapMode#SHARED], and refused in the other modes.
///
/// | | here | PyTorch | Torch7 |
/// |---|---|---|---|
/// | no size | all bytes | 0 | all bytes |
/// | size 0 | nothing is mapped; the file must exist | the file is not opened | all bytes |
/// | a negative size | [IllegalArgumentException] | "Cannot allocate memory" | all bytes |
/// | an empty file, no size | an empty storage | | an error |
/// | more than 2^63-1 bytes | [IllegalArgumentException] | 2^62 floats make a tensor without memory | |
/// | bytes at the end that do not make an element | ignored, as by [TypedStorage] | | ignored |
/// | a file that is extended | keeps every byte | its first byte becomes 0 | its first byte becomes 0 |
/// | the extension fails | a file that was created is removed | stays, empty or extended | stays |
/// | a file that is created | of mode 0600 | the same | the same |
/// | no name (`""`) | the directory, which is refused | shared: a temporary file | an error |
/// | `filename` | always | of shared ones | |
/// | `is_shared` | of shared ones | always | |
///
/// **All of these storages** cannot be resized. Slices keep them alive. They do not keep a file open, and are unmapped
/// with their last reference or when they are unreachable. [Pages#force] writes the changes of a shared segment to the
/// disk and waits for them.
///
/// **Truncation.** If a mapped file is truncated, its storages lose bytes: [MappedFile] describes the effects, and
/// [Pages#guard] handles them.
public final class FileStorage {
    private FileStorage() {}

    /// Maps a whole file.
    ///
    /// @param path the file, which must be readable, and writable if the mode is [MapMode#SHARED]
    /// @param mode the access, and the visibility of writes
    /// @return a storage of all its bytes, with one reference
    /// @throws IOException as [#open(Path, MapMode, ByteRange)]
    public static Storage open(Path path, MapMode mode) throws IOException {
        return open(path, mode, ByteRange.whole());
    }

    /// Maps bytes of a file. With [ByteRange#elements] and a [TypedStorage] or [Tensor][io.undercroft.storage.Tensor]
    /// on the result, as `torch.FloatStorage(filename, shared, size)`.
    ///
    /// @param path the file, which must be readable, and writable if the mode is [MapMode#SHARED]
    /// @param mode the access, and the visibility of writes
    /// @param range the bytes. If it has a size of more than 0 and the mode is [MapMode#SHARED], a missing file is
    ///     created, with access for its owner only, and a shorter file is extended. The new bytes take no space before
    ///     they are written, if the file system supports sparse files; if the disk is full at that time, the access
    ///     throws an [InternalError]
    /// @return a storage of these bytes, with one reference
    /// @throws MappingException if the file does not have these bytes, or the system cannot map them
    /// @throws NoSuchFileException if the file does not exist and is not created, or its directory does not exist
    /// @throws IOException if it is not a regular file, or cannot be opened or extended
    public static Storage open(Path path, MapMode mode, ByteRange range) throws IOException {
        return open(path, mode, range, Libc.find());
    }

    /// Maps a whole file as elements of one type.
    ///
    /// @param path the file, as for [#open(Path, MapMode)]
    /// @param dtype the type of the elements
    /// @param mode the access, and the visibility of writes
    /// @return a storage of all its bytes, with one reference; bytes at the end that do not make an element are ignored
    /// @throws IOException as [#open(Path, MapMode, ByteRange)]
    public static TypedStorage open(Path path, DType dtype, MapMode mode) throws IOException {
        return new TypedStorage(open(path, mode), dtype);
    }

    /// Maps the first elements of a file: `torch.FloatStorage(filename, shared, size)`.
    ///
    /// @param path the file, which is created or extended as by [#open(Path, MapMode, ByteRange)]
    /// @param dtype the type of the elements
    /// @param mode the access, and the visibility of writes
    /// @param size the number of elements
    /// @return a storage of these elements, with one reference
    /// @throws IllegalArgumentException if the size is negative, or the size in bytes is more than 2^63-1
    /// @throws IOException as [#open(Path, MapMode, ByteRange)]
    public static TypedStorage open(Path path, DType dtype, MapMode mode, long size) throws IOException {
        return new TypedStorage(open(path, mode, ByteRange.elements(dtype, size)), dtype);
    }

    /// Attaches a segment of shared memory. If the range has a size, attaches the first bytes; a shorter segment is
    /// extended, and a missing one is created.
    ///
    /// The name lasts as long as the storage that created the segment ([NameLifetime#WITH_CREATOR]): it is removed when
    /// that storage is freed, when its JVM exits, or after its process was killed. Storages that are attached keep the
    /// bytes. (In Torch7, every storage removes the name, and all but the first fail.)
    ///
    /// @param name the name, with or without a leading slash
    /// @param range the bytes, from 0; a segment is created only for a size of more than 0
    /// @return a storage of these bytes, with one reference
    /// @throws SharedMemoryException if the name is not valid, there is not enough memory, or the segment does not
    ///     exist and is not created
    /// @throws IllegalArgumentException if the range does not begin at byte 0
    public static Storage openSharedMemory(String name, ByteRange range) throws SharedMemoryException {
        if (range.offset() != 0) {
            throw new IllegalArgumentException("a storage starts where shared memory does, not at " + range.offset());
        }
        return Storage.over(SharedMemory.openAtLeast(name, range.nbytes()));
    }

    /// Opens as [#open(Path, MapMode, ByteRange)], with or without the C library.
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
        } catch (Throwable e) {
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
