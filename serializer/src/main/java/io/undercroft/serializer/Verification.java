package io.undercroft.serializer;

import java.util.LinkedHashSet;
import java.util.List;

/// The result of a comparison of a whole file with its checksums. Files of most other formats have no checksums: then
/// [#isIntact] is false although no damage was found, and [#unverifiedBytes] is the number of bytes that were not
/// compared.
///
/// @param damages the damaged parts, without duplicates
/// @param unverifiedExtents the number of byte ranges that were not compared, because they have no checksum or are in
///     other files that were not searched for; see [OpenOptions#root(java.nio.file.Path)]
/// @param unverifiedBytes the number of bytes of these ranges
/// @param missingBases the other files that have bytes of this one, of any of its snapshots, and were not found
public record Verification(List<Damage> damages, long unverifiedExtents, long unverifiedBytes,
        List<BaseFile> missingBases) {
    /// Copies the lists, without duplicate damages.
    public Verification {
        // Chunks that share bytes in the file have one damage.
        damages = List.copyOf(new LinkedHashSet<>(damages));
        missingBases = List.copyOf(missingBases);
    }

    /// Creates the result for a file that references no other files.
    ///
    /// @param damages the damaged parts
    /// @param unverifiedExtents the number of byte ranges that were not compared
    /// @param unverifiedBytes the number of bytes of these ranges
    public Verification(List<Damage> damages, long unverifiedExtents, long unverifiedBytes) {
        this(damages, unverifiedExtents, unverifiedBytes, List.of());
    }

    /// Creates the result for a file of which all bytes were compared.
    ///
    /// @param damages the damaged parts
    /// @return the result
    public static Verification ofAll(List<Damage> damages) {
        return new Verification(damages, 0, 0);
    }

    /// {@return whether all bytes were compared with their checksums, and no damage was found}
    public boolean isIntact() {
        return damages.isEmpty() && isComplete();
    }

    /// {@return whether all bytes were compared: all have checksums, and no other file is missing}
    public boolean isComplete() {
        return unverifiedBytes == 0 && missingBases.isEmpty();
    }
}
