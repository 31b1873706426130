package io.undercroft.serializer;

import io.undercroft.serializer.internal.Workers;
import io.undercroft.serializer.spi.Contents;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;

/// A comparison, in the background, of all bytes of the storages of a checkpoint with their checksums. See
/// [Checkpoint#scrub].
///
/// It reads each chunk of the file once, through a small buffer and not through mappings, so that changes of a storage
/// in memory are ignored. It runs in a daemon thread until all chunks were read, or until it or its checkpoint is
/// closed.
///
/// **Threads.** Instances are thread-safe.
public final class Scrub implements AutoCloseable {
    private final CompletableFuture<List<Damage>> result = new CompletableFuture<>();
    private final Contents contents;
    private final Consumer<Damage> listener;
    private final Thread thread;
    private final List<Damage> damages = new ArrayList<>();
    private volatile boolean cancelled;

    private Scrub(Contents contents, String name, Consumer<Damage> listener) {
        this.contents = contents;
        this.listener = listener;
        this.thread = Thread.ofPlatform().daemon().name("scrub of " + name).unstarted(this::run);
    }

    static Scrub start(Contents contents, String name, Consumer<Damage> listener) {
        Scrub scrub = new Scrub(contents, name, listener);
        scrub.thread.start();
        return scrub;
    }

    private void run() {
        try {
            contents.scrub(this::report, this::checkWanted);
            result.complete(List.copyOf(damages));
        } catch (Throwable e) {
            // Thrown to waiting callers, even an error of the JVM.
            result.completeExceptionally(e);
        }
    }

    private void report(Damage damage) {
        damages.add(damage);
        listener.accept(damage);
    }

    private void checkWanted() {
        if (cancelled) {
            throw new CancellationException("the scrub was closed before it was done");
        }
    }

    /// {@return whether it has ended: all bytes were read, it was closed, or a read failed}
    public boolean isDone() {
        return result.isDone();
    }

    /// Waits until all bytes were read.
    ///
    /// @return the damaged parts
    /// @throws CancellationException if it was closed before
    /// @throws IOException if reading failed
    public List<Damage> join() throws IOException {
        try {
            return result.join();
        } catch (CompletionException e) {
            Workers.rethrow(e.getCause());
            throw e;
        }
    }

    /// Stops it, if it has not ended, and waits until it has: at most the time for one chunk. (A listener that calls
    /// this method does not wait.)
    @Override
    public void close() {
        cancelled = true;
        if (Thread.currentThread() != thread) {
            result.exceptionally(_ -> List.of()).join();
        }
    }
}
