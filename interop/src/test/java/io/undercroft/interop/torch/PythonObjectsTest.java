package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.testsupport.Sameness;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Objects of Python's own classes, and the ways in which protocols write objects: all show their values.
class PythonObjectsTest {
    @TempDir
    private Path folder;

    private static Object load(PickleBuilder pickle, ForeignNames names) {
        return InertObjectsTest.load(pickle.stop(), names);
    }

    private static Object load(PickleBuilder pickle) {
        return load(pickle, ForeignNames.all());
    }

    private static PickleBuilder pickle() {
        return new PickleBuilder();
    }

    /// An object of `app.C` on the stack.
    private static PickleBuilder made(PickleBuilder pickle) {
        return pickle.global("app", "C").ops(")").bytes(0x81);
    }

    private static Object text(PickleBuilder pickle) {
        return ((TypedMap) load(pickle)).attributes().get("text");
    }

    private static void assertSameAgain(Object state) {
        byte[] again = Pickle.of(state, true).bytes().toArray(ValueLayout.JAVA_BYTE);
        Sameness.check(state, InertObjectsTest.load(again, ForeignNames.all()));
    }

    @Nested
    class Texts {
        private static PickleBuilder of(String name, int... fields) {
            byte[] bytes = new byte[fields.length];
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = (byte) fields[i];
            }
            return pickle().global("datetime", name).data(bytes);
        }

        private static String called(PickleBuilder pickle) {
            return (String) text(pickle.bytes(0x85).ops("R"));
        }

        /// A time zone with an offset in seconds, behind its class and name.
        private static PickleBuilder zone(PickleBuilder pickle, int days, int seconds) {
            return pickle.global("datetime", "timezone").global("datetime", "timedelta").integer(days).integer(seconds)
                    .integer(0).bytes(0x87).ops("R").bytes(0x85).ops("R");
        }

        @Test
        void datesAndTimesAreThoseOfIso8601() {
            assertThat(called(of("date", 7, 234, 1, 2))).isEqualTo("2026-01-02");
            assertThat(called(of("time", 1, 2, 3, 0, 0, 0))).isEqualTo("01:02:03");
            assertThat(called(of("datetime", 7, 234, 1, 2, 3, 4, 5, 10, 91, 245)))
                    .isEqualTo("2026-01-02T03:04:05.678901");
            // The bit for the second of two equal times, which protocol 4 has.
            assertThat(called(of("datetime", 7, 234, 128 + 10, 25, 2, 30, 0, 0, 0, 0)))
                    .isEqualTo("2026-10-25T02:30:00");
            assertThat(called(of("time", 128 + 1, 2, 3, 0, 0, 1))).isEqualTo("01:02:03.000001");
        }

        @ParameterizedTest
        @CsvSource({"0, 7200, +02:00", "0, 0, +00:00", "-1, 66600, -05:30", "0, 3661, +01:01:01"})
        void anOffsetFromUtcFollowsTheTime(int days, int seconds, String offset) {
            assertThat(text(zone(of("time", 1, 2, 3, 0, 0, 0), days, seconds).bytes(0x86).ops("R")))
                    .isEqualTo("01:02:03" + offset);
        }

        @Test
        void aZoneThatIsNoOffsetIsNamed() {
            assertThat(text(of("time", 1, 2, 3, 0, 0, 0).global("pytz", "_p").text("Europe/Berlin").integer(3180)
                    .bytes(0x86).ops("R").bytes(0x86).ops("R"))).isEqualTo("01:02:03[Europe/Berlin]");
            assertThat(text(of("time", 1, 2, 3, 0, 0, 0).global("app", "Zone").ops(")R").bytes(0x86).ops("R")))
                    .isEqualTo("01:02:03[app.Zone]");
        }

