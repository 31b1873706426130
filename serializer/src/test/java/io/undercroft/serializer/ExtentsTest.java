package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Extent.Place;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ExtentsTest {
    private static final int CHUNK = 1 << 20;

    @TempDir
    Path folder;

    private List<Extent> extents(Path file, OpenOptions options, String name) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file, options)) {
            Tensor tensor = checkpoint.tensor(name);
            return checkpoint.extents(tensor.storage());
        }
    }

    @Test
    void extentsCoverAStorageWithoutGapsAndTellZerosFromBytes() throws IOException {
        Path file = folder.resolve("a.croft");
        Tensor tensor = Tensor.zeros(DType.INT64, 3 * CHUNK / 8 + 5);
        tensor.narrow(0, 0, 10).fill(7);
        tensor.narrow(0, 2 * CHUNK / 8, 10).fill(8);
        Checkpoint.save(file, Map.of("w", tensor), SaveOptions.defaults().chunkSize(CHUNK));

        List<Extent> extents = extents(file, OpenOptions.defaults(), "w");

        assertThat(extents).extracting(Extent::place).containsExactly(Place.FILE, Place.NOWHERE, Place.FILE,
                Place.NOWHERE);
        assertThat(extents.getLast().end()).isEqualTo(3L * CHUNK + 40);
        for (int i = 1; i < extents.size(); i++) {
            assertThat(extents.get(i).start()).isEqualTo(extents.get(i - 1).end());
        }
        assertThat(extents).allSatisfy(
                extent -> assertThat(extent.digest().isPresent()).isEqualTo(extent.place() == Place.FILE));
    }

    @Test
    void equalBytesHaveEqualDigestsInTwoFiles() throws IOException {
        Tensor tensor = Tensor.arange(DType.FLOAT32, 1000);
        Path one = folder.resolve("one.croft");
        Path other = folder.resolve("other.croft");
        Checkpoint.save(one, Map.of("w", tensor));
        Checkpoint.save(other, Map.of("a", Tensor.of(1L, 2), "w", tensor.copy()));

        assertThat(extents(one, OpenOptions.defaults(), "w").getFirst().digest())
                .isEqualTo(extents(other, OpenOptions.defaults(), "w").getFirst().digest()).isPresent();
        assertThat(extents(other, OpenOptions.defaults(), "a").getFirst().digest())
                .isNotEqualTo(extents(other, OpenOptions.defaults(), "w").getFirst().digest());
    }

    @Test
    void bytesInAnotherFileHaveTheirPlaceThere() throws IOException {
        Tensor tensor = Tensor.arange(DType.FLOAT32, 100_000);
        Path base = folder.resolve("base.croft");
        Path thin = folder.resolve("thin.croft");
        Checkpoint.save(base, Map.of("w", tensor));
        Checkpoint.save(thin, Map.of("w", tensor), SaveOptions.defaults().base(base));

        Extent extent = extents(thin, OpenOptions.defaults().root(folder), "w").getFirst();

        assertThat(extent.place()).isEqualTo(Place.BASE);
        assertThat(extent.offset()).isEqualTo(extents(base, OpenOptions.defaults(), "w").getFirst().offset());
    }

    @Test
    void storagesWithoutBytesAndStoragesOfOthersHaveNone() throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, Map.of("w", Tensor.zeros(DType.FLOAT32, 0)));

        assertThat(extents(file, OpenOptions.defaults(), "w")).isEmpty();
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            assertThat(checkpoint.extents(Storage.allocate(8))).isEmpty();
        }
    }
}
