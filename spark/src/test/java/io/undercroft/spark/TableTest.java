package io.undercroft.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TableTest {
    @Test
    void thereIsARowForEachTensor(@TempDir Path directory) throws Exception {
        TestFiles.tree(directory);

        List<Row> rows = Cluster.session().read().format("croft").load(directory.toString()).collectAsList();

        rows.forEach(System.err::println);
        assertThat(rows).hasSize(12);
    }
}
