package io.undercroft.mmap;

import java.util.concurrent.atomic.AtomicInteger;

/// A limit of the number of mappings of stitched ranges. The system limits the mappings of a process (Linux:
/// `vm.max_map_count`, 65 530 by default), and its libraries, threads and heap need some too.
///
/// Several files can share one budget. Stitched ranges acquire mappings and release them when they are unmapped. A
/// range for which too few are left is copied to memory instead, so that no operation fails because of a budget.
///
/// Instances are thread-safe.
public final class MapBudget {
    /// The default: half of the default limit of Linux.
    public static final int DEFAULT_MAPPINGS = 32_768;

    private final AtomicInteger left;

    /// Creates a budget of [#DEFAULT_MAPPINGS].
    public MapBudget() {
        this(DEFAULT_MAPPINGS);
    }

    /// Creates a budget of a given size.
    ///
    /// @param mappings the maximum number of mappings at any time; with 0, all ranges are copied
    /// @throws IllegalArgumentException if it is negative
    public MapBudget(int mappings) {
        if (mappings < 0) {
            throw new IllegalArgumentException("there cannot be " + mappings + " mappings");
        }
        this.left = new AtomicInteger(mappings);
    }

    /// {@return the number of mappings that are left}
    public int left() {
        return left.get();
    }

    /// Acquires mappings: all or none.
    ///
    /// @param mappings the number of mappings, 0 or more
    /// @return whether they were acquired; the caller must then [release][#release] them
    public boolean tryAcquire(int mappings) {
        return left.getAndUpdate(now -> now < mappings ? now : now - mappings) >= mappings;
    }

    /// Releases mappings.
    ///
    /// @param mappings the number of mappings
    public void release(int mappings) {
        left.addAndGet(mappings);
    }

    /// {@return how much is left, for messages}
    @Override
    public String toString() {
        return left + " mappings left";
    }
}
