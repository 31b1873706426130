package io.undercroft.properties.sets;

import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.mmap.spi.RangeSource;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.StoreProvider;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;

/// A store over files of the host that records which ranges are read: `counted:///path/of/a/file`.
public final class CountedStore implements StoreProvider {
    private static final Queue<Read> READS = new ConcurrentLinkedQueue<>();

    /// A range that was read.
    record Read(Path file, long offset, long length) {}

    static URI uri(Path file) {
        return URI.create("counted://" + file.toUri().getRawPath());
    }

    /// {@return the ranges of files in a directory that were read since this was called last}
    static List<Read> reads(Path directory) {
        List<Read> reads = READS.stream().filter(read -> read.file.startsWith(directory)).toList();
        READS.removeAll(reads);
        return reads;
    }

    @Override
    public Set<String> schemes() {
        return Set.of("counted");
    }

    @Override
    public RangeSource open(URI uri, OpenOptions options) throws IOException {
        return Source.of(Path.of(uri.getPath()));
    }

    private record Source(Path file, FileChannel channel, long size) implements RangeSource {
        static Source of(Path file) throws IOException {
            try {
                return new Source(file, FileChannel.open(file), Files.size(file));
            } catch (NoSuchFileException e) {
                throw new RemoteFileException(uri(file).toString(), Kind.NOT_FOUND, "there is no such file", e);
            }
        }

        @Override
        public String location() {
            return uri(file).toString();
        }

        @Override
        public MemorySegment start() {
            return MemorySegment.NULL;
        }

        @Override
        public void read(long offset, MemorySegment into) throws IOException {
            READS.add(new Read(file, offset, into.byteSize()));
            ByteBuffer buffer = into.asByteBuffer();
            while (buffer.hasRemaining()) {
                if (channel.read(buffer, offset + buffer.position()) < 0) {
                    throw new IOException(file + " is shorter than it was");
                }
            }
        }

        @Override
        public void confirm() {}

        @Override
        public boolean isCurrent() {
            return true;
        }

        @Override
        public RangeSource sibling(String path) throws IOException {
            return of(file.resolveSibling(path));
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
