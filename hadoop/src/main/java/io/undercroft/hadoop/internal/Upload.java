package io.undercroft.hadoop.internal;

import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.serializer.spi.StoreOutput;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.apache.hadoop.fs.Abortable;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.Options.CreateFileOptionKeys;
import org.jspecify.annotations.Nullable;

/// A file that is visible when its stream is closed, as an object of S3: it is uploaded in parts, and the last request
/// makes it of them. The file is looked up just before it; and if the client supports it, the request has the condition
/// that no other writer was faster, which not every store obeys.
final class Upload implements StoreOutput {
    private static final String BUFFER = "fs.s3a.fast.upload.buffer";
    private static final String REUSED_BUFFERS = "bytebuffer";

    private final HadoopTarget target;
    private final @Nullable FileVersion before;
    private final FSDataOutputStream stream;
    private final Pieces pieces = new Pieces();
    private boolean isDone;

    private Upload(HadoopTarget target, @Nullable FileVersion before, FSDataOutputStream stream) {
        this.target = target;
        this.before = before;
        this.stream = stream;
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

    /// An upload that is aborted returns its buffers to the pool of S3A while its threads may still read them, which
    /// moves their positions: the next file has bytes of the aborted one (Hadoop 3.5.0).
    private static void requireOwnBuffers(HadoopTarget target) throws RemoteFileException {
        if (target.fs().getUri().getScheme().equalsIgnoreCase("s3a")
                && target.fs().getConf().getTrimmed(BUFFER, "").equals(REUSED_BUFFERS)) {
            throw new RemoteFileException(target.location(), Kind.UNSUPPORTED, "S3A is configured with " + BUFFER + "="
                    + REUSED_BUFFERS + ", with which bytes of an upload that failed may get into the next file; "
                    + "set it to disk or array", null);
        }
    }

    private static boolean can(HadoopTarget target, String option) throws IOException {
        return target.fs().hasPathCapability(target.path(), option);
    }

    @Override
    public void write(MemorySegment bytes) throws IOException {
        pieces.write(bytes, stream, target.location());
    }

    @Override
    public void commit() throws IOException {
        if (!Objects.equals(target.version(), before)) {
            throw Failures.conflict(target.location(), null);
        }
        isDone = true;
        try {
            stream.close();
        } catch (IOException | RuntimeException e) {
            throw Failures.writing(target.location(), e);
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
            throw Failures.writing(target.location(), e);
        }
    }
}
