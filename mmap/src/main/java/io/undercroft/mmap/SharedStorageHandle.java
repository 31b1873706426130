package io.undercroft.mmap;

import io.undercroft.mmap.SharedMemory.Source;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.io.Serializable;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/// The location of a shared storage, for another process. A handle is a small value: it can be printed, parsed again
/// (by any language: the text is a URI), and serialised by Java or Kryo. It keeps nothing alive.
///
///     undercroft:shm/weights?nbytes=4096&id=123                      shared memory by its name
///     undercroft:fd/4711/9?nbytes=4096&id=123                        descriptor 9 of process 4711
///     undercroft:file/home/me/a%20b.bin?nbytes=4096&id=77&at=512     a file, from byte 512 on
///     undercroft:device/cuda_42_x?nbytes=4096&id=123                 memory of a CUDA device
///     undercroft:shm/weights?nbytes=4096&id=123&slice=16,8           bytes 16 to 23 of a storage of 4096
///     undercroft:shm/weights?nbytes=4096&id=123&access=read          to be read only
///
/// **One storage stays one.** Handles to one storage open to the same [Storage] object on one mapping, as long as a
/// reference exists: each [#open] gives one reference more. In the process that made the handle that is the storage
/// it was made of. A slice opens to a slice of the opened base.
///
/// **Identity.** `id` identifies the memory by two numbers that `stat` has of a file, of `/dev/shm/NAME` and of
/// `/proc/PID/fd/FD`: `st_ino XOR (st_dev << 40)`, cut to 64 bits and written as an unsigned decimal number. A name
/// that was unlinked and created anew is other memory, and is refused. A file system on a disk may use a number again
/// for the next file of a name: only memory, and files that are still open, are certain to be distinguished.
///
/// **Lifetime.** The process that passes a handle on keeps the storage until the handle was opened: the memory is freed
/// with its name or descriptor (see [SharedMemory]).
///
/// **Devices.** A handle to memory of a device names a record in shared memory with the device and how the memory is
/// opened. Its provider keeps the memory until no other process has it open, however that ends; only the
/// process that allocated it must not end before. What was submitted to the device before the handle was made is done
/// when the handle is opened.
///
/// **Trust.** A handle gives no rights: it is opened with those of the process that opens it, which can be made to map
/// any file that it may write. Open handles only of those you would take a path from. Since `id` identifies the memory,
/// a segment of any owner is opened; with a handle without one, only a segment of the same user or of root.
///
/// @param home what kind of memory it is
/// @param name where it is: the name without a slash; `PID/FD`; the path as in a URI
/// @param identity the number of the memory, unsigned; 0 if it is not known
/// @param mode [MapMode#SHARED], or [MapMode#READ_ONLY] if the storage is read-only
/// @param base which bytes of the memory the storage uses; of a slice, its base
/// @param slice which bytes of the base are meant; all of them unless it is a slice
public record SharedStorageHandle(Home home, String name, long identity, MapMode mode, ByteRange base,
        ByteRange slice) implements Allocation.Origin, Serializable {
    /// A kind of memory that several processes can have in common.
    public enum Home {
        /// Shared memory with a name, as of [SharedMemory#create].
        SHARED_MEMORY("shm", Pattern.compile("[^/\\p{Cntrl}\\p{Cs}]{1,255}")),
        /// Shared memory without one, which a living process has open: [SharedMemory#anonymous].
        DESCRIPTOR("fd", Pattern.compile("[0-9]{1,9}/[0-9]{1,9}")),
        /// A file that is mapped shared.
        FILE("file", Pattern.compile("/[-A-Za-z0-9._~!$&'()*+,;=:@/%]{1,16384}")),
        /// Memory of a device, described by a record in shared memory of that name.
        DEVICE("device", SHARED_MEMORY.names);

        private final String word;
        private final Pattern names;

        Home(String word, Pattern names) {
            this.word = word;
            this.names = names;
        }
    }

    private static final long serialVersionUID = 1L;
    private static final Pattern DESCRIPTOR_PATH = Pattern.compile("/proc/([0-9]+)/fd/([0-9]+)");

    /// Checks that the parts fit together. Whether there is such memory is found by [#open].
    ///
    /// @throws IllegalArgumentException if they do not
    public SharedStorageHandle {
        Objects.requireNonNull(mode, "mode");
        if (!home.names.matcher(name).matches()) {
            throw new IllegalArgumentException("a handle to " + home.word + " cannot name '" + name + "'");
        }
        if (home == Home.FILE) {
            path(name);
        }
        if (mode == MapMode.PRIVATE) {
            throw new IllegalArgumentException("a private mapping cannot be handed over");
        }
        if (!base.isBounded() || !slice.isBounded() || slice.end() > base.nbytes()) {
            throw new IllegalArgumentException("bytes " + slice + " are not inside a storage of " + base);
        }
        if (home == Home.DEVICE && identity == 0) {
            throw new IllegalArgumentException("a handle to memory of a device needs an id");
        }
        if (home != Home.FILE && base.offset() != 0) {
            throw new IllegalArgumentException("a storage starts where shared memory does, not at " + base.offset());
        }
    }

    /// Makes a handle of a storage.
    ///
    /// @param storage one that is shared: by [Storage#shareMemory], or opened on shared memory or a shared file
    /// @return the handle; that of a slice contains its base
    /// @throws IllegalStateException if it is not shared, was freed, or the location of its memory is unknown
    public static SharedStorageHandle of(Storage storage) {
        if (!storage.isShared()) {
            throw new IllegalStateException(
                    storage.describe() + " cannot be handed to other processes: call shareMemory() first");
        }
        if (!(storage.origin().orElse(null) instanceof SharedStorageHandle whole)) {
            throw new IllegalStateException(storage.describe()
                    + " is shared, but its allocator does not report where; copy it, and call shareMemory() on the"
                    + " copy");
        }
        MapMode mode = storage.isReadOnly() ? MapMode.READ_ONLY : MapMode.SHARED;
        ByteRange slice = new ByteRange(storage.sliceOffset(), storage.nbytes());
        SharedStorageHandle handle = new SharedStorageHandle(whole.home, whole.name, whole.identity, mode, whole.base,
                slice);
        OpenStorages.remember(handle.whole(), storage.base().orElse(storage));
        if (handle.isSlice()) {
            OpenStorages.remember(handle, storage);
        }
        if (handle.home == Home.DEVICE) {
            OpenStorages.handOver(storage);
        }
        return handle;
    }

    /// Reads a handle. Nothing is opened.
    ///
    /// @param text what [#toString] gave
    /// @return the handle
    /// @throws IllegalArgumentException if the text is no handle to a storage
    public static SharedStorageHandle parse(String text) {
        HandleText read = HandleText.of(text);
        SharedStorageHandle handle = read(read);
        read.end();
        return handle;
    }

    /// Finds the storage, and maps it unless this process has it mapped already. A file that was removed and created
    /// again with the same inode number is not distinguished from the old one.
    ///
    /// @return the storage, with one reference for the caller to [Storage#release]
    /// @throws SharedMemoryException if the shared memory or memory of a device is gone, is other memory by now, or is
    ///     too small
    /// @throws MappingException if the file is too short
    /// @throws IOException if the file is gone, is another one by now, or may not be opened
    /// @throws IllegalStateException if the device is not here, or fails
    public Storage open() throws IOException {
        return OpenStorages.open(this);
    }

    /// {@return the handle as one line of text, which [#parse] reads}
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(HandleText.SCHEME).append(home.word).append(
                switch (home) {
                    case SHARED_MEMORY, DEVICE -> "/" + HandleText.encoded(name);
                    case DESCRIPTOR -> "/" + name;
                    case FILE -> name;
                });
        text.append("?nbytes=").append(base.nbytes());
        if (identity != 0) {
            text.append("&id=").append(Long.toUnsignedString(identity));
        }
        if (base.offset() != 0) {
            text.append("&at=").append(base.offset());
        }
        if (isSlice()) {
            text.append("&slice=").append(slice.offset()).append(',').append(slice.nbytes());
        }
        return text.append(mode == MapMode.READ_ONLY ? "&access=read" : "").toString();
    }

    // ---- for this package ----

    /// Returns the handle to all of some memory, or null if it has neither a name nor a descriptor that others can
    /// reach.
    static @Nullable SharedStorageHandle ofMemory(Source source, MemorySegment segment) {
        MapMode mode = segment.isReadOnly() ? MapMode.READ_ONLY : MapMode.SHARED;
        ByteRange all = ByteRange.bytes(segment.byteSize());
        long identity = source.identity().number();
        if (!source.name().isEmpty()) {
            return new SharedStorageHandle(Home.SHARED_MEMORY, source.name(), identity, mode, all, all);
        }
        Matcher descriptor = DESCRIPTOR_PATH.matcher(String.valueOf(source.filename()));
        return descriptor.matches()
                ? new SharedStorageHandle(Home.DESCRIPTOR, descriptor.replaceFirst("$1/$2"), identity, mode, all, all)
                : null;
    }

    /// Returns the number of the process and the number of its descriptor.
    long[] descriptor() {
        return Pattern.compile("/").splitAsStream(name).mapToLong(Long::parseLong).toArray();
    }

    static SharedStorageHandle ofFile(Path path, long identity, ByteRange bytes) {
        return new SharedStorageHandle(Home.FILE, path.toAbsolutePath().toUri().getRawPath(), identity, MapMode.SHARED,
                bytes, ByteRange.bytes(bytes.nbytes()));
    }

    static SharedStorageHandle read(HandleText text) {
        Home home = Arrays.stream(Home.values()).filter(each -> each.word.equals(text.home())).findFirst()
                .orElseThrow(() -> text.wrong("it has to begin with undercroft:shm/, undercroft:fd/, "
                        + "undercroft:file/ or undercroft:device/"));
        long nbytes = text.number("nbytes", text.need("nbytes"));
        long identity = text.take("id").map(id -> identity(text, id)).orElse(0L);
        long at = text.take("at").map(digits -> text.number("at", digits)).orElse(0L);
        long[] slice = text.take("slice").map(pair -> slice(text, pair)).orElse(new long[]{0, nbytes});
        MapMode mode = text.take("access").map(access -> access(text, access)).orElse(MapMode.SHARED);
        String name = switch (home) {
            case SHARED_MEMORY, DEVICE -> text.decoded(text.path().substring(1));
            case DESCRIPTOR -> text.path().substring(1);
            case FILE -> text.path();
        };
        try {
            return new SharedStorageHandle(home, name, identity, mode, new ByteRange(at, nbytes),
                    new ByteRange(slice[0], slice[1]));
        } catch (IllegalArgumentException e) {
            throw text.wrong(String.valueOf(e.getMessage()));
        }
    }

    boolean isSlice() {
        return slice.offset() != 0 || slice.nbytes() != base.nbytes();
    }

    /// Returns the handle to the storage that a slice is of.
    SharedStorageHandle whole() {
        return new SharedStorageHandle(home, name, identity, mode, base, ByteRange.bytes(base.nbytes()));
    }

    Path path() {
        return path(name);
    }

    /// @throws IllegalArgumentException if it is no path
    private static Path path(String name) {
        return Path.of(URI.create("file://" + name));
    }

    private static long identity(HandleText text, String digits) {
        try {
            return Long.parseUnsignedLong(digits);
        } catch (NumberFormatException e) {
            throw text.wrong("the id '" + digits + "' is no number from 0 to 2^64-1");
        }
    }

    private static long[] slice(HandleText text, String pair) {
        long[] numbers = text.numbers("slice", pair).stream().mapToLong(Long::longValue).toArray();
        if (numbers.length != 2) {
            throw text.wrong("a slice has a start and a size");
        }
        return numbers;
    }

    private static MapMode access(HandleText text, String access) {
        if (!access.equals("read")) {
            throw text.wrong("'" + access + "' is no access; only read is");
        }
        return MapMode.READ_ONLY;
    }
}
