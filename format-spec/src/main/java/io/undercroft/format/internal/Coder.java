package io.undercroft.format.internal;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdCompressCtx;
import io.undercroft.format.FormatException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/// Codes and decodes extents (section 11.5 of the format): the bytes of the elements are put into planes, the first
/// bytes of all elements first, and compressed. The sign, exponent and first bits of floating-point numbers vary
/// little, and so do the higher bytes of the difference of elements that differ little.
///
/// Takes memory of the size of two extents, which the next coder uses again. For use by one thread.
public final class Coder implements AutoCloseable {
    /// What the compressor does: it gives bytes that are frequent a shorter code, and hardly looks for runs of bytes
    /// that repeat. Planes have none, and a run that is found by chance takes more than the codes of its bytes.
    private static final int LEVEL = 1;
    private static final int FAST = 1;
    private static final int LEAST_TABLE = 6;
    private static final int LONGEST_RUN_SOUGHT = 7;
    /// Coded bytes are kept if they are at most this share of the extent: less does not pay for decoding.
    private static final double WORTHWHILE = 15.0 / 16;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    /// The start of a Zstandard frame, and of one that decoders skip (RFC 8878, sections 3.1.1 and 3.1.2).
    private static final int FRAME = 0xFD2F_B528;
    private static final int SKIPPABLE = 0x184D_2A50;
    private static final int SKIPPABLE_HEAD = 8;

    /// The memory of closed coders, for the next ones: new memory takes a third of the time of decoding into it.
    private static final Deque<Memory> UNUSED = new ArrayDeque<>();
    private static final long MOST_KEPT = 16L << 20;

    private @Nullable Memory memory;
    private @Nullable ZstdCompressCtx compressor;

    /// Memory for an extent in planes and for its coded bytes.
    private record Memory(Arena arena, MemorySegment planes, MemorySegment coded, Planes loops) {
        static Memory of(long planes, long coded) {
            Arena arena = Arena.ofShared();
            try {
                return new Memory(arena, arena.allocate(planes, Long.BYTES), arena.allocate(coded, Long.BYTES),
                        new Planes());
            } catch (Throwable e) {
                arena.close();
                throw e;
            }
        }

        boolean has(long most, long mostCoded) {
            return planes.byteSize() >= most && coded.byteSize() >= mostCoded;
        }
    }

    /// Reads bytes of a file.
    @FunctionalInterface
    public interface Input {
        /// Reads bytes.
        ///
        /// @param into the destination, which is filled
        /// @throws IOException if reading fails
        void read(MemorySegment into) throws IOException;
    }

    private Coder() {}

    /// {@return a coder, which must be closed if it was used}
    public static Coder open() {
        return new Coder();
    }

    /// Codes the bytes of an extent.
    ///
    /// @param bytes the bytes of the extent
    /// @param width the size of its elements, as [Coding#width] gives it
    /// @param reference as many other bytes, or null if there are none
    /// @return the coded bytes, valid until the next call; null if coding does not pay
    public @Nullable MemorySegment code(MemorySegment bytes, int width, @Nullable MemorySegment reference) {
        int length = Math.toIntExact(bytes.byteSize());
        long most = (long) (length * WORTHWHILE);
        if (Coding.leastLength(length) > most) {
            return null;
        }
        int plane = length / width;
        int bound = Math.toIntExact(Zstd.compressBound(plane));
        Memory own = reserve(length, (long) width * bound + SKIPPABLE_HEAD + Coding.leastLength(length));
        own.loops().split(bytes, width, reference, own.planes().asSlice(0, length));
        ByteBuffer planes = own.planes().asByteBuffer();
        ByteBuffer coded = own.coded().asByteBuffer();
        long size = 0;
        for (int i = 0; i < width; i++) {
            size += compressor().compressDirectByteBuffer(coded, (int) size, bound, planes, i * plane, plane);
        }
        if (size < Coding.leastLength(length)) {
            long padding = Math.max(Coding.leastLength(length) - size - SKIPPABLE_HEAD, 0);
            own.coded().set(INT, size, SKIPPABLE);
            own.coded().set(INT, size + Integer.BYTES, (int) padding);
            own.coded().asSlice(size + SKIPPABLE_HEAD, padding).fill((byte) 0);
            size += SKIPPABLE_HEAD + padding;
        }
        return size > most ? null : own.coded().asSlice(0, size);
    }

