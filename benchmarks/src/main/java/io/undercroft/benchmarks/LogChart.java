package io.undercroft.benchmarks;

import java.util.Formatter;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;

/// A chart of seconds with logarithmic axes, drawn as a part of an SVG image that suits light and dark pages.
///
/// @param title the heading
/// @param xAxis the label of the horizontal axis
/// @param ticks the marks of the horizontal axis, the smallest first
/// @param series the measurements of each contender
record LogChart(String title, String xAxis, List<Tick> ticks, List<Series> series) {
    /// The number of colours.
    static final int COLOURS = 4;
    private static final int WIDTH = 430;
    private static final int HEIGHT = 330;
    private static final int LEFT = 70;
    private static final int RIGHT = 20;
    private static final int TOP = 40;
    /// Where the horizontal axis is; the legend is below it.
    private static final int BOTTOM = 210;
    private static final int LINE = 18;
    /// The first mark of the axis of seconds, and the labels of all marks; each mark is ten times the previous one.
    static final double SMALLEST_MARK = 1e-5;
    static final List<String> SECONDS = List.of("10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s",
            "100 s", "1000 s");

    /// A mark of an axis.
    ///
    /// @param value its place
    /// @param label its text
    record Tick(double value, String label) {}

    /// A measurement.
    ///
    /// @param x its place, more than 0
    /// @param seconds more than 0
    record Point(double x, double seconds) {}

    /// The measurements of a contender.
    ///
    /// @param name its name
    /// @param colour the number of its colour and mark
    /// @param points the measurements by place
    record Series(String name, int colour, List<Point> points) {}

    /// {@return an image of charts, two in a row}
    ///
    /// @param charts the charts
    static String page(List<LogChart> charts) {
        int rows = Math.ceilDiv(charts.size(), 2);
        StringBuilder image = new StringBuilder(8192);
        Formatter svg = new Formatter(image, Locale.ROOT);
        begin(svg, 2 * WIDTH, rows * HEIGHT);
        for (int i = 0; i < charts.size(); i++) {
            svg.format("<g transform=\"translate(%d %d)\">\n", i % 2 * WIDTH, i / 2 * HEIGHT);
            charts.get(i).draw(svg);
            image.append("</g>\n");
        }
        return image.append("</svg>\n").toString();
    }

    /// Begins an image: its size, colours and background.
    ///
    /// @param svg the image
    /// @param width its width
    /// @param height its height
    static void begin(Formatter svg, int width, int height) {
        svg.format("""
                <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">
                <style>
                text { fill: #1f2328 } .axis { stroke: #59636e } .grid { stroke: #d1d9e0 } .back { fill: #ffffff }
                .line { fill: none; stroke-width: 2 }
                .s0 { stroke: #0969da } .s1 { stroke: #8250df } .s2 { stroke: #bc4c00 } .s3 { stroke: #1a7f37 }
                .m0 { fill: #0969da } .m1 { fill: #8250df } .m2 { fill: #bc4c00 } .m3 { fill: #1a7f37 }
                @media (prefers-color-scheme: dark) {
                text { fill: #f0f6fc } .axis { stroke: #9198a1 } .grid { stroke: #3d444d } .back { fill: #0d1117 }
                .s0 { stroke: #4493f8 } .s1 { stroke: #ab7df8 } .s2 { stroke: #f0883e } .s3 { stroke: #3fb950 }
                .m0 { fill: #4493f8 } .m1 { fill: #ab7df8 } .m2 { fill: #f0883e } .m3 { fill: #3fb950 }
                }
                </style>
                <rect class="back" width="100%%" height="100%%"/>
                """, width, height);
    }

