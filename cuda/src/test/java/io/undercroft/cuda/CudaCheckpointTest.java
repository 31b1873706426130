package io.undercroft.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.cuda.internal.Rings;
import io.undercroft.mmap.TruncatedMappingException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Files that are loaded to CUDA devices and saved from them, with the stand-in for the driver.
@NeedsStandIn
@Timeout(600)
class CudaCheckpointTest {
    private static final int ILLEGAL_ADDRESS = 700;
    private static final int UNKNOWN = 999;
    private static final Device DEVICE = Device.cuda(0);
    private static final OpenOptions THERE = OpenOptions.defaults().device(DEVICE);

    @TempDir
    private Path folder;

    private Path save(String name, Map<String, Tensor> state) throws IOException {
        Path file = folder.resolve(name);
        Checkpoint.save(file, state);
        return file;
    }

    /// A file that is larger than all buffers of a ring together.
    private Path saveLarge() throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < 5; i++) {
            state.put("w" + i, Tensor.arange(DType.INT32, Rings.BUFFER / 16L * Rings.BUFFERS + i));
        }
        return save("large.croft", state);
    }

    private static void waitFor(String what, long atLeast) throws InterruptedException {
        while (StandIn.get(what) < atLeast) {
            Thread.sleep(1);
        }
    }

    private static void cut(Path file) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(5000);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aFileGoesThroughTheRingAndNoOtherMemoryOfTheHost() throws IOException {
        Path file = saveLarge();
        long size = 5L * (Rings.BUFFER / 16L * Rings.BUFFERS) * Integer.BYTES + 10L * Integer.BYTES;
        Rings.free();
        StandIn.reset();
        long pinned = StandIn.get("pinned");
        AtomicLong read = new AtomicLong();
        AtomicLong most = new AtomicLong();
        OpenOptions atOnce = THERE.inMemory().progress((done, total) -> {
            read.set(done);
            assertThat(total).isEqualTo(size);
            most.accumulateAndGet(StandIn.get("pinned") - pinned, Math::max);
        });
        try (Checkpoint c = Checkpoint.open(file, atOnce)) {
            assertThat(read).hasValue(size);
            assertThat(most.get()).isPositive().isLessThanOrEqualTo((long) Rings.BUFFERS * Rings.BUFFER);
            assertThat(size).isGreaterThan((long) Rings.BUFFERS * Rings.BUFFER);
            assertThat(StandIn.get("pageable")).isZero();
            assertThat(StandIn.get("registered")).isZero();
            assertThat(StandIn.get("largest")).isLessThanOrEqualTo(Rings.BUFFER);
            long copies = StandIn.get("cuMemcpyHtoDAsync_v2");
            for (int i = 0; i < 5; i++) {
                Tensor there = c.tensor("w" + i);
                assertThat(there.device()).isEqualTo(DEVICE);
                assertThat(there.cpu().getLong(there.numel() - 1)).isEqualTo(there.numel() - 1);
            }
            assertThat(StandIn.get("cuMemcpyHtoDAsync_v2")).isEqualTo(copies);
        }
    }

    @Test
    void closingACheckpointDuringACopyEndsItOrWaitsForIt() throws Exception {
        Path file = saveLarge();
        long before = StandIn.get("allocations");
        StandIn.gate(true);
        Checkpoint c = Checkpoint.open(file, THERE);
        Storage storage = c.tensor("w0").storage();
        CompletableFuture<Long> loading = CompletableFuture.supplyAsync(storage::dataPtr,
                work -> Thread.ofPlatform().start(work));
        waitFor("pending", 1);
        CompletableFuture<Void> closing = CompletableFuture.runAsync(c::close,
                work -> Thread.ofPlatform().start(work));
        // A close that freed storages during their copy would do so meanwhile.
        Thread.sleep(200);
        assertThat(StandIn.get("allocations")).isEqualTo(before + 1);
        StandIn.gate(false);
        closing.get();
        assertThat(loading.handle((address, failure) -> failure == null || address == null).get()).isTrue();
        assertThat(StandIn.get("allocations")).isEqualTo(before);
        assertThat(StandIn.get("pending")).isZero();
        assertThatExceptionOfType(IllegalStateException.class).isThrownBy(storage::cpu)
                .withMessageContaining(file.toString());
    }

    @Test
    void aFileThatIsCutDuringACopyIsNamedAndNothingLeaks() throws IOException {
        Path file = saveLarge();
        long before = StandIn.get("allocations");
        OpenOptions cutting = THERE.inMemory().progress((done, _) -> {
            if (done > 0) {
                cut(file);
            }
        });
        assertThatExceptionOfType(TruncatedMappingException.class).isThrownBy(() -> Checkpoint.open(file, cutting))
                .withMessageContaining(file.toString());
        assertThat(StandIn.get("allocations")).isEqualTo(before);
        assertThat(StandIn.get("pending")).isZero();
        Path other = save("other.croft", Map.of("w", Tensor.of(1, 2, 3)));
        try (Checkpoint c = Checkpoint.open(other, THERE)) {
            assertThat(c.tensor("w").cpu().getLong(2)).isEqualTo(3);
        }
    }

    @Test
    void aFileThatIsCutBeforeATensorIsUsedIsNamed() throws IOException {
        Path file = saveLarge();
        try (Checkpoint c = Checkpoint.open(file, THERE)) {
            cut(file);
            assertThatExceptionOfType(TruncatedMappingException.class).isThrownBy(() -> c.tensor("w4").cpu())
                    .withMessageContaining(file.toString());
        }
    }

    @Test
    void afterAFaultOfAForeignKernelFilesAreLoadedOnlyToTheCpu() throws IOException {
        Path file = save("model.croft", Map.of("w", Tensor.of(1, 2, 3)));
        StandIn.fault(ILLEGAL_ADDRESS);
        try (Checkpoint c = Checkpoint.open(file, THERE)) {
            assertThatExceptionOfType(CudaException.class).isThrownBy(() -> c.tensor("w").cpu())
                    .withMessageContaining("the CUDA context of this process is lost")
                    .matches(e -> e.remedy().contains("start the process again"));
        }
        assertThatExceptionOfType(CudaException.class).isThrownBy(() -> Checkpoint.open(file, THERE.inMemory()));
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.tensor("w").getLong(2)).isEqualTo(3);
        }
    }

    @Test
    void filesAreLoadedAndSavedIfNoMoreMemoryCanBePinned() throws IOException {
        Path file = saveLarge();
        Rings.free();
        StandIn.limits(8L << 30, StandIn.get("pinned") + 100);
        try (Checkpoint c = Checkpoint.open(file, THERE.inMemory())) {
            assertThat(StandIn.get("pageable")).isPositive();
            Path copy = folder.resolve("copy.croft");
            Checkpoint.save(copy, Map.of("w", c.tensor("w3")));
            try (Checkpoint saved = Checkpoint.open(copy, OpenOptions.defaults().device(Device.CPU));
                    Checkpoint host = Checkpoint.open(file)) {
                assertThat(saved.tensor("w").contentEquals(host.tensor("w3"))).isTrue();
            }
        }
        Rings.free();
    }

    @Test
    void storagesGoToTheirDevicesAtTheSameTime() throws Exception {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < 4; i++) {
            state.put("w" + i, Tensor.arange(DType.INT32, 100_000 + i).to(Device.cuda(i)));
        }
        Path file = save("devices.croft", state);
        state.values().forEach(tensor -> tensor.storage().release());
        StandIn.gate(true);
        CompletableFuture<Checkpoint> opening = CompletableFuture.supplyAsync(() -> {
            try {
                return Checkpoint.open(file, OpenOptions.defaults().devices(saved -> saved).inMemory());
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        // Every device has work, and no copy has finished.
        waitFor("busy", 4);
        assertThat(opening).isNotDone();
        StandIn.gate(false);
        try (Checkpoint c = opening.get()) {
            for (int i = 0; i < 4; i++) {
                Tensor there = c.tensor("w" + i);
                assertThat(there.device()).isEqualTo(Device.cuda(i));
                assertThat(there.cpu().getLong(99_999 + i)).isEqualTo(99_999 + i);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"cuMemAllocAsync", "cuMemHostAlloc", "cuStreamCreate", "cuStreamSynchronize",
            "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"})
    void nothingLeaksIfACallFailsWhileFilesAreLoadedAndSaved(String function) throws IOException {
        Path file = save("model.croft", Map.of("small", Tensor.of(1, 2), "large",
                Tensor.arange(DType.INT8, 100).expand(100).copy()));
        Path copy = folder.resolve("copy.croft");
        loadAndSave(file, copy);
        Rings.free();
        long allocations = StandIn.get("allocations");
        long pinned = StandIn.get("pinned");
        boolean failed = true;
        for (long nth = 1; failed; nth++) {
            Files.deleteIfExists(copy);
            StandIn.fail(function, nth, UNKNOWN);
            boolean isThrown = false;
            try {
                loadAndSave(file, copy);
            } catch (CudaException e) {
                isThrown = true;
                assertThat(e.code()).isEqualTo(UNKNOWN);
                assertThat(copy).doesNotExist();
            }
            failed = StandIn.get("failed") != 0;
            // A ring can use other memory than pinned memory.
            assertThat(isThrown).isEqualTo(failed && !function.equals("cuMemHostAlloc"));
            StandIn.fail("", 0, 0);
            Rings.free();
            assertThat(StandIn.get("allocations")).as(function + " " + nth).isEqualTo(allocations);
            assertThat(StandIn.get("pinned")).as(function + " " + nth).isEqualTo(pinned);
            assertThat(folder.toFile().list()).as("what is left").hasSizeLessThanOrEqualTo(2);
        }
    }

    private static void loadAndSave(Path file, Path copy) throws IOException {
        try (Checkpoint c = Checkpoint.open(file, THERE.inMemory())) {
            Checkpoint.save(copy, Map.of("small", c.tensor("small"), "large", c.tensor("large")));
        }
        try (Checkpoint c = Checkpoint.open(copy, OpenOptions.defaults().device(Device.CPU))) {
            assertThat(List.copyOf(c.names())).hasSize(2);
        }
    }
}
