package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.undercroft.interop.RealPython;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.state.Typed;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;

/// Files of ours read by real PyTorch, and files of PyTorch's read by us. Needs a Python that has it.
@EnabledIfEnvironmentVariable(named = "UNDERCROFT_PYTHON", matches = ".+", disabledReason = "UNDERCROFT_PYTHON names "
        + "no Python")
class TorchLibraryTest {
    @TempDir
    private Path folder;
    private final RealPython python = RealPython.with("torch");

    /// What the peer prints, line by line.
    private List<String> ask(Object... arguments) throws IOException {
        try (InputStream source = Objects.requireNonNull(TorchLibraryTest.class.getResourceAsStream("peer.py"))) {
            return python.run(new String(source.readAllBytes(), UTF_8), arguments).lines().toList();
        }
    }

    @TestFactory
    Stream<DynamicTest> whatWeWriteIsReadByPyTorch() throws IOException {
        Path written = Files.createDirectory(folder.resolve("written"));
        for (Path original : TorchExportTest.files()) {
            String name = original.getFileName().toString();
            Files.copy(original, written.resolve(name));
            try (Checkpoint c = Checkpoint.open(original)) {
                Checkpoint.save(written.resolve(name.replaceFirst("[.]pt$", ".ours.pt")), c.state());
            }
        }
        return ask("compare", written).stream().map(line -> {
            JsonNode result = parse(line);
            return python.test("our " + result.get("name").asText() + " is loaded there as its own",
                    _ -> assertThat(result.get("outcome").asText()).startsWith("same"));
        });
    }

    /// Whatever may be in a file, in all combinations. Old streams among them become archives.
    @TestFactory
    Stream<DynamicTest> randomStatesOfPyTorchComeBackToIt() throws IOException {
        Path random = Files.createDirectory(folder.resolve("random"));
        ask("random", random, 100);
        List<Path> originals;
        try (Stream<Path> files = Files.list(random)) {
            originals = files.toList();
        }
        for (Path original : originals) {
            try (Checkpoint c = Checkpoint.open(original)) {
                assertThat(c.verify().damages()).isEmpty();
                Checkpoint.save(Path.of(original.toString().replaceFirst("[.]pt$", ".ours.pt")), c.state());
            }
        }
        List<JsonNode> results = ask("compare", random).stream().map(TorchLibraryTest::parse).toList();
        assertThat(results).hasSameSizeAs(originals).hasSizeGreaterThan(100);
        return results.stream().map(result -> python.test("our random state is loaded there: "
                + result.get("name").asText(), _ -> assertThat(result.get("outcome").asText()).startsWith("same")));
    }

    @TestFactory
    Stream<DynamicTest> aClassInAClassIsFound() throws IOException {
        Path nested = Files.createDirectory(folder.resolve("nested"));
        String type = "__main__:Outer.Inner";
        Checkpoint.save(nested.resolve("ours.pt"), new Typed(type, Tensor.of(1.5, 2.5)));
        List<String> loaded = ask("nested", nested);
        return Stream.of(
                python.test("it is found in our file there, with weights_only and without",
                        _ -> assertThat(loaded).containsExactly(type + " [1.5, 2.5]", type + " [1.5, 2.5]")),
                python.test("it is found in a file from there", _ -> {
                    try (Checkpoint c = Checkpoint.open(nested.resolve("theirs.pt"))) {
                        assertThat(((Typed) Objects.requireNonNull(c.state())).type()).isEqualTo(type);
                    }
                }));
    }

    @TestFactory
    Stream<DynamicTest> whatPyTorchWritesIsReadByUs() throws IOException {
        Path saved = Files.createDirectory(folder.resolve("saved"));
        return ask("write", saved).stream()
                .flatMap(name -> Stream.of(name + ".pt", name + ".legacy.pt").map(file -> python.test(
                        file + " from there is loaded",
                        _ -> check(saved.resolve(file), Fixtures.json(saved.resolve(name + ".json"))))));
    }

