package io.undercroft.interop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.TruncatedMappingException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.StorageCopier;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PretendDevice;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Files of other formats that are opened to a device, and written from one.
class DeviceFormatsTest {
    private final PretendDevice.Memory device = PretendDevice.fresh();
    @TempDir
    private Path folder;

    private OpenOptions there() {
        return OpenOptions.defaults().device(device.device());
    }

    private static List<String> endings() {
        return List.of("safetensors", "pt", "npz", "gguf", "t7");
    }

    private static Map<String, Object> state() {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("wte", Tensor.arange(DType.FLOAT32, 300_000).view(300, 1000));
        state.put("byte", Tensor.arange(DType.INT8, 101));
        state.put("bias", Tensor.arange(DType.FLOAT64, 1001));
        for (int i = 0; i < 10; i++) {
            state.put("small" + i, Tensor.arange(DType.INT32, 1 + i));
        }
        return state;
    }

    private Path export(String name, Object state) throws IOException {
        Path file = folder.resolve(name);
        Checkpoint.save(file, state);
        return file;
    }

    private static void assertSame(Checkpoint there, Checkpoint here) {
        assertThat(there.names()).containsExactlyElementsOf(here.names());
        StorageCopier back = StorageCopier.to(Device.CPU);
        for (String name : here.names()) {
            Tensor copy = back.copy(there.tensor(name));
            assertThat(copy.contentEquals(here.tensor(name))).as(name).isTrue();
            assertThat(copy.stride()).as(name).isEqualTo(here.tensor(name).stride());
            for (String other : here.names()) {
                assertThat(there.tensor(name).storage() == there.tensor(other).storage()).as(name + " and " + other)
                        .isEqualTo(here.tensor(name).storage() == here.tensor(other).storage());
            }
        }
    }

    @ParameterizedTest
    @MethodSource("endings")
    void everyFormatIsLoadedLazilyAndAtOnce(String ending) throws IOException {
        Path file = export("model." + ending, state());
        for (boolean isInMemory : new boolean[]{true, false}) {
            device.uploads.set(0);
            try (Checkpoint c = Checkpoint.open(file, isInMemory ? there().inMemory() : there());
                    Checkpoint here = Checkpoint.open(file)) {
                assertThat(c.storages()).allMatch(storage -> storage.device().equals(device.device()))
                        .allMatch(storage -> storage.isMaterialized() == isInMemory);
                assertThat(device.uploads).hasValue(isInMemory ? 1 : 0);
                assertSame(c, here);
                assertThat(c.verify().damages()).isEmpty();
                assertThat(c.damages()).isEmpty();
            }
            assertThat(device.live).hasValue(0);
        }
    }

    @ParameterizedTest
    @MethodSource("endings")
    void everyFormatIsWrittenFromADeviceAsFromTheCpu(String ending) throws IOException {
        Map<String, Object> here = state();
        Tensor table = (Tensor) here.get("wte");
        if (!ending.equals("gguf")) {
            here.put("t", table.t().copy());
            here.put("turned", ((Tensor) here.get("t")).t());
        }
        StorageCopier moving = StorageCopier.to(device.device());
        Map<String, Object> there = new LinkedHashMap<>();
        here.forEach((name, tensor) -> there.put(name, moving.copy((Tensor) tensor)));
        Path fromHost = export("host." + ending, here);
        Path fromDevice = export("device." + ending, there);
        try (Checkpoint c = Checkpoint.open(fromDevice, OpenOptions.defaults().device(Device.CPU));
                Checkpoint expected = Checkpoint.open(fromHost)) {
            assertSame(c, expected);
        }
        if (!ending.equals("pt")) {
            // PyTorch's files name the device.
            assertThat(Files.mismatch(fromHost, fromDevice)).isEqualTo(-1);
        }
        assertThat(device.fetches).allMatch(bytes -> bytes <= 4L << 20);
        there.values().stream().map(Tensor.class::cast).map(Tensor::storage).distinct().forEach(Storage::release);
        assertThat(device.live).hasValue(0);
    }

