package io.undercroft.interop.torch7;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.UnsavableValueException;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/// States as files of Torch7, and back.
class WritingTest {
    @TempDir
    private Path folder;

    private static SaveOptions as(Encoding encoding) {
        return SaveOptions.defaults().setting("torch7.encoding", encoding == Encoding.ASCII ? "ascii" : "binary")
                .setting("torch7.order", encoding.isLittle() ? "little" : "big")
                .setting("torch7.longs", Integer.toString(encoding.longBytes()));
    }

    private Path export(Object state, SaveOptions options) throws IOException {
        Path path = folder.resolve("model.t7");
        Checkpoint.save(path, state, options);
        return path;
    }

    private interface Check {
        void accept(Map<?, ?> state);
    }

    private void copied(Map<?, ?> state, Check check) throws IOException {
        try (Checkpoint c = Checkpoint.open(export(state, SaveOptions.defaults()))) {
            check.accept((Map<?, ?>) c.state());
        }
    }

    // ---- what comes back ----

    @ParameterizedTest
    @EnumSource(Encoding.class)
    void aModelComesBackFromEveryEncoding(Encoding encoding) throws IOException {
        Tensor weight = Tensor.arange(DType.FLOAT32, -3, 3, 0.5).view(3, 4);
        Map<String, Object> state = new LinkedHashMap<>();
        for (DType dtype : List.of(DType.UINT8, DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.FLOAT16,
                DType.FLOAT32, DType.FLOAT64)) {
            state.put(dtype.name(), weight.to(dtype).copy());
        }
        state.put("weight", weight);
        state.put("transposed", weight.t());
        state.put("column", weight.select(1, 2));
        state.put("tied", Map.of("weight", weight));
        state.put("storage", new TypedStorage(weight.storage(), DType.FLOAT32));
        state.put("empty", Tensor.zeros(DType.INT64, 0));
        state.put("layers", List.of("a", true, 2, 3.5f));
        state.put("raw", new byte[]{(byte) 0xFF, 0});

        try (Checkpoint c = Checkpoint.open(export(state, as(encoding)))) {
            assertThat(c.format()).isEqualTo("torch7");
            Tensor read = c.tensor("weight");
            for (String name : List.of("transposed", "column", "tied/weight")) {
                assertThat(c.tensor(name).storage()).isSameAs(read.storage());
            }
            Map<?, ?> back = (Map<?, ?>) c.state();
            assertThat(((Map<?, ?>) back.get("tied")).get("weight")).isSameAs(read);
            assertThat(((TypedStorage) back.get("storage")).untyped()).isSameAs(read.storage());
            state.forEach((name, value) -> {
                if (value instanceof Tensor tensor) {
                    assertThat(c.tensor(name).contentEquals(tensor)).as(name).isTrue();
                    assertThat(c.tensor(name).stride()).as(name).isEqualTo(tensor.stride());
                }
            });
            assertThat(back.get("layers")).isEqualTo(Map.of(1L, "a", 2L, true, 3L, 2.0, 4L, 3.5));
            assertThat((byte[]) back.get("raw")).containsExactly(0xFF, 0);
            assertThat(c.verify().damages()).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource(Encoding.class)
    void everyHalfAndEveryTenThousandthFloatComesBack(Encoding encoding) throws IOException {
        Tensor halves = Tensor.zeros(DType.FLOAT16, 1 << 16);
        Tensor floats = Tensor.zeros(DType.FLOAT32, 429_497);
        TypedStorage bits = new TypedStorage(halves.storage(), DType.INT16);
        TypedStorage floatBits = new TypedStorage(floats.storage(), DType.INT32);
        for (int i = 0; i < 1 << 16; i++) {
            bits.setLong(i, (short) i);
        }
        for (int i = 0; i < floats.numel(); i++) {
            floatBits.setLong(i, Integer.MIN_VALUE + 10_000L * i);
        }
        try (Checkpoint c = Checkpoint.open(export(Map.of("h", halves, "f", floats), as(encoding)))) {
            for (String name : List.of("h", "f")) {
                Tensor written = name.equals("h") ? halves : floats;
                Tensor read = c.tensor(name);
                // Text does not tell NaNs apart.
                assertThat(LongStream.range(0, written.numel())
                        .filter(i -> Float.compare(read.getFloat(i), written.getFloat(i)) != 0)).isEmpty();
            }
        }
    }

    @Test
    void cyclesAndSharedTablesComeBack() throws IOException {
        Map<String, Object> shared = new LinkedHashMap<>();
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("me", state);
        state.put("a", shared);
        state.put("b", shared);
        TypedMap object = new TypedMap("torch7:nn.Linear");
        object.attributes().put("version", 2L);
        object.put("parent", state);
        object.put("itself", object);
        state.put("object", object);

        copied(state, back -> {
            assertThat(back.get("me") == back).isTrue();
            assertThat(back.get("a") == back.get("b")).isTrue();
            TypedMap read = (TypedMap) back.get("object");
            assertThat(read.type()).isEqualTo("torch7:nn.Linear");
            assertThat(read.attributes()).isEqualTo(Map.of("version", 2L));
            assertThat(read.get("itself") == read).isTrue();
            assertThat(read.get("parent") == back).isTrue();
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"V 0.5", "V 1.0625", "V 99", "V 123456789"})
    void versionsComeBack(String version) throws IOException {
        byte[] file = new FileBuilder().ints(ObjectTag.TORCH, 1).text(version).text("a.B").table(2, 0).bytes();
        Files7.open(Files.write(folder.resolve("version.t7"), file), contents -> {
            double number = Double.parseDouble(version.substring(2));
            assertThat(((TypedMap) contents.state()).attributes().get("version"))
                    .isEqualTo(number == Math.rint(number) ? (Object) (long) number : (Object) number);
            assertThat(Files7.written(contents.state())).isEqualTo(file);
        });
    }

    @Test
    void slicesOfOneStorageAreStoragesOfTheirOwnInTorch7() throws IOException {
        Storage whole = Storage.copyOf((byte) 1, (byte) 2, (byte) 3, (byte) 4);
        copied(Map.of("whole", whole, "part", whole.slice(1, 2)), back -> {
            Storage part = ((TypedStorage) back.get("part")).untyped();
            assertThat(part.toList()).containsExactly(2, 3);
            part.fill((byte) 9);
            TypedStorage read = (TypedStorage) back.get("whole");
            assertThat(read.dtype()).isEqualTo(DType.UINT8);
            assertThat(read.toList()).containsExactly(1L, 2L, 3L, 4L);
        });
    }

    @Test
    void manyTensorsOnOneEmptyStorageStayOnOne() throws IOException {
        Storage empty = Storage.allocate(0);
        Tensor first = Tensor.of(empty, DType.FLOAT32, 0, Shape.of(0), 1);
        Tensor second = Tensor.of(empty, DType.FLOAT32, 0, Shape.of(0), 1);
        copied(Map.of("a", first, "b", second, "c", Tensor.zeros(DType.FLOAT32, 0)),
                back -> assertThat(((Tensor) back.get("a")).storage()).isSameAs(((Tensor) back.get("b")).storage())
                        .isNotSameAs(((Tensor) back.get("c")).storage()));
    }

    @Test
    void dictsOfPythonAreTables() throws IOException {
        TypedMap dict = new TypedMap("collections.OrderedDict");
        dict.put("w", Tensor.of(1f, 2f));
        copied(dict, back -> assertThat(((Tensor) back.get("w")).toFloatArray()).containsExactly(1f, 2f));
    }

    @Test
    void oldFunctionsAreWrittenWithANumber() throws IOException {
        byte[] file = new FileBuilder().ints(ObjectTag.OLD_FUNCTION).text("code").table(1, 1).number(1).number(7)
                .bytes();
        Path path = Files.write(folder.resolve("old.t7"), file);
        Files7.open(path, OpenOptions.defaults(), contents -> {
            Typed function = (Typed) contents.state();
            assertThat(function.attributes()).isEqualTo(Map.of("tag", 6L, "upvalues", Map.of(1L, 7.0)));
            assertThat(Files7.written(function)).isEqualTo(new FileBuilder().ints(ObjectTag.RECURSIVE_OLD_FUNCTION, 1)
                    .text("code").table(2, 1).number(1).number(7).bytes());
        });
    }

    @Test
    void filesWrittenWithoutReferencesAreRead() throws IOException {
        FileBuilder builder = new FileBuilder().table(1, 2).string("a").torch(2, "my.Class").table(3, 1).string("x")
                .number(1).string("b").torch(2, "torch.IntStorage").longs(1).ints(5);
        OpenOptions off = OpenOptions.defaults().setting("torch7.references", "off");
        Files7.open(builder.in(folder), off, contents -> {
            Map<?, ?> state = (Map<?, ?>) contents.state();
            assertThat(((TypedMap) state.get("a")).type()).isEqualTo("torch7:my.Class");
            assertThat(((TypedStorage) state.get("b")).toList()).containsExactly(5L);
        });
    }

    @Test
    void anEmptyTensorKeepsItsStorageOrHasNone() throws IOException {
        FileBuilder builder = new FileBuilder().table(1, 3).string("with").torch(2, "torch.FloatTensor").ints(0)
                .longs(1)
                .torch(3, "torch.FloatStorage").longs(0)
                .string("without").torch(4, "torch.FloatTensor").ints(0).longs(1).ints(ObjectTag.NIL)
                .string("on elements").torch(5, "torch.FloatTensor").ints(0).longs(1)
                .torch(6, "torch.FloatStorage").longs(1).ints(0);
        Path croft = folder.resolve("empty.croft");
        Path pt = folder.resolve("empty.pt");
        try (Checkpoint c = Checkpoint.open(builder.in(folder))) {
            assertThat(c.tensor("with").shape().toArray()).containsExactly(0);
            assertThat(Files7.written(c.tree())).isEqualTo(builder.bytes());
            Checkpoint.save(croft, c.tree());
            Checkpoint.save(pt, c.tree());
        }
        for (Path copy : List.of(croft, pt)) {
            try (Checkpoint c = Checkpoint.open(copy)) {
                assertThat(Files7.written(c.tree())).as(copy.toString()).isEqualTo(builder.bytes());
            }
        }
    }

    @Test
    void storagesOfCudaAreReadAsThoseOfTheCpu() throws IOException {
        FileBuilder builder = new FileBuilder().torch(1, "torch.CudaTensor").ints(1).longs(2, 1, 1)
                .torch(2, "torch.CudaStorage").longs(2).ints(Float.floatToRawIntBits(1.5f), 0);
        Files7.open(builder.in(folder),
                contents -> assertThat(contents.tensor("").orElseThrow().toFloatArray()).containsExactly(1.5f, 0f));
        FileBuilder bytes = new FileBuilder().torch(1, "torch.CudaLongStorage").longs(1, -7);
        Files7.open(bytes.in(folder),
                contents -> assertThat(((TypedStorage) contents.state()).toList()).containsExactly(-7L));
    }

    // ---- what cannot be held ----

    record Case(String path, String what, Object state) {
        @Override
        public String toString() {
            return what;
        }
    }

    static Stream<Case> refused() {
        Tensor floats = Tensor.of(1f, 2f);
        Map<Object, Object> twoKeys = new HashMap<>(Map.of(1, "int", 1.0, "double"));
        return Stream.of(
                new Case("a/b", "elements of bfloat16", Map.of("a", Map.of("b", floats.to(DType.BFLOAT16)))),
                new Case("a/1", "elements of bool", Map.of("a", List.of(Tensor.of(true)))),
                new Case("a/2", "a tuple", Map.of("a", List.of(1, Tuple.of(1)))),
                new Case("s", "a set", Map.of("s", Set.of(1))),
                new Case("c~1d", "a complex number", Map.of("c/d", new Complex(1, 2))),
                new Case("x", "the constant torch.strided", Map.of("x", new Symbol("torch.strided"))),
                new Case("x", "a dtype", Map.of("x", DType.INT8)),
                new Case("the state", "9007199254740993", (1L << 53) + 1),
                new Case("the state", "9223372036854775807", Long.MAX_VALUE),
                new Case("the state", "which is no double", BigInteger.TEN.pow(400)),
                new Case("1", "null as a value", Arrays.asList((Object) null)),
                new Case("k", "surrogate", Map.of("k", "\uD800")),
                new Case("1", "two keys that are one", twoKeys),
                new Case("float", "NaN as a key", Map.of(Double.NaN, 1)),
                new Case("p", "a value of type torch.nn.parameter.Parameter",
                        Map.of("p", new Typed("torch.nn.parameter.Parameter", 1))),
                new Case("p", "a value of type torch7:torch.FloatTensor",
                        Map.of("p", new Typed("torch7:torch.FloatTensor", 1.0))),
                new Case("f", "a torch7:function",
                        Map.of("f", new Typed("torch7:function", new byte[1]))),
                new Case("g", "5048 bytes", Map.of("g", new Typed("torch7:torch.Generator", new byte[1]))),
                new Case("t", "list of pairs", Map.of("t", new Typed("torch7:table", List.of(1)))),
                new Case("t", "view(1)", Map.of("t", Tensor.scalar(1))),
                new Case("t", "view(0)", Map.of("t", Tensor.zeros(DType.INT8, 2, 0))),
                new Case("t", "device meta", Map.of("t", Tensor.meta(DType.INT8, 2))),
                new Case("t", "resolveNeg", Map.of("t", floats.neg())),
                new Case("t", "no whole number",
                        Map.of("t", Tensor.of(Storage.allocate(7), DType.INT32, 0, Shape.of(1), 1))),
                new Case("2", "both float32 and int32", List.of(floats, floats.view(DType.INT32))));
    }

    @ParameterizedTest
    @MethodSource("refused")
    void whatTorch7CannotHoldIsRefusedWithItsPath(Case refused) {
        assertThatExceptionOfType(UnsavableValueException.class)
                .isThrownBy(() -> new Torch7Format().draft(refused.state, SaveOptions.defaults()))
                .withMessageContaining(refused.what)
                .withMessageStartingWith(refused.path + ": a file of Torch7 cannot hold")
                .withMessageContaining("; ").extracting(UnsavableValueException::path)
                .isEqualTo(refused.path.equals("the state") ? "" : refused.path);
    }

    @Test
    void longsThatWouldLoseBitsAreRefused() {
        SaveOptions narrow = as(Encoding.LITTLE_4);
        Torch7Format format = new Torch7Format();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> format.draft(Map.of("t", Tensor.of(1L, 1L << 31)), narrow))
                .withMessageContaining("t: a file of Torch7 cannot hold the element 2147483648");
        Tensor wide = Tensor.of(Storage.allocate(1), DType.UINT8, 0, Shape.of(1L << 31), 0);
        assertThatIllegalArgumentException().isThrownBy(() -> format.draft(wide, narrow))
                .withMessageContaining("32 bits");
        assertThat(format.draft(wide, SaveOptions.defaults()).nbytes()).isPositive();
    }

    /// Tables with very many references to them: lists, maps, and pairs with keys that are no keys of a map.
    static List<Object> tables() {
        TypedMap ordered = new TypedMap("collections.OrderedDict");
        Map<String, Integer> map = new LinkedHashMap<>();
        List<Object> pairs = new ArrayList<>();
        for (int i = 0; i < 5000; i++) {
            map.put("k" + i, i);
            ordered.attributes().put("a" + i, i);
            pairs.add(List.of(new ArrayList<>(List.of(i)), i));
        }
        return List.of(new ArrayList<>(Collections.nCopies(5000, 1)), map, ordered, new Typed(NodeNames.TABLE, pairs));
    }

    @ParameterizedTest
    @MethodSource("tables")
    void aTableAtManyPlacesIsListedOnce(Object table) {
        Torch7Format format = new Torch7Format();
        format.draft(table, SaveOptions.defaults());
        long before = Proc.allocatedByThisThread();
        assertThat(format.draft(Collections.nCopies(2000, table), SaveOptions.defaults()).nbytes()).isPositive();
        assertThat(Proc.allocatedByThisThread() - before).isLessThan(32 << 20);
    }

    @Test
    void bytesAtTooManyPlacesAreRefused() {
        List<byte[]> repeated = Collections.nCopies(1000, new byte[1 << 20]);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Torch7Format().draft(repeated, SaveOptions.defaults()))
                .withMessageContaining("cannot save the value at '65': values such as this one of 1048576 bytes")
                .withMessageContaining("64 MiB");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(folder.resolve("many.croft"), repeated))
                .withMessageContaining("values such as this one of 1048576 bytes");
        assertThat(folder.resolve("many.croft")).doesNotExist();
    }

