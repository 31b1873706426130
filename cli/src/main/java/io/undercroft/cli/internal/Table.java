package io.undercroft.cli.internal;

import io.undercroft.format.FormatException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// A table of text: columns as wide as their widest cell, two spaces between them. Columns in which every cell is empty are left out.
public final class Table {
    private static final String GAP = "  ";

    private final List<Column> columns;
    private final List<String[]> rows = new ArrayList<>();

    private enum Side {
        LEFT, RIGHT
    }

    /// One column.
    public static final class Column {
        private final String title;
        private final Side side;

        private Column(String title, Side side) {
            this.title = title;
            this.side = side;
        }
    }

    /// An empty table.
    ///
    /// @param columns its columns
    public Table(Column... columns) {
        this.columns = List.of(columns);
    }

    /// {@return a column of words}
    ///
    /// @param title what stands above it
    public static Column left(String title) {
        return new Column(title, Side.LEFT);
    }

    /// {@return a column of numbers}
    ///
    /// @param title what stands above it
    public static Column right(String title) {
        return new Column(title, Side.RIGHT);
    }

    /// Adds a row. Text from files is [escaped][FormatException#printable].
    ///
    /// @param cells one for each column
    public void row(String... cells) {
        if (cells.length != columns.size()) {
            throw new IllegalArgumentException(cells.length + " cells for " + columns.size() + " columns");
        }
        rows.add(Arrays.stream(cells).map(FormatException::printable).toArray(String[]::new));
    }

    /// Writes titles and rows.
    ///
    /// @param out where to
    public void print(Output out) {
        int[] widths = new int[columns.size()];
        Arrays.setAll(widths, this::width);
        out.line(render(columns.stream().map(column -> column.title).toArray(String[]::new), widths));
        rows.forEach(row -> out.line(render(row, widths)));
    }

    /// 0 for a column that nothing stands in.
    private int width(int column) {
        int widest = rows.stream().mapToInt(row -> length(row[column])).max().orElse(0);
        return widest == 0 ? 0 : Math.max(widest, length(columns.get(column).title));
    }

    private String render(String[] cells, int[] widths) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < cells.length; i++) {
            if (widths[i] > 0) {
                line.append(line.isEmpty() ? "" : GAP).append(pad(cells[i], widths[i], columns.get(i).side));
            }
        }
        return line.toString().stripTrailing();
    }

    private static String pad(String cell, int width, Side side) {
        String space = " ".repeat(width - length(cell));
        return side == Side.LEFT ? cell + space : space + cell;
    }

    private static int length(String text) {
        return text.codePointCount(0, text.length());
    }
}
