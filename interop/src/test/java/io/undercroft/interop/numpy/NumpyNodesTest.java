package io.undercroft.interop.numpy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.BorrowedBytes;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import io.undercroft.testsupport.Tries;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Arrays of NumPy that are no tensors: texts, dates, records, long doubles, and those that cannot be read.
class NumpyNodesTest {
    @TempDir
    private Path folder;

    // ---- files, as NumPy writes them ----

    /// An array in row-major order.
    private static byte[] npy(String descr, Shape shape, byte[] data) {
        return npy(descr, false, shape, data);
    }

    private static byte[] npy(String descr, boolean isFortran, Shape shape, byte[] data) {
        String sizes = LongStream.of(shape.toArray()).mapToObj(Long::toString).collect(Collectors.joining(", "));
        String header = "{'descr': " + descr + ", 'fortran_order': " + (isFortran ? "True" : "False") + ", 'shape': ("
                + sizes + (shape.rank() == 1 ? "," : "") + "), }";
        if (shape.rank() > 0) {
            header += " ".repeat(21 - Long.toString(shape.size(isFortran ? -1 : 0)).length());
        }
        boolean isLatin = header.chars().allMatch(c -> c < 256);
        int prefix = isLatin ? 10 : 12;
        int length = header.getBytes(isLatin ? ISO_8859_1 : UTF_8).length;
        byte[] text = (header + " ".repeat(64 - (prefix + length + 1) % 64) + "\n")
                .getBytes(isLatin ? ISO_8859_1 : UTF_8);
        ByteBuffer bytes = ByteBuffer.allocate(prefix + text.length + data.length).order(ByteOrder.LITTLE_ENDIAN)
                .put(new byte[]{(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', (byte) (isLatin ? 1 : 3), 0});
        (isLatin ? bytes.putShort((short) text.length) : bytes.putInt(text.length)).put(text).put(data);
        return bytes.array();
    }

    /// Texts of 4 bytes for each character, with zeros behind them.
    private static byte[] characters(ByteOrder order, int length, String... texts) {
        ByteBuffer bytes = ByteBuffer.allocate(4 * length * texts.length).order(order);
        for (String text : texts) {
            int[] codes = Arrays.copyOf(text.codePoints().toArray(), length);
            Arrays.stream(codes).forEach(bytes::putInt);
        }
        return bytes.array();
    }

    private static byte[] latin(int length, String... texts) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (String text : texts) {
            bytes.writeBytes(Arrays.copyOf(text.getBytes(UTF_8), length));
        }
        return bytes.toByteArray();
    }

    private static byte[] counted(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i + 1);
        }
        return bytes;
    }

    private Path write(byte[] bytes) throws IOException {
        return Files.write(folder.resolve("a.npy"), bytes);
    }

    private Path archive(Map<String, byte[]> records, int method) throws IOException {
        Path path = folder.resolve("a.npz");
        try (var zip = new ZipOutputStream(Files.newOutputStream(path))) {
            zip.setLevel(Deflater.BEST_SPEED);
            for (Map.Entry<String, byte[]> record : records.entrySet()) {
                ZipEntry entry = new ZipEntry(record.getKey() + ".npy");
                entry.setMethod(method);
                if (method == ZipEntry.STORED) {
                    CRC32 crc = new CRC32();
                    crc.update(record.getValue());
                    entry.setCrc(crc.getValue());
                    entry.setSize(record.getValue().length);
                }
                zip.putNextEntry(entry);
                zip.write(record.getValue());
            }
        }
        return path;
    }

    private interface Body<T> {
        void check(T node) throws IOException;
    }

    /// Opens an array alone, in both kinds of archive and in a `.croft` file, and writes it again from each.
    private <T> void everywhere(byte[] array, byte[] again, Class<T> type, Body<T> body) throws IOException {
        Path back = folder.resolve("back.npy");
        Path croft = folder.resolve("b.croft");
        try (Checkpoint c = Checkpoint.open(write(array))) {
            body.check(type.cast(c.state()));
            Checkpoint.save(back, c.state());
            Checkpoint.save(croft, c.state());
        }
        assertThat(Files.readAllBytes(back)).isEqualTo(again);
        try (Checkpoint c = Checkpoint.open(croft)) {
            body.check(type.cast(c.state()));
            Checkpoint.save(back, c.state());
        }
        assertThat(Files.readAllBytes(back)).isEqualTo(again);
        for (int method : new int[]{ZipEntry.STORED, ZipEntry.DEFLATED}) {
            for (OpenOptions options : List.of(OpenOptions.defaults(), OpenOptions.defaults().inMemory())) {
                try (Checkpoint c = Checkpoint.open(archive(Map.of("x/y", array), method), options)) {
                    Object node = ((Map<?, ?>) c.state()).get("x/y");
                    body.check(type.cast(node));
                    Checkpoint.save(back, node);
                    assertThat(c.verify().damages()).isEmpty();
                }
                assertThat(Files.readAllBytes(back)).isEqualTo(again);
            }
        }
    }

