package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.BlockSums;
import io.undercroft.format.internal.index.Index;
import io.undercroft.format.internal.index.LittleEndian;
import io.undercroft.format.internal.index.RecordRules;
import io.undercroft.format.internal.index.SectionType;
import io.undercroft.format.internal.index.StrictUtf8;
import io.undercroft.format.internal.index.IndexRules;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// One committed state of a file: its tables, read in place.
///
/// **Opening** reads the first 1024 bytes of the file, the two commit slots if there are several snapshots, and of the
/// index the directory and the checksums of its blocks; it touches no record, and its time does not depend on how many
/// there are. An index of less than 64 KiB is read whole, and so is any index whose source has no [ByteSource#segment].
/// A sealed file takes one read more.
///
/// **Use.** Each method checks the records that it reads, and that their bytes are those that were written, and throws
/// a [FormatException] if they are not; damage that is found then never makes it read an older snapshot.
/// Rules about several records (the order of names, overlapping extents) are
/// checked by [Verifier], which also reads the bytes of the storages.
///
/// **Lifetime and threads.** A snapshot lives as long as its source. It never changes and is safe for any thread, if
/// its source is.
///
/// Numbers of storages, extents, tensors, dtypes and names count from 0; a number that is out of range throws
/// [IndexOutOfBoundsException].
public final class Snapshot {
    private static final long SMALL_INDEX = 1 << 20;
    /// The part at the end of a sealed file that is announced before its commit record is read: a share of the file, as
    /// the index before the record is usually smaller. A smaller part would cost files of less than 200 MiB whose index
    /// is as large a request more, a larger one all others its bytes.
    private static final long SEALED_END_SHARE = 4096;
    private static final long LEAST_SEALED_END = 48 << 10;
    private static final long MOST_SEALED_END = 1 << 20;
    /// The number of extents compared at once with those of another snapshot.
    private static final int EXTENTS = 64;

    private final ByteSource source;
    private final Limits limits;
    private final Header header;
    private final CommitRecord commit;
    private final long place;
    private final Index index;
    private final RecordRules rules;
    private final @Nullable FormatException skippedCommit;

    private Snapshot(ByteSource source, Limits limits, Header header, CommitRecord commit, long place,
            @Nullable FormatException skippedCommit) throws IOException {
        this.source = source;
        this.limits = limits;
        this.header = header;
        this.commit = commit;
        this.place = place;
        this.index = readIndex(source, commit, limits);
        this.rules = new RecordRules(index, commit, header, limits);
        this.skippedCommit = skippedCommit;
    }

    /// Opens the newest commit of a file; if that one is damaged, as after a crash, the one before it.
    ///
    /// A commit is damaged if a checksum or digest does not match or the file is too short. A commit that is undamaged
    /// and breaks a rule is refused, not skipped.
    ///
    /// @param source the file
    /// @param limits the limits that the file must not exceed
    /// @return the snapshot
    /// @throws FormatException if there is no snapshot that this version can read
    /// @throws IOException if reading fails
    public static Snapshot open(ByteSource source, Limits limits) throws IOException {
        MemorySegment prefix = readPrefix(source);
        Header header = Header.decode(prefix.asSlice(0, FileLayout.HEADER_BYTES));
        return header.isSealed()
                ? openSealed(source, header, prefix, limits)
                : openSlots(source, header, prefix, limits);
    }

    /// {@return the commit record after the header, if it is intact and of this file} No other byte is read.
    static Optional<CommitRecord> firstCommit(ByteSource source) throws IOException {
        MemorySegment prefix = readPrefix(source);
        Header header = Header.decode(prefix.asSlice(0, FileLayout.HEADER_BYTES));
        Slot first = slot(prefix.asSlice(FileLayout.FIRST_COMMIT, FileLayout.COMMIT_BYTES), FileLayout.FIRST_COMMIT);
        return Optional.ofNullable(first.decoded()).filter(commit -> commit.uuid().equals(header.uuid()));
    }

