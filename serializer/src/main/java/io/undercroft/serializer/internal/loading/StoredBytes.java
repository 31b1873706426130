package io.undercroft.serializer.internal.loading;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.serializer.ChecksumPolicy;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.MappedAccess;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.spi.DeviceMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
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
    private final PieceReader reader;
    private final Device device;
    private final long nbytes;

    /// Bytes of a storage.
    ///
    /// @param reader reads the file that has the storage into memory
    /// @param device the device of the storage
    /// @param nbytes its size in bytes
    protected StoredBytes(PieceReader reader, Device device, long nbytes) {
        this.reader = reader;
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
        return reader.file();
    }

    /// {@return the options for opening the file}
    protected final OpenOptions options() {
        return reader.options();
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
        return extents().stream().map(extent -> file().piece(extent.offset(), extent.length())).toList();
    }

    /// {@return the pieces that the bytes consist of, in order; nothing if they have to be [decoded][#get] in memory of
    /// the host, as by default}
    protected Optional<List<Piece>> pieces() {
        return Optional.empty();
    }

    /// Copies some elements of a tensor without making the other ones.
    ///
    /// @param view the elements, of which there is at least one; its storage is that of these bytes, and not touched
    /// @return the elements in row-major order in new memory of the host; nothing if all bytes have to be made, as by
    ///     default
    protected Optional<Tensor> part(Tensor view) {
        return Optional.empty();
    }

    /// {@return whether the pieces are one run of a file, of which no other storage has a byte} Such a storage is a
    /// window on the mapping of the file. Others have a mapping or copy of their own, so that writes to one storage are
    /// not visible in another.
    protected boolean isWindow() {
        return true;
    }

    /// {@return whether the pieces can be mapped} Otherwise they are copied when the storage is touched.
    protected boolean isMappable() {
        return true;
    }

    /// {@return what makes the runs that have checksums, in order; nothing if none has} It must not reference the
    /// storages of the file, which could not be collected before.
    protected Optional<Supplier<List<CheckedRun>>> checks() {
        return Optional.empty();
    }

    /// {@return whether the runs are compared when the storage is touched}
    protected boolean isCheckedWhenTouched() {
        return options().checksums() == ChecksumPolicy.ON_TOUCH || options().checksums() == ChecksumPolicy.EAGER;
    }

    /// {@return the pieces, and the checksums that the options require, for one time that they are read; nothing if
    /// they have to be decoded}
    protected final Optional<CheckedInput> input() {
        return pieces().map(pieces -> new CheckedInput(pieces, requiredChecks().map(checks -> sums(checks.get()))
                .orElse(List.of()), device.isCpu() && options().memory().isPresent()));
    }

    private Optional<Supplier<List<CheckedRun>>> requiredChecks() {
        return options().checksums() == ChecksumPolicy.NONE ? Optional.empty() : checks();
    }

    private static List<IncrementalChecksum> sums(List<CheckedRun> runs) {
        List<IncrementalChecksum> sums = new ArrayList<>(runs.size());
        for (CheckedRun run : runs) {
            try {
                sums.add(run.checksum());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return sums;
    }

    /// {@return the exception for bytes that do not match their checksums}
    ///
    /// @param damaged the numbers of the runs that do not match, at least one
    /// @param bytes the bytes, on the device of the storage, which belong to the callee
    protected RuntimeException refusal(List<Integer> damaged, Allocation bytes) {
        bytes.free();
        return checks().orElseThrow().get().get(damaged.getFirst()).refusal();
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
        return MappedAccess.guarded(file(), () -> {
            throw refusal(damaged, DeviceSource.withAccess(options(), bytes));
        });
    }

    /// Makes the bytes in memory of the host, mapped or not.
    @Override
    public Allocation get() {
        return MappedAccess.allocated(file(), () -> {
            if (options().isInMemory()) {
                return read();
            }
            if (!isMappable()) {
                CheckedInput input = input().orElseThrow();
                return DeviceSource.withAccess(options(), checked(input, reader.copy(input)));
            }
            return checkable(map());
        });
    }

    /// Reads the bytes into new memory.
    ///
    /// @return the bytes, which do not depend on the file
    public final Allocation read() {
        CheckedInput input = input().orElseThrow();
        return checked(input, reader.read(input));
    }

    private Allocation map() {
        List<Piece> pieces = pieces().orElseThrow();
        return isWindow() && !pieces.isEmpty() && pieces.getFirst() instanceof FilePiece first
                ? first.file().window(first.offset(), nbytes)
                : file().allocation(pieces);
    }

    /// Adds the checksums to mapped bytes, for operations that read all of them. With a shared mapping, bytes change in
    /// the file, and are compared here at most.
    private Allocation checkable(Allocation mapped) {
        Allocation made = mapped;
        List<Integer> damaged;
        try {
            Optional<Supplier<List<CheckedRun>>> checks = requiredChecks();
            if (checks.isEmpty()) {
                return mapped;
            }
            CheckedBytes bytes = new CheckedBytes(file(), mapped, checks.get());
            if (options().mapping() != MapMode.SHARED) {
                made = withFile(mapped).withBacking(bytes);
            }
            damaged = isCheckedWhenTouched() || isFetched() ? bytes.damaged() : List.of();
        } catch (Throwable e) {
            made.free();
            throw e;
        }
        if (!damaged.isEmpty()) {
            throw refusal(damaged, made);
        }
        return made;
    }

    /// {@return an allocation that keeps the file open, whose index has the checksums}
    private Allocation withFile(Allocation mapped) {
        MappedFile held = file().retain();
        return new Allocation(mapped.segment(), mapped.sharing(), mapped.filename().orElse(null), () -> {
            mapped.free();
            held.close();
        });
    }

    /// {@return whether bytes of the storage travel over a network, so that they are checked when they arrive}
    private boolean isFetched() {
        return file().source().isPresent() && Piece.files(pieces().orElse(List.of())).stream()
                .anyMatch(run -> run.file().source().isPresent());
    }

    /// {@return the memory of the device, which is not that of the host and not meta}
    ///
    /// @throws FormatException if there is no such device
    protected abstract DeviceMemory memory();

    /// {@return a new storage of these bytes}
    ///
    /// @param isDecodedOnDemand whether [Storage#borrow] makes the bytes without keeping them
    public final Storage storage(boolean isDecodedOnDemand) {
        if (device.isMeta()) {
            return Storage.meta(nbytes, owner());
        }
        if (!device.isCpu()) {
            return DeviceSource.storage(this, memory());
        }
        return isDecodedOnDemand ? Storage.decoded(nbytes, this, owner()) : Storage.deferred(nbytes, this, owner());
    }

    /// {@return the owner of the storage} By default these bytes.
    protected Object owner() {
        return this;
    }

    /// {@return the name of the file}
    @Override
    public final String toString() {
        return file().location();
    }
}