    @Test
    void settingsHaveFewValues() {
        Torch7Format format = new Torch7Format();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> format.draft(1, SaveOptions.defaults().setting("torch7.longs", "16")))
                .withMessage("the setting torch7.longs is 8 or 4, not '16'");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> format.draft(1, SaveOptions.defaults().setting("torch7.references", "off")))
                .withMessageContaining("torch7.references");
        assertThatIllegalArgumentException().isThrownBy(() -> Files7.open(
                Files7.FIXTURES.resolve("nil.bin.t7"), OpenOptions.defaults().setting("torch7.order", "middle"),
                contents -> {}));
    }

    @Test
    void aDraftOfBinaryDataKnowsItsSize() throws IOException {
        Object state = Map.of("t", Tensor.arange(DType.INT64, 100_000), "s", "x".repeat(3 << 20));
        assertThat(new Torch7Format().draft(state, as(Encoding.BIG_4)).nbytes())
                .isEqualTo(Files7.written(state, as(Encoding.BIG_4)).length);
    }

    @Test
    void numbersArePrintedAsByC() {
        assertThat(Stream.of(0.0, -0.0, 1.0, 1e9, 123456789.0, 1e17, 1.5e16, 0.0001, 0.00001, 1e-7, -2.5, 1e100,
                Double.MIN_VALUE,
                1e22, 123456789012345680.0, 0.1).map(value -> CNumbers.print(value, 17))).containsExactly("0", "-0",
                        "1", "1000000000", "123456789", "1e+17", "15000000000000000", "0.0001",
                        "1.0000000000000001e-05", "9.9999999999999995e-08", "-2.5", "1e+100",
                        "4.9406564584124654e-324", "1e+22", "1.2345678901234568e+17", "0.10000000000000001");
        assertThat(Stream.of(1e9, 1234567890.0, 0.1, 1e-5, 16777216.0).map(value -> CNumbers.print(value, 9)))
                .containsExactly("1e+09", "1.23456789e+09", "0.1", "1e-05", "16777216");
    }

    @Test
    void numbersAreReadAsByC() {
        assertThat(Stream.of("0x1.8p1", "-0X.8", "0x10", "0x1.P-1", "+inf", "-Infinity", "1E2", "+.5", "7.")
                .map(CNumbers::parseDouble)).containsExactly(3.0, -0.5, 16.0, 0.5, Double.POSITIVE_INFINITY,
                        Double.NEGATIVE_INFINITY, 100.0, 0.5, 7.0);
        assertThat(CNumbers.parseFloat("0x1.fffffffp0")).isEqualTo(2f);
        assertThat(CNumbers.parseDouble("-nan")).isNaN();
        for (String text : List.of("0x", "0x.", "0x1p", "0x1p0d", "0x1f0p1f", "1d", "1f", "nan1", "in", "--1", "")) {
            assertThatThrownBy(() -> CNumbers.parseDouble(text)).as(text).isInstanceOf(NumberFormatException.class);
        }
    }

    @Test
    void oldTextFilesWithPaddedNumbersAreRead() throws IOException {
        String text = "4\n1\n3\nV 1\n18\ntorch.FloatStorage\n3\n000000000001 -00000001.25 +1E2\n";
        Path path = Files.write(folder.resolve("padded.t7"), text.getBytes(StandardCharsets.US_ASCII));
        Files7.open(path, contents -> assertThat(((TypedStorage) contents.state()).toList())
                .containsExactly(1.0, -1.25, 100.0));
    }
}
