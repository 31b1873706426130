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
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED
            .withOrder(ByteOrder.LITTLE_ENDIAN);
    /// The first byte of each element in eight bytes, by the logarithm of its width.
    private static final long[] FIRST_BYTES = {-1, 0x00FF_00FF_00FF_00FFL, 0x0000_00FF_0000_00FFL, 0xFF};
    /// The highest bit of each element in eight bytes.
    private static final long[] SIGNS = {0x8080_8080_8080_8080L, 0x8000_8000_8000_8000L, 0x8000_0000_8000_0000L,
            Long.MIN_VALUE};
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
    private record Memory(Arena arena, MemorySegment planes, MemorySegment coded) {
        static Memory of(long planes, long coded) {
            Arena arena = Arena.ofShared();
            return new Memory(arena, arena.allocate(planes, Long.BYTES), arena.allocate(coded, Long.BYTES));
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

    private Coder(@Nullable Memory memory) {
        this.memory = memory;
    }

    /// {@return a coder, which must be closed}
    public static Coder open() {
        synchronized (UNUSED) {
            return new Coder(UNUSED.poll());
        }
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
        split(bytes, width, reference, own.planes());
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
        join(planes, coding.width(), coding.hasReference(), into);
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
        Memory own = memory;
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

    /// Puts the bytes of elements into planes, or those of their differences from a reference. What is left at the end
    /// is filled up to eight bytes.
    private static void split(MemorySegment bytes, int width, @Nullable MemorySegment reference,
            MemorySegment planes) {
        long length = bytes.byteSize();
        int log2 = Integer.numberOfTrailingZeros(width);
        long plane = length >> log2;
        long at = 0;
        for (; at <= length - Long.BYTES; at += Long.BYTES) {
            long word = bytes.get(LONG, at);
            put(planes, plane, at >> log2, log2,
                    reference == null ? word : difference(word, reference.get(LONG, at), log2));
        }
        long word = rest(bytes, at);
        if (reference != null) {
            word = difference(word, rest(reference, at), log2);
        }
        for (; at < length; at++, word >>>= Byte.SIZE) {
            planes.set(ValueLayout.JAVA_BYTE, (at & width - 1) * plane + (at >> log2), (byte) word);
        }
    }

    /// Returns fewer than eight bytes at the end, filled up with zeros.
    private static long rest(MemorySegment bytes, long from) {
        long word = 0;
        for (long at = bytes.byteSize() - 1; at >= from; at--) {
            word = word << Byte.SIZE | (bytes.get(ValueLayout.JAVA_BYTE, at) & 0xFF);
        }
        return word;
    }

    /// Subtracts the elements in eight bytes from those in eight others, and puts the sign of each difference into its
    /// lowest bit: of -1 and 1 come 1 and 2, and the higher bytes of small differences are zero, whatever their sign.
    private static long difference(long word, long reference, int log2) {
        long signs = SIGNS[log2];
        long difference = ((word | signs) - (reference & ~signs)) ^ ((word ^ ~reference) & signs);
        long negative = difference & signs;
        long ones = (negative - (negative >>> ((Byte.SIZE << log2) - 1))) | negative;
        return ((difference & ~signs) << 1) ^ ones;
    }

    /// Returns the elements whose differences from a reference [#difference] returns.
    private static long sum(long folded, long reference, int log2) {
        long signs = SIGNS[log2];
        int sign = (Byte.SIZE << log2) - 1;
        long negative = folded & (signs >>> sign);
        long ones = ((negative << sign) - negative) | (negative << sign);
        long difference = ((folded >>> 1) & ~signs) ^ ones;
        return ((difference & ~signs) + (reference & ~signs)) ^ ((difference ^ reference) & signs);
    }

    private static void put(MemorySegment planes, long plane, long at, int log2, long word) {
        long mask = FIRST_BYTES[log2];
        switch (log2) {
            case 0 -> planes.set(LONG, at, word);
            case 1 -> {
                planes.set(INT, at, (int) Long.compress(word, mask));
                planes.set(INT, at + plane, (int) Long.compress(word, mask << 8));
            }
            case 2 -> {
                for (int i = 0; i < 4; i++) {
                    planes.set(SHORT, at + i * plane, (short) Long.compress(word, mask << (8 * i)));
                }
            }
            default -> {
                for (int i = 0; i < 8; i++) {
                    planes.set(ValueLayout.JAVA_BYTE, at + i * plane, (byte) (word >>> (8 * i)));
                }
            }
        }
    }

    /// Puts elements together from planes.
    ///
    /// @param isDifference whether they are differences from the reference that the destination contains
    private static void join(MemorySegment planes, int width, boolean isDifference, MemorySegment into) {
        long length = into.byteSize();
        int log2 = Integer.numberOfTrailingZeros(width);
        long plane = length >> log2;
        long at = 0;
        for (; at <= length - Long.BYTES; at += Long.BYTES) {
            long word = get(planes, plane, at >> log2, log2);
            into.set(LONG, at, isDifference ? sum(word, into.get(LONG, at), log2) : word);
        }
        long word = 0;
        for (long last = length - 1; last >= at; last--) {
            word = word << Byte.SIZE
                    | (planes.get(ValueLayout.JAVA_BYTE, (last & width - 1) * plane + (last >> log2)) & 0xFF);
        }
        if (isDifference) {
            word = sum(word, rest(into, at), log2);
        }
        for (; at < length; at++, word >>>= Byte.SIZE) {
            into.set(ValueLayout.JAVA_BYTE, at, (byte) word);
        }
    }

    private static long get(MemorySegment planes, long plane, long at, int log2) {
        long mask = FIRST_BYTES[log2];
        return switch (log2) {
            case 0 -> planes.get(LONG, at);
            case 1 -> Long.expand(planes.get(INT, at), mask) | Long.expand(planes.get(INT, at + plane), mask << 8);
            case 2 -> {
                long word = 0;
                for (int i = 0; i < 4; i++) {
                    word |= Long.expand(planes.get(SHORT, at + i * plane), mask << (8 * i));
                }
                yield word;
            }
            default -> {
                long word = 0;
                for (int i = 0; i < 8; i++) {
                    word |= (planes.get(ValueLayout.JAVA_BYTE, at + i * plane) & 0xFFL) << (8 * i);
                }
                yield word;
            }
        };
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
