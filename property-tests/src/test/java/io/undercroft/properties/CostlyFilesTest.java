package io.undercroft.properties;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.undercroft.format.StateTreeWriter;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Files below a megabyte that were made to cost much: `croft inspect` of them allocates at most 64 MiB and twice the
/// size of the file, garbage included, or refuses them before that.
class CostlyFilesTest {
    private static final int LARGEST = 1 << 20;
    /// Text without a name of a class could be anything.
    private static final OpenOptions TORCH7 = OpenOptions.defaults().format("torch7");

    @TempDir
    private Path folder;

    private void check(Path file) throws IOException {
        check(file, OpenOptions.defaults());
    }

    private void check(Path file, OpenOptions options) throws IOException {
        long size = Files.size(file);
        assertThat(size).isLessThan(LARGEST);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        for (ForeignReading.Report report : ForeignReading.Report.values()) {
            long before = threads.getCurrentThreadAllocatedBytes();
            String outcome = ForeignReading.inspect(file, options, report);
            long allocated = threads.getCurrentThreadAllocatedBytes() - before;
            assertThat(outcome).as("the file is not as the test means it").doesNotContain("FORMAT-UNKNOWN", "V16");
            assertThat(allocated).as("%s, %s, %s", file.getFileName(), report, outcome)
                    .isLessThan((64L << 20) + 2 * size);
        }
    }

