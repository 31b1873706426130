package io.undercroft.format.dump;

import io.undercroft.format.FormatException;
import io.undercroft.format.dump.FormatDump.Line;
import io.undercroft.format.dump.FormatDump.Part;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.Coding;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.StateToken;
import io.undercroft.format.internal.StateTreeReader;
import io.undercroft.format.internal.StorageRecord;
import io.undercroft.format.internal.TensorRecord;
import io.undercroft.format.internal.index.Field;
import io.undercroft.format.internal.index.Index;
import io.undercroft.format.internal.index.LittleEndian;
import io.undercroft.format.internal.index.RecordLayout;
import io.undercroft.format.internal.index.Records.CodingFields;
import io.undercroft.format.internal.index.Records.CommitFields;
import io.undercroft.format.internal.index.Records.SectionFields;
import io.undercroft.format.internal.index.Records.DirectoryFields;
import io.undercroft.format.internal.index.Records.HeaderFields;
import io.undercroft.format.internal.index.Records;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// Describes the bytes of a `.croft` file: the header, the commit records, the index of a snapshot, and the first bytes
/// of its extents. A damaged file is described as far as its parts can be found.
public final class FileDump {
    /// The header, the commit records, the directory of the index, and the bytes of storages. The sections of the index
    /// come between the last two, by their codes in lower case.
    private static final String HEADER = "header";
    private static final String COMMITS = "commits";
    private static final String DIRECTORY = "directory";
    private static final String EXTENTS = "extents";

    private final MemorySegment file;
    private final FieldLines lines;
    private final Predicate<String> sections;
    private final long limit;
    private final Consumer<Part> parts;

    private FileDump(MemorySegment file, Predicate<String> sections, long limit, Consumer<Part> parts) {
        this.file = file;
        this.lines = new FieldLines(file);
        this.sections = sections;
        this.limit = limit;
        this.parts = parts;
    }

    /// {@return the names of sections, in the order of the file}
    public static List<String> sections() {
        return Stream.of(Stream.of(HEADER, COMMITS, DIRECTORY), Arrays.stream(SectionType.values()).map(FileDump::name),
                Stream.of(EXTENTS)).flatMap(names -> names).toList();
    }

    /// Describes a file.
    ///
    /// @param file all of its bytes
    /// @param sections the [sections][#sections] to describe
    /// @param limit the maximum number of records of each section
    /// @param at the number of the snapshot whose index is described; empty for the newest
    /// @param parts the consumer of the parts
    /// @return the fault of the file, if parts could not be found because of damage
    /// @throws FormatException if the file is not a `.croft` file
    /// @throws NoSuchElementException if there is no snapshot with this number; then there are no parts
    public static Optional<FormatException> of(MemorySegment file, Predicate<String> sections, long limit,
            OptionalLong at, Consumer<Part> parts) {
        if (!matches(file)) {
            // This says what is there instead of the signature.
            Snapshot _ = open(file, at);
        }
        return new FileDump(file, sections, limit, parts).describe(at);
    }

    /// {@return whether a file is a `.croft` file, by its first bytes}
    ///
    /// @param file all of its bytes
    public static boolean matches(MemorySegment file) {
        return Header.isSignature(file);
    }

    /// Checks that an intact file has a snapshot of a number. Does nothing for a damaged file, whose fault [#of]
    /// returns.
    ///
    /// @param file all of its bytes
    /// @param at the number
    /// @throws NoSuchElementException if there is no snapshot with this number
    public static void requireSnapshot(MemorySegment file, long at) {
        try {
            Snapshot _ = open(file, OptionalLong.of(at));
        } catch (FormatException _) {
            // Parts of the file can be described.
        }
    }

    private static Snapshot open(MemorySegment file, OptionalLong at) {
        try {
            Snapshot newest = Snapshot.open(ByteSource.of(file), Limits.DEFAULT);
            return at.isPresent() ? newest.openAt(at.getAsLong()) : newest;
        } catch (IOException e) {
            throw new IllegalStateException("bytes in memory are read", e);
        }
    }

