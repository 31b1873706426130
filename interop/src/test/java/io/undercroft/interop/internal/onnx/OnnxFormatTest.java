package io.undercroft.interop.internal.onnx;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.interop.RealPython;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.AbstractStringAssert;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Models of ONNX, as its own library wrote them, as other writers may write them, and damaged.
class OnnxFormatTest {
    private static final Path FIXTURES = Path.of("..", "test-support", "fixtures", "onnx");
    private static final int FLOAT = 1;
    private static final int INT64 = 7;

    @TempDir
    private Path folder;

    /// A message of protobuf that is being written.
    private static final class Message {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        Message number(int field, long value) {
            return varint(field << 3).varint(value);
        }

        Message bytes(int field, byte[] value) {
            varint((field << 3) | 2).varint(value.length).bytes.writeBytes(value);
            return this;
        }

        Message text(int field, String value) {
            return bytes(field, value.getBytes(UTF_8));
        }

        Message message(int field, Message value) {
            return bytes(field, value.toByteArray());
        }

        private Message varint(long value) {
            long left = value;
            for (; (left & ~0x7FL) != 0; left >>>= 7) {
                bytes.write((int) ((left & 0x7F) | 0x80));
            }
            bytes.write((int) left);
            return this;
        }

        byte[] toByteArray() {
            return bytes.toByteArray();
        }
    }

    private static byte[] floats(float... values) {
        ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asFloatBuffer().put(values);
        return bytes.array();
    }

    private static Message tensor(String name, int type, long... sizes) {
        Message tensor = new Message();
        Arrays.stream(sizes).forEach(size -> tensor.number(1, size));
        return tensor.number(2, type).text(8, name);
    }

    private static Message external(String name, String location, long offset, long floats) {
        return tensor(name, FLOAT, floats).message(13, pair("location", location))
                .message(13, pair("offset", Long.toString(offset)))
                .message(13, pair("length", Long.toString(4 * floats))).number(14, 1);
    }

    private static Message pair(String key, String value) {
        return new Message().text(1, key).text(2, value);
    }

    private static Message graph(Message... tensors) {
        Message graph = new Message().text(2, "g");
        Arrays.stream(tensors).forEach(tensor -> graph.message(5, tensor));
        return graph;
    }

    private Path write(Message graph) throws IOException {
        return Files.write(folder.resolve("x.onnx"),
                new Message().number(1, 10).text(2, "test").message(7, graph).toByteArray());
    }