    /// A commit is skipped, or the file refused, only if the slots are still as they were read: a writer may have been
    /// writing one of them.
    private static Snapshot openSlots(ByteSource source, Header header, MemorySegment prefix, Limits limits)
            throws IOException {
        MemorySegment pages = slotPages(source, header);
        while (true) {
            try {
                Snapshot found = openNewest(source, header, slots(header, pages, prefix), limits);
                if (found.skippedCommit == null || slotPages(source, header).mismatch(pages) < 0) {
                    return found;
                }
            } catch (FormatException e) {
                if (!Rule.isDamage(e) || slotPages(source, header).mismatch(pages) < 0) {
                    throw e;
                }
            }
            pages = slotPages(source, header);
        }
    }

    /// Reads the commit slots; nothing if the file ends before their end. An append that fails may cut it back to that
    /// meanwhile.
    private static MemorySegment slotPages(ByteSource source, Header header) throws IOException {
        MemorySegment pages = MemorySegment.ofArray(new byte[FileLayout.SLOTS_BYTES]);
        try {
            if (source.size() >= header.slotsEnd()) {
                source.read(header.slots(), pages);
                return pages;
            }
        } catch (EOFException e) {
            if (source.size() >= header.slotsEnd()) {
                throw truncated(header.slots(), e);
            }
        }
        return pages.asSlice(0, 0);
    }

    private static Snapshot openNewest(ByteSource source, Header header, List<Slot> slots, Limits limits)
            throws IOException {
        FormatException skippedCommit = lostSlots(source, header, slots);
        for (Slot slot : slots) {
            try {
                return open(source, header, slot, limits, skippedCommit);
            } catch (FormatException e) {
                if (!Rule.isDamage(e)) {
                    throw e;
                }
                skippedCommit = skippedCommit == null ? e : skippedCommit;
            }
        }
        if (skippedCommit != null) {
            throw skippedCommit;
        }
        throw Rule.V17_COMMIT.broken("the file has no commit record", FileLayout.FIRST_COMMIT);
    }

    /// Returns the exception for a file that continues after its first snapshot and ends before its slots do. No writer
    /// leaves such a file; it may be a copy that was truncated.
    private static @Nullable FormatException lostSlots(ByteSource source, Header header, List<Slot> slots)
            throws IOException {
        CommitRecord first = slots.size() == 1 ? slots.getFirst().decoded() : null;
        long size = source.size();
        boolean isCut = first != null && first.sequence() == 1 && size > first.committedLength()
                && size < header.slotsEnd();
        return isCut
                ? Rule.V11_TRUNCATED
                        .broken("the file continues after its first snapshot, and ends before its commit slots "
                                + "do; later snapshots are lost if there were any", size)
                : null;
    }

    private static Snapshot openSealed(ByteSource source, Header header, MemorySegment prefix, Limits limits)
            throws IOException {
        if (!LittleEndian.isZero(prefix, FileLayout.FIRST_COMMIT, FileLayout.PREFIX_BYTES)) {
            throw Rule.V20_SEAL.broken("the file is sealed, and has a commit record after its header",
                    FileLayout.FIRST_COMMIT);
        }
        long place = source.size() - FileLayout.COMMIT_BYTES;
        long end = Math.clamp(source.size() / SEALED_END_SHARE, LEAST_SEALED_END, MOST_SEALED_END);
        long announced = Math.min(end, source.size());
        source.prepare(source.size() - announced, announced);
        MemorySegment record = MemorySegment.ofArray(new byte[FileLayout.COMMIT_BYTES]);
        read(source, place, record);
        Slot last = slot(record, place);
        if (last.fault() != null && Rule.isDamage(last.fault())) {
            throw Rule.V17_COMMIT.broken("the file is sealed, and does not end with its commit record", place,
                    last.fault());
        }
        return open(source, header, last, limits, null);
    }

    private static Snapshot open(ByteSource source, Header header, Slot slot, Limits limits,
            @Nullable FormatException skippedCommit) throws IOException {
        CommitRecord commit = slot.commit();
        commit.check(header, slot.offset(), source.size());
        return new Snapshot(source, limits, header, commit, slot.offset(), skippedCommit);
    }

