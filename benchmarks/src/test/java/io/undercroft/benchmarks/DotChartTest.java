package io.undercroft.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.StringReader;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.xml.sax.InputSource;

class DotChartTest {
    private static DotChart chart() {
        DotChart chart = new DotChart("1 GiB & more", 2);
        chart.row("save");
        chart.point("ours", 0, 1e-2);
        chart.point("theirs", 1, 1);
        chart.row("open");
        chart.point("ours", 0, 1e-3);
        return chart;
    }

    @Test
    void aPageIsWellFormedAndNamesJobsAndContendersOnce() throws Exception {
        String page = DotChart.page(List.of(chart(), chart()));
        var document = DocumentBuilderFactory.newInstance().newDocumentBuilder()
                .parse(new InputSource(new StringReader(page)));
        assertThat(document.getElementsByTagName("g").getLength()).isEqualTo(2);
        assertThat(page).contains("1 GiB &amp; more", ">save<", ">open<", ">1 ms<", ">1 s<", "prefers-color-scheme");
        assertThat(DotChart.page(List.of(chart()))).containsOnlyOnce(">ours<").containsOnlyOnce(">theirs<");
    }

    @Test
    void timesArePlacedByTheirLogarithm() {
        // Three decades, from 1 ms to 1 s, have a width of 550: 10 ms are at a third of it.
        assertThat(DotChart.page(List.of(chart()))).contains("cx=\"463.3\" cy=\"78.0\"", "cx=\"280.0\" cy=\"102.0\"",
                "d=\"M830.0 78.0m");
    }
}