    @Test
    void elementsOfTorch7ThatAreTurnedRoundOrNarrowedComeFromADeviceToo() throws IOException {
        Map<String, Object> here = Map.of("a", Tensor.arange(DType.INT64, 10_000), "b", Tensor.of(1.5, 2.5));
        StorageCopier moving = StorageCopier.to(device.device());
        Map<String, Object> there = Map.of("a", moving.copy((Tensor) here.get("a")), "b",
                moving.copy((Tensor) here.get("b")));
        for (Map<String, String> settings : List.of(Map.of("torch7.longs", "4"), Map.of("torch7.encoding", "ascii"))) {
            Path fromHost = folder.resolve("host.t7");
            Path fromDevice = folder.resolve("device.t7");
            Checkpoint.save(fromHost, here, SaveOptions.defaults().settings(settings));
            Checkpoint.save(fromDevice, there, SaveOptions.defaults().settings(settings));
            assertThat(Files.readAllBytes(fromDevice)).hasSameSizeAs(Files.readAllBytes(fromHost));
        }
    }

    @Test
    void tiesViewsAndOverlapsOfPyTorchAreTheSameThere() throws IOException {
        Tensor weight = Tensor.arange(DType.FLOAT32, 600_000).view(600, 1000);
        Path file = export("model.pt", Map.of("wte", weight, "head", weight.t(), "rows", weight.narrow(0, 3, 5),
                "flat", weight.view(600_000).narrow(0, 1500, 4000), "other", Tensor.of(1, 2)));
        try (Checkpoint c = Checkpoint.open(file, there().inMemory()); Checkpoint here = Checkpoint.open(file)) {
            assertThat(device.uploads).hasValue(1);
            assertThat(c.storages()).hasSize(2);
            assertSame(c, here);
        }
        try (Checkpoint c = Checkpoint.open(file, there().inMemory().only("other"))) {
            assertThat(device.uploaded.get()).isLessThan(3_000_000);
            assertThat(c.tensor("other").cpu().getLong(1)).isEqualTo(2);
        }
        assertThat(device.live).hasValue(0);
    }

    @Test
    void onlyTheSelectedTensorsOfAModelInSeveralFilesAreLoaded() throws IOException {
        Path index = folder.resolve("model.safetensors.index.json");
        Checkpoint.save(index, state(), SaveOptions.defaults().setting("safetensors.shard", "100000"));
        try (Checkpoint c = Checkpoint.open(index, there().inMemory()); Checkpoint here = Checkpoint.open(index)) {
            assertThat(here.files()).hasSizeGreaterThan(1);
            assertSame(c, here);
        }
        device.uploaded.set(0);
        try (Checkpoint c = Checkpoint.open(index, there().inMemory().only("bias", "small3"))) {
            assertThat(c.names()).containsExactlyInAnyOrder("bias", "small3");
            assertThat(c.tensor("bias").device()).isEqualTo(device.device());
            assertThat(c.tensor("bias").cpu().getDouble(1000)).isEqualTo(1000);
            assertThat(device.uploaded.get()).isBetween(8_000L, 10_000L);
        }
        assertThat(device.live).hasValue(0);
    }

