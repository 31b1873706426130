package io.undercroft.cli.internal;

import io.undercroft.format.FormatException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/// A table of text: columns as wide as their widest cell, up to a limit, two spaces between them. Columns in which
/// every cell is empty are left out. On a terminal that is too narrow, texts such as names lose their middle; if that
/// is not enough, a row takes several lines, of which all but the first are indented. Numbers, shapes and types stay
/// whole.
public final class Table {
    private static final String GAP = "  ";
    /// A cell that is longer moves the rest of its line only. Else one long name would make every line as long.
    private static final int WIDEST = 160;
    /// To this width, names are shortened to avoid a second line.
    private static final int NARROWEST = 16;

    private final StringBuilder line = new StringBuilder();
    private final List<Column> columns;
    private final List<String[]> rows = new ArrayList<>();

    private enum Side {
        LEFT, RIGHT
    }

    /// How a table fits into the width of a terminal.
    ///
    /// @param widths the widths of columns; 0 for those that are left out
    /// @param lines the numbers of the columns of each line
    private record Layout(List<Integer> widths, List<List<Integer>> lines) {}

    /// One column.
    public static final class Column {
        private final String title;
        private final Side side;
        private final boolean isShortened;

        private Column(String title, Side side, boolean isShortened) {
            this.title = title;
            this.side = side;
            this.isShortened = isShortened;
        }
    }

    /// An empty table.
    ///
    /// @param columns its columns
    public Table(Column... columns) {
        this.columns = List.of(columns);
    }

    /// {@return a column of names or words, which may be shortened}
    ///
    /// @param title the title
    public static Column left(String title) {
        return new Column(title, Side.LEFT, true);
    }

    /// {@return a column of words that are never shortened, such as shapes}
    ///
    /// @param title the title
    public static Column whole(String title) {
        return new Column(title, Side.LEFT, false);
    }

    /// {@return a column of numbers}
    ///
    /// @param title the title
    public static Column right(String title) {
        return new Column(title, Side.RIGHT, false);
    }

    /// Writes titles, and rows that are made when they are needed and not kept. Text from files is
    /// [escaped][FormatException#printable].
    ///
    /// @param out the destination
    /// @param rows gives the rows to a consumer, one cell for each column; called twice
    public void print(TextOutput out, Consumer<Consumer<String[]>> rows) {
        int[] widths = widths(rows);
        for (int i = 0; i < widths.length; i++) {
            widths[i] = widths[i] == 0 ? 0 : Math.max(widths[i], length(columns.get(i).title));
        }
        Layout layout = layout(widths, out.width());
        render(columns.stream().map(column -> column.title).toArray(String[]::new), layout, out);
        rows.accept(row -> render(printable(row), layout, out));
    }

    private Layout layout(int[] widths, int available) {
        for (int excess = excess(widths, available), i = widest(widths); excess > 0 && columns.get(i).isShortened
                && widths[i] > NARROWEST; i = widest(widths)) {
            widths[i]--;
            excess--;
        }
        List<List<Integer>> lines = new ArrayList<>(List.of(new ArrayList<>()));
        int used = 0;
        for (int i = 0; i < widths.length; i++) {
            int needed = widths[i] == 0 ? 0 : widths[i] + GAP.length();
            if (used > 0 && used + needed - GAP.length() > available) {
                lines.add(new ArrayList<>());
                used = GAP.length();
            }
            used += needed;
            lines.getLast().add(i);
        }
        return new Layout(Arrays.stream(widths).boxed().toList(), lines);
    }

    private static int excess(int[] widths, int available) {
        long needed = Arrays.stream(widths).filter(width -> width > 0).mapToLong(width -> (long) width + GAP.length())
                .sum() - GAP.length();
        return (int) Math.max(needed - available, 0);
    }

    /// Returns the widest of the columns that may be shortened, or 0.
    private int widest(int... widths) {
        int widest = 0;
        for (int i = 0; i < widths.length; i++) {
            if (columns.get(i).isShortened && (widths[i] > widths[widest] || !columns.get(widest).isShortened)) {
                widest = i;
            }
        }
        return widest;
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
    public void print(TextOutput out) {
        print(out, rows::forEach);
    }

    /// Writes rows without titles.
    ///
    /// @param out the destination
    public void printRows(TextOutput out) {
        Layout layout = layout(widths(rows::forEach), out.width());
        rows.forEach(row -> render(printable(row), layout, out));
    }

    private void render(String[] cells, Layout layout, TextOutput out) {
        for (List<Integer> columnsOfLine : layout.lines) {
            boolean isFirst = columnsOfLine.getFirst() == 0;
            String text = render(cells, columnsOfLine, layout.widths, out.width() < Integer.MAX_VALUE,
                    isFirst ? "" : GAP);
            if (isFirst || !text.isBlank()) {
                out.line(text);
            }
        }
    }

    private String render(String[] cells, List<Integer> columnsOfLine, List<Integer> widths, boolean isNarrow,
            String indent) {
        line.setLength(0);
        line.append(indent);
        int end = 0;
        for (int i : columnsOfLine) {
            if (widths.get(i) > 0) {
                String cell = isNarrow && columns.get(i).isShortened
                        ? Text.withoutMiddle(cells[i], widths.get(i))
                        : cells[i];
                line.append(line.length() == indent.length() ? "" : GAP);
                int space = Math.max(widths.get(i) - length(cell), 0);
                line.repeat(' ', columns.get(i).side == Side.LEFT ? 0 : space).append(cell);
                end = cell.isEmpty() ? end : line.length();
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
