package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnsavableValueException;
import io.undercroft.serializer.internal.tree.StateKeys;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import io.undercroft.storage.TypedStorage;
import io.undercroft.testsupport.PretendDevice;
import io.undercroft.testsupport.Sameness;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// What is written for PyTorch comes back as it was.
class TorchExportTest {
    @TempDir
    private Path folder;

    interface Use {
        void accept(Checkpoint checkpoint) throws IOException;
    }

    private void written(Object state, Use use) throws IOException {
        Path path = folder.resolve("state.pt");
        Checkpoint.save(path, state);
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.format()).isEqualTo("torch-zip");
            assertThat(c.verify().damages()).isEmpty();
            use.accept(c);
        }
    }

    private void assertComesBack(Object state) throws IOException {
        // A tuple that is a key twice is written twice.
        written(state, c -> Sameness.check(state, c.state(), Tuple.class::isInstance));
    }

    private static void assertRefused(Object state, String message) {
        assertThatIllegalArgumentException().isThrownBy(() -> Pickle.of(state, false)).withMessageContaining(message);
    }

    static List<Path> files() {
        return Stream.concat(
                Fixtures.names("(?!BAD|UNSAFE|UNSUPPORTED|.*legacy|.*tar).*[.]pt").stream()
                        .map(Fixtures.PYTORCH::resolve),
                Stream.of("tiny-gpt2.pt", "tiny-gpt2-training.pt").map(Fixtures.MODELS::resolve)).toList();
    }

    @ParameterizedTest
    @MethodSource("files")
    void aFileOfPyTorchComesBackAsItWas(Path file) throws IOException {
        try (Checkpoint original = Checkpoint.open(file)) {
            assertComesBack(original.state());
        }
    }

    static List<Path> streams() {
        return Stream
                .concat(Fixtures.names("(?!BAD|UNSAFE|view_).*legacy[.]pt").stream().map(Fixtures.PYTORCH::resolve),
                        Stream.of(Fixtures.MODELS.resolve("tiny-gpt2-legacy.pt")))
                .toList();
    }

    @ParameterizedTest
    @MethodSource("streams")
    void anOldStreamBecomesAnArchive(Path file) throws IOException {
        try (Checkpoint original = Checkpoint.open(file)) {
            assertThat(original.format()).isEqualTo("torch-legacy");
            assertComesBack(original.state());
        }
    }

    @Test
    void plainValuesComeBack() throws IOException {
        List<Object> values = new ArrayList<>(Arrays.asList(null, true, false, 0L, 255L, 256L, 65535L, 65536L, -1L,
                (long) Integer.MIN_VALUE, Integer.MAX_VALUE + 1L, Long.MIN_VALUE, Long.MAX_VALUE,
                BigInteger.TWO.pow(63), BigInteger.TWO.pow(2000).negate(), 1.5, -0.0, Double.NaN,
                Double.NEGATIVE_INFINITY, "", "ünï\u0000cödé 😀", new Complex(1, -2), DType.BFLOAT16, Device.CPU,
                Device.cuda(3), Shape.of(), Shape.of(1, 2, 3, 4), new Symbol("torch.per_tensor_affine"),
                new Symbol("torch.sparse_csr"), new Symbol("builtins.list"),
                new Symbol("torch.channels_last")));
        assertComesBack(values);
        assertComesBack(new byte[]{0, 1, (byte) 0x80, (byte) 0xff});
        assertComesBack(new byte[0]);
        assertComesBack(new Typed("builtins.bytearray", new byte[]{(byte) 0xe9}));
        assertComesBack(new Typed("builtins.frozenset", new LinkedHashSet<>(List.of(1L, "a"))));
        assertComesBack(null);
    }

    /// PyTorch itself names such a storage with both classes, and loads both tensors with the first.
    @Test
    void aStorageWithoutBytesStaysOneUnderTensorsOfTwoTypes() throws IOException {
        Tensor real = Tensor.zeros(DType.FLOAT32, 0);
        Tensor whole = Tensor.of(real.storage(), DType.INT64, 0, Shape.of(3, 0), 1, 1);
        written(List.of(real, whole), c -> {
            Tensor first = c.tensor("0");
            Tensor second = c.tensor("1");
            assertThat(first.dtype()).isEqualTo(DType.FLOAT32);
            assertThat(second.dtype()).isEqualTo(DType.INT64);
            assertThat(second.shape()).isEqualTo(Shape.of(3, 0));
            assertThat(second.storage()).isSameAs(first.storage());
        });
    }

    @Test
    void numbersOfAllWidthsBecomePythons() throws IOException {
        written(List.of((byte) -1, (short) 2, 3, 0.5f), c -> assertThat(c.state()).isEqualTo(
                List.of(-1L, 2L, 3L, 0.5)));
    }

    @Test
    void containersComeBackWithTheirKeysAndOrder() throws IOException {
        Map<Object, Object> map = new LinkedHashMap<>();
        map.put("b", List.of());
        map.put("a", Map.of());
        map.put(Tuple.of(1L, Tuple.of("x", Tuple.of())), Set.of());
        map.put(null, Tuple.of());
        map.put(7L, Tuple.of(1L, 2L, 3L, 4L));
        map.put(2.5, Collections.singleton(null));
        assertComesBack(map);
        TypedMap ordered = new TypedMap("collections.OrderedDict");
        ordered.put("w", Tensor.of(1f, 2f));
        ordered.attributes().put("_metadata", new LinkedHashMap<>(Map.of("", Map.of("version", 1L))));
        TypedMap counter = new TypedMap("collections.Counter");
        counter.put("x", 3L);
        TypedMap sets = new TypedMap("collections.defaultdict");
        sets.attributes().put("default_factory", new Symbol("builtins.set"));
        TypedMap defaults = new TypedMap("collections.defaultdict");
        defaults.attributes().put("default_factory", new Symbol("builtins.int"));
        defaults.put("y", 1L);
        assertComesBack(List.of(ordered, counter, defaults, sets));
    }

    @Test
    void containersOfManyElementsComeBack() throws IOException {
        Map<Object, Object> map = new LinkedHashMap<>();
        List<Object> list = new ArrayList<>();
        Set<Object> set = new LinkedHashSet<>();
        for (long i = 0; i < 2500; i++) {
            map.put("key " + i, List.of(i));
            list.add("value " + i);
            set.add(i);
        }
        map.put("list", list);
        map.put("set", set);
        assertComesBack(map);
    }

    @Test
    void whatIsSharedOrHoldsItselfStaysSo() throws IOException {
        List<Object> list = new ArrayList<>();
        Map<Object, Object> map = new HashMap<>();
        Tuple.Builder tuple = new Tuple.Builder();
        byte[] bytes = {1, 2};
        Tensor tensor = Tensor.of(1, 2, 3);
        tuple.add(list);
        tuple.add(bytes);
        list.addAll(List.of(map, tuple.tuple(), tensor, tensor, bytes));
        map.put("list", list);
        list.add(list);
        list.add(Tuple.of());
        written(list, c -> {
            Sameness.check(list, c.state());
            assertThat(((List<?>) c.state()).get(5)).isSameAs(c.state());
        });
    }

    /// As Python has it: what is made by a call holds itself only by way of a list or a dict.
    @Test
    void whatIsMadeByACallMayHoldItselfToo() throws IOException {
        List<Object> all = new ArrayList<>();
        for (String type : List.of("torch.nn.parameter.Parameter", "torch.Tensor", "my.models.Quaternion")) {
            Typed typed = new Typed(type, Tensor.of(1f, 2f));
            typed.attributes().put("all", all);
            all.add(typed);
        }
        TypedMap counter = new TypedMap("collections.Counter");
        counter.put("all", all);
        TypedMap defaults = new TypedMap("collections.defaultdict");
        defaults.attributes().put("default_factory", null);
        defaults.put("all", all);
        TypedMap sparse = new TypedMap("torch.sparse_coo");
        sparse.put("indices", Tensor.of(new long[]{0, 1}).view(1, 2));
        sparse.put("values", Tensor.of(1f, 2f));
        sparse.put("size", Shape.of(2));
        sparse.put("is_coalesced", true);
        sparse.attributes().put("all", all);
        all.addAll(List.of(counter, defaults, sparse));
        for (Object first : all) {
            assertComesBack(first);
        }
    }

    @Test
    void keysOfAsManyPartsAsAKeyMayHaveComeBack() throws IOException {
        Map<Object, Object> map = new LinkedHashMap<>();
        Tuple wide = new Tuple(LongStream.range(0, StateKeys.MAX_PARTS - 1).boxed().toList());
        Tuple deep = Tuple.of();
        for (int i = 1; i < 100; i++) {
            deep = Tuple.of(deep);
        }
        map.put(wide, 1L);
        map.put(deep, 2L);
        map.put(Tuple.of(1L, wide.subList(0, 10).get(0), deep), 3L);
        assertComesBack(map);
        assertRefused(Map.of(new Tuple(Collections.nCopies(StateKeys.MAX_PARTS, 1L)), 1L), "at most 1024");
    }

    /// Thousands of groups may well share a list of thousands; but whoever walked a list that doubles would never end.
    @Test
    void whatIsSharedOftenComesBackUnlessItDoubles() throws IOException {
        List<Object> shared = new ArrayList<>();
        for (long i = 0; i < 3000; i++) {
            shared.add(i);
        }
        List<Object> groups = new ArrayList<>();
        for (int i = 0; i < 5000; i++) {
            groups.add(Map.of("params", shared));
        }
        assertComesBack(groups);
        Object doubling = List.of();
        for (int i = 0; i < 30; i++) {
            doubling = Tuple.of(doubling, doubling);
        }
        assertRefused(Map.of("a", doubling), "cannot save the state for PyTorch: containers hold each other so often");
    }

    @Test
    void aClassInAClassIsNamedSoThatPythonFindsIt() throws IOException {
        Typed nested = new Typed("my.models:Outer.Inner", Tensor.of(1f));
        assertComesBack(List.of(nested, new Typed("my.models:Outer.Inner", Tensor.of(2f)),
                new Typed("my.models.Outer", Tensor.of(2f))));
        String pickle = new String(Pickle.of(nested, false).bytes().toArray(ValueLayout.JAVA_BYTE), ISO_8859_1);
        assertThat(pickle).contains("\u0080\u0004cmy.models\nOuter.Inner\n\u0080\u0002");
        for (String label : List.of("my.models:Inner", ":A.B", "my.models:", "my:models:A.B", "my.models:A..", "Inner",
                ".A", "my.models:.A")) {
            assertRefused(new Typed(label, Tensor.of(1f)), label);
        }
    }

    @Test
    void theLimitOfAPickleHoldsForAllThatIsWritten() {
        List<Consumer<PickleOutput>> writers = List.of(out -> out.op(Opcode.NONE), out -> out.put(300),
                out -> out.get(7), out -> out.integer(5), out -> out.integer(500), out -> out.integer(Long.MAX_VALUE),
                out -> out.real(1.5), out -> out.text("é"), out -> out.global("torch.Size"));
        for (Consumer<PickleOutput> writer : writers) {
            PickleOutput out = new PickleOutput(100);
            assertThatIllegalArgumentException().isThrownBy(() -> {
                for (int i = 0; i < 100; i++) {
                    writer.accept(out);
                }
            }).withMessageContaining("more than 100 bytes");
            assertThat(out.size()).isLessThanOrEqualTo(100);
        }
        PickleOutput full = new PickleOutput(100);
        for (int i = 0; i < 97; i++) {
            full.op(Opcode.NONE);
        }
        assertThat(full.stop()).hasSize(100);
        assertThatIllegalArgumentException().isThrownBy(full::stop);
        // Half of a surrogate pair: that it is refused for its length shows that it was not encoded.
        assertThatIllegalArgumentException().isThrownBy(() -> new PickleOutput(100).text("\ud800".repeat(100)))
                .withMessageContaining("more than 100 bytes");
    }

    /// However large they are, only a piece of them is on the host.
    @Test
    void storagesOfADeviceArePassedThroughTheHostInPieces() throws IOException {
        Tensor here = Tensor.arange(DType.INT32, 3_000_000);
        PretendDevice.Memory device = PretendDevice.fresh();
        Tensor there = here.to(device.device());
        Path path = folder.resolve("device.pt");
        Checkpoint.save(path, Map.of("w", there));
        assertThat(Collections.max(device.fetches)).isEqualTo(4 << 20);
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.tensor("w").device()).isEqualTo(device.device());
            assertThat(c.tensor("w").cpu().contentEquals(here)).isTrue();
        }
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().devices(_ -> Device.CPU))) {
            assertThat(c.tensor("w").contentEquals(here)).isTrue();
        }
    }

    @Test
    void everyDtypeComesBack() throws IOException {
        Map<Object, Object> state = new LinkedHashMap<>();
        for (DType dtype : DType.values()) {
            if (dtype.isByteSized()) {
                Storage storage = Storage.allocate(dtype.nbytes(6));
                for (int i = 0; i < storage.nbytes(); i++) {
                    storage.set(i, (byte) (dtype.equals(DType.BOOL) ? i % 2 : 3 * i));
                }
                state.put(dtype.name(), Tensor.of(storage, dtype, 1, Shape.of(2, 2), 2, 1));
            }
        }
        assertThat(state).hasSizeGreaterThan(40);
        assertComesBack(state);
    }

    @Test
    void viewsStandOnOneStorage() throws IOException {
        Tensor base = Tensor.arange(DType.FLOAT32, 24).view(4, 6);
        Map<Object, Object> state = new LinkedHashMap<>();
        state.put("base", base);
        state.put("t", base.t());
        state.put("row", base.select(0, 2));
        state.put("empty", base.narrow(0, 1, 0));
        state.put("scalar", base.select(0, 1).select(0, 1));
        state.put("expanded", base.select(0, 0).expand(5, 6));
        state.put("complex", base.view(4, 3, 2).viewAsComplex().conj());
        state.put("meta", Tensor.meta(DType.INT8, 3, 4).t());
        state.put("neg", base.neg());
        state.put("int", base.view(DType.INT32));
        written(state, c -> {
            Sameness.check(state, c.state());
            assertThat(c.storages()).hasSize(2);
        });
    }

    /// A storage of PyTorch's has one class.
    @Test
    void anEmptyStorageOfSeveralClassesIsWrittenOnceForEach() throws IOException {
        Storage empty = Storage.allocate(0);
        Tensor doubles = Tensor.of(empty, DType.FLOAT64, 0, Shape.of(0), 1);
        Tensor bytes = Tensor.of(empty, DType.INT8, 0, Shape.of(0), 1);
        TypedStorage value = new TypedStorage(empty, DType.UINT8);
        Map<List<Object>, Integer> states = Map.of(List.of(doubles, value), 2, List.of(value, doubles, value), 2,
                List.of(doubles, value, bytes), 2, List.of(withGrad(doubles), bytes, value), 3);
        Path path = folder.resolve("state.pt");
        Path again = Files.createDirectory(folder.resolve("again")).resolve("state.pt");
        for (Map.Entry<List<Object>, Integer> state : states.entrySet()) {
            Checkpoint.save(path, state.getKey());
            try (Checkpoint c = Checkpoint.open(path)) {
                assertThat(c.storages()).as(state.toString()).hasSize(state.getValue());
                Checkpoint.save(again, c.state());
            }
            assertThat(again).as(state.toString()).hasSameBinaryContentAs(path);
        }
    }

    private static Tensor withGrad(Tensor tensor) {
        return tensor.withFlags(Set.of(Flag.REQUIRES_GRAD));
    }

    @Test
    void aStorageThatElementsDoNotFillComesBack() throws IOException {
        Storage storage = Storage.copyOf(new byte[]{1, 2, 3, 4, 5, 6, 7});
        assertComesBack(List.of(Tensor.of(storage, DType.INT16, 0, Shape.of(3), 1), storage));
        assertComesBack(
                List.of(TypedStorage.of(DType.FLOAT64, 1, 2), Storage.copyOf(new byte[]{9}), Storage.allocate(0)));
    }

    /// PyTorch takes them for one, and then, with `mmap`, all of them for elements of the first type.
    @Test
    void aStorageWithoutBytesMayBeOfSeveralTypes() throws IOException {
        Storage none = Storage.allocate(0);
        List<Object> state = List.of(new TypedStorage(none, DType.BOOL),
                Tensor.of(none, DType.INT64, 0, Shape.of(0), 1),
                Tensor.of(none, DType.COMPLEX64, 0, Shape.of(3, 0), 1, 1), none);
        written(state, c -> {
            for (int i = 0; i < state.size(); i++) {
                Sameness.check(state.get(i), ((List<?>) c.state()).get(i));
            }
        });
    }

    @Test
    void parametersAndTensorsWithAttributesComeBack() throws IOException {
        Tensor base = Tensor.of(1f, 2f);
        Typed parameter = new Typed("torch.nn.parameter.Parameter",
                base.withFlags(EnumSet.of(Tensor.Flag.REQUIRES_GRAD)));
        Typed frozen = new Typed("torch.nn.parameter.Parameter", base.view(1, 2));
        frozen.attributes().put("note", List.of("x", parameter));
        Typed noted = new Typed("torch.Tensor", base.view(2, 1));
        noted.attributes().put("scale", 2.5);
        Typed subclass = new Typed("my.models.Quaternion", base.narrow(0, 0, 1));
        Typed quantized = new Typed("torch.per_tensor_affine",
                Tensor.of(Storage.copyOf(new byte[]{1, 2}), DType.QINT8, 0,
                        Shape.of(2), 1));
        quantized.attributes().put("scale", 0.1);
        quantized.attributes().put("zero_point", 3L);
        Typed both = new Typed("torch.Tensor", quantized);
        both.attributes().put("name", "q");
        assertComesBack(List.of(parameter, frozen, noted, subclass, both, parameter));
    }

    @Test
    void anObjectOfJavaIsRefusedWithItsPathAndWithWhatIsSaved() {
        Map<String, Object> state = Map.of("lr", List.of(new BigDecimal("0.5")));
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(folder.resolve("no.pt"), state))
                .withMessageContaining("cannot save the value at 'lr/0' for PyTorch: a value of type java:")
                .withMessageContaining("use null, a Boolean, Long, Double, BigInteger or String");
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(folder.resolve("no.npz"), state));
        for (String name : List.of("no.safetensors", "no.npz", "no.gguf")) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Checkpoint.save(folder.resolve(name), Map.of("lr", new BigDecimal("0.5"))))
                    .withMessageStartingWith("lr is of type java:").withMessageContaining("save a .croft file");
        }
    }

    @Test
    void aTensorWithoutANameIsRefusedWithAWayToNameIt() {
        for (String name : List.of("no.safetensors", "no.npz", "no.gguf")) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Checkpoint.save(folder.resolve(name), Tensor.of(1f)))
                    .withMessageContaining("the state is a tensor without a name")
                    .withMessageContaining("put it into a map by a name")
                    .withMessageContaining(".npy").withMessageNotContaining("leave it out");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Checkpoint.save(folder.resolve(name), List.of(Tensor.of(1f))))
                    .withMessageContaining("the state is a list")
                    .withMessageContaining("put the tensors into a map by names");
        }
    }

    @Test
    void whatPyTorchHasNoPlaceForIsRefusedWithItsPath() {
        assertRefused(Map.of("a", List.of(1L, new Typed("java:Point", 1L))), "the value at 'a/1' for PyTorch");
        assertRefused(Map.of("a", new TypedMap("java:Point")), "java:Point");
        assertRefused(Map.of("a", new Typed("my.Thing", "no tensor")), "my.Thing");
        assertRefused(new Symbol("my.constant"), "my.constant");
        assertRefused(Map.of("a", Tensor.of(Storage.allocate(8), DType.opaque("Q4_0", 64), 0, Shape.of(1), 1)), "Q4_0");
        assertRefused(BigInteger.TWO.pow(2040), "256 bytes");
        assertRefused(List.of("\ud800"), "surrogate");
        assertRefused(Storage.meta(4), "without bytes");
        assertRefused(new TypedStorage(Storage.copyOf(new byte[]{1, 2, 3}), DType.INT16), "cannot be one of int16");
        assertRefused(new TypedStorage(Storage.copyOf(new byte[]{1, 2}), DType.UINT16), "cannot be one of uint16");
        Storage both = Storage.copyOf(new byte[]{1, 2});
        assertRefused(List.of(new TypedStorage(both, DType.INT16), both), "the value at '0' for PyTorch");
        TypedMap sparse = new TypedMap("torch.sparse_coo");
        sparse.put("indices", Tensor.of(1L));
        assertRefused(sparse, "is_coalesced");
        assertRefused(Map.of("a", Tensor.of(1, 2).withFlags(EnumSet.of(Tensor.Flag.REQUIRES_GRAD))),
                "the value at 'a'");
        Storage freed = Storage.copyOf(new byte[]{1});
        freed.release();
        assertRefused(Map.of("w", freed), "'w'");
        assertThatExceptionOfType(UnsavableValueException.class)
                .isThrownBy(() -> Checkpoint.save(folder.resolve("no.pt"),
                        Map.of("a/b", List.of(1L, new Symbol("my.constant")))))
                .extracting(UnsavableValueException::path).isEqualTo("a~1b/1");
    }

    /// The parts of a node are checked by the reader, and nowhere else.
    @Test
    void aNodeThatWouldNotBeReadAgainIsNotWritten() {
        Typed quantized = new Typed("torch.per_tensor_affine",
                Tensor.of(Storage.copyOf(new byte[]{1, 2}), DType.QINT8, 0, Shape.of(2), 1));
        quantized.attributes().put("scale", "large");
        quantized.attributes().put("zero_point", 3L);
        assertRefused(List.of(quantized), "cannot save the state for PyTorch: argument 2 of a quantizer");
        TypedMap sparse = new TypedMap("torch.sparse_csr");
        for (String part : List.of("crow_indices", "col_indices", "values", "size")) {
            sparse.put(part, 1L);
        }
        assertRefused(sparse, "argument 1 of torch.sparse_csr");
    }

    @Test
    void keysThatAreOneInPythonAreRefused() {
        Map<Object, Object> map = new LinkedHashMap<>();
        map.put(1L, "integer");
        map.put(1.0, "float");
        assertRefused(map, "twice");
        map.remove(1.0);
        map.put(true, "truth");
        assertRefused(map, "twice");
        assertRefused(new LinkedHashSet<>(List.of(Tuple.of(2L), Shape.of(2))), "twice");
        assertRefused(new LinkedHashSet<>(List.of(new byte[]{1}, new byte[]{1})), "twice");
        assertRefused(new LinkedHashSet<>(List.of(new Complex(0, 0), -0.0)), "twice");
        assertRefused(Map.of(new Typed("builtins.bytearray", new byte[1]), 1L), "a key of a dict");
    }

    @Test
    void deepStatesAndValuesThatHoldThemselvesAreRefused() {
        List<Object> list = new ArrayList<>();
        Object state = list;
        for (int i = 0; i < 200; i++) {
            state = List.of(state);
        }
        assertRefused(state, "deep");
        Typed self = new Typed("torch.nn.parameter.Parameter", Tensor.of(1f));
        self.attributes().put("me", self);
        assertRefused(self, "deep");
    }

    @Test
    void aRefusedStateLeavesTheOldFile() throws IOException {
        Path path = Files.writeString(folder.resolve("old.pth"), "old");
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(path, new Symbol("no")));
        assertThat(path).hasContent("old");
    }

    /// PyTorch 2.13 cannot read what it writes of these, either.
    @Test
    void whatPyTorchCouldNotLoadIsRefused() throws IOException {
        Set<Flag> grad = Set.of(Flag.REQUIRES_GRAD);
        assertComesBack(Tensor.zeros(DType.FLOAT32, 2).withFlags(grad));
        assertRefused(Tensor.zeros(DType.FLOAT8_E5M2, 2).withFlags(grad), "take the flag away");
        Tensor floats = Tensor.zeros(DType.FLOAT32, 2);
        assertRefused(List.of(floats.withFlags(grad), floats.view(DType.INT32)), "take the flag away");
        assertRefused(Tensor.meta(DType.QUINT8, 2), "quint8 on the meta device");
    }
}
