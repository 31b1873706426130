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
/// `main`, run in the folder of this module, writes the files and what they hold anew; the tests only compare. The
/// dumps are what `croft hexdump` prints: `io.undercroft.cli.GoldenDumpsTest` of the module `cli` writes and compares
/// them.
final class Golden {
    /// Where the files are.
    static final Path FOLDER = Path.of("src/test/resources/golden");
    /// The file that has one of everything, which many tests change in one place.
    static final String FILE = "golden/everything.croft";
    /// What all files hold.
    static final String CONTENTS = "contents.txt";

    private static final Path SPEC = Path.of("SPEC.md");

    private Golden() {}

    public static void main(String[] unused) throws IOException {
        SortedMap<String, byte[]> files = GoldenFiles.all();
        for (Map.Entry<String, byte[]> file : files.entrySet()) {
            Files.write(FOLDER.resolve(file.getKey()), file.getValue());
        }
        Files.writeString(FOLDER.resolve(CONTENTS), Contents.of(files));
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
