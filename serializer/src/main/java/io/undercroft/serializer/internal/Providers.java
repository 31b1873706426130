package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.spi.CheckpointFormat;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
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
    /// After this many failures, loading ends.
    private static final int MOST_FAULTS = 100;
    private static final String OURS = "io.undercroft.";
    /// The subjects of warnings that were logged, which are few.
    private static final Set<String> WARNED = ConcurrentHashMap.newKeySet();

    private Providers() {}

    /// A test of formats.
    @FunctionalInterface
    interface Test {
        /// {@return whether this is the wanted format}
        boolean isWanted(CheckpointFormat format) throws IOException;
    }

    /// {@return the formats next to this library and those of the thread's context class loader, each class once; ours
    /// first, the others in the order in which they were found}
    ///
    /// @param taken a name that none of them may have; of two with the same name the second is left out
    static List<CheckpointFormat> formats(String taken) {
        List<CheckpointFormat> formats = new ArrayList<>();
        try {
            CheckpointFormat _ = first(taken, format -> !formats.add(format));
        } catch (IOException impossible) {
            throw new AssertionError(impossible);
        }
        return formats;
    }

    /// {@return the first of [#formats] that passes a test, or null} Ours are loaded only until one of them does.
    ///
    /// @param taken a name that none of them may have
    /// @param test the test
    /// @throws IOException if the test throws it
    static @Nullable CheckpointFormat first(String taken, Test test) throws IOException {
        ClassLoader own = CheckpointFormat.class.getClassLoader();
        ClassLoader context = Thread.currentThread().getContextClassLoader();
        List<CheckpointFormat> others = new ArrayList<>();
        Set<Class<?>> classes = new HashSet<>();
        Set<String> names = new HashSet<>(Set.of(taken));
        CheckpointFormat found = firstOfOurs(own, others, classes, names, test);
        if (found == null && context != own) {
            found = firstOfOurs(context, others, classes, names, test);
        }
        if (found != null) {
            return found;
        }
        for (CheckpointFormat other : others) {
            if (isUsable(other, classes, names) && test.isWanted(other)) {
                return other;
            }
        }
        return null;
    }

    /// The providers of a class that can be loaded, in the order in which they are found. Each failure concerns one
    /// provider, and those after it are loaded.
    static final class Loadable<T> {
        private final Iterator<T> providers;
        private final String what;
        private int faults;

        /// @param type the class
        /// @param loader finds them
        /// @param what what a provider is, for the warning
        Loadable(Class<T> type, @Nullable ClassLoader loader, String what) {
            this.providers = ServiceLoader.load(type, loader).iterator();
            this.what = what;
        }

        /// {@return the next one, or null if there is none}
        @Nullable
        T next() {
            while (faults < MOST_FAULTS) {
                try {
                    return providers.hasNext() ? providers.next() : null;
                } catch (ServiceConfigurationError | LinkageError e) {
                    faults++;
                    warn(String.valueOf(e.getMessage()),
                            what + " cannot be loaded, and is skipped: " + FormatException.printable(String.valueOf(e)),
                            e);
                }
            }
            return null;
        }
    }

    private static @Nullable CheckpointFormat firstOfOurs(@Nullable ClassLoader loader, List<CheckpointFormat> others,
            Set<Class<?>> classes, Set<String> names, Test test) throws IOException {
        Loadable<CheckpointFormat> formats = new Loadable<>(CheckpointFormat.class, loader, "a file format");
        for (CheckpointFormat format = formats.next(); format != null; format = formats.next()) {
            if (!format.getClass().getName().startsWith(OURS)) {
                others.add(format);
            } else if (isUsable(format, classes, names) && test.isWanted(format)) {
                return format;
            }
        }
        return null;
    }

    private static boolean isUsable(CheckpointFormat format, Set<Class<?>> classes, Set<String> names) {
        if (!classes.add(format.getClass())) {
            return false;
        }
        Optional<String> fault = fault(format, names);
        if (fault.isPresent()) {
            warn(format.getClass().getName(),
                    "the file format " + format.getClass().getName() + " is skipped: " + fault.get(), null);
        }
        return fault.isEmpty();
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
            System.getLogger(Providers.class.getName()).log(Level.WARNING, message, cause);
        }
    }
}
