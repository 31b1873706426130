package io.undercroft.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.StringReader;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.xml.sax.InputSource;

class LogChartTest {
    private static final LogChart CHART = new LogChart("open & read", "size",
            List.of(new LogChart.Tick(10, "10"), new LogChart.Tick(1000, "1000")),
            List.of(new LogChart.Series("ours", 0,
                    List.of(new LogChart.Point(10, 2e-3), new LogChart.Point(1000, 2e-1))),
                    new LogChart.Series("theirs", 2, List.of(new LogChart.Point(10, 5e-3)))));

    @Test
    void aPageIsWellFormedAndLabelsItsAxes() throws Exception {
        String page = LogChart.page(List.of(CHART, CHART, CHART));
        var document = DocumentBuilderFactory.newInstance().newDocumentBuilder()
                .parse(new InputSource(new StringReader(page)));
        assertThat(document.getElementsByTagName("g").getLength()).isEqualTo(3);
        assertThat(page).contains("open &amp; read", ">1 ms<", ">1 s<", ">size<", ">time<", ">ours<", ">theirs<",
                "prefers-color-scheme: dark");
    }

    @Test
    void aHundredfoldIsTwoMarksApart() {
        String page = LogChart.page(List.of(CHART));
        // Three decades, from 1 ms to 1 s, are 170 high.
        assertThat(page).contains("points=\"100.0,192.9 380.0,79.6\"");
    }
}
