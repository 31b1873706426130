package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/// A kind of file that is often found in place of the intended one, such as an error page.
///
/// @param start its first characters, in lower case
/// @param what its name
/// @param remedy the way to obtain the file
record Lookalike(String start, String what, String remedy) {
    private static final int LOOKED_AT = 256;
    private static final String DOWNLOAD = "Look at it in a browser: it may say why; then download the file again";

    private static Stream<Lookalike> all() {
        return Stream.of(
                new Lookalike("version https://git-lfs.github.com/spec/",
                        "a pointer of Git LFS and not the file itself",
                        "Fetch the file with git lfs pull"),
                new Lookalike("<!doctype html", "an HTML page", DOWNLOAD),
                new Lookalike("<html", "an HTML page", DOWNLOAD));
    }

    /// {@return the remedy for a file that no format recognises, if it is one of these}
    ///
    /// @param file the file
    /// @throws IOException if reading fails
    static Optional<FormatException> of(MappedFile file) throws IOException {
        byte[] start = new byte[(int) Math.min(file.size(), LOOKED_AT)];
        file.read(0, MemorySegment.ofArray(start));
        String text = new String(start, StandardCharsets.ISO_8859_1).stripLeading().toLowerCase(Locale.ROOT);
        return all().filter(each -> text.startsWith(each.start)).findFirst().map(each -> new FormatException(
                "FORMAT-UNKNOWN", "this is " + each.what, 0, each.remedy));
    }
}
