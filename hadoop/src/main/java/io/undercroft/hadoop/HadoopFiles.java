package io.undercroft.hadoop;

import io.undercroft.hadoop.internal.HadoopSource;
import io.undercroft.hadoop.internal.HadoopTarget;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.spi.RangeSource;
import io.undercroft.serializer.spi.StoreTarget;
import java.io.IOException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/// Opens and saves checkpoints in a [FileSystem] that the program has created.
///
/// ```java
/// FileSystem fs = FileSystem.get(URI.create("s3a://bucket"), configuration);
/// Checkpoint.save(HadoopFiles.target(fs, new Path("/models/a.croft")), state, SaveOptions.defaults());
/// try (Checkpoint c = Checkpoint.open(HadoopFiles.source(fs, new Path("/models/a.croft")), OpenOptions.defaults())) {
///     Tensor weight = c.tensor("weight");
/// }
/// ```
///
/// The file system must stay open as long as its files are open; it is not closed by this library.
public final class HadoopFiles {
    private HadoopFiles() {}

    /// Opens a file for reading.
    ///
    /// @param fs the file system
    /// @param path the path
    /// @return the file, for [Checkpoint.open][io.undercroft.serializer.Checkpoint#open(RangeSource,
    ///     io.undercroft.serializer.OpenOptions)], which closes it
    /// @throws RemoteFileException if it does not exist, or the store refuses the request or does not respond
    /// @throws IOException if the open fails for another reason
    public static RangeSource source(FileSystem fs, Path path) throws IOException {
        return HadoopSource.open(fs, path);
    }

    /// {@return the location of a file to write, for
    /// [Checkpoint.save][io.undercroft.serializer.Checkpoint#save(StoreTarget, Object,
    /// io.undercroft.serializer.SaveOptions)]}
    ///
    /// @param fs the file system
    /// @param path the path
    public static StoreTarget target(FileSystem fs, Path path) {
        return HadoopTarget.of(fs, path);
    }
}
