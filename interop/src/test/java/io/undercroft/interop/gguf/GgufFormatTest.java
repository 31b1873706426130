package io.undercroft.interop.gguf;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.format.FormatException;
import io.undercroft.interop.RealPython;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/// Files of GGUF, as its own library wrote them, as we write them, and damaged.
class GgufFormatTest {
    private static final Path FIXTURES = Path.of("..", "test-support", "fixtures", "gguf");
    private static final Path ALL = FIXTURES.resolve("all.gguf");
    private static final List<String> PLAIN = List.of("float32", "float16", "float64", "int8", "int16", "int32",
            "int64");

    @TempDir
    private Path folder;
    private final SaveOptions options = SaveOptions.defaults();

    private Path path() {
        return folder.resolve("x.gguf");
    }

    private static Object plain(Checkpoint c, String key) {
        Object value = ((TypedMap) c.state()).attributes().get(key);
        return value instanceof Typed typed ? typed.value() : value;
    }

    private static void checkAll(Checkpoint c) {
        for (String name : PLAIN) {
            assertThat(c.tensor(name).dtype().name()).isEqualTo(name);
            assertThat(c.tensor(name).shape()).isEqualTo(Shape.of(2, 3));
            assertThat(c.tensor(name).toDoubleArray()).as(name).containsExactly(0, 1, 2, 3, 4, 5);
        }
        assertThat(plain(c, "uint8")).isEqualTo(200L);
        assertThat(plain(c, "int8")).isEqualTo((byte) -100);
        assertThat(plain(c, "uint16")).isEqualTo(60000L);
        assertThat(plain(c, "int16")).isEqualTo((short) -30000);
        assertThat(plain(c, "uint32")).isEqualTo(4000000000L);
        assertThat(plain(c, "int32")).isEqualTo(-2000000000);
        assertThat(plain(c, "uint64")).isEqualTo(new BigInteger("18446744073709551615"));
        assertThat(plain(c, "int64")).isEqualTo(-(1L << 62));
        assertThat(plain(c, "float32")).isEqualTo(1.5f);
        assertThat(plain(c, "float64")).isEqualTo(0.1);
        assertThat(plain(c, "bool")).isEqualTo(true);
        assertThat(plain(c, "string")).isEqualTo("grüße");
        assertThat(plain(c, "tokens")).isEqualTo(List.of("a", "b", "c"));
        assertThat(plain(c, "ints")).isEqualTo(List.of(1, 2, 3));
        assertThat(plain(c, "floats")).isEqualTo(List.of(.5f, 1.5f));
        assertThat(plain(c, "bytes")).isEqualTo(List.of(1L, 255L));
        assertThat((List<?>) plain(c, "nested")).hasSize(2)
                .allMatch(inner -> ((Typed) inner).type().equals("gguf:array:int32"));
        assertThat(c.metadata()).containsEntry("uint64", "18446744073709551615").containsEntry("string", "grüße")
                .containsEntry("general.architecture", "test").doesNotContainKey("tokens");
    }

    @Test
    void aFileOfTheRealLibraryIsReadAndWrittenAgainByteByByte() throws IOException {
        try (Checkpoint c = Checkpoint.open(ALL)) {
            assertThat(c.format()).isEqualTo("gguf");
            checkAll(c);
            assertThat(c.tensor("bfloat16").toFloatArray()).containsExactly(0, 1, 2, 3, 4, 5);
            assertThat(c.tensor("q4").dtype()).isEqualTo(DType.opaque("gguf:Q4_0", 144));
            assertThat(c.tensor("q4").shape()).isEqualTo(Shape.of(2, 2));
            assertThat(c.tensor("q8").nbytes()).isEqualTo(4 * 34);
            assertThat(c.storages()).allMatch(storage -> storage.segment() != null && storage.filename().isPresent());
            Checkpoint.save(path(), c.state(), options.metadata(c.metadata()));
        }
        assertThat(path()).hasSameBinaryContentAs(ALL);
    }

