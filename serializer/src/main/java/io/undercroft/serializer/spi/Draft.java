package io.undercroft.serializer.spi;

import io.undercroft.serializer.SaveReport;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.SequencedMap;

/// A file of a format that has been planned and not been written. Used once, by one thread, which
/// need not be the one that planned it.
public interface Draft {
    /// {@return the estimated size of the file in bytes}
    long nbytes();

    /// {@return the least size that the file can have in bytes: smaller than [#nbytes] if it is compressed} A file
    /// that is larger than the free space is refused before its first byte is written.
    default long leastBytes() {
        return nbytes();
    }

    /// Writes the file from its first byte to its last.
    ///
    /// @param output where to
    /// @throws IOException if writing fails
    void writeTo(Output output) throws IOException;

    /// {@return the further files of the set that this one is the index of, by their names} They are written to its
    /// directory before it in this order, each atomically and durably, and have no companions themselves. Their
    /// names are [plain][#isPlainName].
    default SequencedMap<String, Draft> companions() {
        return Collections.emptySortedMap();
    }

    /// {@return what the file does not keep of the state, beyond what the format [cannot
    /// hold][CheckpointFormat.Capability] at all} For a set, called for the index only.
    default List<SaveReport.Loss> losses() {
        return List.of();
    }

    /// {@return whether a name can be that of a file next to an index, and leads nowhere else on any system}
    ///
    /// @param name a name from anywhere
    static boolean isPlainName(String name) {
        return !name.isBlank() && !name.startsWith(".")
                && name.chars().noneMatch(c -> c == '/' || c == '\\' || c == ':' || c < ' ');
    }
}
