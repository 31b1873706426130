package io.undercroft.interop.internal;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.FileReadException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.ProgressListener;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.spi.FileStorages;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.SequencedCollection;
import java.util.SequencedMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/// The directory of a zip archive, with the offset of the bytes of each record.
///
/// The JDK's reader does not report the offset of the bytes of a record, and others refuse the local Zip64 fields that
/// PyTorch writes. This one uses the central directory only: of a local header it reads only the lengths that lead to
/// the data. An archive that two readers could understand in two ways is refused: records that overlap, two records of
/// one name, a local header of another name, sizes that disagree.
///
/// Immutable and safe for any thread.
public final class ZipDirectory {
    /// The first bytes of an archive that has a record.
    private static final int LOCAL_HEADER = 0x04034b50;
    private static final int ENTRY = 0x02014b50;
    private static final int END = 0x06054b50;
    private static final int ZIP64_LOCATOR = 0x07064b50;
    private static final int ZIP64_END = 0x06064b50;

    private static final int LOCAL_HEADER_SIZE = 30;
    private static final int ENTRY_SIZE = 46;
    private static final int END_SIZE = 22;
    private static final int ZIP64_LOCATOR_SIZE = 20;
    private static final int ZIP64_END_SIZE = 56;
    /// The number of bytes at the end of a file in which Python looks for the end record.
    private static final int LONGEST_REST = 1 << 16;
    private static final long LARGEST_DIRECTORY = 1L << 30;
    private static final long ALIGNMENT = 64;
    /// The size of a record, in bytes, of which several fit into the buffer of a reader.
    private static final long SMALL = 1 << 10;

    private static final int FLAG_ENCRYPTED = 0x0001;
    private static final int FLAG_PATCH = 0x0020;
    private static final int FLAG_STRONG_ENCRYPTION = 0x0040;
    private static final int FLAG_HIDDEN_HEADERS = 0x2000;
    private static final int ZIP64_FIELD = 0x0001;
    /// Deflate encodes at most 258 bytes in 2 bits.
    private static final long BEST_RATIO = 1032;

    private static final String DAMAGED = "The archive is incomplete, damaged or malicious; get it again from "
            + "its source";

    private static final ByteReader.Limits LIMITS = (_, position, left) -> damaged("ZIP-END",
            "the archive ends too early", position + left);

    private final MappedFile file;
    private final SequencedMap<String, ZipRecord> records;
    /// The end of the comment, which is the end of the archive.
    private final long end;

    private ZipDirectory(MappedFile file, SequencedMap<String, ZipRecord> records, long end) {
        this.file = file;
        this.records = records;
        this.end = end;
    }

    /// {@return the name of the record that an archive starts with, from its local header; nothing if the file does not
    /// start as a zip archive does}
    ///
    /// @param file any file
    /// @throws IOException if reading fails
    public static Optional<String> firstName(MappedFile file) throws IOException {
        if (file.size() < LOCAL_HEADER_SIZE) {
            return Optional.empty();
        }
        ByteReader in = reader(file, 0, LOCAL_HEADER_SIZE);
        int signature = in.i32();
        int length = in.at(26).u16();
        return signature == LOCAL_HEADER && length <= file.size() - LOCAL_HEADER_SIZE
                ? Optional.of(new String(ByteReader.bytes(file, LOCAL_HEADER_SIZE, length), UTF_8))
                : Optional.empty();
    }

    private static ByteReader reader(MappedFile file, long start, long end) {
        return new ByteReader(file, start, end, LIMITS);
    }

    private static String text(ByteReader in, int length) throws IOException {
        return new String(in.bytes(length), UTF_8);
    }

    /// {@return whether a file is a zip archive without records}
    ///
    /// @param file any file
    /// @throws IOException if reading fails
    public static boolean isEmpty(MappedFile file) throws IOException {
        return file.size() >= END_SIZE && reader(file, 0, END_SIZE).i32() == END;
    }

    /// {@return whether the bytes of a file up to an offset end as an archive without a comment does}
    ///
    /// @param file any file
    /// @param offset up to the size of the file
    /// @throws IOException if reading fails
    public static boolean endsAt(MappedFile file, long offset) throws IOException {
        return offset >= END_SIZE && reader(file, offset - END_SIZE, offset).i32() == END;
    }