    private void draw(Formatter svg) {
        svg.format("<text x=\"%d\" y=\"20\" font-size=\"14\" font-weight=\"bold\">%s</text>\n", LEFT, escaped(title));
        for (int mark = lowest(); mark <= highest(); mark++) {
            double y = y(SMALLEST_MARK * Math.pow(10, mark));
            svg.format("<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT, WIDTH - RIGHT, y,
                    y);
            svg.format("<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 6, y + 4, SECONDS.get(mark));
        }
        svg.format("<path class=\"axis\" fill=\"none\" d=\"M%d %dV%dH%d\"/>\n", LEFT, TOP, BOTTOM, WIDTH - RIGHT);
        for (Tick tick : ticks) {
            double x = x(tick.value);
            svg.format("<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", x, x, BOTTOM,
                    BOTTOM + 4);
            svg.format("<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x, BOTTOM + LINE,
                    escaped(tick.label));
        }
        svg.format("<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", (LEFT + WIDTH - RIGHT) / 2,
                BOTTOM + 2 * LINE, escaped(xAxis));
        svg.format("<text transform=\"translate(14 %d) rotate(-90)\" text-anchor=\"middle\">time</text>\n",
                (TOP + BOTTOM) / 2);
        for (int i = 0; i < series.size(); i++) {
            draw(svg, i);
        }
    }

    private void draw(Formatter svg, int number) {
        Series drawn = series.get(number);
        svg.format("<polyline class=\"line s%d\" points=\"%s\"/>\n", drawn.colour,
                drawn.points.stream()
                        .map(point -> String.format(Locale.ROOT, "%.1f,%.1f", x(point.x), y(point.seconds)))
                        .collect(Collectors.joining(" ")));
        for (Point point : drawn.points) {
            marker(svg, drawn.colour, x(point.x), y(point.seconds));
        }
        double y = BOTTOM + (3 + number) * LINE - 4;
        marker(svg, drawn.colour, LEFT, y - 4);
        svg.format("<text x=\"%d\" y=\"%.1f\">%s</text>\n", LEFT + 12, y, escaped(drawn.name));
    }

    /// A mark whose form tells the series as well as its colour.
    static void marker(Formatter svg, int colour, double x, double y) {
        String form = switch (colour) {
            case 0 -> "<circle class=\"m0\" cx=\"%1$.1f\" cy=\"%2$.1f\" r=\"4.5\"/>\n";
            case 1 -> "<path class=\"m1\" d=\"M%1$.1f %2$.1fm0 -6l5 9h-10z\"/>\n";
            case 2 -> "<path class=\"m2\" d=\"M%1$.1f %2$.1fm-4 -4h8v8h-8z\"/>\n";
            default -> "<path class=\"m3\" d=\"M%1$.1f %2$.1fm0 -6l6 6l-6 6l-6 -6z\"/>\n";
        };
        svg.format(form, x, y);
    }

    private double x(double value) {
        double from = Math.log(ticks.getFirst().value);
        double to = Math.log(ticks.getLast().value);
        return LEFT + 30 + (Math.log(value) - from) / (to - from) * (WIDTH - LEFT - RIGHT - 60);
    }

    private double y(double seconds) {
        double mark = Math.log10(seconds / SMALLEST_MARK);
        return BOTTOM - (mark - lowest()) / Math.max(1, highest() - lowest()) * (BOTTOM - TOP);
    }

    private DoubleStream seconds() {
        return series.stream().flatMap(one -> one.points.stream()).mapToDouble(Point::seconds);
    }

    private int lowest() {
        return markBelow(seconds());
    }

    private int highest() {
        return markAbove(seconds());
    }

    /// {@return the number of the mark below all measurements}
    ///
    /// @param seconds the measurements
    static int markBelow(DoubleStream seconds) {
        return markNumber(Math.floor(Math.log10(seconds.min().orElse(1) / SMALLEST_MARK)));
    }

    /// {@return the number of the mark above all measurements}
    ///
    /// @param seconds the measurements
    static int markAbove(DoubleStream seconds) {
        return markNumber(Math.ceil(Math.log10(seconds.max().orElse(1) / SMALLEST_MARK)));
    }

    private static int markNumber(double number) {
        return Math.clamp((long) number, 0, SECONDS.size() - 1);
    }

    static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;");
    }
}
