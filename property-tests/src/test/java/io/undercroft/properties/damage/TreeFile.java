package io.undercroft.properties.damage;

import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.Checksums;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.function.UnaryOperator;

/// A `.croft` file of one snapshot whose state tree, or whose table of tensors, is another than was saved, and which is
/// summed up as if that one had been: what somebody hands over who knows the format.
public final class TreeFile {
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int TREE = Integer.reverseBytes(0x54524545);
    private static final int TENSORS = Integer.reverseBytes(0x54454E53);
    /// Checksums of blocks, which would be wrong; sections that need not be known may have any name.
    private static final int BLOCK_SUMS = Integer.reverseBytes(0x4953554D);
    private static final int UNKNOWN = Integer.reverseBytes(0x4E4F4E45);
    private static final int HEAD = 32;
    private static final int ENTRY = 48;
    private static final int ALIGNMENT = 8;

    private final byte[] file;
    private final CommitRecord commit;
    private final MemorySegment index;
    private final long entry;

    private TreeFile(byte[] file, int section) throws IOException {
        this.file = file;
        this.commit = Snapshot.open(ByteSource.of(MemorySegment.ofArray(file)), Limits.DEFAULT).commit();
        this.index = MemorySegment.ofArray(file).asSlice(commit.indexOffset(), commit.indexLength());
        this.entry = entryOf(index, section);
    }

    private static long entryOf(MemorySegment index, int section) {
        long entry = HEAD;
        while (index.get(INT, entry) != section) {
            entry += ENTRY;
        }
        return entry;
    }

    /// {@return the tree of a file}
    public static byte[] tree(byte[] file) throws IOException {
        return new TreeFile(file, TREE).section();
    }

    /// {@return a copy of a file with another tree}
    ///
    /// @param file as a save makes it
    /// @param change makes of the tree another one, of any length
    public static byte[] change(byte[] file, UnaryOperator<byte[]> change) throws IOException {
        return new TreeFile(file, TREE).changed(change);
    }

    /// {@return a copy of a file with other records of tensors}
    ///
    /// @param file as a save makes it
    /// @param change makes of the records as many others
    static byte[] changeTensors(byte[] file, UnaryOperator<byte[]> change) throws IOException {
        return new TreeFile(file, TENSORS).changed(change);
    }

    /// {@return the index of the newest snapshot of a file}
    public static byte[] index(byte[] file) throws IOException {
        return new TreeFile(file, TREE).index.toArray(ValueLayout.JAVA_BYTE);
    }

    /// {@return a copy of a file with another index}
    ///
    /// @param file as a save makes it
    /// @param index any bytes, of which those that can be found are summed up; without a whole directory, they are
    ///     returned as they are
    public static byte[] withIndex(byte[] file, byte[] index) throws IOException {
        TreeFile whole = new TreeFile(file, TREE);
        MemorySegment made = MemorySegment.ofArray(index.clone());
        if (index.length < HEAD || end(made) < HEAD || end(made) > index.length) {
            return index.clone();
        }
        for (long entry = HEAD; entry < end(made); entry += ENTRY) {
            sumUp(made, entry);
        }
        sumUpHead(made);
        return whole.with(made);
    }

    private byte[] changed(UnaryOperator<byte[]> change) {
        return with(change.apply(section()));
    }

    private byte[] section() {
        return index.asSlice(index.get(LONG, entry + 8), index.get(LONG, entry + 16)).toArray(ValueLayout.JAVA_BYTE);
    }

    private byte[] with(byte[] section) {
        MemorySegment made = spliced(section);
        sumUp(made, entry);
        sumUpHead(made);
        return with(made);
    }

    private byte[] with(MemorySegment changed) {
        CommitRecord record = CommitRecord.canonical(changed, commit.indexOffset(), 0, "");
        byte[] whole = Arrays.copyOf(file, (int) record.committedLength());
        Arrays.fill(whole, (int) commit.indexOffset(), whole.length, (byte) 0);
        MemorySegment.ofArray(whole).asSlice(commit.indexOffset(), changed.byteSize()).copyFrom(changed);
        put(whole, 0, Header.of(record.uuid(), file[56], record.committedLength()).encode());
        put(whole, FileLayout.FIRST_COMMIT, record.encode());
        return whole;
    }

    /// The index with the section in its place, and what follows moved.
    private MemorySegment spliced(byte[] section) {
        long start = index.get(LONG, entry + 8);
        long end = padded(start + index.get(LONG, entry + 16));
        long moved = padded(start + section.length) - end;
        MemorySegment made = MemorySegment.ofArray(new byte[(int) (index.byteSize() + moved)]);
        made.copyFrom(index.asSlice(0, start));
        made.asSlice(start, section.length).copyFrom(MemorySegment.ofArray(section));
        made.asSlice(end + moved).copyFrom(index.asSlice(end));
        made.set(LONG, 8, made.byteSize());
        made.set(LONG, entry + 16, section.length);
        made.set(LONG, entry + 24, section.length / index.get(INT, entry + 32));
        for (long later = entry + ENTRY; later < end(made); later += ENTRY) {
            made.set(LONG, later + 8, made.get(LONG, later + 8) + moved);
            if (made.get(INT, later) == BLOCK_SUMS) {
                made.set(INT, later, UNKNOWN);
            }
        }
        return made;
    }

    /// Sums up a section, if it is inside.
    private static void sumUp(MemorySegment made, long entry) {
        if (made.get(INT, entry) == BLOCK_SUMS) {
            made.set(INT, entry, UNKNOWN);
        }
        long start = made.get(LONG, entry + 8);
        long length = made.get(LONG, entry + 16);
        if (start >= 0 && length >= 0 && start <= made.byteSize() && length <= made.byteSize() - start) {
            made.set(INT, entry + 36, Checksums.crc32c(made.asSlice(start, length)));
        }
    }

    private static void sumUpHead(MemorySegment made) {
        made.set(INT, 24, 0);
        made.set(INT, 24, Checksums.crc32c(made.asSlice(0, Math.clamp(end(made), HEAD, made.byteSize()))));
    }

    private static long end(MemorySegment index) {
        return HEAD + (long) index.get(INT, 4) * ENTRY;
    }

    private static long padded(long length) {
        return (length + ALIGNMENT - 1) & -ALIGNMENT;
    }

    private static void put(byte[] file, long offset, byte[] bytes) {
        System.arraycopy(bytes, 0, file, (int) offset, bytes.length);
    }
}