    @Test
    void locationsOfPyTorchAreMappedAsSaved() throws IOException {
        PretendDevice.Memory saved = PretendDevice.fresh();
        Tensor moved = Tensor.of(1, 2, 3).to(saved.device());
        Path file = export("model.pt", Map.of("moved", moved, "here", Tensor.of(4)));
        moved.storage().release();
        List<Device> asked = new ArrayList<>();
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().devices(from -> {
            asked.add(from);
            return from.isCpu() ? from : device.device();
        }))) {
            assertThat(asked).containsExactlyInAnyOrder(saved.device(), Device.CPU);
            assertThat(c.tensor("moved").device()).isEqualTo(device.device());
            assertThat(c.tensor("moved").cpu().getLong(2)).isEqualTo(3);
            assertThat(c.tensor("here").device()).isEqualTo(Device.CPU);
        }
        assertThat(saved.live).hasValue(0);
        assertThat(device.live).hasValue(0);
    }

    /// Files of PyTorch before 1.6 among them, and others with elements that have to be turned round or are not
    /// aligned.
    @Test
    void whateverOtherProgramsWroteIsLoaded() throws IOException {
        Set<String> formats = new TreeSet<>();
        try (Stream<Path> files = Files.walk(Path.of("..", "test-support", "fixtures"))) {
            for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                for (Checkpoint here : opened(file)) {
                    try (here; Checkpoint c = Checkpoint.open(file, there().inMemory())) {
                        assertThat(c.damages()).isEqualTo(here.damages());
                        if (c.damages().isEmpty()) {
                            formats.add(c.format());
                            assertSame(c, here);
                            assertSameRows(file, here);
                        }
                    }
                    assertThat(device.live).as(file.toString()).hasValue(0);
                }
            }
        }
        assertThat(formats).contains("torch-zip", "torch-legacy", "torch-tar", "safetensors", "npz", "npy", "gguf",
                "torch7");
    }

    /// Compares the last row of each tensor, which is read without the others.
    private void assertSameRows(Path file, Checkpoint here) throws IOException {
        try (Checkpoint c = Checkpoint.open(file, there())) {
            for (String name : here.names()) {
                Tensor tensor = here.tensor(name);
                if (tensor.dim() > 0 && tensor.size(0) > 0) {
                    Tensor last = c.rows(name, tensor.size(0) - 1, tensor.size(0));
                    assertThat(last.cpu().contentEquals(tensor.narrow(0, tensor.size(0) - 1, 1)))
                            .as(name + " of " + file).isTrue();
                    last.storage().release();
                }
            }
        }
    }

    private static List<Checkpoint> opened(Path file) {
        try {
            return List.of(Checkpoint.open(file, OpenOptions.defaults().device(Device.CPU).inMemory()));
        } catch (IOException | RuntimeException _) {
            return List.of();
        }
    }

    @Test
    void deflatedRecordsAreDecodedOneAfterTheOther() throws IOException {
        Path file = folder.resolve("model.npz");
        Checkpoint.save(file, state(), SaveOptions.defaults().setting("npz.compression", "deflate"));
        try (Checkpoint c = Checkpoint.open(file, there().inMemory()); Checkpoint here = Checkpoint.open(file)) {
            assertThat(c.storages()).allMatch(Storage::isMaterialized);
            assertSame(c, here);
        }
        assertThat(device.live).hasValue(0);
    }

    @ParameterizedTest
    @ValueSource(strings = {"pt", "npz"})
    void aDamagedRecordIsRefusedAndItsMemoryFreed(String ending) throws IOException {
        Path file = export("model." + ending, state());
        byte[] bytes = Files.readAllBytes(file);
        // An element of the large tensor, which has no other place in the file.
        byte[] wanted = new byte[8];
        MemorySegment.ofArray(wanted).copyFrom(((Tensor) state().get("wte")).bytes().asSlice(4 * 150_000, 8));
        bytes[indexOf(bytes, wanted)] ^= 1;
        Files.write(file, bytes);
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(file, there().inMemory()))
                .withMessageContaining(file.toString()).extracting(FormatException::code).isEqualTo("ZIP-CRC");
        assertThat(device.live).hasValue(0);
        try (Checkpoint c = Checkpoint.open(file, there())) {
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> c.tensor("wte").dataPtr())
                    .extracting(FormatException::code).isEqualTo("ZIP-CRC");
            assertThat(c.tensor("bias").cpu().getDouble(1000)).isEqualTo(1000);
        }
        assertThat(device.live).hasValue(0);
    }

    private static int indexOf(byte[] bytes, byte[] wanted) {
        for (int at = 0; at <= bytes.length - wanted.length; at++) {
            if (MemorySegment.mismatch(MemorySegment.ofArray(bytes), at, at + wanted.length,
                    MemorySegment.ofArray(wanted), 0, wanted.length) < 0) {
                return at;
            }
        }
        throw new AssertionError("the file does not have the bytes");
    }

    @Test
    void rowsOfATensorAreReadWithoutTheRest() throws IOException {
        Path file = export("model.safetensors", state());
        try (Checkpoint c = Checkpoint.open(file, there())) {
            Tensor rows = c.rows("wte", 7, 9);
            assertThat(rows.device()).isEqualTo(device.device());
            assertThat(rows.cpu().getDouble(1, 3)).isEqualTo(8003);
            assertThat(device.uploads).hasValue(0);
            rows.storage().release();
        }
        assertThat(device.live).hasValue(0);
    }

    @Test
    void aFileThatIsCutWhileItIsLoadedIsNamed() throws IOException {
        Path file = export("model.safetensors", state());
        device.beforeReading = () -> {
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                channel.truncate(5000);
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        };
        assertThatExceptionOfType(TruncatedMappingException.class)
                .isThrownBy(() -> Checkpoint.open(file, there().inMemory())).withMessageContaining(file.toString());
        assertThat(device.live).hasValue(0);
    }

    @ParameterizedTest
    @MethodSource("endings")
    void aDeviceThatIsNotThereIsRefused(String ending) throws IOException {
        Path file = export("model." + ending, state());
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> Checkpoint.open(file,
                        OpenOptions.defaults().inMemory().device(new Device("npu", 3))))
                .withMessageContainingAll(file.toString(), "npu:3", "cpu", device.device().toString(),
                        "OpenOptions.device(Device.CPU)")
                .extracting(FormatException::code).isIn("DEVICE", "TORCH-DEVICE");
    }
}