    /// Opens the snapshot of a commit record that was found by searching the file for one.
    ///
    /// @param source the file
    /// @param header its header
    /// @param commit the record
    /// @param place its offset
    /// @param limits the limits that the file must not exceed
    /// @param skippedCommit the reason why no snapshot opens in the usual way
    /// @return the snapshot
    /// @throws FormatException if the record is none of this file, or the snapshot is damaged or breaks a rule
    /// @throws IOException if reading fails
    static Snapshot openFound(ByteSource source, Header header, CommitRecord commit, long place, Limits limits,
            FormatException skippedCommit) throws IOException {
        commit.checkFound(header, place, source.size());
        return new Snapshot(source, limits, header, commit, place, skippedCommit);
    }

    private record Slot(long offset, @Nullable CommitRecord decoded, @Nullable FormatException fault) {
        CommitRecord commit() {
            if (fault != null) {
                throw fault;
            }
            return Objects.requireNonNull(decoded);
        }

        /// A slot whose write was torn has no number, and may have been about to become the newest.
        long sequence() {
            return decoded == null ? Long.MAX_VALUE : decoded.sequence();
        }
    }

    /// Returns the records that may be the newest, the newest first: those of the slots that were ever written, and
    /// that of the first snapshot as long as the slot for odd numbers was not. When that slot is written, the other one
    /// has been forced to the disk, so no crash damages both.
    private static List<Slot> slots(Header header, MemorySegment pages, MemorySegment prefix) {
        List<Slot> slots = new ArrayList<>();
        boolean isOddEmpty = true;
        for (long at = 0; at < pages.byteSize(); at += FileLayout.PAGE) {
            MemorySegment page = pages.asSlice(at, FileLayout.PAGE);
            if (!CommitRecord.isEmpty(page)) {
                slots.add(slot(page.asSlice(0, FileLayout.COMMIT_BYTES), header.slots() + at));
                isOddEmpty &= at == 0;
            }
        }
        if (slots.size() == 2 && slots.getFirst().sequence() < slots.getLast().sequence()) {
            Collections.reverse(slots);
        }
        MemorySegment first = prefix.asSlice(FileLayout.FIRST_COMMIT, FileLayout.COMMIT_BYTES);
        if (isOddEmpty && !CommitRecord.isEmpty(first)) {
            slots.add(slot(first, FileLayout.FIRST_COMMIT));
        }
        return slots;
    }

    private static Slot slot(MemorySegment page, long offset) {
        try {
            return new Slot(offset, CommitRecord.decode(page, offset), null);
        } catch (FormatException e) {
            return new Slot(offset, null, e);
        }
    }

    private static MemorySegment readPrefix(ByteSource source) throws IOException {
        MemorySegment prefix = MemorySegment.ofArray(new byte[(int) Math.min(FileLayout.PREFIX_BYTES, source.size())]);
        read(source, 0, prefix);
        Header.checkSignature(prefix);
        if (prefix.byteSize() < FileLayout.PREFIX_BYTES) {
            throw Rule.V11_TRUNCATED.broken("the file ends in its first 1024 bytes", prefix.byteSize());
        }
        return prefix;
    }

    private static Index readIndex(ByteSource source, CommitRecord commit, Limits limits) throws IOException {
        checkLength(source, commit, limits);
        MemorySegment bytes = commit.indexLength() > BlockSums.SMALL_INDEX
                ? view(source, commit)
                : copy(source, commit);
        return Index.parse(bytes.asReadOnly(), commit, limits);
    }

    private static MemorySegment view(ByteSource source, CommitRecord commit) throws IOException {
        try {
            Optional<MemorySegment> view = source.segment(commit.indexOffset(), commit.indexLength());
            return view.isPresent() ? view.get() : copy(source, commit);
        } catch (EOFException e) {
            throw truncated(commit.indexOffset(), e);
        }
    }

    private static MemorySegment copy(ByteSource source, CommitRecord commit) throws IOException {
        source.prepare(commit.indexOffset(), commit.indexLength());
        MemorySegment bytes = allocate(commit.indexLength());
        read(source, commit.indexOffset(), bytes);
        return bytes;
    }

