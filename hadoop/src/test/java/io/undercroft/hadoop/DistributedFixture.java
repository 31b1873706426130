package io.undercroft.hadoop;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.file.Files;
import java.util.List;
import java.util.stream.Stream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/// A distributed checkpoint of PyTorch with a tensor in two shards, each of which has half of the columns.
final class DistributedFixture {
    private static final java.nio.file.Path FOLDER = java.nio.file.Path.of("..", "test-support", "fixtures", "pytorch",
            "dcp-boxes");
    private static final int COLUMNS = 768;

    private DistributedFixture() {}

    static void copyTo(FileSystem fs, Path target) throws IOException {
        List<java.nio.file.Path> files;
        try (Stream<java.nio.file.Path> all = Files.list(FOLDER)) {
            files = all.toList();
        }
        for (java.nio.file.Path file : files) {
            try (OutputStream out = fs.create(new Path(target, file.getFileName().toString()))) {
                Files.copy(file, out);
            }
        }
    }

    /// Checks a box and all of the tensor, and a value.
    static void check(URI index, OpenOptions options) throws IOException {
        for (OpenOptions each : List.of(options, options.inMemory())) {
            try (Checkpoint c = Checkpoint.open(index, each)) {
                assertThat(c.format()).isEqualTo("torch-dcp");
                assertThat(c.value("epoch")).isEqualTo(4L);
                Tensor box = c.slice("grid", new long[]{500, 380}, Shape.of(3, 8));
                assertThat(box.getLong(2, 7)).isEqualTo((502L * COLUMNS + 387) % 251);
                Tensor grid = c.tensor("grid");
                assertThat(grid.getLong(502, 387)).isEqualTo(box.getLong(2, 7));
                assertThat(grid.getLong(1023, 767)).isEqualTo((1024L * COLUMNS - 1) % 251);
                assertThat(c.verify().isIntact()).isTrue();
            }
        }
    }
}
