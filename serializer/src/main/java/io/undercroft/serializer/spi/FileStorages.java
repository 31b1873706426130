package io.undercroft.serializer.spi;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece;
import io.undercroft.serializer.ChecksumPolicy;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.loading.CheckedRun;
import io.undercroft.serializer.internal.loading.DeviceSource;
import io.undercroft.serializer.internal.loading.PieceReader;
import io.undercroft.serializer.internal.loading.IncrementalChecksum;
import io.undercroft.serializer.internal.loading.StoredBytes;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.spi.DeviceMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/// Storages whose bytes are in a file of another format. Nothing is mapped, read or decoded before a storage is first
/// touched. Safe for any thread.
///
/// What is in the file as it is in memory, aligned for its elements, is mapped in place, or read into memory with [the
/// option for that][OpenOptions#inMemory]. All else is decoded into memory; as writing to that would not reach the
/// file, it is read-only unless the file is opened copy-on-write.
///
/// Bytes of [storages on devices][OpenOptions#devices] are read into the buffers of the device; only what has to be
/// decoded is in memory of the host before, one storage at a time.
public final class FileStorages {
    /// The code of the exception that refuses storages for a device that is missing.
    public static final String NO_DEVICE = "DEVICE";

    private final MappedFile file;
    private final OpenOptions options;
    /// The former devices of the storages, which the options map to devices.
    private final Device saved;
    private final PieceReader reader;

    /// A decoder of bytes whose form in the file differs from that in memory.
    @FunctionalInterface
    public interface Decoder {
        /// Fills memory.
        ///
        /// @param into as many bytes as the storage has, zeroed
        /// @throws IOException if reading fails
        /// @throws FormatException if the bytes in the file are damaged
        void decode(MemorySegment into) throws IOException;
    }

    /// A decoder of a contiguous tensor that can decode some elements without the rest.
    @FunctionalInterface
    public interface BoxDecoder {
        /// Fills memory with a box of the tensor.
        ///
        /// @param offset the first element in each dimension
        /// @param shape the number of elements in each dimension
        /// @param into the memory for these, in row-major order, zeroed
        /// @throws IOException if reading fails
        /// @throws FormatException if the bytes in the file are damaged
        void decode(long[] offset, Shape shape, MemorySegment into) throws IOException;
    }

    /// Finds the bytes of a storage.
    @FunctionalInterface
    public interface Locator {
        /// {@return where the bytes are}
        ///
        /// @throws IOException if reading fails
        /// @throws FormatException if they are not where the file has them, or not as many
        Place locate() throws IOException;
    }

    /// Where the bytes of a storage are.
    ///
    /// @param offset the offset of the first byte in the file, if they are there as they are in memory
    /// @param checksum the checksum of all of them; null if there is none
    /// @param decoder decodes them, if they are not there as they are in memory; else null
    public record Place(long offset, @Nullable Checksum checksum, @Nullable Decoder decoder) {}

    /// The checksum that a file has of all bytes of a storage that is stored as it is in memory.
    public interface Checksum {
        /// Reads the bytes in the file and compares them.
        ///
        /// @throws IOException if reading fails
        /// @throws FormatException if they do not match
        void check() throws IOException;

        /// {@return the bytes before those of the storage that the checksum covers too}
        ///
        /// @throws IOException if reading fails
        byte[] before() throws IOException;

        /// {@return the CRC32 of these and of the bytes of the storage}
        int crc32();
    }

    /// The storages of a file.
    ///
    /// @param file the file, which outlives them
    /// @param options how it is opened
    public FileStorages(MappedFile file, OpenOptions options) {
        this(file, options, Device.CPU, new PieceReader(file, options));
    }

    private FileStorages(MappedFile file, OpenOptions options, Device saved, PieceReader reader) {
        this.file = file;
        this.options = options;
        this.saved = saved;
        this.reader = reader;
    }

    /// {@return the storages of the same file that were saved from a device, for a format that records it} By default
    /// they were saved from the CPU.
    ///
    /// @param device the device that the file names
    public FileStorages savedFrom(Device device) {
        return new FileStorages(file, options, device, reader);
    }

    /// {@return what the offset of elements in a file has to be a multiple of to map them, in bytes: the size of what
    /// has a byte order}
    ///
    /// @param dtype the type of the elements
    public static int alignment(DType dtype) {
        return switch (dtype.kind()) {
            case COMPLEX -> dtype.itemsize() / 2;
            case BITS -> 1;
            default -> dtype.isByteSized() ? dtype.itemsize() : 1;
        };
    }

    /// {@return a storage whose elements are in the file one after the other} They are decoded if their byte order is
    /// not that of memory.
    ///
    /// @param offset where, from the start of the file; the run has been checked to lie within it, unless it is empty
    /// @param nbytes its size in bytes
    /// @param dtype the type of the elements
    /// @param order their byte order
    public Storage stored(long offset, long nbytes, DType dtype, ByteOrder order) {
        if (order == ByteOrder.nativeOrder() || dtype.itemsize() == 1 || nbytes == 0) {
            return stored(offset, nbytes, alignment(dtype));
        }
        return decoded(nbytes, into -> {
            file.read(offset, into);
            Storage.wrap(into).byteswap(dtype);
        });
    }