    private <T> void everywhere(byte[] array, Class<T> type, Body<T> body) throws IOException {
        everywhere(array, array, type, body);
    }

    // ---- texts ----

    @Test
    void textsAreStringsThatKeepTheirShapeAndWidth() throws IOException {
        String[] texts = {"", "a", "\u00e4\u20ac", "\ud83d\ude00b", "c\u0000d", "efg"};
        byte[] little = npy("'<U3'", Shape.of(3, 2), characters(ByteOrder.LITTLE_ENDIAN, 3, texts));
        Body<Typed> body = node -> {
            assertThat(node.type()).isEqualTo("numpy.str_");
            assertThat(node.value()).isEqualTo(List.of(texts));
            assertThat(node.attributes()).containsEntry("length", 3L).containsEntry("shape", Shape.of(3, 2)).hasSize(2);
            TextArray array = TextArray.of(node).orElseThrow();
            assertThat(array.shape()).isEqualTo(Shape.of(3, 2));
            assertThat(array.get(2, 1)).isEqualTo("efg");
            assertThat(array.get(1, 0)).isEqualTo(texts[2]);
        };
        everywhere(little, Typed.class, body);
        everywhere(npy("'>U3'", Shape.of(3, 2), characters(ByteOrder.BIG_ENDIAN, 3, texts)), little, Typed.class, body);
        everywhere(npy("'<U3'", true, Shape.of(2, 3), characters(ByteOrder.LITTLE_ENDIAN, 3, texts)), Typed.class,
                node -> assertThat(node.value())
                        .isEqualTo(List.of(texts[0], texts[2], texts[4], texts[1], texts[3], texts[5])));
    }

    @Test
    void bytesAreStringsIfTheyAreUtf8() throws IOException {
        everywhere(npy("'|S4'", Shape.of(3), latin(4, "csr", "\u00e4\u00e4", "")), Typed.class, node -> {
            assertThat(node.type()).isEqualTo("numpy.bytes_");
            assertThat(node.value()).isEqualTo(List.of("csr", "\u00e4\u00e4", ""));
        });
        byte[] noText = npy("'|S3'", Shape.of(2), new byte[]{'a', 0, 0, (byte) 0xFF, 1, 2});
        everywhere(noText, Typed.class, node -> {
            Tensor tensor = (Tensor) node.value();
            assertThat(tensor.shape()).isEqualTo(Shape.of(2, 3));
            assertThat(tensor.toIntArray()).containsExactly('a', 0, 0, 0xFF, 1, 2);
            assertThat(TextArray.of(node).orElseThrow().toList()).containsExactly("a", "\ufffd\u0001\u0002");
        });
    }

    @Test
    void oneTextIsOneString() throws IOException {
        everywhere(npy("'<U7'", Shape.SCALAR, characters(ByteOrder.LITTLE_ENDIAN, 7, "hello")), Typed.class, node -> {
            assertThat(node.value()).isEqualTo("hello");
            assertThat(node.attributes()).containsOnlyKeys("length").containsEntry("length", 7L);
            assertThat(TextArray.of(node).orElseThrow().toList()).containsExactly("hello");
        });
        everywhere(npy("'|S3'", Shape.SCALAR, latin(3, "csc")), Typed.class,
                node -> assertThat(TextArray.of(node).orElseThrow().get()).isEqualTo("csc"));
    }