    /// Reads the directory of an archive. Other bytes may be before it, and up to 64 KiB behind it: Python and PyTorch
    /// read such files, and take the last end record in them.
    ///
    /// @param file the file; the directory keeps using it
    /// @return its directory
    /// @throws IOException if reading fails
    /// @throws FormatException if the file is no zip archive, damaged, or uses what this reader does not support
    public static ZipDirectory read(MappedFile file) throws IOException {
        return read(End.find(file, file.size()), file);
    }

    private static ZipDirectory read(End end, MappedFile file) throws IOException {
        return new ZipDirectory(file, byName(bounded(entries(file, end), end), end), end.end);
    }

    /// Reads the directory of an archive that is a part of a file, with nothing before and behind it.
    ///
    /// @param file the file; the directory keeps using it
    /// @param start where the archive starts
    /// @param stop where it ends; not past the end of the file
    /// @return its directory
    /// @throws IOException if reading fails
    /// @throws FormatException as [#read(MappedFile)], or if it is not this part of the file
    public static ZipDirectory read(MappedFile file, long start, long stop) throws IOException {
        if (stop - start < END_SIZE || !endsAt(file, stop)) {
            throw damaged("ZIP-END", "no zip archive ends at byte " + stop, stop);
        }
        ZipDirectory read = read(End.find(file, stop), file);
        if (read.before() != start || read.end != stop) {
            throw damaged("ZIP-END", "the zip archive that ends at byte " + stop + " is from byte " + read.before()
                    + " to byte " + read.end + ", and not from byte " + start, start);
        }
        return read;
    }

    /// Reads the directory of an archive, as [#read], in which every record has a checksum. Elsewhere a checksum of 0
    /// is none: PyTorch has an option to compute none, and then writes 0.
    ///
    /// @param file the file; the directory keeps using it
    /// @return its directory
    /// @throws IOException if reading fails
    /// @throws FormatException as [#read]
    public static ZipDirectory readWithChecksums(MappedFile file) throws IOException {
        ZipDirectory read = read(file);
        SequencedMap<String, ZipRecord> records = new LinkedHashMap<>(read.records);
        records.replaceAll((_, record) -> record.withCrc());
        return new ZipDirectory(file, records, read.end);
    }

    /// {@return the name of the file}
    public String file() {
        return file.location();
    }

    /// {@return all records, in the order of the directory}
    public SequencedCollection<ZipRecord> records() {
        return records.sequencedValues();
    }

    /// {@return the record of that name, or nothing}
    ///
    /// @param name its path in the archive
    public Optional<ZipRecord> find(String name) {
        return Optional.ofNullable(records.get(name));
    }

    /// Computes the offset of the bytes of a record, from its local header.
    ///
    /// @param record a record of this directory
    /// @return the offset in the file of the first byte; all `compressedSize` bytes are inside the archive
    /// @throws IOException if reading fails
    /// @throws FormatException if the local header is damaged or contradicts the directory
    public long dataOffset(ZipRecord record) throws IOException {
        return dataOffset(record, reader(file, record.header(), record.limit()));
    }

    /// Fetches the local headers of all records of a file in a store, with several requests at a time. Does nothing for
    /// a file of the host.
    ///
    /// @throws IOException if reading fails
    public void fetchHeaders() throws IOException {
        if (file.source().isPresent()) {
            MappedFile.fetch(records.values().stream()
                    .map(record -> file.piece(record.header(), LOCAL_HEADER_SIZE + record.name().length())).toList());
        }
    }

    /// {@return a reader for the headers of several records} Belongs to one thread.
    public ByteReader headers() {
        return reader(file, 0, file.size());
    }

