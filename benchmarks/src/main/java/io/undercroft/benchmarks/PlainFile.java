package io.undercroft.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.stream.LongStream;

/// A file that is read and written in large blocks, without any format: what contenders are compared with.
final class PlainFile {
    /// The size of a block, in bytes.
    static final int BLOCK = 4 << 20;

    private PlainFile() {}

    /// Reads or writes some bytes of a file, as [FileChannel#read(ByteBuffer, long)] and `write` do.
    @FunctionalInterface
    interface Transfer {
        int run(ByteBuffer bytes, long position) throws IOException;
    }

    /// Reads a file, block by block.
    ///
    /// @param path the file
    /// @param into as many bytes as it has
    /// @param threads 1, or any other number for as many as there are processors
    /// @throws IOException if that fails
    static void read(Path path, MemorySegment into, int threads) throws IOException {
        try (FileChannel file = FileChannel.open(path)) {
            LongStream blocks = LongStream.range(0, Math.ceilDiv(into.byteSize(), (long) BLOCK));
            (threads == 1 ? blocks : blocks.parallel()).forEach(block -> {
                long offset = block * BLOCK;
                transfer(file::read, into.asSlice(offset, Math.min(BLOCK, into.byteSize() - offset)), offset);
            });
        }
    }

    /// Writes a file, one segment after the other.
    ///
    /// @param path the file; it is made if it does not exist
    /// @param segments segments of one size
    /// @param threads as for [#read]
    /// @param isDurable whether it is forced to the disk
    /// @throws IOException if that fails
    static void write(Path path, List<MemorySegment> segments, int threads, boolean isDurable) throws IOException {
        try (var file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            long size = segments.getFirst().byteSize();
            LongStream numbers = LongStream.range(0, segments.size());
            (threads == 1 ? numbers : numbers.parallel())
                    .forEach(number -> transfer(file::write, segments.get((int) number), number * size));
            if (isDurable) {
                file.force(true);
            }
        }
    }

    private static void transfer(Transfer transfer, MemorySegment bytes, long position) {
        try {
            for (long from = 0; from < bytes.byteSize(); from += BLOCK) {
                ByteBuffer block = bytes.asSlice(from, Math.min(BLOCK, bytes.byteSize() - from)).asByteBuffer();
                while (block.hasRemaining()) {
                    transfer.run(block, position + from + block.position());
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