    private ZstdCompressCtx compressor() {
        if (compressor == null) {
            compressor = new ZstdCompressCtx().setLevel(LEVEL).setStrategy(FAST).setHashLog(LEAST_TABLE)
                    .setMinMatch(LONGEST_RUN_SOUGHT);
        }
        return compressor;
    }

    /// Decodes an extent.
    ///
    /// @param coding the way in which it is coded
    /// @param input reads all coded bytes
    /// @param reference reads all bytes of the reference, if the coding has one
    /// @param into the destination, of the size of the extent
    /// @param fileOffset the place of the coded bytes, for the exception
    /// @throws FormatException by rule V13 if the codec is unknown, or the library that has it
    ///     cannot be loaded; by rule V14 if the coded bytes are damaged. Whether the decoded ones are those that were
    ///     coded, their checksum says
    /// @throws IOException if reading fails
    public void decode(Coding coding, Input input, Input reference, MemorySegment into, long fileOffset)
            throws IOException {
        if (!coding.isKnown()) {
            throw Rule.V13_UNSUPPORTED.broken("an extent has the codec " + coding.codec(), fileOffset);
        }
        Memory own = reserve(into.byteSize(), coding.length());
        MemorySegment bytes = own.coded().asSlice(0, coding.length());
        input.read(bytes);
        MemorySegment planes = own.planes().asSlice(0, into.byteSize());
        try {
            if (Checksums.crc32cOfMemory(bytes) != coding.checksum()
                    || !areDecoded(bytes, planes, planes.byteSize() / coding.width())) {
                throw damaged(fileOffset);
            }
        } catch (LinkageError e) {
            throw Rule.V13_UNSUPPORTED.broken("an extent is compressed by Zstandard, which cannot be loaded here: "
                    + e, fileOffset, e);
        }
        if (coding.hasReference()) {
            reference.read(into);
        }
        own.loops().join(planes, coding.width(), coding.hasReference(), into);
    }

    static FormatException damaged(long fileOffset) {
        return Rule.V14_CHECKSUM.broken("the coded bytes of an extent are damaged", fileOffset);
    }

    /// Decompresses the frames of all planes, which a frame of padding may follow.
    ///
    /// @return whether the bytes are that, and each frame has as many bytes as a plane
    private static boolean areDecoded(MemorySegment bytes, MemorySegment planes, long plane) {
        MemorySegment rest = bytes;
        for (long at = 0; at < planes.byteSize(); at += plane) {
            // The decoder knows older formats too, and would go on with further frames.
            if (rest.byteSize() < Integer.BYTES || rest.get(INT, 0) != FRAME) {
                return false;
            }
            long frame = Zstd.findDirectByteBufferFrameCompressedSize(rest.asByteBuffer(), 0, (int) rest.byteSize());
            if (Zstd.isError(frame)
                    || Zstd.decompressUnsafe(planes.address() + at, plane, rest.address(), frame) != plane) {
                return false;
            }
            rest = rest.asSlice(frame);
        }
        return isPadding(rest);
    }

    private static boolean isPadding(MemorySegment rest) {
        return rest.byteSize() == 0 || (rest.byteSize() >= SKIPPABLE_HEAD && rest.get(INT, 0) == SKIPPABLE
                && Integer.toUnsignedLong(rest.get(INT, Integer.BYTES)) == rest.byteSize() - SKIPPABLE_HEAD);
    }

    private Memory reserve(long length, long codedLength) {
        Memory own = memory == null ? unused() : memory;
        if (own == null) {
            own = Memory.of(length, codedLength);
        } else if (!own.has(length, codedLength)) {
            memory = null;
            own.arena().close();
            own = Memory.of(Math.max(own.planes().byteSize(), length), Math.max(own.coded().byteSize(), codedLength));
        }
        memory = own;
        return own;
    }

    private static @Nullable Memory unused() {
        synchronized (UNUSED) {
            return UNUSED.poll();
        }
    }

    @Override
    public void close() {
        if (compressor != null) {
            compressor.close();
            compressor = null;
        }
        Memory own = memory;
        memory = null;
        if (own == null) {
            return;
        }
        synchronized (UNUSED) {
            if (own.planes().byteSize() + own.coded().byteSize() <= MOST_KEPT
                    && UNUSED.size() < Runtime.getRuntime().availableProcessors()) {
                UNUSED.push(own);
                return;
            }
        }
        own.arena().close();
    }
}
