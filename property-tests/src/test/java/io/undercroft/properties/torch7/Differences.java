package io.undercroft.properties.torch7;

import io.undercroft.properties.Repository;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// The page that lists where we do not do as Torch7 did, and why: `docs/torch7-differences.md`.
///
/// Its tables have a row for each line of an observed case: the case and the number of the line, the line itself, and
/// what Torch7 and ours answer to it.
record Differences(Map<String, Row> rows) {
    static final Path PAGE = Repository.path("docs/torch7-differences.md");

    /// One row; the line may be one that cannot be carried out here.
    record Row(String step, String lua, String torch7, String ours) {
        boolean isApplicable() {
            return !ours.equals("not run");
        }
    }

    static Differences read() {
        try (Stream<String> lines = Files.lines(PAGE)) {
            return new Differences(lines.filter(line -> line.startsWith("| `")).map(Differences::row)
                    .collect(Collectors.toUnmodifiableMap(Row::step, Function.identity())));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Optional<Row> find(String step) {
        return Optional.ofNullable(rows.get(step));
    }

    private static Row row(String line) {
        List<String> cells = Stream.of(line.split("(?<!\\\\)\\|", -1)).skip(1).map(Differences::plain).toList();
        return new Row(cells.get(0), cells.get(1), cells.get(2), cells.get(3));
    }

    /// The text of a cell: without the marks of code, and with bars that end no cell.
    private static String plain(String cell) {
        return ObservedCase.withOwnNames(cell.strip().replaceAll("^`|`$", "").replace("\\|", "|"));
    }
}
