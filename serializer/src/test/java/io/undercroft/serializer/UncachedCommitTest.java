package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.Disk.DiskFile;
import io.undercroft.storage.Storage;
import io.undercroft.storage.StorageCopier;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PretendDevice;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// What a commit reads of a large file past the page cache. The files of these tests are large since the disk says so.
class UncachedCommitTest {
    private static final int MIB = 1 << 20;
    private static final int TENSORS = 12;

    @TempDir
    Path folder;

    private Path path;
    private final UncachedDisk disk = new UncachedDisk(true);
    private final Map<String, Object> state = new LinkedHashMap<>();

    /// A disk whose files are all large. Counts what is read past the page cache.
    private static final class UncachedDisk extends ForwardingDisk {
        private final boolean holdsNothing;
        private long requests;
        private long bytes;
        private Operation failing;

        /// @param holdsNothing whether the page cache is said to hold nothing of a file
        UncachedDisk(boolean holdsNothing) {
            this.holdsNothing = holdsNothing;
        }

        @Override
        public boolean comparesPastCache(long size, long snapshots) {
            return true;
        }

        @Override
        boolean isReadPastCache(DiskFile file, long offset, long length) {
            return holdsNothing ? length >= MIB : super.isReadPastCache(file, offset, length);
        }

        @Override
        synchronized void before(Operation operation) throws IOException {
            if (operation == failing) {
                throw new IOException("the disk has failed");
            }
        }

        @Override
        synchronized void beforeReadOnce(long length) {
            requests++;
            bytes += length;
        }

        private void forget() {
            requests = 0;
            bytes = 0;
        }
    }

    @BeforeEach
    void makeState() {
        path = folder.resolve("run.croft");
        for (int number = 0; number < TENSORS; number++) {
            state.put("t" + number, Tensor.of(noise(MIB, number)));
        }
    }

    private CroftFile open(Disk on) {
        return CroftFile.open(on, path, SaveOptions.defaults(), OpenOptions.defaults());
    }

    private DedupReport commit(CroftFile file) throws IOException {
        disk.forget();
        return file.commit(state, SaveOptions.defaults());
    }

    private void change(int number, long at) {
        Storage storage = ((Tensor) state.get("t" + number)).storage();
        storage.set(at, (byte) ~storage.get(at));
    }

    private void assertHoldsTheState() throws IOException {
        assertHoldsTheState(true);
    }

