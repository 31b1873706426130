package io.undercroft.mmap;

import java.time.Instant;
import java.util.List;
import java.util.Objects;

/// A named segment of shared memory that was made by this library, and its holders, as [SharedMemory#list] finds them.
///
/// Processes that map `/dev/shm/NAME` by other means hold its bytes, but are not known.
///
/// @param name the name, without a slash
/// @param nbytes its size in bytes
/// @param lifetime how long the name lasts
/// @param holders its holders, one entry for each hold: a process that attached twice has two
public record SharedSegment(String name, long nbytes, NameLifetime lifetime, List<Holder> holders) {
    /// A segment.
    public SharedSegment {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(lifetime, "lifetime");
        holders = List.copyOf(holders);
    }

    /// {@return whether a living process holds it}
    public boolean isHeld() {
        return holders.stream().anyMatch(holder -> holder.state() == Holder.State.ALIVE);
    }

    /// One hold on a segment.
    ///
    /// @param pid the number of the process; in a container with its own namespace, the number there
    /// @param start when the process started
    /// @param state whether it lives
    public record Holder(long pid, Instant start, State state) {
        /// A hold.
        public Holder {
            Objects.requireNonNull(start, "start");
            Objects.requireNonNull(state, "state");
        }

        /// Whether a process lives.
        public enum State {
            /// It does.
            ALIVE,
            /// It does not: what it left is to be collected.
            DEAD
        }
    }
}