    private Optional<FormatException> describe(OptionalLong at) {
        Snapshot snapshot = null;
        FormatException fault = null;
        try {
            snapshot = open(file, at);
        } catch (FormatException e) {
            fault = e;
        }
        add(HEADER, "header", 0, HeaderFields.RECORD, () -> Header.decode(file.asSlice(0, FileLayout.HEADER_BYTES)));
        addCommits();
        try {
            if (snapshot != null) {
                addSnapshot(snapshot, at.isPresent());
            }
        } catch (FormatException e) {
            fault = e;
        }
        return Optional.ofNullable(fault);
    }

    // ---- commit records

    private void addCommits() {
        if (!lines.has(0, FileLayout.HEADER_BYTES)) {
            return;
        }
        boolean isSealed = (HeaderFields.READ_ONLY.get(file, 0) & Header.SEALED) != 0;
        long slots = HeaderFields.SLOTS.get(file, 0);
        addCommit(isSealed ? file.byteSize() - FileLayout.COMMIT_BYTES : FileLayout.FIRST_COMMIT,
                isSealed ? "commit record at the end" : "commit record of the first snapshot");
        if (!isSealed && slots > 0 && slots <= file.byteSize() - FileLayout.SLOTS_BYTES) {
            addCommit(slots, "commit slot 0");
            addCommit(slots + FileLayout.PAGE, "commit slot 1");
        }
    }

    private void addCommit(long offset, String title) {
        if (!lines.has(offset, FileLayout.COMMIT_BYTES)) {
            return;
        }
        MemorySegment record = file.asSlice(offset, FileLayout.COMMIT_BYTES);
        if (LittleEndian.isZero(record, 0, record.byteSize())) {
            put(COMMITS, title + ", empty", offset, record.byteSize(), List.of(), null);
        } else {
            add(COMMITS, title + ", snapshot " + CommitFields.SEQUENCE.get(record, 0), offset, CommitFields.RECORD,
                    () -> CommitRecord.decode(record, offset));
        }
    }

    // ---- the index

    private void addSnapshot(Snapshot snapshot, boolean isChosen) {
        CommitRecord commit = snapshot.commit();
        if (isChosen) {
            addCommit(snapshot.place(), "chosen record");
        }
        if (commit.sequence() > 1) {
            addCommit(commit.previousRecord(), "parent record");
        }
        Index index = snapshot.index();
        long start = commit.indexOffset();
        MemorySegment bytes = index.bytes();
        long end = Records.directory(bytes).byteSize();
        add(DIRECTORY, "head of the index of snapshot " + commit.sequence(), start, DirectoryFields.RECORD, () -> {});
        for (long entry = Index.HEAD_BYTES; entry < end; entry += Index.ENTRY_BYTES) {
            add(DIRECTORY, "entry of " + code(bytes, entry), start + entry, SectionFields.RECORD, () -> {});
        }
        long done = end;
        for (long entry = Index.HEAD_BYTES; entry < end; entry += Index.ENTRY_BYTES) {
            long section = SectionFields.OFFSET.get(bytes, entry);
            addPadding(start + done, section - done);
            done = section + SectionFields.LENGTH.get(bytes, entry);
            SectionType type = SectionType.of(SectionFields.SECTION.getInt(bytes, entry));
            if (type == null) {
                addRows(DIRECTORY, "unknown section " + code(bytes, entry), "unknown", start + section, done - section);
            } else if (sections.test(name(type)) && index.count(type) > 0) {
                addSection(snapshot, type);
            }
        }
        addPadding(start + done, bytes.byteSize() - done);
        if (sections.test(EXTENTS)) {
            addExtents(snapshot);
        }
    }

    private static String code(MemorySegment index, long entry) {
        return FieldLines.ascii(index.asSlice(entry, SectionFields.SECTION.size()));
    }

    private void addPadding(long offset, long length) {
        if (length > 0) {
            addRows(DIRECTORY, "padding", "padding", offset, length);
        }
    }

