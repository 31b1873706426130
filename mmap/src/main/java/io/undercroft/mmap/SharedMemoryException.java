package io.undercroft.mmap;

import java.io.IOException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// Shared memory could not be made, attached or removed. The message is one line and names a remedy.
public final class SharedMemoryException extends IOException {
    private static final long serialVersionUID = 1L;

    private final Reason reason;

    /// Why.
    public enum Reason {
        /// The name is not one that shared memory can have.
        BAD_NAME,
        /// A segment of that name is there already.
        EXISTS,
        /// There is no segment of that name.
        NOT_FOUND,
        /// The segment belongs to another user.
        NOT_PERMITTED,
        /// There is not that much shared memory left.
        FULL,
        /// A name or a descriptor stands for neither memory nor a regular file.
        NOT_MEMORY,
        /// The registry of holders next to the segments cannot be used; the message names the directory.
        REGISTRY,
        /// This system has no POSIX shared memory, or it is not to be reached from this JVM.
        UNSUPPORTED,
        /// The system refused for another reason, which is the cause.
        SYSTEM
    }

    /// Describes a failure.
    ///
    /// @param reason why, for programs
    /// @param message why, for people: what, and what to do
    /// @param cause the error of the system call, or null
    public SharedMemoryException(Reason reason, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.reason = Objects.requireNonNull(reason, "reason");
    }

    /// {@return why}
    public Reason reason() {
        return reason;
    }
}
