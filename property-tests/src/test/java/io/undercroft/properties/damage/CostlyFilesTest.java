package io.undercroft.properties.damage;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.StateTreeWriter;
import io.undercroft.properties.Scratch;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.io.TempDirFactory;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Files below a megabyte that were made to cost much: `croft inspect` and `croft verify` of them allocate at most 64
/// MiB and twice the size of the file, garbage included, and take a bounded number of operations, or refuse them before
/// that.
@ResourceLock(Operations.LOCK)
class CostlyFilesTest {
    private static final int LARGEST = 1 << 20;
    /// Text without a name of a class could be anything.
    private static final String TORCH7 = "torch7";

    /// Its path is short, since each of thousands of messages has it.
    @TempDir(factory = ShortPath.class)
    private Path folder;

    private void check(Path file) throws IOException {
        check(file, "");
    }

    private void check(Path file, String format) throws IOException {
        assertThat(Files.size(file)).isLessThan(LARGEST);
        for (ForeignReading.Report report : ForeignReading.Report.values()) {
            assertThat(ForeignReading.inspect(file, format, report)).as("the file is not as the test means it")
                    .doesNotContain("FORMAT-UNKNOWN", "V16");
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

    /// Messages of a model of ONNX: tensors without elements, nodes, attributes, properties, and sizes.
    @ParameterizedTest
    @ValueSource(strings = {"2A:1001", "0A:1200", "0A:2A00", "2A:08001001", "5A:1200"})
    void anOnnxModelOfManyMessages(String message) throws IOException {
        byte[] start = HexFormat.of().parseHex(message.substring(3));
        ByteArrayOutputStream graph = new ByteArrayOutputStream();
        for (int i = 0; graph.size() < 900_000; i++) {
            byte[] name = Integer.toString(i, Character.MAX_RADIX).getBytes(ISO_8859_1);
            graph.write(HexFormat.fromHexDigits(message, 0, 2));
            graph.write(start.length + 2 + name.length);
            graph.writeBytes(start);
            graph.write(message.startsWith("2A") ? 0x42 : 0x0A);
            graph.write(name.length);
            graph.writeBytes(name);
        }
        ByteArrayOutputStream model = new ByteArrayOutputStream();
        model.writeBytes(HexFormat.of().parseHex("080A3A"));
        for (int left = graph.size(); left > 0; left >>>= 7) {
            model.write(left > 0x7F ? (left & 0x7F) | 0x80 : left);
        }
        model.writeBytes(graph.toByteArray());
        check(Files.write(folder.resolve("a.onnx"), model.toByteArray()));
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
        Checkpoint.save(file, List.of());
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

    /// Tensors that reach outside their storage.
    @Test
    void aCroftFileOfManyTensorsThatCannotBeRead() throws IOException {
        Tensor whole = Tensor.zeros(DType.FLOAT32, 2);
        List<Tensor> state = new ArrayList<>();
        for (int i = 0; i < 12_000; i++) {
            state.add(whole.narrow(0, 0, 1));
        }
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, state);
        check(Files.write(file, TreeFile.changeTensors(Files.readAllBytes(file), records -> {
            for (int i = 0; i < records.length; i += 24) {
                records[i + 15] = 1;
            }
            return records;
        })));
    }

    /// Calls of the function that makes tensors, each with the same arguments, which reach outside the storage.
    @Test
    void aPickleOfManyTensorsThatCannotBeRead() throws IOException {
        Path file = folder.resolve("a.pt");
        Checkpoint.save(file, Map.of("w", Tensor.of(1f)));
        check(Files.write(file, TorchZip.changePickle(file, pickle -> {
            String text = new String(pickle, StandardCharsets.ISO_8859_1);
            int start = text.indexOf("ctorch._utils");
            int end = text.indexOf("tR");
            String function = text.substring(start, text.indexOf("(", start));
            String arguments = text.substring(start + function.length(), end).replace("QK\u0000K", "QK\tK");
            return latin("\u0080\u0002](" + function + "q " + arguments + "tq!"
                    + "h h!R".repeat(100_000) + "e.");
        })));
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

    /// Few tensors, under a key in the tree that is longer than all names of the index.
    @Test
    void aCroftFileWhoseTreeHasLongerNamesThanItsIndex() throws IOException {
        List<Tensor> state = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            state.add(Tensor.of(i));
        }
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, state);
        byte[] key = latin("k".repeat(4000));
        byte[] map = {0x12, 1, 0x09, (byte) ((key.length & 0x7F) | 0x80), (byte) (key.length >> 7)};
        Files.write(file, TreeFile.change(Files.readAllBytes(file), list -> joined(map, key, list)));
        check(file);
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            assertThat(checkpoint.names()).as("the names of the index").hasSize(100)
                    .allMatch(name -> name.length() < 3);
            assertThatThrownBy(checkpoint::tree).isInstanceOf(FormatException.class)
                    .hasMessageContaining("V6-NAME").hasMessageContaining("more characters than the ");
        }
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

    /// An object of a class in so many modules that no recursion could follow them.
    @ParameterizedTest
    @ValueSource(strings = {"a.", "a", "."})
    void aTextFileOfTorch7OfAClassWithALongName(String part) throws IOException {
        String name = "a." + part.repeat(800_000 / part.length()) + "a";
        check(Files.writeString(folder.resolve("a.t7"), "4\n1\n" + name.length() + "\n" + name + "\n",
                StandardCharsets.ISO_8859_1), TORCH7);
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

    private Path array(String header) throws IOException {
        byte[] text = header.getBytes(UTF_8);
        return Files.write(folder.resolve("a.npy"), ByteBuffer.allocate(12 + text.length)
                .order(ByteOrder.LITTLE_ENDIAN).put(new byte[]{(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0})
                .putInt(text.length).put(text).array());
    }

    /// Fields that commas separate, and texts that are no types.
    @ParameterizedTest
    @ValueSource(strings = {"i,", "i4, ", "(", "()", " ", "1", "(1)i,", "(1,1,1)f4,", "["})
    void aHeaderOfNumPyOfManyFields(String field) throws IOException {
        check(array("{'descr': '" + field.repeat(900_000 / field.length())
                + "i,i', 'fortran_order': False, 'shape': (0,), }"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"('%d','i'),", "(('%d','%<x'),'i',(1,)),", "('','V1'),", "('%d',[('a','i')]),"})
    void aHeaderOfNumPyOfManyRecords(String field) throws IOException {
        StringBuilder text = new StringBuilder("{'descr': [");
        for (int i = 0; text.length() < 900_000; i++) {
            text.append(String.format(Locale.ROOT, field, i));
        }
        check(array(text.append("], 'fortran_order': False, 'shape': (0,), }").toString()));
    }

    /// Fields whose path has the long name of the record that they are in.
    @Test
    void aHeaderOfNumPyOfManyFieldsUnderALongName() throws IOException {
        StringBuilder text = new StringBuilder("{'descr': [('" + "k".repeat(300_000) + "', [");
        for (int i = 0; text.length() < 900_000; i++) {
            text.append("('").append(i).append("','i'),");
        }
        check(array(text.append("])], 'fortran_order': False, 'shape': (0,), }").toString()));
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

    /// A tuple of many parts that each of very many keys refers to, and whose hash each needs.
    @Test
    void aCroftFileOfManyKeysWithManyPartsInCommon() throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, List.of());
        StateTreeWriter tree = new StateTreeWriter();
        tree.openList(2);
        int shared = tree.openTuple(1000);
        for (int i = 0; i < 1000; i++) {
            tree.writeInt8((byte) 1);
        }
        tree.openSet(100_000);
        for (int i = 0; i < 100_000; i++) {
            tree.openTuple(2);
            tree.writeReference(shared);
            tree.writeInt32(i);
        }
        Files.write(file, TreeFile.change(Files.readAllBytes(file), _ -> tree.toByteArray()));
        check(file);
    }

    /// Keys that refer to one long tuple.
    private static byte[] keysOfAPickle(int parts, int count) {
        ByteArrayOutputStream pickle = new ByteArrayOutputStream();
        pickle.writeBytes(latin("\u0080\u0002(" + "K\u0001".repeat(parts) + "tq\u0001}("));
        for (int i = 0; i < count; i++) {
            pickle.writeBytes(new byte[]{'h', 1, 'M', (byte) i, (byte) (i >> 8), (byte) 0x86, 'N'});
        }
        pickle.writeBytes(latin("u."));
        return pickle.toByteArray();
    }

    private static byte[] latin(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 100, 900})
    void aPickleOfManyKeysWithPartsInCommon(int parts) throws IOException {
        Path file = folder.resolve("a.pt");
        Checkpoint.save(file, List.of());
        check(Files.write(file, TorchZip.changePickle(file, _ -> keysOfAPickle(parts, 60_000))));
    }

    /// Pairs of which 31 times the first number plus the second is the same.
    @Test
    void aPickleOfManyKeysOfEqualHashes() throws IOException {
        ByteBuffer keys = ByteBuffer.allocate(12 * 70_000).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < 70_000; i++) {
            keys.put((byte) 'J').putInt(i).put((byte) 'J').putInt(31 * (70_000 - i)).put((byte) 0x86).put((byte) 'N');
        }
        Path file = folder.resolve("a.pt");
        Checkpoint.save(file, List.of());
        byte[] pickle = joined(latin("\u0080\u0002}("), keys.array(), latin("u."));
        check(Files.write(file, TorchZip.changePickle(file, _ -> pickle)));
    }

    /// The state of a file that PyTorch wrote before it wrote archives, and a list of the keys of its storages.
    @ParameterizedTest
    @ValueSource(strings = {"N", "]", "}", "X\u0001\u0000\u0000\u0000a"})
    void aLegacyFileOfPyTorchOfManySmallValues(String value) throws IOException {
        String head = "\u0080\u0002\u008a\nl\u00fc\u009cF\u00f9 j\u00a8P\u0019.\u0080\u0002M\u00e9\u0003."
                + "\u0080\u0002}q\u0000(X\u0010\u0000\u0000\u0000protocol_versionq\u0001M\u00e9\u0003"
                + "X\r\u0000\u0000\u0000little_endianq\u0002\u0088u.";
        String many = "\u0080\u0002](" + value.repeat(450_000 / value.length()) + "e.";
        check(Files.write(folder.resolve("state.pt"), latin(head + many + "\u0080\u0002].")));
        check(Files.write(folder.resolve("keys.pt"), latin(head + "\u0080\u0002N." + many)));
    }

    /// Storages without elements, tensors without dimensions and views, in the oldest format of PyTorch.
    @Test
    void aTarFileOfPyTorchOfManyStoragesAndTensors() throws IOException {
        int count = 6000;
        ByteBuffer storages = ByteBuffer.allocate(1 << 19).order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer tensors = ByteBuffer.allocate(1 << 19).order(ByteOrder.LITTLE_ENDIAN);
        putCount(storages, count);
        putCount(tensors, count);
        for (int i = 0; i < count; i++) {
            storages.put(latin("\u0080\u0002(J")).putInt(i).put(latin("X\u0003\u0000\u0000\u0000cpu"))
                    .put(latin("ctorch\nFloatStorage\nt.")).putLong(0);
            tensors.put(latin("\u0080\u0002(J")).putInt(count + i).put((byte) 'J').putInt(i)
                    .put(latin("ctorch\nFloatTensor\nt.")).putInt(0).putInt(0).putLong(0);
        }
        storages.put(latin("\u0080\u0002]."));
        byte[] file = joined(member("sys_info", latin("\u0080\u0002}.")),
                member("pickle", latin("\u0080\u0002](" + "]".repeat(100_000) + "e.")),
                member("tensors", taken(tensors)), member("storages", taken(storages)), new byte[1024]);
        check(Files.write(folder.resolve("a.pt"), file));
    }

    private static void putCount(ByteBuffer member, int count) {
        member.put(latin("\u0080\u0002J")).putInt(count).put((byte) '.');
    }

    private static byte[] taken(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.position()];
        buffer.flip().get(bytes);
        return bytes;
    }

