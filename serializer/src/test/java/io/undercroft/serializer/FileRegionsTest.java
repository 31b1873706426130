package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.FileRegion.Kind;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileRegionsTest {
    @TempDir
    Path folder;

    private static List<FileRegion> regions(Path file) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            return checkpoint.regions();
        }
    }

    @Test
    void aFileOfOneSnapshotIsRegionsAndExtentsWithShortGaps() throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, Map.of("a", Tensor.arange(DType.INT64, 1000), "b", Tensor.of(1f, 2f)));

        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            List<long[]> ranges = new ArrayList<>();
            checkpoint.regions().forEach(
                    region -> ranges.add(new long[]{region.offset(), region.offset() + region.nbytes()}));
            for (Storage storage : checkpoint.storages()) {
                checkpoint.extents(storage)
                        .forEach(extent -> ranges.add(new long[]{extent.offset(), extent.offset() + extent.length()}));
            }
            ranges.sort(Comparator.comparingLong(range -> range[0]));
            long end = 0;
            for (long[] range : ranges) {
                assertThat(range[0] - end).isBetween(0L, 63L);
                end = range[1];
            }
            assertThat(end).isEqualTo(Files.size(file));
            assertThat(checkpoint.regions()).extracting(FileRegion::kind).containsExactly(Kind.HEADER,
                    Kind.COMMIT_RECORD, Kind.INDEX);
        }
    }

    @Test
    void laterSnapshotsAddTheSlotsTheirIndexAndTheRecordOfTheOneBefore() throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, Map.of("a", Tensor.of(1L)));
        long first = Files.size(file);
        CroftFile.open(file).commit(Map.of("a", Tensor.of(2L)), "second");

        List<FileRegion> regions = regions(file);

        assertThat(regions).extracting(FileRegion::kind).containsExactly(Kind.HEADER, Kind.COMMIT_RECORD, Kind.INDEX,
                Kind.COMMIT_SLOTS, Kind.COMMIT_RECORD, Kind.INDEX);
        assertThat(regions.get(2).offset() + regions.get(2).nbytes()).isEqualTo(first);
        assertThat(regions.getLast().offset() + regions.getLast().nbytes()).isEqualTo(Files.size(file));
        assertThat(regions).isSortedAccordingTo(Comparator.comparingLong(FileRegion::offset));
    }

    @Test
    void anEarlierSnapshotHasTheRegionsOfTheWholeFile() throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, Map.of("a", Tensor.of(1L)));
        CroftFile.open(file).commit(Map.of("a", Tensor.of(2L)), "second");

        try (Checkpoint earlier = Checkpoint.open(file, OpenOptions.defaults().snapshot(1))) {
            assertThat(earlier.regions()).isEqualTo(regions(file));
        }
    }

    @Test
    void aSealedFileEndsWithItsCommitRecord() throws IOException {
        Path file = folder.resolve("a.croft");
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            Checkpoint.save(channel, Map.of("a", Tensor.of(1L)), SaveOptions.defaults());
        }

        List<FileRegion> regions = regions(file);

        assertThat(regions).extracting(FileRegion::kind).containsExactly(Kind.HEADER, Kind.INDEX, Kind.COMMIT_RECORD);
        assertThat(regions.getLast().offset() + regions.getLast().nbytes()).isEqualTo(Files.size(file));
    }
}