    /// {@return a storage whose bytes are in the file as they are in memory}
    ///
    /// @param offset where, from the start of the file; the run has been checked to lie within it, unless it is empty
    /// @param nbytes its size in bytes
    /// @param alignment what the offset has to be a multiple of to be mapped, in bytes: the size of an element, or of
    ///     the pieces of one that have a byte order
    public Storage stored(long offset, long nbytes, int alignment) {
        return stored(offset, nbytes, alignment, null);
    }

    /// {@return a storage as [#stored(long, long, int)] makes it, of which the file has a checksum} It is checked if
    /// [the options][OpenOptions#checksums] require it.
    ///
    /// @param offset where, from the start of the file; the run has been checked to lie within it, unless it is empty
    /// @param nbytes its size in bytes
    /// @param alignment as of [#stored(long, long, int)]
    /// @param checksum the checksum of all its bytes; null if there is none
    public Storage stored(long offset, long nbytes, int alignment, @Nullable Checksum checksum) {
        Stored bytes = new Stored(offset, nbytes, alignment, checksum);
        return storage(bytes, !bytes.isMappable && !options.isInMemory());
    }

    /// {@return a storage whose bytes are decoded when it is first touched}
    ///
    /// @param nbytes its size in bytes; has been checked against what the file can hold
    /// @param decoder how; called by any thread, and again for each [borrower][Storage#borrow] of the storage
    public Storage decoded(long nbytes, Decoder decoder) {
        return storage(new Decoded(nbytes, decoder), true);
    }

    /// {@return a storage of a contiguous tensor, which is decoded when it is first touched} [Boxes][Contents#part] of
    /// it that are copied before are decoded without the rest.
    ///
    /// @param dtype the type of the elements
    /// @param shape the shape; its bytes have been checked against what the file can hold
    /// @param decoder how; called by any thread. It is kept, and must not reference storages of the file
    public Storage decoded(DType dtype, Shape shape, BoxDecoder decoder) {
        return storage(new Boxes(dtype, shape, decoder), true);
    }

    /// {@return a storage whose bytes are found when it is first touched, or its extents are asked for} For a format
    /// whose index does not have the offsets.
    ///
    /// @param nbytes its size in bytes; has been checked against what the file can hold
    /// @param alignment as of [#stored(long, long, int)]
    /// @param locator finds them; called by any thread, and again if it throws
    public Storage located(long nbytes, int alignment, Locator locator) {
        return storage(new Located(nbytes, alignment, locator), false);
    }

    private Storage storage(StoredBytes bytes, boolean isDecodedOnDemand) {
        return bytes.device().isMeta()
                ? Storage.meta(bytes.nbytes())
                : bytes.storage(isDecodedOnDemand);
    }

    private static DeviceMemory memoryOf(StoredBytes bytes) {
        return DeviceSource.memoryOf(bytes.device(), NO_DEVICE, "storages are");
    }

    /// Bytes that are in the file as they are in memory.
    private final class Stored extends StoredBytes {
        private final long offset;
        private final boolean isMappable;
        private final @Nullable Checksum checksum;

        Stored(long offset, long nbytes, int alignment, @Nullable Checksum checksum) {
            super(reader, options.deviceFor(saved), nbytes);
            // What is empty needs no byte of the file, and can be said to be past its end.
            this.offset = nbytes == 0 ? 0 : offset;
            this.isMappable = this.offset % alignment == 0;
            this.checksum = nbytes > 0 && options.checksums() != ChecksumPolicy.NONE ? checksum : null;
        }

        @Override
        public List<Extent> extents() {
            return nbytes() == 0
                    ? List.of()
                    : List.of(new Extent(0, nbytes(), Extent.Place.FILE, 0, offset, nbytes(),
                            Optional.empty()));
        }

        @Override
        protected Optional<List<Piece>> pieces() {
            return Optional.of(List.of(file.piece(offset, nbytes())));
        }

        @Override
        protected boolean isMappable() {
            return isMappable;
        }

        @Override
        protected Optional<Supplier<List<CheckedRun>>> checks() {
            if (checksum == null) {
                return Optional.empty();
            }
            List<CheckedRun> runs = List.of(new CheckedRecord(file, nbytes(), checksum));
            return Optional.of(() -> runs);
        }

        @Override
        protected DeviceMemory memory() {
            return memoryOf(this);
        }
    }

    /// A record of a file, which is a storage and perhaps some bytes before it, with one checksum. It is compared with
    /// the bytes in the file: a program may write to those in memory.
    ///
    /// @param file the file
    /// @param end the size of the storage in bytes
    /// @param sum the checksum
    private record CheckedRecord(MappedFile file, long end, Checksum sum) implements CheckedRun {
        @Override
        public long start() {
            return 0;
        }

