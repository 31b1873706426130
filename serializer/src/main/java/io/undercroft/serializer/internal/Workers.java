package io.undercroft.serializer.internal;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/// Work that is shared between the calling thread and others.
public final class Workers {
    private Workers() {}

    /// An action for each of several elements.
    @FunctionalInterface
    public interface Work<T> {
        /// Runs the action.
        ///
        /// @param each one of them
        /// @throws IOException if that fails
        void on(T each) throws IOException;
    }

    /// Runs an action for each of several elements, with the threads of the common pool. After the first failure no
    /// more are started, and it is thrown after running ones have ended, so that no work continues after the call.
    ///
    /// @param <T> their type
    /// @param things the things
    /// @param work the work, in any order and several at once
    /// @throws IOException the exception of the first failure, as are unchecked ones
    public static <T> void share(Collection<T> things, Work<? super T> work) throws IOException {
        Attempts<T> attempts = new Attempts<>(work);
        things.parallelStream().forEach(attempts::on);
        attempts.end();
    }

    /// Runs an action for all of several elements at once, for any number of processors: for work that mostly waits for
    /// devices. Ends as [#share]. If the calling thread is interrupted, the others are.
    ///
    /// @param <T> their type
    /// @param things the things
    /// @param work the work
    /// @throws IOException the exception of the first failure, as are unchecked ones
    public static <T> void atOnce(Collection<T> things, Work<? super T> work) throws IOException {
        Attempts<T> attempts = new Attempts<>(work);
        List<Thread> threads = new ArrayList<>();
        try {
            things.stream().skip(1).forEach(each -> threads.add(
                    Thread.ofPlatform().daemon().name("undercroft-load").start(() -> attempts.on(each))));
        } catch (OutOfMemoryError e) {
            attempts.failure.compareAndSet(null, e);
        }
        things.stream().limit(1).forEach(attempts::on);
        join(threads, () -> threads.forEach(Thread::interrupt));
        attempts.end();
    }

    /// Runs an action for several elements with a number of threads, for any number of processors: for work that mostly
    /// waits for a store. Ends as [#share]. If the calling thread is interrupted, the others are.
    ///
    /// @param <T> their type
    /// @param things the things
    /// @param most the maximum number of threads
    /// @param work the work
    /// @throws IOException the exception of the first failure, as are unchecked ones
    public static <T> void atOnce(List<T> things, int most, Work<? super T> work) throws IOException {
        Attempts<T> attempts = new Attempts<>(work);
        AtomicInteger next = new AtomicInteger();
        atOnce(IntStream.range(0, Math.min(most, things.size())).boxed().toList(), _ -> {
            for (int i = next.getAndIncrement(); i < things.size(); i = next.getAndIncrement()) {
                attempts.on(things.get(i));
            }
        });
        attempts.end();
    }

    /// Waits until threads have ended, also when interrupted.
    ///
    /// @param threads the threads
    /// @param onInterrupt the action when the calling thread is interrupted; it is interrupted again at the end
    public static void join(List<Thread> threads, Runnable onInterrupt) {
        boolean isInterrupted = false;
        for (Thread thread : threads) {
            while (thread.isAlive()) {
                try {
                    thread.join();
                } catch (InterruptedException _) {
                    isInterrupted = true;
                    onInterrupt.run();
                }
            }
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /// Runs the action for one element after the other, or several at once, until it has failed.
    private static final class Attempts<T> {
        private final Work<? super T> work;
        private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

        Attempts(Work<? super T> work) {
            this.work = work;
        }

        void on(T each) {
            if (failure.get() == null) {
                try {
                    work.on(each);
                } catch (Throwable e) {
                    // Thrown at the end unchanged: the pool would wrap it.
                    failure.compareAndSet(null, e);
                }
            }
        }

        void end() throws IOException {
            rethrow(failure.get());
        }
    }

    /// Throws the exception of another thread, unchanged.
    ///
    /// @param failure the exception, or null if there was none
    /// @throws IOException if it is one
    public static void rethrow(@Nullable Throwable failure) throws IOException {
        switch (failure) {
            case null -> {
            }
            case IOException e -> throw e;
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case Throwable e -> throw new IllegalStateException(e);
        }
    }
}
