package io.undercroft.properties;

import io.undercroft.format.ByteSource;
import io.undercroft.format.CommitRecord;
import io.undercroft.format.Digests;
import io.undercroft.format.Header;
import io.undercroft.format.Layout;
import io.undercroft.format.Limits;
import io.undercroft.format.Snapshot;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.function.UnaryOperator;

/// A `.croft` file of one snapshot whose state tree is another than was saved, and which is summed up as if that one
/// had been: what somebody hands over who knows the format.
final class TreeFile {
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int TREE = Integer.reverseBytes(0x54524545);
    private static final int HEAD = 32;
    private static final int ENTRY = 48;
    private static final int ALIGNMENT = 8;

    private final byte[] file;
    private final CommitRecord commit;
    private final MemorySegment index;
    private final long entry;

    private TreeFile(byte[] file) throws IOException {
        this.file = file;
        this.commit = Snapshot.open(ByteSource.of(MemorySegment.ofArray(file)), Limits.DEFAULT).commit();
        this.index = MemorySegment.ofArray(file).asSlice(commit.indexOffset(), commit.indexLength());
        this.entry = entryOf(index);
    }

    private static long entryOf(MemorySegment index) {
        long entry = HEAD;
        while (index.get(INT, entry) != TREE) {
            entry += ENTRY;
        }
        return entry;
    }

    /// {@return the tree of a file}
    static byte[] tree(byte[] file) throws IOException {
        return new TreeFile(file).tree();
    }

    /// {@return a copy of a file with another tree}
    ///
    /// @param file as a save makes it
    /// @param change makes of the tree another one, of any length
    static byte[] change(byte[] file, UnaryOperator<byte[]> change) throws IOException {
        TreeFile whole = new TreeFile(file);
        return whole.with(change.apply(whole.tree()));
    }

    private byte[] tree() {
        return index.asSlice(index.get(LONG, entry + 8), index.get(LONG, entry + 16)).toArray(ValueLayout.JAVA_BYTE);
    }

    private byte[] with(byte[] tree) {
        MemorySegment changed = sumUp(spliced(tree));
        CommitRecord record = CommitRecord.canonical(changed, commit.indexOffset(), 0, "");
        byte[] whole = Arrays.copyOf(file, (int) record.committedLength());
        Arrays.fill(whole, (int) commit.indexOffset(), whole.length, (byte) 0);
        MemorySegment.ofArray(whole).asSlice(commit.indexOffset(), changed.byteSize()).copyFrom(changed);
        put(whole, 0, Header.of(record.uuid(), file[56], record.committedLength()).encode());
        put(whole, Layout.FIRST_COMMIT, record.encode());
        return whole;
    }

    /// The index with the tree in its place, and what follows moved.
    private MemorySegment spliced(byte[] tree) {
        long start = index.get(LONG, entry + 8);
        long end = padded(start + index.get(LONG, entry + 16));
        long moved = padded(start + tree.length) - end;
        MemorySegment made = MemorySegment.ofArray(new byte[(int) (index.byteSize() + moved)]);
        made.copyFrom(index.asSlice(0, start));
        made.asSlice(start, tree.length).copyFrom(MemorySegment.ofArray(tree));
        made.asSlice(end + moved).copyFrom(index.asSlice(end));
        made.set(LONG, 8, made.byteSize());
        made.set(LONG, entry + 16, tree.length);
        made.set(LONG, entry + 24, tree.length);
        for (long later = entry + ENTRY; later < end(made); later += ENTRY) {
            made.set(LONG, later + 8, made.get(LONG, later + 8) + moved);
        }
        return made;
    }

    private MemorySegment sumUp(MemorySegment made) {
        MemorySegment tree = made.asSlice(made.get(LONG, entry + 8), made.get(LONG, entry + 16));
        made.set(INT, entry + 36, Digests.crc32c(tree));
        made.set(INT, 24, 0);
        made.set(INT, 24, Digests.crc32c(made.asSlice(0, end(made))));
        return made;
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