    private void addSection(Snapshot snapshot, SectionType type) {
        Index index = snapshot.index();
        long start = index.fileOffset(type, 0);
        switch (type) {
            case TREE, META -> addTree(type, start, index);
            case STRB -> addRows(name(type), type.toString(), "text", start, index.count(type));
            case DIMS, ISUM -> addNumbers(type, start, index.count(type));
            default -> {
                for (int number = 0; number < Math.min(limit, index.count(type)); number++) {
                    int record = number;
                    long offset = start + (long) number * index.recordSize(type);
                    String title = "%s %s".formatted(type, number);
                    String meaning = "";
                    FormatException fault = null;
                    try {
                        meaning = meaning(snapshot, type, record);
                    } catch (FormatException e) {
                        fault = e;
                    }
                    put(name(type), meaning.isEmpty() ? title : title + ", " + meaning, offset, index.recordSize(type),
                            lines.of(type.record(), offset, index.recordSize(type)), fault,
                            number + 1 == limit ? index.count(type) - limit : 0);
                }
            }
        }
    }

    /// Returns the meaning of a record together with the records that it refers to.
    private static String meaning(Snapshot snapshot, SectionType type, int number) {
        return switch (type) {
            case EXTN -> {
                ExtentRecord extent = snapshot.extent(number);
                yield extent.kind() + (extent.isShared() ? ", shared" : "") + meaning(snapshot, extent);
            }
            case STOR -> {
                StorageRecord storage = snapshot.storage(number);
                yield "%s extent%s, %s".formatted(storage.extentCount(), storage.extentCount() == 1 ? "" : "s",
                        storage.device());
            }
            case TENS -> {
                TensorRecord tensor = snapshot.tensor(number);
                int name = snapshot.nameOfTensor(number);
                yield "%s%s %s".formatted(name < 0 ? "" : FormatException.quote(snapshot.name(name)) + ", ",
                        snapshot.dtype(tensor.dtype()).name(), Arrays.toString(tensor.shape()));
            }
            case NAMS -> FormatException.quote(snapshot.name(number));
            case DTYP -> snapshot.dtype(number).name();
            case BASE -> FormatException.quote(snapshot.base(number).path());
            case CODE -> {
                Index index = snapshot.index();
                long extent = CodingFields.EXTENT.get(index.bytes(),
                        index.fileOffset(type, number) - index.fileOffset());
                yield "extent " + extent + (extent < snapshot.extentCount()
                        ? meaning(snapshot, snapshot.extent((int) extent))
                        : ", which is not there");
            }
            default -> "";
        };
    }

    /// Returns how an extent is coded, and where its reference is.
    private static String meaning(Snapshot snapshot, ExtentRecord extent) {
        Coding coding = extent.coding();
        if (coding == null) {
            return "";
        }
        String planes = ", %s bytes in planes of elements of %s".formatted(extent.length(), coding.width());
        return coding.hasReference()
                ? "%s, combined with those from %s on in %s".formatted(planes, coding.referenceOffset(),
                        coding.referenceBase() == ExtentRecord.THIS_FILE
                                ? "this file"
                                : FormatException.quote(snapshot.base(coding.referenceBase() - 1).path()))
                : planes;
    }

    private void addTree(SectionType type, long start, Index index) {
        long length = index.count(type);
        MemorySegment section;
        try {
            section = index.section(type);
        } catch (FormatException e) {
            put(name(type), type.toString(), start, length, List.of(), e);
            return;
        }
        TreeLines tokens = new TreeLines(section, start);
        put(name(type), type + part(tokens.end, length), start, length, tokens, tokens.fault);
    }

    /// The tokens of a tree, which are read again for each iteration: there may be a million.
    private final class TreeLines implements Iterable<Line> {
        private final MemorySegment section;
        private final long start;
        private final long count;
        private final long end;
        private final @Nullable FormatException fault;

        /// Counts the tokens up to the limit, or up to the first that is damaged.
        TreeLines(MemorySegment section, long start) {
            this.section = section;
            this.start = start;
            StateTreeReader reader = reader();
            FormatException damage = null;
            long found = 0;
            long last = 0;
            try {
                while (found < limit && next(reader) != StateToken.DONE) {
                    last = reader.end();
                    found++;
                }
            } catch (FormatException e) {
                damage = e;
            }
            this.count = found;
            this.end = last;
            this.fault = damage;
        }

        private StateTreeReader reader() {
            return new StateTreeReader(section, Limits.DEFAULT, 0);
        }