    private void assertHoldsTheState(boolean isIntact) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            for (Map.Entry<String, Object> each : state.entrySet()) {
                assertThat(checkpoint.tensor(each.getKey()).bytes().mismatch(((Tensor) each.getValue()).bytes()))
                        .isEqualTo(-1);
            }
            assertThat(checkpoint.verify().isIntact()).isEqualTo(isIntact);
        }
    }

    @Test
    void whatHasNotChangedIsReadOnceAndWhatHasIsNotRead() throws IOException {
        try (CroftFile file = open(disk)) {
            commit(file);
            assertThat(disk.requests).isZero();
            change(3, 0);
            change(7, MIB - 1);
            assertThat(commit(file).written()).isEqualTo(2 * MIB);
            assertThat(disk.requests).isEqualTo(TENSORS - 2);
            assertThat(disk.bytes).isEqualTo((TENSORS - 2L) * MIB);
            for (int number = 0; number < TENSORS; number++) {
                change(number, 1000);
            }
            assertThat(commit(file).written()).isEqualTo((long) TENSORS * MIB);
            assertThat(disk.requests).isZero();
        }
        assertHoldsTheState();
    }

    @Test
    void chunksAreReadAMebibyteAtATimeAndSmallOnesThroughThePageCache() throws IOException {
        state.put("large", Tensor.of(noise(9 * MIB + 5000, 99)));
        SaveOptions options = SaveOptions.defaults().chunkSize(4 * MIB);
        try (CroftFile file = CroftFile.open(disk, path, options, OpenOptions.defaults())) {
            file.commit(state, options);
            assertThat(commit(file).written()).isZero();
            assertThat(disk.bytes).isEqualTo((TENSORS + 9L) * MIB + 5000);
            assertThat(disk.requests).isEqualTo(TENSORS + 4 + 4 + 2);
        }
        assertHoldsTheState();
    }

    @Test
    void theFileIsTheSameAsWithThePageCache() throws IOException {
        Path other = folder.resolve("other.croft");
        try (CroftFile file = open(disk); CroftFile cached = CroftFile.open(other)) {
            for (int step = 0; step < 5; step++) {
                change(step, 500);
                // This one is as it was two commits before.
                change(10, 7);
                DedupReport report = commit(file);
                assertThat(cached.commit(state, SaveOptions.defaults())).isEqualTo(report);
            }
        }
        assertThat(Files.mismatch(path, other)).isEqualTo(-1);
    }

    @Test
    void bytesOfWhichOnlyTheDigestIsTheSameAreWritten() throws IOException {
        try (CroftFile file = open(disk)) {
            commit(file);
            try (RandomAccessFile bytes = new RandomAccessFile(path.toFile(), "rw")) {
                bytes.seek(Files.size(path) / 2);
                int there = bytes.read();
                bytes.seek(Files.size(path) / 2);
                bytes.write(~there);
            }
            assertThat(commit(file).written()).isEqualTo(MIB);
            assertThat(disk.requests).isEqualTo(TENSORS);
        }
        // The first snapshot has the damage.
        assertHoldsTheState(false);
    }

    @Test
    void aStateOnADeviceIsComparedToo() throws IOException {
        PretendDevice.Memory device = PretendDevice.fresh();
        StorageCopier moving = StorageCopier.to(device.device());
        state.replaceAll((_, tensor) -> moving.copy((Tensor) tensor));
        try (CroftFile file = open(disk)) {
            commit(file);
            assertThat(commit(file).written()).isZero();
            assertThat(disk.requests).isEqualTo(TENSORS);
        }
        state.values().forEach(tensor -> ((Tensor) tensor).storage().release());
    }

    @Test
    void aCommitThatCannotReadThrowsAndTheFileHasItsSnapshots() throws IOException {
        try (CroftFile file = open(disk)) {
            commit(file);
            long size = Files.size(path);
            disk.failing = ForwardingDisk.Operation.READ_ONCE;
            change(0, 0);
            assertThatExceptionOfType(IOException.class).isThrownBy(() -> commit(file))
                    .withMessageContaining("the disk has failed");
            assertThat(Files.size(path)).isEqualTo(size);
            disk.failing = null;
            assertThat(commit(file).written()).isEqualTo(MIB);
        }
        assertHoldsTheState();
    }

    /// The file was written past the page cache, where the file system allows it.
    @Test
    void aComparisonDoesNotFillThePageCache() throws IOException {
        UncachedDisk real = new UncachedDisk(false);
        try (CroftFile file = open(real); MappedFile saved = saved(file)) {
            assumeTrue(saved.isReadPastCache(0, saved.size()), "the page cache is always used here");
            assertThat(file.commit(state, SaveOptions.defaults()).written()).isZero();
            assertThat(saved.isReadPastCache(0, saved.size())).isTrue();
            assertThat(real.bytes).isEqualTo((long) TENSORS * MIB);
        }
        assertHoldsTheState();
    }

    @Test
    void whatIsInThePageCacheIsComparedThere() throws IOException {
        UncachedDisk real = new UncachedDisk(false);
        try (CroftFile file = open(real); MappedFile saved = saved(file)) {
            saved.read(0, MemorySegment.ofArray(new byte[(int) saved.size()]));
            assertThat(file.commit(state, SaveOptions.defaults()).written()).isZero();
            assertThat(real.requests).isZero();
        }
    }

    private MappedFile saved(CroftFile file) throws IOException {
        file.commit(state, SaveOptions.defaults());
        return MappedFile.open(path, MapMode.READ_ONLY);
    }

    @Test
    void onlyTheSecondSaveToALargeFileReadsPastThePageCache() {
        long available = AnonymousMemory.available().orElse(0);
        assumeTrue(available > 1L << 30, "there is little memory, or how much is unknown");
        Disk system = Disk.system();
        assertThat(system.comparesPastCache(available / 2, 1)).isTrue();
        assertThat(system.comparesPastCache(available / 2, 2)).isFalse();
        assertThat(system.comparesPastCache(4 * available, 2)).isTrue();
        assertThat(system.comparesPastCache(available / 64, 1)).isFalse();
        assertThat(system.comparesPastCache(MIB, 1)).isFalse();
    }
}
