package io.undercroft.interop.torch;

import static java.nio.ByteOrder.LITTLE_ENDIAN;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.interop.RealPython;
import io.undercroft.interop.numpy.TextArray;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Complex;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import io.undercroft.testsupport.Sameness;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// Arrays, scalars and types of NumPy in pickles of all protocols, written by NumPy 2, and as Python 2 wrote them: each
/// is what NumPy itself says of it.
class NumpyPicklesTest {
    private static final Path FIXTURES = Path.of("..", "test-support", "fixtures", "numpy", "pickles");

    @TempDir
    private Path folder;

    private static List<Path> files(Path in) throws IOException {
        try (Stream<Path> all = Files.list(in)) {
            return all.filter(path -> path.toString().matches(".*\\.(pkl|pt|joblib)")).sorted().toList();
        }
    }

    @TestFactory
    Stream<DynamicTest> filesOfNumpyHaveWhatItWrote() throws IOException {
        JsonNode expected = Fixtures.json(FIXTURES.resolve("state.json"));
        List<Path> files = files(FIXTURES);
        assertThat(files).hasSize(16);
        return files.stream().map(file -> DynamicTest.dynamicTest(file.getFileName().toString(),
                () -> check(file, expected)));
    }

    @TestFactory
    Stream<DynamicTest> whatNumpyWritesIsRead() throws IOException {
        RealPython python = RealPython.with("numpy", "torch", "joblib");
        try (InputStream source = Objects
                .requireNonNull(NumpyPicklesTest.class.getResourceAsStream("numpy_pickles.py"))) {
            python.run(new String(source.readAllBytes(), UTF_8), "write", folder);
        }
        JsonNode expected = Fixtures.json(folder.resolve("all.json"));
        return Stream.concat(
                files(folder).stream()
                        .map(file -> python.test(file.getFileName().toString(), _ -> check(file, expected))),
                Stream.of("all.npy", "all.stored.npz", "all.deflated.npz")
                        .map(name -> python.test(name, _ -> checkObjects(folder.resolve(name), expected))));
    }

    @TestFactory
    Stream<DynamicTest> arraysOfObjectsInFilesOfNumpyAreLists() throws IOException {
        JsonNode expected = Fixtures.json(FIXTURES.resolve("state.json"));
        return Stream.of("state.npy", "state.stored.npz", "state.deflated.npz").map(
                name -> DynamicTest.dynamicTest(name, () -> checkObjects(FIXTURES.resolve(name), expected)));
    }

