package io.undercroft.serializer.internal;

import io.undercroft.format.Remedy;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.spi.Contents;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/// Verifying a file that may have been truncated since it was opened.
public final class TruncationCheck {
    private TruncationCheck() {}

    /// Verifies a file. One that is shorter than when it was opened is damaged, also if its format has no checksums.
    ///
    /// @param file the file
    /// @param contents its contents
    /// @return what is damaged
    /// @throws IOException if reading fails
    public static Verification verify(MappedFile file, Contents contents) throws IOException {
        try {
            Verification found = contents.verify();
            Optional<Damage> cut = cut(file, contents);
            return cut.isEmpty()
                    ? found
                    : new Verification(Stream.concat(found.damages().stream(), cut.stream()).toList(),
                            found.unverifiedExtents(), found.unverifiedBytes(), found.missingBases());
        } catch (IOException | RuntimeException | InternalError e) {
            Optional<Damage> cut = cut(file, contents);
            if (cut.isEmpty()) {
                throw e;
            }
            return Verification.ofAll(List.of(cut.get()));
        }
    }

    private static Optional<Damage> cut(MappedFile file, Contents contents) throws IOException {
        long before = contents instanceof CroftContents croft ? croft.committedLength() : file.size();
        long now = file.currentSize();
        return now >= before
                ? Optional.empty()
                : Optional.of(new Damage("the file", now, before - now, "CUT",
                        "it was cut to " + now + " bytes while it is open; it had " + before,
                        Remedy.of("Open it again when it is complete")));
    }
}