    /// Tensors of every dtype, views, some without elements or dimensions, tied ones, and types that share bytes.
    @TestFactory
    Stream<DynamicTest> tensorsOfOursAreOneInPyTorchWhereTheyAreOneHere() throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (DType dtype : DType.values()) {
            if (dtype.kind() != DType.Kind.QUANTIZED) {
                Storage storage = Storage.allocate(dtype.nbytes(6));
                for (int i = 0; i < storage.nbytes(); i++) {
                    storage.set(i, (byte) (dtype.equals(DType.BOOL) ? i % 2 : 3 * i));
                }
                state.put(dtype.name(), Tensor.of(storage, dtype, 1, Shape.of(2, 2), 2, 1));
            }
        }
        Tensor base = Tensor.arange(DType.FLOAT32, 24).view(4, 6);
        state.put("base", base);
        state.put("tied", base);
        state.put("transposed", base.t());
        state.put("scalar", base.select(0, 1).select(0, 1));
        state.put("empty", base.narrow(0, 4, 0));
        state.put("expanded", base.select(0, 0).expand(5, 6));
        state.put("same bytes as int16", base.view(DType.INT16));
        Tensor none = Tensor.zeros(DType.INT64, 0, 3);
        state.put("none", none);
        state.put("no bytes of another type", Tensor.of(none.storage(), DType.FLOAT32, 0, Shape.of(2, 0), 1, 1));
        state.put("grad", Tensor.of(1.0, 2.0).withFlags(EnumSet.of(Tensor.Flag.REQUIRES_GRAD)));
        Path file = folder.resolve("ours.pt");
        Checkpoint.save(file, state);
        return ask("describe", file).stream().map(TorchLibraryTest::parse)
                .map(line -> python.test("our tensors are loaded there: " + line.get("way").asText(),
                        _ -> checkTensors(line.get("tensors"), state)));
    }

    private static void check(Path file, JsonNode expected) throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            Map<String, Tensor> tensors = new LinkedHashMap<>();
            c.names().forEach(name -> tensors.put(name, c.tensor(name)));
            checkTensors(expected, tensors);
        }
    }

    private static void checkTensors(JsonNode described, Map<String, Tensor> tensors) {
        Map<Integer, Storage> storages = new HashMap<>();
        assertThat(described.properties()).hasSize(tensors.size()).isNotEmpty();
        for (Map.Entry<String, JsonNode> entry : described.properties()) {
            String name = entry.getKey();
            JsonNode said = entry.getValue();
            Tensor tensor = tensors.get(name);
            assertThat("torch." + tensor.dtype()).as(name).isEqualTo(said.get("dtype").asText());
            assertThat(tensor.shape().toArray()).as(name).isEqualTo(longs(said.get("shape")));
            assertThat(tensor.stride()).as(name).isEqualTo(longs(said.get("stride")));
            assertThat(tensor.storageOffset()).as(name).isEqualTo(said.get("offset").asLong());
            assertThat(tensor.is(Tensor.Flag.REQUIRES_GRAD)).as(name).isEqualTo(said.get("requires_grad").asBoolean());
            assertThat(Fixtures.sha256(tensor.storage())).as(name).isEqualTo(said.get("sha256").asText());
            Storage known = storages.putIfAbsent(said.get("storage").asInt(), tensor.storage());
            assertThat(tensor.storage()).as(name).isSameAs(known == null ? tensor.storage() : known);
        }
        // Unless it maps the file, PyTorch makes a storage without bytes anew for each tensor.
        assertThat(storages.values()).filteredOn(storage -> storage.nbytes() > 0).doesNotHaveDuplicates();
    }

    private static long[] longs(JsonNode array) {
        LongStream.Builder longs = LongStream.builder();
        array.forEach(number -> longs.add(number.asLong()));
        return longs.build().toArray();
    }

    private static JsonNode parse(String line) {
        try {
            return new ObjectMapper().readTree(line);
        } catch (IOException e) {
            throw new AssertionError(line, e);
        }
    }
}
