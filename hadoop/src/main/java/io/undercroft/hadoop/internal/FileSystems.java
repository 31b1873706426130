package io.undercroft.hadoop.internal;

import io.undercroft.mmap.RemoteFileException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.security.UserGroupInformation;
import org.jspecify.annotations.Nullable;

/// The file systems of URIs, configured as users of Hadoop expect it: by the files on the class path, in the directory
/// of `HADOOP_CONF_DIR`, and one that a setting names. Safe for any thread.
final class FileSystems {
    private static final String DIRECTORY = "HADOOP_CONF_DIR";
    private static final List<String> FILES = List.of("core-site.xml", "hdfs-site.xml");

    /// Those with a configuration of their own, which Hadoop's cache would mix up with others. As those of Hadoop they
    /// stay open until the JVM ends.
    private static final Map<Key, FileSystem> CONFIGURED = new ConcurrentHashMap<>();

    /// The configuration that was used last, since reading its files takes longer than to open a small checkpoint.
    private static volatile @Nullable Known last;

    /// @param environment the directory that its files are in, if one is set
    /// @param loader what loads classes of connectors
    private record Known(Optional<Path> environment, @Nullable ClassLoader loader, Configuration configuration) {}

    private record Key(Path file, Object version, String scheme, String authority, String user) {}

    private FileSystems() {}

    /// {@return the file system of a URI}
    ///
    /// @param uri the URI
    /// @param file a file with more of the configuration, if the user gave one
    /// @param environment the value of `HADOOP_CONF_DIR`, if it is set
    /// @throws RemoteFileException if there is none, or it cannot be reached
    /// @throws IllegalArgumentException if the URI or the file is invalid
    static FileSystem of(URI uri, Optional<Path> file, Optional<Path> environment) throws RemoteFileException {
        String location = HadoopProvider.location(uri);
        try {
            if (file.isEmpty()) {
                return FileSystem.get(uri, configuration(environment));
            }
            if (!Files.isReadable(file.get())) {
                throw new IllegalArgumentException("the setting " + HadoopProvider.CONFIGURATION + " names "
                        + file.get() + ", which is not there or not readable");
            }
            Configuration configuration = read(environment);
            configuration.addResource(new org.apache.hadoop.fs.Path(file.get().toUri()));
            setDefaults(configuration);
            Key key = new Key(file.get().toAbsolutePath(), Files.getLastModifiedTime(file.get()),
                    String.valueOf(uri.getScheme()).toLowerCase(Locale.ROOT), String.valueOf(uri.getAuthority()),
                    UserGroupInformation.getCurrentUser().getUserName());
            FileSystem known = CONFIGURED.get(key);
            if (known != null) {
                return known;
            }
            FileSystem made = FileSystem.newInstance(uri, configuration);
            FileSystem other = CONFIGURED.putIfAbsent(key, made);
            if (other != null) {
                made.close();
                return other;
            }
            return made;
        } catch (IOException | RuntimeException | LinkageError e) {
            if (e instanceof IllegalArgumentException refused && e.getCause() == null) {
                throw new IllegalArgumentException(location + ": " + refused.getMessage(), refused);
            }
            throw Failures.opening(location, e);
        }
    }

    private static Configuration configuration(Optional<Path> environment) {
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        Known known = last;
        if (known != null && known.environment.equals(environment) && known.loader == loader) {
            return known.configuration;
        }
        Configuration configuration = read(environment);
        setDefaults(configuration);
        last = new Known(environment, loader, configuration);
        return configuration;
    }

    private static Configuration read(Optional<Path> environment) {
        Configuration configuration = new Configuration();
        environment.ifPresent(directory -> addDirectory(directory, configuration));
        return configuration;
    }

    /// The stream that is the default of S3A since Hadoop 3.5 reads more of an object than was asked for, and keeps it
    /// in memory.
    private static void setDefaults(Configuration configuration) {
        configuration.setIfUnset("fs.s3a.input.stream.type", "classic");
    }

    /// On the class path they are known already.
    private static void addDirectory(Path directory, Configuration configuration) {
        for (String name : FILES) {
            Path file = directory.resolve(name);
            if (Files.isReadable(file)) {
                configuration.addResource(new org.apache.hadoop.fs.Path(file.toUri()));
            }
        }
    }

    /// {@return the value of `HADOOP_CONF_DIR`, if it is set}
    static Optional<Path> environment() {
        return Optional.ofNullable(System.getenv(DIRECTORY)).filter(text -> !text.isBlank()).map(Path::of);
    }
}