    private static void checkObjects(Path file, JsonNode expected) throws IOException {
        JsonNode entries = expected.get("entries");
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.unread()).isEmpty();
            assertThat(c.foreignClasses()).isEmpty();
            if (c.format().equals("npy")) {
                compare("", entries.get("objects"), c.state());
                assertThat(c.names()).containsExactly("0/weight", "3");
                return;
            }
            Map<?, ?> arrays = (Map<?, ?>) c.state();
            for (String name : List.of("objects", "object", "fortran")) {
                compare(name, entries.get(name), arrays.get(name));
            }
            assertThat(c.tensor("plain").toDoubleArray()).containsExactly(0, 1, 2);
            assertThat(c.tensor("objects/0/weight").toFloatArray()).containsExactly(1, 1, 1);
            assertThat(c.verify().damages()).isEmpty();
        }
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().only("object/0/bias").inMemory())) {
            assertThat(c.names()).containsExactly("object/0/bias");
            assertThat(c.tensor("object/0/bias").toDoubleArray()).containsExactly(0, 0);
        }
    }

    private void check(Path file, JsonNode expected) throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            compare("", expected, c.state());
            Map<?, ?> state = (Map<?, ?>) c.state();
            List<?> shared = (List<?>) state.get("shared");
            if (file.toString().endsWith(".joblib")) {
                // It writes each reference to an array for itself.
                return;
            }
            assertThat(shared.get(0)).isSameAs(shared.get(1));
            assertThat(((Tensor) shared.get(2)).storage()).isNotEqualTo(((Tensor) shared.get(0)).storage());
            assertThat(((List<?>) ((Typed) state.get("objects")).value()).get(3)).isSameAs(shared.get(0));
            assertThat(c.names()).contains("objects/0/weight", "shared/0", "masked/array", "generator/key");
            assertThat(c.foreignClasses()).extracting(each -> each.name().replaceAll(".*\\.", ""))
                    .containsExactlyInAnyOrder("MaskedArray", "matrix", "recarray", "record");
            Path croft = folder.resolve(file.getFileName() + ".croft");
            Checkpoint.save(croft, c.state());
            try (Checkpoint again = Checkpoint.open(croft)) {
                // Constants have no identity.
                Sameness.check(c.state(), again.state(), Symbol.class::isInstance);
            }
        }
        OpenOptions some = OpenOptions.defaults().only("shared/*");
        try (Checkpoint c = Checkpoint.open(file, some)) {
            assertThat(c.names()).containsExactly("shared/0", "shared/1", "shared/2");
            assertThat(c.tensor("shared/2").toDoubleArray()).containsExactly(1, 2);
        }
    }

    @Test
    void theModuleInCIsAnotherNameOfTheSame() throws IOException {
        String pickle = Files.readString(FIXTURES.resolve("state.0.pkl"), ISO_8859_1);
        Path other = folder.resolve("other.pkl");
        String renamed = pickle.replaceAll("cnumpy\\._?core\\.multiarray\n", "cnumpy.core._multiarray_umath\n");
        assertThat(renamed).isNotEqualTo(pickle);
        Files.writeString(other, renamed, ISO_8859_1);
        check(other, Fixtures.json(FIXTURES.resolve("state.json")));
    }

    private static void compare(String path, JsonNode expected, Object value) {
        String kind = expected.fieldNames().next();
        JsonNode first = expected.get(kind);
        switch (kind) {
            case "entries" -> {
                Map<?, ?> map = (Map<?, ?>) value;
                assertThat(map.keySet().stream().map(Object::toString)).as(path)
                        .containsExactlyElementsOf(first.properties().stream().map(Map.Entry::getKey).toList());
                first.properties().forEach(entry -> compare(path + "/" + entry.getKey(), entry.getValue(),
                        map.get(entry.getKey())));
            }
            case "dtype" -> {
                Tensor tensor = (Tensor) value;
                assertThat(tensor.dtype().name()).as(path).isEqualTo(first.asText());
                assertThat(tensor.shape()).as(path).isEqualTo(shape(expected));
                assertThat(Fixtures.sha256(tensor)).as(path).isEqualTo(expected.get("sha256").asText());
            }
            case "objects" -> {
                Typed node = (Typed) value;
                assertThat(node.type()).as(path).isEqualTo("numpy.object_");
                assertThat(node.attributes().get("shape")).as(path).isEqualTo(shape(expected));
                compareAll(path, first, (List<?>) node.value());
            }
            case "list" -> compareAll(path, first, (List<?>) value);
            case "fields" -> {
                TypedMap node = (TypedMap) value;
                assertThat(node.type()).as(path).isEqualTo("numpy.record");
                assertThat(node.attributes().get("shape")).as(path).isEqualTo(shape(expected));
                assertThat(node.keySet()).as(path).hasSameSizeAs(first);
                first.properties().forEach(entry -> compare(path + "/" + entry.getKey(), entry.getValue(),
                        node.get(entry.getKey())));
            }
            case "texts" -> {
                Optional<TextArray> texts = TextArray.of(value);
                assertThat(((Typed) value).type()).as(path).isEqualTo(expected.get("type").asText());
                assertThat(texts.orElseThrow().shape()).as(path).isEqualTo(shape(expected));
                assertThat(texts.orElseThrow().toList()).as(path)
                        .isEqualTo(first.valueStream().map(JsonNode::asText).toList());
            }
            case "type" -> {
                Typed node = (Typed) value;
                assertThat(node.type()).as(path).isEqualTo(first.asText());
                assertThat(node.attributes().get("unit")).as(path).isEqualTo(expected.get("unit").asText());
                compare(path, expected.get("times"), node.value());
            }
            case "masked" -> {
                TypedMap node = (TypedMap) value;
                compare(path, first, node.attributes().get("array"));
                compare(path, expected.get("mask"), node.attributes().get("mask"));
            }
            // joblib writes some subclasses as plain arrays.
            case "subclass" -> compare(path, first,
                    value instanceof TypedMap object && object.attributes().containsKey("array")
                            ? object.attributes().get("array")
                            : value);
            case "dtype_of" -> {
                assertThat(((Typed) value).type()).as(path).isEqualTo("numpy.dtype");
                assertThat(((Typed) value).value()).as(path).isEqualTo(first.asText());
            }
            case "text" -> assertThat(value).as(path).isEqualTo(first.asText());
            case "truth" -> assertThat(value).as(path).isEqualTo(first.asBoolean());
            case "integer" -> assertThat(String.valueOf(value)).as(path).isEqualTo(first.asText());
            case "real" -> assertThat(value).as(path).isEqualTo(
                    first.asText().equals("nan") ? (Double) Double.NaN : Double.valueOf(first.asText()));
            case "complex" -> assertThat(value).as(path)
                    .isEqualTo(new Complex(first.get(0).asDouble(), first.get(1).asDouble()));
            default -> throw new AssertionError(kind);
        }
    }

    private static void compareAll(String path, JsonNode expected, List<?> values) {
        assertThat(values).as(path).hasSameSizeAs(expected);
        for (int i = 0; i < values.size(); i++) {
            compare(path + "/" + i, expected.get(i), values.get(i));
        }
    }

    private static Shape shape(JsonNode expected) {
        return Shape.of(expected.get("shape").valueStream().mapToLong(JsonNode::asLong).toArray());
    }

    /// A pickle of many arrays whose elements are one object: bytes, text of Python 2, or what a call makes.
    private static byte[] arraysOfOneObject(String source, String type, String order) {
        PickleBuilder pickle = new PickleBuilder().global("numpy", "dtype").ops("(").text(type).ops("K").bytes(0)
                .ops("K").bytes(1).ops("tR(").integer(3).text(order).ops("NNN").integer(-1).integer(-1).integer(0)
                .ops("tb").put(1);
        byte[] elements = new byte[80_000];
        elements[7] = 64;
        switch (source) {
            case "bytes" -> pickle.data(elements);
            case "text" -> pickle.bytes('T').raw(ByteBuffer.allocate(4).order(LITTLE_ENDIAN).putInt(80_000).array())
                    .raw(elements);
            default -> pickle.global("_codecs", "encode").text(new String(elements, ISO_8859_1)).text("latin1")
                    .bytes(0x86).ops("R");
        }
        pickle.put(2).ops("00](");
        for (int i = 0; i < 1000; i++) {
            if (i % 2 == 0) {
                pickle.global("numpy._core.numeric", "_frombuffer").ops("(").get(2).get(1).integer(10_000)
                        .bytes(0x85).text("C").ops("tR");
            } else {
                pickle.global("numpy._core.multiarray", "_reconstruct").global("numpy", "ndarray").ops("K").bytes(0)
                        .bytes(0x85).data((byte) 'b').bytes(0x87).ops("R(").integer(1).integer(100).integer(100)
                        .bytes(0x86).get(1).bytes(0x89).get(2).ops("tb");
            }
        }
        return pickle.ops("e").stop();
    }

    @ParameterizedTest
    @CsvSource({"bytes, f8, <", "bytes, f8, >", "text, f8, <", "text, i8, >", "call, f8, <", "call, u8, >"})
    void arraysOverOneObjectAreOnOneStorage(String source, String type, String order) throws IOException {
        byte[] pickle = arraysOfOneObject(source, type, order);
        Path plain = Files.write(folder.resolve("arrays.pkl"), pickle);
        Path zip = folder.resolve("arrays.pt");
        try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(zip))) {
            out.putNextEntry(new ZipEntry("archive/data.pkl"));
            out.write(pickle);
            out.putNextEntry(new ZipEntry("archive/version"));
            out.write('3');
        }
        for (Path file : List.of(plain, zip)) {
            Path copy = folder.resolve("copy.pt");
            long before = Proc.allocatedByThisThread();
            try (Checkpoint c = Checkpoint.open(file)) {
                assertThat(c.names()).hasSize(1000);
                assertThat(StateIndex.of(c.state()).storages()).hasSize(1);
                assertThat(c.tensor("998").storage()).isSameAs(c.tensor("999").storage());
                assertThat(c.tensor("999").shape()).isEqualTo(Shape.of(100, 100));
                Checkpoint.save(copy, c.state());
            }
            assertThat(Proc.allocatedByThisThread() - before).isLessThan(48 << 20);
            assertThat(Files.size(copy)).isLessThan(400_000);
            try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().only("7"::equals))) {
                byte[] first = c.tensor("7").storage().segment().asSlice(0, 8).toArray(ValueLayout.JAVA_BYTE);
                assertThat(first).containsExactly(order.equals("<")
                        ? new byte[]{0, 0, 0, 0, 0, 0, 0, 64}
                        : new byte[]{64, 0, 0, 0, 0, 0, 0, 0});
            }
        }
    }

    @Test
    void arraysOfSeveralTypesOverOneObjectAreRightWhereverItLies() throws IOException {
        for (int shift = 0; shift < 4; shift++) {
            PickleBuilder pickle = new PickleBuilder().ops("(").text("x".repeat(shift)).data(new byte[]{1, 0, 0, 0, 0,
                    0, 0, 64}).put(2);
            for (String type : List.of("f8", "f4", "i2", "u1", "f8")) {
                pickle.global("numpy._core.numeric", "_frombuffer").ops("(").get(2).global("numpy", "dtype").ops("(")
                        .text(type).ops("tR").integer(8 / (type.charAt(1) - '0')).bytes(0x85).text("C").ops("tR");
            }
            Path file = Files.write(folder.resolve(shift + ".pkl"), pickle.ops("t").stop());
            try (Checkpoint c = Checkpoint.open(file)) {
                assertThat(c.tensor("2").getDouble(0)).isEqualTo(Double.longBitsToDouble((64L << 56) + 1));
                assertThat(c.tensor("3").getFloat(1)).isEqualTo(2f);
                assertThat(c.tensor("4").getLong(0)).isEqualTo(1);
                assertThat(c.tensor("5").getLong(7)).isEqualTo(64);
                assertThat(c.tensor("6").storage()).isSameAs(c.tensor("2").storage());
                assertThat(StateIndex.of(c.state()).storages().size()).isLessThanOrEqualTo(2);
            }
        }
    }
}
