package io.undercroft.properties.documents;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Repository;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/// Lines of code, scripts and pages have at most 120 columns, but for what cannot be wrapped: rows of tables, and code
/// in pages.
class LineLengthTest {
    private static final int COLUMNS = 120;
    private static final Pattern SOURCE = Pattern.compile(".*\\.(java|py|sh|md)");
    private static final Pattern TABLE = Pattern.compile("\\s*(//+)?\\s*\\|.*");
    private static final Pattern INDENTED = Pattern.compile(" {4}.*");
    private static final String FENCE = "```";

    @Test
    void noLineIsLonger() throws IOException {
        List<Path> sources = sources();
        assertThat(sources).hasSizeGreaterThan(500);
        List<String> longer = new ArrayList<>();
        for (Path source : sources) {
            List<String> lines = Files.readAllLines(source, UTF_8);
            boolean isPage = source.toString().endsWith(".md");
            boolean isFenced = false;
            for (int i = 0; i < lines.size(); i++) {
                String line = lines.get(i);
                isFenced ^= isPage && line.startsWith(FENCE);
                boolean isCodeInPage = isPage && (isFenced || INDENTED.matcher(line).matches());
                if (isTooLong(line) && !isCodeInPage) {
                    longer.add(source + ":" + (i + 1));
                }
            }
        }
        assertThat(longer).isEmpty();
    }

    private static boolean isTooLong(String line) {
        return line.codePointCount(0, line.length()) > COLUMNS && !TABLE.matcher(line).matches();
    }

    private static List<Path> sources() throws IOException {
        List<Path> sources = new ArrayList<>();
        Path root = Repository.path("");
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
                String name = folder.getFileName().toString();
                boolean isMade = name.equals("target") || (name.startsWith(".") && !name.equals(".ci"));
                return isMade && !folder.equals(root) ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                if (attributes.isRegularFile() && isSource(file)) {
                    sources.add(file);
                }
                return FileVisitResult.CONTINUE;
            }
        });
        return sources;
    }

    private static boolean isSource(Path file) throws IOException {
        String name = file.getFileName().toString();
        return SOURCE.matcher(name).matches() || (name.indexOf('.') < 0 && isScript(file));
    }

    private static boolean isScript(Path file) throws IOException {
        try (var in = Files.newInputStream(file)) {
            return new String(in.readNBytes(2), UTF_8).equals("#!");
        }
    }
}
