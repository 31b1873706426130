package io.undercroft.hadoop.internal;

import io.undercroft.hadoop.internal.HadoopTarget.FileVersion;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.serializer.spi.StoreOutput;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.WeakHashMap;
import org.apache.hadoop.fs.Abortable;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options.CreateFileOptionKeys;
import org.apache.hadoop.fs.Options.Rename;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StreamCapabilities;
import org.jspecify.annotations.Nullable;

/// A file that the client of Hadoop writes, and that is visible when it is complete: by the last request of an
/// [Upload], or by [renaming][Renamed].
abstract sealed class StoreFile implements StoreOutput {
    /// Streams take arrays only.
    private static final int PIECE = 1 << 18;

    final HadoopTarget target;
    final @Nullable FileVersion before;
    final FSDataOutputStream stream;
    private final byte[] piece = new byte[PIECE];

    private StoreFile(HadoopTarget target, @Nullable FileVersion before, FSDataOutputStream stream) {
        this.target = target;
        this.before = before;
        this.stream = stream;
    }

    @Override
    public void write(long position, MemorySegment bytes) throws IOException {
        for (long done = 0; done < bytes.byteSize(); done += PIECE) {
            int length = (int) Math.min(PIECE, bytes.byteSize() - done);
            MemorySegment.copy(bytes, ValueLayout.JAVA_BYTE, done, piece, 0, length);
            try {
                stream.write(piece, 0, length);
            } catch (IOException | RuntimeException e) {
                throw failure(e);
            }
        }
    }

    /// Fails if another writer was faster.
    final void requireSame() throws IOException {
        if (!Objects.equals(target.version(), before)) {
            throw Failures.conflict(target.location(), null);
        }
    }

    final RemoteFileException failure(Exception e) {
        return Failures.writing(target.location(), e);
    }

    /// A file that is visible when its stream is closed, as an object of S3: it is uploaded in parts, and the last
    /// request makes it of them. The file is looked up just before it; and if the client supports it, the request has
    /// the condition that no other writer was faster, which not every store obeys.
    static final class Upload extends StoreFile {
        private static final String BUFFER = "fs.s3a.fast.upload.buffer";
        private static final String REUSED_BUFFERS = "bytebuffer";

        private boolean isDone;

        private Upload(HadoopTarget target, @Nullable FileVersion before, FSDataOutputStream stream) {
            super(target, before, stream);
        }

        static Upload begin(HadoopTarget target, @Nullable FileVersion before) throws IOException {
            requireOwnBuffers(target);
            // The declared type of the builder has lost its parameters.
            @SuppressWarnings("unchecked")
            FSDataOutputStreamBuilder<FSDataOutputStream, ?> builder = target.fs().createFile(target.path());
            builder.overwrite(true).recursive();
            if (before == null) {
                if (can(target, CreateFileOptionKeys.FS_OPTION_CREATE_CONDITIONAL_OVERWRITE)) {
                    builder.must(CreateFileOptionKeys.FS_OPTION_CREATE_CONDITIONAL_OVERWRITE, true);
                }
            } else if (before.etag() != null
                    && can(target, CreateFileOptionKeys.FS_OPTION_CREATE_CONDITIONAL_OVERWRITE_ETAG)) {
                builder.must(CreateFileOptionKeys.FS_OPTION_CREATE_CONDITIONAL_OVERWRITE_ETAG, before.etag());
            }
            return new Upload(target, before, builder.build());
        }

        /// An upload that is aborted returns its buffers to the pool of S3A while its threads may still read them,
        /// which moves their positions: the next file has bytes of the aborted one (Hadoop 3.5.0).
        private static void requireOwnBuffers(HadoopTarget target) throws RemoteFileException {
            if (target.fs().getUri().getScheme().equalsIgnoreCase("s3a")
                    && target.fs().getConf().getTrimmed(BUFFER, "").equals(REUSED_BUFFERS)) {
                throw new RemoteFileException(target.location(), Kind.UNSUPPORTED, "S3A is configured with " + BUFFER
                        + "=" + REUSED_BUFFERS + ", with which bytes of an upload that failed may get into the next "
                        + "file; set it to disk or array", null);
            }
        }

