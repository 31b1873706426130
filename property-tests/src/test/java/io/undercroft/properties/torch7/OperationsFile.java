package io.undercroft.properties.torch7;

import io.undercroft.properties.Repository;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;

/// `operations.txt`: the lines of the observed cases, and what does the same with our storages. The file says how
/// operations are written.
final class OperationsFile {
    private static final Path FILE = Repository
            .path("property-tests/src/test/resources/io/undercroft/properties/torch7/operations.txt");

    record Line(String lua, List<String> operations) {}

    private OperationsFile() {}

    /// All lines, by file, case and number.
    static SequencedMap<String, Line> read() {
        SequencedMap<String, Line> lines = new LinkedHashMap<>();
        String observed = "";
        try {
            for (String line : Files.readAllLines(FILE)) {
                if (line.startsWith("case ")) {
                    observed = line.substring("case ".length());
                } else if (line.startsWith("    ")) {
                    lines.sequencedValues().getLast().operations().add(line.strip());
                } else if (!line.isEmpty() && !line.startsWith("#")) {
                    String[] parts = line.split(" ", 2);
                    String name = observed + " " + parts[0];
                    if (lines.put(name, new Line(parts[1], new ArrayList<>())) != null) {
                        throw new IllegalStateException(name + " is there twice");
                    }
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return lines;
    }
}
