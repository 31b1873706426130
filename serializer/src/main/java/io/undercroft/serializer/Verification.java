package io.undercroft.serializer;

import java.util.List;

/// What reading a whole file and comparing it with its checksums brought to light.
///
/// @param damages what is damaged; empty if all that was read is well
/// @param unverifiedExtents how many runs of bytes were not compared, since they have no checksum, or stand in other files and nobody said
///     where these may be; see [OpenOptions#root(java.nio.file.Path)]
/// @param unverifiedBytes how many bytes these have
public record Verification(List<Damage> damages, long unverifiedExtents, long unverifiedBytes) {
    /// Copies the list.
    public Verification {
        damages = List.copyOf(damages);
    }

    /// A file of which everything was read.
    ///
    /// @param damages what is damaged
    /// @return that, and nothing that was not verified
    public static Verification ofAll(List<Damage> damages) {
        return new Verification(damages, 0, 0);
    }

    /// {@return whether no damage was found} What could not be read may be damaged all the same.
    public boolean isSound() {
        return damages.isEmpty();
    }
}
