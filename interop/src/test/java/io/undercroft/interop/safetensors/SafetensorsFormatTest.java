package io.undercroft.interop.safetensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNoException;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// What is kept, and how, when states go into files and come out again.
class SafetensorsFormatTest {
    private static final Path FIXTURES = Path.of("..", "test-support", "fixtures", "safetensors");

    @TempDir
    private Path folder;
    private final SaveOptions options = SaveOptions.defaults();

    private Path export(Object state, SaveOptions how) throws IOException {
        Path path = folder.resolve("x.safetensors");
        Checkpoint.save(path, state, how);
        return path;
    }

    private Path export(Object state) throws IOException {
        return export(state, options);
    }

    private static SequencedMap<String, Object> state(Object... namesAndValues) {
        SequencedMap<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            state.put((String) namesAndValues[i], namesAndValues[i + 1]);
        }
        return state;
    }

    private static Tensor floats(long... sizes) {
        return Tensor.arange(DType.FLOAT32, Shape.of(sizes).numel()).view(sizes);
    }

    @Test
    void aFileOfTheRealLibraryIsReadAndWrittenAgainByteByByte() throws IOException {
        Path real = FIXTURES.resolve("all-dtypes.safetensors");
        try (Checkpoint c = Checkpoint.open(real)) {
            assertThat(c.names()).hasSize(23).contains("ä\n\"\\", "scalar", "empty");
            for (String name : List.of("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8",
                    "uint8", "uint16", "uint32", "uint64", "float8_e5m2", "complex64")) {
                assertThat(c.tensor(name).dtype().name()).isEqualTo(name);
                assertThat(c.tensor(name).real().toFloatArray()).as(name).containsExactly(0, 1, 2, 3, 4, 5);
            }
            assertThat(c.tensor("complex64").imag().toFloatArray()).containsExactly(-0f, -1, -2, -3, -4, -5);
            assertThat(c.tensor("bool").toLongArray()).containsExactly(0, 1, 0, 1, 0, 1);
            assertThat(c.tensor("float4_e2m1fn_x2").dtype()).isSameAs(DType.FLOAT4_E2M1FN_X2);
            assertThat(c.tensor("scalar").shape()).isEqualTo(Shape.SCALAR);
            assertThat(c.tensor("empty").shape()).isEqualTo(Shape.of(0, 3));
            assertThat(export(c.state(), options.metadata(c.metadata()))).hasSameBinaryContentAs(real);
        }
    }

    /// The last size of pairs is twice as large in the file.
    @Test
    void anEmptyTensorOfPairsWhoseSizesInTheFileCannotBeCountedIsRefusedByPath() {
        Tensor pairs = Tensor.of(Storage.allocate(0), DType.FLOAT4_E2M1FN_X2, 0, Shape.of(0, 1L << 31, 1L << 31), 1, 1,
                1);
        assertThatIllegalArgumentException().isThrownBy(() -> export(state("pairs", pairs), options))
                .withMessageContaining("pairs: ").withMessageContaining("have a product that");
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void storagesAreMappedWhereTheyStand() throws IOException {
        try (Checkpoint c = Checkpoint.open(FIXTURES.resolve("all-dtypes.safetensors"))) {
            assertThat(c.tensor("int64").storage().isMaterialized()).isFalse();
            assertThat(c.tensor("int64").storage().filename().orElseThrow()).endsWith("all-dtypes.safetensors");
            c.tensor("int64").setLong(0, 0, 9);
        }
        try (Checkpoint c = Checkpoint.open(FIXTURES.resolve("all-dtypes.safetensors"))) {
            assertThat(c.tensor("int64").getLong(0, 0)).isZero();
        }
    }

    @Test
    void whatSaveModelLeftOutIsThereAgain() throws IOException {
        try (Checkpoint c = Checkpoint.open(FIXTURES.resolve("tied.safetensors"))) {
            assertThat(c.names()).containsExactly("head.weight", "wte.weight");
            assertThat(c.tensor("wte.weight")).isSameAs(c.tensor("head.weight"));
            assertThat(c.metadata()).isEqualTo(Map.of("format", "pt"));
        }
        try (Checkpoint c = Checkpoint.open(FIXTURES.resolve("tied.safetensors"),
                OpenOptions.defaults().setting("safetensors.sharing", "ignore"))) {
            assertThat(c.names()).containsExactly("head.weight");
            assertThat(c.metadata()).isEqualTo(Map.of("format", "pt", "wte.weight", "head.weight"));
        }
    }

    @Test
    void tiedTensorsAreWrittenOnceAndStayTied() throws IOException {
        Tensor wte = floats(4, 3);
        Path path = export(state("wte", wte, "other", floats(2), "head", wte),
                options.metadata(Map.of("format", "pt")));
        assertThat(Files.size(path)).isLessThan(2 * wte.nbytes() + 300);
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.tensor("head")).isSameAs(c.tensor("wte"));
            assertThat(c.storages()).hasSize(2);
            assertThat(c.metadata()).isEqualTo(Map.of("format", "pt"));
            Path again = folder.resolve("again.safetensors");
            Checkpoint.save(again, c.state(), options.metadata(c.metadata()));
            assertThat(again).hasSameBinaryContentAs(path);
        }
    }

    @Test
    void viewsOfATensorAreWrittenForOthersAndShareItsBytesHere() throws IOException {
        Tensor base = floats(4, 6);
        Path path = export(state("transposed", base.t(), "column", base.select(1, 2), "base", base, "bytes",
                base.view(DType.UINT8).narrow(1, 4, 8), "window", base.narrow(0, 1, 2)));
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.storages()).hasSize(1);
            assertThat(c.tensor("transposed").contentEquals(base.t())).isTrue();
            assertThat(c.tensor("transposed").stride()).containsExactly(1, 6);
            assertThat(c.tensor("column").contentEquals(base.select(1, 2))).isTrue();
            assertThat(c.tensor("bytes").contentEquals(base.view(DType.UINT8).narrow(1, 4, 8))).isTrue();
            c.tensor("window").setDouble(0, 2, -1);
            assertThat(c.tensor("column").getFloat(1)).isEqualTo(-1);
            assertThat(c.verify().damages()).isEmpty();
        }
        try (Checkpoint plain = Checkpoint.open(path,
                OpenOptions.defaults().setting("safetensors.sharing", "ignore"))) {
            assertThat(plain.storages()).hasSize(5);
            assertThat(plain.tensor("transposed").contentEquals(base.t())).isTrue();
        }
    }

    @Test
    void aViewThatIsNotWhatItsBaseSaysIsFoundByVerifying() throws IOException {
        Tensor base = floats(2, 2);
        Path path = export(state("a", base, "b", base.t()));
        byte[] bytes = Files.readAllBytes(path);
        bytes[bytes.length - 1] ^= 1;
        Files.write(path, bytes);
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.verify().damages()).singleElement()
                    .satisfies(damage -> assertThat(damage.where()).isEqualTo("tensor b"));
        }
    }

    @Test
    void whatCannotBeToldIsRefusedUnlessCopiesWillDo() throws IOException {
        Tensor base = floats(10);
        Map<String, Object> overlapping = state("a", base.narrow(0, 0, 6), "b", base.narrow(0, 4, 6));
        assertThatIllegalArgumentException().isThrownBy(() -> export(overlapping))
                .withMessageContainingAll("'a'", "'b'", "safetensors.sharing");
        try (Checkpoint c = Checkpoint.open(export(overlapping, options.setting("safetensors.sharing", "copy")))) {
            assertThat(c.storages()).hasSize(2);
            assertThat(c.tensor("b").toFloatArray()).containsExactly(4, 5, 6, 7, 8, 9);
        }
        assertThatIllegalArgumentException().isThrownBy(
                () -> export(state("a", Tensor.zeros(DType.COMPLEX64, 2)),
                        options.setting("safetensors.sharing", "no")));
        Tensor complex = Tensor.zeros(DType.COMPLEX64, 2);
        assertThatIllegalArgumentException().isThrownBy(() -> export(state("a", complex, "b", complex.conj())));
    }

    @Test
    void partsWithoutACommonByteAreStoragesOfTheirOwn() throws IOException {
        Tensor base = floats(10);
        try (Checkpoint c = Checkpoint
                .open(export(
                        state("a", base.narrow(0, 0, 5), "b", base.narrow(0, 5, 5), "none", base.narrow(0, 5, 0))))) {
            assertThat(c.storages()).hasSize(3);
            assertThat(c.tensor("b").toFloatArray()).containsExactly(5, 6, 7, 8, 9);
        }
    }

    @Test
    void columnsOfAMatrixThatIsNotThereAreStoragesOfTheirOwn() throws IOException {
        Tensor qkv = floats(4, 9);
        Tensor q = qkv.narrow(1, 0, 3);
        Tensor k = qkv.narrow(1, 3, 3);
        Tensor v = qkv.narrow(1, 6, 3);
        Path path = export(state("q", q, "k", k, "v", v));
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.storages()).hasSize(3);
            assertThat(c.tensor("k").contentEquals(k)).isTrue();
            assertThat(c.tensor("v").contentEquals(v)).isTrue();
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> export(state("q", q, "v", v, "other", qkv.narrow(1, 5, 2), "third", k)))
                .withMessageContainingAll("'v'", "'other'", "safetensors.sharing");
        try (Checkpoint c = Checkpoint.open(export(state("q", q, "k", k, "qkv", qkv)))) {
            assertThat(c.storages()).hasSize(1);
            assertThat(c.tensor("k").storageOffset()).isEqualTo(3);
        }
    }

    @Test
    void manyColumnsAreNotComparedInPairs() {
        Tensor wide = floats(2, 3000);
        SequencedMap<String, Object> columns = new LinkedHashMap<>();
        for (int i = 0; i < 3000; i++) {
            columns.put("c" + i, wide.select(1, i));
        }
        assertThatIllegalArgumentException().isThrownBy(() -> export(columns)).withMessageContaining("copy");
        columns.put("wide", wide);
        assertThatNoException().isThrownBy(() -> export(columns));
    }

    @Test
    void whatTakesPartInDifferentiationIsSharedAllTheSame() throws IOException {
        Tensor weight = floats(3, 2);
        Tensor parameter = weight.withFlags(EnumSet.of(Tensor.Flag.REQUIRES_GRAD));
        try (Checkpoint c = Checkpoint.open(
                export(state("p", new Typed("torch.nn.parameter.Parameter", parameter), "data", weight, "t",
                        weight.t())))) {
            assertThat(c.tensor("data")).isSameAs(c.tensor("p"));
            assertThat(c.tensor("t").storage()).isSameAs(c.tensor("p").storage());
        }
    }

    @Test
    void verifyingReadsTheFileAndMapsItOnce() throws IOException {
        Tensor base = floats(4, 6);
        Path path = export(state("base", base, "view", base.t(), "other", base.narrow(0, 1, 2)));
        try (Checkpoint c = Checkpoint.open(path)) {
            c.tensor("base").fill(9);
            assertThat(c.verify().damages()).isEmpty();
            long mappings = mappings(path);
            for (int i = 0; i < 20; i++) {
                assertThat(c.verify().damages()).isEmpty();
            }
            assertThat(mappings(path)).isEqualTo(mappings);
        }
        assertThat(mappings(path)).isZero();
    }

    /// {@return how many mappings of a file the system tells of, if it tells any}
    private static long mappings(Path path) throws IOException {
        Path maps = Path.of("/proc/self/maps");
        return Files.exists(maps)
                ? Files.readAllLines(maps).stream().filter(line -> line.endsWith(path.toString())).count()
                : 0;
    }

    @Test
    void slicesOfAStorageAreViewsToo() throws IOException {
        Storage whole = Storage.allocate(16);
        Tensor base = Tensor.of(whole, DType.INT32, 0, Shape.of(4), 1);
        Tensor slice = Tensor.of(whole.slice(8, 8), DType.INT32, 1, Shape.of(1), 1);
        base.setLong(3, 7);
        try (Checkpoint c = Checkpoint.open(export(state("slice", slice, "base", base)))) {
            assertThat(c.storages()).hasSize(1);
            assertThat(c.tensor("slice").getLong(0)).isEqualTo(7);
        }
    }

    @Test
    void aTensorAloneIsWrittenRowByRow() throws IOException {
        Tensor base = floats(2, 3);
        Tensor conj = Tensor.full(DType.COMPLEX64, new Complex(1, 2), 2).conj();
        try (Checkpoint c = Checkpoint.open(export(state("t", base.t(), "e", floats(1).expand(3), "c", conj)))) {
            assertThat(c.tensor("t").stride()).containsExactly(2, 1);
            assertThat(c.tensor("t").contentEquals(base.t())).isTrue();
            assertThat(c.tensor("e").toFloatArray()).containsExactly(0, 0, 0);
            assertThat(c.tensor("c").imag().toFloatArray()).containsExactly(-2, -2);
        }
    }

    @Test
    void aStateDictOfPyTorchIsWrittenAsItIs() throws IOException {
        TypedMap dict = new TypedMap("collections.OrderedDict");
        dict.put("a/b", new Typed("torch.nn.parameter.Parameter", floats(2)));
        dict.attributes().put("_metadata", Map.of("", Map.of("version", 1L)));
        try (Checkpoint c = Checkpoint.open(export(dict))) {
            assertThat(c.state()).asInstanceOf(InstanceOfAssertFactories.MAP)
                    .containsOnlyKeys("a/b");
            assertThat(c.names()).containsExactly("a~1b");
        }
    }

    @Test
    void whatIsNoTensorIsRefusedByItsPath() {
        assertThatIllegalArgumentException().isThrownBy(() -> export(state("a", state("step", 3L))))
                .withMessageContainingAll("a/step is an integer");
        assertThatIllegalArgumentException().isThrownBy(() -> export(List.of(floats(1))));
        assertThatIllegalArgumentException().isThrownBy(() -> export(floats(1)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> export(state("q", new Typed("torch.per_tensor_affine", floats(1)))))
                .withMessageContainingAll("q", "torch.per_tensor_affine");
        assertThatIllegalArgumentException().isThrownBy(() -> export(state("z", Tensor.zeros(DType.COMPLEX128, 1))))
                .withMessageContainingAll("z", "complex128");
        assertThatIllegalArgumentException().isThrownBy(() -> export(state("m", Tensor.meta(DType.INT8, 1))))
                .withMessageContaining("meta");
        assertThatIllegalArgumentException().isThrownBy(() -> export(state("__metadata__", floats(1))));
        assertThatIllegalArgumentException().isThrownBy(() -> export(state("x", state("\ud800", floats(1)))))
                .withMessageStartingWith("x/");
        assertThatIllegalArgumentException().isThrownBy(
                () -> export(state("a", floats(1)), options.metadata(Map.of("k", "\udc00"))));
        assertThatIllegalArgumentException().isThrownBy(() -> export(state("e", floats(1).expand(1L << 62))))
                .withMessageStartingWith("e:");
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void metadataThatWouldBeTakenForSharingIsRefused() throws IOException {
        Tensor a = floats(1);
        Map<String, Object> state = state("a", a, "pt", floats(2));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> export(state, options.metadata(Map.of("best", "a")))).withMessageContaining("best");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> export(state("a", a, "b", a), options.metadata(Map.of("b", "text"))));
        try (Checkpoint c = Checkpoint.open(export(state, options.metadata(Map.of("format", "pt"))))) {
            assertThat(c.names()).containsExactlyInAnyOrder("a", "pt");
            assertThat(c.metadata()).isEqualTo(Map.of("format", "pt"));
        }
    }

    @Test
    void someTensorsAreOpenedWithWhatTheyStandOn() throws IOException {
        Tensor base = floats(2, 2);
        Path path = export(state("x/base", base, "view", base.t(), "tied", base, "other", floats(3)));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().only("tied"))) {
            assertThat(c.names()).containsExactly("tied");
            assertThat(c.tensor("tied").contentEquals(base)).isTrue();
            assertThat(((Tensor) ((Map<?, ?>) c.state()).get("view")).contentEquals(base.t())).isTrue();
            assertThat(((Tensor) ((Map<?, ?>) c.state()).get("other")).storage().isMeta()).isTrue();
        }
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().only("x~1base"))) {
            assertThat(c.names()).containsExactly("x~1base");
            assertThat(c.contains("view")).isFalse();
        }
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().onMeta())) {
            assertThat(c.storages()).allMatch(Storage::isMeta).hasSize(2);
        }
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().inMemory())) {
            assertThat(c.storages()).allMatch(Storage::isMaterialized);
            assertThat(c.tensor("view").contentEquals(base.t())).isTrue();
        }
    }

    @Test
    void aTensorIsFoundWithoutTheOthers() throws IOException {
        try (Checkpoint c = Checkpoint.open(export(state("a/~1", floats(2), "b", floats(3))))) {
            assertThat(c.tensor("a~1~01").toFloatArray()).containsExactly(0, 1);
            assertThat(c.tensor("a/~1")).isSameAs(c.tensor("a~1~01"));
            assertThat(c.contains("a/~1/")).isFalse();
            assertThat(c.contains("a")).isFalse();
            assertThat(c.tensor("b")).isSameAs(c.tensor("b")).isSameAs(((Map<?, ?>) c.state()).get("b"));
            assertThat(c.names()).containsExactly("a~1~01", "b");
        }
    }

    @Test
    void closingReleasesAllButWhatIsRetained() throws IOException {
        Path path = export(state("a", floats(2), "b", floats(3)));
        Checkpoint c = Checkpoint.open(path);
        Tensor a = c.tensor("a");
        Storage kept = c.tensor("b").storage().retain();
        c.close();
        assertThatIllegalStateException().isThrownBy(() -> a.getFloat(0));
        assertThat(Tensor.of(kept, DType.FLOAT32, 0, Shape.of(3), 1).toFloatArray()).containsExactly(0, 1, 2);
        kept.release();
    }

    @Test
    void whatWasOpenedIsWrittenAsItWas() throws IOException {
        Tensor first = floats(4);
        Tensor other = floats(2, 3);
        Path path = export(
                state("b", first, "a", first.view(2, 2), "d", other.narrow(1, 1, 2), "c", other, "z", other));
        byte[] written = Files.readAllBytes(path);
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(export(c.state(), options.metadata(c.metadata()).replacingSource())).hasBinaryContent(written);
        }
        Checkpoint.save(path,
                state("a", first.view(2, 2), "c", other, "b", first, "z", other, "d", other.narrow(1, 1, 2)));
        assertThat(path).as("in another order").hasBinaryContent(written);
    }

    @Test
    void metadataAlwaysSaysWhoseTensorsTheseAre() throws IOException {
        try (Checkpoint c = Checkpoint.open(export(state("a", floats(2)), options.metadata(Map.of("by", "us"))))) {
            assertThat(c.metadata()).isEqualTo(Map.of("by", "us", "format", "pt"));
        }
        try (Checkpoint c = Checkpoint.open(export(state("a", floats(2)), options.metadata(Map.of("format", "np"))))) {
            assertThat(c.metadata()).isEqualTo(Map.of("format", "np"));
        }
        try (Checkpoint c = Checkpoint.open(export(state("a", floats(2))))) {
            assertThat(c.metadata()).isEmpty();
        }
    }

    @Test
    void pairsOfElementsNeedADimension() {
        assertThatIllegalArgumentException().isThrownBy(() -> export(state("w", Tensor.zeros(DType.FLOAT4_E2M1FN_X2))))
                .withMessageContaining("w: ").withMessageContaining("view(1)");
    }
}
