package io.undercroft.serializer;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// A part of a file that the opened state does not contain. Saving the state elsewhere leaves it out.
///
/// @param kind what the part is
/// @param what a description for people, for instance `save 2 of 3`
/// @param offset the first byte of the part in the file; of several runs of bytes, of the first one
/// @param nbytes the number of bytes, of all runs together
/// @param setting the name of the [setting][OpenOptions#setting(String, String)] that chooses what is opened, if the
///     format has one for this
public record UnreadPart(Kind kind, String what, long offset, long nbytes, @Nullable String setting) {
    /// What a part of a file is.
    public enum Kind {
        /// Other states, which the setting opens. Their structure was read.
        STATE,
        /// Parts of a container that the state does not refer to, for instance members of an archive. Their places were
        /// read, and their checksums are compared by [Checkpoint#verify].
        RECORD,
        /// Bytes that no part of the format describes. Their meaning is unknown.
        BYTES,
        /// Other files: this one is a part of a model in several files, by its contents or by its name
        /// (`NAME-00001-of-00003.SUFFIX`). Offset and number of bytes are 0.
        FILE
    }

    /// A part.
    ///
    /// @throws IllegalArgumentException if the offset or the number of bytes is negative
    public UnreadPart {
        Objects.requireNonNull(kind, "kind");
        Objects.requireNonNull(what, "what");
        if (offset < 0 || nbytes < 0) {
            throw new IllegalArgumentException("a part of " + nbytes + " bytes at byte " + offset);
        }
    }

    /// A part that no setting opens.
    ///
    /// @param kind what the part is
    /// @param what a description for people
    /// @param offset the first byte of the part in the file
    /// @param nbytes the number of bytes
    public UnreadPart(Kind kind, String what, long offset, long nbytes) {
        this(kind, what, offset, nbytes, null);
    }

    /// {@return the other files of a model of which a file is one part}
    ///
    /// @param count how many there are
    /// @param which what the file says of itself, for instance `this is file 1 of 3`
    public static UnreadPart ofFiles(long count, String which) {
        return new UnreadPart(Kind.FILE, "%,d other %s of the same model: %s".formatted(count,
                count == 1 ? "file" : "files", which), 0, 0);
    }
}