    @Test
    void textsOfNoWidthAndNoTextsAreKept() throws IOException {
        everywhere(npy("'<U0'", Shape.of(2), new byte[0]), Typed.class,
                node -> assertThat(node.value()).isEqualTo(List.of("", "")));
        everywhere(npy("'<U5'", Shape.of(2, 0), new byte[0]), Typed.class,
                node -> assertThat(TextArray.of(node).orElseThrow().shape()).isEqualTo(Shape.of(2, 0)));
        everywhere(npy("'|S0'", Shape.of(1L << 40), new byte[0]), Typed.class,
                node -> assertThat(((Tensor) node.value()).shape()).isEqualTo(Shape.of(1L << 40, 0)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"'<U500000000'", "'|S2147483647'", "[('a', '<U500000000'), ('b', '<f4')]",
            "[('a', '|S2147483647', (3,)), ('b', '<f4')]", "[('a', [('b', '<U400000000')], (2,)), ('c', '<M8[ns]')]"})
    void noElementsCostNothingWhateverTheSizeOfOne(String descr) throws IOException {
        byte[] array = npy(descr, Shape.of(3, 0), new byte[0]);
        long before = Proc.allocatedByThisThread();
        everywhere(array, Object.class, node -> {
            if (node instanceof Typed typed) {
                assertThat(TextArray.of(typed).orElseThrow().toList()).isEmpty();
            }
        });
        assertThat(Proc.allocatedByThisThread() - before).isLessThan(64 << 20);
    }

    @Test
    void aFieldWithoutElementsCostsNothingInRecordsThatHaveSome() throws IOException {
        byte[] array = npy("[('a', '<U500000000', (0,)), ('b', '<i4')]", Shape.of(2), counted(8));
        everywhere(array, TypedMap.class, records -> {
            assertThat(((Typed) records.get("a")).value()).isEqualTo(List.of());
            assertThat(((Tensor) records.get("b")).toIntArray()).containsExactly(0x04030201, 0x08070605);
        });
    }

    @Test
    void charactersThatUnicodeDoesNotHaveStayNumbers() throws IOException {
        byte[] data = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN).putInt('a').putInt(0xD800)
                .putInt(0x7FFFFFFF).putInt(0).array();
        everywhere(npy("'<U2'", Shape.of(2), data), Typed.class, node -> {
            assertThat(((Tensor) node.value()).dtype()).isEqualTo(DType.UINT32);
            assertThat(TextArray.of(node).orElseThrow().get(0)).isEqualTo("a\ufffd");
        });
    }

    /// Opening makes no string of the texts of a large array.
    @Test
    void manyTextsStayTheirBytesAndAreReadOneByOne() throws IOException {
        String[] texts = IntStream.range(0, 6000).mapToObj(i -> "t" + i).toArray(String[]::new);
        everywhere(npy("'<U6'", Shape.of(60, 100), characters(ByteOrder.LITTLE_ENDIAN, 6, texts)), Typed.class,
                node -> {
                    Tensor tensor = (Tensor) node.value();
                    assertThat(tensor.shape()).isEqualTo(Shape.of(60, 100, 6));
                    assertThat(tensor.dtype()).isEqualTo(DType.UINT32);
                    TextArray array = TextArray.of(node).orElseThrow();
                    assertThat(array.get(59, 98)).isEqualTo("t5998");
                    assertThat(array.toList()).containsExactly(texts);
                });
        everywhere(npy("'|S1'", true, Shape.of(2, 3000), new byte[6000]), Typed.class,
                node -> assertThat(((Tensor) node.value()).stride()).containsExactly(1, 2, 1));
    }

    /// Of thousands of records that deflate to nothing, the first few become strings.
    @Test
    void textsOfManyRecordsDoNotBecomeStringsWithoutEnd() throws IOException {
        byte[] array = npy("'<U4'", Shape.of(4096), new byte[1 << 16]);
        Map<String, byte[]> records = new LinkedHashMap<>();
        for (int i = 0; i < 600; i++) {
            records.put("r" + i, array);
        }
        try (Checkpoint c = Checkpoint.open(archive(records, ZipEntry.DEFLATED))) {
            Map<?, ?> state = (Map<?, ?>) c.state();
            assertThat(state).hasSize(600);
            long lists = state.values().stream().filter(node -> ((Typed) node).value() instanceof List).count();
            assertThat(lists).isEqualTo(32);
            assertThat(c.names()).hasSize(600 - 32);
        }
    }

    // ---- dates ----

