package io.undercroft.benchmarks;

import java.util.ArrayList;
import java.util.Formatter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/// A chart of seconds with a row for each job and a mark for each contender, on one logarithmic axis, drawn as a part
/// of an SVG image that suits light and dark pages.
final class DotChart {
    private static final int WIDTH = 860;
    private static final int LEFT = 280;
    private static final int RIGHT = 30;
    private static final int TOP = 70;
    private static final int ROW = 24;

    private final String title;
    private final int contenders;
    private final List<Row> rows = new ArrayList<>();
    private final Map<Integer, String> names = new TreeMap<>();

    private record Point(int colour, double seconds) {}

    private record Row(String what, List<Point> points) {}

    /// @param title the heading
    /// @param contenders the number of contenders, at most [LogChart#COLOURS]
    DotChart(String title, int contenders) {
        this.title = title;
        this.contenders = contenders;
    }

    /// Adds a row, below the others.
    ///
    /// @param what its label
    void row(String what) {
        rows.add(new Row(what, new ArrayList<>()));
    }

    /// Adds a mark to the last row.
    ///
    /// @param contender its name, for the legend
    /// @param colour the number of its colour and mark
    /// @param seconds more than 0
    void point(String contender, int colour, double seconds) {
        if (colour >= contenders) {
            throw new IllegalArgumentException("colour " + colour + " of " + contenders);
        }
        names.put(colour, contender);
        rows.getLast().points.add(new Point(colour, seconds));
    }

    /// {@return an image of charts, one below the other}
    ///
    /// @param charts the charts
    static String page(List<DotChart> charts) {
        StringBuilder image = new StringBuilder(8192);
        Formatter svg = new Formatter(image, Locale.ROOT);
        LogChart.begin(svg, WIDTH, charts.stream().mapToInt(DotChart::height).sum());
        int y = 0;
        for (DotChart chart : charts) {
            svg.format("<g transform=\"translate(0 %d)\">\n", y);
            chart.draw(svg);
            image.append("</g>\n");
            y += chart.height();
        }
        return image.append("</svg>\n").toString();
    }

    private int height() {
        return TOP + rows.size() * ROW + 40;
    }

    private void draw(Formatter svg) {
        svg.format("<text x=\"10\" y=\"20\" font-size=\"14\" font-weight=\"bold\">%s</text>\n",
                LogChart.escaped(title));
        int legend = LEFT;
        for (var name : names.entrySet()) {
            LogChart.marker(svg, name.getKey(), legend, 42);
            svg.format("<text x=\"%d\" y=\"46\">%s</text>\n", legend + 10, LogChart.escaped(name.getValue()));
            legend += 130;
        }
        int bottom = TOP + rows.size() * ROW;
        for (int mark = lowest(); mark <= highest(); mark++) {
            double x = x(LogChart.SMALLEST_MARK * Math.pow(10, mark));
            svg.format("<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", x, x, TOP - 10, bottom);
            svg.format("<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x, bottom + 18,
                    LogChart.SECONDS.get(mark));
        }
        for (int i = 0; i < rows.size(); i++) {
            Row row = rows.get(i);
            double y = TOP + i * ROW + 8;
            svg.format("<text x=\"10\" y=\"%.1f\">%s</text>\n", y + 4, LogChart.escaped(row.what));
            svg.format("<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT, WIDTH - RIGHT, y,
                    y);
            row.points.forEach(point -> LogChart.marker(svg, point.colour, x(point.seconds), y));
        }
    }

    private double x(double seconds) {
        double mark = Math.log10(seconds / LogChart.SMALLEST_MARK);
        return LEFT + (mark - lowest()) / Math.max(1, highest() - lowest()) * (WIDTH - LEFT - RIGHT);
    }

    private int lowest() {
        return LogChart.markBelow(rows.stream().flatMap(row -> row.points.stream()).mapToDouble(Point::seconds));
    }

    private int highest() {
        return LogChart.markAbove(rows.stream().flatMap(row -> row.points.stream()).mapToDouble(Point::seconds));
    }
}
