package io.undercroft.format;

import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/// Puts a file together in memory, as a writer would on disk.
final class FileImage {
    static final int CHUNK_LOG2 = 16;

    private final IndexBuilder index = new IndexBuilder(CHUNK_LOG2);
    private final ByteArrayOutputStream data = new ByteArrayOutputStream();

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
        long offset = Layout.placeExtent(Layout.DATA_START + data.size(), nbytes);
        padTo(offset);
        data.writeBytes(bytes);
        index.addRawExtent(offset, bytes.length, Features.sums(bytes));
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

    /// {@return the bytes of a file with this one commit, which has a message}
    byte[] toByteArray(String message) {
        byte[] indexBytes = index.build(1);
        CommitRecord commit = commit(indexBytes, message);
        byte[] file = unfinished(indexBytes, (int) commit.committedLength());
        put(file, 0, Header.of(commit.uuid(), CHUNK_LOG2).encode());
        put(file, Layout.slotOffset(1), commit.encode());
        return file;
    }

    /// {@return the bytes of a sealed file with this commit}
    byte[] toSealedByteArray() {
        byte[] indexBytes = index.build(1);
        CommitRecord commit = commit(indexBytes, "");
        long place = Layout.placeIndex(commit.committedLength());
        byte[] file = unfinished(indexBytes, (int) place + Layout.PAGE);
        Header header = new Header(0, commit.uuid(), 0, Header.SEALED, 0, CHUNK_LOG2, Layout.DATA_START);
        put(file, 0, header.encode());
        put(file, place, commit.encode());
        return file;
    }

    private CommitRecord commit(byte[] indexBytes, String message) {
        CommitRecord plain = CommitRecord.canonical(MemorySegment.ofArray(indexBytes), indexOffset());
        return new CommitRecord(1, plain.indexOffset(), plain.indexLength(), plain.directoryDigest(), plain.uuid(),
                plain.committedLength(), 0, 0, 0, plain.rootDigest(), message);
    }

    private byte[] unfinished(byte[] indexBytes, int length) {
        byte[] file = new byte[length];
        put(file, Layout.DATA_START, data.toByteArray());
        put(file, indexOffset(), indexBytes);
        return file;
    }

    private long indexOffset() {
        return Layout.placeIndex(Layout.DATA_START + data.size());
    }

    /// {@return a file in which another commit, with a message, follows the one of `file`}
    static byte[] append(byte[] file, IndexBuilder next, String message) throws java.io.IOException {
        CommitRecord before = Snapshot.open(ByteSource.of(MemorySegment.ofArray(file)), Limits.DEFAULT).commit();
        long sequence = before.sequence() + 1;
        byte[] indexBytes = next.build(sequence);
        long parent = Layout.placeIndex(file.length);
        long indexOffset = parent + Layout.PAGE;
        CommitRecord fresh = CommitRecord.canonical(MemorySegment.ofArray(indexBytes), indexOffset);
        CommitRecord commit = new CommitRecord(sequence, indexOffset, indexBytes.length, fresh.directoryDigest(),
                before.uuid(), fresh.committedLength(), parent, 0, 0, fresh.rootDigest(), message);
        byte[] longer = Arrays.copyOf(file, (int) commit.committedLength());
        put(longer, Layout.slotOffset(sequence), commit.encode());
        put(longer, parent, before.encode());
        put(longer, indexOffset, indexBytes);
        return longer;
    }

    static void put(byte[] file, long offset, byte[] bytes) {
        System.arraycopy(bytes, 0, file, (int) offset, bytes.length);
    }
}
