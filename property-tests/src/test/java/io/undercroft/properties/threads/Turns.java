package io.undercroft.properties.threads;

import io.undercroft.properties.threads.Interleavings.Action;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;

/// Two threads of which one runs at a time, and hands over to the other at given steps. For code that works with files,
/// which Lincheck refuses; its steps are the operations of a disk. Neither thread may wait for the other.
final class Turns {
    /// A schedule with more switches needs a fault that two of them do not show.
    private static final int MOST_SWITCHES = 2;
    private static final long PATIENCE = TimeUnit.MINUTES.toNanos(5);

    private final List<Integer> switches;
    private final List<String> steps = new ArrayList<>();
    private final Thread[] threads = new Thread[2];
    private final boolean[] ended = new boolean[2];
    private int turn;

    private Turns(List<Integer> switches) {
        this.switches = switches;
    }

    /// What two threads do in a schedule.
    interface Scenario {
        /// {@return what the two threads do}
        ///
        /// @param turns to which they report their steps
        Action[] begin(Turns turns) throws Exception;

        /// Checks what must hold when both have ended.
        void check() throws Exception;
    }

    /// Runs a scenario in all schedules with up to two switches, those with fewer first, or in as many as allowed.
    ///
    /// @param most the number of schedules
    /// @param scenario the scenario
    /// @return the number of schedules
    /// @throws AssertionError if it fails, with the steps of the schedule
    static int explore(int most, Scenario scenario) throws Exception {
        Deque<List<Integer>> left = new ArrayDeque<>();
        left.add(List.of());
        int schedules = 0;
        while (!left.isEmpty() && schedules < most) {
            List<Integer> switches = left.remove();
            Turns turns = new Turns(switches);
            schedules++;
            try {
                turns.run(scenario.begin(turns));
                scenario.check();
            } catch (AssertionError e) {
                throw new AssertionError("schedule " + schedules + ", switches before steps " + switches + ": "
                        + e.getMessage() + "\n" + String.join("\n", turns.steps), e);
            }
            if (switches.size() < MOST_SWITCHES) {
                for (int at = switches.isEmpty() ? 0 : switches.getLast() + 1; at < turns.steps.size(); at++) {
                    List<Integer> next = new ArrayList<>(switches);
                    next.add(at);
                    left.add(next);
                }
            }
        }
        return schedules;
    }

    private void run(Action[] actions) throws InterruptedException {
        Throwable[] failures = new Throwable[2];
        for (int i = 0; i < threads.length; i++) {
            int number = i;
            threads[i] = new Thread(() -> {
                try {
                    step("begins");
                    actions[number].run();
                } catch (Throwable e) {
                    failures[number] = e;
                } finally {
                    end(number);
                }
            });
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        Arrays.stream(failures).filter(each -> each != null).findFirst().ifPresent(failure -> {
            throw new AssertionError("a thread failed: " + failure, failure);
        });
    }

    /// Reports that a thread is about to do something, and lets the other thread run if that is its turn. Does nothing
    /// in other threads.
    ///
    /// @param what what it is about to do
    void step(String what) {
        int number = Arrays.asList(threads).indexOf(Thread.currentThread());
        if (number < 0) {
            return;
        }
        await(number);
        synchronized (this) {
            if (switches.contains(steps.size())) {
                pass(number);
            }
        }
        await(number);
        synchronized (this) {
            steps.add((number == 0 ? "" : "                                        ") + what);
        }
    }

    private synchronized void await(int number) {
        long end = System.nanoTime() + PATIENCE;
        while (turn != number) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("the other thread waits for this one");
            }
            try {
                wait(1000);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private synchronized void end(int number) {
        ended[number] = true;
        pass(number);
    }

    private void pass(int number) {
        if (!ended[1 - number]) {
            turn = 1 - number;
            notifyAll();
        }
    }
}