    private AbstractStringAssert<?> refusal(Message graph) throws IOException {
        Path file = write(graph);
        return assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(file).close())
                .extracting(Throwable::getMessage).asString().doesNotContain("\n");
    }

    private AbstractStringAssert<?> faultOf(String name, Message... tensors) throws IOException {
        try (Checkpoint c = Checkpoint.open(write(graph(tensors)))) {
            return assertThatExceptionOfType(FormatException.class).isThrownBy(() -> c.tensor(name))
                    .extracting(Throwable::getMessage).asString().contains("[ONNX-TENSOR]");
        }
    }

    private static byte[] bytesOf(Tensor tensor) {
        return tensor.storage().segment().toArray(ValueLayout.JAVA_BYTE);
    }

    @Test
    void everyTypeOfTheRealLibraryIsReadFromRawDataAndFromItsNumbers() throws IOException {
        try (Checkpoint c = Checkpoint.open(FIXTURES.resolve("all-types.onnx"))) {
            assertThat(c.format()).isEqualTo("onnx");
            assertThat(c.names()).hasSize(25 + 27);
            for (String name : c.names().stream().filter(name -> !name.endsWith("_raw")).toList()) {
                Tensor numbers = c.tensor(name);
                Tensor raw = c.tensor(name + "_raw");
                assertThat(numbers.shape()).isEqualTo(Shape.of(2, 3));
                assertThat(raw.dtype()).isEqualTo(numbers.dtype());
                assertThat(bytesOf(raw)).as(name).isEqualTo(bytesOf(numbers));
                if (numbers.dtype().kind() == DType.Kind.FLOATING && !numbers.dtype().equals(DType.FLOAT8_E8M0FNU)) {
                    assertThat(numbers.toDoubleArray()).as(name).containsExactly(0, 1, 2, 3, 4, 5);
                }
            }
            assertThat(c.tensor("uint16").toLongArray()).containsExactly(0, 1, 2, 3, 4, 5);
            assertThat(c.tensor("int64").toLongArray()).containsExactly(0, 1, 2, 3, 4, 5);
            assertThat(c.tensor("bool").toLongArray()).containsExactly(0, 1, 1, 1, 1, 1);
            assertThat(bytesOf(c.tensor("int4"))).containsExactly(0x10, 0x32, 0x54);
            assertThat(c.tensor("float6e2m3_raw").dtype()).isEqualTo(DType.opaque("onnx:FLOAT6E2M3", 6));
            assertThat(c.verify().damages()).isEmpty();
        }
    }

    @Test
    void tensorsOfNestedGraphsHaveTheirPathsAsNames() throws IOException {
        try (Checkpoint c = Checkpoint.open(FIXTURES.resolve("nested.onnx"))) {
            assertThat(c.names()).containsExactly("scalar", "empty", "c", "f~1value", "twice~1two",
                    "y~1else_branch~1w", "y~1then_branch~1w");
            assertThat(c.tensor("y/then_branch/w").toFloatArray()).containsExactly(1, 1);
            assertThat(c.tensor("y/else_branch/w").toFloatArray()).containsExactly(2, 2);
            assertThat(c.tensor("c").toLongArray()).containsExactly(7);
            assertThat(c.tensor("scalar").shape()).isEqualTo(Shape.of());
            assertThat(c.metadata()).containsEntry("author", "somebody").containsEntry("onnx.opset.custom", "2")
                    .containsEntry("onnx.producer_name", "undercroft")
                    .containsEntry("onnx.input.x", "float32 [batch, 3]").containsEntry("onnx.input.flag", "bool []")
                    .containsEntry("onnx.output.y", "float32 [2]");
            assertThat(c.unread()).extracting(part -> part.what()).containsExactly(
                    "the graph, which is not run, of 3 nodes",
                    "1 text tensor that the state does not refer to: 'texts'",
                    "1 sparse tensor that the state does not refer to: 'sparse'");
        }
    }

    @Test
    void tensorsOfAttributesHaveTheNameOfTheFirstOutputOrTheNumberOfTheNode() throws IOException {
        Message attribute = new Message().text(1, "value")
                .message(5, tensor("", FLOAT, 1).bytes(9, floats(1)));
        Message graph = graph().message(1, new Message().message(5, attribute))
                .message(1, new Message().text(2, "first").text(2, "second").message(5, attribute))
                .message(1, new Message().message(5, attribute));
        try (Checkpoint c = Checkpoint.open(write(graph))) {
            assertThat(((Map<?, ?>) c.state()).keySet()).map(String::valueOf)
                    .containsExactly("node 0/value", "first/value", "node 2/value");
        }
    }

    @Test
    void externalDataAreMappedFromTheFileNextToTheModel() throws IOException {
        try (Checkpoint c = Checkpoint.open(FIXTURES.resolve("external.onnx"))) {
            assertThat(c.names()).containsExactly("a", "b", "small");
            assertThat(c.tensor("a").toFloatArray()).containsExactly(0, 1, 2, 3, 4, 5);
            assertThat(c.tensor("b").toLongArray()).containsExactly(0, 1, 2, 3, 4);
            assertThat(c.tensor("b").storage().filename()).hasValueSatisfying(
                    file -> assertThat(file).endsWith("external.onnx.data"));
            assertThat(c.extents(c.tensor("b").storage())).extracting(Extent::file).containsExactly(1);
            assertThat(c.tensor("small").toFloatArray()).containsExactly(0, 1, 2, 3);
            assertThat(c.files()).hasSize(2);
            assertThat(c.verify().unverifiedBytes()).isEqualTo(72);
        }
        try (Checkpoint c = Checkpoint.open(FIXTURES.resolve("external.onnx"),
                OpenOptions.defaults().only("b").inMemory())) {
            assertThat(c.names()).containsExactly("b");
            assertThat(c.tensor("b").toLongArray()).containsExactly(0, 1, 2, 3, 4);
        }
    }

    @Test
    void numbersInPiecesAndOneByOneAreRead() throws IOException {
        Message whole = tensor("whole", INT64, 4).number(7, -1).bytes(7, new byte[]{1, 2}).number(7, 300);
        Message real = tensor("real", FLOAT, 3).bytes(4, floats(1, 2)).bytes(4, floats(3));
        Message packed = new Message().bytes(1, new byte[]{2, 1}).number(2, FLOAT).text(8, "packed").bytes(9,
                floats(5, 6));
        try (Checkpoint c = Checkpoint.open(write(graph(whole, real, packed)))) {
            assertThat(c.tensor("whole").toLongArray()).containsExactly(-1, 1, 2, 300);
            assertThat(c.tensor("real").toFloatArray()).containsExactly(1, 2, 3);
            assertThat(c.tensor("packed").shape()).isEqualTo(Shape.of(2, 1));
        }
    }

    @Test
    void pairsOfFourBitFloatsAreThoseOfPyTorch() throws IOException {
        try (Checkpoint c = Checkpoint.open(write(graph(tensor("x", 23, 3, 2).bytes(9, new byte[]{1, 2, 3}))))) {
            assertThat(c.tensor("x").dtype()).isEqualTo(DType.FLOAT4_E2M1FN_X2);
            assertThat(c.tensor("x").shape()).isEqualTo(Shape.of(3, 1));
        }
    }

    @Test
    void oneBadTensorDoesNotKeepTheOthersFromBeingRead() throws IOException {
        Message good = tensor("good", FLOAT, 1).bytes(9, floats(1));
        faultOf("x", good, tensor("x", FLOAT, 2).bytes(9, floats(1))).contains("its data are not there as the");
        faultOf("x", good, tensor("x", FLOAT, 2)).contains("its data are not there as the");
        faultOf("x", good, tensor("x", INT64, 2).bytes(7, new byte[1])).contains("its data are not there as the");
        faultOf("x", good, tensor("x", 99, 2).bytes(9, floats(1))).contains("type has the number 99");
        faultOf("x", good, tensor("x", FLOAT, new long[65])).contains("65 dimensions");
        faultOf("x", good, tensor("x", FLOAT, -1).bytes(9, floats(1))).contains("cannot be");
        faultOf("x", good, tensor("x", FLOAT, 1L << 40, 1L << 40)).contains("cannot be");
        faultOf("x", good, tensor("x", FLOAT, 1L << 40)).contains("its data are not there as the");
        faultOf("x", good, tensor("x", FLOAT, 1).bytes(3, new byte[0])).contains("its data are not there as the");
        faultOf("x", good, tensor("x", 27, 1).bytes(5, new byte[1])).contains("its data are not there as the");
        try (Checkpoint c = Checkpoint.open(folder.resolve("x.onnx"))) {
            assertThat(c.tensor("good").toFloatArray()).containsExactly(1);
        }
    }

    @Test
    void numbersThatAreTooManyOrTooFewAreDamage() throws IOException {
        for (byte[] numbers : List.of(new byte[]{1, 2, 3}, new byte[]{(byte) 0x80, 1}, new byte[]{1, (byte) 0x80})) {
            try (Checkpoint c = Checkpoint.open(write(graph(tensor("x", INT64, 2).bytes(7, numbers))))) {
                assertThat(c.verify().damages()).singleElement().satisfies(damage -> {
                    assertThat(damage.where()).isEqualTo("tensor 'x'");
                    assertThat(damage.code()).isEqualTo("ONNX");
                });
                assertThatExceptionOfType(FormatException.class).isThrownBy(() -> c.tensor("x").toLongArray());
            }
        }
    }

    @Test
    void tensorsOfTheSameBytesShareAStorageAndOthersDoNotOverlap() throws IOException {
        Files.write(folder.resolve("data"), floats(1, 2, 3, 4));
        try (Checkpoint c = Checkpoint.open(
                write(graph(external("a", "data", 4, 2), external("b", "./data", 4, 2))))) {
            assertThat(c.tensor("a").storage()).isSameAs(c.tensor("b").storage());
            assertThat(c.tensor("b").toFloatArray()).containsExactly(2, 3);
        }
        refusal(graph(external("a", "data", 4, 2), external("b", "data", 8, 2)))
                .contains("the tensors 'a' and 'b' overlap").contains("[ONNX-EXTERNAL]").contains("data");
    }

    @Test
    void externalDataPastTheEndOfTheirFileAreRefused() throws IOException {
        Files.write(folder.resolve("data"), floats(1, 2));
        refusal(graph(external("a", "data", 4, 2))).contains("'a' of 8 bytes at byte 4 reaches past the end");
        refusal(graph(external("a", "data", Long.MAX_VALUE, 2))).contains("reaches past the end");
        faultOf("a", external("a", "data", -4, 2)).contains("its data are not there as the");
        faultOf("a", external("a", "data", 0, 2).message(13, pair("length", "9")))
                .contains("its data are not there as the");
        faultOf("a", external("a", "data", 0, 2).message(13, pair("offset", "x")))
                .contains("its data are not there as the");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "..", "../data", "/data", "a/../../data", "a//data", "a\\data", "C:data", "."})
    void externalDataOutsideTheDirectoryOfTheModelAreRefused(String location) throws IOException {
        Files.write(folder.resolve("data"), floats(1, 2));
        refusal(graph(external("a", location, 0, 2))).contains("[ONNX-EXTERNAL]")
                .contains("no name of a file in the directory of the model");
    }

    @Test
    void externalDataThatAreMissingOrALinkElsewhereAreRefused() throws IOException {
        refusal(graph(external("a", "data", 0, 2))).contains("'data' is missing").contains("[SHARD-INDEX]");
        Path model = Files.createDirectory(folder.resolve("model"));
        Files.write(folder.resolve("data"), floats(1, 2));
        Files.createSymbolicLink(model.resolve("data"), folder.resolve("data"));
        Path file = Files.move(write(graph(external("a", "data", 0, 2))), model.resolve("x.onnx"));
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(file).close())
                .withMessageContaining("is a link to a file that is not below");
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().root(folder))) {
            assertThat(c.tensor("a").toFloatArray()).containsExactly(1, 2);
        }
    }

    private static Message inner(int depth) {
        Message graph = graph(tensor("w", FLOAT, 1).bytes(9, floats(depth)));
        for (int i = 0; i < depth; i++) {
            Message attribute = new Message().text(1, "b").message(6, graph);
            graph = new Message().message(1, new Message().text(2, "y").message(5, attribute));
        }
        return graph;
    }

    @Test
    void graphsNestAsDeepAsProtobufReadsThem() throws IOException {
        try (Checkpoint c = Checkpoint.open(write(inner(32)))) {
            assertThat(c.tensor("y/b/".repeat(32) + "w").toFloatArray()).containsExactly(32);
        }
        refusal(inner(33)).contains("graphs nest more than 32 deep");
        refusal(inner(2000)).contains("graphs nest more than 32 deep");
    }

    @Test
    void malformedMessagesAreRefused() throws IOException {
        refusal(graph(tensor("x", FLOAT, 1), tensor("x", FLOAT, 1))).contains("the tensor 'x' is there twice");
        refusal(graph(new Message().bytes(8, new byte[]{(byte) 0xC3, 1}))).contains("not UTF-8");
        refusal(graph(new Message().varint((9 << 3) | 2).varint(100))).contains("reaches past its end");
        refusal(graph(new Message().varint((9 << 3) | 2).varint(-1))).contains("reaches past its end");
        refusal(graph(new Message().varint((9 << 3) | 3))).contains("there is no field");
        refusal(graph(new Message().varint(0).varint(0))).contains("there is no field");
        refusal(graph(new Message().varint(1L << 40).varint(0))).contains("there is no field");
        byte[] endless = new byte[12];
        Arrays.fill(endless, (byte) 0xFF);
        refusal(graph(new Message().bytes(1, endless))).contains("more than 10 bytes");
    }

    @Test
    void longNamesOfManyGraphsCostWhatTheFileJustifies() throws IOException {
        Message attribute = new Message().text(1, "b");
        for (int i = 0; i < 1000; i++) {
            attribute.message(11, graph(tensor("w", FLOAT, 0)));
        }
        refusal(new Message().message(1, new Message().text(2, "y".repeat(1 << 20)).message(5, attribute)))
                .contains("[COST-MEMORY]");
    }

    @Test
    void aCutModelIsRecognisedAndOtherMessagesAreNot() throws IOException {
        byte[] model = Files.readAllBytes(FIXTURES.resolve("all-types.onnx"));
        Path file = Files.write(folder.resolve("cut"), Arrays.copyOf(model, model.length - 1));
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(file).close())
                .withMessageContaining("[ONNX]").withMessageContaining("reaches past its end");
        for (String other : List.of("\b\1\22\4\22\2\n\0", "\b\1\22\2\n\0\u00a2\u001f\0", "\b\12:\2\0\0",
                "\b\12\22\1a", ":\2\22\0", "\b\12:\2\22\0 \1")) {
            Files.write(file, other.getBytes(ISO_8859_1));
            assertThatExceptionOfType(FormatException.class).as(other)
                    .isThrownBy(() -> Checkpoint.open(file).close()).withMessageContaining("FORMAT-UNKNOWN");
        }
        Files.write(file, "\b\12:\2\22\0".getBytes(ISO_8859_1));
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.names()).isEmpty();
        }
    }

    @TestFactory
    List<DynamicTest> theRealLibrary() {
        return List.of(RealPython.with("onnx", "numpy").test("onnx reads the same types, shapes and bytes",
                this::sameBytes));
    }

    private void sameBytes(RealPython python) throws IOException, GeneralSecurityException {
        Path script = Path.of("src", "test", "resources", "io", "undercroft", "interop", "onnx", "models.py");
        String run = "import runpy; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')";
        python.run(run, script, "all", folder);
        int compared = 0;
        for (String name : List.of("all-types.onnx", "nested.onnx", "external.onnx", "apart.onnx")) {
            String read = python.run("import json\n" + run.replace("runpy.run_path(sys.argv[0], run_name='__main__')",
                    "m = runpy.run_path(sys.argv[0])\nfor n, t in m['read'](sys.argv[1]).items():"
                            + " print(n, *t[1], t[2], sep='\\t')"),
                    script, folder.resolve(name));
            try (Checkpoint c = Checkpoint.open(folder.resolve(name))) {
                for (String line : read.lines().toList()) {
                    String[] parts = line.split("\t");
                    Tensor tensor = c.tensor(parts[0]);
                    assertThat(Arrays.stream(tensor.shape().toArray()).mapToObj(Long::toString).toList())
                            .as(parts[0]).isEqualTo(List.of(parts).subList(1, parts.length - 1));
                    assertThat(HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytesOf(tensor))))
                            .as(parts[0]).isEqualTo(parts[parts.length - 1]);
                    compared++;
                }
            }
        }
        assertThat(compared).isEqualTo(25 + 27 + 2 + 3 + 3);
    }
}
