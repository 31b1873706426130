package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.BaseNumbers;
import io.undercroft.format.internal.index.Index;
import io.undercroft.format.internal.index.IndexAssembler;
import io.undercroft.format.internal.index.Records.CodingFields;
import io.undercroft.format.internal.index.Records.ExtentFields;
import io.undercroft.format.internal.index.Section;
import io.undercroft.format.internal.index.SectionType;
import io.undercroft.format.internal.index.SharedExtents;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;

/// The index of a snapshot for another file, in which the same bytes are at other offsets: for copying a snapshot to a
/// new file, and for compacting.
///
/// All records keep all their bytes, also those that a newer minor version uses. Only the offsets of extents and of
/// references, the flags of sharing, and the numbers of bases change; bases that no record names any more are left out.
/// Sections unknown to this version are copied if they are safe to copy. The new file has no free ranges,
/// and the checksums of blocks are computed again.
///
/// The new file needs the same chunk size. Every extent in the old file has to be placed, and every reference of a
/// coded extent there. What is in a base is placed if its bytes are copied, or still is in the base. Valid as long as
/// its snapshot. For use by one thread.
public final class IndexCopy {
    private final Snapshot snapshot;
    private final Index index;
    private final int extentSize;
    private final MemorySegment extents;
    private final int codingSize;
    private final MemorySegment codings;
    private final BitSet large = new BitSet();
    private final BitSet ragged = new BitSet();
    private final BitSet placed = new BitSet();
    /// The extents whose references are placed.
    private final BitSet placedReferences = new BitSet();
    /// The codings of extents that are stored as they are in the old file.
    private final SortedMap<Integer, Coding> newCodings = new TreeMap<>();

    private IndexCopy(Snapshot snapshot) {
        this.snapshot = snapshot;
        this.index = snapshot.index();
        this.extentSize = index.recordSize(SectionType.EXTN);
        this.extents = copy(index.section(SectionType.EXTN));
        this.codingSize = Math.max(index.recordSize(SectionType.CODE), SectionType.CODE.recordSize());
        this.codings = copy(index.section(SectionType.CODE));
        for (int number = 0; number < snapshot.storageCount(); number++) {
            survey(snapshot.storage(number));
        }
    }

    private static MemorySegment copy(MemorySegment section) {
        return Arena.ofAuto().allocate(section.byteSize(), Long.BYTES).copyFrom(section);
    }

    /// Starts a copy. No extent is placed yet.
    ///
    /// @param snapshot the snapshot to copy
    /// @return the copy
    /// @throws FormatException if the index of the snapshot breaks a rule, so that a copy of it would break it too
    public static IndexCopy of(Snapshot snapshot) {
        List<FormatException> faults = snapshot.faults();
        if (!faults.isEmpty()) {
            throw faults.getFirst();
        }
        return new IndexCopy(snapshot);
    }

    /// Records which extents belong to a large storage, and which are at offsets of their storage that a RAW extent
    /// must not have.
    private void survey(StorageRecord storage) {
        int first = storage.firstExtent();
        int last = first + storage.extentCount() - 1;
        long alignment = FileLayout.alignment(storage.nbytes(), snapshot.header().chunkLog2());
        large.set(first, last + 1, alignment == FileLayout.MAPPING_ALIGNMENT);
        int lastStored = last;
        while (lastStored >= first && snapshot.extent(lastStored).kind() == ExtentKind.ZERO) {
            lastStored--;
        }
        long position = 0;
        for (int number = first; number <= last; number++) {
            long length = snapshot.extent(number).length();
            ragged.set(number, position % alignment != 0 || (number < lastStored && length % alignment != 0));
            position += length;
        }
    }

    /// Sets the offset of the bytes of an extent in the new file. It becomes a RAW extent of that file, or stays a
    /// CODED one.
    ///
    /// Extents that were the same bytes may be placed at the same offset or apart, as the caller copies them.
    ///
    /// @param extent its number
    /// @param fileOffset the first byte, see [FileLayout#placeExtent]
    /// @throws IndexOutOfBoundsException if there is no such extent
    /// @throws IllegalArgumentException if it is a ZERO extent, if the offset is not aligned as the size of its storage
    ///     requires, or if it is a FOREIGN extent that starts or ends inside the storage where no RAW extent may
    public void place(int extent, long fileOffset) {
        ExtentRecord record = snapshot.extent(extent);
        boolean isCoded = record.kind() == ExtentKind.CODED;
        long alignment = large.get(extent) && !isCoded ? FileLayout.MAPPING_ALIGNMENT : FileLayout.SMALL_ALIGNMENT;
        if (record.kind() == ExtentKind.ZERO || fileOffset < FileLayout.DATA_START || fileOffset % alignment != 0) {
            throw new IllegalArgumentException(
                    record + " cannot be at " + fileOffset + "; place it at a multiple of " + alignment);
        }
        if (record.kind() == ExtentKind.FOREIGN && ragged.get(extent)) {
            throw new IllegalArgumentException(record + " starts or ends where no extent of this file may: its storage "
                    + "is cut at other places than multiples of " + alignment);
        }
        ExtentFields.KIND.put(extents, at(extent), (isCoded ? ExtentKind.CODED : ExtentKind.RAW).code());
        ExtentFields.BASE.put(extents, at(extent), ExtentRecord.THIS_FILE);
        ExtentFields.OFFSET.put(extents, at(extent), fileOffset);
        placed.set(extent);
    }

