package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.map;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappingException;
import io.undercroft.serializer.internal.tree.StateIndex;
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
import io.undercroft.storage.TypedStorage;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CheckpointTest {
    @TempDir
    Path directory;

    private Path file;

    @BeforeEach
    void nameTheFile() {
        file = directory.resolve("model.croft");
    }

    @Test
    void tiedTensorsComeBackOnOneStorage() throws IOException {
        Tensor weight = counting(6).view(2, 3);
        Map<String, Object> state = map("wte", weight, "head", weight.transpose(0, 1), "other", weight.copy());
        Checkpoint.save(file, state);
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.format()).isEqualTo("croft");
            assertThat(c.names()).containsExactly("wte", "head", "other");
            assertThat(c.tensor("wte").storage()).isSameAs(c.tensor("head").storage());
            assertThat(c.tensor("other").storage()).isNotSameAs(c.tensor("wte").storage());
            assertThat(c.tensor("head").stride()).containsExactly(1, 3);
            assertThat(c.tensor("head").contentEquals(weight.transpose(0, 1))).isTrue();
            assertThat(c.storages()).hasSize(2);
            assertThat(c.verify().damages()).isEmpty();
        }
    }

    @Test
    void aClosedCheckpointAnswersOnlyWhatItIs() throws IOException {
        Checkpoint.save(file, map("a", counting(6)));
        Checkpoint c = Checkpoint.open(file);
        Map<String, Tensor> tensors = c.tensors();
        assertThat(c.state()).isNotNull();
        c.close();

        List<ThrowingCallable> uses = List.of(c::names, () -> c.tensor("a"), () -> c.contains("a"), c::state, c::tree,
                c::stateMap, c::metadata, c::storages, c::tensors, c::snapshots, c::unread, c::verify, c::bases,
                c::skippedCommit, c::snapshot, () -> c.scrub(_ -> {}), () -> c.rows("a", 0, 1),
                () -> c.compare(Map.of()),
                () -> c.loadInto(Map.of()), () -> tensors.get("a"), tensors::size);
        uses.forEach(use -> assertThatIllegalStateException().isThrownBy(use)
                .withMessage(file + " is closed; close it later, or open it again"));
        assertThat(c.path()).isEqualTo(file);
        assertThat(c.files()).containsExactly(file);
        assertThat(c.format()).isEqualTo("croft");
        assertThat(c.damages()).isEmpty();
        assertThat(c).hasToString(file + " (croft)");
    }

    @Test
    void aStateThatIsAMapOfTextsNeedsNoCast() throws IOException {
        Checkpoint.save(file, map("step", 7L, "loss", null));
        try (Checkpoint c = Checkpoint.open(file)) {
            Map<String, Object> state = c.stateMap();
            assertThat(state).containsEntry("step", 7L).containsEntry("loss", null).isSameAs(c.state());
        }
        Checkpoint.save(file, List.of(1L));
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThatExceptionOfType(ClassCastException.class).isThrownBy(c::stateMap)
                    .withMessageContaining("is of the class java.util.ArrayList, not of java.util.Map");
        }
        Checkpoint.save(file, Map.of(0L, "first"));
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThatExceptionOfType(ClassCastException.class).isThrownBy(c::stateMap)
                    .withMessageContaining("has the key 0, which is no text");
        }
    }

    @Test
    void aValueOfAnotherClassIsRefusedWithTheClassToAskFor() throws IOException {
        Checkpoint.save(file, map("a", Tensor.of(1f, 2f), "tuple", Tuple.of(1L, 2L)));
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThatExceptionOfType(ClassCastException.class).isThrownBy(() -> c.value("a", Integer.class))
                    .withMessageContaining("the value at 'a' in ")
                    .withMessageContaining("is a tensor of shape ")
                    .withMessageEndingWith("not of the class java.lang.Integer; ask for the class Tensor, or for the "
                            + "tensor by its name with Checkpoint.tensor");
            assertThat(c.value("a", Tensor.class)).isSameAs(c.tensor("a"));
            assertThatExceptionOfType(ClassCastException.class).isThrownBy(() -> c.value("tuple", ArrayList.class))
                    .withMessageEndingWith("; ask for the class List, which lists and tuples have");
            assertThat((Object) c.value("tuple", List.class)).isEqualTo(List.of(1L, 2L));
        }
    }

    @Test
    void writingThroughOneNameShowsThroughTheOtherAndNotInTheFile() throws IOException {
        Tensor weight = counting(6);
        Checkpoint.save(file, map("a", weight, "b", weight.narrow(0, 3, 3)));
        byte[] before = Files.readAllBytes(file);
        try (Checkpoint c = Checkpoint.open(file)) {
            c.tensor("a").setDouble(4, 42);
            assertThat(c.tensor("b").getFloat(1)).isEqualTo(42f);
        }
        assertThat(Files.readAllBytes(file)).isEqualTo(before);
    }

    @Test
    void openingMapsNothingUntilItIsTouched() throws IOException {
        Checkpoint.save(file, map("a", counting(1 << 20)));
        try (Checkpoint c = Checkpoint.open(file)) {
            Tensor a = c.tensor("a");
            assertThat(a.storage().isMaterialized()).isFalse();
            assertThat(a.getFloat(7)).isEqualTo(7f);
            assertThat(a.storage().isMaterialized()).isTrue();
        }
    }

    @Test
    void aSharedMappingReachesTheFileAndAReadOnlyOneRefuses() throws IOException {
        Checkpoint.save(file, map("a", counting(4)));
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().mapping(MapMode.SHARED))) {
            c.tensor("a").setDouble(0, 9);
        }
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().mapping(MapMode.READ_ONLY))) {
            assertThat(c.tensor("a").getFloat(0)).isEqualTo(9f);
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(() -> c.tensor("a").setDouble(0, 1));
        }
    }

    @Test
    void everyKindOfValueComesBackEqual() throws IOException {
        TypedMap ordered = new TypedMap("collections.OrderedDict");
        ordered.put("w", 1L);
        ordered.attributes().put("_metadata", map("version", 2L));
        Map<Object, Object> keys = new LinkedHashMap<>();
        keys.put(0L, "int");
        keys.put("0", "text");
        keys.put(Tuple.of(1L, "b"), "tuple");
        keys.put(null, "null");
        Map<String, Object> state = map("none", null, "truth", true, "long", Long.MIN_VALUE, "big",
                BigInteger.TWO.pow(100), "double",
                0.1, "text", "Grüße 🧮", "list", new ArrayList<>(List.of(1L, 2L)), "tuple", Tuple.of(1L, Tuple.of()),
                "set",
                new LinkedHashSet<>(List.of("a", 1L)), "complex", new Complex(1, -2), "dtype", DType.BFLOAT16, "device",
                Device.cuda(1),
                "shape", Shape.of(2, 0), "symbol", new Symbol("torch.strided"), "ordered", ordered, "keys", keys);
        Checkpoint.save(file, state, SaveOptions.defaults().metadata(Map.of("made", "by test")));
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.state()).isEqualTo(state);
            assertThat(c.metadata()).containsExactly(Map.entry("made", "by test"));
            Map<?, ?> loaded = (Map<?, ?>) c.state();
            assertThat(loaded.get("tuple")).isInstanceOf(Tuple.class);
            assertThat(loaded.get("ordered")).isInstanceOfSatisfying(TypedMap.class, map -> {
                assertThat(map.type()).isEqualTo("collections.OrderedDict");
                assertThat(map.attributes()).isEqualTo(ordered.attributes());
            });
        }
    }

    @Test
    void bytesStoragesAndTypedValuesComeBack() throws IOException {
        Storage bare = Storage.copyOf((byte) 1, (byte) 2, (byte) 3, (byte) 4);
        Typed parameter = new Typed("torch.nn.parameter.Parameter", counting(2));
        parameter.attributes().put("note", "x");
        Checkpoint.save(file, List.of(new byte[]{5, 6}, bare, new TypedStorage(bare, DType.INT16), parameter));
        try (Checkpoint c = Checkpoint.open(file)) {
            List<?> loaded = (List<?>) c.state();
            assertThat(loaded.get(0)).isEqualTo(new byte[]{5, 6});
            assertThat(((Storage) loaded.get(1)).contentEquals(bare)).isTrue();
            assertThat(loaded.get(2)).isEqualTo(new TypedStorage((Storage) loaded.get(1), DType.INT16));
            assertThat(loaded.get(3)).isInstanceOfSatisfying(Typed.class, typed -> {
                assertThat(typed.type()).isEqualTo("torch.nn.parameter.Parameter");
                assertThat(typed.value()).isSameAs(c.tensor("3"));
                assertThat(typed.attributes()).containsEntry("note", "x");
            });
        }
    }

    @Test
    void containersAndTensorsThatStandInTwoPlacesComeBackAsOne() throws IOException {
        Tensor tensor = counting(3);
        List<Object> shared = new ArrayList<>(List.of(tensor));
        Tuple.Builder self = new Tuple.Builder();
        List<Object> inner = new ArrayList<>();
        inner.add(self.tuple());
        self.add(inner);
        Typed loop = new Typed("loop", null);
        loop.value(new ArrayList<>(List.of(loop)));
        TypedMap twice = new TypedMap("twice");
        Checkpoint.save(file, Tuple.of(shared, shared, tensor, self.tuple(), loop, twice, twice));
        try (Checkpoint c = Checkpoint.open(file)) {
            Tuple loaded = (Tuple) c.state();
            assertThat(loaded.get(0)).isSameAs(loaded.get(1));
            assertThat(((List<?>) loaded.get(0)).getFirst()).isSameAs(loaded.get(2));
            Tuple cyclic = (Tuple) loaded.get(3);
            assertThat(((List<?>) cyclic.get(0)).getFirst()).isSameAs(cyclic);
            Typed again = (Typed) loaded.get(4);
            assertThat(((List<?>) again.value()).getFirst()).isSameAs(again);
            assertThat(loaded.get(5)).isSameAs(loaded.get(6));
        }
    }

    @Test
    void tensorsThatAreKeysComeBackAsKeys() throws IOException {
        Tensor key = counting(2);
        Tensor inTuple = counting(3);
        Map<Object, Object> state = new LinkedHashMap<>();
        state.put(key, "by tensor");
        state.put(Tuple.of(inTuple, 1L), "by tuple");
        Checkpoint.save(file, state);
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.names()).containsExactly("tensor", "tuple/0");
            assertThat(c.state()).isEqualTo(
                    Map.of(c.tensor("tensor"), "by tensor", Tuple.of(c.tensor("tuple/0"), 1L), "by tuple"));
        }
    }

    @Test
    void everyDtypeEmptyScalarAndExpandedTensorsComeBack() throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        for (DType dtype : DType.values()) {
            Storage storage = Storage.allocate(dtype.nbytes(6));
            for (long i = 0; i < storage.nbytes(); i++) {
                storage.set(i, (byte) (31 * i + 7));
            }
            state.put(dtype.name(), Tensor.of(storage, dtype, 0, Shape.of(2, 3), 3, 1));
        }
        state.put("opaque", Tensor.of(Storage.allocate(18), DType.opaque("q4_0", 144), 0, Shape.of(1), 1));
        state.put("empty", Tensor.zeros(DType.FLOAT32, 2, 0, 3));
        state.put("scalar", Tensor.zeros(DType.INT64));
        state.put("expanded", counting(3).view(3, 1).expand(3, 5));
        state.put("flagged", counting(2).withFlags(EnumSet.of(Tensor.Flag.NEG, Tensor.Flag.REQUIRES_GRAD)));
        Checkpoint.save(file, state);
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.names()).containsExactlyElementsOf(state.keySet());
            state.forEach((name, value) -> {
                Tensor saved = (Tensor) value;
                Tensor loaded = c.tensor(name);
                assertThat(loaded.dtype()).isEqualTo(saved.dtype());
                assertThat(loaded.stride()).isEqualTo(saved.stride());
                assertThat(loaded.flags()).isEqualTo(saved.flags());
                assertThat(loaded.contentEquals(saved)).as(name).isTrue();
            });
        }
    }

    @Test
    void zerosTakeNoRoomAndMetaStoragesHaveNoBytes() throws IOException {
        Tensor sparse = Tensor.zeros(DType.UINT8, 8 << 20);
        sparse.setLong(5 << 20, 1);
        Storage meta = Storage.meta(1L << 40);
        Checkpoint.save(file, map("sparse", sparse, "meta", Tensor.of(meta, DType.UINT8, 0, Shape.of(1L << 40), 1)));
        assertThat(Files.size(file)).isLessThan(2 << 20);
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.tensor("sparse").contentEquals(sparse)).isTrue();
            c.tensor("sparse").setLong(0, 3);
            assertThat(c.tensor("sparse").getLong(0)).isEqualTo(3);
            assertThat(c.tensor("meta").device()).isEqualTo(Device.META);
            assertThat(c.verify().damages()).isEmpty();
        }
    }

    @Test
    void theSameStateGivesTheSameBytesAlsoAfterALoad() throws IOException {
        Tensor weight = counting(40_000);
        Map<String, Object> state = map("a", weight, "b", counting(5), "c", weight.narrow(0, 2, 9));
        Checkpoint.save(file, state);
        Path second = directory.resolve("second.croft");
        try (Checkpoint c = Checkpoint.open(file)) {
            Checkpoint.save(second, c.state());
        }
        assertThat(second).hasSameBinaryContentAs(file);
    }

    @Test
    void closingInvalidatesTensorsButNotRetainedStorages() throws IOException {
        Checkpoint.save(file, map("a", counting(4), "b", counting(4), "c", counting(4)));
        Checkpoint c = Checkpoint.open(file);
        Tensor touched = c.tensor("a");
        touched.getFloat(0);
        Tensor untouched = c.tensor("b");
        Tensor retained = c.tensor("c");
        retained.storage().retain();
        c.close();
        c.close();
        assertThatIllegalStateException().isThrownBy(() -> touched.getFloat(0));
        assertThatIllegalStateException().isThrownBy(() -> untouched.getFloat(0));
        assertThat(retained.getFloat(3)).isEqualTo(3f);
        retained.storage().release();
        assertThatIllegalStateException().isThrownBy(() -> retained.getFloat(3));
    }

    @Test
    void savingOverAnOpenFileLeavesItsReadersAlone() throws IOException {
        Checkpoint.save(file, map("a", counting(4)));
        try (Checkpoint c = Checkpoint.open(file)) {
            Checkpoint.save(file, map("a", Tensor.of(9f)));
            assertThat(c.tensor("a").getFloat(3)).isEqualTo(3f);
        }
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.tensor("a").getFloat(0)).isEqualTo(9f);
        }
    }

    @Test
    void aStateThatCannotBeSavedIsRefusedWithItsPathAndLeavesTheFormerFile() throws IOException {
        Checkpoint.save(file, map("a", counting(4)));
        byte[] before = Files.readAllBytes(file);
        Map<String, Object> state = map("a", counting(2), "optimizer", map("rng", new Object()));
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(file, state))
                .withMessageContaining("'optimizer/rng'").withMessageContaining("java.lang.Object");
        assertThat(Files.readAllBytes(file)).isEqualTo(before);
        assertThat(directory).isDirectoryContaining(path -> path.equals(file)).satisfies(this::holdsOneFile);
    }

    @Test
    void keysThatAreNoPlainValuesComeBackToo() throws IOException {
        Checkpoint.save(file, Map.of(List.of(1), "x"));
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.state()).isEqualTo(Map.of(List.of(1), "x"));
            assertThat(c.tree()).isInstanceOf(Typed.class);
        }
    }

    @Test
    void nestingBeyondTheFormatsLimitIsRefused() {
        Object deep = 1L;
        for (int i = 0; i < 70; i++) {
            TypedMap map = new TypedMap("t");
            map.put("k", deep);
            deep = map;
        }
        Object state = deep;
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(file, state))
                .withMessageContaining("128");
    }

    @Test
    void aFreedStorageCannotBeSavedAndLeavesNothingBehind() {
        Tensor freed = counting(4);
        freed.storage().release();
        assertThatIllegalStateException().isThrownBy(() -> Checkpoint.save(file, map("a", freed)))
                .withMessageContaining("freed");
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void aTensorOfAClosedCheckpointCannotBeSavedAndTheFormerFileStays() throws IOException {
        Path former = directory.resolve("former.croft");
        Checkpoint.save(file, map("w", counting(4)));
        Checkpoint.save(former, map("w", counting(5)));
        byte[] before = Files.readAllBytes(former);
        Tensor gone;
        try (Checkpoint c = Checkpoint.open(file)) {
            gone = c.tensor("w");
        }
        assertThatIllegalStateException()
                .isThrownBy(() -> Checkpoint.save(former, map("model", map("w", gone))))
                .withMessageContaining("'model/w'");
        assertThat(former).hasBinaryContent(before);
        assertThat(directory).isDirectoryNotContaining(path -> !path.equals(file) && !path.equals(former));
    }

    @Test
    void namesThatWouldCollideWithoutEscapingAreToldApartInTheFile() throws IOException {
        Map<Object, Object> state = new LinkedHashMap<>();
        state.put("a/b", Tensor.of(1));
        state.put("a", map("b", Tensor.of(2)));
        state.put("a~1b", Tensor.of(3));
        state.put("4", Tensor.of(4));
        state.put(4L, Tensor.of(5));
        Checkpoint.save(file, state);
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.names()).containsExactly("a~1b", "a/b", "a~01b", "4", "4#2");
            assertThat(c.names().stream().map(name -> c.tensor(name).getLong(0))).containsExactly(1L, 2L, 3L, 4L, 5L);
        }
    }

    @Test
    void savingIntoAMissingDirectoryOrOverADirectorySaysSo() {
        assertThatExceptionOfType(NoSuchFileException.class)
                .isThrownBy(() -> Checkpoint.save(directory.resolve("no/such.croft"), Map.of()))
                .withMessageContaining("does not exist");
        assertThatExceptionOfType(FileSystemException.class).isThrownBy(() -> Checkpoint.save(directory, Map.of()))
                .withMessageContaining("directory");
    }

    @Test
    void whatReadersWouldRefuseIsNotSaved() {
        Tensor huge = Tensor.of(Storage.meta(1L << 50), DType.UINT8, 0, Shape.of(1L << 50), 1);
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(file, huge))
                .withMessageContaining("readers accept");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(file, Map.of("é".repeat(3000), counting(1))))
                .withMessageContaining("4096");
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void manyTensorsOfOneNameTakeNoMoreWorkThanOthers() throws IOException {
        Map<Object, Object> state = tensorsOfOneName(40_000);
        Checkpoint.save(file, state);
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.names()).hasSize(40_000).contains("tensor", "tensor#2", "tensor#40000");
        }
        assertThat(allocatedByNaming(state)).isLessThan(20 * allocatedByNaming(tensorsOfOneName(4000)));
    }

    private static Map<Object, Object> tensorsOfOneName(int count) {
        Map<Object, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) {
            state.put(Tensor.of(Storage.meta(4), DType.FLOAT32, 0, Shape.of(1), 1), null);
        }
        return state;
    }

    /// Trying each number for each name would make as many strings.
    private static long allocatedByNaming(Map<Object, Object> state) {
        long before = Proc.allocatedByThisThread();
        StateIndex.of(state);
        return Proc.allocatedByThisThread() - before;
    }

    @Test
    void aReplacedFileKeepsItsMode() throws IOException {
        Checkpoint.save(file, Map.of());
        Set<PosixFilePermission> mode = PosixFilePermissions.fromString("rw-r-----");
        Files.setPosixFilePermissions(file, mode);
        Checkpoint.save(file, map("a", counting(1)));
        assertThat(Files.getPosixFilePermissions(file)).isEqualTo(mode);
    }

    @Test
    void namesAsLongAsTheSystemAllowsAndLinksToNothingAreSaved() throws IOException {
        Path longest = directory.resolve("n".repeat(249) + ".croft");
        Path dangling = Files.createSymbolicLink(directory.resolve("link.croft"), Path.of("elsewhere.croft"));
        Checkpoint.save(longest, Map.of());
        Checkpoint.save(dangling, Map.of());
        assertThat(longest).isRegularFile();
        assertThat(directory.resolve("elsewhere.croft")).isRegularFile();
    }

    @Test
    void anInterruptedSaveSaysSoAndLeavesTheFormerFile() throws IOException {
        Checkpoint.save(file, map("a", counting(1)));
        byte[] before = Files.readAllBytes(file);
        Thread.currentThread().interrupt();
        assertThatExceptionOfType(IOException.class).isThrownBy(() -> Checkpoint.save(file, map("b", counting(9))))
                .withMessageContaining("interrupted");
        assertThat(Thread.interrupted()).isTrue();
        assertThat(Files.readAllBytes(file)).isEqualTo(before);
        assertThat(directory.toFile().list()).hasSize(1);
    }

    @Test
    void aSymbolicLinkKeepsPointing() throws IOException {
        Path link = directory.resolve("latest.croft");
        Checkpoint.save(file, map("a", counting(1)));
        Files.createSymbolicLink(link, file);
        Checkpoint.save(link, map("b", counting(1)));
        assertThat(link).isSymbolicLink();
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.names()).containsExactly("b");
        }
    }

    @Test
    void filesThatAreNoneAreRefusedByName() throws IOException {
        Path empty = Files.createFile(directory.resolve("empty"));
        Path text = Files.writeString(directory.resolve("text"), "hello, world\n");
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(empty))
                .withMessageContaining("empty").satisfies(e -> assertThat(e.file()).isEqualTo(empty.toString()));
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(text))
                .withMessageContaining("known format");
        assertThatExceptionOfType(NoSuchFileException.class).isThrownBy(() -> Checkpoint.open(file));
        assertThatExceptionOfType(FileSystemException.class).isThrownBy(() -> Checkpoint.open(directory));
    }

    @Test
    void everyTruncationIsRefused() throws IOException {
        Checkpoint.save(file, map("a", counting(10)));
        byte[] whole = Files.readAllBytes(file);
        Path cut = directory.resolve("cut.croft");
        for (int length = 1; length < whole.length; length += length < 200 || length > whole.length - 200 ? 1 : 997) {
            Files.write(cut, Arrays.copyOf(whole, length));
            assertThatExceptionOfType(FormatException.class).as("%d bytes", length)
                    .isThrownBy(() -> Checkpoint.open(cut));
        }
    }

    @Test
    void verifyNamesTheDamagedTensor() throws IOException {
        Checkpoint.save(file, map("good", counting(10), "bad", counting(20).view(4, 5)));
        byte[] bytes = Files.readAllBytes(file);
        // The second small storage starts 64 bytes after the first.
        bytes[1024 + 64 + 4] ^= 1;
        Files.write(file, bytes);
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.verify().damages()).singleElement().satisfies(damage -> {
                assertThat(damage.where()).isEqualTo("tensor 'bad'");
                assertThat(damage.offset()).isEqualTo(1024 + 64);
            });
            assertThat(c.tensor("good").contentEquals(counting(10))).isTrue();
        }
    }

    @Test
    void damageInALargeIndexIsFoundWhenItIsUsedAndSaidWithTheFile() throws IOException {
        Map<String, Object> state = manyTensors();
        state.put("notes", "x".repeat(12_000));
        Checkpoint.save(file, state);
        byte[] bytes = Files.readAllBytes(file);
        // No tensor needs the blocks of the tree in which there is no name.
        int notes = new String(bytes, StandardCharsets.ISO_8859_1).indexOf("x".repeat(12_000));
        bytes[notes + 6_000] ^= 1;
        Files.write(file, bytes);
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.tensor("layer.1999").getFloat(1)).isEqualTo(1f);
            assertThatExceptionOfType(FormatException.class).isThrownBy(c::state)
                    .withMessageContaining(file.toString()).extracting(FormatException::code).isEqualTo("V14-CHECKSUM");
            assertThat(c.verify().damages()).isNotEmpty().allSatisfy(
                    damage -> assertThat(damage.code()).isEqualTo("V14-CHECKSUM"));
            assertThat(c.tensor("layer.3").getFloat(2)).isEqualTo(2f);
        }
    }

    @Test
    void aLargeIndexThatWasCutWhileTheFileWasOpenIsSaidToBe() throws IOException {
        Checkpoint.save(file, manyTensors());
        try (Checkpoint c = Checkpoint.open(file); FileChannel channel = FileChannel.open(file, WRITE)) {
            channel.truncate(4096);
            assertThatExceptionOfType(MappingException.class).isThrownBy(() -> c.tensor("layer.7"))
                    .withMessageContaining(file.toString());
        }
    }

    private static Map<String, Object> manyTensors() {
        Tensor shared = counting(4);
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < 2000; i++) {
            state.put("layer." + i, shared.view(2, 2).view(4));
        }
        return state;
    }

    @Test
    void aMissingNameIsSaidWithTheFile() throws IOException {
        Checkpoint.save(file, map("a", counting(1)));
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.contains("b")).isFalse();
            assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> c.tensor("b"))
                    .withMessageContaining("model.croft");
        }
    }

    @Test
    void aValueThatIsRequestedAsATensorIsNamedAsOne() throws IOException {
        Checkpoint.save(file, map("a", counting(1), "optimizer", map("groups", List.of(map("lr", 0.5)))));
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> c.tensor("optimizer/groups/0/lr"))
                    .withMessage(file + " has no tensor 'optimizer/groups/0/lr' among its 1; it is a value that is no "
                            + "tensor, which Checkpoint.value returns");
            assertThat(c.value("optimizer/groups/0/lr")).isEqualTo(0.5);
            assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> c.tensor("optimizer/groups/0"))
                    .withMessageNotContaining("Checkpoint.value");
        }
    }

    private void holdsOneFile(Path path) {
        assertThat(path.toFile().list()).hasSize(1);
    }

    private static Tensor counting(int n) {
        float[] values = new float[n];
        for (int i = 0; i < n; i++) {
            values[i] = i;
        }
        return Tensor.of(values);
    }

}