    /// Computes the offset of the bytes of a record, as [#dataOffset(ZipRecord)].
    ///
    /// @param record a record of this directory
    /// @param headers reads this header, and those of small records after it
    /// @return as [#dataOffset(ZipRecord)]
    /// @throws IOException if reading fails
    /// @throws FormatException if the local header is damaged or contradicts the directory
    public long dataOffset(ZipRecord record, ByteReader headers) throws IOException {
        byte[] name = record.name().getBytes(UTF_8);
        if (name.length > record.limit() - LOCAL_HEADER_SIZE - record.header()) {
            throw overlapping(record);
        }
        long start = record.header();
        ByteReader in = headers.at(start);
        if (record.limit() - start > SMALL) {
            in.ahead(LOCAL_HEADER_SIZE + name.length);
        }
        if (in.i32() != LOCAL_HEADER || in.at(start + 8).u16() != record.method()
                || in.at(start + 26).u16() != name.length
                || !text(in.at(start + LOCAL_HEADER_SIZE), name.length).equals(record.name())) {
            throw damaged("ZIP-HEADER", "the header of record " + quote(record) + " contradicts the directory", start);
        }
        long data = start + LOCAL_HEADER_SIZE + name.length + in.at(start + 28).u16();
        if (data > record.limit() - record.compressedSize()) {
            throw overlapping(record);
        }
        return data;
    }

    /// Reads a record into memory, inflating it if it is compressed, and compares its checksum.
    ///
    /// @param record a record of this directory
    /// @param arena owns the memory
    /// @return the `size` uncompressed bytes
    /// @throws IOException if reading fails
    /// @throws FormatException if the record is damaged
    public MemorySegment read(ZipRecord record, Arena arena) throws IOException {
        MemorySegment bytes = arena.allocate(record.size(), ALIGNMENT);
        stream(record).read(0, bytes);
        return bytes;
    }

    /// Finds the bytes of a record.
    ///
    /// @param record a record of this directory
    /// @return the reader of these bytes
    /// @throws IOException if reading fails
    /// @throws FormatException if the local header is damaged or contradicts the directory
    public ZipStream stream(ZipRecord record) throws IOException {
        return new ZipStream(file, record, dataOffset(record));
    }

    /// {@return the checksum of a stored record whose bytes after the first ones are a storage; null if it has none}
    ///
    /// @param record a stored record of this directory
    /// @param skipped the number of bytes before the storage
    public FileStorages.@Nullable Checksum checksum(ZipRecord record, int skipped) {
        if (!record.hasCrc()) {
            return null;
        }
        return new FileStorages.Checksum() {
            @Override
            public void check() throws IOException {
                stream(record).check();
            }

            @Override
            public byte[] before() throws IOException {
                return stream(record).first(skipped);
            }

            @Override
            public int crc32() {
                return record.crc();
            }
        };
    }

    /// Reads all records, and compares the checksums of those that have one.
    ///
    /// @param listener called with the number of bytes that were read, last with all, damaged or not
    /// @param pulse run after each read; what it throws ends the work
    /// @return the damage
    /// @throws IOException if reading fails
    public List<Damage> damages(ProgressListener listener, Runnable pulse) throws IOException {
        List<Damage> damages = new ArrayList<>();
        // Of a damaged archive the sum may be anything.
        long total = records.values().stream().mapToLong(ZipRecord::size)
                .reduce(0, (sum, size) -> sum + Math.min(size, Long.MAX_VALUE - sum));
        long[] done = new long[1];
        listener.onProgress(0, total);
        for (ZipRecord record : records()) {
            try {
                stream(record).check(nbytes -> {
                    done[0] += nbytes;
                    listener.onProgress(done[0], total);
                    pulse.run();
                });
            } catch (FormatException e) {
                damages.add(Damage.of("record " + record.name(), record.compressedSize(), e));
            } catch (FileReadException e) {
                damages.add(Damage.unread("record " + record.name(), e.offset(), record.compressedSize()));
            }
        }
        listener.onProgress(total, total);
        return damages;
    }

    /// {@return the records that have bytes and no checksum} They cannot be verified.
    public List<ZipRecord> unverified() {
        List<ZipRecord> unverified = new ArrayList<>();
        for (ZipRecord record : records.values()) {
            if (record.size() > 0 && !record.hasCrc()) {
                unverified.add(record);
            }
        }
        return unverified;
    }

