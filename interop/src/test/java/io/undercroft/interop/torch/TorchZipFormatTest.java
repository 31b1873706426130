package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapMode;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Sameness;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class TorchZipFormatTest {
    /// A minute or more.
    private static final int MOST_COLLECTIONS = 2_000;

    @TempDir
    private Path directory;

    /// An archive as `torch.save` makes it, but without alignment: a 4-element tensor under the key `0`.
    private static Map<String, byte[]> archive() {
        Map<String, byte[]> records = new LinkedHashMap<>();
        records.put("data.pkl", new PickleBuilder().tensor("0", 4).stop());
        records.put("byteorder", "little".getBytes(UTF_8));
        records.put("data/0", ByteBuffer.allocate(16).putFloat(0x1p0f).putFloat(2).putFloat(3).putFloat(4).array());
        records.put("version", "3\n".getBytes(UTF_8));
        return records;
    }

    private Path write(String folder, Map<String, byte[]> records) throws IOException {
        Path path = directory.resolve("made.pt");
        try (OutputStream out = Files.newOutputStream(path); ZipOutputStream zip = new ZipOutputStream(out)) {
            for (Map.Entry<String, byte[]> record : records.entrySet()) {
                TorchZips.store(zip, folder + "/" + record.getKey(), record.getValue());
            }
        }
        return path;
    }

    private FormatException refusal(Map<String, byte[]> records) throws IOException {
        Path path = write("made", records);
        FormatException refusal = catchThrowableOfType(FormatException.class, () -> Fixtures.open(path, _ -> {}));
        assertThat(refusal).isNotNull();
        return refusal;
    }

    @Test
    void storagesAreMappedWhenTheyAreFirstTouched() throws IOException {
        Fixtures.open(Fixtures.PYTORCH.resolve("tied.pt"), contents -> {
            Storage storage = contents.storages().getFirst();
            assertThat(storage.isMaterialized()).isFalse();
            assertThat(contents.tensor("emb.weight").orElseThrow().getFloat(0, 0)).isFinite();
            assertThat(storage.isMaterialized()).isTrue();
            assertThat(storage.filename().orElseThrow()).endsWith("tied.pt");
        });
    }

    /// {@return a storage of a checkpoint that nobody can reach any more}
    private static WeakReference<Storage> forgotten(Path file) throws IOException {
        Storage storage = Checkpoint.open(file).storages().getFirst();
        assertThat(storage.get(3)).isEqualTo((byte) 7);
        return new WeakReference<>(storage);
    }

    @Test
    void aCheckpointThatNobodyClosesGoesWithTheGarbage() throws Exception {
        WeakReference<Storage> storage = forgotten(TorchZips.write(directory.resolve("one.pt"), 4));

        for (int i = 0; i < MOST_COLLECTIONS && storage.get() != null; i++) {
            System.gc();
            Thread.sleep(10);
        }
        assertThat(storage.get()).isNull();
    }

    @Test
    void whatIsWrittenThroughOneTensorShowsInItsTwin() throws IOException {
        Path file = Fixtures.PYTORCH.resolve("tied.pt");
        byte[] before = Files.readAllBytes(file);
        Fixtures.open(file, contents -> {
            contents.tensor("emb.weight").orElseThrow().setDouble(1, 2, 17);
            assertThat(contents.tensor("head.weight").orElseThrow().getDouble(1, 2)).isEqualTo(17);
            assertThat(contents.verify().damages()).as("the file is as it was").isEmpty();
        });
        assertThat(Files.readAllBytes(file)).isEqualTo(before);
    }

    @Test
    void aSharedMappingWritesToTheFile() throws IOException {
        Path file = Files.copy(Fixtures.PYTORCH.resolve("tied.pt"), directory.resolve("tied.pt"));
        Fixtures.open(file, OpenOptions.defaults().mapping(MapMode.SHARED),
                contents -> contents.tensor("emb.weight").orElseThrow().setDouble(1, 2, 17));
        Fixtures.open(file, contents -> {
            assertThat(contents.tensor("head.weight").orElseThrow().getDouble(1, 2)).isEqualTo(17);
            assertThat(contents.verify().damages()).extracting(Damage::where).containsExactly("record tied/data/0");
        });
    }

    @ParameterizedTest
    @EnumSource(value = MapMode.class, names = "PRIVATE", mode = EnumSource.Mode.EXCLUDE)
    void aCopyThatCannotReachTheFileIsReadOnly(MapMode mode) throws IOException {
        Path file = Files.copy(Fixtures.PYTORCH.resolve("zip_deflated.pt"), directory.resolve("deflated.pt"));
        Fixtures.open(file, OpenOptions.defaults().mapping(mode), contents -> {
            Tensor base = contents.tensor("base").orElseThrow();
            assertThat(base.getDouble(1, 1)).isFinite();
            assertThatThrownBy(() -> base.setDouble(1, 1, 1)).isInstanceOf(UnsupportedOperationException.class);
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"a", "ab", "abc", "abcd", "ordnung-für-ü"})
    void recordsNeedNoAlignment(String folder) throws IOException {
        Map<String, byte[]> records = archive();
        records.put("byteorder", "big".getBytes(UTF_8));
        Path path = write(folder, records);
        assertThat(Fixtures.matches(path)).isTrue();
        Fixtures.open(path, contents -> {
            Tensor tensor = (Tensor) contents.state();
            assertThat(tensor.getDouble(3)).isEqualTo(4);
            assertThat(contents.verify().damages()).isEmpty();
        });
    }

    @Test
    void untypedStoragesOfAnotherByteOrderTakeTheirTensorsType() throws IOException {
        Map<String, byte[]> records = archive();
        records.put("byteorder", "big".getBytes(UTF_8));
        records.put("data/0", new byte[]{0x12, 0x34, 0, 1});
        records.put("data.pkl",
                new PickleBuilder().global("torch._utils", "_rebuild_tensor_v3").ops("((").text("storage")
                        .global("torch.storage", "UntypedStorage").text("0").text("cpu").integer(4).ops("tQ").integer(0)
                        .integer(2)
                        .bytes(0x85).integer(1).bytes(0x85, 0x89).ops("N").global("torch", "uint16").ops("tR").stop());
        Fixtures.open(write("made", records), contents -> {
            Tensor tensor = (Tensor) contents.state();
            assertThat(tensor.getLong(0)).isEqualTo(0x1234);
            assertThat(tensor.getLong(1)).isEqualTo(1);
        });
    }

    @Test
    void damageIsFoundWithItsPlace() throws IOException {
        byte[] file = Files.readAllBytes(Fixtures.PYTORCH.resolve("single_f32.pt"));
        Path path = directory.resolve("damaged.pt");
        long[] place = new long[1];
        Fixtures.open(Fixtures.PYTORCH.resolve("single_f32.pt"), contents -> {
            float first = ((Tensor) contents.state()).getFloat(0, 1);
            ByteBuffer buffer = ByteBuffer.wrap(file).order(java.nio.ByteOrder.LITTLE_ENDIAN);
            for (int at = 64; place[0] == 0; at += 64) {
                place[0] = buffer.getFloat(at + 4) == first ? at : 0;
            }
        });
        file[(int) place[0]] ^= 1;
        Files.write(path, file);
        Fixtures.open(path, contents -> {
            Damage damage = contents.verify().damages().getFirst();
            assertThat(damage.where()).isEqualTo("record single_f32/data/0");
            assertThat(damage.offset()).isEqualTo(place[0]);
            assertThat(damage.length()).isEqualTo(48);
        });
    }

    @Test
    void recordsWithoutChecksumsAreAcceptedAndCounted() throws IOException {
        Fixtures.open(Fixtures.PYTORCH.resolve("zip_nocrc.pt"), contents -> {
            assertThat(contents.verify().damages()).isEmpty();
            assertThat(contents.verify().unverifiedExtents()).isGreaterThan(5);
            assertThat(contents.verify().unverifiedBytes())
                    .isGreaterThan(contents.storages().getFirst().nbytes());
        });
        Fixtures.open(Fixtures.PYTORCH.resolve("views.pt"),
                contents -> assertThat(contents.verify().unverifiedBytes()).isZero());
    }

    @ParameterizedTest
    @ValueSource(strings = {"tied.pt", "zip_deflated.pt", "zip_torch1.6_style.pt"})
    void anArchiveMayStandBehindOtherBytes(String fixture) throws IOException {
        Path original = Fixtures.PYTORCH.resolve(fixture);
        Path path = directory.resolve("appended.pt");
        for (int before : new int[]{1, 63, 64, 100_000}) {
            try (OutputStream out = Files.newOutputStream(path)) {
                out.write(new byte[before]);
                Files.copy(original, out);
            }
            assertThat(Fixtures.matches(path)).isFalse();
            Fixtures.open(original, expected -> Fixtures.open(path, contents -> {
                Sameness.check(expected.state(), contents.state());
                assertThat(contents.verify().damages()).isEmpty();
            }));
        }
    }

    @Test
    void aRecordOfAnotherSizeIsRefused() throws IOException {
        Map<String, byte[]> records = archive();
        records.put("data/0", new byte[15]);
        assertThat(refusal(records).code()).isEqualTo("TORCH-STORAGE");
        records.remove("data/0");
        assertThat(refusal(records).what()).contains("has no record");
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "11", "-1", "three", "99999999999999999999", ""})
    void unknownVersionsAreRefused(String version) throws IOException {
        Map<String, byte[]> records = archive();
        records.put("version", version.getBytes(UTF_8));
        assertThat(refusal(records).code()).isEqualTo("TORCH-VERSION");
        records.remove("version");
        assertThat(refusal(records).code()).isEqualTo("TORCH-VERSION");
    }

    @Test
    void anUnknownByteOrderIsRefused() throws IOException {
        Map<String, byte[]> records = archive();
        records.put("byteorder", "middle".getBytes(UTF_8));
        assertThat(refusal(records).code()).isEqualTo("TORCH-BYTEORDER");
    }

    @Test
    void aHugeMetaTensorNeedsNoMemory() throws IOException {
        Map<String, byte[]> records = archive();
        records.put("data.pkl", new PickleBuilder().global("torch._utils", "_rebuild_meta_tensor_no_storage").ops("(")
                .global("torch", "float32").integer(1 << 30).integer(1 << 20).bytes(0x86).integer(1 << 20).integer(1)
                .bytes(0x86, 0x89).ops("tR").stop());
        Fixtures.open(write("made", records), contents -> {
            Tensor tensor = (Tensor) contents.state();
            assertThat(tensor.device()).isEqualTo(Device.META);
            assertThat(tensor.storage().nbytes()).isEqualTo(1L << 52);
        });
    }

    /// PyTorch 2.13 writes a record of all bytes, and does not read the file.
    @ParameterizedTest
    @ValueSource(ints = {ZipEntry.STORED, ZipEntry.DEFLATED})
    void aStorageThatIsNoWholeNumberOfElementsKeepsAllItsBytes(int method) throws IOException {
        byte[] bytes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
        Path path = TorchZips.write(directory.resolve("ten.pt"), 2, method, bytes);
        try (Checkpoint c = Checkpoint.open(path);
                Checkpoint meta = Checkpoint.open(path, OpenOptions.defaults().onMeta())) {
            assertThat(c.tensor("").storage().segment().toArray(ValueLayout.JAVA_BYTE)).isEqualTo(bytes);
            assertThat(meta.tensor("").storage().nbytes()).isEqualTo(10);
        }
        Path wrong = TorchZips.write(directory.resolve("twelve.pt"), 2, method, new byte[12]);
        assertThatThrownBy(() -> Checkpoint.open(wrong)).hasMessageContaining("of 8 bytes has a record of 12");
    }
}