    @Test
    void emptyTensorsOfAFileThatEndsWithoutPaddingAreRead() throws IOException {
        for (ByteOrder order : List.of(ByteOrder.LITTLE_ENDIAN, ByteOrder.BIG_ENDIAN)) {
            ByteBuffer file = ByteBuffer.allocate(256).order(order);
            file.put("GGUF".getBytes(ISO_8859_1)).putInt(3).putLong(2).putLong(0);
            for (int i = 0; i < 2; i++) {
                file.putLong(1).put((byte) ('a' + i)).putInt(1).putLong(0).putInt(0).putLong(i * (1L << 40));
            }
            Path path = Files.write(path(), Arrays.copyOf(file.array(), file.position()));
            assertThat(Files.size(path) % 32).isNotZero();
            for (OpenOptions opened : List.of(OpenOptions.defaults(), OpenOptions.defaults().inMemory())) {
                try (Checkpoint c = Checkpoint.open(path, opened)) {
                    assertThat(c.tensor("a").toFloatArray()).isEmpty();
                    assertThat(c.tensor("b").copy().shape()).isEqualTo(Shape.of(0));
                    Checkpoint.save(folder.resolve("copy.gguf"), c.state());
                }
                try (Checkpoint c = Checkpoint.open(folder.resolve("copy.gguf"))) {
                    assertThat(c.names()).containsExactly("a", "b");
                }
            }
        }
    }

    @Test
    void bigEndianFilesAreSwapped() throws IOException {
        try (Checkpoint c = Checkpoint.open(FIXTURES.resolve("big.gguf"))) {
            checkAll(c);
        }
    }

    @Test
    void versionTwoIsRead() throws IOException {
        byte[] bytes = Files.readAllBytes(ALL);
        bytes[4] = 2;
        try (Checkpoint c = Checkpoint.open(Files.write(path(), bytes))) {
            checkAll(c);
        }
    }

    /// What version 1 can have: a value of every kind, arrays in arrays, and tensors.
    private static Bytes first(ByteOrder order) {
        Bytes bytes = new Bytes(1, order, 2, 4).string("name").u32(8).string("grüße");
        bytes.string("general.alignment").u32(4).u32(32);
        bytes.string("tokens").u32(9).u32(8).size(3).string("a").string("").string("ü");
        bytes.string("nested").u32(9).u32(9).size(2).u32(5).size(2).u32(1).u32(-2).u32(7).size(1).u8(1);
        bytes.tensor("m", 0, 0, 3, 2).tensor("q", 2, 32, 32).align();
        for (int i = 0; i < 6; i++) {
            bytes.u32(Float.floatToIntBits(i));
        }
        return bytes.align();
    }

    @Test
    void theFirstVersionWithCountsOfFourBytesIsRead() throws IOException {
        Files.write(path(), first(ByteOrder.LITTLE_ENDIAN).end(18));
        try (Checkpoint c = Checkpoint.open(path())) {
            assertThat(c.metadata()).isEqualTo(Map.of("name", "grüße", "general.alignment", "32"));
            assertThat(plain(c, "tokens")).isEqualTo(List.of("a", "", "ü"));
            List<?> nested = (List<?>) plain(c, "nested");
            assertThat(nested).map(inner -> ((Typed) inner).value()).isEqualTo(List.of(List.of(1, -2), List.of(true)));
            assertThat(c.tensor("m").shape()).isEqualTo(Shape.of(2, 3));
            assertThat(c.tensor("m").toFloatArray()).containsExactly(0, 1, 2, 3, 4, 5);
            assertThat(c.tensor("q").dtype().name()).isEqualTo("gguf:Q4_0");
            assertThat(c.unread()).isEmpty();
            Checkpoint.save(folder.resolve("y.gguf"), c.state());
        }
        try (Checkpoint c = Checkpoint.open(folder.resolve("y.gguf"))) {
            assertThat(plain(c, "tokens")).isEqualTo(List.of("a", "", "ü"));
            assertThat(c.tensor("m").getFloat(1, 2)).isEqualTo(5);
        }
        Files.write(path(), first(ByteOrder.BIG_ENDIAN).end(18));
        try (Checkpoint c = Checkpoint.open(path(), OpenOptions.defaults().only("m"))) {
            assertThat(c.tensor("m").toFloatArray()).containsExactly(0, 1, 2, 3, 4, 5);
        }
        for (int count : new int[]{-1, 1 << 30, 9}) {
            refuses("GGUF-HEADER", new Bytes(1, ByteOrder.LITTLE_ENDIAN, count, 0).end(60));
            refuses("GGUF-HEADER", new Bytes(1, ByteOrder.LITTLE_ENDIAN, 0, 1).size(count).end(0));
        }
        refuses("GGUF-TENSOR", new Bytes(1, ByteOrder.LITTLE_ENDIAN, 1, 0).tensor("a", 0, 0, -1).end(100));
    }

