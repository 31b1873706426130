package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.TruncatedMappingException;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.StorageCopier;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PretendDevice;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/// `.croft` files that are opened to a device.
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class DeviceLoadingTest {
    private static final int CHUNK = CroftImage.CHUNK;

    private final PretendDevice.Memory device = PretendDevice.fresh();
    @TempDir
    private Path folder;

    private OpenOptions there() {
        return OpenOptions.defaults().device(device.device());
    }

    @Test
    void aDeviceThatIsFullIsReportedWithTheFileTheSizesAndWhatToDo() throws IOException {
        Path file = save(Map.of("w", Tensor.arange(DType.INT32, 10_000)));
        device.largestAllocation = 39_999;
        try (Checkpoint checkpoint = Checkpoint.open(file, there())) {
            assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> checkpoint.tensor("w").cpu())
                    .withMessageContainingAll(file.toString(), "40000 bytes cannot be loaded to " + device.device(),
                            "39999 are free", "OpenOptions.only", "OpenOptions.devices")
                    .withCauseInstanceOf(PretendDevice.DeviceIsFull.class);
        }
        OpenOptions atOnce = there().inMemory();
        assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> Checkpoint.open(file, atOnce).close())
                .withMessageContainingAll(file.toString(), "39999 are free");
        assertThat(device.live).hasValue(0);
        device.largestAllocation = 40_000;
        try (Checkpoint checkpoint = Checkpoint.open(file, there())) {
            assertThat(checkpoint.tensor("w").cpu().getLong(9_999)).isEqualTo(9_999);
        }
    }

    private Path save(Object state) throws IOException {
        Path file = folder.resolve("model.croft");
        Checkpoint.save(file, state);
        return file;
    }

    /// Saves tensors and releases them, so that the memory of devices that a test counts does not depend on the garbage
    /// collector.
    private Path saveAndRelease(Map<String, Tensor> state) throws IOException {
        Path file = save(state);
        state.values().forEach(tensor -> tensor.storage().release());
        return file;
    }

    /// Ties, views, an overlap, zeros, nothing, and a storage that no tensor fills.
    private static Map<String, Object> state() {
        Map<String, Object> state = new LinkedHashMap<>();
        Tensor weight = Tensor.arange(DType.INT32, 700_000).view(700, 1000);
        state.put("wte", weight);
        state.put("head", weight.t());
        state.put("rows", weight.narrow(0, 10, 20));
        state.put("tied", weight);
        state.put("overlap", weight.view(700_000).narrow(0, 20_000, 300_000));
        Tensor bytes = Tensor.arange(DType.INT64, 1000);
        state.put("as floats", bytes.narrow(0, 3, 7));
        state.put("zeros", Tensor.zeros(DType.FLOAT32, 100_000));
        state.put("nothing", Tensor.zeros(DType.FLOAT32, 0, 3));
        for (int i = 0; i < 40; i++) {
            state.put("small" + i, Tensor.arange(DType.INT16, 1 + 7 * i));
        }
        return state;
    }

    /// Compares what two checkpoints have, and which tensors share storages.
    private static void assertSame(Checkpoint there, Checkpoint here) {
        assertThat(there.names()).containsExactlyElementsOf(here.names());
        StorageCopier back = StorageCopier.to(Device.CPU);
        for (String name : here.names()) {
            Tensor copy = back.copy(there.tensor(name));
            Tensor original = here.tensor(name);
            assertThat(copy.contentEquals(original)).as(name).isTrue();
            assertThat(copy.stride()).as(name).isEqualTo(original.stride());
            assertThat(copy.storageOffset()).as(name).isEqualTo(original.storageOffset());
            for (String other : here.names()) {
                assertThat(there.tensor(name).storage() == there.tensor(other).storage()).as(name + " and " + other)
                        .isEqualTo(original.storage() == here.tensor(other).storage());
            }
        }
    }

    @Test
    void aStorageIsOnTheDeviceAtOnceAndUploadedAtItsFirstUse() throws IOException {
        Path file = save(state());
        try (Checkpoint c = Checkpoint.open(file, there())) {
            Tensor wte = c.tensor("wte");
            assertThat(wte.device()).isEqualTo(device.device());
            assertThat(wte.storage().isMaterialized()).isFalse();
            assertThat(device.uploads).hasValue(0);
            assertThat(wte.dataPtr()).isEqualTo(c.tensor("tied").dataPtr()).isNotZero();
            assertThat(wte.cpu().getLong(699, 999)).isEqualTo(699_999);
            assertThat(c.tensor("head").cpu().getLong(5, 7)).isEqualTo(7005);
            assertThat(device.uploads).hasValue(1);
            assertThat(device.uploaded).hasValue(2_800_000);
            assertThat(c.storages().stream().filter(Storage::isMaterialized)).hasSize(1);
        }
        assertThat(device.live).hasValue(0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatIsLoadedIsTheSameAndSharesTheSame(boolean isInMemory) throws IOException {
        Path file = save(state());
        try (Checkpoint c = Checkpoint.open(file, isInMemory ? there().inMemory() : there());
                Checkpoint here = Checkpoint.open(file)) {
            assertSame(c, here);
            assertThat(c.damages()).isEmpty();
            assertThat(c.verify().isIntact()).isTrue();
        }
        assertThat(device.live).hasValue(0);
    }

    @Test
    void aThousandTensorsOnTenStoragesAreOneUpload() throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < 10; i++) {
            Tensor all = Tensor.arange(DType.INT32, 50_000 + i);
            for (int j = 0; j < 100; j++) {
                state.put("t" + i + "-" + j, all.narrow(0, j * 400L, 400));
            }
        }
        Path file = save(state);
        Storage kept;
        try (Checkpoint c = Checkpoint.open(file, there().inMemory())) {
            assertThat(c.storages()).hasSize(10).allMatch(Storage::isMaterialized);
            assertThat(device.uploads).hasValue(1);
            assertThat(device.allocations).hasValue(1);
            long nbytes = c.storages().stream().mapToLong(Storage::nbytes).sum();
            assertThat(device.uploaded.get()).isBetween(nbytes, nbytes + 10 * 256L);
            assertThat(c.storages()).allMatch(storage -> storage.dataPtr() % 256 == 0);
            assertThat(c.tensor("t9-99").cpu().getLong(399)).isEqualTo(39_999);
            kept = c.storages().get(4).retain();
        }
        // The block stays as long as one storage in it does.
        assertThat(device.live).hasValue(1);
        assertThat(kept.cpu().get(4)).isEqualTo((byte) 1);
        kept.release();
        assertThat(device.live).hasValue(0);
    }

    @Test
    void largeStoragesHaveBlocksOfTheirOwn() throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("small", Tensor.arange(DType.INT32, 1000));
        state.put("large", Tensor.arange(DType.INT64, 5_000_000));
        state.put("another", Tensor.arange(DType.INT32, 1001));
        state.put("medium", Tensor.arange(DType.INT32, 5_000_000));
        Path file = save(state);
        try (Checkpoint c = Checkpoint.open(file, there().inMemory()); Checkpoint here = Checkpoint.open(file)) {
            assertThat(device.uploads).hasValue(1);
            assertThat(device.allocations).hasValue(3);
            assertSame(c, here);
        }
        assertThat(device.live).hasValue(0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void zerosThatAreInNoFileAreNotRead(boolean isInMemory) throws IOException {
        Tensor sparse = Tensor.zeros(DType.INT32, 4 * CHUNK);
        sparse.setLong(0, 7);
        sparse.setLong(4 * CHUNK - 1, 9);
        Path file = save(Map.of("zeros", Tensor.zeros(DType.INT8, 10 * CHUNK)));
        try (Checkpoint c = Checkpoint.open(file, isInMemory ? there().inMemory() : there())) {
            assertThat(c.tensor("zeros").cpu().contentEquals(Tensor.zeros(DType.INT8, 10 * CHUNK))).isTrue();
            assertThat(device.uploads).hasValue(0);
        }
        file = folder.resolve("sparse.croft");
        Checkpoint.save(file, Map.of("sparse", sparse), SaveOptions.defaults().chunkSize(CHUNK));
        assertThat(Files.size(file)).isLessThan(sparse.nbytes() / 2);
        try (Checkpoint c = Checkpoint.open(file, isInMemory ? there().inMemory() : there())) {
            assertThat(c.tensor("sparse").cpu().contentEquals(sparse)).isTrue();
        }
        assertThat(device.live).hasValue(0);
    }

    /// A storage of three chunks, the second damaged; the parts of an upload end within chunks.
    private Path damaged() throws IOException {
        CroftImage image = CroftImage.first();
        image.write(noise(CHUNK, 1));
        long second = image.write(noise(CHUNK, 2));
        image.write(noise(CHUNK, 3));
        int storage = image.storage();
        image.tensor("before", storage, 0, CHUNK).tensor("behind", storage, 2 * CHUNK, 10)
                .tensor("on", storage, CHUNK + 5, 5);
        image.write(noise(100, 4));
        byte[] bytes = image.tensor("other", 100).commit();
        bytes[(int) second + 7] ^= 1;
        return Files.write(folder.resolve("damaged.croft"), bytes);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void damageIsToldAndOtherTensorsStayReadable(boolean isInMemory) throws IOException {
        Path file = damaged();
        try (Checkpoint c = Checkpoint.open(file, isInMemory ? there().inMemory() : there())) {
            if (!isInMemory) {
                assertThatExceptionOfType(FormatException.class).isThrownBy(() -> c.tensor("before").dataPtr())
                        .withMessageContainingAll(file.toString(), "storage 0");
            }
            assertThat(c.damages()).singleElement().asString().contains("storage 0");
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> c.tensor("on"))
                    .extracting(FormatException::code).isEqualTo("V14-CHECKSUM");
            assertThat(c.tensor("before").cpu().bytes().toArray(ValueLayout.JAVA_BYTE))
                    .isEqualTo(noise(CHUNK, 1));
            assertThat(c.tensor("behind").storage()).isSameAs(c.tensor("before").storage());
            assertThat(c.tensor("behind").device()).isEqualTo(device.device());
            assertThat(c.tensor("other").cpu().getLong(99)).isEqualTo(noise(100, 4)[99]);
        }
        assertThat(device.live).hasValue(0);
    }

    @ParameterizedTest
    @EnumSource(names = {"READ_ONLY", "PRIVATE"})
    void undamagedTensorsOfADamagedStorageAreWrittenToIfOthersAre(MapMode mode) throws IOException {
        try (Checkpoint c = Checkpoint.open(damaged(), there().inMemory().mapping(mode))) {
            assertThat(c.tensor("other").storage().isReadOnly()).isEqualTo(mode == MapMode.READ_ONLY);
            assertThat(c.tensor("before").storage().isReadOnly()).isEqualTo(mode == MapMode.READ_ONLY);
        }
        assertThat(device.live).hasValue(0);
    }

    @Test
    void damageIsCopiedIfThePolicySaysSo() throws IOException {
        OpenOptions options = there().inMemory().checksums(ChecksumPolicy.NONE);
        try (Checkpoint c = Checkpoint.open(damaged(), options)) {
            assertThat(c.tensor("on").cpu().numel()).isEqualTo(5);
            assertThat(c.damages()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"ON_TOUCH", "EAGER"})
    void policiesThatCheckEarlyDoSoOnTheDevice(String policy) throws IOException {
        OpenOptions options = there().checksums(ChecksumPolicy.valueOf(policy));
        try (Checkpoint c = Checkpoint.open(damaged(), options)) {
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> c.tensor("on"));
            assertThat(c.tensor("before").cpu().numel()).isEqualTo(CHUNK);
            assertThat(c.damages()).hasSize(1);
        }
        assertThat(device.live).hasValue(0);
    }

    @Test
    void onlyWhatIsChosenIsLoaded() throws IOException {
        Path file = save(state());
        try (Checkpoint c = Checkpoint.open(file, there().inMemory().only("small39", "as*"))) {
            assertThat(device.uploads).hasValue(1);
            assertThat(device.uploaded.get()).isLessThan(10_000);
            assertThat(c.tensor("small39").cpu().getLong(273)).isEqualTo(273);
            assertThat(c.tensor("small39").device()).isEqualTo(device.device());
        }
        assertThat(device.live).hasValue(0);
    }

    @Test
    void basesAndShardsAreLoadedToo() throws IOException {
        Path base = save(state());
        Path delta = folder.resolve("delta.croft");
        Checkpoint.save(delta, state(), SaveOptions.defaults().base(base));
        try (Checkpoint c = Checkpoint.open(delta, there().inMemory()); Checkpoint here = Checkpoint.open(base)) {
            assertThat(c.bases()).hasSize(1);
            assertSame(c, here);
            assertThat(device.uploads).hasValue(1);
        }
        Path set = folder.resolve("model.croftset");
        ShardSet.save(set, List.of(base, delta));
        try (ShardSet shards = ShardSet.open(set, there().inMemory()); Checkpoint here = Checkpoint.open(base)) {
            assertThat(device.uploads).hasValue(3);
            shards.shards().forEach(shard -> assertSame(shard, here));
        }
        assertThat(device.live).hasValue(0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void compressedChunksAreDecodedOnTheWay(boolean isInMemory) throws IOException {
        Path base = folder.resolve("base.croft");
        SaveOptions options = SaveOptions.defaults().chunkSize(CHUNK);
        Checkpoint.save(base, state(), options.compress(SaveOptions.Compression.ALONE));
        Map<String, Object> tuned = state();
        ((Tensor) tuned.get("wte")).narrow(0, 100, 300).fill(9);
        Path file = folder.resolve("tuned.croft");
        Checkpoint.save(file, tuned, options.base(base).compress(SaveOptions.Compression.AGAINST_BASE));
        try (Checkpoint c = Checkpoint.open(file, isInMemory ? there().inMemory() : there());
                Checkpoint here = Checkpoint.open(file)) {
            assertThat(here.extents(here.tensor("wte").storage())).anyMatch(Extent::isCompressed);
            assertThat(c.rows("wte", 99, 101).cpu().contentEquals(here.tensor("wte").narrow(0, 99, 2))).isTrue();
            assertSame(c, here);
            assertThat(c.verify().isIntact()).isTrue();
        }
    }

    @Test
    void storagesGoWhereTheMapSaysAndSeveralDevicesLoadTogether() throws IOException {
        PretendDevice.Memory first = PretendDevice.fresh();
        PretendDevice.Memory second = PretendDevice.fresh();
        Path file = saveAndRelease(Map.of("a", Tensor.of(1, 2).to(first.device()), "b",
                Tensor.of(3).to(second.device()), "c", Tensor.of(4)));
        List<Device> asked = new ArrayList<>();
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().inMemory().devices(saved -> {
            asked.add(saved);
            return saved.equals(first.device()) ? device.device() : saved;
        }))) {
            assertThat(asked).containsOnly(first.device(), second.device(), Device.CPU);
            assertThat(c.tensor("a").device()).isEqualTo(device.device());
            assertThat(c.tensor("b").device()).isEqualTo(second.device());
            assertThat(c.tensor("c").device()).isEqualTo(Device.CPU);
            assertThat(c.tensor("a").cpu().getLong(1)).isEqualTo(2);
            assertThat(c.tensor("b").cpu().getLong(0)).isEqualTo(3);
            assertThat(device.uploads).hasValue(1);
            assertThat(second.uploads).hasValue(1);
        }
        assertThat(first.live).hasValue(0);
        assertThat(device.live).hasValue(0);
    }

    /// A file with one storage on each of several devices, of which none is read before all are.
    private Path eachWaitsForAllOthers(List<PretendDevice.Memory> devices) throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        devices.forEach(each -> state.put(each.device().toString(), Tensor.of(1, 2, 3).to(each.device())));
        Path file = saveAndRelease(state);
        CountDownLatch reading = new CountDownLatch(devices.size());
        for (PretendDevice.Memory each : devices) {
            AtomicBoolean isFirst = new AtomicBoolean(true);
            each.beforeReading = () -> {
                if (isFirst.getAndSet(false)) {
                    reading.countDown();
                }
                await(reading);
            };
        }
        return file;
    }

    private static List<PretendDevice.Memory> devices(int count) {
        return Stream.generate(PretendDevice::fresh).limit(count).toList();
    }

    @Test
    void allDevicesLoadAtTheSameTimeHoweverManyThereAre() throws IOException {
        List<PretendDevice.Memory> devices = devices(8);
        Path file = eachWaitsForAllOthers(devices);
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().inMemory().devices(saved -> saved))) {
            assertThat(devices).allSatisfy(each -> {
                assertThat(each.uploads).hasValue(1);
                assertThat(c.tensor(each.device().toString()).cpu().getLong(2)).isEqualTo(3);
            });
        }
    }

    @Test
    void storagesOnTwoDevicesThatTwoThreadsNeedAreLoadedAtTheSameTime() throws Exception {
        List<PretendDevice.Memory> devices = devices(2);
        Path file = eachWaitsForAllOthers(devices);
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().devices(saved -> saved))) {
            List<CompletableFuture<Long>> pointers = devices.stream()
                    .map(each -> CompletableFuture.supplyAsync(() -> c.tensor(each.device().toString()).dataPtr(),
                            work -> Thread.ofPlatform().start(work)))
                    .toList();
            for (CompletableFuture<Long> each : pointers) {
                assertThat(each.get()).isNotZero();
            }
            assertThat(devices).allSatisfy(each -> assertThat(each.uploads).hasValue(1));
        }
    }

    @Test
    void ofSeveralDevicesOneThatFailsEndsTheLoadAndNoneKeepsMemory() throws IOException {
        List<PretendDevice.Memory> devices = devices(4);
        Path file = eachWaitsForAllOthers(devices);
        Runnable waits = devices.getLast().beforeReading;
        devices.getLast().beforeReading = () -> {
            waits.run();
            throw new IllegalStateException("the last device is lost");
        };
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> Checkpoint.open(file, OpenOptions.defaults().inMemory().devices(saved -> saved)))
                .withMessage("the last device is lost");
        assertThat(devices).allSatisfy(each -> assertThat(each.live).hasValue(0));
    }

    @Test
    void aDeviceThatIsNotThereIsRefusedAndTheMessageSaysWhichAre() throws IOException {
        Path file = save(Map.of("a", Tensor.of(1)));
        OpenOptions options = OpenOptions.defaults().inMemory().device(new Device("npu", 3));
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(file, options))
                .withMessageContainingAll("npu:3", "cpu", device.device().toString(),
                        "OpenOptions.device(Device.CPU)")
                .extracting(FormatException::code).isEqualTo("CROFT-DEVICE");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aFileThatIsCutWhileItIsLoadedIsNamed(boolean isInMemory) throws IOException {
        Path file = save(Map.of("a", Tensor.arange(DType.INT32, 100_000)));
        device.beforeReading = () -> {
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                channel.truncate(5000);
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        };
        assertThatExceptionOfType(TruncatedMappingException.class).isThrownBy(() -> {
            try (Checkpoint c = Checkpoint.open(file, isInMemory ? there().inMemory() : there())) {
                c.tensor("a").dataPtr();
            }
        }).withMessageContainingAll(file.toString(), "5000");
        assertThat(device.allocations).hasPositiveValue();
        assertThat(device.live).hasValue(0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aFailureFreesTheMemoryOfTheDevice(boolean isInMemory) throws IOException {
        Path file = save(state());
        IllegalStateException failure = new IllegalStateException("the device is lost");
        device.beforeReading = () -> {
            throw failure;
        };
        assertThatExceptionOfType(IllegalStateException.class).isThrownBy(() -> {
            try (Checkpoint c = Checkpoint.open(file, isInMemory ? there().inMemory() : there())) {
                c.tensor("wte").dataPtr();
            }
        }).isSameAs(failure);
        assertThat(device.allocations).hasPositiveValue();
        assertThat(device.live).hasValue(0);
    }

    @Test
    void anErrorAfterTheUploadFreesTheMemoryOfTheDevice() throws IOException {
        Path file = save(state());
        AtomicInteger complete = new AtomicInteger();
        AssertionError failure = new AssertionError("of the listener");
        OpenOptions options = there().inMemory().progress((done, total) -> {
            // The first time is while the last part is read.
            if (done == total && complete.incrementAndGet() > 1) {
                throw failure;
            }
        });
        assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> Checkpoint.open(file, options))
                .isSameAs(failure);
        assertThat(device.uploads).hasValue(1);
        assertThat(device.live).hasValue(0);
    }

    @Test
    void whatFailedIsLoadedWhenItIsNeededAgain() throws IOException {
        Path file = save(state());
        try (Checkpoint c = Checkpoint.open(file, there())) {
            device.beforeReading = () -> {
                throw new IllegalStateException("not now");
            };
            assertThatExceptionOfType(IllegalStateException.class).isThrownBy(() -> c.tensor("wte").dataPtr());
            device.beforeReading = () -> {};
            assertThat(c.tensor("wte").cpu().getLong(0, 9)).isEqualTo(9);
        }
        assertThat(device.live).hasValue(0);
    }

    @Test
    void closingWaitsForAnUploadAndThenFreesIt() throws Exception {
        Path file = save(Map.of("a", Tensor.arange(DType.INT32, 100_000)));
        CountDownLatch reading = new CountDownLatch(1);
        CountDownLatch closing = new CountDownLatch(1);
        device.beforeReading = () -> {
            reading.countDown();
            await(closing);
        };
        Checkpoint c = Checkpoint.open(file, there());
        Storage storage = c.tensor("a").storage();
        CompletableFuture<Long> pointer = CompletableFuture.supplyAsync(storage::dataPtr,
                work -> Thread.ofPlatform().start(work));
        await(reading);
        CompletableFuture<Void> close = CompletableFuture.runAsync(() -> {
            closing.countDown();
            c.close();
        }, work -> Thread.ofPlatform().start(work));
        close.get();
        assertThat(pointer.handle((address, failure) -> failure == null || address == null).get()).isNotNull();
        assertThat(device.live).hasValue(0);
        assertThatExceptionOfType(IllegalStateException.class).isThrownBy(storage::dataPtr)
                .withMessageContaining(file.toString());
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aRetainedStorageIsLoadedWhenTheCheckpointIsClosed() throws IOException {
        Path file = save(Map.of("a", Tensor.of(5, 6)));
        Storage kept;
        try (Checkpoint c = Checkpoint.open(file, there())) {
            kept = c.tensor("a").storage().retain();
        }
        Files.delete(file);
        assertThat(kept.cpu().get(4)).isEqualTo((byte) 6);
        kept.release();
        assertThat(device.live).hasValue(0);
    }

    @Test
    void progressIsToldInBytesAndEndsWithAll() throws IOException {
        Path file = save(state());
        for (OpenOptions options : List.of(there().inMemory(), OpenOptions.defaults().inMemory())) {
            List<Long> done = new ArrayList<>();
            List<Long> totals = new ArrayList<>();
            try (Checkpoint c = Checkpoint.open(file, options.progress((now, total) -> {
                done.add(now);
                totals.add(total);
            }))) {
                long nbytes = c.storages().stream().mapToLong(Storage::nbytes).sum();
                assertThat(totals).containsOnly(nbytes);
                assertThat(done).startsWith(0L).endsWith(nbytes).isSorted().hasSizeGreaterThan(10);
            }
        }
        IllegalStateException enough = new IllegalStateException("enough");
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> Checkpoint.open(file, there().inMemory().progress((done, _) -> {
                    if (done > 0) {
                        throw enough;
                    }
                }))).isSameAs(enough);
        assertThat(device.live).hasValue(0);
    }

    @Test
    void rowsAreReadWithoutTheRestAndGoToTheDevice() throws IOException {
        Path file = save(state());
        try (Checkpoint c = Checkpoint.open(file, there())) {
            Tensor rows = c.rows("wte", 3, 5);
            assertThat(rows.device()).isEqualTo(device.device());
            assertThat(rows.cpu().getLong(1, 7)).isEqualTo(4007);
            assertThat(device.uploads).hasValue(0);
            Tensor columns = c.rows("head", 3, 5);
            assertThat(columns.isContiguous()).isTrue();
            assertThat(columns.cpu().getLong(1, 7)).isEqualTo(7004);
            c.tensor("wte").storage().fill((byte) 1);
            assertThat(c.rows("head", 3, 5).cpu().getLong(0, 0)).isEqualTo(0x01010101);
            rows.storage().release();
            columns.storage().release();
        }
    }

    @Test
    void whatIsOpenedReadOnlyCannotBeWrittenToOnTheDevice() throws IOException {
        Path file = save(Map.of("a", Tensor.of(5, 6)));
        try (Checkpoint c = Checkpoint.open(file, there().mapping(MapMode.READ_ONLY))) {
            Storage storage = c.tensor("a").storage();
            assertThat(storage.isReadOnly()).isTrue();
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> storage.fill((byte) 0));
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(() -> storage.copyFrom(Storage.allocate(8)));
        }
        try (Checkpoint c = Checkpoint.open(file, there())) {
            assertThat(c.tensor("a").storage().fill((byte) 1).cpu().get(0)).isEqualTo((byte) 1);
        }
    }

    @Test
    void tensorsOnADeviceAreLoadedIntoStatesOnTheCpuAndOnDevices() throws IOException {
        Tensor table = Tensor.arange(DType.INT32, 60).view(6, 10);
        Path file = save(Map.of("a", table, "t", table.t(), "b", Tensor.of(1f, 2f)));
        try (Checkpoint c = Checkpoint.open(file, there())) {
            Tensor onHost = Tensor.zeros(DType.INT32, 6, 10);
            Tensor turned = Tensor.zeros(DType.INT32, 10, 6);
            Tensor doubles = Tensor.zeros(DType.FLOAT64, 2);
            c.loadInto(Map.of("a", onHost, "t", turned, "b", doubles));
            assertThat(onHost.contentEquals(table)).isTrue();
            assertThat(turned.contentEquals(table.t())).isTrue();
            assertThat(doubles.getDouble(1)).isEqualTo(2);
            Storage large = Storage.allocate(1000, device);
            Tensor part = Tensor.of(large, DType.INT32, 10, Shape.of(6, 10), 10, 1);
            Tensor strided = Tensor.of(large, DType.INT32, 80, Shape.of(10, 6), 12, 2);
            large.fill((byte) 7);
            Tensor converted = Tensor.zeros(DType.FLOAT64, 2).to(device.device());
            c.loadInto(Map.of("a", part, "t", strided, "b", converted));
            assertThat(part.cpu().contentEquals(table)).isTrue();
            assertThat(strided.cpu().contentEquals(table.t())).isTrue();
            assertThat(converted.cpu().getDouble(1)).isEqualTo(2);
            assertThat(large.cpu().get(0)).isEqualTo((byte) 7);
            assertThat(large.cpu().get(81 * 4)).as("between two elements").isEqualTo((byte) 7);
            large.release();
        }
    }
}
