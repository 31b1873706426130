package io.undercroft.hadoop.internal;

import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.serializer.spi.StoreOutput;
import io.undercroft.serializer.spi.StoreTarget;
import java.io.FileNotFoundException;
import java.io.IOException;
import org.apache.hadoop.fs.CommonPathCapabilities;
import org.apache.hadoop.fs.EtagSource;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.jspecify.annotations.Nullable;

/// The place of a file that the client of Hadoop writes.
///
/// @param fs its file system
/// @param path its full path
/// @param location its name for messages
public record HadoopTarget(FileSystem fs, Path path, String location) implements StoreTarget {
    /// {@return the place of a file}
    ///
    /// @param fs its file system
    /// @param path its path
    public static HadoopTarget of(FileSystem fs, Path path) {
        Path full = path.makeQualified(fs.getUri(), fs.getWorkingDirectory());
        return new HadoopTarget(fs, full, HadoopProvider.location(full.toUri()));
    }

    @Override
    public String fileName() {
        return path.getName();
    }

    @Override
    public boolean exists() throws IOException {
        return status() != null;
    }

    /// {@return the version of the file that is there now, or null}
    ///
    /// @throws RemoteFileException if there is a directory, or the store refuses or does not respond
    @Nullable
    FileVersion version() throws IOException {
        FileStatus status = status();
        if (status != null && status.isDirectory()) {
            throw new RemoteFileException(location, Kind.UNSUPPORTED, "there is a directory of that name; name a file "
                    + "in it", null);
        }
        return status == null ? null : FileVersion.of(status);
    }

    private @Nullable FileStatus status() throws IOException {
        try {
            return fs.getFileStatus(path);
        } catch (FileNotFoundException e) {
            if (e.getClass() != FileNotFoundException.class) {
                // There is no bucket.
                throw Failures.writing(location, e);
            }
            return null;
        } catch (IOException | RuntimeException | LinkageError e) {
            throw Failures.writing(location, e);
        }
    }

    /// {@inheritDoc}
    ///
    /// A stream that can be aborted makes its file visible when it is closed. Other file systems write a file of
    /// another name, and rename it.
    @Override
    public StoreOutput create(Creation condition) throws IOException {
        FileVersion before = version();
        if (before != null && condition == Creation.IF_ABSENT) {
            throw Failures.conflict(location, null);
        }
        try {
            return fs.hasPathCapability(path, CommonPathCapabilities.ABORTABLE_STREAM)
                    ? StoreFile.Upload.begin(this, before)
                    : StoreFile.Renamed.begin(this, before);
        } catch (IOException | RuntimeException | LinkageError e) {
            throw Failures.writing(location, e);
        }
    }

    @Override
    public void delete() throws IOException {
        try {
            fs.delete(path, false);
        } catch (IOException | RuntimeException e) {
            throw Failures.writing(location, e);
        }
    }

    @Override
    public StoreTarget sibling(String name) {
        return of(fs, sibling(path, name));
    }

    /// {@return a path in the directory of another one, or below it} No character of the name has another meaning.
    ///
    /// @param path the other path
    /// @param name the name, or several with `/` between them
    static Path sibling(Path path, String name) {
        String directory = Path.getPathWithoutSchemeAndAuthority(path).getParent().toString();
        return new Path(path.toUri().getScheme(), path.toUri().getAuthority(),
                (directory.endsWith("/") ? directory : directory + '/') + name);
    }

    /// The version of a file: distinguishes it from one that replaced it.
    ///
    /// @param size its size in bytes
    /// @param modified when it was written last, in milliseconds; 0 if it has an entity tag, whose time of a listing
    ///     may be another one
    /// @param etag its entity tag, or null
    record FileVersion(long size, long modified, @Nullable String etag) {
        static FileVersion of(FileStatus status) {
            String etag = status instanceof EtagSource source ? source.getEtag() : null;
            return etag == null || etag.isEmpty()
                    ? new FileVersion(status.getLen(), status.getModificationTime(), null)
                    : new FileVersion(status.getLen(), 0, etag);
        }
    }
}
