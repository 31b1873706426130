package io.undercroft.spark.internal.table;

import io.undercroft.format.Digest128;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.SnapshotInfo;
import io.undercroft.serializer.internal.analysis.ElementBudget;
import io.undercroft.serializer.internal.analysis.LastBorrowed;
import io.undercroft.serializer.internal.analysis.Scratch;
import io.undercroft.serializer.internal.analysis.StorageChunks;
import io.undercroft.serializer.internal.analysis.TensorBlocks;
import io.undercroft.spark.internal.files.DataFile;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.IdentityHashMap;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/// A snapshot of an open file, and the values that its tensors have in the columns of the table, as Spark represents
/// them. For use by one thread.
final class OpenTensors implements AutoCloseable {
    /// The number of elements that are copied at a time from a tensor that is not contiguous.
    private static final long BLOCK = 1 << 16;

    /// The maximum number of bytes of rows that are copied for a payload.
    private static final long MOST_OF_ROWS = 16L << 20;

    private final DataFile file;
    private final Checkpoint checkpoint;
    private final TableOptions options;
    private final UTF8String uri;
    private final LastBorrowed borrowed = new LastBorrowed();
    private final Scratch scratch = new Scratch();
    private @Nullable ElementBudget budget;
    private @Nullable IdentityHashMap<Storage, Long> numbers;
    private @Nullable Storage digested;
    private @Nullable UTF8String digest;
    private @Nullable Tensor measured;
    private @Nullable TensorStatistics statistics;
    private long elementBytes;

    OpenTensors(DataFile file, Checkpoint checkpoint, TableOptions options) {
        this.file = file;
        this.checkpoint = checkpoint;
        this.options = options;
        this.uri = UTF8String.fromString(file.toString());
    }

    DataFile file() {
        return file;
    }

    Checkpoint checkpoint() {
        return checkpoint;
    }

    /// {@return how many bytes of elements were read}
    long elementBytes() {
        return elementBytes;
    }

    /// {@return the value of a tensor in a column, or null}
    ///
    /// @param name the name of the tensor
    /// @throws io.undercroft.format.FormatException if what the column is about is damaged
    @Nullable
    Object value(String name, TensorColumn column) {
        return switch (column) {
            case FILE -> uri;
            case SNAPSHOT -> checkpoint.snapshot().map(SnapshotInfo::commit).orElse(null);
            case NAME -> UTF8String.fromString(name);
            case DTYPE -> UTF8String.fromString(checkpoint.tensor(name).dtype().name());
            case SHAPE -> UnsafeArrayData.fromPrimitiveArray(checkpoint.tensor(name).shape().toArray());
            case STRIDE -> UnsafeArrayData.fromPrimitiveArray(checkpoint.tensor(name).stride());
            case OFFSET -> checkpoint.tensor(name).storageOffset();
            case STORAGE -> number(checkpoint.tensor(name).storage());
            case BYTES -> TensorBlocks.nbytes(checkpoint.tensor(name));
            case DIGEST -> digest(checkpoint.tensor(name).storage());
            case MIN, MAX, MEAN, NAN_COUNT -> statistic(checkpoint.tensor(name), column);
            case PAYLOAD -> payload(name, checkpoint.tensor(name));
            case ERROR -> null;
        };
    }

    private @Nullable Long number(Storage storage) {
        IdentityHashMap<Storage, Long> known = numbers;
        if (known == null) {
            known = new IdentityHashMap<>();
            for (Storage each : checkpoint.storages()) {
                known.put(each, (long) known.size());
            }
            numbers = known;
        }
        return known.get(storage);
    }

    private @Nullable UTF8String digest(Storage storage) {
        if (storage.isMeta()) {
            return null;
        }
        if (storage != digested) {
            List<Extent> extents = checkpoint.extents(storage);
            long read = StorageChunks.areChunks(storage, extents) ? 0 : storage.nbytes();
            digest = isAllowed(read)
                    ? UTF8String.fromString(StorageDigest.of(storage, extents, borrowed).toString())
                    : null;
            count(digest == null ? 0 : read);
            digested = storage;
        }
        return digest;
    }

    private @Nullable Object statistic(Tensor tensor, TensorColumn column) {
        if (!TensorStatistics.isPossible(tensor)) {
            return null;
        }
        TensorStatistics known = statistics;
        if (tensor != measured) {
            long read = TensorBlocks.nbytes(TensorBlocks.distinct(List.of(tensor)));
            known = isAllowed(read) ? TensorStatistics.of(tensor, borrowed, scratch) : null;
            count(known == null ? 0 : read);
            statistics = known;
            measured = tensor;
        }
        if (known == null) {
            return null;
        }
        if (column == TensorColumn.NAN_COUNT) {
            return known.nans();
        }
        if (known.count() == 0) {
            return null;
        }
        return switch (column) {
            case MIN -> known.min();
            case MAX -> known.max();
            default -> known.mean();
        };
    }

