package io.undercroft.mmap.internal;

import io.undercroft.mmap.SharedSegment;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/// The names of shared memory, as this process makes, attaches and removes them. Safe for any thread.
public sealed interface SegmentNames permits Registry, ProcessLocalNames {
    /// {@return those of this process; only where the library can be called}
    static SegmentNames ofThisProcess() {
        return OfThisProcess.NAMES;
    }

    /// A segment that was opened.
    ///
    /// @param fd its descriptor
    /// @param hold the hold on it; empty if it needs no release
    record Attached(int fd, Optional<Hold> hold) {}

    /// Starts a segment without a name in mind.
    ///
    /// @return the draft
    /// @throws IOException if there cannot be one
    Draft draft() throws IOException;

    /// Starts a segment whose name must be free, or be held by the dead only: then it is freed now.
    ///
    /// @param name the name, without a slash
    /// @return the draft
    /// @throws IOException if there cannot be one; [ErrnoException#EEXIST] if the name is in use
    Draft draft(String name) throws IOException;

    /// Opens a segment, and holds it.
    ///
    /// @param name the name, without a slash
    /// @param flags the flags for opening it
    /// @param ofAnybody whether it may belong to another user than this one and root
    /// @return the segment
    /// @throws IOException if it cannot be done; [ErrnoException#ENOENT] if there is none
    /// @throws ForeignSegmentException if it belongs to another user
    Attached attach(String name, int flags, boolean ofAnybody) throws IOException;

    /// Removes a name.
    ///
    /// @param name the name, without a slash
    /// @return whether there was such a name
    /// @throws IOException if it cannot be done
    boolean unlink(String name) throws IOException;

    /// Removes a name of the lifetime [NameLifetime#UNTIL_UNLINKED] if no running process holds its segment.
    ///
    /// @param name the name, without a slash
    /// @return the segment, as it was; empty if there is no such name, it is removed automatically, or a process holds
    ///     it
    /// @throws IOException if it cannot be done
    Optional<SharedSegment> unlinkIfUnheld(String name) throws IOException;

    /// {@return a segment with its holders; empty if it is not registered, or does not have the name any more}
    ///
    /// @param name the name, without a slash
    /// @param inode of the segment
    /// @throws IOException if a system call fails
    Optional<SharedSegment> find(String name, long inode) throws IOException;

    /// {@return the segments that are known, by name}
    ///
    /// @throws IOException if a system call fails
    List<SharedSegment> list() throws IOException;

    /// Removes what the dead left: names that lasted no longer than they did, drafts, records.
    ///
    /// @return the segments whose names were removed
    /// @throws IOException if a system call fails
    List<SharedSegment> gc() throws IOException;

    /// Releases everything, at the end of this process.
    void releaseAll();
}

/// Made on first use.
final class OfThisProcess {
    static final SegmentNames NAMES = make(Libc.find().orElseThrow());

    private OfThisProcess() {}

    private static SegmentNames make(Libc libc) {
        SegmentNames names = Constant.namesAreFiles() ? Registry.in("/dev/shm", libc) : new ProcessLocalNames(libc);
        try {
            Runtime.getRuntime().addShutdownHook(new Thread(names::releaseAll, "undercroft-shared-memory"));
        } catch (IllegalStateException ending) {
            // What is made while the JVM ends is left for others to collect.
        }
        return names;
    }
}
