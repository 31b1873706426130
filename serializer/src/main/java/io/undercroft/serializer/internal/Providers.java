package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.spi.CheckpointFormat;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.lang.ref.SoftReference;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/// The formats that `ServiceLoader` finds, which may be those of third parties. If one fails, that is logged once as a
/// warning, and does not affect the others.
///
/// They are found once for each context class loader, since finding them opens all jars of the class path. Before a
/// file, a name or a suffix is refused as unknown they are found anew, so that a jar that was added to a class loader
/// meanwhile is used.
final class Providers {
    /// After this many failures, loading ends.
    private static final int MOST_FAULTS = 100;
    private static final String OURS = "io.undercroft.";
    /// The subjects of warnings that were logged, which are few.
    private static final Set<String> WARNED = ConcurrentHashMap.newKeySet();
    /// By the context class loader. The formats refer to the loader of their classes; soft references let it be
    /// unloaded.
    private static final Map<@Nullable ClassLoader, SoftReference<Sequence>> FOUND = new WeakHashMap<>();

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
        Sequence known = known();
        return (known == null ? foundAnew(taken) : known).all();
    }

    /// {@return the same as [#formats], found anew}
    ///
    /// @param taken a name that none of them may have
    static List<CheckpointFormat> formatsFoundAnew(String taken) {
        return foundAnew(taken).all();
    }

    /// {@return the first of [#formats] that passes a test, or null} Each is loaded when the test first gets to it. If
    /// none of the known ones passes, they are found anew.
    ///
    /// @param taken a name that none of them may have
    /// @param test the test
    /// @throws IOException if the test throws it
    static @Nullable CheckpointFormat first(String taken, Test test) throws IOException {
        Sequence known = known();
        CheckpointFormat found = known == null ? null : known.first(test);
        return found == null ? foundAnew(taken).first(test) : found;
    }

    private static @Nullable Sequence known() {
        synchronized (FOUND) {
            SoftReference<Sequence> known = FOUND.get(Thread.currentThread().getContextClassLoader());
            return known == null ? null : known.get();
        }
    }

    private static Sequence foundAnew(String taken) {
        ClassLoader context = Thread.currentThread().getContextClassLoader();
        Sequence made = new Sequence(taken, context);
        synchronized (FOUND) {
            FOUND.put(context, new SoftReference<>(made));
        }
        return made;
    }

    /// Formats in the order in which they are used. Each is loaded when it is first needed. Safe for any thread.
    private static final class Sequence {
        private final Deque<Loadable<CheckpointFormat>> loaders = new ArrayDeque<>();
        private final Deque<CheckpointFormat> others = new ArrayDeque<>();
        private final List<CheckpointFormat> usable = new ArrayList<>();
        private final Set<Class<?>> classes = new HashSet<>();
        private final Set<String> names = new HashSet<>();

        Sequence(String taken, @Nullable ClassLoader context) {
            ClassLoader own = CheckpointFormat.class.getClassLoader();
            loaders.add(new Loadable<>(CheckpointFormat.class, own, "a file format"));
            if (context != own) {
                loaders.add(new Loadable<>(CheckpointFormat.class, context, "a file format"));
            }
            names.add(taken);
        }

        @Nullable
        CheckpointFormat first(Test test) throws IOException {
            int number = 0;
            CheckpointFormat format = get(number);
            while (format != null && !test.isWanted(format)) {
                number++;
                format = get(number);
            }
            return format;
        }

        synchronized List<CheckpointFormat> all() {
            int number = 0;
            while (get(number) != null) {
                number++;
            }
            return List.copyOf(usable);
        }

        private synchronized @Nullable CheckpointFormat get(int number) {
            while (number >= usable.size()) {
                CheckpointFormat next = next();
                if (next == null) {
                    return null;
                }
                if (isUsable(next, classes, names)) {
                    usable.add(next);
                }
            }
            return usable.get(number);
        }

        /// Returns the next format of ours, or one of the others after all of ours.
        private @Nullable CheckpointFormat next() {
            while (!loaders.isEmpty()) {
                CheckpointFormat format = loaders.getFirst().next();
                if (format == null) {
                    loaders.removeFirst();
                } else if (format.getClass().getName().startsWith(OURS)) {
                    return format;
                } else {
                    others.add(format);
                }
            }
            return others.poll();
        }
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
