package io.undercroft.format.internal;

import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Puts a file together in memory, as a writer would on disk.
final class FileImage {
    static final int CHUNK_LOG2 = 16;

    private final IndexBuilder index = new IndexBuilder(CHUNK_LOG2);
    private final ByteArrayOutputStream data = new ByteArrayOutputStream();
    private final byte @Nullable [] before;

    FileImage() {
        this.before = null;
    }

    private FileImage(byte[] before) {
        this.before = before;
        data.write(before, (int) FileLayout.DATA_START, before.length - (int) FileLayout.DATA_START);
        padTo(nextStart(before));
    }

    /// {@return where extents of the next snapshot of a file may start}
    private static long nextStart(byte[] file) {
        return Math.max(Refusals.header(file).slotsEnd(), FileLayout.placePage(file.length));
    }

    /// {@return a file and what a torn append left behind it}
    ///
    /// @param length how many bytes the append had written
    static byte[] torn(byte[] file, int length) {
        int start = (int) nextStart(file);
        byte[] torn = Arrays.copyOf(file, start + length);
        Arrays.fill(torn, start, torn.length, (byte) 0x55);
        return torn;
    }

    /// {@return the ranges that the next snapshot of a file of one snapshot and a torn tail has to declare free}
    static List<FreeRange> tail(byte[] torn) {
        long end = Refusals.newest(torn).committedLength();
        Header header = Refusals.header(torn);
        FreeRange behind = new FreeRange(header.slotsEnd(), torn.length - header.slotsEnd());
        return end == header.slots() ? List.of(behind) : List.of(new FreeRange(end, header.slots() - end), behind);
    }

    /// {@return the next snapshot of a file, which may have a torn tail}
    static FileImage after(byte[] file) {
        return new FileImage(file);
    }

    IndexBuilder index() {
        return index;
    }

    /// Adds a storage of one RAW extent.
    int addStorage(byte... bytes) {
        if (bytes.length > 0) {
            addRawExtent(bytes.length, bytes);
        }
        return index.addStorage("cpu");
    }

    /// Adds a RAW extent of a storage that has `nbytes` bytes in all.
    void addRawExtent(long nbytes, byte... bytes) {
        addRawExtentAt(put(nbytes, bytes), bytes);
    }

    /// Adds RAW extents whose bytes [#put] has put there, one for each chunk.
    void addRawExtentAt(long offset, byte... bytes) {
        for (int at = 0; at < bytes.length; at += 1 << CHUNK_LOG2) {
            byte[] chunk = Arrays.copyOfRange(bytes, at, Math.min(bytes.length, at + (1 << CHUNK_LOG2)));
            index.addRawExtent(offset + at, chunk.length, Features.sums(chunk));
        }
    }

    /// {@return where in the file bytes of a storage that has `nbytes` bytes in all were put}
    long put(long nbytes, byte... bytes) {
        long offset = FileLayout.placeExtent(FileLayout.DATA_START + data.size(), nbytes, CHUNK_LOG2);
        padTo(offset);
        data.writeBytes(bytes);
        return offset;
    }

    /// {@return an extent that is coded alone, its coded bytes put into the file}
    ExtentRecord putCoded(int width, byte... bytes) {
        return putCoded(width, bytes, ExtentRecord.THIS_FILE, 0, null);
    }

    /// {@return an extent that is coded against a reference, its coded bytes put into the file}
    ///
    /// @param base the number of the file with the reference
    /// @param offset the first byte of the reference there
    ExtentRecord putCoded(int width, byte[] bytes, int base, long offset, byte @Nullable [] reference) {
        byte[] coded = Features.coded(width, bytes, reference);
        return new ExtentRecord(ExtentKind.CODED, false, ExtentRecord.THIS_FILE, put(coded.length, coded), bytes.length,
                Features.sums(bytes), Features.coding(width, coded, base, offset, reference != null));
    }

    /// Adds a CODED extent.
    void add(ExtentRecord coded) {
        index.addCodedExtent(coded.base(), coded.fileOffset(), coded.length(), coded.sums(), coded.coding());
    }

    /// Adds bytes that are declared free, behind all that was added before.
    void addFreeRange(int length) {
        index.addFreeRange(new FreeRange(FileLayout.DATA_START + data.size(), length));
        byte[] torn = new byte[length];
        Arrays.fill(torn, (byte) 0x55);
        data.writeBytes(torn);
    }

    private void padTo(long offset) {
        data.writeBytes(new byte[(int) (offset - FileLayout.DATA_START - data.size())]);
    }

    /// {@return the bytes of a file with this one commit}
    byte[] toByteArray() {
        return toByteArray("");
    }

    /// {@return the bytes of a file whose newest commit is this one, which has a message}
    byte[] toByteArray(String message) {
        if (before != null) {
            CommitRecord newest = Refusals.newest(before);
            return appended(newest, before, index.build(newest.sequence() + 1), message);
        }
        MemorySegment indexBytes = index.build(1);
        CommitRecord commit = CommitRecord.canonical(indexBytes, indexOffset(), 0, message);
        byte[] file = unfinished(indexBytes, commit.indexOffset(), (int) commit.committedLength());
        put(file, 0, Header.of(commit.uuid(), CHUNK_LOG2, commit.committedLength()).encode());
        put(file, FileLayout.FIRST_COMMIT, commit.encode());
        return file;
    }

    private byte[] appended(CommitRecord parent, byte[] earlier, MemorySegment indexBytes, String message) {
        CommitRecord commit = parent.next(indexBytes, indexOffset() + FileLayout.COMMIT_BYTES, 0, message);
        byte[] file = unfinished(indexBytes, commit.indexOffset(), (int) commit.committedLength());
        System.arraycopy(earlier, 0, file, 0, (int) FileLayout.DATA_START);
        put(file, commit.previousRecord(), parent.encode());
        put(file, Refusals.header(earlier).recordOffset(commit.sequence()), commit.encodeSlot());
        return file;
    }

    /// {@return the bytes of a sealed file with this commit}
    byte[] toSealedByteArray() {
        MemorySegment indexBytes = index.build(1);
        CommitRecord commit = CommitRecord.canonical(indexBytes, indexOffset(), 0, "");
        long place = FileLayout.placeIndex(commit.committedLength());
        byte[] file = unfinished(indexBytes, commit.indexOffset(), (int) place + FileLayout.COMMIT_BYTES);
        put(file, 0, Header.sealed(commit.uuid(), CHUNK_LOG2).encode());
        put(file, place, commit.encode());
        return file;
    }

    private byte[] unfinished(MemorySegment indexBytes, long indexOffset, int length) {
        byte[] file = new byte[length];
        put(file, FileLayout.DATA_START, data.toByteArray());
        put(file, indexOffset, indexBytes);
        return file;
    }

    private long indexOffset() {
        return FileLayout.placeIndex(FileLayout.DATA_START + data.size());
    }

    /// {@return a file in which another commit, with a message, follows the one of `file`}
    static byte[] append(byte[] file, IndexBuilder next, String message) {
        CommitRecord newest = Refusals.newest(file);
        return after(file).appended(newest, file, next.build(newest.sequence() + 1), message);
    }

    static void put(byte[] file, long offset, MemorySegment bytes) {
        MemorySegment.ofArray(file).asSlice(offset, bytes.byteSize()).copyFrom(bytes);
    }

    static void put(byte[] file, long offset, byte[] bytes) {
        System.arraycopy(bytes, 0, file, (int) offset, bytes.length);
    }
}
