package io.undercroft.properties;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/// How much of a proof to do.
public enum Effort {
    /// All of it.
    FULL,
    /// What fits into a minute.
    QUICK;

    /// {@return whether to try one more random case, each time that it is asked} A quick proof counts its cases, so
    /// that those of a seed are the same on each machine.
    ///
    /// @param time for how long to try them if this is [#FULL], from now on
    /// @param cases how many to try if this is [#QUICK]
    public BooleanSupplier cases(Duration time, int cases) {
        if (this == QUICK) {
            AtomicInteger left = new AtomicInteger(cases);
            return () -> left.getAndDecrement() > 0;
        }
        long end = System.nanoTime() + time.toNanos();
        return () -> System.nanoTime() < end;
    }
}
