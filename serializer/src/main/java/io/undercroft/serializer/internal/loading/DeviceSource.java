package io.undercroft.serializer.internal.loading;

import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;
import io.undercroft.format.internal.Span;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.MapMode;
import io.undercroft.serializer.ChecksumPolicy;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.MappedAccess;
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

    private final StoredBytes bytes;
    private final DeviceMemory memory;
    private @Nullable Supplier<Allocation> loaded;

    private DeviceSource(StoredBytes bytes, DeviceMemory memory) {
        this.bytes = bytes;
        this.memory = memory;
    }

    /// {@return a storage on a device whose bytes are in a file}
    ///
    /// @param bytes its bytes
    /// @param memory the memory of the device
    static Storage storage(StoredBytes bytes, DeviceMemory memory) {
        return Storage.deferred(bytes.nbytes(), memory, new DeviceSource(bytes, memory), bytes.owner());
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

    StoredBytes bytes() {
        return bytes;
    }

    DeviceMemory memory() {
        return memory;
    }

    Optional<CheckedInput> input() {
        return MappedAccess.guarded(bytes.file(), bytes::input);
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
        return withAccess(bytes.options(), outcome == null ? load() : outcome.get());
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
        Optional<CheckedInput> input = input();
        if (input.isPresent()) {
            return DeviceLoad.one(this, input.get());
        }
        synchronized (DECODING) {
            Allocation host = bytes.get();
            try {
                return upload(host.segment());
            } finally {
                host.free();
            }
        }
    }

    private Allocation upload(MemorySegment host) {
        Allocation made = allocate(bytes.nbytes(), false);
        try {
            if (bytes.nbytes() > 0) {
                memory.upload(List.of(new Upload(made.segment(),
                        (offset, into) -> into.copyFrom(host.asSlice(offset, into.byteSize())))));
            }
            return made;
        } catch (Throwable e) {
            made.free();
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
            OutOfMemoryError told = new OutOfMemoryError(bytes + ": " + size + " bytes cannot be loaded to "
                    + memory.device() + " (" + e.getMessage()
                    + "); choose fewer tensors with OpenOptions.only, or another device with OpenOptions.devices");
            told.initCause(e);
            throw told;
        }
    }

    /// {@return whether some bytes may be read without the others: unless the policy requires a check of the storage
    /// before}
    boolean isReadInParts() {
        ChecksumPolicy policy = bytes.options().checksums();
        return policy == ChecksumPolicy.WHEN_READ_WHOLE || policy == ChecksumPolicy.NONE;
    }

    /// {@return some bytes of the storage, in memory of the host}
    ///
    /// @param part the bytes
    Allocation read(Span part) {
        long length = part.end() - part.start();
        Optional<CheckedInput> input = input();
        if (input.isEmpty()) {
            Allocation whole = bytes.get();
            return new Allocation(whole.segment().asSlice(part.start(), length), Allocation.Sharing.PRIVATE, null,
                    whole::free);
        }
        Allocation some = AnonymousMemory.allocator().allocate(length);
        try {
            input.get().read(part.start(), some.segment());
            return some;
        } catch (Throwable e) {
            some.free();
            throw e;
        }
    }
}
