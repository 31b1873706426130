package io.undercroft.mmap.internal;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// One hold on a segment, as the registry writes it down: the name of an empty file.
///
/// @param inode of which segment
/// @param role what the holder is to the segment
/// @param process whose it is
/// @param number which of the holds of that process
record HoldRecord(long inode, Role role, ProcessKey process, long number) {
    private static final Pattern TEXT = Pattern
            .compile("(\\d{1,18})\\.(CREATOR|HOLDER)\\." + ProcessKey.PATTERN + "\\.(\\d{1,18})");

    /// What a holder is to a segment.
    enum Role {
        /// It made it.
        CREATOR,
        /// It attached it.
        HOLDER
    }

    /// {@return the hold that the name of a file stands for, or nothing if it is none}
    ///
    /// @param text any text
    static Optional<HoldRecord> parse(String text) {
        Matcher match = TEXT.matcher(text);
        if (!match.matches()) {
            return Optional.empty();
        }
        Role role = Role.valueOf(match.group(2));
        return Optional.of(new HoldRecord(Long.parseLong(match.group(1)), role, ProcessKey.of(match, 3),
                Long.parseLong(match.group(6))));
    }

    /// {@return the name of the file}
    @Override
    public String toString() {
        return inode + "." + role + "." + process + "." + number;
    }
}
