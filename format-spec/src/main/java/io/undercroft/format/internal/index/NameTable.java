package io.undercroft.format.internal.index;

import io.undercroft.format.FormatException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// Names of tensors in the order in which they are added, kept off the heap until they are sorted. Belongs to one
/// thread.
public final class NameTable {
    /// Says of a name that its text is not in the state tree.
    public static final int IN_STRB = -1;

    private static final int BLOCK = 1 << 16;
    private static final int TEXT = 0;
    private static final int LENGTH = 8;
    private static final int TENSOR = 12;

    private final Arena arena = Arena.ofAuto();
    private final List<MemorySegment> texts = new ArrayList<>();
    private final RecordTable records = new RecordTable(16);
    private long end;

    /// Adds a name.
    ///
    /// @param utf8 at most 4096 bytes
    /// @param tensor the number of its tensor
    /// @return how many names were added before
    public int add(byte[] utf8, int tensor) {
        long text = space(utf8.length);
        MemorySegment.copy(MemorySegment.ofArray(utf8), 0, texts.getLast(), text % BLOCK, utf8.length);
        FieldWriter out = records.append();
        out.u64("text", text);
        out.u32("length", utf8.length);
        out.u32("tensor", tensor);
        return (int) records.count() - 1;
    }

    /// A text lies in one block, with at least a byte of it left over, so that its place says which.
    private long space(int length) {
        if (texts.isEmpty() || end % BLOCK + length >= BLOCK) {
            end = (long) texts.size() * BLOCK;
            texts.add(arena.allocate(BLOCK));
        }
        long text = end;
        end += length;
        return text;
    }

    /// {@return how many names there are}
    public long count() {
        return records.count();
    }

    /// {@return how many bytes the names have together that are not in the state tree}
    ///
    /// @param inTree of each name, where its text is in the state tree, or [#IN_STRB]
    public long textLength(int[] inTree) {
        long length = 0;
        for (int name = 0; name < inTree.length; name++) {
            length += inTree[name] == IN_STRB ? records.i32(name, LENGTH) : 0;
        }
        return length;
    }

    /// {@return the numbers of the names in the order of the names}
    ///
    /// @throws IllegalArgumentException if two are equal
    public int[] sorted() {
        int[] sorted = IndexSort.sorted((int) count(), this::compare);
        for (int rank = 1; rank < sorted.length; rank++) {
            if (compare(sorted[rank - 1], sorted[rank]) == 0) {
                throw new IllegalArgumentException("two tensors have the name " + quoted(sorted[rank]));
            }
        }
        return sorted;
    }

    /// {@return of each name, in the order in which they were added, its place among the sorted ones}
    ///
    /// @param sorted the numbers of the names in the order of the names
    public static int[] ranks(int[] sorted) {
        int[] ranks = new int[sorted.length];
        for (int rank = 0; rank < sorted.length; rank++) {
            ranks[sorted[rank]] = rank;
        }
        return ranks;
    }

    /// Writes the records of NAMS.
    ///
    /// @param sorted the numbers of the names in the order of the names
    /// @param firstText where their texts start in STRB, one after the other
    /// @param strings the length of STRB, behind which the state tree counts
    /// @param inTree of each name, where its text is in the state tree, or [#IN_STRB]
    public void writeRecords(FieldWriter out, int[] sorted, long firstText, long strings, int[] inTree) {
        long text = firstText;
        for (int name : sorted) {
            int length = records.i32(name, LENGTH);
            int place = inTree[name];
            RecordWriter.name(out, place == IN_STRB ? text : strings + place, length, records.i32(name, TENSOR));
            text += place == IN_STRB ? length : 0;
        }
    }

    /// Copies the texts that are not in the state tree, one after the other.
    ///
    /// @param sorted the numbers of the names in the order of the names
    /// @param section where they go
    /// @param firstText where the first of them starts there
    /// @param inTree of each name, where its text is in the state tree, or [#IN_STRB]
    public void copyTexts(int[] sorted, MemorySegment section, long firstText, int[] inTree) {
        long at = firstText;
        for (int name : sorted) {
            if (inTree[name] != IN_STRB) {
                continue;
            }
            long text = records.i64(name, TEXT);
            int length = records.i32(name, LENGTH);
            MemorySegment.copy(block(text), text % BLOCK, section, at, length);
            at += length;
        }
    }

    /// {@return whether a name has this text}
    ///
    /// @param name its number
    /// @param utf8 the text
    public boolean isText(int name, MemorySegment utf8) {
        long text = records.i64(name, TEXT);
        return utf8.byteSize() == records.i32(name, LENGTH) && MemorySegment.mismatch(utf8, 0, utf8.byteSize(),
                block(text), text % BLOCK, text % BLOCK + utf8.byteSize()) < 0;
    }

    private int compare(int left, int right) {
        long one = records.i64(left, TEXT);
        long other = records.i64(right, TEXT);
        return Utf8.compare(block(one), one % BLOCK, one % BLOCK + records.i32(left, LENGTH), block(other),
                other % BLOCK, other % BLOCK + records.i32(right, LENGTH));
    }

    private String quoted(int name) {
        long text = records.i64(name, TEXT);
        return FormatException.quote(Utf8.decode(block(text), text % BLOCK, records.i32(name, LENGTH)));
    }

    private MemorySegment block(long text) {
        return texts.get((int) (text / BLOCK));
    }
}
