package io.undercroft.hadoop.internal;

import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.mmap.spi.RangeSource;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.serializer.spi.StoreProvider;
import io.undercroft.serializer.spi.StoreTarget;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.apache.hadoop.fs.FileSystem;

/// Opens and saves files by the client of Hadoop.
public final class HadoopProvider implements StoreProvider {
    /// The setting with a file of the configuration.
    static final String CONFIGURATION = "hadoop.conf";

    private static final String VALUES = "none, or a file as core-site.xml";

    /// For `ServiceLoader`.
    public HadoopProvider() {}

    @Override
    public Set<String> schemes() {
        // Without `http` and `file`, which Hadoop knows too, and which others open better.
        return Set.of("hdfs", "webhdfs", "swebhdfs", "viewfs", "s3a", "abfs", "abfss", "gs", "o3fs", "ofs", "oss",
                "cosn", "obs", "wasb", "wasbs");
    }

    @Override
    public List<Setting> settings() {
        return List.of(Setting.ofOpening(CONFIGURATION, VALUES), Setting.ofWriting(CONFIGURATION, VALUES));
    }

    @Override
    public RangeSource open(URI uri, OpenOptions options) throws IOException {
        check(uri);
        try {
            return HadoopSource.open(fileSystem(uri, options.setting(CONFIGURATION)),
                    new org.apache.hadoop.fs.Path(uri));
        } catch (NoClassDefFoundError e) {
            throw withoutClient(uri, e);
        }
    }

    @Override
    public StoreTarget target(URI uri, SaveOptions options) throws IOException {
        check(uri);
        try {
            return HadoopTarget.of(fileSystem(uri, options.setting(CONFIGURATION)),
                    new org.apache.hadoop.fs.Path(uri));
        } catch (NoClassDefFoundError e) {
            throw withoutClient(uri, e);
        }
    }

    /// This class is loaded without the client, too, so that it can say what is missing.
    private static RemoteFileException withoutClient(URI uri, NoClassDefFoundError e) {
        return new RemoteFileException(location(uri), Kind.UNSUPPORTED, "the client of Hadoop is missing ("
                + e.getMessage()
                + "); add hadoop-client-api, hadoop-client-runtime and the connector of the store, or the output of "
                + "hadoop classpath --glob, to the class path", e);
    }

    private static void check(URI uri) {
        if (uri.getRawUserInfo() != null && uri.getRawUserInfo().contains(":")) {
            throw new IllegalArgumentException("the URI of " + uri.getHost() + " contains credentials; leave them out, "
                    + "and configure the client of Hadoop with them");
        }
        if (uri.getRawQuery() != null || uri.getRawFragment() != null) {
            throw new IllegalArgumentException(location(uri) + ": a file of Hadoop has a path only, "
                    + "without ? and #; write these characters as %3F and %23");
        }
        if (uri.getPath() == null || uri.getPath().isEmpty()) {
            throw new IllegalArgumentException(location(uri) + " names no file");
        }
    }

    private static FileSystem fileSystem(URI uri, Optional<String> configuration) throws IOException {
        return FileSystems.of(uri, configuration.map(Path::of), FileSystems.environment());
    }

    /// {@return a URI for messages, without credentials} What is before `@` is kept if it is a name only, as that of a
    /// container of Azure.
    ///
    /// @param uri the URI
    static String location(URI uri) {
        String authority = uri.getRawAuthority() == null ? "" : uri.getRawAuthority();
        int at = authority.lastIndexOf('@');
        boolean isName = authority.lastIndexOf(':', at) < 0;
        return uri.getScheme() + "://" + (isName ? authority : authority.substring(at + 1)) + uri.getPath();
    }
}
