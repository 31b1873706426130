package io.undercroft.spark;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;

/// [CountingFileSystem] for what renames files by `FileContext`.
public final class CountingFileContext extends DelegateToFileSystem {
    /// For Hadoop.
    ///
    /// @param uri the URI of the file system
    /// @param configuration its configuration
    public CountingFileContext(URI uri, Configuration configuration) throws IOException, URISyntaxException {
        super(uri, new CountingFileSystem(), configuration, "count", false);
    }
}
