package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.SaveReport.Kind;
import io.undercroft.serializer.SaveReport.Loss;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Sameness;
import io.undercroft.testsupport.Tries;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Classes that the table does not have: what a pickle says of their objects is in the state, and nothing else happens.
class InertObjectsTest {
    @TempDir
    private Path folder;

    static Object load(byte[] pickle, ForeignNames names) {
        try {
            Object state = new Unpickler(UnpicklerTest.input(pickle), TorchStorages.ofSizes()::find, names,
                    ReadBudget.of(pickle.length)).run();
            StateCheck.check(state, names.isStrict(), _ -> {});
            return state;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Object load(byte[] pickle) {
        return load(pickle, ForeignNames.all());
    }

    private static TypedMap object(PickleBuilder pickle) {
        TypedMap object = (TypedMap) load(pickle.stop());
        assertThat(object.type()).isEqualTo("python:app.C");
        return object;
    }

    private static PickleBuilder pickle() {
        return new PickleBuilder();
    }

    /// The class `app.C` on the stack.
    private static PickleBuilder c() {
        return pickle().global("app", "C");
    }

    /// An object of `app.C` on the stack, made without a call.
    private static PickleBuilder made() {
        return c().ops(")").bytes(0x81);
    }

    private static void assertRefused(PickleBuilder pickle) {
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> load(pickle.stop()));
    }

    /// A module as PyTorch pickles it, with its state as BUILD sets it.
    ///
    /// @param parts puts entries into its parameters, buffers and modules, in this order
    private static PickleBuilder module(PickleBuilder pickle, String name, Runnable... parts) {
        pickle.global("torch.nn.modules", name).ops(")").bytes(0x81).ops("}");
        List<String> names = List.of("_parameters", "_buffers", "_modules");
        for (int i = 0; i < names.size(); i++) {
            pickle.text(names.get(i)).ops("}");
            if (i < parts.length) {
                parts[i].run();
            }
            pickle.ops("s");
        }
        return pickle.ops("b");
    }

    /// A module as a node of a state.
    private static TypedMap node(Map<String, Tensor> parameters, Map<String, Tensor> buffers,
            Map<String, TypedMap> modules) {
        TypedMap node = new TypedMap("python:torch.nn.modules.Net");
        node.put("_parameters", parameters);
        node.put("_buffers", buffers);
        node.put("_modules", modules);
        return node;
    }

    @Nested
    class Opcodes {
        @Test
        void reduceRecordsWhatAClassOrFunctionIsCalledWith() {
            TypedMap object = object(c().integer(1).text("a").bytes(0x86).ops("R"));
            assertThat(object).isEmpty();
            assertThat(object.attributes()).containsExactly(Map.entry("arguments", Tuple.of(1L, "a")));
        }

        @Test
        void newobjRecordsTheArgumentsIfThereAreAny() {
            assertThat(object(made()).attributes()).isEmpty();
            assertThat(object(c().integer(1).bytes(0x85, 0x81)).attributes())
                    .containsExactly(Map.entry("new_arguments", Tuple.of(1L)));
        }

        @Test
        void newobjExRecordsKeywordsToo() {
            TypedMap object = object(c().ops(")}").text("k").integer(1).ops("s").bytes(0x92));
            assertThat(object.attributes()).containsEntry("new_arguments", Tuple.of()).containsEntry("keywords",
                    Map.of("k", 1L));
            assertThat(object(c().ops(")}").bytes(0x92)).attributes()).isEmpty();
        }

        @Test
        void objAndInstRecordTheirArguments() {
            assertThat(object(pickle().ops("(").global("app", "C").integer(1).ops("o")).attributes())
                    .containsExactly(Map.entry("arguments", Tuple.of(1L)));
            assertThat(object(pickle().ops("(").global("app", "C").ops("o")).attributes()).isEmpty();
            assertThat(object(pickle().ops("(").integer(2).ops("iapp\nC\n")).attributes())
                    .containsExactly(Map.entry("arguments", Tuple.of(2L)));
            assertRefused(pickle().ops("(o"));
        }

        @Test
        void buildSetsTheEntriesOfAnObject() {
            TypedMap object = object(made().ops("}").text("a").integer(1).ops("sb"));
            assertThat(object).containsExactly(Map.entry("a", 1L));
            assertThat(object.attributes()).isEmpty();
        }

        @Test
        void buildOfNoMapIsRecordedAsItIs() {
            assertThat(object(made().ops("N").ops("}").text("slot").integer(1).ops("s").bytes(0x86).ops("b"))
                    .attributes()).containsEntry("state", Arrays.asList(null, Map.of("slot", 1L)));
            assertThat(object(made().text("state").ops("b")).attributes()).containsEntry("state", "state");
            assertThat(object(made().ops("}b")).attributes()).containsEntry("state", Map.of());
        }

        @Test
        void setitemAndSetitemsMakeItADict() {
            TypedMap object = object(made().text("a").integer(1).ops("s(").text("b").integer(2).ops("u}").text("x")
                    .integer(3).ops("sb"));
            assertThat(object).containsExactly(Map.entry("a", 1L), Map.entry("b", 2L));
            assertThat(object.attributes()).containsExactly(Map.entry("items", true),
                    Map.entry("state", Map.of("x", 3L)));
        }

        @Test
        void itemsBehindTheStateAreKeptApartFromIt() {
            TypedMap object = object(made().ops("}").text("x").integer(3).ops("sb").text("a").integer(1).ops("s"));
            assertThat(object).containsExactly(Map.entry("a", 1L));
            assertThat(object.attributes()).containsEntry("state", Map.of("x", 3L)).containsEntry("items", true);
        }

        @Test
        void appendAndAppendsMakeItAList() {
            assertThat(object(made().integer(1).ops("a(").integer(2).integer(3).ops("e")).attributes())
                    .containsExactly(Map.entry("elements", List.of(1L, 2L, 3L)));
        }

        @Test
        void additemsMakesItASet() {
            assertThat(object(made().ops("(").integer(1).integer(2).bytes(0x90)).attributes())
                    .containsExactly(Map.entry("elements", Set.of(1L, 2L)));
            assertRefused(made().integer(1).ops("a(").integer(2).bytes(0x90));
        }

        @Test
        void aNameByItselfIsAConstant() {
            assertThat(load(c().stop())).isEqualTo(new Symbol("app.C"));
            assertThat(load(pickle().text("app").text("Outer.Inner").bytes(0x93).stop()))
                    .isEqualTo(new Symbol("app:Outer.Inner"));
            assertThat(load(pickle().global("collections", "OrderedDict").stop()))
                    .isEqualTo(new Symbol("collections.OrderedDict"));
            assertThat(load(pickle().global("__builtin__", "object").stop())).isEqualTo(new Symbol("builtins.object"));
        }

        @Test
        void extensionCodesAreNames() {
            ForeignNames names = ForeignNames.all();
            assertThat(load(pickle().ops("(").bytes(0x82, 5, 0x83, 0, 1, 0x84, 0, 0, 1, 0).ops("t").stop(), names))
                    .isEqualTo(Tuple.of(new Symbol("extension:5"), new Symbol("extension:256"),
                            new Symbol("extension:65536")));
            assertThat(names.classes()).extracting(ForeignClass::name).containsExactly("extension:5", "extension:256",
                    "extension:65536");
            TypedMap object = (TypedMap) load(pickle().bytes(0x82, 5).ops(")R").stop());
            assertThat(object.type()).isEqualTo("python:extension:5");
        }

        @Test
        void persistentIdsThatNameNoStorageAreRecorded() {
            TypedMap reference = (TypedMap) load(pickle().text("thing").integer(1).bytes(0x86).ops("Q").stop());
            assertThat(reference.type()).isEqualTo("python:persistent_id");
            assertThat(reference.attributes()).containsExactly(Map.entry("id", Tuple.of("thing", 1L)));
            assertThat(((TypedMap) load(made().ops("Q").stop())).attributes().get("id")).isInstanceOf(TypedMap.class);
            assertRefused(pickle().text("storage").integer(1).bytes(0x86).ops("Q"));
            assertRefused(pickle().ops("Pline\n"));
        }

        @Test
        void callsOfObjectsAndStatesOfClassesAreRecorded() {
            TypedMap call = (TypedMap) load(made().integer(1).bytes(0x85).ops("R").stop());
            assertThat(call.type()).isEqualTo("python:call");
            assertThat(call.attributes()).containsKey("callable").containsEntry("arguments", Tuple.of(1L));
            TypedMap built = (TypedMap) load(c().ops("}").text("a").integer(1).ops("sb").stop());
            assertThat(built.attributes()).containsEntry("callable", new Symbol("app.C")).containsEntry("state",
                    Map.of("a", 1L));
        }

        @Test
        void functionsOfTheTableRecordObjectsThatTheyDoNotTake() {
            TypedMap set = (TypedMap) load(pickle().global("__builtin__", "set").ops("]").global("app", "C")
                    .ops(")").bytes(0x81).ops("a").bytes(0x85).ops("R").stop());
            assertThat(set.type()).isEqualTo("python:builtins.set");
            assertRefused(pickle().global("__builtin__", "set").ops("]]a").bytes(0x85).ops("R"));
        }

        @Test
        void dictsWhoseKeysAreObjectsAreListsOfPairs() {
            Map<?, ?> map = (Map<?, ?>) load(pickle().ops("}").text("a").integer(1).ops("s").global("app", "C")
                    .ops(")").bytes(0x81).integer(2).ops("s").stop());
            assertThat(map.get("a")).isEqualTo(1L);
            Tuple pair = (Tuple) ((List<?>) map.get(InertObject.OBJECT_KEYS)).getFirst();
            assertThat(PythonObjects.is(pair.get(0))).isTrue();
            assertThat(pair.get(1)).isEqualTo(2L);
        }

        @Test
        void linesOfTextAreTheirValues() {
            PickleBuilder pickle = pickle().ops("(I01\nI00\nI-12\nL12345678901234567890L\nF1.5e3\nFinf\n")
                    .ops("S'a\\x41\\n\\101\\''\nVe\\u00e9\\U0001F600\\\\\np7\nt");
            assertThat(load(pickle.stop())).isEqualTo(Tuple.of(true, false, -12L,
                    new BigInteger("12345678901234567890"), 1500.0, Double.POSITIVE_INFINITY, "aA\nA'",
                    "eé😀\\\\"));
            assertThat(load(pickle().ops("(Vx\np5\ng5\nt").stop())).isEqualTo(Tuple.of("x", "x"));
        }

        @ParameterizedTest
        @ValueSource(strings = {"I1x\n", "I\n", "L--1L\n", "F0x1p3\n", "F1d\n", "S'a\n", "Sa\n",
                "V\\uzzzz\n", "Vabc", "g9\n", "g-1\n", "Np99999999999999999999\n", "F" + "1"})
        void linesThatAreNoValuesAreRefused(String ops) {
            assertRefused(pickle().ops(ops));
        }

        @Test
        void buffersFromOutsideAreRefused() {
            assertRefused(pickle().bytes(0x97));
            assertThat(load(pickle().text("a").bytes(0x98).stop())).isEqualTo("a");
        }

        /// Whatever an opcode meets, it is run or refused.
        @ParameterizedTest
        @EnumSource(Opcode.class)
        void everyOpcodeTakesOrRefusesAnObject(Opcode opcode) {
            for (String before : List.of("", "(", "N", "(N", "]", "}", "N)", "NN")) {
                PickleBuilder pickle = made().put(1).ops(before);
                pickle.get(1).bytes(opcode.code()).bytes(1, '\n', '\n', 0, 0, 0, 0, 0, 0);
                try {
                    load(pickle.stop());
                } catch (FormatException refused) {
                    assertThat(refused.code()).startsWith("TORCH-");
                }
            }
        }

        @Test
        void theEnumHasEveryOpcodeOfProtocols0To5() {
            assertThat(EnumSet.allOf(Opcode.class)).hasSize(68);
        }

        @Test
        void theTableOfThePageHasEveryOpcode() throws IOException {
            String page = Files.readString(Path.of("..", "docs", "formats.md"));
            String section = page.substring(page.indexOf("### Objects of unknown classes"),
                    page.indexOf("## safetensors,"));
            assertThat(Opcode.values()).allMatch(opcode -> section.contains("`" + opcode + "`"));
        }
    }

    @Nested
    class Names {
        @ParameterizedTest
        @ValueSource(strings = {"os system", "posix system", "nt system", "builtins eval", "__builtin__ exec",
                "builtins getattr", "subprocess Popen", "torch.hub load", "torch.storage _load_from_bytes",
                "importlib import_module", "pickle loads", "marshal loads", "types CodeType", "operator attrgetter",
                "runpy run_path", "webbrowser open", "joblib.numpy_pickle load", "os.path join", "builtins __import__",
                "io open"})
        void dangerousOnesAreReported(String global) {
            String[] parts = global.split(" ", 2);
            ForeignNames names = ForeignNames.all();
            load(pickle().global(parts[0], parts[1]).text("echo").bytes(0x85).ops("R").stop(), names);
            assertThat(names.classes()).singleElement()
                    .isEqualTo(new ForeignClass(global.replace("__builtin__", "builtins").replace(' ', '.'), 1, true));
        }

        @ParameterizedTest
        @ValueSource(strings = {"torch.nn.modules.linear Linear", "argparse Namespace", "pathlib PosixPath",
                "torch._C._nn gelu", "builtins object", "builtins ValueError", "copyreg _reconstructor", "osmosis C",
                "numpy.random._pickle __randomstate_ctor", "functools partial",
                "joblib.numpy_pickle NDArrayWrapper", "transformers_modules.my-model.modeling Model"})
        void commonOnesAreNotDangerous(String global) {
            String[] parts = global.split(" ", 2);
            ForeignNames names = ForeignNames.all();
            load(pickle().global(parts[0], parts[1]).ops(")R").stop(), names);
            assertThat(names.classes()).singleElement().isEqualTo(new ForeignClass(global.replace(' ', '.'), 1, false));
        }

        @ParameterizedTest
        @ValueSource(strings = {"a\u001b[2J b", "a b c", " ", "a ", ". .", "java Run.Inner", "a:b c",
                "\u202e x"})
        void textsThatAreNoNamesAreRefused(String global) {
            String[] parts = global.split(" ", 2);
            assertRefused(pickle().text(parts[0]).text(parts[1]).bytes(0x93));
            assertRefused(pickle().text("a").text("x".repeat(300)).bytes(0x93));
        }
    }

    @Nested
    class Modules {
        private Path net() throws IOException {
            PickleBuilder pickle = pickle();
            Path file = folder.resolve("module.pt");
            module(pickle, "Net", () -> {}, () -> {}, () -> {
                pickle.text("fc1");
                module(pickle, "Linear", () -> pickle.text("weight").tensor("0", 4).put(9).ops("s"), () -> {
                    pickle.text("mean").tensor("0", 4).ops("s");
                });
                pickle.ops("s").text("tied");
                module(pickle, "Linear", () -> pickle.text("weight").get(9).ops("s"));
                pickle.ops("s");
            });
            return TorchZips.write(file, pickle.stop(), ZipEntry.STORED, new byte[16]);
        }

        @Test
        void tensorsHaveTheNamesOfStateDictToo() throws IOException {
            try (Checkpoint c = Checkpoint.open(net())) {
                assertThat(c.names()).containsExactly("_modules/fc1/_parameters/weight", "_modules/fc1/_buffers/mean",
                        "_modules/tied/_parameters/weight");
                assertThat(c.aliases()).containsExactly(
                        Map.entry("fc1.weight", "_modules/fc1/_parameters/weight"),
                        Map.entry("fc1.mean", "_modules/fc1/_buffers/mean"),
                        Map.entry("tied.weight", "_modules/fc1/_parameters/weight"));
                Tensor weight = c.tensor("fc1.weight");
                assertThat(weight).isSameAs(c.tensor("_modules/fc1/_parameters/weight"))
                        .isSameAs(c.tensor("tied.weight"));
                assertThat(c.foreignClasses()).containsExactly(new ForeignClass("torch.nn.modules.Net", 1, false),
                        new ForeignClass("torch.nn.modules.Linear", 2, false));
                Tensor into = Tensor.of(1f, 1f, 1f, 1f);
                c.loadMatching(Map.of("fc1.weight", into));
                assertThat(into.getFloat(3)).isZero();
            }
        }

        @Test
        void aStrictReaderRefusesThem() throws IOException {
            Path file = net();
            assertThatExceptionOfType(FormatException.class).isThrownBy(
                    () -> Checkpoint.open(file, OpenOptions.defaults().setting("torch.strict", "on")).close())
                    .withMessageContaining("torch.nn.modules.Net");
        }

        /// Names of `state_dict()` are taken wherever names are, in a file of PyTorch and in a `.croft` file of it.
        @ParameterizedTest
        @ValueSource(strings = {"module.pt", "module.croft"})
        void theseNamesAreTakenWhereNamesAre(String name) throws IOException {
            Path file = folder.resolve(name);
            try (Checkpoint c = Checkpoint.open(net())) {
                if (!file.equals(c.path())) {
                    Checkpoint.save(file, c.tree());
                }
            }
            try (Checkpoint c = Checkpoint.open(file)) {
                assertThat(c.aliases()).containsOnlyKeys("fc1.weight", "fc1.mean", "tied.weight");
                assertThat(c.contains("fc1.mean")).isTrue();
                assertThat(c.contains("fc2.mean")).isFalse();
                assertThat(c.rows("fc1.mean", 1, 3).shape()).isEqualTo(Shape.of(2));
                assertThat(c.rows("fc1.mean", new long[]{3}).shape()).isEqualTo(Shape.of(1));
                Map<String, Tensor> into = Map.of("fc1.mean", Tensor.of(1f, 1f, 1f, 1f));
                assertThat(c.loadMatching(into).missing()).isEmpty();
                assertThat(into.get("fc1.mean").getFloat(3)).isZero();
                assertThatThrownBy(() -> c.tensor("fc1.wieght")).hasMessageContaining("did you mean 'fc1.weight'");
            }
            for (String pattern : List.of("fc1.m*", "_modules/fc1/_buffers/*")) {
                try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().only(pattern))) {
                    assertThat(c.names()).as(pattern).containsExactly("_modules/fc1/_buffers/mean");
                    assertThat(c.aliases()).containsOnlyKeys("fc1.mean");
                    assertThat(c.contains("fc1.weight")).isFalse();
                    assertThat(c.tensor("fc1.mean").storage().isMeta()).isFalse();
                }
            }
            try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().only("tied.*", "fc1.mean"))) {
                assertThat(c.names()).contains("_modules/fc1/_buffers/mean").hasSize(2);
            }
            assertThatExceptionOfType(NoSuchElementException.class)
                    .isThrownBy(() -> Checkpoint.open(file, OpenOptions.defaults().only("fc2.*")).close());
        }

        @ParameterizedTest
        @ValueSource(strings = {"out.safetensors", "out.npz", "out.gguf"})
        void formatsOfTensorsByNameHaveWhatStateDictHas(String name) throws IOException {
            Path out = folder.resolve(name);
            try (Checkpoint c = Checkpoint.open(net())) {
                SaveReport report = Checkpoint.save(out, c.tree());
                assertThat(report.loss(Kind.OBJECTS)).contains(new Loss(Kind.OBJECTS, 3,
                        List.of("torch.nn.modules.Net", "torch.nn.modules.Linear")));
                assertThat(report.loss(Kind.OUTSIDE_STATE_DICT)).isEmpty();
                assertThat(report.loss(Kind.ATTRIBUTES)).isEmpty();
            }
            try (Checkpoint c = Checkpoint.open(out)) {
                assertThat(c.names()).containsExactlyInAnyOrder("fc1.weight", "fc1.mean", "tied.weight");
            }
        }

        @Test
        void tensorsThatStateDictDoesNotHaveAreReported() throws IOException {
            TypedMap inner = node(Map.of("w", Tensor.of(1f)),
                    Map.of("kept", Tensor.of(2f), "cache", Tensor.of(3f)), Map.of());
            inner.put("_non_persistent_buffers_set", Set.of("cache"));
            inner.put("scale", Tensor.of(4f));
            TypedMap net = node(Map.of(), Map.of(), Map.of("fc", inner));
            Map<String, Object> state = new LinkedHashMap<>();
            state.put("net", net);
            state.put("mean", Tensor.of(5f));
            Path out = folder.resolve("out.safetensors");

            SaveReport report = Checkpoint.save(out, state);

            assertThat(report.loss(Kind.OUTSIDE_STATE_DICT).orElseThrow().names()).containsExactlyInAnyOrder(
                    "net/_modules/fc/_buffers/cache", "net/_modules/fc/scale");
            try (Checkpoint c = Checkpoint.open(out)) {
                assertThat(c.names()).containsExactlyInAnyOrder("net~1fc.w", "net~1fc.kept", "mean");
            }
        }

        @Test
        void modulesThatShareModulesAtEveryLevelAreRefused() {
            TypedMap module = node(Map.of("w", Tensor.of(1f)), Map.of(), Map.of());
            for (int i = 0; i < 30; i++) {
                module = node(Map.of(), Map.of(), Map.of("a", module, "b", module));
            }
            TypedMap root = module;
            assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(folder.resolve("o.npz"), root))
                    .withMessageContaining("too many names");
        }

        @Test
        void theyAreKeptInACroftFile() throws IOException {
            Path croft = folder.resolve("module.croft");
            try (Checkpoint c = Checkpoint.open(net())) {
                Checkpoint.save(croft, c.state());
                try (Checkpoint again = Checkpoint.open(croft)) {
                    Sameness.check(c.state(), again.state());
                }
            }
        }

        @Test
        void theyAreWrittenForPyTorchOnlyIfThatIsRequested() throws IOException {
            Path written = folder.resolve("written.pt");
            try (Checkpoint c = Checkpoint.open(net())) {
                assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(written, c.state()))
                        .withMessageContaining("torch.nn.modules.Net").withMessageContaining("torch.objects=write");
                Checkpoint.save(written, c.state(), SaveOptions.defaults().setting("torch.objects", "write"));
                try (Checkpoint again = Checkpoint.open(written)) {
                    Sameness.check(c.state(), again.state());
                }
            }
        }
    }

    @Nested
    class Writing {
        private void assertSameAgain(PickleBuilder pickle) {
            Object state = load(pickle.stop());
            Pickle again = Pickle.of(state, true);
            Sameness.check(state, load(again.bytes().toArray(ValueLayout.JAVA_BYTE)));
        }

        @Test
        void whatWasRecordedIsWrittenAsItWas() {
            assertSameAgain(c().integer(1).bytes(0x85).ops("R"));
            assertSameAgain(c().integer(1).bytes(0x85, 0x81));
            assertSameAgain(c().ops(")}").text("k").integer(1).ops("s").bytes(0x92));
            assertSameAgain(made().ops("}").text("a").integer(1).ops("sb"));
            assertSameAgain(made().ops("}b"));
            assertSameAgain(made().text("a").integer(1).ops("s}").text("x").integer(3).ops("sb"));
            assertSameAgain(made().integer(1).ops("a"));
            assertSameAgain(made().ops("(").integer(1).integer(2).bytes(0x90));
            assertSameAgain(made().integer(1).bytes(0x85).ops("R"));
            assertSameAgain(c().ops("}").text("a").integer(1).ops("sb"));
            assertSameAgain(pickle().ops("}").global("app", "C").ops(")").bytes(0x81).integer(2).ops("s"));
            assertSameAgain(pickle().text("app").text("Outer.Inner").bytes(0x93).ops(")R"));
            assertSameAgain(pickle().global("collections", "OrderedDict"));
            assertSameAgain(pickle().global("collections", "defaultdict").global("app", "f").bytes(0x85).ops("R"));
            assertSameAgain(made().put(1).ops("}").text("self").get(1).ops("sb"));
        }

        @Test
        void dangerousNamesAreNeverWritten() {
            Object call = load(pickle().global("os", "system").text("echo").bytes(0x85).ops("R").stop());
            assertThatIllegalArgumentException().isThrownBy(() -> Pickle.of(call, true))
                    .withMessageContaining("os.system").withMessageContaining("never");
        }

        @Test
        void referencesAndExtensionsCannotBeWritten() {
            Object reference = load(pickle().text("thing").integer(1).bytes(0x86).ops("Q").stop());
            assertThatIllegalArgumentException().isThrownBy(() -> Pickle.of(reference, true))
                    .withMessageContaining("outside the file");
            Object extension = load(pickle().bytes(0x82, 5).ops(")R").stop());
            assertThatIllegalArgumentException().isThrownBy(() -> Pickle.of(extension, true));
        }
    }

    @Nested
    class Bounds {
        @Test
        void objectsInObjectsAreLimitedInDepth() {
            PickleBuilder pickle = pickle();
            int depth = 200_000;
            for (int i = 0; i < depth; i++) {
                pickle.global("a", "C").ops(")").bytes(0x81);
            }
            for (int i = 1; i < depth; i++) {
                pickle.ops("b");
            }
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> load(pickle.stop()))
                    .satisfies(refusal -> assertThat(refusal.code()).isIn("TORCH-DEPTH", "COST-MEMORY"));
            PickleBuilder fewer = pickle();
            for (int i = 0; i < 1000; i++) {
                fewer.global("a", "C").ops(")").bytes(0x81);
            }
            for (int i = 1; i < 1000; i++) {
                fewer.ops("b");
            }
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> load(fewer.stop()))
                    .satisfies(refusal -> assertThat(refusal.code()).isEqualTo("TORCH-DEPTH"));
        }

        @Test
        void anObjectMayHoldItself() {
            TypedMap object = object(made().put(1).ops("}").text("self").get(1).ops("sb"));
            assertThat(object.get("self")).isSameAs(object);
            TypedMap state = object(made().put(1).get(1).ops("b"));
            assertThat(state.attributes().get("state")).isSameAs(state);
            TypedMap elements = object(made().put(1).get(1).ops("a"));
            assertThat((List<?>) elements.attributes().get("elements")).first().isSameAs(elements);
        }

        @Test
        void aModuleThatHoldsItselfHasFewAliases() throws IOException {
            PickleBuilder pickle = pickle();
            pickle.global("torch.nn.modules", "Net").ops(")").bytes(0x81).put(1).ops("}").text("_parameters").ops("}")
                    .text("w").tensor("0", 4).ops("ss").text("_buffers").ops("}s").text("_modules").ops("}")
                    .text("self").get(1).ops("ssb");
            Path file = TorchZips.write(folder.resolve("self.pt"), pickle.stop(), ZipEntry.STORED, new byte[16]);
            try (Checkpoint c = Checkpoint.open(file)) {
                assertThat(c.aliases()).containsOnlyKeys("w");
            }
        }

        @Test
        void randomDamageGivesAValueOrAFormatException() {
            PickleBuilder pickle = pickle();
            module(pickle, "Net", () -> pickle.text("w").tensor("0", 4).ops("s"), () -> {}, () -> {
                pickle.text("fc").global("app", "f").integer(1).bytes(0x85).ops("R").put(3).integer(1).ops("a")
                        .ops("s").text("d").global("app", "D").ops(")}").text("k").get(3).ops("s").bytes(0x92)
                        .text("x").get(3).ops("ss");
            });
            byte[] good = pickle.stop();
            load(good);
            Random random = new Random(7);
            int refused = 0;
            int tries = Tries.of(100_000);
            for (int round = 0; round < tries; round++) {
                try {
                    load(PickleBuilder.damaged(good, random));
                } catch (FormatException e) {
                    assertThat(e.getMessage().getBytes(UTF_8)).hasSizeLessThan(4096).doesNotContain('\n');
                    refused++;
                }
            }
            assertThat(refused).isBetween(tries / 10, tries / 100 * 99);
        }
    }

    /// Written by the second of two processes of PyTorch 2.13.
    private static final Path DISTRIBUTED = Path.of("..", "test-support", "fixtures", "pytorch", "distributed",
            "rank1.pt");

    @Test
    void theLocalPartOfADistributedTensorHasItsName() throws IOException {
        Path croft = folder.resolve("part.croft");
        Path again = folder.resolve("part.pt");
        try (Checkpoint c = Checkpoint.open(DISTRIBUTED)) {
            Checkpoint.save(croft, c.state());
            assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(again, c.state()))
                    .withMessageContaining("torch.objects=write");
        }
        try (Checkpoint c = Checkpoint.open(croft)) {
            Checkpoint.save(again, c.state(), SaveOptions.defaults().setting("torch.objects", "write"));
        }
        for (Path file : List.of(DISTRIBUTED, croft, again)) {
            try (Checkpoint c = Checkpoint.open(file)) {
                assertThat(c.names()).contains("w", "r", "p", "sharded", "plain").doesNotContain("w/_local_tensor");
                assertThat(c.tensor("w").toFloatArray()).containsExactly(6, 7, 8, 9, 10, 11);
                assertThat(c.tensor("r").toFloatArray()).hasSize(12).startsWith(1, 2, 3);
                assertThat(c.tensor("p").toFloatArray()).containsExactly(4, 10, 16, 22);
                assertThat(c.tensor("sharded").toFloatArray()).containsExactly(6, 7, 8, 9, 10, 11);
                Map<?, ?> state = (Map<?, ?>) c.state();
                Typed w = (Typed) Objects.requireNonNull(state.get("w"));
                assertThat(w.type()).isEqualTo("torch.distributed.tensor.DTensor");
                assertThat(w.attributes().get("shape")).isEqualTo(Shape.of(4, 3));
                assertThat(w.attributes().get("placements").toString()).contains("dim=0");
                Typed sharded = (Typed) Objects.requireNonNull(state.get("sharded"));
                assertThat(sharded.attributes().get("shape")).isEqualTo(Shape.of(4, 3));
                assertThat(((TypedMap) sharded.attributes().get("placements")).attributes().get("state").toString())
                        .contains("shard_offsets=[2, 0]");
                if (file != croft) {
                    assertThat(c.unread()).singleElement().satisfies(part -> assertThat(part.what())
                            .isEqualTo("the parts of 3 distributed tensors that other processes have: the file has the"
                                    + " local part of each"));
                }
            }
        }
        assertThatIllegalArgumentException().isThrownBy(() -> {
            try (Checkpoint c = Checkpoint.open(DISTRIBUTED)) {
                Checkpoint.save(folder.resolve("part.safetensors"), c.state());
            }
        }).withMessageContaining("torch.distributed.tensor.DTensor");
    }
}
