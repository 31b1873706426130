package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/// A kind of file that is often found in place of the intended one, such as an error page or a compressed file.
///
/// @param start its first bytes as characters, in lower case
/// @param what its name
/// @param remedy the way to obtain the file
record Lookalike(String start, String what, String remedy) {
    private static final int LOOKED_AT = 256;
    private static final String DOWNLOAD = "Look at it in a browser: it may say why; then download the file again";

    private static final Lookalike ZLIB = compressed("", "zlib",
            "zlib.decompress of Python, or joblib.load and joblib.dump");

    private static Lookalike compressed(String start, String by, String command) {
        return new Lookalike(start, "a file compressed by " + by, "Decompress it first, with " + command);
    }

    private static Stream<Lookalike> all() {
        return Stream.of(
                new Lookalike("version https://git-lfs.github.com/spec/",
                        "a pointer of Git LFS and not the file itself",
                        "Fetch the file with git lfs pull"),
                new Lookalike("<!doctype html", "an HTML page", DOWNLOAD),
                new Lookalike("<html", "an HTML page", DOWNLOAD),
                compressed("\u001f\u008b", "gzip", "gunzip"),
                compressed("bzh", "bzip2", "bunzip2"),
                compressed("\u00fd7zxz\0", "xz", "unxz"),
                compressed("(\u00b5/\u00fd", "zstd", "unzstd"),
                compressed("\u0004\"m\u0018", "lz4", "unlz4"));
    }

    /// {@return the remedy for a file that no format recognises, if it is one of these}
    ///
    /// @param file the file
    /// @throws IOException if reading fails
    static Optional<FormatException> of(MappedFile file) throws IOException {
        byte[] start = new byte[(int) Math.min(file.size(), LOOKED_AT)];
        file.read(0, MemorySegment.ofArray(start));
        String text = new String(start, StandardCharsets.ISO_8859_1).toLowerCase(Locale.ROOT);
        String stripped = text.stripLeading();
        return all().filter(each -> text.startsWith(each.start) || stripped.startsWith(each.start)).findFirst()
                .or(() -> isZlib(start) ? Optional.of(ZLIB) : Optional.empty())
                .map(each -> new FormatException("FORMAT-UNKNOWN", "this is " + each.what, 0, each.remedy));
    }

    /// {@return whether bytes can be decompressed} The first two alone could be those of a text.
    private static boolean isZlib(byte[] start) {
        Inflater inflater = new Inflater();
        try {
            inflater.setInput(start);
            return inflater.inflate(new byte[LOOKED_AT]) > 0;
        } catch (DataFormatException _) {
            return false;
        } finally {
            inflater.end();
        }
    }
}
