package io.undercroft.interop.torch;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import java.io.IOException;
import java.lang.management.ClassLoadingMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.List;

/// A process that opens a pickle twice and then another one, and prints how many classes the JVM loaded for that, and
/// how many the file names.
final class NamedClassesPeer {
    /// Loaded before the last file is opened, so that it shows in the JVM's log.
    private static final class Marker {}

    private NamedClassesPeer() {}

    /// Runs it.
    ///
    /// @param args two files
    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws IOException {
        ClassLoadingMXBean classes = ManagementFactory.getClassLoadingMXBean();
        open(args[0]);
        open(args[0]);
        String marker = new Marker().getClass().getName();
        long before = classes.getTotalLoadedClassCount();
        int named = open(args[1]);
        long loaded = classes.getTotalLoadedClassCount() - before;
        System.out.println(marker + " " + loaded + " " + named);
    }

    private static int open(String file) throws IOException {
        try (Checkpoint c = Checkpoint.open(Path.of(file), OpenOptions.defaults().format("pickle"))) {
            return c.tree() instanceof List<?> list && !list.isEmpty() ? c.foreignClasses().size() : 0;
        }
    }
}
