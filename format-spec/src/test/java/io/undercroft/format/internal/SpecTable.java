package io.undercroft.format.internal;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// A table of `SPEC.md`.
///
/// @param heading the heading of the section that it is in, without its number signs
/// @param rows its cells, row by row
record SpecTable(String heading, List<List<String>> rows) {
    /// {@return all tables with these columns, in the order of the text}
    static List<SpecTable> all(String text, String... columns) {
        List<SpecTable> tables = new ArrayList<>();
        String heading = "";
        boolean inside = false;
        for (String line : text.lines().toList()) {
            if (line.startsWith("#")) {
                heading = line.replaceFirst("^#+ ", "");
            }
            List<String> cells = line.startsWith("|") ? cells(line) : List.of();
            if (cells.equals(List.of(columns))) {
                tables.add(new SpecTable(heading, new ArrayList<>()));
                inside = true;
            } else if (cells.isEmpty()) {
                inside = false;
            } else if (inside && !cells.getFirst().startsWith("---")) {
                tables.getLast().rows().add(cells);
            }
        }
        return tables;
    }

    /// {@return the one table with these columns}
    static SpecTable one(String text, String... columns) {
        List<SpecTable> tables = all(text, columns);
        if (tables.size() != 1) {
            throw new IllegalStateException(tables.size() + " tables have the columns " + Arrays.toString(columns));
        }
        return tables.getFirst();
    }

    private static List<String> cells(String line) {
        return Arrays.stream(line.substring(1, line.lastIndexOf('|')).split("\\|", -1)).map(String::strip).toList();
    }
}
