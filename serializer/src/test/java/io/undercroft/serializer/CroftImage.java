package io.undercroft.serializer;

import io.undercroft.format.internal.BaseRecord;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.Checksums;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.DTypeRecord;
import io.undercroft.format.internal.ExtentDigester;
import io.undercroft.format.internal.ExtentSums;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.IndexBuilder;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.StateTreeWriter;
import io.undercroft.format.internal.TensorRecord;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Puts one snapshot of a file together in memory, extent by extent: what the writer would not make, or only after
/// other saves. Its state is a map of tensors of int8.
final class CroftImage {
    static final int CHUNK_LOG2 = 16;
    static final int CHUNK = 1 << CHUNK_LOG2;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int DIRECTORY_HEAD = 32;
    private static final int DIRECTORY_ENTRY = 48;

    private final IndexBuilder index = new IndexBuilder(CHUNK_LOG2);
    private final int int8 = index.addDType(new DTypeRecord("int8", 8));
    private final Map<String, Integer> tensors = new LinkedHashMap<>();
    private final Map<String, String> forgeries = new LinkedHashMap<>();
    private final @Nullable CommitRecord before;
    private byte[] file;
    private byte @Nullable [] tree;

    private CroftImage(byte[] file, @Nullable CommitRecord before) {
        this.file = file;
        this.before = before;
    }

    /// Starts a file.
    static CroftImage first() {
        return new CroftImage(new byte[(int) FileLayout.DATA_START], null);
    }

    /// Starts the snapshot that follows those of a file.
    static CroftImage after(byte[] file) throws IOException {
        Snapshot snapshot = snapshot(file);
        long start = Math.max(FileLayout.placePage(file.length), snapshot.header().slotsEnd());
        return new CroftImage(Arrays.copyOf(file, (int) start), snapshot.commit());
    }

    /// Writes a file without tensors that has a tree, whatever that is.
    static Path withTree(Path path, byte[] tree) throws IOException {
        CroftImage image = first();
        image.tree = tree;
        return Files.write(path, image.commit());
    }

    static Snapshot snapshot(byte[] file) throws IOException {
        return Snapshot.open(ByteSource.of(MemorySegment.ofArray(file)), Limits.DEFAULT);
    }

    /// Adds extents, one for each chunk, with bytes of their own, and tells where they are.
    long write(byte[] bytes) {
        long offset = (file.length + FileLayout.MAPPING_ALIGNMENT - 1) & -FileLayout.MAPPING_ALIGNMENT;
        file = Arrays.copyOf(file, (int) offset + bytes.length);
        System.arraycopy(bytes, 0, file, (int) offset, bytes.length);
        for (int at = 0; at < bytes.length; at += CHUNK) {
            byte[] chunk = Arrays.copyOfRange(bytes, at, Math.min(bytes.length, at + CHUNK));
            index.addRawExtent(offset + at, chunk.length, sums(chunk));
        }
        return offset;
    }

    /// Adds an extent whose bytes are in the file already.
    CroftImage reuse(long offset, byte[] bytes) {
        index.addRawExtent(offset, bytes.length, sums(bytes));
        return this;
    }

    CroftImage zeros(long length) {
        index.addZeroExtent(length);
        return this;
    }

    int base(BaseRecord base) {
        return index.addBase(base);
    }

    /// Adds an extent whose bytes are in another file.
    CroftImage borrow(int base, long offset, byte[] bytes) {
        index.addBaseExtent(base, offset, bytes.length, sums(bytes));
        return this;
    }

    /// Makes a storage of the extents added since the last one.
    int storage() {
        return storage("cpu");
    }

    int storage(String device) {
        return index.addStorage(device);
    }

    CroftImage tensor(String name, int storage, long offset, long size) {
        int tensor = index
                .addTensor(new TensorRecord(int8, storage, offset, Set.of(), new long[]{size}, new long[]{1}));
        index.addName(name, tensor);
        tensors.put(name, tensor);
        return this;
    }

    /// Makes a storage of the extents added since the last one, and a tensor of one element that is all of it.
    CroftImage tensor(String name, DTypeRecord dtype) {
        int tensor = index.addTensor(
                new TensorRecord(index.addDType(dtype), storage(), 0, Set.of(), new long[]{1}, new long[]{1}));
        index.addName(name, tensor);
        tensors.put(name, tensor);
        return this;
    }

    /// Makes a storage of the extents added since the last one, and a tensor of all of it.
    CroftImage tensor(String name, long size) {
        return tensor(name, storage(), 0, size);
    }

    /// Writes another text of the same length over one in the index, and sums it up as if it had been that way.
    CroftImage forge(String from, String to) {
        forgeries.put(from, to);
        return this;
    }

    private static void forge(MemorySegment index, String from, String to) {
        byte[] all = index.toArray(ValueLayout.JAVA_BYTE);
        int at = new String(all, StandardCharsets.ISO_8859_1).indexOf(from);
        MemorySegment.copy(MemorySegment.ofArray(to.getBytes(StandardCharsets.ISO_8859_1)), 0, index, at,
                from.length());
        int count = index.get(INT, 4);
        for (long entry = DIRECTORY_HEAD; entry < DIRECTORY_HEAD
                + (long) count * DIRECTORY_ENTRY; entry += DIRECTORY_ENTRY) {
            index.set(INT, entry + 36,
                    Checksums.crc32c(index.asSlice(index.get(LONG, entry + 8), index.get(LONG, entry + 16))));
        }
        index.set(INT, 24, 0);
        index.set(INT, 24, Checksums.crc32c(index.asSlice(0, DIRECTORY_HEAD + (long) count * DIRECTORY_ENTRY)));
    }

    byte[] commit() {
        return commit("", 0);
    }

    /// {@return the bytes of the file with this snapshot}
    byte[] commit(String message, long time) {
        index.setTree(tree == null ? mapOfTensors() : tree);
        MemorySegment built = index.build(before == null ? 1 : before.sequence() + 1);
        forgeries.forEach((from, to) -> forge(built, from, to));
        long offset = FileLayout.placeIndex(file.length) + (before == null ? 0 : FileLayout.COMMIT_BYTES);
        CommitRecord commit = before == null
                ? CommitRecord.canonical(built, offset, time, message)
                : before.next(built, offset, time, message);
        byte[] whole = Arrays.copyOf(file, (int) commit.committedLength());
        MemorySegment.ofArray(whole).asSlice(offset, built.byteSize()).copyFrom(built);
        if (before == null) {
            put(whole, 0, Header.of(commit.uuid(), CHUNK_LOG2, commit.committedLength()).encode());
            put(whole, FileLayout.FIRST_COMMIT, commit.encode());
        } else {
            put(whole, commit.previousRecord(), before.encode());
            Header header = Header.decode(MemorySegment.ofArray(whole).asSlice(0, FileLayout.HEADER_BYTES));
            put(whole, header.recordOffset(commit.sequence()), commit.encodeSlot());
        }
        return whole;
    }

    private byte[] mapOfTensors() {
        StateTreeWriter map = new StateTreeWriter();
        map.openMap(tensors.size());
        tensors.forEach((name, tensor) -> {
            map.writeString(name);
            map.writeTensor(tensor);
        });
        return map.toByteArray();
    }

    private static void put(byte[] file, long offset, byte[] bytes) {
        System.arraycopy(bytes, 0, file, (int) offset, bytes.length);
    }

    private static ExtentSums sums(byte[] bytes) {
        ExtentDigester digester = new ExtentDigester();
        digester.update(MemorySegment.ofArray(bytes));
        return digester.finish();
    }

}
