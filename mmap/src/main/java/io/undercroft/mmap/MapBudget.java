package io.undercroft.mmap;

import java.util.concurrent.atomic.AtomicInteger;

/// How many mappings may still be made. A process has a limited number of them (Linux: `vm.max_map_count`, 65 530
/// unless raised), and its libraries, threads and heap need some too.
///
/// Several files can share one budget. Stitched ranges take mappings from it and return them when they are unmapped. A
/// range for which too few are left is copied into memory instead, so that a budget never makes
/// anything fail.
///
/// Safe for any thread.
public final class MapBudget {
    /// Half of what Linux allows a process.
    public static final int DEFAULT_MAPPINGS = 32_768;

    private final AtomicInteger left;

    /// A budget of [#DEFAULT_MAPPINGS].
    public MapBudget() {
        this(DEFAULT_MAPPINGS);
    }

    /// Creates a budget of a given size.
    ///
    /// @param mappings how many mappings there may be at once; with 0 all is copied
    /// @throws IllegalArgumentException if it is negative
    public MapBudget(int mappings) {
        if (mappings < 0) {
            throw new IllegalArgumentException("there cannot be " + mappings + " mappings");
        }
        this.left = new AtomicInteger(mappings);
    }

    /// {@return how many mappings may be made now}
    public int left() {
        return left.get();
    }

    /// Acquires mappings from the budget: all or none.
    ///
    /// @param mappings how many, 0 or more
    /// @return whether there were as many; they are to be [released][#release] once
    public boolean tryAcquire(int mappings) {
        return left.getAndUpdate(now -> now < mappings ? now : now - mappings) >= mappings;
    }

    /// Returns mappings to the budget.
    ///
    /// @param mappings how many
    public void release(int mappings) {
        left.addAndGet(mappings);
    }

    /// {@return how much is left, for messages}
    @Override
    public String toString() {
        return left + " mappings left";
    }
}
