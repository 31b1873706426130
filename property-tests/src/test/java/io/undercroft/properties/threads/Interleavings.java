package io.undercroft.properties.threads;

import io.undercroft.testsupport.Tries;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.jetbrains.lincheck.Lincheck;
import org.jetbrains.lincheck.LincheckAssertionError;

/// Runs what several threads do in many schedules. Lincheck chooses these, those with few switches first, and the same
/// ones in each run: it lets one thread run at a time, and switches between accesses to memory that threads share.
///
/// Lincheck refuses calls of files and ignores native calls, so a scenario has the part of a class that threads share,
/// over memory.
final class Interleavings {
    /// The number of schedules of a scenario, unless it has fewer.
    private static final int MOST = 600;
    private static final String DETAILS = "Detailed trace:";
    private static final Map<String, Long> RESULTS = new LinkedHashMap<>();

    private static boolean isReversed;

    private Interleavings() {}

    /// What a thread does, or a scenario from its beginning to the check at its end.
    @FunctionalInterface
    interface Action {
        void run() throws Exception;
    }

    /// Runs a scenario in many schedules, prints how many, and prints the first one in which it fails. Half of them
    /// start the threads in the other order, since Lincheck seldom interrupts one that was started later.
    ///
    /// @param name the name of the scenario
    /// @param scenario makes its objects, runs threads [#together], and checks what must hold
    /// @throws LincheckAssertionError if it fails
    static void explore(String name, Action scenario) {
        AtomicLong schedules = new AtomicLong();
        try {
            for (boolean reversed : new boolean[]{false, true}) {
                isReversed = reversed;
                Lincheck.runConcurrentTest(Tries.of(MOST) / 2, () -> {
                    schedules.incrementAndGet();
                    try {
                        scenario.run();
                    } catch (Exception e) {
                        throw new AssertionError(e);
                    }
                });
            }
        } catch (LincheckAssertionError e) {
            String report = String.valueOf(e.getMessage());
            int details = report.indexOf(DETAILS);
            broken(name, "schedule " + schedules + "\n"
                    + (details < 0 ? report : report.substring(0, details)).strip());
            throw e;
        }
        holds(name, schedules.get());
    }

    /// Runs a scenario of files in schedules as [Turns] makes them, prints how many, and prints the first one in which
    /// it fails.
    ///
    /// @param name the name of the scenario
    /// @param scenario the scenario
    /// @throws AssertionError if it fails
    static void explore(String name, Turns.Scenario scenario) throws Exception {
        long schedules;
        try {
            schedules = Turns.explore(Tries.of(MOST), scenario);
        } catch (AssertionError e) {
            broken(name, String.valueOf(e.getMessage()));
            throw e;
        }
        holds(name, schedules);
    }

    private static void holds(String name, long schedules) {
        System.out.println(name + ": holds in " + schedules + " schedules");
        RESULTS.put(name, schedules);
    }

    private static void broken(String name, String where) {
        System.out.println("BROKEN: " + name + ", in " + where);
    }

    /// {@return the scenarios that held so far, with their numbers of schedules}
    static Map<String, Long> results() {
        return RESULTS;
    }

    /// Runs actions at once, each in a thread, and waits for all of them. Without collections, as Lincheck watches
    /// these too.
    ///
    /// @param actions what the threads do
    /// @throws AssertionError if one of them throws
    static void together(Action... actions) throws InterruptedException {
        Thread[] threads = new Thread[actions.length];
        Throwable[] failures = new Throwable[actions.length];
        for (int i = 0; i < actions.length; i++) {
            int number = i;
            threads[i] = new Thread(() -> {
                try {
                    actions[number].run();
                } catch (Throwable e) {
                    failures[number] = e;
                }
            });
        }
        for (int i = 0; i < threads.length; i++) {
            threads[isReversed ? threads.length - 1 - i : i].start();
        }
        for (int i = 0; i < threads.length; i++) {
            threads[isReversed ? threads.length - 1 - i : i].join();
        }
        for (Throwable failure : failures) {
            if (failure != null) {
                throw new AssertionError("a thread failed: " + failure, failure);
            }
        }
    }

    /// Fails unless an exception refuses what was closed or freed.
    ///
    /// @param refusal the exception
    /// @param state how the message describes it
    static void requireRefusal(IllegalStateException refusal, String state) {
        if (!String.valueOf(refusal.getMessage()).contains(state)) {
            throw refusal;
        }
    }

    /// Fails unless something holds. The assertions of libraries would be a part of the schedule.
    static void require(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }
}
