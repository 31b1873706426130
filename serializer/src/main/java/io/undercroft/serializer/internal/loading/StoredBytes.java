package io.undercroft.serializer.internal.loading;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.MappedAccess;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.spi.DeviceMemory;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/// The bytes of one storage of an open file: where they are, which checksums they have, and how they are made when they
/// are first needed. The formats differ in what subclasses say; mapping, reading into memory and loading to devices are
/// the same for all.
///
/// It is the [owner][Storage#owner] of the storage, which references it for as long as it lives. So it must not
/// reference other storages of the file, which could not be collected before. Safe for any thread.
public abstract class StoredBytes implements Supplier<Allocation> {
    private final MappedFile file;
    private final OpenOptions options;
    private final Device device;
    private final long nbytes;

    /// Bytes of a storage.
    ///
    /// @param file the file that has the storage
    /// @param options the options for opening it
    /// @param device the device of the storage
    /// @param nbytes its size in bytes
    protected StoredBytes(MappedFile file, OpenOptions options, Device device, long nbytes) {
        this.file = file;
        this.options = options;
        this.device = device;
        this.nbytes = nbytes;
    }

    /// {@return the stored bytes that a storage was made of, also after they were mapped or read}
    ///
    /// @param storage any storage
    public static Optional<StoredBytes> of(Storage storage) {
        return storage.owner().filter(StoredBytes.class::isInstance).map(StoredBytes.class::cast);
    }

    /// {@return the file that has the storage}
    public final MappedFile file() {
        return file;
    }

    final OpenOptions options() {
        return options;
    }

    /// {@return the device of the storage}
    public final Device device() {
        return device;
    }

    /// {@return the size of the storage in bytes}
    public final long nbytes() {
        return nbytes;
    }

    /// {@return where the bytes are, in ascending order; nothing if they are not in files as they are in
    /// memory, as by default}
    public List<Extent> extents() {
        return List.of();
    }

    /// {@return the runs of files that are read when the storage is touched} By default its [#extents].
    public List<FilePiece> runs() {
        return extents().stream().map(extent -> file.piece(extent.offset(), extent.length())).toList();
    }

    /// {@return the bytes in the file and the checksums that the options require, for one time that they are read;
    /// nothing if they have to be [decoded][#get] in memory of the host, as by default}
    protected Optional<CheckedInput> input() {
        return Optional.empty();
    }

    /// {@return the exception for bytes that were read and do not match their checksums}
    ///
    /// @param damaged the numbers of the runs of the [#input] that do not match
    /// @param bytes the bytes, on the device of the storage, which belong to the callee
    protected RuntimeException refusal(List<Integer> damaged, Allocation bytes) {
        bytes.free();
        return new IllegalStateException(this + " was written to while it was read; open it again");
    }

    /// {@return bytes that were read, if they match their checksums}
    ///
    /// @param input what they were read from
    /// @param bytes the bytes, on the device of the storage, which are freed if they do not match
    protected final Allocation checked(CheckedInput input, Allocation bytes) {
        List<Integer> damaged = input.damaged();
        if (damaged.isEmpty()) {
            return bytes;
        }
        return MappedAccess.guarded(file, () -> {
            throw refusal(damaged, bytes);
        });
    }

    /// {@return the memory of the device, which is not that of the host and not meta}
    ///
    /// @throws FormatException if there is no such device
    protected abstract DeviceMemory memory();

    /// Makes the bytes in memory of the host, mapped or not.
    @Override
    public abstract Allocation get();

    /// {@return a new storage of these bytes}
    ///
    /// @param isLent whether [Storage#borrow] makes the bytes without keeping them
    public final Storage storage(boolean isLent) {
        if (device.isMeta()) {
            return Storage.meta(nbytes, owner());
        }
        if (!device.isCpu()) {
            return DeviceSource.storage(this, memory());
        }
        return isLent ? Storage.decoded(nbytes, this, owner()) : Storage.deferred(nbytes, this, owner());
    }

    /// {@return the owner of the storage} By default these bytes.
    protected Object owner() {
        return this;
    }

    /// {@return the name of the file}
    @Override
    public final String toString() {
        return file.location();
    }
}
