package io.undercroft.format.internal.index;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.Records.NameFields;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// Names of tensors in the order in which they are added, kept off the heap until they are sorted. Belongs to one
/// thread.
public final class NameTable {
    /// The place of a name whose text is not in the state tree.
    public static final int IN_STRB = -1;

    private static final int BLOCK = 1 << 16;
    /// The size of the first block as long as that suffices.
    private static final int SMALL_BLOCK = 1 << 10;

    private final Arena arena = Arena.ofAuto();
    private final List<MemorySegment> texts = new ArrayList<>();
    private final RecordTable records = new RecordTable(NameFields.RECORD);
    private long end;

    /// Adds a name.
    ///
    /// @param utf8 at most 4096 bytes
    /// @param tensor the number of its tensor
    /// @return the number of names that were added before
    public int add(byte[] utf8, int tensor) {
        long text = space(utf8.length);
        MemorySegment.copy(MemorySegment.ofArray(utf8), 0, texts.getLast(), text % BLOCK, utf8.length);
        MemorySegment name = records.append();
        RecordLayout.TEXT.put(name, 0, text);
        RecordLayout.TEXT_LENGTH.put(name, 0, utf8.length);
        NameFields.TENSOR.put(name, 0, tensor);
        return (int) records.count() - 1;
    }

    /// A text is in one block, with at least a byte of it left over, so that its place determines the block.
    private long space(int length) {
        if (texts.isEmpty() && length < SMALL_BLOCK) {
            texts.add(arena.allocate(SMALL_BLOCK));
        } else if (texts.isEmpty() || end % BLOCK + length >= BLOCK) {
            end = (long) texts.size() * BLOCK;
            texts.add(arena.allocate(BLOCK));
        } else if (end % BLOCK + length > texts.getLast().byteSize()) {
            texts.set(texts.size() - 1, arena.allocate(BLOCK).copyFrom(texts.getLast()));
        }
        long text = end;
        end += length;
        return text;
    }

    /// {@return the number of names}
    public long count() {
        return records.count();
    }

    /// {@return the total number of bytes of the names that are not in the state tree}
    ///
    /// @param inTree of each name, where its text is in the state tree, or [#IN_STRB]
    public long textLength(int[] inTree) {
        long length = 0;
        for (int name = 0; name < inTree.length; name++) {
            length += inTree[name] == IN_STRB ? length(name) : 0;
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
    /// @param section the section for them
    /// @param sorted the numbers of the names in the order of the names
    /// @param firstText the offset of their texts in STRB, one after the other
    /// @param strings the length of STRB; offsets in the state tree count from there
    /// @param inTree of each name, where its text is in the state tree, or [#IN_STRB]
    public void writeRecords(MemorySegment section, int[] sorted, long firstText, long strings, int[] inTree) {
        long at = 0;
        long text = firstText;
        for (int name : sorted) {
            int length = length(name);
            int place = inTree[name];
            RecordLayout.TEXT.put(section, at, place == IN_STRB ? text : strings + place);
            RecordLayout.TEXT_LENGTH.put(section, at, length);
            NameFields.TENSOR.put(section, at, records.get(name, NameFields.TENSOR));
            at += NameFields.RECORD.size();
            text += place == IN_STRB ? length : 0;
        }
    }

    /// Copies the texts that are not in the state tree, one after the other.
    ///
    /// @param sorted the numbers of the names in the order of the names
    /// @param section the section for them
    /// @param firstText the offset of the first of them there
    /// @param inTree of each name, where its text is in the state tree, or [#IN_STRB]
    public void copyTexts(int[] sorted, MemorySegment section, long firstText, int[] inTree) {
        long at = firstText;
        for (int name : sorted) {
            if (inTree[name] != IN_STRB) {
                continue;
            }
            long text = text(name);
            int length = length(name);
            MemorySegment.copy(block(text), text % BLOCK, section, at, length);
            at += length;
        }
    }

    /// {@return whether a name has this text}
    ///
    /// @param name its number
    /// @param utf8 the text
    public boolean isText(int name, MemorySegment utf8) {
        long text = text(name);
        return utf8.byteSize() == length(name) && MemorySegment.mismatch(utf8, 0, utf8.byteSize(),
                block(text), text % BLOCK, text % BLOCK + utf8.byteSize()) < 0;
    }

    private int compare(int left, int right) {
        long one = text(left);
        long other = text(right);
        return StrictUtf8.compare(block(one), one % BLOCK, one % BLOCK + length(left), block(other),
                other % BLOCK, other % BLOCK + length(right));
    }

    private String quoted(int name) {
        long text = text(name);
        return FormatException.quote(StrictUtf8.decode(block(text), text % BLOCK, length(name)));
    }

    private long text(int name) {
        return RecordLayout.TEXT.get(records.block(name), records.start(name));
    }

    private int length(int name) {
        return RecordLayout.TEXT_LENGTH.getInt(records.block(name), records.start(name));
    }

    private MemorySegment block(long text) {
        return texts.get((int) (text / BLOCK));
    }
}