    /// Called before anything of the size of the index is allocated: a large one must have checksums of its blocks.
    private static void checkLength(ByteSource source, CommitRecord commit, Limits limits) throws IOException {
        long limit = limits.maxSummedIndexBytes();
        if (commit.indexLength() > limits.maxIndexBytes()) {
            long longest = Index.HEAD_BYTES + (long) Index.ENTRY_BYTES * limits.maxSections();
            MemorySegment directory = allocate(Math.min(longest, commit.indexLength()));
            read(source, commit.indexOffset(), directory);
            limit = Index.claimsBlocks(directory) ? limit : limits.maxIndexBytes();
        }
        if (commit.indexLength() > limit) {
            throw Index.tooLarge(commit.indexLength(), limit, commit.indexOffset());
        }
    }

    /// Allocates small indexes on the heap, which is fast, and large ones off it, where a channel can read into them
    /// without a second copy.
    public static MemorySegment allocate(long length) {
        return length <= SMALL_INDEX
                ? MemorySegment.ofArray(new byte[(int) length])
                : Arena.ofAuto().allocate(length, Long.BYTES);
    }

    private static void read(ByteSource source, long offset, MemorySegment into) throws IOException {
        try {
            source.read(offset, into);
        } catch (EOFException e) {
            throw truncated(offset, e);
        }
    }

    static FormatException truncated(long offset, EOFException cause) {
        return Rule.V11_TRUNCATED.broken("the file became shorter while it was read", offset, cause);
    }

    /// {@return the limits that the file must not exceed}
    Limits limits() {
        return limits;
    }

    /// {@return the file's header}
    public Header header() {
        return header;
    }

    /// {@return the record of the commit that this is}
    public CommitRecord commit() {
        return commit;
    }

    /// {@return the offset of that record in the file}
    public long place() {
        return place;
    }

    /// {@return the reason why a newer commit was skipped, or null if this is the newest}
    public @Nullable FormatException skippedCommit() {
        return skippedCommit;
    }

    /// Lists the snapshots of the file, reading a record for each.
    ///
    /// @return the commits up to this one, the newest first
    /// @throws FormatException if an earlier commit is damaged, or is not the one before; by rule V8 if there are more
    ///     than the limits allow
    /// @throws IOException if reading fails
    public List<CommitRecord> chain() throws IOException {
        checkWalk(commit.sequence());
        List<CommitRecord> chain = new ArrayList<>(List.of(commit));
        while (chain.getLast().sequence() > 1) {
            chain.add(parent(chain.getLast()));
        }
        return Collections.unmodifiableList(chain);
    }

    /// Opens an earlier snapshot of the file. If it is damaged, no other is opened instead.
    ///
    /// @param sequence the number of its commit, from 1 to that of this one
    /// @return the snapshot
    /// @throws NoSuchElementException if there is no commit of that number up to this one
    /// @throws FormatException if it, or a commit on the way to it, is damaged or breaks a rule
    /// @throws IOException if reading fails
    public Snapshot openAt(long sequence) throws IOException {
        if (sequence < 1 || sequence > commit.sequence()) {
            throw new NoSuchElementException(
                    "there is no snapshot " + sequence + ", only those from 1 to " + commit.sequence());
        }
        if (sequence == commit.sequence()) {
            return this;
        }
        checkWalk(commit.sequence() - sequence);
        CommitRecord next = commit;
        while (next.sequence() > sequence + 1) {
            next = parent(next);
        }
        return openParent(next, parent(next));
    }

    /// Opens the snapshot before this one.
    ///
    /// @return the snapshot, or nothing if this is the first
    /// @throws FormatException if it is damaged or breaks a rule
    /// @throws IOException if reading fails
    public Optional<Snapshot> previous() throws IOException {
        return commit.sequence() == 1 ? Optional.empty() : Optional.of(openParent(commit, parent(commit)));
    }

