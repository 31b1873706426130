package io.undercroft.serializer.spi;

import io.undercroft.serializer.SaveReport;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.SequencedMap;

/// A file of a format that has been planned and not been written. Used once, by one thread.
public interface Draft {
    /// {@return how many bytes the file is going to have, as near as is known before it is written}
    long nbytes();

    /// {@return how many bytes the file is going to have at least: fewer than [#nbytes] if it is compressed} A file
    /// that is larger than the free space is refused before its first byte is written.
    default long leastBytes() {
        return nbytes();
    }

    /// Writes the file from its first byte to its last.
    ///
    /// @param output where to
    /// @throws IOException if writing fails
    void writeTo(Output output) throws IOException;

    /// {@return the further files of the set that this one is the index of, by their names} They go into its directory,
    /// are written before it in this order, each atomically and durably, and have no companions of their own. Their
    /// names are [plain][#isPlainName].
    default SequencedMap<String, Draft> companions() {
        return Collections.emptySortedMap();
    }

    /// {@return what the file does not keep of the state, beyond what the format [cannot
    /// hold][CheckpointFormat.Capability] at all} Of a set only the index is asked.
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
