package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.storage.Storage;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.util.zip.GZIPInputStream;
import java.util.zip.Inflater;
import java.util.zip.InflaterInputStream;
import java.util.zip.ZipException;

/// The bytes of a file that is compressed as a whole with zlib or gzip, as `joblib.dump` with `compress` writes it.
/// Inflating all of it compares the checksum at its end.
final class InflatedFile {
    private static final int CHUNK = 1 << 18;
    /// The number of bytes by which the content is recognised: more than the probe of pickles looks at, in most files.
    private static final int START = 1 << 20;
    private static final int GZIP = 0x1F8B;

    private InflatedFile() {}

    /// A receiver of the inflated bytes.
    @FunctionalInterface
    interface Sink {
        /// Receives some bytes.
        ///
        /// @param position where they start in the inflated bytes
        /// @param part some bytes, which are overwritten afterwards
        void accept(long position, MemorySegment part);
    }

    /// {@return whether a file begins as one that is compressed; a text may, too}
    static boolean isStartOf(MappedFile file) throws IOException {
        if (file.size() < 2) {
            return false;
        }
        byte[] start = ByteReader.bytes(file, 0, 2);
        int header = Byte.toUnsignedInt(start[0]) << 8 | Byte.toUnsignedInt(start[1]);
        // Python's zlib has one kind of window. No dictionary, and the number is its own checksum.
        return header == GZIP || (start[0] == 'x' && (header & 0x20) == 0 && header % 31 == 0);
    }

    /// {@return the first inflated bytes of a file, all if there are few; none if the file is no compressed one}
    static Storage start(MappedFile file) throws IOException {
        byte[] start = new byte[START];
        long[] done = new long[1];
        try {
            forEachPart(file, START, (position, part) -> {
                done[0] = Math.min(START, position + part.byteSize());
                MemorySegment.copy(part, 0, MemorySegment.ofArray(start), position, done[0] - position);
            });
        } catch (FormatException _) {
            // It may be cut behind these bytes.
        }
        return Storage.wrap(MemorySegment.ofArray(start).asSlice(0, done[0]));
    }

    /// Inflates a file into memory, twice: how many bytes it has is known then only.
    ///
    /// @param budget is charged for the bytes while they are counted
    /// @return the bytes
    /// @throws FormatException if the file is damaged, or its bytes are more than the budget allows
    static Storage inflate(MappedFile file, ReadBudget budget) throws IOException {
        long[] nbytes = new long[1];
        forEachPart(file, Long.MAX_VALUE, (position, part) -> {
            budget.takeMemory(part.byteSize());
            nbytes[0] = position + part.byteSize();
        });
        Storage bytes = Storage.allocate(nbytes[0], AnonymousMemory.allocator());
        forEachPart(file, nbytes[0], (position, part) -> MemorySegment.copy(part, 0, bytes.segment(), position,
                Math.min(part.byteSize(), nbytes[0] - position)));
        return bytes;
    }

    /// Inflates a file part after part.
    ///
    /// @param most no part begins behind so many bytes
    /// @throws FormatException if the file is damaged
    static void forEachPart(MappedFile file, long most, Sink sink) throws IOException {
        boolean isGzip = file.startsWith(new byte[]{0x1F, (byte) 0x8B});
        byte[] part = new byte[CHUNK];
        try (Inflater inflater = new Inflater();
                InputStream in = isGzip
                        ? new GZIPInputStream(new Compressed(file), CHUNK)
                        : new InflaterInputStream(new Compressed(file), inflater, CHUNK)) {
            long done = 0;
            while (done < most) {
                int count = in.read(part);
                if (count < 0) {
                    return;
                }
                sink.accept(done, MemorySegment.ofArray(part).asSlice(0, count));
                done += count;
            }
        } catch (ZipException | EOFException e) {
            throw new FormatException("PICKLE-COMPRESSED", "the compressed file is damaged: " + e.getMessage(),
                    FormatException.NO_OFFSET, PickleFault.DAMAGED);
        }
    }

    /// The bytes as they are in the file.
    private static final class Compressed extends InputStream {
        private final MappedFile file;
        private long position;

        Compressed(MappedFile file) {
            this.file = file;
        }

        @Override
        public int available() {
            return (int) Math.min(Integer.MAX_VALUE, file.size() - position);
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : Byte.toUnsignedInt(one[0]);
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
            int count = Math.min(length, available());
            if (count == 0) {
                return length == 0 ? 0 : -1;
            }
            file.read(position, MemorySegment.ofArray(into).asSlice(offset, count));
            position += count;
            return count;
        }
    }
}
