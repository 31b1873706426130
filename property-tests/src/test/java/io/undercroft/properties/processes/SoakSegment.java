package io.undercroft.properties.processes;

import io.undercroft.mmap.NameLifetime;
import java.util.List;
import java.util.stream.IntStream;

/// A segment that the processes of a [Soak] have in common, and what all of them know of it.
///
/// @param name its name
/// @param nbytes its size in bytes, always
/// @param lifetime when its name goes
/// @param fate whether a process may take the name away
record SoakSegment(String name, long nbytes, NameLifetime lifetime, Fate fate) {
    private static final int COUNT = 12;
    private static final List<NameLifetime> LIFETIMES = List.of(NameLifetime.WITH_LAST_HOLDER,
            NameLifetime.WITH_CREATOR);
    private static final List<Fate> FATES = List.of(Fate.values());

    /// What happens to a name besides its lifetime.
    enum Fate {
        /// Nothing.
        KEPT,
        /// Anybody may unlink it at any moment.
        UNLINKED
    }

    /// {@return all segments of a soak} Each begins with a number for every process.
    ///
    /// @param prefix what their names begin with
    /// @param processes how many processes there are
    static List<SoakSegment> all(String prefix, int processes) {
        return IntStream.range(0, COUNT).mapToObj(i -> new SoakSegment(prefix + "segment" + i,
                (long) processes * Long.BYTES + i * 1777L, LIFETIMES.get(i % 2), FATES.get(i / 2 % 2))).toList();
    }

    /// {@return whether the name stays as long as a process holds the segment}
    ///
    /// @param isCreator whether that process created it
    boolean staysFor(boolean isCreator) {
        return fate == Fate.KEPT && (isCreator || lifetime == NameLifetime.WITH_LAST_HOLDER);
    }
}
