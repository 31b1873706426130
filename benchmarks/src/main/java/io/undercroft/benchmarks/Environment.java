package io.undercroft.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/// The machine and software on which a figure depends.
public final class Environment {
    private Environment() {}

    /// {@return the JDK, the processors, the kernel and the file system}
    ///
    /// @param directory where the files of the measurement lie
    /// @throws IOException if the directory cannot be asked for its file system
    public static Map<String, String> of(Path directory) throws IOException {
        Map<String, String> found = new LinkedHashMap<>();
        found.put("jdk", System.getProperty("java.vm.vendor") + " " + System.getProperty("java.vm.version"));
        found.put("cpus", Integer.toString(Runtime.getRuntime().availableProcessors()));
        found.put("kernel", System.getProperty("os.name") + " " + System.getProperty("os.version") + " "
                + System.getProperty("os.arch"));
        found.put("filesystem", Files.getFileStore(directory).type());
        return found;
    }
}