    /// {@return the number of bytes before the first record}
    public long before() {
        long first = Long.MAX_VALUE;
        for (ZipRecord record : records.values()) {
            first = Math.min(first, record.header());
        }
        return records.isEmpty() ? 0 : first;
    }

    /// {@return the parts of the file that a state does not refer to: bytes before and behind the archive, and records}
    ///
    /// @param isKnown whether a record belongs to the state
    public List<UnreadPart> besides(Predicate<ZipRecord> isKnown) {
        List<UnreadPart> parts = new ArrayList<>();
        if (before() != 0) {
            parts.add(new UnreadPart(Kind.BYTES, "what is before the archive", 0, before()));
        }
        UnreadParts others = new UnreadParts("record");
        for (ZipRecord record : records.values()) {
            if (!isFolder(record) && !isKnown.test(record)) {
                others.add(record.name(), record.header(), record.compressedSize());
            }
        }
        others.part().ifPresent(parts::add);
        if (end < file.size()) {
            parts.add(new UnreadPart(Kind.BYTES, "what is behind the archive", end, file.size() - end));
        }
        return parts;
    }

    private static boolean isFolder(ZipRecord record) {
        return record.name().endsWith("/") && record.size() == 0;
    }

    private static List<ZipRecord> entries(MappedFile file, End end) throws IOException {
        List<ZipRecord> entries = new ArrayList<>();
        ByteReader in = reader(file, end.directory, end.directory + end.directorySize);
        while (in.remaining() > 0) {
            long position = in.position();
            if (in.remaining() < ENTRY_SIZE || in.i32() != ENTRY) {
                throw damaged("ZIP-DIRECTORY", "no directory entry where one is due", position);
            }
            Entry entry = new Entry(in, position, end.base);
            entries.add(entry.toRecord());
            in.at(position + entry.length);
        }
        if (entries.size() != end.count) {
            throw damaged("ZIP-DIRECTORY",
                    "the directory has " + entries.size() + " entries and not " + end.count + " as declared",
                    end.directory);
        }
        return entries;
    }

    /// Adds to each record the offset of the next one, and refuses records that overlap.
    private static List<ZipRecord> bounded(List<ZipRecord> entries, End end) {
        List<ZipRecord> sorted = new ArrayList<>(entries);
        sorted.sort((one, other) -> Long.compare(one.header(), other.header()));
        LinkedHashMap<Long, Long> next = new LinkedHashMap<>();
        for (int i = 0; i < sorted.size(); i++) {
            ZipRecord record = sorted.get(i);
            long limit = i + 1 < sorted.size() ? sorted.get(i + 1).header() : end.directory;
            if (record.header() > limit - LOCAL_HEADER_SIZE
                    || record.compressedSize() > limit - LOCAL_HEADER_SIZE - record.header()) {
                throw overlapping(record);
            }
            next.put(record.header(), limit);
        }
        entries.replaceAll(record -> record.endingAt(next.getOrDefault(record.header(), end.directory)));
        return entries;
    }

    private static SequencedMap<String, ZipRecord> byName(List<ZipRecord> entries, End end) {
        LinkedHashMap<String, ZipRecord> records = LinkedHashMap.newLinkedHashMap(entries.size());
        for (ZipRecord record : entries) {
            if (records.put(record.name(), record) != null) {
                throw damaged("ZIP-DUPLICATE", "there are two records named " + quote(record), end.directory);
            }
        }
        return records;
    }

    private static FormatException overlapping(ZipRecord record) {
        return damaged("ZIP-OVERLAP", "record " + quote(record) + " reaches into what follows it", record.header());
    }

    private static String quote(ZipRecord record) {
        return FormatException.quote(record.name());
    }

    static FormatException damaged(String code, String what, long offset) {
        return new FormatException(code, what, offset, DAMAGED);
    }