        /// Returns the next token that has bytes, or the end of the tree.
        private static StateToken next(StateTreeReader reader) {
            StateToken token = reader.next();
            while (token != StateToken.DONE && reader.end() == reader.offset()) {
                token = reader.next();
            }
            return token;
        }

        @Override
        public Iterator<Line> iterator() {
            StateTreeReader reader = reader();
            return Stream.generate(() -> line(next(reader), reader)).limit(count).iterator();
        }

        private Line line(StateToken token, StateTreeReader reader) {
            long from = start + reader.offset();
            return new Line(from, file.asSlice(from, reader.end() - reader.offset()), token.name(),
                    meaning(token, reader));
        }
    }

    private static String meaning(StateToken token, StateTreeReader reader) {
        return switch (token) {
            case STRING, DEVICE, SYMBOL -> FormatException.quote(reader.text());
            case BOOLEAN -> Boolean.toString(reader.booleanValue());
            case INTEGER, INT8, INT16, INT32 -> Long.toString(reader.longValue());
            case FLOAT32 -> Float.toString(reader.floatValue());
            case FLOAT -> Double.toString(reader.doubleValue());
            case LIST, TUPLE, MAP, SET -> "of " + reader.count();
            case TENSOR -> "number " + reader.index();
            default -> "";
        };
    }

    private void addRows(String section, String title, String name, long start, long length) {
        long shown = Math.min(length, limit * FieldLines.ROW);
        put(section, title + part(shown, length), start, length, lines.rows(name, start, shown), null);
    }

    /// Adds the records of a section that have one field.
    private void addNumbers(SectionType type, long start, long count) {
        Field field = type.record().fields().getFirst();
        long shown = Math.min(count, limit);
        Iterable<Line> numbers = () -> LongStream.range(0, shown)
                .mapToObj(number -> lines.line(field, start + number * field.size())).iterator();
        put(name(type), type.toString(), start, count * field.size(), numbers, null, count - shown);
    }

    /// {@return what a title says of bytes of which only the first are shown}
    static String part(long shown, long length) {
        return shown < length ? ", the first %s of its %s bytes".formatted(shown, length) : "";
    }

    private void addExtents(Snapshot snapshot) {
        long count = 0;
        for (int storage = 0; storage < snapshot.storageCount(); storage++) {
            StorageRecord record = snapshot.storage(storage);
            for (int i = 0; i < record.extentCount(); i++) {
                ExtentRecord extent = snapshot.extent(record.firstExtent() + i);
                if (extent.base() == ExtentRecord.THIS_FILE && extent.kind() != ExtentKind.ZERO
                        && lines.has(extent.fileOffset(), extent.storedLength()) && ++count <= limit) {
                    MemorySegment start = file.asSlice(extent.fileOffset(),
                            Math.min(FieldLines.ROW, extent.storedLength()));
                    put(EXTENTS, "extent %s, part %s of storage %s".formatted(record.firstExtent() + i, i, storage),
                            extent.fileOffset(), extent.storedLength(),
                            List.of(new Line(extent.fileOffset(), start, "bytes", "")), null,
                            count == limit ? snapshot.extentCount() - (long) record.firstExtent() - i - 1 : 0);
                }
            }
            if (count >= limit) {
                return;
            }
        }
    }

    // ---- fields

    /// Adds a record that may be truncated or damaged.
    private void add(String section, String title, long offset, RecordLayout layout, Runnable check) {
        if (!sections.test(section)) {
            return;
        }
        FormatException fault = null;
        try {
            if (lines.has(offset, layout.size())) {
                check.run();
            }
        } catch (FormatException e) {
            fault = e;
        }
        put(section, title, offset, layout.size(), lines.of(layout, offset, layout.size()), fault);
    }

    private static String name(SectionType type) {
        return type.name().toLowerCase(Locale.ROOT);
    }

    private void put(String section, String title, long offset, long nbytes, Iterable<Line> shown,
            @Nullable FormatException fault) {
        put(section, title, offset, nbytes, shown, fault, 0);
    }

    private void put(String section, String title, long offset, long nbytes, Iterable<Line> shown,
            @Nullable FormatException fault, long omitted) {
        if (sections.test(section)) {
            parts.accept(new Part(section, title, offset, nbytes, shown, omitted, fault));
        }
    }
}