    @ParameterizedTest
    @ValueSource(strings = {"ns", "D", "25s", "us", "Y"})
    void datesAreInt64WithTheirUnit(String unit) throws IOException {
        byte[] data = ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN).putLong(1).putLong(Long.MIN_VALUE)
                .putLong(-7).array();
        byte[] swapped = ByteBuffer.allocate(24).putLong(1).putLong(Long.MIN_VALUE).putLong(-7).array();
        byte[] dates = npy("'<M8[" + unit + "]'", Shape.of(3), data);
        Body<Typed> body = node -> {
            assertThat(node.type()).isEqualTo("numpy.datetime64");
            assertThat(node.attributes()).containsExactlyEntriesOf(Map.of("unit", unit));
            assertThat(((Tensor) node.value()).toLongArray()).containsExactly(1, Long.MIN_VALUE, -7);
        };
        everywhere(dates, Typed.class, body);
        everywhere(npy("'>M8[" + unit + "]'", Shape.of(3), swapped), dates, Typed.class, body);
        everywhere(npy("'<m8[" + unit + "]'", Shape.of(3), data), Typed.class,
                node -> assertThat(node.type()).isEqualTo("numpy.timedelta64"));
        everywhere(npy("'<M8'", Shape.of(3), data), Typed.class,
                node -> assertThat(node.attributes()).containsEntry("unit", "generic"));
    }

    // ---- records ----

    @Test
    void alignedFieldsAreViewsOfOneStorage() throws IOException {
        ByteBuffer data = ByteBuffer.allocate(3 * 16).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < 3; i++) {
            data.putInt(i).putFloat(i + 0.5f).putDouble(-i);
        }
        byte[] array = npy("[('a', '<i4'), ('b', '<f4'), ('c', '<f8')]", Shape.of(3), data.array());
        everywhere(array, TypedMap.class, node -> {
            assertThat(node.type()).isEqualTo("numpy.record");
            assertThat(node.keySet().toString()).isEqualTo("[a, b, c]");
            Tensor a = (Tensor) node.get("a");
            Tensor b = (Tensor) node.get("b");
            Tensor c = (Tensor) node.get("c");
            assertThat(a.toIntArray()).containsExactly(0, 1, 2);
            assertThat(b.toFloatArray()).containsExactly(0.5f, 1.5f, 2.5f);
            assertThat(c.toDoubleArray()).containsExactly(0, -1, -2);
            assertThat(a.stride()).containsExactly(4);
            assertThat(c.stride()).containsExactly(2);
            assertThat(b.storageOffset()).isEqualTo(1);
            assertThat(a.storage()).isSameAs(b.storage()).isSameAs(c.storage());
        });
        try (Checkpoint c = Checkpoint.open(write(array))) {
            assertThat(c.names()).containsExactly("a", "b", "c");
            assertThat(c.tensor("a").storage().filename()).isPresent();
            assertThat(c.storages()).hasSize(1);
        }
    }

    @Test
    void recordsAtTwoPlacesAreWrittenTwice() throws IOException {
        byte[] array = npy("[('a', '<i4'), ('b', '<f4')]", Shape.of(3), new byte[24]);
        try (Checkpoint c = Checkpoint.open(write(array))) {
            Map<String, Object> twice = new LinkedHashMap<>();
            twice.put("x", c.state());
            twice.put("y", c.state());

            SaveReport report = Checkpoint.save(folder.resolve("twice.npz"), twice);

            assertThat(report.losses()).containsExactly(
                    SaveReport.Loss.of(SaveReport.Kind.SHARING, List.of("x/a", "x/b", "y/a", "y/b")));
        }
    }

    @Test
    void packedAndSwappedFieldsAreGathered() throws IOException {
        ByteBuffer data = ByteBuffer.allocate(4 * 13);
        ByteBuffer again = ByteBuffer.allocate(4 * 13).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < 4; i++) {
            data.put((byte) i).putLong(~i);
            again.put((byte) i).putLong(~i);
            data.order(ByteOrder.LITTLE_ENDIAN).putFloat(i / 4f).order(ByteOrder.BIG_ENDIAN);
            again.putFloat(i / 4f);
        }
        everywhere(npy("[('a', '|u1'), ('b', '>i8'), ('c', '<f4')]", Shape.of(2, 2), data.array()),
                npy("[('a', '|u1'), ('b', '<i8'), ('c', '<f4')]", Shape.of(2, 2), again.array()), TypedMap.class,
                node -> {
                    assertThat(((Tensor) node.get("a")).toIntArray()).containsExactly(0, 1, 2, 3);
                    assertThat(((Tensor) node.get("b")).toLongArray()).containsExactly(-1, -2, -3, -4);
                    assertThat(((Tensor) node.get("c")).shape()).isEqualTo(Shape.of(2, 2));
                    assertThat(((Tensor) node.get("c")).toFloatArray()).containsExactly(0, .25f, .5f, .75f);
                });
    }

    /// Each gathered by itself would read all records again.
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void recordsOfManyPackedFieldsAreReadOnce(boolean isArchive) throws IOException {
        StringBuilder descr = new StringBuilder("[");
        int fields = 1000;
        for (int i = 0; i < fields; i++) {
            descr.append("('").append(i).append("', '|i1'), ('").append(i).append("b', '<i2'), ");
        }
        int rows = 100;
        byte[] array = npy(descr.append(']').toString(), Shape.of(rows), counted(3 * fields * rows));
        Path file = isArchive ? archive(Map.of("a", array), ZipEntry.STORED) : write(array);
        try (Checkpoint c = Checkpoint.open(file)) {
            long before = Proc.bytesReadByThisThread();
            long sum = 0;
            for (Tensor tensor : c.tensors().values()) {
                try (BorrowedBytes borrowed = tensor.storage().borrow()) {
                    sum += borrowed.on(tensor).getLong(rows - 1);
                }
            }
            assertThat(Proc.bytesReadByThisThread() - before).isLessThan(8L * array.length);
            long expected = 0;
            byte[] last = counted(3 * fields * rows);
            for (int i = 0; i < fields; i++) {
                int at = 3 * (fields * (rows - 1) + i);
                expected += last[at] + (short) ((last[at + 1] & 0xFF) | last[at + 2] << 8);
            }
            assertThat(sum).isEqualTo(expected);
        }
    }

    @Test
    void nestedRecordsArraysInThemTitlesAndGapsAreKept() throws IOException {
        String descr = "[(('the x', 'x'), '<i2', (2, 3)), ('', '|V4'), ('n', [('t', '<U2', (2,)), ('', '|V1'), "
                + "('d', '<M8[s]'), ('m', [('q', '>f4')])], (2,)), (\"it's\", '|S3'), ('z', '|b1', (0,)), "
                + "('', '|V5')]";
        int item = 12 + 4 + 2 * (16 + 1 + 8 + 4) + 3 + 5;
        ByteBuffer data = ByteBuffer.allocate(2 * item).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < 2; i++) {
            for (short k = 0; k < 6; k++) {
                data.putShort((short) (10 * i + k));
            }
            data.putInt(0);
            for (int k = 0; k < 2; k++) {
                data.put(characters(ByteOrder.LITTLE_ENDIAN, 2, "t" + i, "u" + k)).put((byte) 0).putLong(100 + i + k);
                data.order(ByteOrder.BIG_ENDIAN).putFloat(i - k).order(ByteOrder.LITTLE_ENDIAN);
            }
            data.put(latin(3, "s" + i)).put(new byte[5]);
        }
        byte[] swapped = data.array().clone();
        for (int i = 0; i < 2; i++) {
            for (int k = 0; k < 2; k++) {
                int at = i * item + 16 + k * 29 + 25;
                ByteBuffer.wrap(swapped).order(ByteOrder.LITTLE_ENDIAN).putFloat(at, i - k);
            }
        }
        everywhere(npy(descr, Shape.of(2), data.array()), npy(descr.replace(">f4", "<f4"), Shape.of(2), swapped),
                TypedMap.class, node -> {
                    Tensor x = (Tensor) node.get("x");
                    assertThat(x.shape()).isEqualTo(Shape.of(2, 2, 3));
                    assertThat(x.toIntArray()).containsExactly(0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15);
                    TypedMap n = (TypedMap) node.get("n");
                    assertThat(n.attributes()).containsEntry("shape", Shape.of(2, 2));
                    assertThat(((Typed) n.get("t")).value())
                            .isEqualTo(List.of("t0", "u0", "t0", "u1", "t1", "u0", "t1", "u1"));
                    assertThat(((Typed) n.get("t")).attributes()).containsEntry("shape", Shape.of(2, 2, 2));
                    assertThat(((Tensor) ((Typed) n.get("d")).value()).toLongArray())
                            .containsExactly(100, 101, 101, 102);
                    assertThat(((Tensor) ((TypedMap) n.get("m")).get("q")).toFloatArray())
                            .containsExactly(0, -1, 1, 0);
                    assertThat(((Typed) node.get("it's")).value()).isEqualTo(List.of("s0", "s1"));
                    assertThat(((Tensor) node.get("z")).shape()).isEqualTo(Shape.of(2, 0));
                });
    }

    @Test
    void recordsInColumnMajorOrderStayInIt() throws IOException {
        byte[] array = npy("[('a', '<i2'), ('b', '<i4'), ('s', '|S1')]", true, Shape.of(2, 3), counted(6 * 7));
        byte[] aligned = npy("[('a', '<i2'), ('b', '<i2'), ('s', '<U1')]", true, Shape.of(2, 3), small(6));
        everywhere(array, TypedMap.class, node -> {
            assertThat(node.attributes()).containsEntry("fortran_order", true);
            assertThat(((Tensor) node.get("a")).getLong(1, 0)).isEqualTo(0x0908);
            assertThat(((Tensor) node.get("b")).getLong(0, 1)).isEqualTo(0x14131211 + 0);
        });
        everywhere(aligned, TypedMap.class, node -> {
            assertThat(((Tensor) node.get("b")).toIntArray()).containsExactly(0, 2, 4, 1, 3, 5);
            assertThat(((Typed) node.get("s")).value()).isEqualTo(List.of("a", "c", "e", "b", "d", "f"));
        });
    }

    private static byte[] small(int count) {
        ByteBuffer data = ByteBuffer.allocate(count * 8).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < count; i++) {
            data.putShort((short) -i).putShort((short) i).putInt('a' + i);
        }
        return data.array();
    }

    @Test
    void aRecordAloneNoRecordsAndRecordsOfNothingAreKept() throws IOException {
        everywhere(npy("[('a', '<i4'), ('t', '<U2')]", Shape.SCALAR,
                ByteBuffer.allocate(12).order(ByteOrder.LITTLE_ENDIAN).putInt(3).putInt('x').putInt('y').array()),
                TypedMap.class, node -> {
                    assertThat(((Tensor) node.get("a")).getLong()).isEqualTo(3);
                    assertThat(((Typed) node.get("t")).value()).isEqualTo("xy");
                });
        everywhere(npy("[('a', '<i4'), ('t', '<U2')]", Shape.of(0, 3), new byte[0]), TypedMap.class,
                node -> assertThat(((Tensor) node.get("a")).shape()).isEqualTo(Shape.of(0, 3)));
        everywhere(npy("[]", Shape.of(4), new byte[0]), TypedMap.class, node -> assertThat(node).isEmpty());
        everywhere(npy("[('\u20ac', '<i4')]", Shape.of(1), new byte[4]), TypedMap.class,
                node -> assertThat(node.keySet().toString()).isEqualTo("[\u20ac]"));
    }

    /// More than one slab of records, and more than one part of the file.
    @Test
    void manyRecordsPassThroughInParts() throws IOException {
        int count = 1_000_000;
        ByteBuffer data = ByteBuffer.allocate(count * 21).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < count; i++) {
            data.put((byte) i).putInt(i).putDouble(i).putLong(-i);
        }
        byte[] array = npy("[('a', '|i1'), ('b', '<i4'), ('c', '<f8'), ('d', '<m8[ms]')]", Shape.of(1000, 1000),
                data.array());
        everywhere(array, TypedMap.class, node -> {
            assertThat(((Tensor) node.get("b")).getLong(999, 998)).isEqualTo(999_998);
            assertThat(((Tensor) node.get("c")).getDouble(500, 1)).isEqualTo(500_001);
            assertThat(((Tensor) ((Typed) node.get("d")).value()).getLong(0, 77)).isEqualTo(-77);
        });
    }

    @Test
    void fieldsThatWereNotChosenHaveNoBytes() throws IOException {
        byte[] array = npy("[('a', '<i4'), ('b/c', '>i4')]", Shape.of(2), new byte[]{1, 0, 0, 0, 0, 0, 0, 2, 3, 0, 0, 0,
                0, 0, 0, 4});
        try (Checkpoint c = Checkpoint.open(archive(Map.of("r", array), ZipEntry.DEFLATED),
                OpenOptions.defaults().only("r/b~1c"::equals))) {
            assertThat(c.names()).containsExactly("r/b~1c");
            assertThat(c.tensor("r/b~1c").toIntArray()).containsExactly(2, 4);
        }
        try (Checkpoint c = Checkpoint.open(write(array), OpenOptions.defaults().onMeta())) {
            assertThat(c.tensor("a").storage().isMeta()).isTrue();
            assertThat(c.tensor("b~1c").storage().isMeta()).isTrue();
        }
    }

    // ---- elements without meaning here ----

    @ParameterizedTest
    @ValueSource(strings = {"<f16", ">f16", "<c32", "|V16", "<V16"})
    void longDoublesAndRawBytesAreMappedComparedAndSavedAgain(String descr) throws IOException {
        int bytes = descr.equals("<c32") ? 32 : 16;
        everywhere(npy("'" + descr + "'", Shape.of(3), counted(3 * bytes)), Tensor.class, tensor -> {
            assertThat(tensor.dtype()).isEqualTo(DType.opaque("numpy:" + descr, bytes * 8));
            assertThat(tensor.shape()).isEqualTo(Shape.of(3));
            assertThat(tensor.contentEquals(tensor.copy())).isTrue();
        });
        everywhere(npy("[('a', '" + descr + "'), ('b', '|u1')]", Shape.of(3), counted(3 * (bytes + 1))),
                TypedMap.class, node -> assertThat(((Tensor) node.get("a")).itemsize()).isEqualTo(bytes));
        everywhere(npy("'<f12'", Shape.of(1), counted(12)), Tensor.class,
                tensor -> assertThat(tensor.itemsize()).isEqualTo(12));
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 131_073, 300_000})
    void rawBytesOfAnySizeAreBytes(long size) throws IOException {
        String descr = "'|V" + size + "'";
        everywhere(npy(descr, Shape.of(2), counted((int) size * 2)), Typed.class, node -> {
            assertThat(node.type()).isEqualTo("numpy.void");
            Tensor bytes = (Tensor) node.value();
            assertThat(bytes.shape()).isEqualTo(Shape.of(2, size));
            if (size > 0) {
                assertThat((byte) bytes.getInt(1, size - 1)).isEqualTo(counted((int) size * 2)[(int) size * 2 - 1]);
            }
        });
        everywhere(npy("[('a', " + descr + "), ('b', '|u1')]", Shape.of(3), counted(3 * ((int) size + 1))),
                TypedMap.class, node -> {
                    assertThat(((Tensor) ((Typed) node.get("a")).value()).shape()).isEqualTo(Shape.of(3, size));
                    assertThat(((Tensor) node.get("b")).numel()).isEqualTo(3);
                });
        everywhere(npy("'|V9999999999999'", Shape.of(0), new byte[0]), Typed.class,
                node -> assertThat(((Tensor) node.value()).shape()).isEqualTo(Shape.of(0, 9_999_999_999_999L)));
    }

    /// What NumPy makes of the bfloat16 of other libraries.
    @Test
    void rawBytesCanBeViewedAsAnotherType() throws IOException {
        everywhere(npy("'|V2'", Shape.of(2), new byte[]{(byte) 0x80, 0x3F, 0, (byte) 0xC0}), Tensor.class,
                tensor -> assertThat(tensor.view(DType.BFLOAT16).toFloatArray()).containsExactly(1, -2));
    }

    // ---- what cannot be read ----

    @Test
    void oneRecordThatCannotBeReadDoesNotHideTheOthers() throws IOException {
        Map<String, byte[]> records = new LinkedHashMap<>();
        records.put("object", npy("'|O'", Shape.of(2), counted(50)));
        records.put("text", npy("'<U2'", Shape.of(1), characters(ByteOrder.LITTLE_ENDIAN, 2, "ok")));
        records.put("unknown", npy("'<x9'", Shape.of(1), counted(9)));
        records.put("short", npy("[('a', '<i4')]", Shape.of(2), counted(7)));
        records.put("number", npy("'<i4'", Shape.of(1), new byte[]{5, 0, 0, 0}));
        records.put("dimensions", npy("[('a', '<i4', (" + "1, ".repeat(40) + "))]",
                Shape.of(LongStream.generate(() -> 1).limit(40).toArray()), new byte[4]));
        records.put("empty", new byte[0]);
        try (Checkpoint c = Checkpoint.open(archive(records, ZipEntry.DEFLATED))) {
            Map<?, ?> state = (Map<?, ?>) c.state();
            assertThat(state.keySet().toString())
                    .isEqualTo("[object, text, unknown, short, number, dimensions, empty]");
            assertThat(((Typed) state.get("text")).value()).isEqualTo(List.of("ok"));
            assertThat(c.tensor("number").toIntArray()).containsExactly(5);
            for (String bad : List.of("object", "unknown", "short", "dimensions", "empty")) {
                assertThatExceptionOfType(FormatException.class).isThrownBy(() -> c.tensor(bad))
                        .withMessageContainingAll("a.npz", bad.equals("object") ? "TORCH-PICKLE" : "NPY",
                                "'" + bad + ".npy'");
            }
            assertThat(c.damages()).hasSize(5);
        }
    }

    @Test
    void aDamagedRecordDoesNotHideTheOthers() throws IOException {
        Map<String, byte[]> records = new LinkedHashMap<>();
        records.put("bad", npy("'<U2'", Shape.of(1), characters(ByteOrder.LITTLE_ENDIAN, 2, "no")));
        records.put("good", npy("'<U2'", Shape.of(1), characters(ByteOrder.LITTLE_ENDIAN, 2, "ok")));
        for (int method : new int[]{ZipEntry.STORED, ZipEntry.DEFLATED}) {
            Path path = archive(records, method);
            byte[] bytes = Files.readAllBytes(path);
            // A record of this size begins behind its header of 30 bytes and its name.
            bytes[method == ZipEntry.STORED ? 37 + 130 : 37 + 5] ^= 0x55;
            Files.write(path, bytes);
            try (Checkpoint c = Checkpoint.open(path)) {
                assertThat(((Typed) ((Map<?, ?>) c.state()).get("good")).value()).isEqualTo(List.of("ok"));
                assertThatExceptionOfType(FormatException.class).isThrownBy(() -> c.tensor("bad"))
                        .withMessageContainingAll("ZIP", "bad.npy");
            }
        }
    }

    /// Headers some of whose tokens were left out, doubled, or took the place of others, in archives with one good one.
    @Test
    void noHeaderHidesTheOthersOrThrowsAnythingElse() throws IOException {
        List<String> tokens = List.of("[", "]", "(", ")", ",", "'a'", "'b'", "''", "'<i4'", "'>f8'", "'<U2'", "'|S3'",
                "'<M8[ns]'", "'|V3'", "'|O'", "'<f16'", "'|V0'", "'<U0'", "2", "0", "9223372036854775807", "4294967296",
                "'<U999999999999'", "'|V9999999999999999'");
        Random random = new Random(5);
        int readable = 0;
        int archives = Tries.of(20);
        for (int archive = 0; archive < archives; archive++) {
            Map<String, byte[]> records = new LinkedHashMap<>();
            for (int i = 0; i < 200; i++) {
                List<String> descr = new ArrayList<>(List.of("[", "(", "'a'", ",", "'<i4'", ",", "(", "2", ",", ")",
                        ")", ",", "(", "'b'", ",", "[", "(", "'c'", ",", "'<U2'", ")", ",", "]", ")", ",", "]"));
                for (int changes = random.nextInt(4); changes > 0; changes--) {
                    int at = random.nextInt(descr.size());
                    switch (random.nextInt(3)) {
                        case 0 -> descr.remove(at);
                        case 1 -> descr.set(at, tokens.get(random.nextInt(tokens.size())));
                        default -> descr.add(at, tokens.get(random.nextInt(tokens.size())));
                    }
                }
                long[] sizes = random.longs(random.nextInt(3), 0, 3).toArray();
                records.put("r" + i, npy(String.join("", descr), random.nextBoolean(), Shape.of(sizes),
                        new byte[random.nextInt(4) * 16]));
            }
            records.put("good", npy("'<U2'", Shape.of(1), characters(ByteOrder.LITTLE_ENDIAN, 2, "ok")));
            try (Checkpoint c = Checkpoint.open(archive(records, ZipEntry.DEFLATED))) {
                Map<?, ?> state = (Map<?, ?>) c.state();
                assertThat(((Typed) state.get("good")).value()).isEqualTo(List.of("ok"));
                for (Map.Entry<?, ?> entry : state.entrySet()) {
                    boolean isBad = entry.getValue() instanceof Tensor tensor
                            && tensor.dtype().name().equals("unreadable");
                    if (!isBad) {
                        Checkpoint.save(folder.resolve("again.npy"), entry.getValue());
                        readable++;
                    }
                }
            }
        }
        assertThat(readable).isBetween(10 * archives, 175 * archives);
    }

    // ---- writing ----

    @Test
    void nodesThatDoNotFitAreRefusedByPath() {
        Typed tooLong = new Typed("numpy.str_", "hello");
        tooLong.attributes().put("length", 2L);
        Typed zeros = new Typed("numpy.bytes_", List.of("a", "b\u0000"));
        Typed half = new Typed("numpy.str_", "\ud800");
        Typed shape = new Typed("numpy.str_", List.of("a", "b"));
        shape.attributes().put("shape", Shape.of(3));
        Typed huge = new Typed("numpy.str_", "a");
        huge.attributes().put("length", 1L << 60);
        Typed unit = new Typed("numpy.datetime64", Tensor.of(1L));
        unit.attributes().put("unit", "years");
        TypedMap fields = new TypedMap("numpy.record");
        fields.put("a", Tensor.of(1f));
        TypedMap other = new TypedMap("numpy.record");
        other.put("a", Tensor.of(1f));
        other.attributes().put("dtype", "[('a', '<f4', (2,))]");
        other.attributes().put("shape", Shape.of(1));
        TypedMap missing = new TypedMap("numpy.record");
        missing.attributes().putAll(other.attributes());
        TypedMap noType = new TypedMap("numpy.record");
        noType.attributes().put("dtype", "[('a'");
        noType.attributes().put("shape", Shape.of(1));
        List<Object> bad = List.of(tooLong, zeros, half, shape, huge, unit, fields, other, missing, noType,
                new Typed("numpy.datetime64", Tensor.of(1f)), new Typed("numpy.str_", 3L),
                new Typed("numpy.str_", Tensor.of(1f)), new Typed("numpy.other", Tensor.of(1f)));
        for (Object node : bad) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Checkpoint.save(folder.resolve("b.npz"), Map.of("some", Map.of("where", node))))
                    .withMessageContaining("some/where");
        }
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void nodesOfAProgramAreWritten() throws IOException {
        Typed texts = new Typed("numpy.str_", List.of("a", "bcd"));
        Typed dates = new Typed("numpy.datetime64", Tensor.of(1L, 2L));
        dates.attributes().put("unit", "D");
        Path path = folder.resolve("b.npz");
        Checkpoint.save(path, Map.of("texts", texts, "more", Map.of("dates", dates)),
                SaveOptions.defaults().setting("npz.compression", "deflate"));
        try (Checkpoint c = Checkpoint.open(path)) {
            Map<?, ?> state = (Map<?, ?>) c.state();
            assertThat(((Typed) state.get("texts")).value()).isEqualTo(List.of("a", "bcd"));
            assertThat(((Typed) state.get("texts")).attributes()).containsEntry("length", 3L);
            assertThat(c.tensor("more/dates").toLongArray()).containsExactly(1, 2);
        }
    }

    /// The order of a file says nothing of a dimension of size 1.
    @Test
    void theStrideOfADimensionOfSize1IsThatOfRowMajorOrder() throws IOException {
        Path path = folder.resolve("b.npy");
        Tensor column = Tensor.arange(DType.FLOAT32, 5).view(5, 1).t();
        assertThat(column.stride()).containsExactly(1, 1);
        Checkpoint.save(path, column);
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.tensor("").stride()).containsExactly(5, 1);
            assertThat(c.tensor("").contentEquals(column)).isTrue();
        }
    }
}