    @Test
    void aTensorOfAnUnknownTypeDoesNotHideTheOthers() throws IOException {
        Bytes bytes = new Bytes(4, 0).tensor("new", 1000, 0, 7, 2).tensor("a", 0, 64, 1).tensor("gone", 4, 96, 32);
        bytes.tensor("empty", 1000, 1L << 40, 0).align().u64(0, 0, 0, 0, 0, 0, 0, 0).u32(Float.floatToIntBits(2.5f));
        Files.write(path(), bytes.end(20));
        long data = Files.size(path()) - 96 - 20;
        try (Checkpoint c = Checkpoint.open(path())) {
            assertThat(c.names()).containsExactly("new", "a", "gone", "empty");
            assertThat(c.tensor("a").toFloatArray()).containsExactly(2.5f);
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> c.tensor("new"))
                    .satisfies(e -> assertThat(e.code()).isEqualTo("GGUF-TYPE"))
                    .satisfies(e -> assertThat(e.offset()).isEqualTo(data))
                    .withMessageContainingAll("1000", "[2, 7]");
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> c.tensor("gone"))
                    .withMessageContaining("number 4");
            assertThat(c.verify().damages()).hasSize(3);
            // Its bytes are all up to the next tensor.
            assertThat(c.unread()).isEmpty();
            assertThat(c.verify().unverifiedBytes()).isEqualTo(64 + 4 + 20);
            assertThatExceptionOfType(FormatException.class)
                    .isThrownBy(() -> Checkpoint.save(folder.resolve("y.gguf"), c.state()))
                    .withMessageContaining("'new' cannot be saved");
            assertThat(folder).isDirectoryNotContaining("glob:**y.gguf");
        }
        try (Checkpoint c = Checkpoint.open(path(), OpenOptions.defaults().only("a"))) {
            assertThat(c.names()).containsExactly("a");
        }
        refuses("GGUF-TENSOR", one(1000, 128, 1).end(128));
        refuses("GGUF-TENSOR", one(1000, 8, 1).end(128));
        refuses("GGUF-TENSOR", new Bytes(2, 0).tensor("a", 0, 0, 9).tensor("b", 1000, 32, 1).end(100));
        refuses("GGUF-TENSOR", new Bytes(2, 0).tensor("a", 0, 0, 9).tensor("b", 1000, 0, 1).end(100));
        refuses("GGUF-TENSOR", one(1000, 0, 1L << 62, 4).end(100));
    }

    /// A vocabulary as llama.cpp has it, of some megabytes.
    private Path vocabulary(int count) throws IOException {
        TypedMap state = new TypedMap("gguf");
        List<Object> tokens = new ArrayList<>();
        List<Object> scores = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            tokens.add("token" + i);
            scores.add((float) i);
        }
        state.attributes().put("tokens", new Typed("gguf:array:string", tokens));
        state.attributes().put("scores", new Typed("gguf:array:float32", scores));
        state.put("t", Tensor.of(1f));
        Checkpoint.save(path(), state);
        return path();
    }

    @Test
    void elementsOfArraysAreMadeWhenTheyAreRead() throws IOException {
        int count = 200_000;
        Path file = vocabulary(count);
        Checkpoint.open(file).close();
        long before = Proc.allocatedByThisThread();
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.tensor("t").getFloat(0)).isEqualTo(1);
            Object state = c.state();
            long allocated = Proc.allocatedByThisThread() - before;
            // An object for each text would be 48 bytes at least.
            assertThat(allocated).isLessThan(count * 16L);
            Map<?, ?> attributes = ((TypedMap) state).attributes();
            List<?> tokens = (List<?>) ((Typed) attributes.get("tokens")).value();
            assertThat(tokens).hasSize(count);
            assertThat(tokens.get(count - 1)).isEqualTo("token" + (count - 1));
            assertThat(((List<?>) plain(c, "scores")).get(count - 1)).isEqualTo((float) (count - 1));
        }
    }

    @Test
    void arraysStayWhenTheFileIsClosed() throws IOException {
        Checkpoint c = Checkpoint.open(vocabulary(100_000));
        List<?> tokens = (List<?>) plain(c, "tokens");
        c.close();
        Files.write(path(), new byte[0]);
        assertThat(tokens.get(0)).isEqualTo("token0");
        assertThat(tokens.get(99_999)).isEqualTo("token99999");
        assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> tokens.get(100_000));
    }

    @Test
    void aCroftFileKeepsAllOfIt() throws IOException {
        Path croft = folder.resolve("x.croft");
        try (Checkpoint c = Checkpoint.open(ALL)) {
            Checkpoint.save(croft, c.state());
        }
        try (Checkpoint c = Checkpoint.open(croft)) {
            Checkpoint.save(path(), c.state());
        }
        assertThat(path()).hasSameBinaryContentAs(ALL);
    }

    @Test
    void aMapOfTensorsIsWrittenWithTextOfTheOptions() throws IOException {
        Tensor numbers = Tensor.arange(DType.FLOAT32, 6).view(2, 3);
        Checkpoint.save(path(), Map.of("t", numbers.t(), "s", Tensor.scalar(2L), "e", Tensor.zeros(DType.INT8, 0, 3)),
                options.metadata(Map.of("general.architecture", "ours")));
        try (Checkpoint c = Checkpoint.open(path())) {
            assertThat(c.tensor("t").contentEquals(numbers.t())).isTrue();
            assertThat(c.tensor("s").getLong()).isEqualTo(2);
            assertThat(c.tensor("e").shape()).isEqualTo(Shape.of(0, 3));
            assertThat(c.metadata()).isEqualTo(Map.of("general.architecture", "ours"));
        }
    }

    @Test
    void theAlignmentIsThatOfTheState() throws IOException {
        TypedMap state = new TypedMap("gguf");
        state.put("a", Tensor.of(1f));
        state.put("b", Tensor.of(2f));
        state.attributes().put("general.alignment", new Typed("gguf:uint32", 128L));
        Checkpoint.save(path(), state);
        assertThat(Files.size(path()) % 128).isZero();
        try (Checkpoint c = Checkpoint.open(path())) {
            assertThat(c.tensor("b").getFloat(0)).isEqualTo(2);
        }
        state.attributes().put("general.alignment", new Typed("gguf:uint32", 24L));
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(path(), state));
    }

    @Test
    void textThatIsNotUtf8IsCarriedAsBytes() throws IOException {
        TypedMap state = new TypedMap("gguf");
        byte[] raw = {(byte) 0xC3, 'x'};
        state.attributes().put("raw", raw);
        state.attributes().put("none", new Typed("gguf:array:float64", List.of()));
        Checkpoint.save(path(), state);
        try (Checkpoint c = Checkpoint.open(path())) {
            assertThat(plain(c, "raw")).isEqualTo(raw);
            assertThat(plain(c, "none")).isEqualTo(List.of());
            Checkpoint.save(folder.resolve("y.gguf"), c.state());
        }
        assertThat(folder.resolve("y.gguf")).hasSameBinaryContentAs(path());
    }

    @Test
    void headersMayBeLongerThanTheBufferThatTheyAreReadThrough() throws IOException {
        TypedMap state = new TypedMap("gguf");
        List<Object> tokens = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            tokens.add("token " + i);
        }
        state.attributes().put("short", "a");
        state.attributes().put("tokenizer.chat_template", "ä".repeat(100_000));
        state.attributes().put("tokens", new Typed("gguf:array:string", tokens));
        for (int i = 0; i < 2_000; i++) {
            state.put("layer." + i, Tensor.scalar((long) i));
        }
        Checkpoint.save(path(), state);
        try (Checkpoint c = Checkpoint.open(path())) {
            assertThat(plain(c, "tokens")).isEqualTo(tokens);
            assertThat(plain(c, "tokenizer.chat_template")).isEqualTo("ä".repeat(100_000));
            assertThat(c.tensor("layer.1999").getLong()).isEqualTo(1999);
        }
    }

    private void refusesState(Object state, String... words) {
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(path(), state))
                .withMessageContainingAll(words);
        assertThat(folder).isEmptyDirectory();
    }

    private static TypedMap with(Object value) {
        TypedMap state = new TypedMap("gguf");
        state.attributes().put("key", value);
        return state;
    }

    @Test
    void whatTheFormatDoesNotHaveIsRefused() {
        refusesState(Map.of("a", Tensor.zeros(DType.UINT8, 1)), "a:", "uint8");
        refusesState(Map.of("a", Tensor.zeros(DType.INT8, 1, 1, 1, 1, 1)), "5 dimensions");
        refusesState(Map.of("x".repeat(64), Tensor.of(1f)), "shorter");
        // As it would be refused when it is read.
        refusesState(Map.of("a", Tensor.zeros(DType.blocks("Q4_0"), 2, 0, 1L << 56, 16)), "a:", "no elements");
        refusesState(Map.of("a", "text"), "a is");
        refusesState(Map.of("w", Map.of("\ud800", Tensor.of(1f))), "w/");
        refusesState(with("\udc00x"), "key", "surrogate");
        refusesState(with(new Typed("gguf:array:string", List.of("\ud800"))), "key", "surrogate");
        assertThatIllegalArgumentException().isThrownBy(
                () -> Checkpoint.save(path(), Map.of(), options.metadata(Map.of("\ud800", "text"))));
        refusesState(with(null), "key");
        refusesState(with(List.of(1)), "key");
        refusesState(with(new Typed("gguf:uint8", 256L)), "key", "256");
        refusesState(with(new Typed("gguf:uint64", -1L)), "key");
        refusesState(with(new Typed("gguf:int8", (byte) 1)), "key");
        refusesState(with(new Typed("gguf:array:int8", List.of(1L))), "key");
        refusesState(with(new Typed("gguf:array:array", List.of(List.of()))), "key");
        refusesState(with(new Typed("other", 1L)), "key", "other");
        assertThatIllegalArgumentException().isThrownBy(
                () -> Checkpoint.save(path(), with("text"), options.metadata(Map.of("key", "another"))));
    }

    // ---- damaged and hostile ----

    /// Writes headers that lie.
    private static final class Bytes {
        private final ByteBuffer buffer = ByteBuffer.allocate(1 << 17);
        private final boolean isFirst;

        Bytes(long tensors, long values) {
            this(3, ByteOrder.LITTLE_ENDIAN, tensors, values);
        }

        Bytes(int version, ByteOrder order, long tensors, long values) {
            this.isFirst = version == 1;
            buffer.order(order).put("GGUF".getBytes(ISO_8859_1)).putInt(version);
            size(tensors).size(values);
        }

        /// A count or a length, which the first version has in 4 bytes.
        Bytes size(long value) {
            return isFirst ? u32((int) value) : u64(value);
        }

        Bytes string(String text) {
            size(text.getBytes(UTF_8).length);
            buffer.put(text.getBytes(UTF_8));
            return this;
        }

        Bytes u8(int value) {
            buffer.put((byte) value);
            return this;
        }

        Bytes u32(int value) {
            buffer.putInt(value);
            return this;
        }

        Bytes u64(long... values) {
            Arrays.stream(values).forEach(buffer::putLong);
            return this;
        }

        Bytes tensor(String name, int type, long offset, long... sizes) {
            string(name).u32(sizes.length);
            Arrays.stream(sizes).forEach(this::size);
            return u32(type).u64(offset);
        }

        Bytes align() {
            buffer.position((buffer.position() + 31) / 32 * 32);
            return this;
        }

        byte[] end(int data) {
            align();
            buffer.position(buffer.position() + data);
            return Arrays.copyOf(buffer.array(), buffer.position());
        }
    }

    private static Bytes one(int type, long offset, long... sizes) {
        return new Bytes(1, 0).tensor("a", type, offset, sizes);
    }

    private void refuses(String code, byte[] bytes) throws IOException {
        Files.write(path(), bytes);
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> Checkpoint.open(path(), OpenOptions.defaults().format("gguf")).close())
                .satisfies(e -> assertThat(e.getMessage()).contains("x.gguf").doesNotContain("\n"))
                .satisfies(e -> assertThat(e.code()).isEqualTo(code));
    }

    @Test
    void headersAreChecked() throws IOException {
        refuses("GGUF-HEADER", "GGU".getBytes(ISO_8859_1));
        refuses("GGUF-HEADER", "GGUX____".getBytes(ISO_8859_1));
        for (int version : new int[]{0, 4, -1, 0x04000000}) {
            byte[] bytes = new Bytes(0, 0).end(0);
            ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putInt(4, version);
            refuses("GGUF-VERSION", bytes);
        }
        for (long count : new long[]{-1, Long.MIN_VALUE, 1L << 40, 9}) {
            refuses("GGUF-HEADER", new Bytes(count, 0).end(100));
            refuses("GGUF-HEADER", new Bytes(0, count).end(20));
        }
    }

    @Test
    void valuesAreChecked() throws IOException {
        refuses("GGUF-HEADER", new Bytes(0, 1).u64(1L << 40).end(100));
        refuses("GGUF-HEADER", new Bytes(0, 1).string("x".repeat(60000)).end(0));
        refuses("GGUF-VALUE", new Bytes(0, 1).string("k").u32(13).end(100));
        refuses("GGUF-VALUE", new Bytes(0, 1).string("k").u32(-1).end(100));
        refuses("GGUF-VALUE", new Bytes(0, 1).string("k").u32(7).u8(2).end(100));
        refuses("GGUF-HEADER", new Bytes(0, 1).string("k").u32(8).u64(-1).end(100));
        refuses("GGUF-HEADER", new Bytes(0, 1).string("k").u32(9).u32(0).u64(1000).end(100));
        refuses("GGUF-HEADER", new Bytes(0, 1).string("k").u32(9).u32(6).u64(1L << 62).end(100));
        refuses("GGUF-HEADER", new Bytes(0, 1).string("k").u32(9).u32(8).u64(2).string("a").u64(200).end(100));
        refuses("GGUF-HEADER", new Bytes(0, 1).string("k").u32(9).u32(8).u64(2).string("a").u64(-1).end(100));
        refuses("GGUF-HEADER", new Bytes(0, 1).string("k").u32(9).u32(8).u64(1).u64(1L << 29).end(100));
        refuses("GGUF-VALUE", new Bytes(0, 1).string("k").u32(9).u32(7).u64(2).u8(1).u8(2).end(100));
        refuses("GGUF-DUPLICATE", new Bytes(0, 2).string("k").u32(0).u8(1).string("k").u32(0).u8(1).end(100));
        Bytes deep = new Bytes(0, 1).string("k").u32(9);
        for (int i = 0; i < 4000; i++) {
            deep.u32(9).u64(1);
        }
        refuses("GGUF-VALUE", deep.end(100));
        for (int alignment : new int[]{0, 3, -1}) {
            refuses("GGUF-VALUE", new Bytes(0, 1).string("general.alignment").u32(4).u32(alignment).end(100));
        }
        refuses("GGUF-VALUE", new Bytes(0, 1).string("general.alignment").u32(5).u32(32).end(100));
        Bytes notUtf8 = new Bytes(0, 1).u64(1).u8(0xFF).u32(0);
        refuses("GGUF-HEADER", notUtf8.end(100));
    }

    @Test
    void tensorsAreChecked() throws IOException {
        refuses("GGUF-TENSOR", one(0, 0, 1, 1, 1, 1, 1).end(100));
        refuses("GGUF-TENSOR", new Bytes(1, 0).string("a").u32(-1).end(100));
        refuses("GGUF-TENSOR", one(0, 8, 1).end(100));
        refuses("GGUF-TENSOR", one(0, -32, 1).end(100));
        refuses("GGUF-TENSOR", one(0, 0, -1).end(100));
        refuses("GGUF-TENSOR", one(0, 0, 1L << 62, 4).end(100));
        refuses("GGUF-TENSOR", one(0, 0, 1L << 62).end(100));
        // Empty, and of blocks whose strides can be counted, but not those of the numbers in them.
        refuses("GGUF-TENSOR", one(2, 0, 512, 1L << 56, 0, 2).end(100));
        refuses("GGUF-TENSOR", one(0, 0, 26).end(100));
        refuses("GGUF-TENSOR", one(0, 128, 1).end(100));
        refuses("GGUF-TENSOR", one(0, Long.MAX_VALUE / 32 * 32, 1).end(100));
        refuses("GGUF-TENSOR", one(2, 0, 33).end(100));
        refuses("GGUF-TENSOR", one(2, 0).end(100));
        refuses("GGUF-TENSOR", new Bytes(2, 0).tensor("a", 0, 0, 9).tensor("b", 0, 32, 1).end(100));
        refuses("GGUF-DUPLICATE", new Bytes(2, 0).tensor("a", 0, 0, 1).tensor("a", 0, 32, 1).end(100));
        refuses("GGUF-HEADER", new Bytes(1, 0).tensor("x".repeat(0x10000), 0, 0, 1).end(100));
        Files.write(path(), new Bytes(1, 0).tensor("x".repeat(0xFFF), 0, 0, 1).end(100));
        try (Checkpoint c = Checkpoint.open(path())) {
            assertThat(c.names()).containsExactly("x".repeat(0xFFF));
        }
        Files.write(path(), one(0, 64, 9).end(100));
        try (Checkpoint c = Checkpoint.open(path())) {
            assertThat(c.tensor("a").toFloatArray()).hasSize(9).containsOnly(0);
        }
    }

    @Test
    void blocksOfTheOtherByteOrderAreRefusedUnlessTheyAreNotWanted() throws IOException {
        ByteBuffer header = ByteBuffer.allocate(160).put(GgufHeader.MAGIC).putInt(3).putLong(2).putLong(0);
        header.putLong(1).put((byte) 'q').putInt(1).putLong(32).putInt(2).putLong(0);
        header.putLong(1).put((byte) 'f').putInt(1).putLong(1).putInt(0).putLong(32).putFloat(128, 2.5f);
        refuses("GGUF-ENDIAN", header.array());
        try (Checkpoint c = Checkpoint.open(path(), OpenOptions.defaults().only("f"))) {
            assertThat(c.tensor("f").toFloatArray()).containsExactly(2.5f);
        }
    }

    // ---- the real library ----

    @TestFactory
    List<DynamicTest> gguf() {
        RealPython python = RealPython.with("gguf", "numpy");
        return List.of(
                python.test("GGUFReader reads tensors and metadata of ours", this::oursIsReadThere),
                python.test("the sizes of all blocks are those of the library", this::blocksAreTheSame),
                python.test("GGUFWriter's files are written again byte by byte, whatever is in them",
                        this::theirsComesBack));
    }

    private void oursIsReadThere(RealPython python) throws IOException {
        TypedMap state = new TypedMap("gguf");
        Tensor numbers = Tensor.arange(DType.FLOAT32, 6).view(2, 3);
        PLAIN.forEach(name -> state.put(name, numbers.to(DType.of(name))));
        state.put("turned", numbers.t());
        try (Checkpoint c = Checkpoint.open(ALL)) {
            state.put("q4", c.tensor("q4").copy());
            state.attributes().putAll(((TypedMap) c.state()).attributes());
        }
        Checkpoint.save(path(), state, options.metadata(Map.of("more", "text")));
        python.run("""
                import gguf, numpy as np
                ours, real = gguf.GGUFReader(sys.argv[1]), gguf.GGUFReader(sys.argv[2])
                tensors = {t.name: t for t in ours.tensors}
                a = np.arange(6).reshape(2, 3)
                for name in 'float32 float16 float64 int8 int16 int32 int64'.split():
                    assert tensors[name].data.dtype == name and np.array_equal(tensors[name].data, a), name
                assert np.array_equal(tensors['turned'].data, a.T)
                q4 = next(t for t in real.tensors if t.name == 'q4')
                assert tensors['q4'].tensor_type == q4.tensor_type and np.array_equal(tensors['q4'].data, q4.data)
                assert tuple(tensors['q4'].shape) == tuple(q4.shape)
                assert ours.fields['more'].contents() == 'text'
                for key, field in real.fields.items():
                    if not key.startswith('GGUF.'):
                        assert ours.fields[key].types == field.types, key
                        assert ours.fields[key].contents() == field.contents(), key
                """, path(), ALL);
    }

    private void blocksAreTheSame(RealPython python) throws IOException {
        String[] lines = python.run("""
                import gguf
                for t, (block, size) in gguf.GGML_QUANT_SIZES.items():
                    print(int(t), t.name, block, size)
                """).strip().split("\n", -1);
        assertThat(lines).hasSize(34);
        for (String line : lines) {
            String[] words = line.strip().split(" ", -1);
            TensorType type = TensorType.of(Integer.parseInt(words[0]));
            assertThat(type).as(line).isNotNull();
            assertThat(type.block()).as(line).isEqualTo(Integer.parseInt(words[2]));
            assertThat(type.dtype().itemsize()).as(line).isEqualTo(Integer.parseInt(words[3]));
            assertThat(type.isPlain() || type.dtype().name().equals("gguf:" + words[1])).as(line).isTrue();
        }
    }

    /// Every type of metadata and of tensors in some file, arrays in arrays, alignments and both byte orders.
    private void theirsComesBack(RealPython python) throws IOException {
        Path theirs = Files.createDirectories(folder.resolve("theirs"));
        python.run(
                """
                        import random, numpy as np
                        from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Q, GGUFEndian
                        from gguf import GGUFValueType as V, GGUFWriter
                        random.seed(4)
                        plain = {Q.F32: 'f4', Q.F16: 'f2', Q.F64: 'f8', Q.I8: 'i1', Q.I16: 'i2',
                                 Q.I32: 'i4', Q.I64: 'i8'}
                        def value(t):
                            if t == V.STRING: return random.choice(['', 'ü', 'a\\0b'])
                            if t == V.BOOL: return random.random() < .5
                            if t in (V.FLOAT32, V.FLOAT64): return random.choice([0., -0., 1.5, float('inf')])
                            bits = int(''.join(filter(str.isdigit, t.name)))
                            least = 0 if t.name[0] == 'U' else -1 << bits - 1
                            return random.choice([least, least + (1 << bits) - 1, 1])
                        scalars = [t for t in V if t != V.ARRAY]
                        for i, alignment in enumerate([None, 1, 8, 16, 64, 4096] * 4):
                            big = i % 4 == 3
                            path = f'{sys.argv[1]}/{i:02}-{"big" if big else "little"}.gguf'
                            w = GGUFWriter(path, 'test', endianess=GGUFEndian.BIG if big else GGUFEndian.LITTLE)
                            if alignment: w.add_custom_alignment(alignment)
                            for t in random.sample(scalars, len(scalars)):
                                w.add_key_value('one.' + t.name, value(t), t)
                                w.add_key_value('some.' + t.name, [value(t) for _ in range(3)], V.ARRAY, sub_type=t)
                            w.add_array('nested', [[['a'], ['b', 'c']], [['d']]])
                            for t, (block, size) in GGML_QUANT_SIZES.items():
                                shape = tuple(random.randint(1, 3) for _ in range(random.randint(0, 3)))
                                if t in plain:
                                    w.add_tensor(t.name, np.random.randint(-9, 9, shape + (5,)).astype(plain[t]))
                                elif not big:
                                    blocks = np.random.randint(0, 256, shape + (2 * size,)).astype('u1')
                                    w.add_tensor(t.name, blocks, raw_dtype=t)
                            w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()
                        """,
                theirs);
        Path ours = Files.createDirectories(folder.resolve("ours"));
        try (Stream<Path> files = Files.list(theirs)) {
            for (Path file : files.toList()) {
                Path again = ours.resolve(file.getFileName());
                try (Checkpoint c = Checkpoint.open(file)) {
                    assertThat(((TypedMap) c.state()).attributes()).hasSizeGreaterThan(24);
                    Checkpoint.save(again, c.state());
                }
                if (file.toString().endsWith("little.gguf")) {
                    assertThat(again).hasSameBinaryContentAs(file);
                }
            }
        }
        python.run("""
                import os
                from gguf import GGUFReader
                names = [name for name in os.listdir(sys.argv[2]) if name.endswith('big.gguf')]
                assert len(names) == 6
                for name in names:
                    ours, theirs = (GGUFReader(os.path.join(path, name)) for path in sys.argv[1:])
                    assert len(ours.tensors) == len(theirs.tensors) == 7
                    for a, b in zip(ours.tensors, theirs.tensors):
                        assert a.name == b.name and a.data.tobytes() == b.data.astype(a.data.dtype).tobytes(), a.name
                    for key, field in theirs.fields.items():
                        if not key.startswith('GGUF.') and key != 'nested':
                            assert ours.fields[key].contents() == field.contents(), key
                """, ours, theirs);
    }
}