    private static byte[] joined(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }

    private static byte[] member(String name, byte[] bytes) {
        byte[] block = new byte[512 + Math.ceilDiv(bytes.length, 512) * 512];
        put(block, 0, name);
        put(block, 100, "0000644");
        put(block, 124, String.format("%011o", bytes.length));
        put(block, 148, "        0");
        put(block, 257, "ustar\u000000");
        int sum = 0;
        for (int i = 0; i < 512; i++) {
            sum += block[i];
        }
        put(block, 148, String.format("%06o", sum) + "\u0000 ");
        System.arraycopy(bytes, 0, block, 512, bytes.length);
        return block;
    }

    private static void put(byte[] block, int at, String text) {
        System.arraycopy(latin(text), 0, block, at, text.length());
    }

    /// Empty members.
    @Test
    void aTarFileOfManyMembers() throws IOException {
        byte[][] members = new byte[2000][];
        for (int i = 0; i < members.length; i++) {
            members[i] = member(i == 0 ? "sys_info" : "pickle" + i, new byte[0]);
        }
        check(Files.write(folder.resolve("a.pt"), joined(members)));
    }

    /// By the type of an object and what follows it, in hexadecimal.
    @ParameterizedTest
    @ValueSource(strings = {"00000000", "050000000100000000", "0200000000000000", "0500000001000000"})
    void aBinaryFileOfTorch7OfManySmallValues(String hex) throws IOException {
        byte[] value = HexFormat.of().parseHex(hex);
        int count = 900_000 / (12 + value.length);
        ByteBuffer table = ByteBuffer.allocate(12 + count * (12 + value.length)).order(ByteOrder.LITTLE_ENDIAN)
                .putInt(3).putInt(1).putInt(count);
        for (int i = 1; i <= count; i++) {
            table.putInt(1).putDouble(i).put(value);
        }
        check(Files.write(folder.resolve("a.t7"), table.array()), TORCH7);
    }

