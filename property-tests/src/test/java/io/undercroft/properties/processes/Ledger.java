package io.undercroft.properties.processes;

import io.undercroft.storage.Allocation;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/// Counts how often each of some allocations is given back.
final class Ledger {
    private final List<AtomicInteger> releases = new CopyOnWriteArrayList<>();

    /// {@return the same bytes, given back as before, and counted}
    Allocation enter(Allocation allocation) {
        var count = new AtomicInteger();
        releases.add(count);
        return new Allocation(allocation.segment(), allocation.sharing(), allocation.filename().orElse(null), () -> {
            count.incrementAndGet();
            allocation.free();
        });
    }

    /// {@return for each allocation, in order, how often it was given back}
    List<Integer> releases() {
        return releases.stream().map(AtomicInteger::get).toList();
    }
}
