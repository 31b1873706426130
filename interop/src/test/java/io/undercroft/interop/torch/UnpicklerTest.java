package io.undercroft.interop.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.serializer.spi.ReadBudget;
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
import io.undercroft.testsupport.Tries;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class UnpicklerTest {

    private static Object load(byte[] pickle) {
        return load(pickle, ReadBudget.of(pickle.length));
    }

    private static Object load(byte[] pickle, ReadBudget budget) {
        return load(pickle, budget, ForeignNames.ofTensors());
    }

    private static Object load(byte[] pickle, ReadBudget budget, ForeignNames names) {
        try {
            return run(pickle, budget, names);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Object run(byte[] pickle, ReadBudget budget, ForeignNames names) throws IOException {
        Map<Object, Storage> storages = new LinkedHashMap<>();
        Object state = new Unpickler(
                PickleInput.of(MemorySegment.ofArray(pickle), "the pickle", ArrayStorages.ofSizes()), id -> {
                    if (!(id instanceof Tuple parts && parts.size() == 5 && parts.get(4) instanceof Long numel
                            && numel >= 0)) {
                        throw PickleFault.malformed("no storage");
                    }
                    return new TypedStorage(storages.computeIfAbsent(parts.get(2), _ -> Storage.meta(4 * numel)),
                            DType.FLOAT32);
                }, names, budget).run();
        StateCheck.check(state, names.isStrict(), _ -> {});
        return state;
    }

    static PickleInput input(byte[] pickle) {
        return PickleInput.of(MemorySegment.ofArray(pickle), "a.pt", ArrayStorages.ofSizes());
    }

    private static FormatException refusal(byte[] pickle) {
        FormatException refusal = catchThrowableOfType(FormatException.class, () -> load(pickle));
        assertThat(refusal).isNotNull();
        assertThat(refusal.getMessage()).doesNotContain("\n");
        return refusal;
    }

    private static PickleBuilder pickle() {
        return new PickleBuilder();
    }

    /// A call of a Python class whose arguments are on the stack since the last mark.
    private static Object called(String module, String name, PickleBuilder arguments) {
        byte[] inner = arguments.stop();
        PickleBuilder whole = pickle().global(module, name).ops("(");
        for (int i = 2; i < inner.length - 1; i++) {
            whole.bytes(inner[i]);
        }
        return load(whole.ops("tR").stop());
    }

    @Nested
    class StateValues {
        @Test
        void numbersKeepTheirTypeAndSize() {
            byte[] pickle = pickle().ops("(").integer(-5).bytes('K', 255, 'M', 1, 2)
                    .bytes(0x8a, 0).bytes(0x8a, 8, 0, 0, 0, 0, 0, 0, 0, 0x80)
                    .bytes(0x8a, 9, 0, 0, 0, 0, 0, 0, 0, 0x80, 0)
                    .bytes('G', 0x3f, 0xf8, 0, 0, 0, 0, 0, 0)
                    .bytes(0x88, 0x89, 'N').ops("t").stop();
            assertThat(load(pickle))
                    .isEqualTo(Tuple.of(-5L, 255L, 513L, 0L, Long.MIN_VALUE, BigInteger.TWO.pow(63), 1.5,
                            true, false, null));
        }

        @Test
        void bytesAreWhatTheirEncodingSays() {
            assertThat((byte[]) called("_codecs", "encode", pickle().text("ÿA").text("latin1"))).containsExactly(0xff,
                    'A');
            assertThat((byte[]) called("__builtin__", "bytes", pickle())).isEmpty();
            Typed array = (Typed) called("__builtin__", "bytearray", pickle().text("é").text("latin-1"));
            assertThat(array.type()).isEqualTo("builtins.bytearray");
            assertThat((byte[]) array.value()).containsExactly(0xe9);
        }

        @Test
        void stringsOfPython2AreTextWhereTheyCanBe() {
            assertThat(load(pickle().bytes('U', 2, 0xc3, 0xa9).stop())).isEqualTo("é");
            assertThat((byte[]) load(pickle().bytes('U', 1, 0xe9).stop())).containsExactly(0xe9);
        }

        @Test
        void pythonsTypesHaveCounterparts() {
            assertThat(called("__builtin__", "complex", pickle().integer(1).integer(-2))).isEqualTo(new Complex(1, -2));
            assertThat(called("__builtin__", "set", pickle().ops("]").ops("(").integer(1).integer(2).ops("e")))
                    .isEqualTo(Set.of(1L, 2L));
            TypedMap counter = (TypedMap) called("collections", "Counter",
                    pickle().ops("}").text("a").integer(2).ops("s"));
            assertThat(counter.type()).isEqualTo("collections.Counter");
            assertThat(counter).containsEntry("a", 2L);
            TypedMap defaults = (TypedMap) called("collections", "defaultdict", pickle().global("__builtin__", "list"));
            assertThat(defaults.attributes()).containsEntry("default_factory", new Symbol("builtins.list"));
        }

        @Test
        void torchsConstantsHaveCounterparts() {
            assertThat(load(pickle().global("torch", "bfloat16").stop())).isSameAs(DType.BFLOAT16);
            assertThat(called("torch", "device", pickle().text("cuda").integer(1))).isEqualTo(Device.cuda(1));
            assertThat(called("torch", "Size", pickle().integer(2).integer(3).bytes(0x86))).isEqualTo(Shape.of(2, 3));
            assertThat(called("torch.serialization", "_get_layout", pickle().text("torch.strided")))
                    .isEqualTo(new Symbol("torch.strided"));
            assertThat(load(pickle().global("torch", "per_tensor_affine").stop()))
                    .isEqualTo(new Symbol("torch.per_tensor_affine"));
        }

        @Test
        void anOrderedDictKeepsItsAttributes() {
            byte[] pickle = pickle().global("collections", "OrderedDict").ops(")R").text("a").integer(1).ops("s")
                    .ops("}").text("_metadata").ops("}sb").stop();
            TypedMap map = (TypedMap) load(pickle);
            assertThat(map).containsExactly(Map.entry("a", 1L));
            assertThat(map.attributes()).containsExactly(Map.entry("_metadata", Map.of()));
        }

        @Test
        void aTensorThatIsReferencedTwiceIsOneObject() {
            List<?> list = (List<?>) load(
                    pickle().ops("](").tensor("0", 4).put(7).get(7).tensor("0", 4).ops("e").stop());
            assertThat(list.get(1)).isSameAs(list.get(0));
            assertThat(list.get(2)).isNotSameAs(list.get(0));
            assertThat(((Tensor) list.get(2)).storage()).isSameAs(((Tensor) list.get(0)).storage());
        }

        @Test
        void aListMayHoldItself() {
            List<?> list = (List<?>) load(pickle().ops("]").put(0).get(0).ops("a").stop());
            assertThat(list.get(0)).isSameAs(list);
        }

        @Test
        void aTupleMayHoldItselfThroughAList() {
            byte[] pickle = pickle().ops("]").put(0).get(0).bytes(0x85).put(1).ops("a0").get(1).stop();
            Tuple tuple = (Tuple) load(pickle);
            assertThat(((List<?>) tuple.get(0)).get(0)).isSameAs(tuple);
        }

        @Test
        void aTensorWithAttributesCarriesThem() {
            byte[] pickle = pickle().global("torch._tensor", "_rebuild_from_type_v2").ops("(")
                    .global("torch._utils", "_rebuild_meta_tensor_no_storage").global("my.models", "Quaternion")
                    .ops("(").global("torch", "float32").integer(2).bytes(0x85).integer(1).bytes(0x85, 0x88).ops("t")
                    .ops("}").text("note").integer(3).ops("s").ops("tR").stop();
            Typed typed = (Typed) load(pickle);
            assertThat(typed.type()).isEqualTo("my.models.Quaternion");
            assertThat(typed.attributes()).containsExactly(Map.entry("note", 3L));
            assertThat(((Tensor) typed.value()).is(Tensor.Flag.REQUIRES_GRAD)).isTrue();
            assertThat(((Tensor) typed.value()).device()).isEqualTo(Device.META);
        }

        /// As PyTorch before 0.4 had it: `Parameter(tensor)`, then its state.
        @Test
        void theStateOfAnOldParameterIsSet() {
            PickleBuilder pickle = pickle().global("torch.nn.parameter", "Parameter").tensor("0", 2).bytes(0x85)
                    .ops("R(").bytes(0x89, 0x89);
            Typed parameter = (Typed) load(pickle.global("collections", "OrderedDict").ops(")Rtb").stop());
            assertThat(parameter.type()).isEqualTo("torch.nn.parameter.Parameter");
            assertThat(((Tensor) parameter.value()).is(Tensor.Flag.REQUIRES_GRAD)).isFalse();
            assertThat(refusal(pickle().global("torch.nn.parameter", "Parameter").tensor("0", 2).bytes(0x85)
                    .ops("R)b").stop()).what()).contains("0 arguments");
        }

        /// The location of the storage says where the tensor was; the class need not.
        @Test
        void anOldTensorOfAGpuIsOneOfItsStorage() {
            byte[] pickle = pickle().global("torch.cuda", "FloatTensor").ops(")R(").storage("0", 6).integer(2)
                    .integer(2).bytes(0x85).integer(3).bytes(0x85).ops("tb").stop();
            Tensor tensor = (Tensor) load(pickle);
            assertThat(tensor.storageOffset()).isEqualTo(2);
            assertThat(tensor.stride()).containsExactly(3);
        }

        @Test
        void aTensorOfADeviceWithoutStoragesIsItsCopyOnTheCpu() {
            PickleBuilder pickle = pickle().global("torch._utils", "_rebuild_device_tensor_from_cpu_tensor").ops("(")
                    .tensor("0", 4);
            Tensor tensor = (Tensor) load(pickle.global("torch", "float32").text("xla:0").bytes(0x88).ops("tR").stop());
            assertThat(tensor.shape()).isEqualTo(Shape.of(4));
            assertThat(tensor.is(Tensor.Flag.REQUIRES_GRAD)).isTrue();
            assertThat(refusal(pickle().global("torch._utils", "_rebuild_device_tensor_from_cpu_tensor").ops("(")
                    .tensor("0", 4).global("torch", "int8").text("xla:0").bytes(0x88).ops("tR").stop()).what())
                    .contains("argument 2");
        }

        @Test
        void aClassInAClassKeepsModuleAndNameApart() {
            byte[] pickle = pickle().global("torch._tensor", "_rebuild_from_type_v2").ops("(")
                    .global("torch._utils", "_rebuild_meta_tensor_no_storage").text("my.models").text("Outer.Inner")
                    .bytes(0x93).ops("(").global("torch", "float32").integer(2).bytes(0x85).integer(1)
                    .bytes(0x85, 0x88).ops("t}tR").stop();
            assertThat(((Typed) load(pickle)).type()).isEqualTo("my.models:Outer.Inner");
        }

        @Test
        void aParameterTakesRequiresGradFromItself() {
            byte[] pickle = pickle().global("torch._utils", "_rebuild_parameter").ops("(").tensor("0", 2).bytes(0x88)
                    .global("collections", "OrderedDict").ops(")RtR").stop();
            Typed parameter = (Typed) load(pickle);
            assertThat(parameter.type()).isEqualTo("torch.nn.parameter.Parameter");
            assertThat(((Tensor) parameter.value()).is(Tensor.Flag.REQUIRES_GRAD)).isTrue();
        }
    }

    @Nested
    class Refusals {
        @ParameterizedTest
        @ValueSource(strings = {
                "os system", "posix system", "builtins eval", "__builtin__ exec", "builtins getattr", "torch.hub load",
                "torch.storage _load_from_bytes", "numpy.core.multiarray _reconstruct", "subprocess Popen",
                "torch._utils _rebuild_wrapper_subclass", "torch._utils", "collections OrderedDict.fromkeys",
                "pickle loads"
        })
        void namesOutsideTheTableAreRefusedByNameInAStrictPickle(String global) {
            String[] parts = (global + " ").split(" ", 2);
            String name = parts[1].strip();
            FormatException refusal = refusal(pickle().global(parts[0], name).text("echo").bytes(0x85).ops("R").stop());
            assertThat(refusal.code()).isEqualTo("TORCH-GLOBAL");
            assertThat(refusal.what()).contains("'" + parts[0] + "." + name + "'");
            assertThat(refusal.what()).endsWith(" at byte 2 of the uncompressed pickle");
        }

        @Test
        void namesOnTheStackAreRefusedToo() {
            assertThat(refusal(pickle().text("os").text("system").bytes(0x93).stop()).code()).isEqualTo("TORCH-GLOBAL");
        }

        @Test
        void aNameThatWasALabelCannotBeCalled() {
            byte[] call = pickle().global("torch._tensor", "_rebuild_from_type_v2").ops("(")
                    .global("torch._utils", "_rebuild_tensor_v2").global("os", "system").put(1)
                    .ops("0000").get(1).text("echo").bytes(0x85).ops("R").stop();
            assertThat(refusal(call).code()).isIn("TORCH-GLOBAL", "TORCH-PICKLE");
            byte[] popped = pickle().global("torch._tensor", "_rebuild_from_type_v2").ops("(")
                    .global("torch._utils", "_rebuild_tensor_v2").global("os", "system").put(1)
                    .ops("10").get(1).text("echo").bytes(0x85).ops("R").stop();
            assertThat(refusal(popped).what()).contains("'os.system'");
            byte[] left = pickle().global("torch._tensor", "_rebuild_from_type_v2").ops("(")
                    .global("torch._utils", "_rebuild_tensor_v2").global("os", "system").put(1).ops("10").get(1).stop();
            assertThat(refusal(left).code()).isEqualTo("TORCH-GLOBAL");
        }

        @Test
        void aFunctionIsNoValue() {
            assertThat(refusal(pickle().global("torch._utils", "_rebuild_tensor_v2").stop()).what())
                    .contains("left without a use");
            assertThat(refusal(pickle().global("torch", "Tensor").ops(")R").stop()).code()).isEqualTo("TORCH-PICKLE");
        }

        @ParameterizedTest
        @ValueSource(strings = {"R", "b", "a", "e", "s", "u", "t", "0", "1", "2", "q", "Q", ".", "h", "}a.", "]}s.",
                "(."})
        void aStackThatDoesNotFitIsRefused(String ops) {
            assertThat(refusal(pickle().ops(ops).stop()).code()).isEqualTo("TORCH-PICKLE");
        }

        @ParameterizedTest
        @ValueSource(ints = {'A', 'Z', '~', 0x7f, 0x99, 0xff, 0})
        void unknownOpcodesAreRefused(int opcode) {
            assertThat(refusal(pickle().bytes(opcode).stop()).what()).contains(String.format("0x%02x", opcode));
        }

        @Test
        void anEmptyPickleIsRefused() {
            assertThat(refusal(new byte[0]).code()).isEqualTo("TORCH-PICKLE");
        }

        @Test
        void newerProtocolsAreRefused() {
            assertThat(refusal(new byte[]{(byte) 0x80, 6, 'N', '.'}).code()).isEqualTo("TORCH-PROTOCOL");
        }

        @Test
        void lengthsBeyondTheInputAreRefusedBeforeAnythingIsAllocated() {
            assertThat(refusal(pickle().bytes('X', 0xff, 0xff, 0xff, 0xff).stop()).code()).isEqualTo("TORCH-PICKLE");
            assertThat(refusal(pickle().bytes('T', 0xff, 0xff, 0xff, 0xff).stop()).code()).isEqualTo("TORCH-PICKLE");
            assertThat(refusal(pickle().bytes(0x8b, 0xff, 0xff, 0xff, 0x7f).stop()).code()).isEqualTo("TORCH-PICKLE");
            assertThat(refusal(pickle().bytes(0x8d, 0, 0, 0, 0, 0, 0, 0, 0x80).stop()).code())
                    .isEqualTo("TORCH-PICKLE");
            assertThat(refusal(pickle().ops("N").put(0x7fffffff).stop()).code()).isEqualTo("TORCH-PICKLE");
            assertThat(refusal(pickle().ops("N").put(-1).stop()).code()).isEqualTo("TORCH-PICKLE");
        }

        @Test
        void keysThatPythonCannotHashAreRefused() {
            assertThat(refusal(pickle().ops("}]Ns").stop()).what()).contains("a list");
            assertThat(refusal(pickle().ops("}]").bytes(0x85).ops("Ns").stop()).what()).contains("a list");
        }

        @Test
        void aTensorOutsideItsStorageIsNotReadAndKeepsItsPlace() {
            byte[] pickle = pickle().global("torch._utils", "_rebuild_tensor").ops("(").storage("0", 4).integer(2)
                    .integer(3).bytes(0x85).integer(1).bytes(0x85).ops("tR").stop();
            assertThat(Unreadable.why((Tensor) load(pickle)).orElseThrow().code()).isEqualTo("TORCH-TENSOR");
        }

        @Test
        void aNameOfAFlagSetsItWhateverItsValueIsAsInPyTorch() {
            byte[] pickle = pickle().global("torch._utils", "_rebuild_tensor_v2").ops("(").storage("0", 4).integer(0)
                    .integer(3).bytes(0x85).integer(1).bytes(0x85, 0x89).ops("N}").text("neg").bytes(0x89).ops("stR")
                    .stop();
            assertThat(((Tensor) load(pickle)).flags()).containsExactly(Tensor.Flag.NEG);
        }

        @Test
        void theErrorNamesOpcodeAndPlace() {
            FormatException refusal = refusal(pickle().ops("N").ops("R").stop());
            assertThat(refusal.what()).endsWith("opcode REDUCE at byte 3 of the uncompressed pickle");
        }
    }

    @Nested
    class Bounds {
        @Test
        void nestingIsLimitedAndNeverRecursedOn() {
            assertThat(load(pickle().ops("]".repeat(128)).ops("a".repeat(127)).stop())).isInstanceOf(ArrayList.class);
            assertThat(refusal(pickle().ops("]".repeat(129)).ops("a".repeat(128)).stop()).code())
                    .isEqualTo("TORCH-DEPTH");
            assertThat(refusal(pickle().ops("]".repeat(200_000)).ops("a".repeat(199_999)).stop()).code())
                    .isEqualTo("TORCH-DEPTH");
        }

        @Test
        void doublingTuplesAreRefused() {
            PickleBuilder pickle = pickle().ops(")");
            for (int i = 0; i < 60; i++) {
                pickle.put(i).get(i).bytes(0x86);
            }
            assertThat(refusal(pickle.stop()).code()).isEqualTo("TORCH-SHARED");
        }

        @Test
        void notANumberIsAKeyOnlyOnce() {
            int[] nan = {'G', 0x7F, 0xF8, 0, 0, 0, 0, 0, 0};
            assertThat(refusal(pickle().ops("}").bytes(nan).ops("Ns").bytes(nan).ops("Ns").stop()).code())
                    .isEqualTo("TORCH-KEY");
        }

        @Test
        void aDoublingTupleIsNoKey() {
            PickleBuilder pickle = pickle().ops("})");
            for (int i = 0; i < 60; i++) {
                pickle.put(i).get(i).bytes(0x86);
            }
            assertThat(refusal(pickle.ops("Ns").stop()).code()).isEqualTo("TORCH-KEY");
        }

        @Test
        void aNestedRebuildIsRefused() {
            byte[] pickle = pickle().global("torch._tensor", "_rebuild_from_type_v2").put(0).ops("(").get(0)
                    .global("torch", "Tensor").ops(")NtR").stop();
            assertThat(refusal(pickle).code()).isEqualTo("TORCH-PICKLE");
        }

        @Test
        void copyingOneListAgainAndAgainIsRefused() {
            PickleBuilder pickle = pickle().global("__builtin__", "set").put(0).ops("](");
            for (int i = 0; i < 1000; i++) {
                pickle.integer(i);
            }
            pickle.ops("e").put(1).ops("0");
            for (int i = 0; i < 1000; i++) {
                pickle.get(0).get(1).bytes(0x85).ops("R");
            }
            assertThat(refusal(pickle.stop()).what()).contains("copied");
        }

        @Test
        void forgedHashesAreRefused() {
            // The hash of (a, b) depends on 31 * a + b, which is the same for all of these.
            PickleBuilder pickle = pickle().ops("}(");
            for (int i = 0; i < 40_000; i++) {
                pickle.integer(i).integer(31 * (40_000 - i)).bytes(0x86).ops("N");
            }
            assertThat(refusal(pickle.ops("u").stop()).what()).contains("slow");
        }

        /// Strings alone, or numbers alone, Java would keep in a tree.
        @Test
        void numbersAmongStringsOfTheirHashAreRefused() {
            PickleBuilder pickle = pickle().ops("}(");
            int hash = "BB".repeat(14).hashCode();
            for (int i = 0; i < 1 << 14; i++) {
                String bits = Integer.toBinaryString(1 << 14 | i).substring(1);
                pickle.text(bits.replace("0", "Aa").replace("1", "BB")).ops("N");
                pickle.integer((i + 1L) << Integer.SIZE | Integer.toUnsignedLong((i + 1) ^ hash)).ops("N");
            }
            assertThat(refusal(pickle.ops("u").stop()).what()).contains("slow");
        }

        @Test
        void manyHonestTupleKeysAreFine() {
            PickleBuilder pickle = pickle().ops("}(");
            for (int i = 0; i < 300; i++) {
                for (int j = 0; j < 300; j++) {
                    pickle.integer(i).integer(j).bytes(0x86).ops("N");
                }
            }
            assertThat((Map<?, ?>) load(pickle.ops("u").stop())).hasSize(90_000);
        }

        /// A tuple that is made once and used often is hashed each time, and compared to the end with those of its
        /// hash.
        @Test
        void longKeysThatAreUsedAgainAndAgainAreRefused() {
            PickleBuilder once = pickle().ops("](");
            once.ops("(").ops("N".repeat(1000)).ops("t").put(0).ops("}").put(1).ops("0".repeat(2)).ops("(");
            for (int i = 0; i < 60_000; i++) {
                once.get(1).get(0).ops("Ns0");
            }
            assertThat(refusal(once.stop()).what()).contains("slow");
            PickleBuilder equal = pickle().ops("](").ops("N".repeat(1000)).ops("t").put(0).ops("0}");
            for (int i = 0; i < 300; i++) {
                equal.get(0).integer(i).integer(31 * (300 - i)).bytes(0x87).ops("Ns");
            }
            assertThat(refusal(equal.stop()).what()).contains("slow");
        }

        @Test
        void randomDamageGivesAValueOrAFormatException() {
            byte[] good = pickle().ops("}(").text("w").tensor("0", 4).put(1).text("v").get(1)
                    .text("s").global("__builtin__", "set").ops("](").integer(1).integer(2).ops("e").bytes(0x85)
                    .ops("R")
                    .text("t").integer(1).text("é").bytes(0x86).ops("u").stop();
            load(good);
            Random random = new Random(42);
            int refused = 0;
            int tries = Tries.of(100_000);
            for (int round = 0; round < tries; round++) {
                try {
                    load(PickleBuilder.damaged(good, random));
                } catch (FormatException e) {
                    refused++;
                }
            }
            assertThat(refused).isGreaterThan(tries / 10);
        }
    }

    @Test
    void tenTimesAsManyTensorsTakeTenTimesTheWork() {
        byte[] few = tensors(1000);
        byte[] many = tensors(10_000);
        allocatedBy(few);
        assertThat(allocatedBy(many)).isLessThan(20 * allocatedBy(few));
    }

    private static byte[] tensors(int count) {
        PickleBuilder pickle = pickle().ops("}(");
        for (int i = 0; i < count; i++) {
            pickle.text("layer." + i + ".weight").tensor(Integer.toString(i), 1000);
        }
        return pickle.ops("u").stop();
    }

    private static long allocatedBy(byte[] pickle) {
        long before = Proc.allocatedByThisThread();
        load(pickle);
        return Proc.allocatedByThisThread() - before;
    }
}