        @Override
        public IncrementalChecksum checksum() throws IOException {
            MemorySegment before = MemorySegment.ofArray(sum.before());
            IncrementalChecksum all = new IncrementalChecksum(IncrementalChecksum.Kind.CRC32, -before.byteSize(),
                    before.byteSize() + end,
                    sum.crc32());
            all.add(-before.byteSize(), before);
            return all;
        }

        @Override
        public boolean isIntact(MemorySegment mapped) throws IOException {
            try {
                sum.check();
                return true;
            } catch (FormatException _) {
                return false;
            }
        }

        /// Names the file, since this is long after it was opened.
        @Override
        public RuntimeException refusal() {
            try {
                sum.check();
                return new IllegalStateException(
                        file.location() + " was written to while it was read; open it again");
            } catch (FormatException e) {
                return e.withFile(file.location());
            } catch (IOException e) {
                return new UncheckedIOException(e);
            }
        }
    }

    /// Bytes that differ from those in the file.
    private class Decoded extends StoredBytes {
        private final Decoder decoder;

        Decoded(long nbytes, Decoder decoder) {
            super(reader, options.deviceFor(saved), nbytes);
            this.decoder = decoder;
        }

        @Override
        protected DeviceMemory memory() {
            return memoryOf(this);
        }

        /// The decoder may reference what it decodes, which is not kept after it was decoded.
        @Override
        protected Object owner() {
            return file.location();
        }

        @Override
        public Allocation get() {
            return allocation(nbytes(), decoder);
        }

        final Allocation allocation(long length, Decoder decoding) {
            Allocation made = options.memory().orElseGet(AnonymousMemory::allocator).allocate(length);
            try {
                decoding.decode(made.segment());
                return DeviceSource.withAccess(options, made);
            } catch (FormatException e) {
                made.free();
                // Names the file, since this is long after it was opened.
                throw e.withFile(file.location());
            } catch (IOException e) {
                made.free();
                throw new UncheckedIOException(e);
            } catch (Throwable e) {
                made.free();
                throw e;
            }
        }
    }

    /// Bytes of a tensor that can be decoded in boxes.
    private final class Boxes extends Decoded {
        private final DType dtype;
        private final Shape shape;
        private final BoxDecoder decoder;

        Boxes(DType dtype, Shape shape, BoxDecoder decoder) {
            super(dtype.nbytes(shape.numel()), into -> decoder.decode(new long[shape.rank()], shape, into));
            this.dtype = dtype;
            this.shape = shape;
            this.decoder = decoder;
        }

        @Override
        protected Object owner() {
            return this;
        }

        @Override
        protected Optional<Tensor> part(Tensor view) {
            long[] strides = shape.contiguousStride();
            long[] offset = new long[strides.length];
            if (view.dim() != offset.length || !view.dtype().equals(dtype)) {
                return Optional.empty();
            }
            long rest = view.storageOffset();
            for (int dim = 0; dim < offset.length; dim++) {
                offset[dim] = rest / strides[dim];
                rest %= strides[dim];
                if ((view.size(dim) > 1 && view.stride(dim) != strides[dim])
                        || view.size(dim) > shape.size(dim) - offset[dim]) {
                    return Optional.empty();
                }
            }
            Storage part = Storage.over(allocation(dtype.nbytes(view.numel()),
                    into -> decoder.decode(offset, view.shape(), into)));
            return Optional.of(Tensor.of(part, dtype, 0, view.shape()));
        }
    }

    /// Bytes that are found when they are needed.
    private final class Located extends StoredBytes {
        private final int alignment;
        private final Locator locator;
        /// Two threads that find them at once find the same.
        private volatile @Nullable StoredBytes found;

        Located(long nbytes, int alignment, Locator locator) {
            super(reader, options.deviceFor(saved), nbytes);
            this.alignment = alignment;
            this.locator = locator;
        }

        private StoredBytes found() {
            StoredBytes existing = found;
            if (existing == null) {
                try {
                    Place place = locator.locate();
                    existing = place.decoder == null
                            ? new Stored(place.offset, nbytes(), alignment, place.checksum)
                            : new Decoded(nbytes(), place.decoder);
                } catch (FormatException e) {
                    // Names the file, since this is long after it was opened.
                    throw e.withFile(file.location());
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
                found = existing;
            }
            return existing;
        }

        private Optional<Stored> stored() {
            return found() instanceof Stored bytes ? Optional.of(bytes) : Optional.empty();
        }

        /// Damage is reported where the bytes are needed.
        @Override
        public List<Extent> extents() {
            try {
                return found().extents();
            } catch (FormatException | UncheckedIOException _) {
                return List.of();
            }
        }

        @Override
        protected Optional<List<Piece>> pieces() {
            return stored().flatMap(Stored::pieces);
        }

        @Override
        protected boolean isMappable() {
            return stored().orElseThrow().isMappable;
        }

        @Override
        protected Optional<Supplier<List<CheckedRun>>> checks() {
            return stored().flatMap(Stored::checks);
        }

        @Override
        public Allocation get() {
            return stored().isPresent() ? super.get() : found().get();
        }

        @Override
        protected DeviceMemory memory() {
            return memoryOf(this);
        }
    }
}
