package io.undercroft.format.internal;

import java.util.List;

/// What [Verifier] found out.
///
/// @param damages all that is wrong, from the newest snapshot to the oldest; empty for a sound file
/// @param unverifiedExtents how many extents are in other files that could not be looked at, those that are the same
///     bytes counted once
/// @param unverifiedBytes how many bytes these have
public record Verification(List<Damage> damages, long unverifiedExtents, long unverifiedBytes) {
    /// Copies the list.
    public Verification {
        damages = List.copyOf(damages);
    }
}
