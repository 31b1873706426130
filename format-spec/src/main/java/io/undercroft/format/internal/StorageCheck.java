package io.undercroft.format.internal;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.RunTable;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/// Compares the bytes of storages, mapped or in files, with the checksums of their chunks.
///
/// This is enough to trust the elements of a tensor. [Verifier] also checks digests, the index as a whole and the bytes
/// between extents. ZERO extents have no bytes to check.
///
/// Safe for any thread.
public final class StorageCheck {
    private static final int BUFFER = 1 << 18;

    private final Snapshot snapshot;
    /// The numbers of the tensors on each storage; computed only if there is damage.
    private @Nullable Map<Integer, List<Integer>> tensors;

    /// Creates a check of the storages of a snapshot.
    ///
    /// @param snapshot the snapshot
    public StorageCheck(Snapshot snapshot) {
        this.snapshot = snapshot;
    }

    /// The source of the bytes of files.
    @FunctionalInterface
    public interface Files {
        /// {@return a file in which bytes are, or empty if it is unavailable}
        ///
        /// @param base [ExtentRecord#THIS_FILE], or one more than the number of a [Snapshot#base]
        /// @throws IOException if opening it fails
        Optional<ByteSource> of(int base) throws IOException;
    }

    /// {@return a check of storages in their files}
    ///
    /// @param files the files that contain their bytes; those in a missing file are left out
    public Pass pass(Files files) {
        return new Pass(files);
    }

    /// Reads the bytes of storages through a small buffer, coded ones in memory of the size of a chunk, and bytes that
    /// several of them have once. A coded chunk whose reference is in a missing file is not decoded; only its coded
    /// bytes are checked. For use by one thread.
    public final class Pass {
        private final Files files;
        private final byte[] buffer = new byte[BUFFER];
        /// Memory for the largest coded chunk so far.
        private MemorySegment decoded = MemorySegment.NULL;
        private final RunTable read = new RunTable();
        private long left = snapshot.commit().committedLength();

        private Pass(Files files) {
            this.files = files;
        }

        /// Checks a storage.
        ///
        /// @param storage its number
        /// @return the chunks that do not match, in the order of the storage
        /// @throws FormatException if a record of the storage is damaged or breaks a rule, or storages overlap
        /// @throws IOException if reading fails
        public List<StorageChunk> damaged(int storage) throws IOException {
            List<StorageChunk> damaged = new ArrayList<>();
            try (Coder coder = Coder.open()) {
                for (StorageChunk chunk : table(storage)) {
                    Optional<ByteSource> source = files.of(chunk.base());
                    if (source.isPresent() && checksum(chunk, source.get(), coder) != chunk.checksum()) {
                        damaged.add(chunk);
                    }
                }
            }
            return List.copyOf(damaged);
        }

        private int checksum(StorageChunk chunk, ByteSource source, Coder coder) throws IOException {
            int known = read.find(chunk.base(), chunk.fileOffset(), chunk.storedLength());
            if (known >= 0) {
                return read.sums(known).checksum();
            }
            if (chunk.base() == ExtentRecord.THIS_FILE) {
                if (chunk.storedLength() > left) {
                    throw Rule.V2_RANGE.broken("extents overlap, which have more bytes than the file",
                            chunk.fileOffset());
                }
                left -= chunk.storedLength();
            }
            Coding coding = chunk.coding();
            int checksum = coding == null
                    ? crc32c(chunk, source, buffer)
                    : checksum(chunk, coding, source, coder);
            read.add(chunk.base(), chunk.fileOffset(), chunk.storedLength(), new ExtentSums(checksum, Digest128.ZERO));
            return checksum;
        }