        @ParameterizedTest
        @CsvSource(delimiter = ';', value = {"0; 7200; 0; 2:00:00", "-1; 5; 7; -1 day, 0:00:05.000007",
                "1; 0; 0; 1 day, 0:00:00", "30; 86399; 999999; 30 days, 23:59:59.999999"})
        void durationsAreWhatPythonPrints(int days, int seconds, int micros, String expected) {
            assertThat(text(pickle().global("datetime", "timedelta").integer(days).integer(seconds).integer(micros)
                    .bytes(0x87).ops("R"))).isEqualTo(expected);
        }

        @Test
        void decimalsUuidsAndPathsHaveTheirOwn() {
            assertThat(called(pickle().global("decimal", "Decimal").text("1.50"))).isEqualTo("1.50");
            BigInteger number = new BigInteger("12345678123456781234567812345678", 16);
            assertThat(text(pickle().global("uuid", "UUID").ops(")").bytes(0x81).ops("}").text("int")
                    .ops("L" + number + "L\nsb"))).isEqualTo("12345678-1234-5678-1234-567812345678");
            assertThat(text(pickle().global("pathlib", "PosixPath").text("/").text("a").text("b").bytes(0x87)
                    .ops("R"))).isEqualTo("/a/b");
            assertThat(text(pickle().global("pathlib._local", "PurePosixPath").text("a").text("b").bytes(0x86)
                    .ops("R"))).isEqualTo("a/b");
            assertThat(text(pickle().global("pathlib", "PureWindowsPath").text("C:\\").text("a").bytes(0x86)
                    .ops("R"))).isEqualTo("C:\\a");
            assertThat(text(pickle().global("pathlib", "PosixPath").ops(")R"))).isEqualTo(".");
        }

        @Test
        void whatIsNoneOfTheseHasNoText() {
            assertThat(called(of("date", 7, 234, 13, 2))).isNull();
            assertThat(called(of("date", 255, 255, 1, 2))).isNull();
            assertThat(called(of("date", 7, 234, 1))).isNull();
            assertThat(called(of("datetime", 7, 234, 1, 2, 24, 4, 5, 10, 91, 245))).isNull();
            assertThat(called(of("time", 1, 2, 3, 15, 66, 64))).isNull();
            assertThat(text(of("time", 1, 2, 3, 0, 0, 0).integer(1).bytes(0x86).ops("R"))).isNull();
            assertThat(called(pickle().global("decimal", "Decimal").integer(1))).isNull();
            assertThat(called(pickle().global("pathlib", "PosixPath").integer(1))).isNull();
            assertThat(text(pickle().global("uuid", "UUID").ops(")").bytes(0x81).ops("}").text("int").integer(-1)
                    .ops("sb"))).isNull();
            assertThat(called(pickle().global("app", "PosixPath").text("a"))).isNull();
        }

