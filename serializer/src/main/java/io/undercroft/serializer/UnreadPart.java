package io.undercroft.serializer;

import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// A part of a file that the opened state does not contain, and that a copy of the state will not contain either.
///
/// @param kind the kind of the part
/// @param what a description for people, for instance `save 2 of 3`
/// @param offset the offset in the file of the first byte of the part
/// @param nbytes the number of bytes of the part, which need not be contiguous
/// @param setting the name of the [setting][OpenOptions#setting(String, String)] that selects this part, or null if the
///     format has none
public record UnreadPart(Kind kind, String what, long offset, long nbytes, @Nullable String setting) {
    /// As transformers, diffusers and llama.cpp name the parts of a model.
    private static final Pattern PART_OF_MODEL = Pattern.compile("-([0-9]{5,6})-of-([0-9]{5,6})\\.[^/\\\\]*$");

    /// The kind of a part of a file.
    public enum Kind {
        /// Other states, which the setting selects. Their structure was read.
        STATE,
        /// Parts of a container that the state does not reference, for instance members of an archive.
        /// [Checkpoint#verify] compares their checksums.
        RECORD,
        /// Bytes that the format does not describe.
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

    /// Creates a part that no setting selects.
    ///
    /// @param kind the kind of the part
    /// @param what a description for people
    /// @param offset the offset of the first byte in the file
    /// @param nbytes the number of bytes
    public UnreadPart(Kind kind, String what, long offset, long nbytes) {
        this(kind, what, offset, nbytes, null);
    }

    /// {@return the other files of a model that a file is a part of}
    ///
    /// @param count the number of these files
    /// @param which a description of the file, for instance `this is file 1 of 3`
    public static UnreadPart ofFiles(long count, String which) {
        return ofFiles(String.format(Locale.ROOT, "%,d other %s of the same model: %s", count,
                count == 1 ? "file" : "files", which));
    }

    /// {@return the other files of a model that a file is a part of, of which it does not say how many there are}
    ///
    /// @param which a description of them
    public static UnreadPart ofFiles(String which) {
        return new UnreadPart(Kind.FILE, which, 0, 0);
    }

    /// {@return the parts that a state does not contain, with the other files of the model if the name of the file
    /// counts them and its contents do not}
    ///
    /// @param parts those that the contents of the file have
    /// @param location the name of the file
    static List<UnreadPart> withFiles(List<UnreadPart> parts, String location) {
        Matcher name = PART_OF_MODEL.matcher(location);
        if (!name.find() || parts.stream().anyMatch(part -> part.kind == Kind.FILE)) {
            return parts;
        }
        long count = Long.parseLong(name.group(2));
        return count < 2
                ? parts
                : Stream.concat(parts.stream(), Stream.of(ofFiles(count - 1,
                        "this is file %s of %s by its name".formatted(Long.parseLong(name.group(1)), count)))).toList();
    }
}