    /// Opens a snapshot that [#chain] has found.
    ///
    /// @param next the commit after it in the chain
    /// @param parent its commit
    /// @return the snapshot
    /// @throws FormatException if it is damaged or breaks a rule
    /// @throws IOException if reading fails
    public Snapshot openParent(CommitRecord next, CommitRecord parent) throws IOException {
        return new Snapshot(source, limits, header, parent, next.previousRecord(), null);
    }

    /// Refuses to read more commits than the limits allow.
    void checkWalk(long steps) {
        if (steps > limits.maxSnapshots()) {
            throw Rule.V8_LIMIT.broken(
                    "there are " + steps + " snapshots, the limit is " + limits.maxSnapshots(), place + 8);
        }
    }

    /// {@return the commit before another one, from its parent record}
    CommitRecord parent(CommitRecord next) throws IOException {
        MemorySegment record = MemorySegment.ofArray(new byte[FileLayout.COMMIT_BYTES]);
        read(source, next.previousRecord(), record);
        CommitRecord parent = CommitRecord.decode(record, next.previousRecord());
        parent.checkParent(header, next);
        return parent;
    }

    /// {@return the number of storages}
    public int storageCount() {
        return count(SectionType.STOR);
    }

    /// {@return a storage}
    ///
    /// @param number its number
    public StorageRecord storage(int number) {
        rules.useStorage(check(SectionType.STOR, number));
        return index.storage(number);
    }

    /// {@return the extents of a storage, in their order}
    ///
    /// @param storage its number
    public List<ExtentRecord> extents(int storage) {
        StorageRecord record = storage(storage);
        List<ExtentRecord> extents = new ArrayList<>(record.extentCount());
        for (int i = 0; i < record.extentCount(); i++) {
            extents.add(index.extent(record.firstExtent() + i));
        }
        return extents;
    }

    /// {@return the number of extents}
    public int extentCount() {
        return count(SectionType.EXTN);
    }

    /// {@return an extent}
    ///
    /// @param number its number, from its storage
    public ExtentRecord extent(int number) {
        rules.checkExtent(check(SectionType.EXTN, number));
        return index.extent(number);
    }

    /// Passes on all extents but those of zeros, in their order. Extents that are the same at the same numbers in a
    /// snapshot whose extents are known already may be left out: successive snapshots have most of theirs in common.
    ///
    /// @param known a snapshot of the same file, or null
    /// @param receiver receives the extents
    public void storedExtents(@Nullable Snapshot known, StoredExtents receiver) {
        int count = extentCount();
        for (int first = 0; first < count; first += EXTENTS) {
            int end = Math.min(count, first + EXTENTS);
            boolean isKnown = known != null && end <= known.extentCount()
                    && index.hasSameRecords(SectionType.EXTN, first, end - first, known.index);
            for (int number = first; !isKnown && number < end; number++) {
                rules.checkExtent(number);
                index.passOn(number, receiver);
            }
        }
    }

    /// {@return the number of other files that this one references}
    public int baseCount() {
        return count(SectionType.BASE);
    }

    /// {@return another file in which bytes of this one are}
    ///
    /// @param number its number; [ExtentRecord#base] is one more
    public BaseRecord base(int number) {
        check(SectionType.BASE, number);
        rules.checkBases();
        return index.base(number);
    }

    /// {@return the length of the longest chain of `.croft` files that the snapshot needs: 0 if it has no CROFT bases,
    /// else one more than the greatest depth among them}
    public int depth() {
        int depth = 0;
        for (int number = 0; number < baseCount(); number++) {
            BaseRecord base = base(number);
            depth = base.kind() == BaseKind.CROFT ? Math.max(depth, base.depth() + 1) : depth;
        }
        return depth;
    }

    /// {@return the number of ranges of the file that are declared free}
    public int freeRangeCount() {
        return count(SectionType.FREE);
    }

    /// {@return a range of the file that no snapshot uses}
    ///
    /// @param number its number; they ascend
    public FreeRange freeRange(int number) {
        rules.checkFreeRange(check(SectionType.FREE, number));
        return index.freeRange(number);
    }

    /// {@return the number of tensors}
    public int tensorCount() {
        return count(SectionType.TENS);
    }

