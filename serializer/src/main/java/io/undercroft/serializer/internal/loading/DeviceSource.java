package io.undercroft.serializer.internal.loading;

import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;
import io.undercroft.format.internal.Span;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.ChecksumPolicy;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.loading.DeviceContent.Decoded;
import io.undercroft.serializer.internal.loading.DeviceContent.Stored;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.spi.DeviceMemory;
import io.undercroft.storage.spi.DeviceMemory.Upload;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/// Uploads the bytes of a storage of a file to a device: at the first call that needs them there, or before, together
/// with those of other storages. Safe for use by several threads.
public final class DeviceSource implements Supplier<Allocation> {
    /// The remedy if a device is missing.
    private static final Remedy REMEDY = new Remedy("Choose a device when opening: {}",
            List.of(new Remedy.Option("OpenOptions.device", "(Device.CPU)")));
    /// Held while decoded bytes are in memory of the host, so that they are those of one storage.
    private static final Object DECODING = new Object();

    private final MappedFile file;
    private final OpenOptions options;
    private final DeviceMemory memory;
    private final long nbytes;
    private final Supplier<DeviceContent> content;
    private @Nullable Supplier<Allocation> loaded;

    private DeviceSource(MappedFile file, OpenOptions options, DeviceMemory memory, long nbytes,
            Supplier<DeviceContent> content) {
        this.file = file;
        this.options = options;
        this.memory = memory;
        this.nbytes = nbytes;
        this.content = content;
    }

    /// {@return a storage on a device whose bytes are in a file}
    ///
    /// @param file the file
    /// @param owner what the storage is released with, named like the file
    /// @param options the options for opening
    /// @param memory the memory of the device
    /// @param nbytes the size of the storage in bytes
    /// @param content supplies its bytes, each time they are needed
    public static Storage storage(MappedFile file, Object owner, OpenOptions options, DeviceMemory memory,
            long nbytes, Supplier<DeviceContent> content) {
        return Storage.deferred(nbytes, memory, new DeviceSource(file, options, memory, nbytes, content),
                owner);
    }

    /// {@return the memory of a device other than the CPU and meta}
    ///
    /// @param device the device
    /// @param code the code of the exception
    /// @param what the subject of its message
    /// @throws FormatException if it is not there; the message says which are
    public static DeviceMemory memoryOf(Device device, String code, String what) {
        try {
            if (Allocator.on(device) instanceof DeviceMemory memory) {
                return memory;
            }
            throw new IllegalStateException("the device " + device + " cannot be loaded to");
        } catch (IllegalStateException e) {
            throw new FormatException(code, what + " to go to " + device + ": " + e.getMessage(),
                    FormatException.NO_OFFSET, REMEDY, e);
        }
    }

    /// {@return the source of the bytes of a storage that are to be loaded from a file to a device and are not yet}
    ///
    /// @param storage any storage
    static Optional<DeviceSource> of(Storage storage) {
        return storage.source().filter(DeviceSource.class::isInstance).map(DeviceSource.class::cast);
    }

    MappedFile file() {
        return file;
    }

    DeviceMemory memory() {
        return memory;
    }

    long nbytes() {
        return nbytes;
    }

    DeviceContent open() {
        return content.get();
    }

    /// Sets what the next call of [#get] returns or throws.
    synchronized void loaded(Supplier<Allocation> outcome) {
        loaded = outcome;
    }

    /// {@return whether [#get] returns or throws without loading}
    synchronized boolean isLoaded() {
        return loaded != null;
    }

    private synchronized @Nullable Supplier<Allocation> take() {
        Supplier<Allocation> outcome = loaded;
        loaded = null;
        return outcome;
    }

    @Override
    public Allocation get() {
        Supplier<Allocation> outcome = take();
        return withAccess(options, outcome == null ? load() : outcome.get());
    }

    /// {@return bytes on a device that can be written to if the file is opened copy-on-write} Writes would not reach
    /// the file.
    ///
    /// @param options the options for opening the file
    /// @param bytes the bytes, which the new allocation frees
    public static Allocation withAccess(OpenOptions options, Allocation bytes) {
        return options.mapping() == MapMode.PRIVATE
                ? bytes
                : new Allocation(bytes.segment().asReadOnly(), bytes.sharing(), bytes.filename().orElse(null),
                        bytes::free);
    }

    private Allocation load() {
        return switch (open()) {
            case Stored stored -> DeviceLoad.one(this, stored);
            case Decoded decoded -> decode(decoded);
        };
    }

    private Allocation decode(Decoded decoded) {
        synchronized (DECODING) {
            Allocation host = decoded.decoder().get();
            try {
                return upload(host.segment());
            } finally {
                host.free();
            }
        }
    }

    private Allocation upload(MemorySegment host) {
        Allocation bytes = allocate(nbytes, false);
        try {
            if (nbytes > 0) {
                memory.upload(List.of(new Upload(bytes.segment(),
                        (offset, into) -> into.copyFrom(host.asSlice(offset, into.byteSize())))));
            }
            return bytes;
        } catch (Throwable e) {
            bytes.free();
            throw e;
        }
    }

    /// {@return memory of the device}
    ///
    /// @param size the number of bytes, which may be those of more storages than this one
    /// @param isZeroed whether they have to be zero; else they are overwritten
    /// @throws OutOfMemoryError if there is not enough memory; the message names the file and a remedy
    Allocation allocate(long size, boolean isZeroed) {
        try {
            return isZeroed ? memory.allocate(size) : memory.allocateUninitialized(size);
        } catch (RuntimeException | OutOfMemoryError e) {
            if (!memory.isOutOfMemory(e)) {
                throw e;
            }
            OutOfMemoryError told = new OutOfMemoryError(file.location() + ": " + size + " bytes cannot be loaded to "
                    + memory.device() + " (" + e.getMessage()
                    + "); choose fewer tensors with OpenOptions.only, or another device with OpenOptions.devices");
            told.initCause(e);
            throw told;
        }
    }

    /// {@return whether some bytes may be read without the others: unless the policy requires a check of the storage
    /// before}
    boolean isReadInParts() {
        return options.checksums() == ChecksumPolicy.WHEN_READ_WHOLE
                || options.checksums() == ChecksumPolicy.NONE;
    }

    /// {@return some bytes of the storage, in memory of the host}
    ///
    /// @param part the bytes
    Allocation read(Span part) {
        return switch (open()) {
            case Stored stored -> {
                Allocation bytes = AnonymousMemory.allocator().allocate(part.end() - part.start());
                try {
                    stored.input().read(part.start(), bytes.segment());
                    yield bytes;
                } catch (Throwable e) {
                    bytes.free();
                    throw e;
                }
            }
            case Decoded decoded -> {
                Allocation whole = decoded.decoder().get();
                yield new Allocation(whole.segment().asSlice(part.start(), part.end() - part.start()),
                        Allocation.Sharing.PRIVATE, null, whole::free);
            }
        };
    }
}