        private static boolean can(HadoopTarget target, String option) throws IOException {
            return target.fs().hasPathCapability(target.path(), option);
        }

        @Override
        public void commit() throws IOException {
            requireSame();
            isDone = true;
            try {
                stream.close();
            } catch (IOException | RuntimeException e) {
                throw failure(e);
            }
        }

        @Override
        public void close() throws IOException {
            if (isDone) {
                return;
            }
            isDone = true;
            try {
                Abortable.AbortableResult result = stream.abort();
                stream.close();
                if (result.anyCleanupException() != null) {
                    throw result.anyCleanupException();
                }
            } catch (IOException | RuntimeException e) {
                throw failure(e);
            }
        }
    }

    /// A file that has another name until it is complete, and is then renamed in one step, as on HDFS. Renaming never
    /// replaces a file if there was none; a file that is replaced is looked up just before.
    static final class Renamed extends StoreFile {
        /// A context has a client of its own, which nobody closes: one for each file system, not for each file.
        private static final Map<FileSystem, FileContext> CONTEXTS = new WeakHashMap<>();

        private final Path temporary;
        private boolean isClosed;
        private boolean isNamed;

        private Renamed(HadoopTarget target, @Nullable FileVersion before, Path temporary, FSDataOutputStream stream) {
            super(target, before, stream);
            this.temporary = temporary;
        }

        static Renamed begin(HadoopTarget target, @Nullable FileVersion before) throws IOException {
            // Tools of Hadoop skip names that begin with a dot.
            Path temporary = HadoopTarget.sibling(target.path(),
                    "." + target.fileName() + "." + UUID.randomUUID() + ".croft-tmp");
            return new Renamed(target, before, temporary, target.fs().create(temporary, false));
        }

        @Override
        public void commit() throws IOException {
            try {
                if (stream.hasCapability(StreamCapabilities.HSYNC)) {
                    stream.hsync();
                }
                isClosed = true;
                stream.close();
            } catch (IOException | RuntimeException e) {
                throw failure(e);
            }
            if (before != null) {
                requireSame();
            }
            try {
                contextOf(target.fs()).rename(temporary, target.path(),
                        before == null ? Rename.NONE : Rename.OVERWRITE);
                isNamed = true;
            } catch (IOException | RuntimeException e) {
                throw hasOther(e) ? Failures.conflict(target.location(), e) : failure(e);
            }
        }

        /// Returns whether another writer was faster: some clients say only that a file was not renamed.
        private boolean hasOther(Exception failure) {
            try {
                return !Objects.equals(target.version(), before) && target.fs().exists(temporary);
            } catch (IOException | RuntimeException e) {
                failure.addSuppressed(e);
                return false;
            }
        }

        private static FileContext contextOf(FileSystem fs) throws IOException {
            synchronized (CONTEXTS) {
                FileContext context = CONTEXTS.get(fs);
                if (context == null) {
                    context = FileContext.getFileContext(fs.getUri(), fs.getConf());
                    CONTEXTS.put(fs, context);
                }
                return context;
            }
        }

        @Override
        public void close() throws IOException {
            if (isNamed) {
                return;
            }
            isNamed = true;
            Throwable failure = null;
            if (!isClosed) {
                try {
                    stream.close();
                } catch (IOException | RuntimeException e) {
                    // What it failed to write is deleted.
                    failure = e;
                }
            }
            try {
                target.fs().delete(temporary, false);
            } catch (IOException | RuntimeException e) {
                if (failure != null) {
                    e.addSuppressed(failure);
                }
                throw failure(e);
            }
        }
    }
}
