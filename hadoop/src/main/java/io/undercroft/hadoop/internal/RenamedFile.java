package io.undercroft.hadoop.internal;

import io.undercroft.serializer.spi.StoreOutput;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.WeakHashMap;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options.Rename;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StreamCapabilities;
import org.jspecify.annotations.Nullable;

/// A file that has another name until it is complete, and is then renamed in one step, as on HDFS. Renaming never
/// replaces a file if there was none; a file that is replaced is looked up just before.
final class RenamedFile implements StoreOutput {
    /// A context has a client of its own, which nobody closes: one for each file system, not for each file.
    private static final Map<FileSystem, FileContext> CONTEXTS = new WeakHashMap<>();

    private final HadoopTarget target;
    private final @Nullable FileVersion before;
    private final Path temporary;
    private final FSDataOutputStream stream;
    private final Pieces pieces = new Pieces();
    private boolean isClosed;
    private boolean isNamed;

    private RenamedFile(HadoopTarget target, @Nullable FileVersion before, Path temporary, FSDataOutputStream stream) {
        this.target = target;
        this.before = before;
        this.temporary = temporary;
        this.stream = stream;
    }

    static RenamedFile begin(HadoopTarget target, @Nullable FileVersion before) throws IOException {
        // Tools of Hadoop skip names that begin with a dot.
        Path temporary = HadoopTarget.sibling(target.path(),
                "." + target.fileName() + "." + UUID.randomUUID() + ".croft-tmp");
        return new RenamedFile(target, before, temporary, target.fs().create(temporary, false));
    }

    @Override
    public void write(MemorySegment bytes) throws IOException {
        pieces.write(bytes, stream, target.location());
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
            throw Failures.writing(target.location(), e);
        }
        if (before != null && !Objects.equals(target.version(), before)) {
            throw Failures.conflict(target.location(), null);
        }
        try {
            contextOf(target.fs()).rename(temporary, target.path(), before == null ? Rename.NONE : Rename.OVERWRITE);
            isNamed = true;
        } catch (IOException | RuntimeException e) {
            throw hasOther(e) ? Failures.conflict(target.location(), e) : Failures.writing(target.location(), e);
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
            throw Failures.writing(target.location(), e);
        }
    }
}
