package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.StateValues;
import io.undercroft.interop.internal.ZipDirectory;
import io.undercroft.interop.internal.ZipRecord;
import io.undercroft.interop.torch.DistributedIndex.Chunk;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.ChecksumPolicy;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.spi.FileStorages.Place;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// A chunk of a tensor in a shard of a distributed checkpoint: an archive of `torch.save` with one tensor.
///
/// @param contents the archive, whose storages are those of the tensor
/// @param record the elements, if they are stored in the order of a contiguous tensor; else null
record SavedTensor(ZipDirectory zip, TreeContents contents, Tensor tensor, @Nullable ZipRecord record)
        implements
            AutoCloseable {
    /// Reads the descriptions of a chunk, and compares them with the index.
    ///
    /// @param file the shard
    /// @param options how it is opened
    /// @throws FormatException if there is no such tensor
    /// @throws IOException if reading fails
    static SavedTensor read(MappedFile file, Chunk chunk, OpenOptions options) throws IOException {
        ZipDirectory zip = ZipDirectory.read(file, chunk.start(), chunk.end());
        // The index has all names, and decides on the devices.
        TreeContents contents = TorchZipFormat.open(file, zip, OpenOptions.defaults().mapping(options.mapping())
                .checksums(options.checksums()).device(Device.CPU), null);
        try {
            Object state = contents.state();
            Tensor tensor = StateIndex.held(state) instanceof Tensor held ? held : null;
            Shape expected = Shape.of(chunk.size());
            if (tensor == null || !Objects.equals(tensor.dtype(), chunk.dtype()) || !tensor.shape().equals(expected)) {
                throw chunk.refused((tensor == null
                        ? "is no tensor, but " + StateValues.describe(state)
                        : "has a tensor of " + tensor.dtype().name() + " and the shape " + tensor.shape())
                        + ", and the index has one of " + chunk.dtype() + " and the shape " + expected);
            }
            return new SavedTensor(zip, contents, tensor, plain(zip, contents, tensor, file));
        } catch (Throwable e) {
            contents.release();
            throw e;
        }
    }

    private static @Nullable ZipRecord plain(ZipDirectory zip, TreeContents contents, Tensor tensor, MappedFile file) {
        List<ZipRecord> data = zip.records().stream().filter(record -> record.name().contains("/data/")).toList();
        boolean isPlain = data.size() == 1 && data.getFirst().isStored() && tensor.isContiguous()
                && tensor.storageOffset() == 0 && tensor.nbytes() == data.getFirst().size()
                && !tensor.is(Tensor.Flag.CONJ) && !tensor.is(Tensor.Flag.NEG)
                // Not of another byte order.
                && !contents.extents(tensor.storage(), file).isEmpty();
        return isPlain ? data.getFirst() : null;
    }

    /// {@return where the elements are}
    ///
    /// @param file the shard, to read the chunk again if it has to be decoded
    static Place place(MappedFile file, Chunk chunk, OpenOptions options) throws IOException {
        try (SavedTensor saved = read(file, chunk, options)) {
            return saved.record == null
                    ? new Place(0, null, into -> copy(file, chunk, options, chunk.offset(),
                            Shape.of(chunk.size()), into))
                    : new Place(saved.zip.dataOffset(saved.record), saved.zip.checksum(saved.record, 0), null);
        }
    }

    /// Copies the elements of a chunk that are in a box of the tensor. Each byte is read once, and little else.
    ///
    /// @param offset the first element of the box in each dimension of the tensor
    /// @param shape the sizes of the box
    /// @param into the memory of the box, in row-major order
    static void copy(MappedFile file, Chunk chunk, OpenOptions options, long[] offset, Shape shape, MemorySegment into)
            throws IOException {
        try (SavedTensor saved = read(file, chunk, options)) {
            Tensor source = saved.tensor;
            Tensor target = Tensor.of(Storage.wrap(into), source.dtype(), 0, shape);
            long[] inChunk = new long[offset.length];
            long[] inBox = new long[offset.length];
            for (int dim = 0; dim < offset.length; dim++) {
                long from = Math.max(offset[dim], chunk.offset()[dim]);
                long size = Math.min(offset[dim] + shape.size(dim), chunk.offset()[dim] + chunk.size()[dim]) - from;
                inChunk[dim] = from - chunk.offset()[dim];
                inBox[dim] = from - offset[dim];
                source = source.narrow(dim, inChunk[dim], size);
                target = target.narrow(dim, inBox[dim], size);
            }
            if (saved.record != null && chunk.isIn(offset, shape)) {
                Runs runs = new Runs(chunk.size(), shape, inBox, source.dtype().itemsize());
                saved.zip.stream(saved.record).forEachPart(0, (position, bytes) -> runs.copy(bytes, position, into));
            } else if (saved.record == null || options.checksums() == ChecksumPolicy.ON_TOUCH
                    || options.checksums() == ChecksumPolicy.EAGER) {
                // Then all of the chunk is read, and compared with its checksum.
                var _ = target.copyFrom(source);
            } else {
                Tensor part = Tensor.zeros(source.dtype(), source.shape());
                try {
                    new Runs(source.shape().toArray(), saved.tensor.shape(), inChunk, source.dtype().itemsize())
                            .read(file, saved.zip.dataOffset(saved.record), part.storage().segment());
                    var _ = target.copyFrom(part);
                } finally {
                    part.storage().release();
                }
            }
        }
    }

    @Override
    public void close() {
        contents.release();
    }

    /// The runs of bytes of a box that are contiguous in the tensor, too.
    private static final class Runs {
        /// The most bytes between two runs that are read with them.
        private static final long GAP = 16 << 10;
        private static final long MOST_TOGETHER = 1 << 20;

        private final long[] size;
        private final long[] offset;
        /// In bytes.
        private final long[] strides;
        /// The dimension that the runs are in with all behind it; negative if the box is the whole tensor.
        private final int divided;
        private final long length;

        Runs(long[] size, Shape shape, long[] offset, int itemsize) {
            this.size = size;
            this.offset = offset;
            this.strides = Arrays.stream(shape.contiguousStride()).map(stride -> stride * itemsize).toArray();
            int dim = size.length - 1;
            long run = itemsize;
            while (dim >= 0 && size[dim] == shape.size(dim)) {
                run *= size[dim--];
            }
            this.divided = dim;
            this.length = dim < 0 ? run : run * size[dim];
        }

        /// @param bytes some bytes of the box
        /// @param position where they are in it
        void copy(MemorySegment bytes, long position, MemorySegment into) {
            for (long done = 0; done < bytes.byteSize();) {
                long in = (position + done) % length;
                long count = Math.min(length - in, bytes.byteSize() - done);
                MemorySegment.copy(bytes, done, into, start((position + done) / length) + in, count);
                done += count;
            }
        }

        /// Reads the box from a file that has the tensor. Runs with few bytes between them are read together.
        ///
        /// @param data where the tensor starts in the file
        /// @param into the memory of the box
        void read(MappedFile file, long data, MemorySegment into) throws IOException {
            List<long[]> groups = new ArrayList<>();
            long count = into.byteSize() / length;
            for (long run = 0, first = 0; run < count; run++) {
                if (run == count - 1 || start(run + 1) - start(run) - length > GAP
                        || start(run + 1) + length - start(first) > MOST_TOGETHER) {
                    groups.add(new long[]{first, run + 1});
                    first = run + 1;
                }
            }
            MappedFile.fetch(groups.stream().map(group -> file.piece(data + start(group[0]), span(group))).toList());
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment buffer = arena.allocate(MOST_TOGETHER);
                for (long[] group : groups) {
                    if (group[1] - group[0] == 1) {
                        file.read(data + start(group[0]), into.asSlice(group[0] * length, length));
                        continue;
                    }
                    file.read(data + start(group[0]), buffer.asSlice(0, span(group)));
                    for (long run = group[0]; run < group[1]; run++) {
                        MemorySegment.copy(buffer, start(run) - start(group[0]), into, run * length, length);
                    }
                }
            }
        }

        private long span(long[] group) {
            return start(group[1] - 1) + length - start(group[0]);
        }

        /// {@return where a run starts in the tensor}
        private long start(long run) {
            long start = divided < 0 ? 0 : offset[divided] * strides[divided];
            long left = run;
            for (int dim = divided - 1; dim >= 0; dim--) {
                start += (offset[dim] + left % size[dim]) * strides[dim];
                left /= size[dim];
            }
            return start;
        }
    }
}
