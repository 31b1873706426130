package io.undercroft.serializer.internal.extents;

import io.undercroft.format.internal.Checksums;
import io.undercroft.format.internal.Coder;
import io.undercroft.format.internal.Coding;
import io.undercroft.format.internal.DTypeRecord;
import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.StorageRecord;
import io.undercroft.format.internal.TensorRecord;
import io.undercroft.serializer.SaveOptions.Compression;
import io.undercroft.serializer.internal.extents.Extent.Place;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntUnaryOperator;
import org.jspecify.annotations.Nullable;

/// How the chunks of a save are compressed: the sizes of their elements, and the bytes that they are coded against.
/// References are added by one thread; then it is safe for any thread.
public final class CodingPlan {
    /// Fewer bytes are not compressed: the record of their coding and the alignment take most of what it saves.
    private static final long LEAST = 4096;

    private final Compression compression;
    private final Map<String, Subject> byName = new HashMap<>();
    private final Map<Integer, Subject> byStorage = new HashMap<>();
    private final Map<Part, Place> references = new HashMap<>();

    /// A storage to be saved.
    ///
    /// @param number its number
    /// @param nbytes its size in bytes
    /// @param dtype the element type of the first tensor on it
    private record Subject(int number, long nbytes, DTypeRecord dtype) {}

    /// A run of bytes of a storage.
    private record Part(int storage, long start, long length) {}

    /// A plan without storages.
    ///
    /// @param compression what is compressed
    public CodingPlan(Compression compression) {
        this.compression = compression;
    }

    /// Adds a storage; of several tensors on it, the first counts.
    ///
    /// @param number its number
    /// @param nbytes its size in bytes
    /// @param name the name of a tensor on it
    /// @param dtype the element type of that tensor
    public void add(int number, long nbytes, String name, DTypeRecord dtype) {
        if (isCompressing() && !byStorage.containsKey(number)) {
            Subject subject = new Subject(number, nbytes, dtype);
            byStorage.put(number, subject);
            byName.put(name, subject);
        }
    }

    /// {@return whether anything is compressed}
    boolean isCompressing() {
        return compression != Compression.NONE;
    }

    /// {@return whether storages are coded against others}
    public boolean needsReferences() {
        return compression == Compression.AGAINST_BASE;
    }

    /// {@return the size of the elements of a chunk in bytes, as [Coding#width]; 0 if it is not compressed}
    ///
    /// @param storage the number of the storage
    /// @param length the size of the chunk in bytes
    public int width(int storage, long length) {
        if (!isCompressing() || length < LEAST) {
            return 0;
        }
        Subject subject = byStorage.get(storage);
        return Coding.width(subject == null ? 1 : Math.max(1, subject.dtype.bits() / Byte.SIZE), length);
    }

    /// {@return the place of bytes that a chunk is coded against; null if there are none}
    ///
    /// @param storage the number of the storage
    /// @param start the first byte of the chunk in it
    /// @param length the size of the chunk in bytes
    public @Nullable Place reference(int storage, long start, long length) {
        return references.isEmpty() ? null : references.get(new Part(storage, start, length));
    }

    /// Adds what the tensors of the same names, element types and sizes have in a snapshot, for chunks that have no
    /// reference yet. An extent that is coded against others has these as its reference.
    ///
    /// @param snapshot the snapshot, of a base or the one before
    /// @param numbers returns the number of a file in places by its number in the snapshot, or -1
    public void addReferences(Snapshot snapshot, IntUnaryOperator numbers) {
        byName.forEach((name, subject) -> {
            int found = snapshot.findTensor(name);
            if (found >= 0) {
                TensorRecord tensor = snapshot.tensor(found);
                StorageRecord storage = snapshot.storage(tensor.storage());
                if (storage.nbytes() == subject.nbytes && snapshot.dtype(tensor.dtype()).equals(subject.dtype)) {
                    addReferences(snapshot.extents(tensor.storage()), subject, numbers);
                }
            }
        });
    }

    private void addReferences(List<ExtentRecord> extents, Subject subject, IntUnaryOperator numbers) {
        long start = 0;
        for (ExtentRecord extent : extents) {
            Coding coding = extent.coding();
            Place place = null;
            if (extent.kind() == ExtentKind.RAW || extent.kind() == ExtentKind.FOREIGN) {
                place = new Place(numbers.applyAsInt(extent.base()), extent.fileOffset(), extent.length());
            } else if (coding != null && coding.hasReference()) {
                place = new Place(numbers.applyAsInt(coding.referenceBase()), coding.referenceOffset(),
                        extent.length());
            }
            if (place != null && place.base() >= 0) {
                references.putIfAbsent(new Part(subject.number, start, extent.length()), place);
            }
            start += extent.length();
        }
    }

    /// Adds the bytes of a storage of a file of another format, as [#addReferences(Snapshot, IntUnaryOperator)].
    ///
    /// @param name the name of a tensor on it
    /// @param nbytes its size in bytes
    /// @param dtype the element type of the tensor
    /// @param place the place of its bytes, which are one run
    /// @param chunkBytes the size of chunks
    void addReference(String name, long nbytes, DTypeRecord dtype, Place place, long chunkBytes) {
        Subject subject = byName.get(name);
        if (subject != null && subject.nbytes == nbytes && subject.dtype.equals(dtype) && place.length() == nbytes) {
            for (long start = 0; start < nbytes; start += chunkBytes) {
                long length = Math.min(chunkBytes, nbytes - start);
                references.putIfAbsent(new Part(subject.number, start, length),
                        new Place(place.base(), place.offset() + start, length));
            }
        }
    }

    /// Bytes of a chunk in the fewer bytes that a coder made of them.
    ///
    /// @param bytes the coded bytes, valid until the coder is used again
    /// @param width the size of the elements
    /// @param isDifference whether they are the difference from a reference
    public record Coded(MemorySegment bytes, int width, boolean isDifference) {
        /// A difference that takes at most this share of a chunk is certainly shorter than the chunk alone.
        private static final double FEW = 0.5;

        /// Codes a chunk as the difference from its reference, and by itself if that is not much smaller.
        ///
        /// @param coder a coder
        /// @param second another one, as each has one result at a time; takes no memory unless both results are needed
        /// @param chunk the bytes of the chunk
        /// @param width the size of its elements
        /// @param reference as many bytes, or null
        /// @return the shorter result; null if neither is shorter than the chunk
        public static @Nullable Coded shortest(Coder coder, Coder second, MemorySegment chunk, int width,
                @Nullable MemorySegment reference) {
            MemorySegment difference = reference == null ? null : coder.code(chunk, width, reference);
            if (difference != null && difference.byteSize() < chunk.byteSize() * FEW) {
                return new Coded(difference, width, true);
            }
            MemorySegment alone = (difference == null ? coder : second).code(chunk, width, null);
            if (alone != null && (difference == null || alone.byteSize() < difference.byteSize())) {
                return new Coded(alone, width, false);
            }
            return difference == null ? null : new Coded(difference, width, true);
        }

        /// {@return how they are coded}
        ///
        /// @param base the number of the file of the reference
        /// @param offset the first byte of the reference
        public Coding coding(int base, long offset) {
            return new Coding(isDifference ? Coding.DIFFERENCE : Coding.PLANES, width, bytes.byteSize(),
                    Checksums.crc32cOfMemory(bytes), isDifference ? base : 0, isDifference ? offset : 0);
        }
    }
}