    /// {@return a tensor}
    ///
    /// @param number its number
    public TensorRecord tensor(int number) {
        rules.checkTensor(check(SectionType.TENS, number));
        return index.tensor(number);
    }

    /// {@return the number of the name that a tensor is shown by, or -1 if it has none}
    ///
    /// @param tensor the tensor
    public int nameOfTensor(int tensor) {
        rules.checkTensor(check(SectionType.TENS, tensor));
        long name = index.nameOfTensor(tensor);
        return name == Index.NONE ? -1 : (int) name;
    }

    /// {@return the number of element types}
    public int dtypeCount() {
        return count(SectionType.DTYP);
    }

    /// {@return an element type}
    ///
    /// @param number its number
    public DTypeRecord dtype(int number) {
        rules.checkDType(check(SectionType.DTYP, number));
        return index.dtype(number);
    }

    /// {@return the number of names; a tensor may have none or several}
    public int nameCount() {
        return count(SectionType.NAMS);
    }

    /// {@return a name; names are numbered in the order of their UTF-8 bytes}
    ///
    /// @param number its number
    public String name(int number) {
        rules.checkName(check(SectionType.NAMS, number));
        return index.name(number);
    }

    /// {@return the number of the tensor that has a name}
    ///
    /// @param name the number of the name
    public int tensorOfName(int name) {
        rules.checkName(check(SectionType.NAMS, name));
        return index.tensorOfName(name);
    }

    /// {@return the number of the tensor with this name, or -1 if there is none} A binary search in place; in a file
    /// whose writer sorted the names wrongly, which [Verifier] reports, it may miss one.
    ///
    /// @param name the whole name
    public int findTensor(String name) {
        int place = findName(name, -1);
        return place < 0 ? -1 : index.tensorOfName(place);
    }

    /// Finds a name, like [#findTensor].
    ///
    /// @param name the whole name
    /// @param guess a number that it may have; any number. Names are often looked up in their order, and the number
    ///     after that of the name before is then found without a search
    /// @return the number of the name in the order of the names, or -1
    public int findName(String name, int guess) {
        MemorySegment wanted = MemorySegment.ofArray(StrictUtf8.encode(name));
        if (guess >= 0 && guess < nameCount() && isName(guess, wanted)) {
            return guess;
        }
        int low = 0;
        int high = nameCount() - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            rules.checkName(middle);
            int order = index.compareName(middle, wanted);
            if (order == 0) {
                return middle;
            }
            low = order < 0 ? middle + 1 : low;
            high = order < 0 ? high : middle - 1;
        }
        return -1;
    }

    /// A damaged name matches nothing here: a search for another name may not come across it.
    private boolean isName(int place, MemorySegment wanted) {
        try {
            rules.checkName(place);
            return index.compareName(place, wanted) == 0;
        } catch (FormatException _) {
            return false;
        }
    }

    /// {@return the sections of the index unknown to this version, in their order}
    public List<UnknownSection> unknownSections() {
        return index.unknownSections();
    }

    /// {@return a reader at the start of the state tree}
    public StateTreeReader tree() {
        return rules.state();
    }

    /// {@return the metadata, sorted by key}
    public Map<String, String> metadata() {
        StateTreeReader reader = rules.metadata();
        Map<String, String> metadata = new LinkedHashMap<>();
        reader.next();
        while (reader.next() == StateToken.STRING) {
            String key = reader.text();
            reader.next();
            metadata.put(key, reader.text());
        }
        return Collections.unmodifiableMap(metadata);
    }

    /// {@return its tables}
    public Index index() {
        return index;
    }

    /// {@return of each table of the index the first fault}
    List<FormatException> faults() {
        return IndexRules.faults(index, rules, commit);
    }

    private int count(SectionType type) {
        return (int) index.count(type);
    }

    private int check(SectionType type, int number) {
        if (number < 0 || number >= index.count(type)) {
            throw new IndexOutOfBoundsException("record " + number + " of " + index.count(type) + " in " + type);
        }
        return number;
    }
}
