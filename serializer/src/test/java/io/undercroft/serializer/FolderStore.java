package io.undercroft.serializer;

import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.mmap.spi.RangeSource;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.serializer.spi.StoreOutput;
import io.undercroft.serializer.spi.StoreProvider;
import io.undercroft.serializer.spi.StoreTarget;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.LongStream;

/// A store whose objects are files of a folder: `folder:///path/of/a/file`.
public final class FolderStore implements StoreProvider {
    /// The number of bytes of each request, by file. Tests count those of their own folders, as others run meanwhile.
    private static final Map<Path, Queue<Long>> REQUESTS = new ConcurrentHashMap<>();

    private static LongStream requested(Path folder) {
        return REQUESTS.entrySet().stream().filter(file -> file.getKey().startsWith(folder))
                .flatMap(file -> file.getValue().stream()).mapToLong(Long::longValue);
    }

    /// {@return the number of bytes that were read from the files of a folder}
    static long bytesRead(Path folder) {
        return requested(folder).sum();
    }

    /// {@return the number of requests for bytes of the files of a folder}
    static int requests(Path folder) {
        return Math.toIntExact(requested(folder).count());
    }

    static URI uri(Path file) {
        return URI.create("folder://" + file.toUri().getRawPath());
    }

    @Override
    public Set<String> schemes() {
        return Set.of("folder");
    }

    @Override
    public List<Setting> settings() {
        return List.of(Setting.ofWriting("folder.fails", "no, yes, unknown"));
    }

    @Override
    public RangeSource open(URI uri, OpenOptions options) throws IOException {
        return new Source(Path.of(uri.getPath()));
    }

    @Override
    public StoreTarget target(URI uri, SaveOptions options) {
        return new Target(Path.of(uri.getPath()), options.setting("folder.fails").orElse("no"));
    }

    private record Source(Path file, FileChannel channel, long size) implements RangeSource {
        Source(Path file) throws IOException {
            this(file, channel(file), Files.size(file));
        }

        private static FileChannel channel(Path file) throws IOException {
            try {
                return FileChannel.open(file);
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
            REQUESTS.computeIfAbsent(file, _ -> new ConcurrentLinkedQueue<>()).add(into.byteSize());
            var buffer = into.asByteBuffer();
            while (buffer.hasRemaining()) {
                channel.read(buffer, offset + buffer.position());
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
            return new Source(file.resolveSibling(path));
        }

        @Override
        public void close() {
            try {
                channel.close();
            } catch (IOException e) {
                throw new java.io.UncheckedIOException(e);
            }
        }
    }

    private record Target(Path file, String fails) implements StoreTarget {
        @Override
        public String location() {
            return uri(file).toString();
        }

        @Override
        public String fileName() {
            return file.getFileName().toString();
        }

        @Override
        public boolean exists() {
            return Files.exists(file);
        }

        @Override
        public StoreOutput create(Creation condition) throws IOException {
            Path hidden = Files.createTempFile(file.getParent(), ".", ".hidden");
            return new Writing(this, condition, hidden, FileChannel.open(hidden, StandardOpenOption.WRITE));
        }

        @Override
        public void delete() throws IOException {
            Files.delete(file);
        }

        @Override
        public StoreTarget sibling(String name) {
            return new Target(file.resolveSibling(name), "no");
        }
    }

    private record Writing(Target target, StoreTarget.Creation condition, Path hidden, FileChannel channel)
            implements
                StoreOutput {
        @Override
        public void write(long position, MemorySegment bytes) throws IOException {
            if (position != channel.position()) {
                throw new IllegalArgumentException("byte " + position + " is written behind " + channel.position());
            }
            var buffer = bytes.asByteBuffer();
            while (buffer.hasRemaining()) {
                channel.write(buffer);
            }
        }

        @Override
        public void commit() throws IOException {
            if (!target.fails.equals("no")) {
                throw new RemoteFileException(target.location(),
                        target.fails.equals("yes") ? Kind.NOT_PERMITTED : Kind.UNAVAILABLE, "it fails", null);
            }
            if (condition == StoreTarget.Creation.REPLACING) {
                Files.move(hidden, target.file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
                return;
            }
            try {
                Files.createLink(target.file, hidden);
            } catch (FileAlreadyExistsException e) {
                throw new RemoteFileException(target.location(), Kind.CONFLICT, "another writer was faster", e);
            }
        }

        @Override
        public void close() throws IOException {
            channel.close();
            Files.deleteIfExists(hidden);
        }
    }
}
