package io.undercroft.serializer.spi;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;

/// Storages whose bytes stand in a file of another format. Nothing is mapped, read or decoded before a storage is first touched. Safe for any
/// thread.
///
/// What stands in the file as it is in memory, aligned for its elements, is mapped in place, or read into memory if
/// [that was asked for][OpenOptions#inMemory]. All else is decoded into memory; as writing to that would not reach the file, it is read-only
/// unless the file is opened copy-on-write.
public final class FileStorages {
    private final MappedFile file;
    private final OpenOptions options;
    private final MemoryReader memory;
    private final Map<Storage, Long> places = new ConcurrentHashMap<>();

    /// How bytes that do not stand in the file as they are in memory come out of it.
    @FunctionalInterface
    public interface Decoder {
        /// Fills memory.
        ///
        /// @param into as many bytes as the storage has, zeroed
        /// @throws IOException if reading fails
        /// @throws FormatException if the bytes in the file are damaged
        void decode(MemorySegment into) throws IOException;
    }

    /// The storages of a file.
    ///
    /// @param file the file, which outlives them
    /// @param options how it is opened
    public FileStorages(MappedFile file, OpenOptions options) {
        this.file = file;
        this.options = options;
        this.memory = new MemoryReader(file, options);
    }

    /// {@return a storage that is known by its size only, since it was not chosen, or has no bytes in the file}
    ///
    /// @param nbytes its size in bytes
    public Storage blank(long nbytes) {
        return Storage.meta(nbytes);
    }

    /// {@return a storage whose bytes stand in the file as they are in memory}
    ///
    /// @param offset where, from the start of the file; the run has been checked to lie within it
    /// @param nbytes its size in bytes
    /// @param alignment what the offset has to be a multiple of to be mapped, in bytes: the size of an element, or of the pieces of one that have a
    ///     byte order
    public Storage stored(long offset, long nbytes, int alignment) {
        Device device = device();
        if (device.isMeta()) {
            return blank(nbytes);
        }
        boolean isMapped = offset % alignment == 0 || nbytes == 0;
        Storage storage = isMapped || options.isInMemory()
                ? Storage.deferred(nbytes, () -> bytes(offset, nbytes), file.path())
                : Storage.decoded(nbytes, () -> decode(nbytes, into -> file.read(offset, into)), file.path());
        places.put(storage, offset);
        return storage;
    }

    /// {@return a storage whose bytes are decoded when it is first touched}
    ///
    /// @param nbytes its size in bytes; has been checked against what the file can hold
    /// @param decoder how; called by any thread, and again for each [loan][Storage#borrow] of the storage
    public Storage decoded(long nbytes, Decoder decoder) {
        return device().isMeta() ? blank(nbytes) : Storage.decoded(nbytes, () -> decode(nbytes, decoder), file.path());
    }

    /// {@return where the bytes of a storage start in the file, if they stand there as they are in memory}
    ///
    /// @param storage any storage
    public OptionalLong placeOf(Storage storage) {
        Long place = places.get(storage);
        return place == null ? OptionalLong.empty() : OptionalLong.of(place);
    }

    private Device device() {
        Device device = options.deviceFor(Device.CPU);
        if (!device.isMeta() && !device.isCpu()) {
            throw new FormatException("DEVICE", "storages are to go to " + device + ", which is not supported",
                    FormatException.NO_OFFSET,
                    "Open it on the CPU, and move tensors with Tensor.to; or --map-location cpu");
        }
        return device;
    }

    private Allocation bytes(long offset, long nbytes) {
        return options.isInMemory() ? memory.read(List.of(file.piece(offset, nbytes))) : file.window(offset, nbytes);
    }

    private Allocation decode(long nbytes, Decoder decoder) {
        Allocation made = options.memory().orElseGet(AnonymousMemory::allocator).allocate(nbytes);
        try {
            decoder.decode(made.segment());
            return options.mapping() == MapMode.PRIVATE ? made : readOnly(made);
        } catch (FormatException e) {
            made.free();
            // Long after the file was opened, so nobody else says which one it was.
            throw e.withFile(file.path().toString());
        } catch (IOException e) {
            made.free();
            throw new UncheckedIOException(e);
        } catch (Throwable e) {
            made.free();
            throw e;
        }
    }

    private static Allocation readOnly(Allocation made) {
        return new Allocation(made.segment().asReadOnly(), made.sharing(), made.filename(), made::free);
    }
}
