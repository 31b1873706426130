package io.undercroft.interop;

import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/// Files that have holes where zeros are written.
public final class SparseFile {
    private static final MemorySegment ZEROS = MemorySegment.ofArray(new byte[1 << 24]);

    private SparseFile() {}

    /// Writes a file.
    ///
    /// @return its size in bytes
    public static long write(Path path, Draft draft) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE,
                StandardOpenOption.SPARSE); Output output = new Output((position, bytes) -> {
                    if (bytes.mismatch(ZEROS.asSlice(0, bytes.byteSize())) >= 0) {
                        channel.write(bytes.asByteBuffer(), position);
                    }
                }, 1 << 20)) {
            draft.writeTo(output);
            output.flush();
            return output.position();
        }
    }
}