    @Test
    void aFileOfGgufOfManyTensorsAndTexts() throws IOException {
        int count = 16_000;
        ByteBuffer file = ByteBuffer.allocate(1 << 20).order(ByteOrder.LITTLE_ENDIAN);
        file.put(latin("GGUF")).putInt(3).putLong(count).putLong(1).putLong(1).put((byte) 'a').putInt(9).putInt(8)
                .putLong(2L * count);
        for (int i = 0; i < 2 * count; i++) {
            file.putLong(0);
        }
        for (int i = 0; i < count; i++) {
            file.putLong(5).put(latin(String.format(Locale.ROOT, "%05d", i))).putInt(1).putLong(0).putInt(0).putLong(0);
        }
        check(Files.write(folder.resolve("a.gguf"), taken(file)));
    }

    /// What the header of a tensor says besides, in many arrays, and metadata of many entries.
    @ParameterizedTest
    @ValueSource(strings = {"[]", "[[[[[[[[]]]]]]]]", "{}", "0", "\"\""})
    void aFileOfSafetensorsOfManySmallValues(String value) throws IOException {
        StringBuilder header = new StringBuilder("{\"__metadata__\":{");
        for (int i = 0; i < 20_000; i++) {
            header.append(i == 0 ? "" : ",").append('"').append(i).append("\":\"\"");
        }
        header.append("},\"t\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"x\":[").append(value);
        while (header.length() < 900_000) {
            header.append(',').append(value);
        }
        byte[] text = header.append("]}}").toString().getBytes(UTF_8);
        check(Files.write(folder.resolve("a.safetensors"),
                ByteBuffer.allocate(8 + text.length).order(ByteOrder.LITTLE_ENDIAN).putLong(text.length).put(text)
                        .array()));
    }

