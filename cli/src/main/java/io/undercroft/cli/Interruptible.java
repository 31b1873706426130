package io.undercroft.cli;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/// A write in progress, until this is closed. If the process receives a signal to end meanwhile, Ctrl-C for instance,
/// the thread that writes is interrupted and has a moment to undo what it began: a temporary file, a lock.
final class Interruptible implements AutoCloseable {
    private static final int PATIENCE_SECONDS = 10;

    private final Thread writer = Thread.currentThread();
    private final CountDownLatch ended = new CountDownLatch(1);
    private final Thread hook = new Thread(this::interrupt, "croft-interrupt");

    private Interruptible() {}

    /// Begins in the calling thread.
    ///
    /// @throws IllegalStateException if the process is ending
    static Interruptible begin() {
        Interruptible writing = new Interruptible();
        Runtime.getRuntime().addShutdownHook(writing.hook);
        return writing;
    }

    private void interrupt() {
        writer.interrupt();
        try {
            ended.await(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        ended.countDown();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException _) {
            // The process is ending, and the hook runs.
        }
    }
}
