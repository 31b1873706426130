package io.undercroft.hadoop.internal;

import io.undercroft.hadoop.internal.HadoopTarget.FileVersion;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.mmap.internal.support.Retries;
import io.undercroft.mmap.internal.support.Retries.TransientException;
import io.undercroft.mmap.spi.RangeSource;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.System.Logger;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.hadoop.fs.CommonPathCapabilities;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options.OpenFileOptions;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StreamCapabilities;
import org.jspecify.annotations.Nullable;

/// A file that the client of Hadoop reads. One stream serves all threads, by reads at positions, which need no lock.
///
/// A stream of a store with entity tags asks for the version that was opened. Other stores, as HDFS, look up where the
/// blocks of a file are by its name, so that its status is compared to confirm reads.
public final class HadoopSource implements RangeSource {
    private static final Logger LOG = System.getLogger("io.undercroft.hadoop");
    /// The client of Hadoop has repeated its requests before.
    private static final Retries RETRIES = new Retries(3, Failures.REMEDY, Thread::sleep);
    /// The maximum size of a file that is read at once, in bytes.
    private static final int SMALL = 64 << 10;
    private static final String POLICY = "vector, random";
    /// The client of Azure otherwise reads under a lock, and more than it was asked for.
    private static final String AZURE_DIRECT = "fs.azure.buffered.pread.disable";

    private final FileSystem fs;
    private final Path path;
    private final String location;
    private final FileStatus status;
    private final FileVersion version;
    private final boolean isPinned;
    private volatile FSDataInputStream stream;
    private @Nullable MemorySegment start;
    private volatile boolean isClosed;

    private HadoopSource(FileSystem fs, Path path, String location, FileStatus status) throws IOException {
        this.fs = fs;
        this.path = path;
        this.location = location;
        this.status = status;
        this.version = FileVersion.of(status);
        this.isPinned = version.etag() != null
                && fs.hasPathCapability(path, CommonPathCapabilities.ETAGS_AVAILABLE);
        this.stream = openStream();
    }

    /// Opens a file.
    ///
    /// @param fs its file system
    /// @param path its path
    /// @return the file
    /// @throws RemoteFileException if it is not there, or the store refuses or does not respond
    public static HadoopSource open(FileSystem fs, Path path) throws IOException {
        Path full = path.makeQualified(fs.getUri(), fs.getWorkingDirectory());
        String location = HadoopProvider.location(full.toUri());
        HadoopSource source;
        try {
            FileStatus status = fs.getFileStatus(full);
            if (status.isDirectory()) {
                throw new RemoteFileException(location, Kind.UNSUPPORTED, "it is a directory; name a file in it",
                        null);
            }
            source = new HadoopSource(fs, full, location, status);
        } catch (InterruptedIOException e) {
            throw e;
        } catch (IOException | RuntimeException | LinkageError e) {
            throw Failures.opening(location, e);
        }
        try {
            source.start = source.readStart();
            source.confirm();
            return source;
        } catch (Throwable e) {
            source.close();
            throw e;
        }
    }

    private MemorySegment readStart() throws IOException {
        long length = version.size() <= SMALL ? version.size() : RangeSource.startLength(path.getName());
        MemorySegment bytes = MemorySegment.ofArray(new byte[(int) length]);
        if (bytes.byteSize() > 0) {
            read(0, bytes);
        }
        return bytes;
    }

    /// The status saves the client a request for it.
    private FSDataInputStream openStream() throws IOException {
        try {
            return fs.openFile(path).withFileStatus(status)
                    .opt(OpenFileOptions.FS_OPTION_OPENFILE_READ_POLICY, POLICY).opt(AZURE_DIRECT, "true")
                    .optLong(OpenFileOptions.FS_OPTION_OPENFILE_LENGTH, version.size()).build().get();
        } catch (InterruptedException e) {
            throw Retries.interrupted(location, e);
        } catch (ExecutionException e) {
            throw causeOf(e);
        }
    }

    private static IOException causeOf(ExecutionException e) {
        return e.getCause() instanceof IOException failure ? failure : new IOException(e.getCause());
    }

