package io.undercroft.spark.internal.files;

import io.undercroft.hadoop.HadoopFiles;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import java.io.IOException;
import java.io.Serializable;
import java.net.URI;
import java.nio.file.Path;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.spark.util.SerializableConfiguration;
import org.jspecify.annotations.Nullable;

/// Opens and writes files in tasks: those of the host by their paths, all others by Hadoop's file systems, which have
/// the configuration of the session.
///
/// @param configuration the configuration
/// @param root the directory on the host below which bases are; null for the directory of the file that needs them
public record FileAccess(SerializableConfiguration configuration, @Nullable String root) implements Serializable {
    /// Access with a configuration.
    ///
    /// @param configuration the configuration
    /// @param root the directory on the host below which bases are; null for the directory of the file that needs them
    public FileAccess(Configuration configuration, @Nullable String root) {
        this(new SerializableConfiguration(configuration), root);
    }

    /// Opens a file, without bytes of its storages.
    ///
    /// @param file the file
    /// @param options how
    /// @return what it holds
    /// @throws IOException if it is missing or not readable
    public Checkpoint open(DataFile file, OpenOptions options) throws IOException {
        Optional<Path> path = file.local();
        OpenOptions rooted = root == null ? options : options.root(Path.of(root));
        return path.isPresent()
                ? Checkpoint.open(path.get(), rooted)
                : Checkpoint.open(HadoopFiles.source(system(file.uri()), path(file.uri())), rooted);
    }

    /// Saves a state, atomically.
    ///
    /// @param target the file to make or replace
    /// @param state the state
    /// @param options how
    /// @return the bytes that were written and shared
    /// @throws IOException if writing fails
    public SaveReport save(URI target, @Nullable Object state, SaveOptions options) throws IOException {
        Optional<Path> path = DataFile.pathOf(target);
        return path.isPresent()
                ? Checkpoint.save(path.get(), state, options)
                : Checkpoint.save(HadoopFiles.target(system(target), path(target)), state, options);
    }

    private FileSystem system(URI uri) throws IOException {
        return FileSystem.get(uri, configuration.value());
    }

    private static org.apache.hadoop.fs.Path path(URI uri) {
        return new org.apache.hadoop.fs.Path(uri);
    }
}