        /// {@return the checksum of a chunk that is coded, or another one than it should have if it cannot be decoded}
        private int checksum(StorageChunk chunk, Coding coding, ByteSource source, Coder coder) throws IOException {
            Optional<ByteSource> reference = coding.hasReference()
                    ? files.of(coding.referenceBase())
                    : Optional.empty();
            if (coding.hasReference() && reference.isEmpty()) {
                return crc32c(chunk, source, buffer) == coding.checksum() ? chunk.checksum() : ~chunk.checksum();
            }
            if (decoded.byteSize() < chunk.length()) {
                decoded = MemorySegment.ofArray(new byte[Math.toIntExact(chunk.length())]);
            }
            MemorySegment bytes = decoded.asSlice(0, chunk.length());
            try {
                coder.decode(coding, into -> source.read(chunk.fileOffset(), into),
                        into -> reference.orElseThrow().read(coding.referenceOffset(), into), bytes,
                        chunk.fileOffset());
                return Checksums.crc32cOfMemory(bytes);
            } catch (FormatException e) {
                if (Rule.of(e) != Rule.V14_CHECKSUM) {
                    throw e;
                }
                return ~chunk.checksum();
            }
        }
    }

    /// {@return the chunks of a storage that are in files, in the order of the storage}
    ///
    /// @param storage its number
    /// @throws FormatException if a record of the storage is damaged or breaks a rule
    public List<StorageChunk> table(int storage) {
        return table(storage, new Span(0, Long.MAX_VALUE));
    }

    /// {@return the chunks of a storage that are in files and have a byte of a part of it, in the order of the storage}
    ///
    /// @param storage its number
    /// @param part the part
    /// @throws FormatException if a record of the storage is damaged or breaks a rule
    public List<StorageChunk> table(int storage, Span part) {
        List<StorageChunk> chunks = new ArrayList<>();
        long start = 0;
        for (ExtentRecord extent : snapshot.extents(storage)) {
            long end = start + extent.length();
            if (extent.kind() != ExtentKind.ZERO && part.touches(start, end)) {
                chunks.add(new StorageChunk(storage, start, extent.length(), extent.base(), extent.fileOffset(),
                        extent.sums().checksum(), extent.coding()));
            }
            start = end;
        }
        return chunks;
    }

    /// {@return whether the bytes of a chunk in its file are those that were written}
    ///
    /// @param chunk the chunk
    /// @param source the file, as [StorageChunk#base] names it
    /// @throws IOException if reading fails
    public static boolean isIntact(StorageChunk chunk, ByteSource source) throws IOException {
        return crc32c(chunk, source, new byte[(int) Math.min(BUFFER, chunk.storedLength())]) == chunk.storedChecksum();
    }

    private static int crc32c(StorageChunk chunk, ByteSource source, byte[] buffer) throws IOException {
        CRC32C crc = new CRC32C();
        for (long at = 0; at < chunk.storedLength(); at += buffer.length) {
            int piece = (int) Math.min(buffer.length, chunk.storedLength() - at);
            source.read(chunk.fileOffset() + at, MemorySegment.ofArray(buffer).asSlice(0, piece));
            crc.update(buffer, 0, piece);
        }
        return (int) crc.getValue();
    }

    /// {@return the spans of the tensors on a storage, by the numbers of the tensors} Those without elements are not
    /// among them, nor those whose own description is damaged.
    ///
    /// @param storage its number
    public SortedMap<Integer, Span> spans(int storage) {
        SortedMap<Integer, Span> spans = new TreeMap<>();
        for (int tensor : tensorsByStorage().getOrDefault(storage, List.of())) {
            Span.of(snapshot, tensor).ifPresent(span -> spans.put(tensor, span));
        }
        return spans;
    }

    private synchronized Map<Integer, List<Integer>> tensorsByStorage() {
        if (tensors == null) {
            tensors = IntStream.range(0, snapshot.tensorCount()).boxed().filter(this::isDescribed)
                    .collect(Collectors.groupingBy(tensor -> snapshot.tensor(tensor).storage()));
        }
        return tensors;
    }

    private boolean isDescribed(int tensor) {
        try {
            return snapshot.dtype(snapshot.tensor(tensor).dtype()).bits() > 0;
        } catch (FormatException _) {
            return false;
        }
    }
}
