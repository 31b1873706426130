package io.undercroft.serializer.internal.analysis;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Coder;
import io.undercroft.format.internal.DTypeRecord;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveOptions.Compression;
import io.undercroft.serializer.internal.extents.CodingPlan;
import io.undercroft.serializer.internal.extents.CodingPlan.Coded;
import io.undercroft.serializer.internal.loading.RowReader;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// Estimates in how many bytes a `.croft` file would store chunks of several files if it compressed them. Pieces of the
/// chunks, at equal distances, are compressed as a save does it.
///
/// A piece is also compressed as the difference from the tensor of the same name, element type and size in the first
/// file that has one, which is taken to be stored as it is. For use by one thread.
public final class CodingEstimate implements AutoCloseable {
    /// Long enough for the ratio of a chunk of 1 MiB, less 1 to 2 %: each piece has tables of codes of its own.
    private static final long PIECE = 64 << 10;
    private static final long CHUNK = SaveOptions.defaults().chunkSize();

    private final OpenOptions options;
    private final long budget;
    private final Coder coder = Coder.open();
    private final Coder second = Coder.open();
    private final Map<Subject, Path> firsts = new HashMap<>();
    private @Nullable Path referenceFile;
    private @Nullable NamedTensors references;
    private final LastBorrowed borrowedReference = new LastBorrowed();

    private final IdentityHashMap<Storage, Subject> subjects = new IdentityHashMap<>();
    private final List<Piece> chosen = new ArrayList<>();
    private Path file = Path.of("");
    private long length;
    private long distance;
    /// Among the bytes of all chunks of the file.
    private long position;
    private long next;
    private long added;
    private int pieces;
    private double alone;
    private double againstFirst;
    private long sampled;
    private boolean hasReferences;

    /// What a storage is found by: the first tensor on it.
    private record Subject(String name, DTypeRecord dtype, long nbytes) {
        static Subject of(String name, Tensor tensor) {
            return new Subject(name, new DTypeRecord(tensor.dtype().name(), tensor.dtype().bits()),
                    tensor.storage().nbytes());
        }
    }

    private record Piece(long start, long length) {}

    /// The number of bytes that chunks of a file would take.
    ///
    /// @param alone if each were compressed by itself
    /// @param againstFirst if each tensor that an earlier file has were compressed against that one, and the others
    ///     were stored as they are
    public record Estimate(long alone, long againstFirst) {}

    /// Starts without files.
    ///
    /// @param options opens a file again whose tensors others are compared with
    /// @param budget the most bytes of a file that are compressed, at least one piece
    public CodingEstimate(OpenOptions options, long budget) {
        this.options = options;
        this.budget = budget;
    }

    /// Starts a file.
    ///
    /// @param checkpoint the open file
    /// @param path its path
    /// @param nbytes the size of its storages in bytes
    public void start(Checkpoint checkpoint, Path path, long nbytes) {
        file = path;
        subjects.clear();
        new NamedTensors(checkpoint).tensors().forEach((name, tensor) -> {
            if (Unreadable.why(tensor).isEmpty()) {
                Subject subject = Subject.of(name, tensor);
                firsts.putIfAbsent(subject, path);
                subjects.putIfAbsent(tensor.storage(), subject);
            }
        });
        // To read a piece of a compressed extent, all of it is decoded, so all is used up to a chunk.
        long unit = Math.max(PIECE, checkpoint.storages().stream().flatMap(each -> checkpoint.extents(each).stream())
                .filter(Extent::isCompressed).mapToLong(Extent::length).max().orElse(0));
        length = Math.min(unit, CHUNK);
        distance = Math.max(unit, Math.ceilDiv(nbytes, Math.max(1, budget / unit)));
        // In the middle of the first part, so that what files begin with is not all that small ones are judged by.
        next = distance == length ? 0 : distance / 2;
        position = 0;
        added = 0;
        pieces = 0;
        alone = 0;
        againstFirst = 0;
    }