    /// Values of two bytes and more in the tree of a `.croft` file.
    @ParameterizedTest
    @ValueSource(strings = {"1000", "1100", "1200", "1300", "14000101", "0900", "2400", "2500", "01", "100101",
            "110101",
            "12010101", "130101", "1400040101", "1400120001", "090131", "0E00000001", "250131", "24017F", "1400100001",
            "04FF01", "100402020202", "12020901310109013201", "12011101040101", "130111010401", "10011000",
            "1001100110011001100110011001100110011001100110011001100110011001100101", "0A00", "2303637075",
            "23056370753A31"})
    void aCroftFileOfManySmallValues(String hex) throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, List.of());
        byte[] value = HexFormat.of().parseHex(hex);
        byte[] changed = TreeFile.change(Files.readAllBytes(file), _ -> listOf(value, 900_000 / value.length));
        Files.write(file, changed);
        check(file);
    }

    /// References make a place necessary for each container.
    @ParameterizedTest
    @ValueSource(strings = {"1000", "110101", "12010101", "10011000"})
    void aCroftFileOfManyContainersAndAReference(String hex) throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, List.of());
        byte[] value = HexFormat.of().parseHex(hex);
        byte[] list = listOf(value, 900_000 / value.length);
        byte[] both = new byte[list.length + 4];
        both[0] = 0x10;
        both[1] = 2;
        System.arraycopy(list, 0, both, 2, list.length);
        both[list.length + 2] = 0x15;
        both[list.length + 3] = 2;
        Files.write(file, TreeFile.change(Files.readAllBytes(file), _ -> both));
        check(file);
    }

    /// Maps and sets of very many keys, of one class and of several.
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCroftFileOfManyKeys(boolean isOfOneClass) throws IOException {
        Map<Object, Object> keys = new LinkedHashMap<>();
        for (int i = 0; i < (isOfOneClass ? 180_000 : 110_000); i++) {
            keys.put(isOfOneClass || i % 2 == 0 ? (Object) (long) i : "" + i, null);
        }
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, List.of());
        byte[] tree = tree(keys);
        Files.write(file, TreeFile.change(Files.readAllBytes(file), _ -> tree));
        check(file);
    }

    private static byte[] tree(Map<Object, Object> keys) {
        StateTreeWriter tree = new StateTreeWriter();
        tree.openMap(keys.size());
        for (Object key : keys.keySet()) {
            if (key instanceof Long number) {
                tree.writeInteger(number);
            } else {
                tree.writeString((String) key);
            }
            tree.writeNull();
        }
        return tree.toByteArray();
    }

    /// Tensors without elements, each on a storage of its own, all of one type with a long name.
    @Test
    void aCroftFileOfManyTensors() throws IOException {
        DType type = DType.opaque("t".repeat(4000), 8);
        List<Tensor> state = new ArrayList<>();
        for (int i = 0; i < 5000; i++) {
            state.add(Tensor.zeros(type, 0));
        }
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, state);
        check(file);
    }

    @ParameterizedTest
    @ValueSource(strings = {"N", "]", ")", "}", "K\u0001", "M\u0001\u0001", "X\u0001\u0000\u0000\u0000a", "]N\u0085",
            "]]a",
            "\u008f", "}NNs", "X\u0000\u0000\u0000\u0000"})
    void aPickleOfManySmallValues(String value) throws IOException {
        byte[] pickle = ("\u0080\u0002(" + value.repeat(900_000 / value.length()) + "l.")
                .getBytes(StandardCharsets.ISO_8859_1);
        Path file = folder.resolve("a.pt");
        Checkpoint.export(file, List.of());
        check(Files.write(file, TorchZip.changePickle(file, _ -> pickle)));
    }

    /// Records that belong to nothing, in an archive of PyTorch's.
    @Test
    void aFileOfPyTorchOfManyRecords() throws IOException {
        Path file = folder.resolve("a.pt");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file))) {
            zip.setMethod(ZipOutputStream.STORED);
            stored(zip, "a/data.pkl", "\u0080\u0002N.".getBytes(StandardCharsets.ISO_8859_1));
            stored(zip, "a/version", "3\n".getBytes(UTF_8));
            for (int i = 0; i < 10_000; i++) {
                stored(zip, Integer.toString(i, 36), new byte[0]);
            }
        }
        check(file);
    }

    private static void stored(ZipOutputStream zip, String name, byte[] bytes) throws IOException {
        CRC32 crc = new CRC32();
        crc.update(bytes);
        ZipEntry entry = new ZipEntry(name);
        entry.setSize(bytes.length);
        entry.setCrc(crc.getValue());
        zip.putNextEntry(entry);
        zip.write(bytes);
    }

    private static byte[] listOf(byte[] value, int count) {
        ByteArrayOutputStream tree = new ByteArrayOutputStream();
        tree.write(0x10);
        int left = count;
        while (left >= 0x80) {
            tree.write((left & 0x7F) | 0x80);
            left >>>= 7;
        }
        tree.write(left);
        for (int i = 0; i < count; i++) {
            tree.writeBytes(value);
        }
        return tree.toByteArray();
    }

    /// One tensor under a long key at very many places: the index of the file has few names, its tree asks for many.
    @Test
    void aCroftFileWhoseTreeNamesOneTensorVeryOften() throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, Map.of("k", Tensor.of(1f)));
        ByteArrayOutputStream tree = new ByteArrayOutputStream();
        byte[] key = "k".repeat(4000).getBytes(UTF_8);
        tree.writeBytes(new byte[]{0x12, 1, 0x09, (byte) ((key.length & 0x7F) | 0x80), (byte) (key.length >> 7)});
        tree.writeBytes(key);
        tree.writeBytes(listOf(new byte[]{0x20, 0}, 400_000));
        Files.write(file, TreeFile.change(Files.readAllBytes(file), _ -> tree.toByteArray()));
        check(file);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0\n", "5\n1\n", "1\n3.5\n", "2\n0\n\n"})
    void aTextFileOfTorch7OfManySmallValues(String value) throws IOException {
        int count = 900_000 / (value.length() + 12);
        StringBuilder text = new StringBuilder("3\n1\n" + count + "\n");
        for (int i = 1; i <= count; i++) {
            text.append("1\n").append(i).append('\n').append(value);
        }
        check(Files.writeString(folder.resolve("a.t7"), text.toString(), StandardCharsets.ISO_8859_1),
                TORCH7);
    }

    @Test
    void aTextFileOfTorch7OfManyTables() throws IOException {
        int count = 40_000;
        StringBuilder text = new StringBuilder("3\n1\n" + count + "\n");
        for (int i = 1; i <= count; i++) {
            text.append("1\n").append(i).append("\n3\n").append(i + 1).append("\n0\n");
        }
        check(Files.writeString(folder.resolve("a.t7"), text.toString(), StandardCharsets.ISO_8859_1),
                TORCH7);
    }

    /// A table under a long key that refers to one tensor very often.
    @Test
    void aTextFileOfTorch7OfOneTensorAtManyPlacesOfALongPath() throws IOException {
        int count = 60_000;
        StringBuilder text = new StringBuilder("3\n1\n1\n2\n4000\n" + "k".repeat(4000) + "\n3\n2\n" + count + "\n");
        text.append(
                "1\n1\n4\n3\n3\nV 1\n17\ntorch.FloatTensor\n1\n1\n1\n1\n4\n4\n3\nV 1\n18\ntorch.FloatStorage\n1\n7\n");
        for (int i = 2; i <= count; i++) {
            text.append("1\n").append(i).append("\n4\n3\n");
        }
        check(Files.writeString(folder.resolve("a.t7"), text.toString(), StandardCharsets.ISO_8859_1),
                TORCH7);
    }

    /// Arrays of empty arrays in the metadata.
    @Test
    void aFileOfGgufOfManyArrays() throws IOException {
        int count = 80_000;
        ByteBuffer header = ByteBuffer.allocate(64 + 12 * count).order(ByteOrder.LITTLE_ENDIAN);
        header.put("GGUF".getBytes(UTF_8)).putInt(3).putLong(0).putLong(1).putLong(1).put((byte) 'a').putInt(9)
                .putInt(9).putLong(count);
        for (int i = 0; i < count; i++) {
            header.putInt(0).putLong(0);
        }
        check(Files.write(folder.resolve("a.gguf"), header.array()));
    }

    /// Headers of 64 KiB that take a hundred bytes each.
    @Test
    void aFileOfNumPyOfManyCompressedHeaders() throws IOException {
        Path file = folder.resolve("a.npz");
        byte[] text = ("{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }" + " ".repeat(65_000))
                .getBytes(UTF_8);
        byte[] array = ByteBuffer.allocate(10 + text.length).order(ByteOrder.LITTLE_ENDIAN)
                .put(new byte[]{(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0}).putShort((short) text.length).put(text)
                .array();
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file))) {
            for (int i = 0; i < 3000; i++) {
                zip.putNextEntry(new ZipEntry(i + ".npy"));
                zip.write(array);
            }
        }
        check(file);
    }

    /// Tensors without elements under names of one letter and more.
    @Test
    void aFileOfSafetensorsOfManyTensors() throws IOException {
        StringBuilder header = new StringBuilder("{");
        for (int i = 0; header.length() < 900_000; i++) {
            header.append(i == 0 ? "" : ",").append('"').append(Integer.toString(i, 36))
                    .append("\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}");
        }
        byte[] text = header.append('}').toString().getBytes(UTF_8);
        check(Files.write(folder.resolve("a.safetensors"),
                ByteBuffer.allocate(8 + text.length).order(ByteOrder.LITTLE_ENDIAN).putLong(text.length).put(text)
                        .array()));
    }
}
