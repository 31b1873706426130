package io.undercroft.mmap.internal;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// One hold on a segment, as the registry writes it down: the name of an empty file.
///
/// @param inode the inode of the segment
/// @param role the role of the holder
/// @param process the process that has the hold
/// @param number the number of the hold in that process
record HoldRecord(long inode, Role role, ProcessKey process, long number) {
    private static final Pattern TEXT = Pattern
            .compile("(\\d{1,18})\\.(CREATOR|HOLDER)\\." + ProcessKey.PATTERN + "\\.(\\d{1,18})");

    /// The role of a holder of a segment.
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

    /// Written out, since the JVM would make it at the first release.
    @Override
    public boolean equals(Object other) {
        return other instanceof HoldRecord that && toString().equals(that.toString());
    }

    @Override
    public int hashCode() {
        return Long.hashCode(number);
    }

    /// {@return the name of the file}
    @Override
    public String toString() {
        return inode + "." + role + "." + process + "." + number;
    }
}
