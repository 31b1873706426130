package io.undercroft.serializer;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;

/// What was found when a whole file was read and compared with its checksums. Files of most other formats have none:
/// then [#isIntact] is false though no damage was found, and [#unverifiedBytes] says how much was not compared.
///
/// @param damages what is damaged, each once; empty if nothing that was read is
/// @param unverifiedExtents how many runs of bytes were not compared, since they have no checksum, or are in other
///     files that were not looked for; see [OpenOptions#root(java.nio.file.Path)]
/// @param unverifiedBytes how many bytes these have
/// @param missingBases the other files that hold bytes of this one, of any of its snapshots, and were not found
public record Verification(List<Damage> damages, long unverifiedExtents, long unverifiedBytes,
        List<BaseFile> missingBases) {
    /// Copies the lists, without repeated damages.
    public Verification {
        // Chunks that share bytes in the file have one damage.
        damages = List.copyOf(new LinkedHashSet<>(damages));
        missingBases = List.copyOf(missingBases);
    }

    /// A file that needs no other.
    ///
    /// @param damages what is damaged
    /// @param unverifiedExtents how many runs of bytes were not compared
    /// @param unverifiedBytes how many bytes these have
    public Verification(List<Damage> damages, long unverifiedExtents, long unverifiedBytes) {
        this(damages, unverifiedExtents, unverifiedBytes, List.of());
    }

    /// Creates the result for a file of which everything was read.
    ///
    /// @param damages what is damaged
    /// @return that, and nothing that was not verified
    public static Verification ofAll(List<Damage> damages) {
        return new Verification(damages, 0, 0);
    }

    /// {@return whether everything was compared with its checksum, and no damage was found} If not, [#damages] are what
    /// was found, and [#isComplete] returns whether everything was compared.
    public boolean isIntact() {
        return damages.isEmpty() && isComplete();
    }

    /// {@return whether everything was compared: nothing is without a checksum, and no other file is missing}
    public boolean isComplete() {
        return unverifiedBytes == 0 && missingBases.isEmpty();
    }

    /// {@return the same with more damage}
    ///
    /// @param damage what else is damaged
    Verification and(Damage damage) {
        List<Damage> more = new ArrayList<>(damages);
        more.add(damage);
        return new Verification(more, unverifiedExtents, unverifiedBytes, missingBases);
    }
}
