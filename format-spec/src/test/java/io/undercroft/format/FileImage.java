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
        ExtentDigester sums = new ExtentDigester(CHUNK_LOG2);
        sums.update(MemorySegment.ofArray(bytes));
        index.addRawExtent(offset, bytes.length, sums.finish());
    }

    private void padTo(long offset) {
        data.writeBytes(new byte[(int) (offset - Layout.DATA_START - data.size())]);
    }

    /// {@return the bytes of a file with this one commit}
    byte[] toByteArray() {
        long indexOffset = Layout.placeIndex(Layout.DATA_START + data.size());
        byte[] indexBytes = index.build(1);
        CommitRecord commit = CommitRecord.canonical(MemorySegment.ofArray(indexBytes), indexOffset);
        byte[] file = new byte[(int) commit.committedLength()];
        put(file, 0, Header.of(commit.uuid(), CHUNK_LOG2).encode());
        put(file, Layout.slotOffset(1), commit.encode());
        put(file, Layout.DATA_START, data.toByteArray());
        put(file, indexOffset, indexBytes);
        return file;
    }

    /// {@return a file in which another commit follows the one of `file`}
    static byte[] append(byte[] file, IndexBuilder next) throws java.io.IOException {
        CommitRecord before = Snapshot.open(ByteSource.of(MemorySegment.ofArray(file)), Limits.DEFAULT).commit();
        long sequence = before.sequence() + 1;
        byte[] indexBytes = next.build(sequence);
        long indexOffset = Layout.placeIndex(file.length);
        CommitRecord fresh = CommitRecord.canonical(MemorySegment.ofArray(indexBytes), indexOffset);
        CommitRecord commit = new CommitRecord(sequence, indexOffset, indexBytes.length, fresh.directoryDigest(),
                before.uuid(), fresh.committedLength(), before.indexOffset(), 0, 0, fresh.rootDigest());
        byte[] longer = Arrays.copyOf(file, (int) commit.committedLength());
        put(longer, Layout.slotOffset(sequence), commit.encode());
        put(longer, indexOffset, indexBytes);
        return longer;
    }

    static void put(byte[] file, long offset, byte[] bytes) {
        System.arraycopy(bytes, 0, file, (int) offset, bytes.length);
    }
}