    /// The end record: the offset of the directory and its size.
    ///
    /// @param directory offset of the directory in the file
    /// @param directorySize bytes in it
    /// @param count entries in it
    /// @param base the offset of the archive in the file: its offsets count from there
    /// @param end where the comment ends that follows the record
    private record End(long directory, long directorySize, long count, long base, long end) {
        /// @param limit where the archive ends, or bytes end that may be behind it
        static End find(MappedFile file, long limit) throws IOException {
            // Few archives have a comment or anything else after the end record.
            End end = tail(file, limit, Math.min(limit, END_SIZE));
            end = end == null ? tail(file, limit, Math.min(limit, END_SIZE + LONGEST_REST)) : end;
            if (end == null) {
                throw damaged("ZIP-END", "the end of the zip directory is missing", FormatException.NO_OFFSET);
            }
            return end;
        }

        private static @Nullable End tail(MappedFile file, long limit, long tailSize) throws IOException {
            long tailStart = limit - tailSize;
            ByteReader tail = new ByteReader(
                    MemorySegment.ofArray(ByteReader.bytes(file, tailStart, (int) tailSize)), LIMITS);
            for (long at = tailSize - END_SIZE; at >= 0; at--) {
                // These four bytes may be in a comment, too.
                if (tail.at(at).i32() == END && (at + END_SIZE + tail.at(at + 20).u16() == tailSize
                        || isBehindDirectory(file, tail.at(at + 12).u32(), tailStart + at))) {
                    return read(file, limit, tail, at, tailStart + at);
                }
            }
            return null;
        }

        /// {@return whether a directory of a size, or the locator of a Zip64 record, ends where an end record starts}
        private static boolean isBehindDirectory(MappedFile file, long size, long position) throws IOException {
            return size == 0 || isAt(file, position - ZIP64_LOCATOR_SIZE, position, ZIP64_LOCATOR)
                    || isAt(file, position - size, position, ENTRY);
        }

        private static boolean isAt(MappedFile file, long start, long end, int signature) throws IOException {
            return start >= 0 && end - start >= Integer.BYTES && reader(file, start, end).i32() == signature;
        }

        private static End read(MappedFile file, long limit, ByteReader tail, long at, long position)
                throws IOException {
            long end = Math.min(limit, position + END_SIZE + tail.at(at + 20).u16());
            End plain = new End(tail.at(at + 16).u32(), tail.at(at + 12).u32(), tail.at(at + 10).u16(), 0, end);
            int disk = tail.at(at + 4).u16();
            if (disk != 0 && disk != 0xFFFF) {
                throw damaged("ZIP-DISKS", "the archive is one part of several", position);
            }
            long locator = position - ZIP64_LOCATOR_SIZE;
            if (locator >= 0) {
                ByteReader in = reader(file, locator, position);
                if (in.i32() == ZIP64_LOCATOR) {
                    return zip64(file, plain, in.at(locator + 8).i64(), locator);
                }
            }
            return plain.checkedBefore(position);
        }

        /// @param said the recorded offset of the record, from the start of the archive
        private static End zip64(MappedFile file, End plain, long said, long locator) throws IOException {
            // Nothing is between the two, and the archive may start later than the file.
            long at = locator - ZIP64_END_SIZE;
            if (said < 0 || said > at) {
                throw damaged("ZIP-END", "the Zip64 end record lies outside the archive", locator);
            }
            ByteReader in = reader(file, at, locator);
            End wide = new End(in.at(at + 48).i64(), in.at(at + 40).i64(), in.at(at + 32).i64(), 0, plain.end);
            if (in.at(at).i32() != ZIP64_END || !wide.agreesWith(plain)) {
                throw damaged("ZIP-END", "the two end records of the zip directory contradict each other", at);
            }
            End end = wide.checkedBefore(at);
            if (end.base != at - said) {
                throw damaged("ZIP-END", "the two end records of the zip directory contradict each other", at);
            }
            return end;
        }

        private boolean agreesWith(End plain) {
            return (plain.count == 0xFFFF || plain.count == count)
                    && (plain.directorySize == 0xFFFFFFFFL || plain.directorySize == directorySize)
                    && (plain.directory == 0xFFFFFFFFL || plain.directory == directory);
        }

