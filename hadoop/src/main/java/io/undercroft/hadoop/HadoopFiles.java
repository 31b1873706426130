package io.undercroft.hadoop;

import io.undercroft.hadoop.internal.HadoopSource;
import io.undercroft.hadoop.internal.HadoopTarget;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.spi.RangeSource;
import io.undercroft.serializer.spi.StoreTarget;
import java.io.IOException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/// Files of a [FileSystem] that the program made.
///
/// ```java
/// FileSystem fs = FileSystem.get(URI.create("s3a://bucket"), configuration);
/// Checkpoint.save(HadoopFiles.target(fs, new Path("/models/a.croft")), state, SaveOptions.defaults());
/// try (Checkpoint c = Checkpoint.open(HadoopFiles.source(fs, new Path("/models/a.croft")), OpenOptions.defaults())) {
///     Tensor weight = c.tensor("weight");
/// }
/// ```
///
/// The file system is not closed here, and must stay open as long as its files are.
public final class HadoopFiles {
    private HadoopFiles() {}

    /// Opens a file for reading.
    ///
    /// @param fs its file system
    /// @param path its path
    /// @return the file, for [Checkpoint.open][io.undercroft.serializer.Checkpoint#open(RangeSource,
    ///     io.undercroft.serializer.OpenOptions)], which closes it
    /// @throws RemoteFileException if it is not there, or the store refuses or does not respond
    /// @throws IOException if opening fails for another reason
    public static RangeSource source(FileSystem fs, Path path) throws IOException {
        return HadoopSource.open(fs, path);
    }

    /// {@return the place of a file to write, for
    /// [Checkpoint.save][io.undercroft.serializer.Checkpoint#save(StoreTarget, Object,
    /// io.undercroft.serializer.SaveOptions)]}
    ///
    /// @param fs its file system
    /// @param path its path
    public static StoreTarget target(FileSystem fs, Path path) {
        return HadoopTarget.of(fs, path);
    }
}
