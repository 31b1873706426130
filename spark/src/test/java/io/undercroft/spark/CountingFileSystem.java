package io.undercroft.spark;

import java.net.URI;
import org.apache.hadoop.fs.RawLocalFileSystem;

/// The files of this host with URIs of the scheme of [CountingStore], for listing.
public final class CountingFileSystem extends RawLocalFileSystem {
    /// For Hadoop.
    public CountingFileSystem() {}

    @Override
    public URI getUri() {
        return URI.create("count:///");
    }

    @Override
    public String getScheme() {
        return "count";
    }
}