    @Override
    public String location() {
        return location;
    }

    @Override
    public long size() {
        return version.size();
    }

    @Override
    public synchronized MemorySegment start() {
        MemorySegment bytes = start == null ? MemorySegment.NULL : start;
        start = null;
        return bytes;
    }

    @Override
    public void read(long offset, MemorySegment into) throws IOException {
        repeated(from -> read(from, offset, into));
    }

    @Override
    public void confirm() throws IOException {
        repeated(_ -> requireSame());
    }

    /// An action on an open stream.
    @FunctionalInterface
    private interface Use {
        void on(FSDataInputStream from) throws IOException;
    }

    /// Each repetition uses a new stream, which asks the store anew where the bytes are.
    private void repeated(Use use) throws IOException {
        AtomicReference<@Nullable FSDataInputStream> used = new AtomicReference<>();
        RETRIES.run(LOG, location, () -> {
            FSDataInputStream failed = used.get();
            if (failed != null) {
                renew(failed);
            }
            FSDataInputStream from = stream;
            used.set(from);
            try {
                use.on(from);
                return from;
            } catch (IOException | RuntimeException | LinkageError e) {
                requireOpen();
                if (e instanceof InterruptedIOException && Thread.currentThread().isInterrupted()) {
                    throw e;
                }
                throw described(e instanceof IOException failure ? failure : new IOException(e.toString(), e));
            }
        });
    }

    private IOException described(IOException failure) throws IOException {
        Optional<RemoteFileException> definite = Failures.reading(location, failure);
        if (definite.isPresent()) {
            return definite.get();
        }
        requireSame();
        return new TransientException(Failures.failed(failure), Optional.empty(), failure);
    }

    private synchronized void renew(FSDataInputStream failed) throws IOException {
        requireOpen();
        if (stream == failed) {
            try {
                stream = openStream();
            } catch (IOException e) {
                throw Failures.reading(location, e).orElseGet(() -> Failures.unavailable(location, e, ""));
            }
            closeQuietly(failed);
        }
    }

    /// A read into heap arrays that this waits for cannot write to the destination later.
    private void read(FSDataInputStream from, long offset, MemorySegment into) throws IOException {
        int length = Math.toIntExact(into.byteSize());
        if (!from.hasCapability(StreamCapabilities.VECTOREDIO)
                && from.hasCapability(StreamCapabilities.PREADBYTEBUFFER)) {
            from.readFully(offset, into.asByteBuffer());
            return;
        }
        FileRange range = FileRange.createFileRange(offset, length);
        from.readVectored(List.of(range), ByteBuffer::allocate);
        try {
            MemorySegment bytes = MemorySegment.ofBuffer(range.getData().get());
            into.copyFrom(bytes.asSlice(0, length));
        } catch (InterruptedException e) {
            throw Retries.interrupted(location, e);
        } catch (ExecutionException e) {
            throw causeOf(e);
        }
    }

    private void requireSame() throws IOException {
        if (!isPinned && !isCurrent()) {
            throw Failures.changed(location, "replaced or removed", null);
        }
    }

    private void requireOpen() throws IOException {
        if (isClosed) {
            throw new IOException(location + " is closed");
        }
    }

    @Override
    public boolean isCurrent() throws IOException {
        requireOpen();
        try {
            return FileVersion.of(fs.getFileStatus(path)).equals(version);
        } catch (FileNotFoundException _) {
            return false;
        } catch (InterruptedIOException e) {
            throw e;
        } catch (IOException | RuntimeException e) {
            throw Failures.opening(location, e);
        }
    }

    @Override
    public RangeSource sibling(String name) throws IOException {
        requireOpen();
        return open(fs, HadoopTarget.sibling(path, name));
    }

    @Override
    public void close() {
        synchronized (this) {
            isClosed = true;
        }
        closeQuietly(stream);
    }

    private static void closeQuietly(FSDataInputStream stream) {
        try {
            stream.close();
        } catch (IOException | RuntimeException _) {
            // Nothing was written.
        }
    }
}