    /// Adds a chunk of the next storage to be finished.
    ///
    /// @param start its first byte in the storage
    /// @param nbytes its size in bytes
    public void add(long start, long nbytes) {
        added += nbytes;
        for (long at = 0; at < nbytes; at += length) {
            long size = Math.min(length, nbytes - at);
            if (position + size > next) {
                chosen.add(new Piece(start + at, size));
                next += distance;
            }
            position += size;
        }
    }

    /// Reads and compresses what was chosen of a storage, as far as it can be read.
    ///
    /// @param storage the storage
    /// @param extents its extents
    /// @param borrowed borrows its bytes if they cannot be read in parts
    public void finish(Storage storage, List<Extent> extents, LastBorrowed borrowed) {
        for (Piece piece : chosen) {
            try {
                code(readable(storage, extents, borrowed), subjects.get(storage), piece);
            } catch (FormatException | IOException _) {
                // The digests say which bytes are equal without them, and verifying the file reports the error.
            }
        }
        chosen.clear();
    }

    private void code(Storage storage, @Nullable Subject subject, Piece piece) throws IOException {
        CodingPlan plan = new CodingPlan(Compression.ALONE);
        if (subject != null) {
            plan.add(0, subject.nbytes, subject.name, subject.dtype);
        }
        int width = plan.width(0, piece.length);
        Tensor bytes = read(storage, piece);
        try {
            Tensor reference = width == 0 || subject == null ? null : reference(subject, piece);
            try {
                double ofAlone = width == 0 ? 1 : ratio(bytes, width, null);
                againstFirst += reference == null ? 1 : ratio(bytes, width, reference.storage().segment());
                alone += ofAlone;
                hasReferences |= reference != null;
                sampled += reference == null ? piece.length : 2 * piece.length;
                pieces++;
            } finally {
                if (reference != null) {
                    reference.storage().release();
                }
            }
        } finally {
            bytes.storage().release();
        }
    }

    private double ratio(Tensor bytes, int width, @Nullable MemorySegment reference) {
        MemorySegment chunk = bytes.storage().segment();
        Coded coded = Coded.shortest(coder, second, chunk, width, reference);
        return coded == null ? 1 : coded.bytes().byteSize() / (double) chunk.byteSize();
    }

    /// Returns the bytes of the first file that has the tensor, unless it is this one, or cannot be read any more.
    private @Nullable Tensor reference(Subject subject, Piece piece) throws IOException {
        Path first = firsts.get(subject);
        if (first == null || first.equals(file)) {
            return null;
        }
        NamedTensors open = references;
        if (open == null || !first.equals(referenceFile)) {
            closeReferences();
            open = new NamedTensors(Checkpoint.open(first, options));
            references = open;
            referenceFile = first;
        }
        Tensor tensor = open.tensors().get(subject.name);
        if (tensor == null || !Subject.of(subject.name, tensor).equals(subject)) {
            return null;
        }
        List<Extent> extents = open.checkpoint().extents(tensor.storage());
        return read(readable(tensor.storage(), extents, borrowedReference), piece);
    }

    /// Returns a storage of which parts can be read without keeping all of it in memory.
    private static Storage readable(Storage storage, List<Extent> extents, LastBorrowed borrowed) {
        return StorageChunks.areChunks(storage, extents) ? storage : borrowed.of(storage).storage();
    }

    private static Tensor read(Storage storage, Piece piece) {
        return RowReader.copy(Tensor.of(storage, DType.UINT8, piece.start, Shape.of(piece.length)));
    }

    /// {@return the estimate for all chunks that were added since the file was started}
    public Estimate estimate() {
        return pieces == 0
                ? new Estimate(added, added)
                : new Estimate(Math.round(added * (alone / pieces)), Math.round(added * (againstFirst / pieces)));
    }

    /// {@return the number of bytes of all files that were read}
    public long sampled() {
        return sampled;
    }

    /// {@return whether a file has tensors that an earlier one has}
    public boolean hasReferences() {
        return hasReferences;
    }

    private void closeReferences() {
        borrowedReference.close();
        if (references != null) {
            references.checkpoint().close();
            references = null;
        }
    }

    @Override
    public void close() {
        closeReferences();
        coder.close();
        second.close();
    }
}
