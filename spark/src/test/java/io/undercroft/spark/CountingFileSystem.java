package io.undercroft.spark;

import java.io.FileInputStream;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/// The files of this host with URIs of the scheme `count`. How many bytes of a file are read, by any process, is in a
/// file next to it.
public final class CountingFileSystem extends RawLocalFileSystem {
    /// For Hadoop.
    public CountingFileSystem() {}

    @Override
    public URI getUri() {
        return URI.create("count:///");
    }

    @Override
    public String getScheme() {
        return "count";
    }

    @Override
    public FSDataInputStream open(Path path, int bufferSize) throws IOException {
        return new FSDataInputStream(new Counted(pathToFile(path).toPath()));
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        return plain(super.getFileStatus(path));
    }

    @Override
    public FileStatus[] listStatus(Path path) throws IOException {
        return Arrays.stream(super.listStatus(path)).map(CountingFileSystem::plain).toArray(FileStatus[]::new);
    }

    /// Returns the status without permissions, which Hadoop looks up for the scheme `file` only.
    private static FileStatus plain(FileStatus status) {
        return new FileStatus(status.getLen(), status.isDirectory(), status.getReplication(), status.getBlockSize(),
                status.getModificationTime(), status.getPath());
    }

    /// {@return how many bytes of a file were read since the last call}
    static long bytesRead(java.nio.file.Path file) throws IOException {
        java.nio.file.Path counts = counts(file);
        if (!Files.exists(counts)) {
            return 0;
        }
        long sum = Files.readAllLines(counts).stream().mapToLong(Long::parseLong).sum();
        Files.delete(counts);
        return sum;
    }

    private static java.nio.file.Path counts(java.nio.file.Path file) {
        return file.resolveSibling(file.getFileName() + ".reads");
    }

    private static final class Counted extends FSInputStream {
        private final java.nio.file.Path file;
        private final FileChannel channel;

        Counted(java.nio.file.Path file) throws IOException {
            this.file = file;
            this.channel = new FileInputStream(file.toFile()).getChannel();
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
            return counted(channel.read(ByteBuffer.wrap(into, offset, length)));
        }

        @Override
        public int read(long position, byte[] into, int offset, int length) throws IOException {
            return counted(channel.read(ByteBuffer.wrap(into, offset, length), position));
        }

        private int counted(int nbytes) throws IOException {
            if (nbytes > 0) {
                Files.writeString(counts(file), nbytes + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            }
            return nbytes;
        }

        @Override
        public void seek(long position) throws IOException {
            channel.position(position);
        }

        @Override
        public long getPos() throws IOException {
            return channel.position();
        }

        @Override
        public boolean seekToNewSource(long position) {
            return false;
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }
}
