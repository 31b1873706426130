package io.undercroft.hadoop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;

/// Files with a configuration, for the setting that names one.
final class ConfigurationFile {
    private ConfigurationFile() {}

    /// {@return the name of a new file, which is deleted when the JVM ends}
    static String of(Configuration configuration) throws IOException {
        Path file = Files.createTempFile("undercroft", ".xml");
        file.toFile().deleteOnExit();
        try (var out = Files.newOutputStream(file)) {
            configuration.writeXml(out);
        }
        return file.toString();
    }
}
