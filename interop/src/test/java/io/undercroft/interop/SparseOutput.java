package io.undercroft.interop;

import io.undercroft.serializer.spi.Output;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/// A file that has holes where zeros are written.
public final class SparseOutput implements Output, AutoCloseable {
    private static final MemorySegment ZEROS = MemorySegment.ofArray(new byte[1 << 24]);

    private final FileChannel channel;
    private long position;

    public SparseOutput(Path path) throws IOException {
        this.channel = FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE,
                StandardOpenOption.SPARSE);
    }

    @Override
    public long position() {
        return position;
    }

    @Override
    public void write(MemorySegment bytes) throws IOException {
        if (bytes.byteSize() > ZEROS.byteSize() || bytes.mismatch(ZEROS.asSlice(0, bytes.byteSize())) >= 0) {
            channel.write(bytes.asByteBuffer(), position);
        }
        position += bytes.byteSize();
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
