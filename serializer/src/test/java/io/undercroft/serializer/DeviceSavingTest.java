package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.StorageCopier;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PretendDevice;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// States on a device that are saved as `.croft` files.
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class DeviceSavingTest {
    private static final OpenOptions TO_CPU = OpenOptions.defaults().device(Device.CPU);

    private final PretendDevice.Memory device = PretendDevice.fresh();
    private final StorageCopier moving = StorageCopier.to(device.device());
    private final Map<String, Object> here = new LinkedHashMap<>();
    private final Map<String, Object> there = new LinkedHashMap<>();
    @TempDir
    private Path folder;

    @AfterEach
    void free() {
        there.values().stream().map(Tensor.class::cast).map(Tensor::storage).distinct().forEach(Storage::release);
        assertThat(device.live).as("what the device has still").hasValue(0);
    }

    private void put(String name, Tensor tensor) {
        here.put(name, tensor);
        there.put(name, moving.copy(tensor));
    }

    private void fill() {
        Tensor weight = Tensor.arange(DType.INT32, 2_000_000);
        put("wte", weight);
        put("head", weight.view(1000, 2000).t());
        put("equal", Tensor.arange(DType.INT32, 2_000_000));
        Tensor sparse = Tensor.zeros(DType.FLOAT32, 3_000_000);
        sparse.setDouble(1_500_000, 1);
        put("sparse", sparse);
        put("zeros", Tensor.zeros(DType.FLOAT32, 1_000_000));
        put("part", Tensor.arange(DType.INT64, 1_000_000).narrow(0, 500_000, 10));
        for (int i = 0; i < 30; i++) {
            put("small" + i, Tensor.arange(DType.INT16, 1 + 7 * i));
        }
        put("nothing", Tensor.zeros(DType.INT8, 0));
    }

    /// The record of the device is all that differs: so a copy of the state on the CPU is the file of the CPU's state.
    private void assertSavedAsFromTheCpu(SaveOptions options) throws IOException {
        Path fromHost = folder.resolve("host.croft");
        Path fromDevice = folder.resolve("device.croft");
        Path again = folder.resolve("again.croft");
        DedupReport expected = Checkpoint.save(fromHost, here, options).dedup().orElseThrow();
        DedupReport report = Checkpoint.save(fromDevice, there, options).dedup().orElseThrow();
        assertThat(report.written()).isEqualTo(expected.written());
        assertThat(report.sharedChunks()).isEqualTo(expected.sharedChunks());
        assertThat(report.zeros()).isEqualTo(expected.zeros());
        try (Checkpoint c = Checkpoint.open(fromDevice, TO_CPU)) {
            assertThat(c.verify().isIntact()).isTrue();
            Checkpoint.save(again, c.state(), options);
        }
        assertThat(Files.mismatch(fromHost, again)).isEqualTo(-1);
        try (Checkpoint c = Checkpoint.open(fromDevice)) {
            assertThat(c.tensor("wte").device()).isEqualTo(device.device());
            assertThat(c.tensor("wte").storage()).isSameAs(c.tensor("head").storage());
            assertThat(c.tensor("wte").cpu().contentEquals((Tensor) here.get("wte"))).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1 << 16, 1 << 20, 1 << 24})
    void theFileIsThatOfTheSameStateOnTheCpuWhateverTheSizeOfChunks(long chunkSize) throws IOException {
        fill();
        assertSavedAsFromTheCpu(SaveOptions.defaults().chunkSize(chunkSize));
        assertThat(device.fetches).allMatch(bytes -> bytes <= Math.max(chunkSize, 8_000_000));
    }

    @Test
    void everyByteThatIsReachedComesToTheHostOnce() throws IOException {
        Tensor weight = Tensor.arange(DType.INT32, 5_000_000);
        put("wte", weight);
        put("t", weight.view(1000, 5000).t());
        Checkpoint.save(folder.resolve("model.croft"), there);
        assertThat(device.fetches.stream().mapToLong(bytes -> bytes).sum()).isEqualTo(weight.nbytes());
        assertThat(Collections.max(device.fetches)).isEqualTo(1 << 20);
    }

    @ParameterizedTest
    @ValueSource(longs = {1 << 20, 1 << 24})
    void anAppendWritesOnlyWhatHasChanged(long chunkSize) throws IOException {
        put("wte", Tensor.arange(DType.INT32, 10_000_000));
        Path file = folder.resolve("model.croft");
        Checkpoint.save(file, there, SaveOptions.defaults().chunkSize(chunkSize));
        assertThat(CroftFile.open(file).commit(there, SaveOptions.defaults()).written()).isZero();
        Storage storage = ((Tensor) there.get("wte")).storage();
        Storage part = storage.slice(20_000_000, 4);
        part.fill((byte) 1);
        part.release();
        assertThat(CroftFile.open(file).commit(there, SaveOptions.defaults()).written()).isEqualTo(chunkSize);
        try (Checkpoint c = Checkpoint.open(file, TO_CPU)) {
            assertThat(c.tensor("wte").getLong(5_000_000)).isEqualTo(0x01010101);
            assertThat(c.tensor("wte").getLong(5_000_001)).isEqualTo(5_000_001);
            assertThat(c.verify().isIntact()).isTrue();
        }
    }

    @Test
    void aSaveInTheBackgroundHasTheStateOfItsStart() throws Exception {
        put("wte", Tensor.arange(DType.INT32, 3_000_000));
        put("small", Tensor.of(1, 2, 3));
        Path file = folder.resolve("model.croft");
        PendingSave save = Checkpoint.saveAsync(file, there);
        there.values().forEach(tensor -> ((Tensor) tensor).storage().fill((byte) 9));
        save.join();
        try (Checkpoint c = Checkpoint.open(file, TO_CPU)) {
            here.forEach((name, tensor) -> assertThat(c.tensor(name).contentEquals((Tensor) tensor)).as(name).isTrue());
        }
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.tensor("wte").device()).isEqualTo(device.device());
        }
    }

    @Test
    void aStateThatIsOnDevicesAndOnTheCpuIsSavedTogether() throws IOException {
        put("wte", Tensor.arange(DType.INT32, 1_000_000));
        put("head", Tensor.arange(DType.INT32, 1_000_000));
        Path file = folder.resolve("model.croft");
        DedupReport report = Checkpoint.save(file, Map.of("a", there.get("wte"), "b", here.get("head"))).dedup()
                .orElseThrow();
        assertThat(report.sharedStorages()).isEqualTo(4_000_000);
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.tensor("a").device()).isEqualTo(device.device());
            assertThat(c.tensor("b").device()).isEqualTo(Device.CPU);
        }
    }

    @Test
    void aLazyCheckpointOnADeviceIsSavedToAnotherFile() throws IOException {
        put("wte", Tensor.arange(DType.INT32, 1_000_000));
        Path file = folder.resolve("model.croft");
        Path copy = folder.resolve("copy.croft");
        Checkpoint.save(file, there);
        try (Checkpoint c = Checkpoint.open(file)) {
            Checkpoint.save(copy, c.state());
        }
        assertThat(Files.mismatch(file, copy)).isEqualTo(-1);
    }

    @Test
    void aStorageThatWasFreedIsNamed() throws IOException {
        Tensor gone = Tensor.of(1, 2).to(device.device());
        gone.storage().release();
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> Checkpoint.save(folder.resolve("model.croft"), Map.of("gone", gone)))
                .withMessageContaining("'gone'");
    }
}
