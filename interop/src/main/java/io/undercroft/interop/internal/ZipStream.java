package io.undercroft.interop.internal;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/// The bytes of one record, passed through a small buffer. They are read from the file and not from a mapping, since a
/// mapping may have been written to.
public final class ZipStream {
    private static final int CHUNK = 1 << 18;

    private final MappedFile file;
    private final ZipRecord record;
    private final long data;

    ZipStream(MappedFile file, ZipRecord record, long data) {
        this.file = file;
        this.record = record;
        this.data = data;
    }

    /// Reads a record into memory, inflating it if it is compressed, and compares the checksum of all of it.
    ///
    /// @param skipped the number of its first bytes that are left out
    /// @param target memory of exactly the size of the rest
    /// @throws IOException if reading fails
    /// @throws FormatException if the record is damaged
    public void read(int skipped, MemorySegment target) throws IOException {
        forEachPart(skipped, (position, part) -> MemorySegment.copy(part, 0, target, position, part.byteSize()));
    }

    /// A part of a record.
    @FunctionalInterface
    public interface Part {
        /// Reads the part.
        ///
        /// @param position where it starts, from the first byte that is not left out
        /// @param bytes the part, which is overwritten afterwards
        void accept(long position, MemorySegment bytes);
    }

    /// Reads a record part after part, inflating it if it is compressed, and compares the checksum of all of it.
    ///
    /// @param skipped how many of its first bytes are left out
    /// @param part called with each part of the rest, in their order
    /// @throws IOException if reading fails
    /// @throws FormatException if the record is damaged
    public void forEachPart(int skipped, Part part) throws IOException {
        CRC32 crc = new CRC32();
        long[] seen = {0};
        pass(bytes -> {
            MemorySegment piece = MemorySegment.ofBuffer(bytes);
            long from = Math.clamp(skipped - seen[0], 0, piece.byteSize());
            part.accept(Math.max(0, seen[0] - skipped), piece.asSlice(from));
            seen[0] += piece.byteSize();
            crc.update(bytes);
        });
        compare(crc);
    }

    /// {@return the first bytes of the record} Its checksum is not compared.
    ///
    /// @param count the number of bytes; the record has at least as many
    /// @throws IOException if reading fails
    /// @throws FormatException if the record is damaged
    public byte[] first(int count) throws IOException {
        byte[] first = new byte[count];
        if (record.isStored()) {
            file.read(data, MemorySegment.ofArray(first));
            return first;
        }
        try (Arena arena = Arena.ofConfined(); Inflater inflater = new Inflater(true)) {
            ByteBuffer input = arena.allocate(CHUNK).asByteBuffer().limit(0);
            for (int done = 0; done < count;) {
                if (inflater.needsInput()) {
                    refill(input, inflater);
                }
                int more = inflater.inflate(first, done, count - done);
                boolean ended = inflater.finished() && done + more < count;
                if (ended || (more == 0 && isStuck(inflater))) {
                    throw corrupt();
                }
                done += more;
            }
            return first;
        } catch (DataFormatException e) {
            throw corrupt();
        }
    }

    /// Checks the record as [#check(LongConsumer)], and reports no progress.
    public void check() throws IOException {
        check(_ -> {});
    }

    /// Reads the whole record and compares its checksum if it has one, in pieces, so that it needs little memory.
    ///
    /// @param read called with the number of bytes of each piece
    /// @throws IOException if reading fails
    /// @throws FormatException if the record is damaged
    public void check(LongConsumer read) throws IOException {
        CRC32 crc = new CRC32();
        pass(piece -> {
            int nbytes = piece.remaining();
            crc.update(piece);
            read.accept(nbytes);
        });
        compare(crc);
    }

    private void compare(CRC32 crc) {
        int found = (int) crc.getValue();
        if (record.hasCrc() && found != record.crc()) {
            throw ZipDirectory.damaged("ZIP-CRC", String.format("record %s has the checksum %08x and not %08x",
                    FormatException.quote(record.name()), found, record.crc()), data);
        }
    }

    /// Passes on the uncompressed bytes, in order.
    private void pass(Consumer<ByteBuffer> part) throws IOException {
        if (record.isStored()) {
            copy(part);
        } else {
            inflate(part);
        }
    }

    private void copy(Consumer<ByteBuffer> part) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(Math.min(CHUNK, record.size()));
            for (long done = 0; done < record.size();) {
                MemorySegment piece = buffer.asSlice(0, Math.min(CHUNK, record.size() - done));
                file.read(data + done, piece);
                part.accept(piece.asByteBuffer());
                done += piece.byteSize();
            }
        }
    }

    /// Inflates exactly `size` bytes from exactly `compressedSize`, so that a record with a wrong size is detected
    /// before it fills memory.
    private void inflate(Consumer<ByteBuffer> part) throws IOException {
        try (Arena arena = Arena.ofConfined(); Inflater inflater = new Inflater(true)) {
            ByteBuffer input = arena.allocate(CHUNK).asByteBuffer().limit(0);
            ByteBuffer output = arena.allocate(CHUNK).asByteBuffer();
            while (!inflater.finished()) {
                if (inflater.needsInput()) {
                    refill(input, inflater);
                }
                int count = inflater.inflate(output.clear());
                if (inflater.getBytesWritten() > record.size() || (count == 0 && isStuck(inflater))) {
                    throw corrupt();
                }
                part.accept(output.flip());
            }
            if (inflater.getBytesWritten() != record.size() || inflater.getBytesRead() != record.compressedSize()) {
                throw corrupt();
            }
        } catch (DataFormatException e) {
            throw corrupt();
        }
    }

    private void refill(ByteBuffer input, Inflater inflater) throws IOException {
        long left = record.compressedSize() - inflater.getBytesRead();
        if (left == 0) {
            // The last bytes may stand for more than fits into one buffer.
            return;
        }
        input.clear().limit((int) Math.min(CHUNK, left));
        file.read(data + inflater.getBytesRead(), MemorySegment.ofBuffer(input));
        inflater.setInput(input);
    }

    /// {@return whether an inflater that gave nothing will give nothing more}
    private boolean isStuck(Inflater inflater) {
        return !inflater.finished() && (inflater.needsDictionary()
                || (inflater.needsInput() && inflater.getBytesRead() == record.compressedSize()));
    }

    private FormatException corrupt() {
        return ZipDirectory.damaged("ZIP-DEFLATE",
                "the compressed record " + FormatException.quote(record.name()) + " is corrupt",
                data);
    }
}
