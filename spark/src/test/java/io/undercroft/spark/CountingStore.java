package io.undercroft.spark;

import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.spi.RangeSource;
import io.undercroft.serializer.spi.OpenRequest;
import io.undercroft.serializer.spi.StoreProvider;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;

/// A store of the scheme `count` whose objects are files of this host. How many bytes of an object are read, by any
/// process, is in a file next to it.
public final class CountingStore implements StoreProvider {
    /// For `ServiceLoader`.
    public CountingStore() {}

    @Override
    public Set<String> schemes() {
        return Set.of("count");
    }

    @Override
    public RangeSource open(URI uri, OpenRequest request) throws IOException {
        return new Counted(Path.of(uri.getPath()));
    }

    /// {@return how many bytes of an object were read since the last call}
    static long bytesRead(Path file) throws IOException {
        Path counts = counts(file);
        if (!Files.exists(counts)) {
            return 0;
        }
        long sum = Files.readAllLines(counts).stream().mapToLong(Long::parseLong).sum();
        Files.delete(counts);
        return sum;
    }

    private static Path counts(Path file) {
        return file.resolveSibling(file.getFileName() + ".reads");
    }

    private record Counted(Path file, FileChannel channel) implements RangeSource {
        Counted(Path file) throws IOException {
            this(file, FileChannel.open(file));
        }

        @Override
        public String location() {
            return "count:" + file;
        }

        @Override
        public long size() {
            try {
                return channel.size();
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public MemorySegment start() {
            return MemorySegment.NULL;
        }

        @Override
        public void read(long offset, MemorySegment into) throws IOException {
            ByteBuffer bytes = into.asByteBuffer();
            Files.writeString(counts(file), bytes.remaining() + "\n", StandardOpenOption.CREATE,
                    StandardOpenOption.APPEND);
            while (bytes.hasRemaining() && channel.read(bytes, offset + bytes.position()) > 0) {
                // Reads the rest.
            }
            if (bytes.hasRemaining()) {
                throw new RemoteFileException(location(), RemoteFileException.Kind.CHANGED, "it is shorter now", null);
            }
        }

        @Override
        public boolean isCurrent() {
            return true;
        }

        @Override
        public RangeSource sibling(String path) throws IOException {
            return new Counted(file.resolveSibling(path));
        }

        @Override
        public void close() {
            try {
                channel.close();
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
