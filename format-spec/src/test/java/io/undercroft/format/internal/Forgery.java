package io.undercroft.format.internal;

import io.undercroft.format.Digest128;
import io.undercroft.format.internal.index.BlockSums;
import io.undercroft.format.internal.index.Index;
import io.undercroft.format.internal.index.Records;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// A file whose bytes were changed by somebody who can make all checksums right again, so that it takes the rule itself
/// to refuse it.
final class Forgery {
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED
            .withOrder(ByteOrder.LITTLE_ENDIAN);

    private final byte[] bytes;
    private final MemorySegment file;
    private final Index index;
    private final CommitRecord commit;
    private final long place;
    private final List<@Nullable SectionType> sections = new ArrayList<>();

    Forgery(byte[] original) {
        this.bytes = original.clone();
        this.file = MemorySegment.ofArray(bytes);
        try {
            Snapshot snapshot = Snapshot.open(ByteSource.of(MemorySegment.ofArray(original)), Limits.DEFAULT);
            this.index = snapshot.index();
            this.commit = snapshot.commit();
            this.place = snapshot.place();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        MemorySegment directory = Records.directory(index.bytes());
        for (long entry = Index.HEAD_BYTES; entry < directory.byteSize(); entry += Index.ENTRY_BYTES) {
            sections.add(SectionType.of(directory.get(INT, entry)));
        }
    }

    /// {@return where a record starts in the file}
    long at(SectionType type, long number) {
        return index.fileOffset(type, number);
    }

    /// {@return where the directory entry of a section starts in the file}
    long entry(SectionType type) {
        return commit.indexOffset() + Index.HEAD_BYTES + (long) Index.ENTRY_BYTES * sections.indexOf(type);
    }

    long indexOffset() {
        return commit.indexOffset();
    }

    /// {@return where the newest commit record starts in the file}
    long slot() {
        return place;
    }

    Forgery putByte(long at, int value) {
        file.set(ValueLayout.JAVA_BYTE, at, (byte) value);
        return this;
    }

    Forgery putShort(long at, int value) {
        file.set(SHORT, at, (short) value);
        return this;
    }

    Forgery putInt(long at, int value) {
        file.set(INT, at, value);
        return this;
    }

    Forgery putLong(long at, long value) {
        file.set(LONG, at, value);
        return this;
    }

    long getLong(long at) {
        return file.get(LONG, at);
    }

    /// {@return the file with the header, if that is at `offset`, or a commit record summed up anew}
    byte[] sealedPage(long offset) {
        int length = offset == 0 ? FileLayout.HEADER_BYTES : FileLayout.COMMIT_BYTES;
        putInt(offset + length - 4, Checksums.crc32c(file.asSlice(offset, length - 4)));
        return bytes;
    }

    /// {@return the file with the index, its directory and its commit record summed up anew}
    byte[] sealed() {
        sealBlocks(file.asSlice(commit.indexOffset(), commit.indexLength()));
        return sealedWithoutBlocks();
    }

    /// {@return the same, the checksums of blocks left as they are}
    byte[] sealedWithoutBlocks() {
        MemorySegment forged = file.asSlice(commit.indexOffset(), commit.indexLength());
        for (SectionType type : sections) {
            long start = getLong(entry(type) + 8);
            long length = getLong(entry(type) + 16);
            if (start >= 0 && length >= 0 && start <= forged.byteSize() && length <= forged.byteSize() - start) {
                putInt(entry(type) + 36, Checksums.crc32c(forged.asSlice(start, length)));
            }
        }
        return sealedDirectory();
    }

    private void sealBlocks(MemorySegment forged) {
        for (long block = 0; block < index.count(SectionType.ISUM); block++) {
            putInt(at(SectionType.ISUM, block), BlockSums.of(forged, Records.directory(index.bytes()).byteSize(),
                    at(SectionType.ISUM, 0) - commit.indexOffset(), block));
        }
    }

    /// {@return the file with the directory and its commit record summed up anew}
    byte[] sealedDirectory() {
        MemorySegment forged = file.asSlice(commit.indexOffset(), commit.indexLength());
        MemorySegment directory = Records.directory(forged);
        putInt(commit.indexOffset() + 24, Index.directoryChecksum(directory));
        putDigest(slot() + 32, Digest128.of(directory));
        putDigest(slot() + 96, Digest128.of(forged));
        return sealedPage(slot());
    }

    private void putDigest(long at, Digest128 digest) {
        putLong(at, digest.low());
        putLong(at + 8, digest.high());
    }
}