    /// Tensors of an index, in one file and in very many.
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anIndexOfManyTensors(boolean isOneFile) throws IOException {
        Checkpoint.save(folder.resolve("s0.safetensors"), Map.of("t0", Tensor.of(1f)));
        StringBuilder index = new StringBuilder("{\"metadata\":{},\"weight_map\":{");
        for (int i = 0; index.length() < 900_000; i++) {
            index.append(i == 0 ? "" : ",").append("\"t").append(i).append("\":\"s").append(isOneFile ? 0 : i)
                    .append(".safetensors\"");
        }
        check(Files.writeString(folder.resolve("model.safetensors.index.json"), index.append("}}").toString()));
    }

    /// Records without bytes, in an archive of NumPy's.
    @Test
    void aFileOfNumPyOfManyRecords() throws IOException {
        Path file = folder.resolve("a.npz");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file))) {
            zip.setMethod(ZipOutputStream.STORED);
            for (int i = 0; i < 9000; i++) {
                stored(zip, Integer.toString(i, 36) + ".npy", new byte[0]);
            }
        }
        check(file);
    }

    /// Snapshots of nearly nothing.
    @Test
    void aCroftFileOfManySnapshots() throws IOException {
        Path file = folder.resolve("a.croft");
        try (CroftFile growing = CroftFile.open(file)) {
            for (long i = 0; i < 100; i++) {
                growing.commit(List.of(i), "");
            }
        }
        check(file);
    }

    /// Storages that a pickle refers to again and again, each time by another description of the same.
    @Test
    void aPickleOfManyPersistentIds() throws IOException {
        Path file = folder.resolve("a.pt");
        Checkpoint.save(file, Map.of("w", Tensor.of(1f)));
        check(Files.write(file, TorchZip.changePickle(file, pickle -> {
            String text = new String(pickle, StandardCharsets.ISO_8859_1);
            String id = text.substring(text.indexOf("(X\u0007"), text.indexOf("tQ") + 1);
            return latin("\u0080\u0002](" + id + "q " + "Qh ".repeat(200_000) + "Qe.");
        })));
    }

    private static final class ShortPath implements TempDirFactory {
        @Override
        public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext test) throws IOException {
            return Scratch.make().directory();
        }
    }
}