        private End checkedBefore(long place) {
            if (directory < 0 || directorySize < 0 || directory > place || directorySize > place - directory) {
                throw damaged("ZIP-END", "the zip directory lies outside the archive", place);
            }
            if (directorySize > LARGEST_DIRECTORY) {
                throw new FormatException("ZIP-DIRECTORY", "the zip directory takes " + directorySize + " bytes", place,
                        "Directories up to " + LARGEST_DIRECTORY + " bytes can be read; split the archive");
            }
            // The directory ends where its end record starts. If that is less than recorded, other bytes precede the
            // archive.
            long start = place - directorySize;
            return new End(start, directorySize, count, start - directory, end);
        }
    }

    /// One entry of the directory, being read.
    private static final class Entry {
        private final ByteReader in;
        private final long position;
        private final long base;
        private final int method;
        private final int nameLength;
        private final int extraLength;
        private final long length;

        Entry(ByteReader in, long position, long base) throws IOException {
            this.in = in;
            this.position = position;
            this.base = base;
            this.method = in.at(position + 10).u16();
            this.nameLength = in.at(position + 28).u16();
            this.extraLength = in.u16();
            this.length = (long) ENTRY_SIZE + nameLength + extraLength + in.u16();
            if (length > in.end() - position) {
                throw damaged("ZIP-DIRECTORY", "the last directory entry is cut off", position);
            }
        }

        ZipRecord toRecord() throws IOException {
            String name = text(in.at(position + ENTRY_SIZE), nameLength);
            checkSupported(name);
            int crc = in.at(position + 16).i32();
            long compressedSize = in.u32();
            long size = in.u32();
            long header = in.at(position + 42).u32();
            Zip64 wide = new Zip64();
            size = size == 0xFFFFFFFFL ? wide.next() : size;
            compressedSize = compressedSize == 0xFFFFFFFFL ? wide.next() : compressedSize;
            header = header == 0xFFFFFFFFL ? wide.next() : header;
            checkSizes(name, compressedSize, size);
            if (header < 0 || header > position - base) {
                throw damaged("ZIP-OVERLAP", "record " + FormatException.quote(name) + " lies outside the archive",
                        position);
            }
            header += base;
            return new ZipRecord(name, method, crc, crc != 0, compressedSize, size, header, header);
        }

        private void checkSupported(String name) throws IOException {
            int flags = in.at(position + 8).u16();
            if ((flags & (FLAG_ENCRYPTED | FLAG_PATCH | FLAG_STRONG_ENCRYPTION | FLAG_HIDDEN_HEADERS)) != 0) {
                throw new FormatException("ZIP-ENCRYPTED", "record " + FormatException.quote(name) + " is encrypted",
                        position,
                        "Decrypt the archive first");
            }
            if (method != ZipRecord.STORED && method != ZipRecord.DEFLATED) {
                throw new FormatException("ZIP-METHOD",
                        "record " + FormatException.quote(name) + " is compressed by method " + method, position,
                        "Only stored and deflated records can be read; make the archive again without compression");
            }
        }

        private void checkSizes(String name, long compressedSize, long size) {
            boolean possible = compressedSize >= 0 && (method == ZipRecord.STORED
                    ? size == compressedSize
                    : size >= 0 && size / BEST_RATIO <= compressedSize);
            if (!possible) {
                throw damaged("ZIP-SIZE", "record " + FormatException.quote(name) + " of " + compressedSize
                        + " bytes cannot hold " + size + " bytes", position);
            }
        }

        /// The numbers that need more than 32 bits, in the order in which they are missing from the entry.
        private final class Zip64 {
            private long next;
            private long end;

            /// Finds the field at first need; most entries have none.
            long next() throws IOException {
                if (end == 0) {
                    find();
                }
                if (end - next < Long.BYTES) {
                    throw damaged("ZIP-DIRECTORY", "a directory entry lacks its 64-bit sizes", position);
                }
                next += Long.BYTES;
                return in.at(next - Long.BYTES).i64();
            }

            private void find() throws IOException {
                long field = position + ENTRY_SIZE + nameLength;
                long last = field + extraLength;
                while (last - field >= 4) {
                    int id = in.at(field).u16();
                    long fieldEnd = field + 4 + in.u16();
                    if (id == ZIP64_FIELD && fieldEnd <= last) {
                        next = field + 4;
                        end = fieldEnd;
                        return;
                    }
                    field = fieldEnd;
                }
            }
        }
    }
}