    /// Returns whether bytes may be read, which for all tensors of a file together are limited in proportion to it.
    private boolean isAllowed(long nbytes) {
        if (budget == null) {
            budget = ElementBudget.of(checkpoint);
        }
        return budget.take(nbytes);
    }

    /// Elements smaller than a byte have no payload unless it starts with the first one.
    private byte @Nullable [] payload(String name, Tensor tensor) {
        boolean isDivisible = tensor.dtype().isByteSized() || options.payloadStart() == 0;
        if (tensor.device().isMeta() || !isDivisible) {
            return null;
        }
        long start = Math.min(options.payloadStart(), tensor.numel());
        long most = (long) (options.maxPayload() / (tensor.dtype().bits() / (double) Byte.SIZE));
        long count = Math.min(tensor.numel() - start, most);
        byte[] bytes = new byte[(int) tensor.dtype().nbytes(count)];
        count(bytes.length);
        if (count > 0) {
            copy(name, tensor, start, count, MemorySegment.ofArray(bytes));
        }
        return bytes;
    }

    /// Reads the rows that have the elements only, unless these are very long.
    private void copy(String name, Tensor tensor, long start, long count, MemorySegment target) {
        long rowLength = tensor.dim() == 0 ? 1 : tensor.numel() / tensor.size(0);
        long from = start / rowLength;
        long to = Math.ceilDiv(start + count, rowLength);
        if (tensor.dim() > 0 && (to - from) * rowLength <= MOST_OF_ROWS * Byte.SIZE / tensor.dtype().bits()) {
            Tensor rows = checkpoint.rows(name, from, to);
            rows.view(rows.numel()).narrow(0, start - from * rowLength, count).copyTo(target);
        } else if (tensor.isContiguous()) {
            borrowed.checked(tensor.view(tensor.numel()).narrow(0, start, count)).copyTo(target);
        } else {
            copyBlocks(tensor, start, count, target);
        }
    }

    private void copyBlocks(Tensor tensor, long start, long count, MemorySegment target) {
        long[] passed = new long[1];
        TensorBlocks.forEach(List.of(tensor), BLOCK, blocks -> {
            Tensor block = blocks.getFirst();
            long from = Math.max(start - passed[0], 0);
            long to = Math.min(start + count - passed[0], block.numel());
            if (from < to) {
                Tensor part = borrowed.checked(block).contiguous().view(block.numel()).narrow(0, from, to - from);
                part.copyTo(target.asSlice(tensor.dtype().nbytes(passed[0] + from - start), part.nbytes()));
            }
            passed[0] += block.numel();
            return passed[0] < start + count;
        });
    }

    private void count(long nbytes) {
        elementBytes += Math.min(nbytes, Long.MAX_VALUE - elementBytes);
    }

    @Override
    public void close() {
        borrowed.close();
        scratch.close();
        checkpoint.close();
    }

    /// Computes one digest for all bytes of a storage: that of its only chunk, or else that of a list with the digest
    /// and the length of each chunk. Runs of zeros are entries with a digest of zero.
    private static final class StorageDigest implements StorageChunks.Visitor {
        private final ByteArrayOutputStream list = new ByteArrayOutputStream();
        private Digest128 last = Digest128.ZERO;
        private long zeros;
        private int chunks;

        private StorageDigest() {}

        /// {@return the digest of a storage}
        ///
        /// @param storage the storage
        /// @param extents its extents
        /// @param borrowed borrows its bytes, if the file does not have the digests of its chunks
        static Digest128 of(Storage storage, List<Extent> extents, LastBorrowed borrowed) {
            StorageDigest digest = new StorageDigest();
            StorageChunks.forEach(storage, extents, borrowed, digest);
            return digest.end();
        }

        @Override
        public void chunk(Digest128 digest, long length) {
            endZeros();
            add(digest, length);
        }

        @Override
        public void zeros(long length) {
            zeros += length;
        }

        private void endZeros() {
            if (zeros > 0) {
                long length = zeros;
                zeros = 0;
                add(Digest128.ZERO, length);
            }
        }

        private void add(Digest128 digest, long length) {
            last = digest;
            chunks++;
            list.writeBytes(ByteBuffer.allocate(3 * Long.BYTES).putLong(digest.high()).putLong(digest.low())
                    .putLong(length).array());
        }

        private Digest128 end() {
            endZeros();
            boolean isOne = chunks == 1 && !last.equals(Digest128.ZERO);
            return isOne ? last : Digest128.of(MemorySegment.ofArray(list.toByteArray()));
        }
    }
}