    /// Sets the offset of the coded bytes of an extent that the old file has as they are.
    ///
    /// @param extent its number
    /// @param fileOffset the first coded byte, see [FileLayout#SMALL_ALIGNMENT]
    /// @param coding the way in which they are coded; its reference is in the new file
    /// @throws IllegalArgumentException if it is a ZERO or coded extent, or one that starts or ends inside the storage
    ///     where no coded extent may, or the offset is not aligned
    public void code(int extent, long fileOffset, Coding coding) {
        ExtentRecord record = snapshot.extent(extent);
        boolean isPossible = (record.kind() == ExtentKind.RAW || record.kind() == ExtentKind.FOREIGN)
                && !ragged.get(extent) && fileOffset >= FileLayout.DATA_START
                && fileOffset % FileLayout.SMALL_ALIGNMENT == 0 && coding.fits(record.length());
        if (!isPossible) {
            throw new IllegalArgumentException(record + " cannot be stored as " + coding + " at " + fileOffset);
        }
        ExtentFields.KIND.put(extents, at(extent), ExtentKind.CODED.code());
        ExtentFields.BASE.put(extents, at(extent), ExtentRecord.THIS_FILE);
        ExtentFields.OFFSET.put(extents, at(extent), fileOffset);
        placed.set(extent);
        newCodings.put(extent, coding);
    }

    /// Sets the offset of the reference of a coded extent in the new file.
    ///
    /// @param extent the number of the extent
    /// @param fileOffset the first byte of the reference
    /// @throws IllegalArgumentException if it has no reference, or there are no extents at that offset
    public void placeReference(int extent, long fileOffset) {
        Coding coding = snapshot.extent(extent).coding();
        if (coding == null || !coding.hasReference() || fileOffset < FileLayout.DATA_START) {
            throw new IllegalArgumentException("extent " + extent + " cannot have a reference at " + fileOffset);
        }
        long at = index.codingOf(extent) * codingSize;
        CodingFields.REFERENCE_BASE.put(codings, at, ExtentRecord.THIS_FILE);
        CodingFields.REFERENCE_OFFSET.put(codings, at, fileOffset);
        placedReferences.set(extent);
    }

    /// Writes the index.
    ///
    /// @param sequence the number of the commit that will point to it, from 1
    /// @return the index, to be written at a multiple of 64, valid as long as it is referenced
    /// @throws IllegalStateException if an extent that was in the old file was not placed
    /// @throws IllegalArgumentException if it exceeds [Limits#DEFAULT], so that readers would refuse it
    public MemorySegment build(long sequence) {
        BaseNumbers bases = new BaseNumbers(namedBases());
        List<Section> sections = Stream.of(SectionType.values()).map(type -> section(type, bases)).toList();
        List<Section> unknown = snapshot.unknownSections().stream().filter(UnknownSection::isSafeToCopy)
                .map(Section::of).toList();
        return IndexAssembler.assemble(sections, unknown, sequence);
    }

    private BitSet namedBases() {
        BitSet named = new BitSet();
        for (int extent = 0; extent < snapshot.extentCount(); extent++) {
            named.set(ExtentFields.BASE.getInt(extents, at(extent)));
            ExtentRecord record = snapshot.extent(extent);
            Coding coding = record.coding();
            boolean isPlaced = placed.get(extent) || record.kind() == ExtentKind.ZERO
                    || record.base() != ExtentRecord.THIS_FILE;
            boolean isReferencePlaced = placedReferences.get(extent) || coding == null
                    || !coding.hasReferenceInThisFile();
            if (!isPlaced || !isReferencePlaced) {
                throw new IllegalStateException(
                        "extent " + extent + ", " + record + (isPlaced ? ", or its reference," : ",")
                                + " was not placed in the new file");
            }
        }
        for (long at = 0; at < codings.byteSize(); at += codingSize) {
            named.set(CodingFields.REFERENCE_BASE.getInt(codings, at));
        }
        return named;
    }

    private Section section(SectionType type, BaseNumbers bases) {
        int recordSize = index.recordSize(type);
        return switch (type) {
            case EXTN -> Section.of(type, recordSize, index.count(type), bytes -> writeExtents(bytes, bases));
            case BASE -> Section.of(type, recordSize, bases.count(), bytes -> writeBases(bytes, bases));
            case CODE -> Section.of(type, codingSize, index.count(type) + newCodings.size(), bytes -> {
                writeCodings(bytes);
                bases.apply(bytes, codingSize, CodingFields.REFERENCE_BASE);
            });
            case FREE, ISUM -> Section.of(type, recordSize, 0, _ -> {});
            default -> Section.of(type, recordSize, index.count(type), bytes -> bytes.copyFrom(index.section(type)));
        };
    }

    private void writeExtents(MemorySegment bytes, BaseNumbers bases) {
        bytes.copyFrom(extents);
        bases.apply(bytes, extentSize, ExtentFields.BASE);
        SharedExtents.flag(bytes, extentSize);
    }

    /// Writes the codings in the order of the extents.
    private void writeCodings(MemorySegment bytes) {
        long from = 0;
        long at = 0;
        for (Map.Entry<Integer, Coding> next : newCodings.entrySet()) {
            while (from < codings.byteSize() && CodingFields.EXTENT.get(codings, from) < next.getKey()) {
                MemorySegment.copy(codings, from, bytes, at, codingSize);
                from += codingSize;
                at += codingSize;
            }
            next.getValue().write(next.getKey(), bytes.asSlice(at, codingSize));
            at += codingSize;
        }
        MemorySegment.copy(codings, from, bytes, at, codings.byteSize() - from);
    }

    private void writeBases(MemorySegment bytes, BaseNumbers bases) {
        MemorySegment old = index.section(SectionType.BASE);
        long recordSize = index.recordSize(SectionType.BASE);
        long at = 0;
        for (int base : bases.kept()) {
            MemorySegment.copy(old, base * recordSize, bytes, at, recordSize);
            at += recordSize;
        }
    }

    private long at(int extent) {
        return (long) extent * extentSize;
    }
}
