package io.undercroft.format;

import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
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
        data.write(before, (int) Layout.DATA_START, before.length - (int) Layout.DATA_START);
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

    /// Adds a RAW extent whose bytes [#put] has put there.
    void addRawExtentAt(long offset, byte... bytes) {
        index.addRawExtent(offset, bytes.length, Features.sums(bytes));
    }

    /// {@return where in the file bytes of a storage that has `nbytes` bytes in all were put}
    long put(long nbytes, byte... bytes) {
        long offset = Layout.placeExtent(Layout.DATA_START + data.size(), nbytes);
        padTo(offset);
        data.writeBytes(bytes);
        return offset;
    }

    /// Adds bytes that are declared free, behind all that was added before.
    void addFreeRange(int length) {
        index.addFreeRange(new FreeRange(Layout.DATA_START + data.size(), length));
        byte[] torn = new byte[length];
        Arrays.fill(torn, (byte) 0x55);
        data.writeBytes(torn);
    }

    private void padTo(long offset) {
        data.writeBytes(new byte[(int) (offset - Layout.DATA_START - data.size())]);
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
        put(file, 0, Header.of(commit.uuid(), CHUNK_LOG2).encode());
        put(file, Layout.slotOffset(1), commit.encode());
        return file;
    }

    private byte[] appended(CommitRecord parent, byte[] earlier, MemorySegment indexBytes, String message) {
        CommitRecord commit = parent.next(indexBytes, indexOffset() + Layout.PAGE, 0, message);
        byte[] file = unfinished(indexBytes, commit.indexOffset(), (int) commit.committedLength());
        System.arraycopy(earlier, 0, file, 0, (int) Layout.DATA_START);
        put(file, commit.previousRecord(), parent.encode());
        put(file, Layout.slotOffset(commit.sequence()), commit.encode());
        return file;
    }

    /// {@return the bytes of a sealed file with this commit}
    byte[] toSealedByteArray() {
        MemorySegment indexBytes = index.build(1);
        CommitRecord commit = CommitRecord.canonical(indexBytes, indexOffset());
        long place = Layout.placeIndex(commit.committedLength());
        byte[] file = unfinished(indexBytes, commit.indexOffset(), (int) place + Layout.PAGE);
        Header header = new Header(0, commit.uuid(), 0, Header.SEALED, 0, CHUNK_LOG2, Layout.DATA_START);
        put(file, 0, header.encode());
        put(file, place, commit.encode());
        return file;
    }

    private byte[] unfinished(MemorySegment indexBytes, long indexOffset, int length) {
        byte[] file = new byte[length];
        put(file, Layout.DATA_START, data.toByteArray());
        put(file, indexOffset, indexBytes);
        return file;
    }

    private long indexOffset() {
        return Layout.placeIndex(Layout.DATA_START + data.size());
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
