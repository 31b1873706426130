package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import io.undercroft.testsupport.Sameness;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TorchLegacyFormatTest {
    private static final OpenOptions OPTIONS = OpenOptions.defaults();
    private static final Path MODEL = Fixtures.MODELS.resolve("tiny-gpt2-legacy.pt");

    @TempDir
    private Path folder;

    /// A stream of one state and one storage of four floats, under the key `0`.
    private static byte[] stream(byte[] state, byte[] keys, long count) throws IOException {
        byte[] fixture = Files.readAllBytes(Fixtures.PYTORCH.resolve("view_metadata.legacy.pt"));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(fixture, 0, 137);
        out.writeBytes(state);
        out.writeBytes(keys);
        out.writeBytes(ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN).putLong(count).putFloat(1).putFloat(2)
                .putFloat(3).putFloat(4).array());
        return out.toByteArray();
    }

    private static PickleBuilder pickle() {
        return new PickleBuilder();
    }

    private static byte[] keys(String... keys) {
        PickleBuilder list = pickle().ops("](");
        List.of(keys).forEach(list::text);
        return list.ops("e").stop();
    }

    /// What names a storage of four floats.
    private static PickleBuilder storage(PickleBuilder pickle) {
        return pickle.ops("(").text("storage").global("torch", "FloatStorage").text("0").text("cpu").integer(4);
    }

    private FormatException refusal(byte[] stream) throws IOException {
        Path path = Files.write(folder.resolve("made.legacy.pt"), stream);
        FormatException[] refusal = new FormatException[1];
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Fixtures.open(path, _ -> {}))
                .satisfies(e -> refusal[0] = e);
        return refusal[0];
    }

    @Test
    void aStreamWithoutSurpriseIsRead() throws IOException {
        byte[] state = storage(pickle()).ops("NtQ").stop();
        Path path = Files.write(folder.resolve("made.legacy.pt"), stream(state, keys("0"), 4));
        Fixtures.open(path, contents -> assertThat(contents.storages().getFirst().nbytes()).isEqualTo(16));
    }

    /// PyTorch saves such tensors, as no bytes are taken for something else.
    @Test
    void aStorageWithoutBytesMayBeNamedWithTwoTypes() throws IOException {
        PickleBuilder state = pickle().ops("(");
        for (String type : List.of("IntStorage", "FloatStorage", "UntypedStorage")) {
            state.ops("(").text("storage").global(type.startsWith("U") ? "torch.storage" : "torch", type).text("0")
                    .text("cpu").integer(0).ops("NtQ");
        }
        Path path = Files.write(folder.resolve("made.legacy.pt"), stream(state.ops("t").stop(), keys("0"), 0));
        Fixtures.open(path, contents -> {
            List<?> storages = (List<?>) contents.state();
            assertThat(((TypedStorage) storages.get(0)).dtype()).isEqualTo(DType.INT32);
            assertThat(((TypedStorage) storages.get(1)).dtype()).isEqualTo(DType.FLOAT32);
            assertThat(((TypedStorage) storages.get(1)).untyped()).isSameAs(storages.get(2));
        });
    }

    /// What PyTorch 2.13 wrote of a tensor of 2 float32 on a storage of 10 bytes, 0 to 9. It reads 8 of them.
    private static final String TEN_BYTES = """
            gAKKCmz8nEb5IGqoUBkugAJN6QMugAJ9cQAoWBAAAABwcm90b2NvbF92ZXJzaW9ucQFN6QNYDQAAAGxpdHRsZV9lbmRpYW5xAohY
            CgAAAHR5cGVfc2l6ZXNxA31xBChYBQAAAHNob3J0cQVLAlgDAAAAaW50cQZLBFgEAAAAbG9uZ3EHSwR1dS6AAn1xAFgBAAAAdHEB
            Y3RvcmNoLl91dGlscwpfcmVidWlsZF90ZW5zb3JfdjIKcQIoKFgHAAAAc3RvcmFnZXEDY3RvcmNoCkZsb2F0U3RvcmFnZQpxBFgO
            AAAAOTQ0NzM1OTExMjIyODhxBVgDAAAAY3B1cQZLAk50cQdRSwBLAoVxCEsBhXEJiWNjb2xsZWN0aW9ucwpPcmRlcmVkRGljdApx
            CilScQt0cQxScQ1zLoACXXEAWA4AAAA5NDQ3MzU5MTEyMjI4OHEBYS4CAAAAAAAAAAABAgMEBQYHCAk=""";
    /// The same, and behind it a tensor of 0, 1 and 2. PyTorch does not read this.
    private static final String TEN_BYTES_AND_ANOTHER = """
            gAKKCmz8nEb5IGqoUBkugAJN6QMugAJ9cQAoWBAAAABwcm90b2NvbF92ZXJzaW9ucQFN6QNYDQAAAGxpdHRsZV9lbmRpYW5xAohY
            CgAAAHR5cGVfc2l6ZXNxA31xBChYBQAAAHNob3J0cQVLAlgDAAAAaW50cQZLBFgEAAAAbG9uZ3EHSwR1dS6AAn1xAChYAQAAAHRx
            AWN0b3JjaC5fdXRpbHMKX3JlYnVpbGRfdGVuc29yX3YyCnECKChYBwAAAHN0b3JhZ2VxA2N0b3JjaApGbG9hdFN0b3JhZ2UKcQRY
            DgAAADk0NTA3Nzg5MzU0ODQ4cQVYAwAAAGNwdXEGSwJOdHEHUUsASwKFcQhLAYVxCYljY29sbGVjdGlvbnMKT3JkZXJlZERpY3QK
            cQopUnELdHEMUnENWAEAAAB1cQ5oAigoaANoBFgOAAAAOTQ1MDc4NzU4OTY2NDBxD2gGSwNOdHEQUUsASwOFcRFLAYVxEoloCilS
            cRN0cRRScRV1LoACXXEAKFgOAAAAOTQ1MDc3ODkzNTQ4NDhxAVgOAAAAOTQ1MDc4NzU4OTY2NDBxAmUuAgAAAAAAAAAAAQIDBAUG
            BwgJAwAAAAAAAAAAAAAAAACAPwAAAEA=""";

    @Test
    void aStorageThatIsNoWholeNumberOfElementsKeepsAllItsBytes() throws IOException {
        byte[] save = Base64.getMimeDecoder().decode(TEN_BYTES);
        Path path = Files.write(folder.resolve("ten.legacy.pt"), save);
        Fixtures.open(path, TorchLegacyFormatTest::hasTenBytes);
        try (Checkpoint c = Checkpoint.open(path, OPTIONS.onMeta())) {
            assertThat(c.tensor("t").storage().nbytes()).isEqualTo(10);
        }
        Path both = Files.write(folder.resolve("both.legacy.pt"),
                Base64.getMimeDecoder().decode(TEN_BYTES_AND_ANOTHER));
        Fixtures.open(both, contents -> {
            hasTenBytes(contents);
            assertThat(contents.tensor("u").orElseThrow().toFloatArray()).containsExactly(0, 1, 2);
        });
    }

    @Test
    void suchAStorageEndsWhereTheNextSaveStarts() throws IOException {
        byte[] save = Base64.getMimeDecoder().decode(TEN_BYTES);
        byte[] twice = ByteBuffer.allocate(2 * save.length).put(save).put(save).array();
        Path path = Files.write(folder.resolve("twice.pt"), twice);
        try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
            assertThat(LegacySave.at(file, 0, true, ReadBudget.of(file.size())).end()).isEqualTo(save.length);
        }
    }

    private static void hasTenBytes(Contents contents) {
        Tensor tensor = contents.tensor("t").orElseThrow();
        assertThat(tensor.storage().segment().toArray(ValueLayout.JAVA_BYTE)).containsExactly(0, 1, 2, 3, 4, 5, 6, 7, 8,
                9);
        assertThat(tensor.shape()).isEqualTo(Shape.of(2));
    }

    @Test
    void keysAndCountsHaveToAgreeWithTheState() throws IOException {
        byte[] state = storage(pickle()).ops("NtQ").stop();
        assertThat(refusal(stream(state, keys("0"), 3)).what()).contains("has 3 elements");
        assertThat(refusal(stream(state, keys("0"), Long.MIN_VALUE)).what()).contains("elements of 4");
        assertThat(refusal(stream(state, keys("0", "0"), 4)).what()).contains("or twice");
        assertThat(refusal(stream(state, keys("1"), 4)).what()).contains("storage '1'");
        assertThat(refusal(stream(state, pickle().ops("]").stop(), 4)).what()).contains("of 1 storages");
        assertThat(refusal(stream(state, pickle().ops("N").stop(), 4)).what()).contains("no list");
        assertThat(refusal(stream(state, doubling().ops("]").get(60).ops("a").stop(), 4)).what()).contains("a tuple");
    }

    /// A tuple of 2^60 values in slot 60 of the memo; whoever prints or hashes it never ends.
    private static PickleBuilder doubling() {
        PickleBuilder pickle = pickle().ops(")").put(0);
        for (int i = 1; i <= 60; i++) {
            pickle.get(i - 1).bytes(0x86).put(i);
        }
        return pickle.ops("0");
    }

    @Test
    void namesThatDoNotEndAreRefused() throws IOException {
        byte[] state = pickle().ops("c" + "x".repeat(1000)).stop();
        assertThat(refusal(stream(state, keys(), 0)).what()).contains("does not end");
    }

    @Test
    void viewsOutsideTheirStorageAreRefused() throws IOException {
        for (int[] view : new int[][]{{0, 5}, {4, 1}, {-1, 2}, {1, -1}, {Integer.MAX_VALUE, Integer.MAX_VALUE}}) {
            byte[] state = storage(pickle()).text("v").integer(view[0]).integer(view[1]).bytes(0x87).ops("tQ").stop();
            assertThat(refusal(stream(state, keys("0"), 4)).code()).isEqualTo("TORCH-STORAGE");
        }
        PickleBuilder twice = storage(pickle().ops("](")).text("v").integer(0).integer(1).bytes(0x87).ops("tQ");
        storage(twice).text("v").integer(0).integer(2).bytes(0x87).ops("tQe");
        assertThat(refusal(stream(twice.stop(), keys("0"), 4)).what()).contains("in two ways");
    }

    @Test
    void aClassWithItsSourceIsThatClass() throws IOException {
        byte[] module = pickle().ops("(").text("module").global("torch.nn.modules.linear", "Linear").text("linear.py")
                .text("class Linear").ops("tQ").stop();
        Path strict = Files.write(folder.resolve("strict.legacy.pt"), stream(module, keys(), 0));
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> Checkpoint.open(strict, OPTIONS.setting("torch.strict", "on")).close())
                .withMessageContaining("torch.nn.modules.linear.Linear")
                .satisfies(refusal -> assertThat(refusal.code()).isEqualTo("TORCH-GLOBAL"));
        Fixtures.open(strict, contents -> {
            assertThat(contents.state()).isEqualTo(new Symbol("torch.nn.modules.linear.Linear"));
            assertThat(contents.foreignClasses())
                    .containsExactly(new ForeignClass("torch.nn.modules.linear.Linear", 0, false));
        });
        byte[] known = pickle().ops("(").text("module").global("collections", "OrderedDict").text("a").text("b")
                .ops("tQ)R").stop();
        Path path = Files.write(folder.resolve("module.legacy.pt"), stream(known, pickle().ops("]").stop(), 0));
        Fixtures.open(path, contents -> assertThat(contents.state()).hasToString("collections.OrderedDict{}"));
    }

    /// PyTorch writes little-endian elements on every machine, and ignores what it says of the machine.
    @Test
    void theDescriptionOfTheMachineDoesNotChangeTheElements() throws IOException {
        byte[] bytes = Files.readAllBytes(Fixtures.PYTORCH.resolve("single_f32.legacy.pt"));
        int mark = new String(bytes, ISO_8859_1).indexOf("little_endian") + "little_endian".length();
        while (bytes[mark] != (byte) 0x88) {
            mark++;
        }
        bytes[mark] = (byte) 0x89;
        Path path = Files.write(folder.resolve("big.legacy.pt"), bytes);
        Fixtures.open(Fixtures.PYTORCH.resolve("single_f32.legacy.pt"),
                expected -> Fixtures.open(path, contents -> Sameness.check(expected.state(), contents.state())));
    }

    @Test
    void ofSeveralSavesTheFirstIsOpenedOrAnotherOne() throws IOException {
        Path path = folder.resolve("several.legacy.pt");
        List<String> saves = List.of("single_f32", "tied", "training_checkpoint");
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (String save : saves) {
            all.writeBytes(Files.readAllBytes(Fixtures.PYTORCH.resolve(save + ".legacy.pt")));
        }
        Files.write(path, all.toByteArray());
        Fixtures.open(Fixtures.PYTORCH.resolve("single_f32.pt"),
                first -> Fixtures.open(path, contents -> Sameness.check(first.state(), contents.state())));
        for (int i = 0; i < saves.size(); i++) {
            OpenOptions options = OPTIONS.setting("torch-legacy.save", Integer.toString(i + 1));
            Fixtures.open(Fixtures.PYTORCH.resolve(saves.get(i) + ".legacy.pt"),
                    expected -> Fixtures.open(path, options,
                            contents -> Sameness.check(expected.state(), contents.state())));
        }
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> Fixtures.open(path, OPTIONS.setting("torch-legacy.save", "4"), _ -> {}))
                .withMessageContaining("the file has 3 saves");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Fixtures.open(path, OPTIONS.setting("torch-legacy.save", "0"), _ -> {}));
    }

    private static byte[] saved(String name) throws IOException {
        return Files.readAllBytes(Fixtures.PYTORCH.resolve(name + ".legacy.pt"));
    }

    private Path together(byte[]... parts) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return Files.write(folder.resolve("together.legacy.pt"), all.toByteArray());
    }

    @Test
    void otherSavesAreReported() throws IOException {
        byte[] first = saved("single_f32");
        Path path = together(first, saved("tied"), first);
        long size = Files.size(path);
        try (Checkpoint c = Checkpoint.open(path);
                Checkpoint second = Checkpoint.open(path, OPTIONS.setting("torch-legacy.save", "2"))) {
            assertThat(c.unread()).containsExactly(new UnreadPart(Kind.STATE, "2 saves of 3 (save 1 was opened)",
                    first.length, size - first.length, "torch-legacy.save"));
            assertThat(second.unread()).containsExactly(new UnreadPart(Kind.STATE, "2 saves of 3 (save 2 was opened)",
                    0, 2L * first.length, "torch-legacy.save"));
        }
        try (Checkpoint alone = Checkpoint.open(Fixtures.PYTORCH.resolve("tied.legacy.pt"))) {
            assertThat(alone.unread()).isEmpty();
        }
    }

    @Test
    void whatIsNoSaveIsReportedAndThatWhichCannotBeRead() throws IOException {
        byte[] first = saved("single_f32");
        Path path = together(first, "some text".getBytes(ISO_8859_1));
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.tree()).isNotNull();
            assertThat(c.unread()).singleElement().satisfies(part -> {
                assertThat(part.kind()).isEqualTo(Kind.BYTES);
                assertThat(part.offset()).isEqualTo(first.length);
                assertThat(part.nbytes()).isEqualTo(9);
                assertThat(part.setting()).isEqualTo("torch-legacy.save");
            });
        }
        Path unsafe = together(first, first, saved("UNSAFE_print"), first);
        try (Checkpoint c = Checkpoint.open(unsafe)) {
            assertThat(c.unread()).extracting(UnreadPart::kind).containsExactly(Kind.STATE);
        }
        OpenOptions strict = OPTIONS.setting("torch.strict", "on");
        try (Checkpoint c = Checkpoint.open(unsafe, strict)) {
            assertThat(c.unread()).extracting(UnreadPart::kind).containsExactly(Kind.STATE, Kind.BYTES);
            assertThat(c.unread().getLast().what()).contains("print");
        }
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> Checkpoint.open(unsafe, strict.setting("torch-legacy.save", "3")))
                .withMessageContaining("print");
    }

    @Test
    void someTensorsAreLoadedAndTheOthersAreOnMeta() throws IOException {
        try (Checkpoint whole = Checkpoint.open(MODEL);
                Checkpoint some = Checkpoint.open(MODEL, OPTIONS.only("transformer.wte.weight"))) {
            assertThat(some.names()).containsExactly("transformer.wte.weight");
            assertThat(some.storages()).hasSize(1);
            assertThat(some.tensor("transformer.wte.weight").equal(whole.tensor("transformer.wte.weight"))).isTrue();
            assertThat(whole.tensor("lm_head.weight").storage())
                    .isSameAs(whole.tensor("transformer.wte.weight").storage());
            assertThat(whole.storages()).noneMatch(storage -> storage.isMeta());
        }
    }

    @Test
    void whatIsAlignedIsMappedAndTheRestIsCopied() throws IOException {
        Path path = Files.copy(Fixtures.PYTORCH.resolve("all_dtypes.legacy.pt"), folder.resolve("all.legacy.pt"));
        int mapped = 0;
        try (Checkpoint c = Checkpoint.open(path, OPTIONS.mapping(MapMode.READ_ONLY))) {
            for (Storage storage : c.storages()) {
                mapped += storage.filename().isEmpty() ? 0 : 1;
            }
            assertThat(mapped).isPositive().isLessThan(c.storages().size());
            Tensor copied = c.names().stream().map(c::tensor).filter(t -> t.storage().filename().isEmpty()).findFirst()
                    .orElseThrow();
            assertThatThrownBy(() -> copied.storage().set(0, (byte) 1))
                    .isInstanceOf(UnsupportedOperationException.class);
        }
    }
}
