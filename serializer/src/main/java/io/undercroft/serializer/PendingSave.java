package io.undercroft.serializer;

import io.undercroft.serializer.internal.Workers;
import io.undercroft.serializer.internal.planning.SaveControl;
import io.undercroft.serializer.internal.writing.Save;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/// A save that runs in the background, started by [Checkpoint#saveAsync] or [CroftFile#commitAsync(Object, String)].
///
/// ```java
/// try (PendingSave save = Checkpoint.saveAsync(path, state)) {
///     train(state);
/// }   // here the file is durable, or its failure is thrown
/// ```
///
/// **Contents.** The file has the state as it was when the call that started the save returned. Later changes of the
/// state, its tensors, their storages or their checkpoint have no effect on the file.
///
/// **Failures** are reported by this object only: [#join] throws them, or [#close] if no call has thrown them before.
/// An existing file does not change.
///
/// **Order.** The save holds the lock of the file until it has ended: another save to the same file is refused with
/// [LockedException], so that an older state never replaces a newer one. Stores have no locks. A save to a store
/// replaces the file that existed when it was started: if another one was faster, this one fails with the kind
/// `CONFLICT` of [RemoteFileException][io.undercroft.mmap.RemoteFileException], as far as the store can detect it.
///
/// **The end of the JVM** waits for the save, as its thread is no daemon and a shutdown hook waits for it after
/// `System.exit` or a signal that ends the process. To avoid the wait, cancel the save. If the JVM is killed, an
/// existing file does not change, and a temporary file stays until the next save in its directory. In a store nothing
/// of the save is visible; whether the store keeps the bytes of the upload depends on the store.
///
/// **Threads.** All methods may be called from several threads at once.
public final class PendingSave implements AutoCloseable {
    private final CompletableFuture<SaveReport> result = new CompletableFuture<>();
    private final Save prepared;
    private final SaveControl control;
    private final Thread hook;
    private volatile boolean isOutcomeKnown;

    private PendingSave(Save prepared) {
        this.prepared = prepared;
        this.control = prepared.control();
        this.hook = Thread.ofPlatform().name("waits for the save of " + prepared.location()).unstarted(this::awaitEnd);
    }

    /// Begins a save that was prepared, which belongs to this from now on.
    static PendingSave start(Save prepared) throws IOException {
        PendingSave save = new PendingSave(prepared);
        save.addHook();
        try {
            Thread.ofPlatform().daemon(false).name("save of " + prepared.location()).start(save::run);
            return save;
        } catch (Throwable e) {
            save.removeHook();
            try (prepared) {
                throw e;
            }
        }
    }

    private void run() {
        try {
            result.complete(prepared.run());
        } catch (Throwable e) {
            control.end();
            // Thrown to waiting callers, even an error of the JVM.
            result.completeExceptionally(control.isCancelled() ? cancellation(e) : e);
        }
        removeHook();
    }

    private static Throwable cancellation(Throwable e) {
        return e instanceof CancellationException
                ? e
                : new CancellationException("the save was cancelled").initCause(e);
    }

    private void addHook() {
        try {
            Runtime.getRuntime().addShutdownHook(hook);
        } catch (IllegalStateException ending) {
            // The JVM is ending already: it may do so before the file is saved.
        }
    }

    private void removeHook() {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException ending) {
            // It is about to end.
        }
    }

    private void awaitEnd() {
        result.exceptionally(_ -> null).join();
    }

    /// {@return the file}
    ///
    /// @throws UnsupportedOperationException if it is in a store, and has no path
    public Path path() {
        return prepared.path().orElseThrow(
                () -> new UnsupportedOperationException(location() + " is in a store, and has no path"));
    }

    /// {@return the path of the file, or its URI without credentials if it is in a store, for messages}
    public String location() {
        return prepared.location();
    }

    /// {@return whether the save has ended: the file is durable, or the save failed or was cancelled}
    public boolean isDone() {
        return result.isDone();
    }

    /// {@return the number of staged bytes that were processed; all of them, while they are forced to the disk} For
    /// formats other than `.croft`, bytes of the files are counted.
    public long doneBytes() {
        return control.done();
    }

    /// {@return the number of staged bytes: the chunks of storages that tensors reach; for formats other than `.croft`
    /// the estimated size of the files}
    public long totalBytes() {
        return control.total();
    }

    /// Waits until the file is durable, or visible in a store.
    ///
    /// @return the report of the save
    /// @throws IOException if the save failed; an existing file did not change
    /// @throws CancellationException if it was cancelled
    public SaveReport join() throws IOException {
        isOutcomeKnown = true;
        try {
            return result.join();
        } catch (CancellationException e) {
            // The message of the outer one is only the name of the method that was called.
            throw e.getCause() instanceof CancellationException cause ? cause : e;
        } catch (CompletionException e) {
            Workers.rethrow(e.getCause());
            throw e;
        }
    }

    /// Cancels the save: nothing of it is left, and an existing file does not change. That takes some milliseconds, for
    /// which [#close] waits.
    ///
    /// @return whether it was cancelled; if not, the save has ended, or is at its last step and completes
    public boolean cancel() {
        return control.cancel();
    }

    /// Waits until the save has ended.
    ///
    /// @throws IOException if the save failed, and [#join] has not thrown the failure yet; not if it was cancelled
    @Override
    public void close() throws IOException {
        awaitEnd();
        if (!isOutcomeKnown && !control.isCancelled()) {
            join();
        }
    }

    /// {@return the file and the progress, for messages}
    @Override
    public String toString() {
        return "save of " + location() + ", " + doneBytes() + " of " + totalBytes() + " bytes"
                + (isDone() ? ", ended" : "");
    }
}
