package io.undercroft.mmap;

import java.time.Instant;
import java.util.List;
import java.util.Objects;

/// A named segment of shared memory that this library created, and its holders. See [SharedMemory#list].
///
/// Processes that map `/dev/shm/NAME` by other means are not counted as holders.
///
/// @param name the name, without a slash
/// @param nbytes the size in bytes
/// @param lifetime the lifetime of the name
/// @param holders the holders; a process that attached twice is listed twice
public record SharedSegment(String name, long nbytes, NameLifetime lifetime, List<Holder> holders) {
    /// Copies the list of holders.
    public SharedSegment {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(lifetime, "lifetime");
        holders = List.copyOf(holders);
    }

    /// {@return whether a running process holds the segment}
    public boolean isHeld() {
        return holders.stream().anyMatch(holder -> holder.state() == Holder.State.ALIVE);
    }

    /// A holder of a segment.
    ///
    /// @param pid the number of the process; in a container with its own namespace, the number there
    /// @param start when the process started
    /// @param state the state of the process
    public record Holder(long pid, Instant start, State state) {
        /// A hold.
        public Holder {
            Objects.requireNonNull(start, "start");
            Objects.requireNonNull(state, "state");
        }

        /// The state of a process.
        public enum State {
            /// It does.
            ALIVE,
            /// It does not: what it left is to be collected.
            DEAD
        }
    }
}
