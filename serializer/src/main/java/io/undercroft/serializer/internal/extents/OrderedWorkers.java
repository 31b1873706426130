package io.undercroft.serializer.internal.extents;

import io.undercroft.serializer.internal.Workers;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Threads that work together, in some steps at once and in others one after the other. An exception of one of them
/// ends the work of all, and so does an interruption of the thread that waits for them. All have ended when [#work]
/// returns.
final class OrderedWorkers {
    private long turn;
    private @Nullable Throwable failure;

    /// Ends a thread because another one failed.
    private static final class StoppedException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        StoppedException() {
            super(null, null, false, false);
        }
    }

    /// Works until all are done. If there is only one, that is the calling thread.
    ///
    /// @param members the number of threads
    /// @param work the work of a thread, given its number from 0
    /// @throws IOException if one of them throws it; anything else that one throws is thrown as it is, too
    /// @throws ClosedByInterruptException if the calling thread is interrupted
    void work(int members, Workers.Work<Integer> work) throws IOException {
        if (members == 1) {
            work.on(0);
            return;
        }
        List<Thread> threads = new ArrayList<>();
        try {
            for (int i = 0; i < members; i++) {
                int member = i;
                threads.add(Thread.ofPlatform().daemon().name("undercroft-save-" + member)
                        .start(() -> run(member, work)));
            }
        } catch (Throwable e) {
            fail(e);
        }
        // Also when interrupted: they use what the caller frees afterwards.
        Workers.join(threads, () -> fail(new ClosedByInterruptException()));
        synchronized (this) {
            Workers.rethrow(failure);
        }
    }

    private void run(int member, Workers.Work<Integer> work) {
        try {
            work.on(member);
        } catch (StoppedException _) {
            // The worker that failed has thrown the cause.
        } catch (Throwable e) {
            fail(e);
        }
    }

    private synchronized void fail(Throwable e) {
        if (failure == null) {
            failure = e;
        }
        notifyAll();
    }

    /// Ends the work of a member if another one has failed.
    synchronized void check() {
        if (failure != null) {
            throw new StoppedException();
        }
    }

    /// Waits for a turn. Turns follow in the order of their numbers, each after the previous one has [ended][#endTurn].
    ///
    /// @param number the number, from 0
    synchronized void awaitTurn(long number) {
        while (turn != number) {
            check();
            try {
                wait();
            } catch (InterruptedException e) {
                throw new IllegalStateException("this thread is not interrupted", e);
            }
        }
        check();
    }

    /// Ends a turn.
    synchronized void endTurn() {
        turn++;
        notifyAll();
    }
}