        @Test
        void theTextIsNotWritten() {
            TypedMap date = (TypedMap) load(of("date", 7, 234, 1, 2).bytes(0x85).ops("R"));
            assertSameAgain(date);
            date.attributes().put("text", "2030-01-01");
            byte[] written = Pickle.of(date, true).bytes().toArray(ValueLayout.JAVA_BYTE);
            assertThat(new String(written, ISO_8859_1)).doesNotContain("2030");
        }
    }

    @Nested
    class Classes {
        @Test
        void aPlainObjectOfAnOldProtocolIsThatOfANewOne() {
            ForeignNames names = ForeignNames.all();
            TypedMap object = (TypedMap) load(pickle().global("copy_reg", "_reconstructor").ops("(")
                    .global("app", "C").global("__builtin__", "object").ops("NtR}").text("a").integer(1).ops("sb"),
                    names);
            assertThat(object.type()).isEqualTo("python:app.C");
            assertThat(object).containsExactly(Map.entry("a", 1L));
            assertThat(object.attributes()).isEmpty();
            assertThat(names.classes()).containsExactly(new ForeignClass("app.C", 1, false));
        }

        @Test
        void anObjectThatIsMadeOfAnotherValueKeepsBoth() {
            TypedMap object = (TypedMap) load(pickle().global("copy_reg", "_reconstructor").ops("(")
                    .global("app", "C").global("__builtin__", "tuple").integer(1).bytes(0x85).ops("tR"));
            assertThat(object.type()).isEqualTo("python:app.C");
            assertThat(object.attributes()).containsExactly(Map.entry("base", new Symbol("builtins.tuple")),
                    Map.entry("value", Tuple.of(1L)));
            assertSameAgain(object);
        }

        @Test
        void newobjAsAFunctionIsTheOpcode() {
            TypedMap object = (TypedMap) load(pickle().global("copy_reg", "__newobj__").global("app", "C").integer(1)
                    .bytes(0x86).ops("R"));
            assertThat(object.type()).isEqualTo("python:app.C");
            assertThat(object.attributes()).containsExactly(Map.entry("new_arguments", Tuple.of(1L)));
        }

        @ParameterizedTest
        @ValueSource(strings = {"copyreg _reconstructor", "copyreg __newobj__"})
        void otherArgumentsAreRecorded(String function) {
            String[] parts = function.split(" ", 2);
            for (String arguments : List.of(")", "N\u0085", "NN\u0086", "NNN\u0087")) {
                PickleBuilder pickle = pickle().global(parts[0], parts[1]);
                arguments.chars().forEach(pickle::bytes);
                assertThat(((TypedMap) load(pickle.ops("R"))).type())
                        .isEqualTo("python:" + function.replace(' ', '.'));
            }
        }

        @Test
        void aClassInAClassIsFoundByItsName() {
            ForeignNames names = ForeignNames.all();
            PickleBuilder outer = pickle().global("__builtin__", "getattr").bytes('q', 0).global("app.models", "Outer")
                    .text("Inner").bytes(0x86).ops("R").bytes('q', 1).ops("0(");
            outer.bytes('h', 0).bytes('h', 1).text("Most").bytes(0x86).ops("R)R");
            List<?> objects = (List<?>) load(outer.bytes('h', 1).ops("t"), names);
            assertThat(((TypedMap) objects.get(0)).type()).isEqualTo("python:app.models:Outer.Inner.Most");
            assertThat(objects.get(1)).isEqualTo(new Symbol("app.models:Outer.Inner"));
            assertThat(names.classes()).extracting(ForeignClass::name)
                    .containsExactly("app.models:Outer.Inner", "app.models:Outer.Inner.Most");
            assertThat(names.classes()).noneMatch(ForeignClass::isDangerous);
        }

        /// A module can be named as if it was a class.
        @ParameterizedTest
        @ValueSource(strings = {"torch os", "os path", "torch.os system", "app _private", "app __globals__", "app a.b",
                "builtins eval", "subprocess Popen", "app a:b", "app sys", "app ''"})
        void getattrThatLeadsElsewhereIsReported(String global) {
            String[] parts = global.replace("''", "").split(" ", 2);
            ForeignNames names = ForeignNames.all();
            int dot = parts[0].lastIndexOf('.');
            load(pickle().global("__builtin__", "getattr")
                    .global(dot < 0 ? parts[0] : parts[0].substring(0, dot),
                            dot < 0 ? "C" : parts[0].substring(dot + 1))
                    .text(parts[1]).bytes(0x86).ops("R"), names);
            assertThat(names.classes()).contains(new ForeignClass("builtins.getattr", 1, true));
        }

        @Test
        void everyOtherUseOfGetattrIsReported() {
            String call = "c__builtin__\ngetattr\ncapp\nC\nV" + "Inner\n\u0086R";
            for (String pickle : List.of("c__builtin__\ngetattr\n", "(c__builtin__\ngetattr\n" + call + "t",
                    "(" + call + "c__builtin__\ngetattr\nNt", "c__builtin__\ngetattr\n0" + call,
                    "(c__builtin__\ngetattr\nq\0capp\nC\nVInner\n\u0086Rh\0t",
                    "(c__builtin__\ngetattr\n2capp\nC\nVInner\n\u0086Rt", "c__builtin__\ngetattr\n" + call + "\u0085R",
                    "c__builtin__\ngetattr\nc__builtin__\ngetattr\ncapp\nC\nVInner\n\u0086R\u0085\u0081")) {
                ForeignNames names = ForeignNames.all();
                PickleBuilder builder = pickle();
                pickle.chars().forEach(builder::bytes);
                load(builder, names);
                assertThat(names.classes()).as(pickle).anyMatch(
                        each -> each.name().equals("builtins.getattr") && each.isDangerous());
            }
            ForeignNames names = ForeignNames.all();
            PickleBuilder only = pickle();
            call.chars().forEach(only::bytes);
            load(only, names);
            assertThat(names.classes()).extracting(ForeignClass::name).containsExactly("app:C.Inner");
        }

        private static final String OBJECT = "capp\nC\n)\u0081";
        private static final String GETATTR = "c__builtin__\ngetattr\n";
        private static final String MAKE_FUNCTION = "cdill._dill\n_create_function\n";
        private static final String MAKE_CODE = "cdill._dill\n_create_code\n";

        /// By which dill fills the cell of a closure.
        private static final String SETTER = GETATTR + "cdill\n_dill\nV_setattr\nc__builtin__\nsetattr\n\u0087q\7R";
        private static final String CELL = "cdill._dill\n_create_cell\nN\u0085R";

        /// What pickles of bound methods have, and those that dill and cloudpickle make of functions and classes.
        @ParameterizedTest
        @ValueSource(strings = {GETATTR + OBJECT + "Vpredict\n\u0086R", GETATTR + OBJECT + "V_predict\n\u0086R",
                GETATTR + "V-\nVjoin\n\u0086R", MAKE_FUNCTION + MAKE_CODE + "(K\1(Vx\nttRN\u0086R",
                "cdill._dill\n_import_module\nVnumpy.linalg\n\u0085R",
                "ccloudpickle.cloudpickle\nsubimport\nVscipy\n\u0085R",
                "c__builtin__\nsetattr\n" + OBJECT + "V__doc__\nN\u0087R",
                "cdill._dill\n_load_type\nVtype\n\u0085R)R", SETTER + CELL + "Vcell_contents\nK\1\u0087R",
                SETTER + "q\1" + CELL + "Vcell_contents\nK\1\u0087R0h\1" + CELL + "Vcell_contents\nK\2\u0087R"})
        void callsThatOrdinaryPicklesMakeAreNotDangerous(String ops) {
            ForeignNames names = ForeignNames.all();
            PickleBuilder pickle = pickle();
            ops.chars().forEach(pickle::bytes);
            load(pickle, names);
            assertThat(names.classes()).isNotEmpty().noneMatch(ForeignClass::isDangerous);
        }

        /// The same calls where what they make is called, or where they lead out of the state.
        @ParameterizedTest
        @ValueSource(strings = {GETATTR + OBJECT + "Vpredict\n\u0086R)R", GETATTR + OBJECT + "V__class__\n\u0086R",
                GETATTR + OBJECT + "Vos\n\u0086R", GETATTR + OBJECT + "Va.b\n\u0086R",
                "(" + GETATTR + OBJECT + "Vpredict\n\u0086R" + GETATTR + "t",
                MAKE_FUNCTION + MAKE_CODE + "(K\1(Vx\nttRN\u0086R)R", MAKE_CODE + "(K\1(Vos\nVsystem\nttR",
                "cdill._dill\n_import_module\nVos\n\u0085R", "cdill._dill\n_import_module\nVsubprocess\n\u0085R",
                "ccloudpickle.cloudpickle\nsubimport\nVposix\n\u0085R", "cdill._dill\n_eval_repr\nVa\n\u0085R",
                "cfunctools\npartial\n" + MAKE_FUNCTION + MAKE_CODE + "(K\1tRN\u0086R\u0085R)R",
                "c__builtin__\nsetattr\ncapp\nC\nVf\nN\u0087R",
                "c__builtin__\nsetattr\n" + OBJECT + "V__class__\nN\u0087R",
                "cdill._dill\n_load_type\nVCodeType\n\u0085R((Vexec\nttR", SETTER,
                SETTER + CELL + "Vother\nK\1\u0087R", SETTER + OBJECT + "Vcell_contents\nK\1\u0087R",
                "citertools\nstarmap\n" + SETTER + "]((K\1te\u0086R",
                "(" + SETTER + "q\1" + CELL + "Vcell_contents\nK\1\u0087Rcitertools\nstarmap\nh\1]((K\1te\u0086Rt",
                "(" + SETTER + CELL + "Vcell_contents\nK\1\u0087Rcbuiltins\nslice\nh\7Rt",
                "(" + SETTER + CELL + "Vcell_contents\nK\1\u0087R" + SETTER + CELL + "Vcell_contents\nK\1\u0087Rt"})
        void callsThatRunCodeAreDangerous(String ops) {
            ForeignNames names = ForeignNames.all();
            PickleBuilder pickle = pickle();
            ops.chars().forEach(pickle::bytes);
            Object state = load(pickle, names);
            assertThat(names.classes()).anyMatch(ForeignClass::isDangerous);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> new TorchZipFormat().draft(state,
                            SaveOptions.defaults().setting("torch.objects", "write")))
                    .withMessageContaining("such a file is never written");
        }

        @ParameterizedTest
        @ValueSource(strings = {"torch os", "torch os.system", "app Outer.sys.exit", "app C.__globals__",
                "app f.__class__.__mro__", "numpy builtins"})
        void namesThatLeadToModulesAreDangerous(String global) {
            String[] parts = global.split(" ", 2);
            ForeignNames names = ForeignNames.all();
            load(pickle().text(parts[0]).text(parts[1]).bytes(0x93), names);
            assertThat(names.classes()).singleElement().matches(ForeignClass::isDangerous);
        }

        @ParameterizedTest
        @ValueSource(strings = {"torch.profiler profile", "app.code Outer.Inner", "copyreg __newobj__",
                "app Outer._Inner", "torch trace", "scipy.signal.sys Filter"})
        void namesThatOnlyLookLikeTheseAreNot(String global) {
            String[] parts = global.split(" ", 2);
            ForeignNames names = ForeignNames.all();
            load(pickle().text(parts[0]).text(parts[1]).bytes(0x93), names);
            assertThat(names.classes()).singleElement().matches(each -> !each.isDangerous());
        }

        @Test
        void namesOfPython2AreThoseOfPython3() {
            assertThat(load(pickle().global("__builtin__", "xrange"))).isEqualTo(new Symbol("builtins.range"));
            assertThat(load(pickle().global("exceptions", "ValueError"))).isEqualTo(new Symbol("builtins.ValueError"));
        }

        @Test
        void aNameThatIsNoTextIsRefused() {
            assertThatExceptionOfType(FormatException.class).isThrownBy(
                    () -> load(pickle().text("app").integer(1).bytes(0x93))).withMessageContaining("no string");
            assertThatExceptionOfType(FormatException.class)
                    .isThrownBy(() -> load(made(pickle()).text("C").bytes(0x93)));
            assertThatExceptionOfType(FormatException.class).isThrownBy(
                    () -> load(pickle().text("app").text("").bytes(0x93)));
        }
    }

    @Nested
    class Sets {
        private static List<Object> elements(Object set, String type) {
            TypedMap object = (TypedMap) set;
            assertThat(object.type()).isEqualTo(type);
            return new ArrayList<>((List<?>) ((Tuple) object.attributes().get("arguments")).getFirst());
        }

        /// What protocols 0 to 3 write, 4 and 5, and 4 and 5 in two batches.
        @Test
        void aSetOfObjectsIsTheSameInAllProtocols() {
            Object called = load(made(pickle().global("__builtin__", "set").ops("](").integer(1)).ops("e").bytes(0x85)
                    .ops("R"));
            Object added = load(made(pickle().bytes(0x8f).ops("(").integer(1)).bytes(0x90));
            Object twice = load(made(pickle().bytes(0x8f, 'q', 0).ops("(").integer(1).bytes(0x90).ops("(")).bytes(0x90)
                    .ops("0").bytes('h', 0));
            for (Object set : List.of(called, added, twice)) {
                assertThat(elements(set, "python:builtins.set").getFirst()).isEqualTo(1L);
                assertThat(elements(set, "python:builtins.set").get(1)).matches(PythonObjects::is);
                assertSameAgain(set);
            }
        }

        @Test
        void moreElementsAreAddedToASetOfObjects() {
            Object set = load(made(pickle().bytes(0x8f).ops("(")).bytes(0x90).ops("(").integer(1).bytes(0x90)
                    .ops("(").integer(2).bytes(0x90));
            assertThat(elements(set, "python:builtins.set")).hasSize(3).endsWith(1L, 2L);
        }

        @Test
        void aFrozenSetOfObjectsIsOneToo() {
            Object set = load(made(pickle().ops("(").integer(1)).bytes(0x91));
            assertThat(elements(set, "python:builtins.frozenset")).hasSize(2);
            assertSameAgain(set);
        }

        @Test
        void setsMayContainFrozenSetsAndTuplesOfObjects() {
            Object inner = elements(load(pickle().bytes(0x8f).ops("((").integer(1).bytes(0x91, 0x90)),
                    "python:builtins.set").getFirst();
            assertThat(((Typed) inner).value()).isEqualTo(Set.of(1L));
            assertThat(elements(load(made(pickle().bytes(0x8f).ops("(")).bytes(0x85, 0x90)), "python:builtins.set"))
                    .hasSize(1);
            assertThat(elements(load(pickle().global("__builtin__", "set").ops("](").ops("(").integer(1).bytes(0x91)
                    .ops("e").bytes(0x85).ops("R")), "python:builtins.set")).hasSize(1);
        }

        @Test
        void aSetIsOneObjectWhereverItIsReferredTo() {
            List<?> twice = (List<?>) load(made(pickle().ops("(").bytes(0x8f, 'q', 0).ops("(")).bytes(0x90, 'h', 0)
                    .ops("t"));
            assertThat(twice.get(0)).isSameAs(twice.get(1)).matches(PythonObjects::is);
            List<?> empty = (List<?>) load(pickle().ops("(").bytes(0x8f, 'q', 0, 'h', 0, 'h', 0).ops("t"));
            assertThat(empty.get(0)).isEqualTo(Set.of()).isSameAs(empty.get(2));
        }

        /// The reference would be to an empty set.
        @ParameterizedTest
        @ValueSource(strings = {"\u008fq\0(capp\nC\n)\u0081h\0b\u0090", "\u008f2(capp\nC\n)\u0081\u0090",
                "\u008fq\0q\1(capp\nC\n)\u0081\u0090", "\u008fq\0h\0(capp\nC\n)\u0081\u0090"})
        void aSetWithAnObjectThatRefersToItIsRefused(String ops) {
            PickleBuilder pickle = pickle();
            ops.chars().forEach(pickle::bytes);
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> load(pickle))
                    .withMessageContaining("refers to the set");
        }

        @Test
        void aStrictReaderRefusesThem() {
            assertThatExceptionOfType(FormatException.class).isThrownBy(
                    () -> load(pickle().bytes(0x8f).ops("((").integer(1).bytes(0x91, 0x90), ForeignNames.ofTensors()));
        }
    }

    /// Files of `torch.save` in pickles, as `pickle.dump` writes tensors.
    @Nested
    class Saves {
        private static final List<Integer> MAGIC = List.of(0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8,
                0x50, 0x19);

        private static byte[] save(byte[] state) throws IOException {
            PickleBuilder magic = pickle();
            MAGIC.forEach(magic::bytes);
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            for (byte[] part : List.of(magic.stop(), pickle().integer(1001).stop(), pickle().ops("}").stop(), state,
                    pickle().ops("]").text("0").ops("a").stop())) {
                out.write(part);
            }
            out.write(ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN).putLong(2).putFloat(1.5f).putFloat(-2)
                    .array());
            return out.toByteArray();
        }

        private static PickleBuilder storage(PickleBuilder pickle) {
            return pickle.ops("(").text("storage").global("torch", "FloatStorage").text("0").text("cpu").integer(2)
                    .ops("NtQ");
        }

        private static byte[] good() throws IOException {
            return save(storage(pickle()).stop());
        }

        private static PickleBuilder loaded(PickleBuilder pickle, byte[] save) {
            return pickle.global("torch.storage", "_load_from_bytes").data(save).bytes(0x85).ops("R");
        }

        private Checkpoint open(PickleBuilder pickle) throws IOException {
            return Checkpoint.open(Files.write(folder.resolve("tensor.pkl"), pickle.stop()),
                    OpenOptions.defaults().format("pickle"));
        }

        @Test
        void aTensorInAPlainPickleIsATensor() throws IOException {
            PickleBuilder pickle = loaded(pickle().ops("}").text("w").global("torch._utils", "_rebuild_tensor_v2")
                    .ops("("), good());
            pickle.integer(0).integer(2).bytes(0x85).integer(1).bytes(0x85, 0x89).global("collections", "OrderedDict")
                    .ops(")RtRs");
            try (Checkpoint c = open(pickle)) {
                assertThat(c.tensor("w").toFloatArray()).containsExactly(1.5f, -2);
                assertThat(c.foreignClasses()).isEmpty();
                assertThat(c.verify().damages()).isEmpty();
            }
        }

        @Test
        void whatIsNoSaveOfAStorageStaysInert() throws IOException {
            byte[] good = good();
            byte[] longer = Arrays.copyOf(good, good.length + 4);
            byte[] count = good.clone();
            count[good.length - 16] = 3;
            List<byte[]> bad = new ArrayList<>(List.of(new byte[0], longer, count, save(pickle().integer(1).stop()),
                    save(pickle().global("os", "system").text("echo").bytes(0x85).ops("R").stop()),
                    save(storage(pickle().ops("(").global("os", "system")).ops("t").stop()),
                    save(loaded(pickle(), good).stop()), save(storage(pickle()).bytes(0x85).stop())));
            for (int length = 1; length < good.length; length += 7) {
                bad.add(Arrays.copyOf(good, length));
            }
            for (byte[] save : bad) {
                try (Checkpoint c = open(loaded(pickle(), save))) {
                    assertThat(((TypedMap) c.state()).type()).isEqualTo("python:torch.storage._load_from_bytes");
                    assertThat(c.foreignClasses())
                            .containsExactly(new ForeignClass("torch.storage._load_from_bytes", 1, true));
                }
            }
        }

        /// Else a short file could have very many large storages.
        @Test
        void theSameBytesAreReadOnce() throws IOException {
            PickleBuilder pickle = pickle().ops("(").global("torch.storage", "_load_from_bytes").bytes('q', 0)
                    .data(good()).bytes(0x85, 'q', 1).ops("R").bytes('h', 0, 'h', 1).ops("Rt");
            try (Checkpoint c = open(pickle)) {
                assertThat(c.storages()).hasSize(1);
                assertThat(PythonObjects.is(((List<?>) c.state()).get(1))).isTrue();
            }
        }

        @Test
        void costsAreThoseOfTheWholeFile() throws IOException {
            PickleBuilder state = pickle().ops("(");
            for (int i = 0; i < 400_000; i++) {
                state.ops("]");
            }
            byte[] save = save(state.ops("t").stop());
            PickleBuilder pickle = pickle().ops("(");
            for (int i = 0; i < 3; i++) {
                loaded(pickle, save);
            }
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> open(pickle.ops("t")).close())
                    .satisfies(refusal -> assertThat(refusal.code()).isEqualTo("COST-MEMORY"));
        }

        @Test
        void aStrictReaderRefusesThem() throws IOException {
            Path file = Files.write(folder.resolve("strict.pkl"), loaded(pickle(), good()).stop());
            OpenOptions strict = OpenOptions.defaults().format("pickle").setting("torch.strict", "on");
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(file, strict).close())
                    .withMessageContaining("_load_from_bytes");
        }
    }
}
