package io.undercroft.format.internal;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.SortedMap;

/// The golden files: small files that every reader has to open, their annotated dumps, and what they hold.
///
/// `main`, run in the folder of this module, writes all of them anew and puts the dump of the first into `SPEC.md`; the
/// tests only compare.
final class Golden {
    /// Where the files are.
    static final Path FOLDER = Path.of("src/test/resources/golden");
    /// The file that has one of everything, which many tests change in one place.
    static final String FILE = "golden/everything.croft";
    /// What all files hold.
    static final String CONTENTS = "contents.txt";

    private static final Path SPEC = Path.of("SPEC.md");
    private static final String FENCE = "```text\n";

    private Golden() {}

    public static void main(String[] unused) throws IOException {
        SortedMap<String, byte[]> files = GoldenFiles.all();
        for (Map.Entry<String, byte[]> file : files.entrySet()) {
            Files.write(FOLDER.resolve(file.getKey()), file.getValue());
            if (hasDump(file.getKey())) {
                Files.writeString(FOLDER.resolve(dumpOf(file.getKey())), Dump.of(file.getValue()));
            }
        }
        Files.writeString(FOLDER.resolve(CONTENTS), Contents.of(files));
        String before = spec().substring(0, spec().indexOf(FENCE) + FENCE.length());
        String after = spec().substring(spec().indexOf("```\n", before.length()));
        Files.writeString(SPEC, before + Dump.of(Everything.file()) + after);
    }

    /// {@return whether a file is one of this format}
    static boolean hasDump(String name) {
        return name.endsWith(".croft") || name.endsWith(".croftset");
    }

    /// {@return the name of the dump of a file}
    static String dumpOf(String name) {
        return name.substring(0, name.lastIndexOf('.')) + ".txt";
    }

    static byte[] resource(String name) {
        try (InputStream in = Golden.class.getResourceAsStream("/" + name)) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// {@return the text of the specification}
    static String spec() throws IOException {
        return Files.readString(SPEC);
    }
}
