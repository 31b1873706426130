package io.undercroft.cli.internal;

import io.undercroft.format.FormatException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/// A table of text: columns as wide as their widest cell, up to a limit, two spaces between them. Columns in which
/// every cell is empty are left out.
public final class Table {
    private static final String GAP = "  ";
    /// A cell that is longer moves the rest of its line only. Else one long name would make every line as long.
    private static final int WIDEST = 160;

    private final StringBuilder line = new StringBuilder();
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
    /// @param title the title
    public static Column left(String title) {
        return new Column(title, Side.LEFT);
    }

    /// {@return a column of numbers}
    ///
    /// @param title the title
    public static Column right(String title) {
        return new Column(title, Side.RIGHT);
    }

    /// Writes titles, and rows that are made when they are needed and not kept. Text from files is
    /// [escaped][FormatException#printable].
    ///
    /// @param out the destination
    /// @param rows gives the rows to a consumer, one cell for each column; called twice
    public void print(Output out, Consumer<Consumer<String[]>> rows) {
        int[] widths = widths(rows);
        for (int i = 0; i < widths.length; i++) {
            widths[i] = widths[i] == 0 ? 0 : Math.max(widths[i], length(columns.get(i).title));
        }
        out.line(render(columns.stream().map(column -> column.title).toArray(String[]::new), widths));
        rows.accept(row -> out.line(render(printable(row), widths)));
    }

    private int[] widths(Consumer<Consumer<String[]>> all) {
        int[] widths = new int[columns.size()];
        all.accept(row -> {
            String[] cells = printable(row);
            Arrays.setAll(widths, i -> Math.max(widths[i], Math.min(length(cells[i]), WIDEST)));
        });
        return widths;
    }

    private static String[] printable(String... cells) {
        String[] printable = new String[cells.length];
        Arrays.setAll(printable, i -> FormatException.printable(cells[i]));
        return printable;
    }

    /// Adds a row. Text from files is [escaped][FormatException#printable].
    ///
    /// @param cells one for each column
    public void row(String... cells) {
        if (cells.length != columns.size()) {
            throw new IllegalArgumentException(cells.length + " cells for " + columns.size() + " columns");
        }
        rows.add(cells.clone());
    }

    /// Writes titles and rows.
    ///
    /// @param out the destination
    public void print(Output out) {
        print(out, rows::forEach);
    }

    /// Writes rows without titles.
    ///
    /// @param out the destination
    public void printRows(Output out) {
        int[] widths = widths(rows::forEach);
        rows.forEach(row -> out.line(render(printable(row), widths)));
    }

    private String render(String[] cells, int[] widths) {
        line.setLength(0);
        int end = 0;
        for (int i = 0; i < cells.length; i++) {
            if (widths[i] > 0) {
                line.append(line.isEmpty() ? "" : GAP);
                int space = Math.max(widths[i] - length(cells[i]), 0);
                line.repeat(' ', columns.get(i).side == Side.LEFT ? 0 : space).append(cells[i]);
                end = cells[i].isEmpty() ? end : line.length();
                line.repeat(' ', columns.get(i).side == Side.LEFT ? space : 0);
            }
        }
        line.setLength(end);
        return line.toString().stripTrailing();
    }

    private static int length(String text) {
        return text.codePointCount(0, text.length());
    }
}
