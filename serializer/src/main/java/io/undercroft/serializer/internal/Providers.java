package io.undercroft.serializer.internal;

import io.undercroft.serializer.spi.CheckpointFormat;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/// The formats that `ServiceLoader` finds, which may be those of third parties. If one fails, that is logged once as a
/// warning, and does not affect the others.
final class Providers {
    private static final Logger LOG = System.getLogger(Providers.class.getName());
    /// After this many failures in a row, loading ends.
    private static final int MOST_FAULTS = 100;
    private static final String OURS = "io.undercroft.";
    /// The subjects of warnings that were logged, which are few.
    private static final Set<String> WARNED = ConcurrentHashMap.newKeySet();

    private Providers() {}

    /// {@return the formats next to this library and those of the thread's context class loader, each class once; ours
    /// first, the others in the order in which they were found}
    ///
    /// @param taken names that none of them may have; of two with the same name the second is left out
    static List<CheckpointFormat> formats(String... taken) {
        List<CheckpointFormat> found = new ArrayList<>();
        ClassLoader own = CheckpointFormat.class.getClassLoader();
        ClassLoader context = Thread.currentThread().getContextClassLoader();
        find(own, found);
        if (context != own) {
            find(context, found);
        }
        found.sort(Comparator.comparing(format -> !format.getClass().getName().startsWith(OURS)));
        return distinct(found, new HashSet<>(List.of(taken)));
    }

    /// Each failure concerns one provider, and the iterator continues after it.
    private static void find(@Nullable ClassLoader loader, List<CheckpointFormat> found) {
        Iterator<CheckpointFormat> formats = ServiceLoader.load(CheckpointFormat.class, loader).iterator();
        int faults = 0;
        while (faults < MOST_FAULTS) {
            try {
                if (!formats.hasNext()) {
                    return;
                }
                found.add(formats.next());
            } catch (ServiceConfigurationError | LinkageError e) {
                faults++;
                warn(String.valueOf(e.getMessage()), "a file format cannot be loaded, and is skipped: " + e, e);
            }
        }
    }

    private static List<CheckpointFormat> distinct(List<CheckpointFormat> found, Set<String> names) {
        Set<Class<?>> classes = new HashSet<>();
        List<CheckpointFormat> formats = new ArrayList<>();
        for (CheckpointFormat format : found) {
            if (classes.add(format.getClass())) {
                fault(format, names).ifPresentOrElse(
                        fault -> warn(format.getClass().getName(),
                                "the file format " + format.getClass().getName() + " is skipped: " + fault, null),
                        () -> formats.add(format));
            }
        }
        return formats;
    }

    private static Optional<String> fault(CheckpointFormat format, Set<String> names) {
        try {
            List.copyOf(format.suffixes());
            List.copyOf(format.settings());
            Set.copyOf(format.capabilities());
            String name = Objects.requireNonNull(format.name(), "its name is null");
            return names.add(name) ? Optional.empty() : Optional.of("there is one with the name " + name);
        } catch (RuntimeException | LinkageError e) {
            return Optional.of("it does not say what it can do: " + e);
        }
    }

    /// Logs a warning, once for each subject.
    ///
    /// @param about the subject of the message
    /// @param message the problem
    /// @param cause the exception, or null
    static void warn(String about, String message, @Nullable Throwable cause) {
        if (WARNED.add(about)) {
            LOG.log(Level.WARNING, message, cause);
        }
    }
}
