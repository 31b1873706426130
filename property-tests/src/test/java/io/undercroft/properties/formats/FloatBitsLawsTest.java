package io.undercroft.properties.formats;

import io.undercroft.properties.Scratch;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.StateClasses;
import io.undercroft.serializer.StateCodec;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import io.undercroft.testsupport.Sameness;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.SequencedMap;
import java.util.Set;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/// Floating-point numbers keep all bits, those of any NaN included, wherever a state has numbers and however it is
/// saved.
class FloatBitsLawsTest {
    /// Torch7 has no negated tensors either.
    private static final List<DType> LUA_TYPES = List.of(DType.FLOAT32, DType.FLOAT64);
    private static final StateClasses CLASSES = StateClasses.of(Numbers.class, Boxes.class, Fields.class, Outer.class)
            .with(Coded.class, new NumbersCodec());

    @SuppressWarnings("ArrayRecordComponent")
    private record Numbers(float real, double wide, float[] reals, double[] wides, float[][] grid) {}

    @SuppressWarnings("ArrayRecordComponent")
    private record Boxes(Float real, Double wide, Number number, Object any, Object[] objects,
            List<Float> list, Map<String, Double> map, Optional<Float> optional,
            OptionalDouble wideOptional, Complex complex) {}

    @SuppressWarnings("UnusedVariable") // Read when it is saved.
    private static class Fields {
        float real;
        double wide;
        Float box;
        Object any;
        List<Double> list = List.of();
    }

    @SuppressWarnings("UnusedVariable") // Read when it is saved.
    private static final class Outer extends Fields {
        float outerReal;
        double[] wides = {};
    }

    private record Coded(float real, double wide) {}

    private static final class NumbersCodec implements StateCodec<Coded> {
        @Override
        public SequencedMap<String, Object> encode(Coded numbers) {
            SequencedMap<String, Object> parts = new LinkedHashMap<>();
            parts.put("real", numbers.real);
            parts.put("wide", numbers.wide);
            return parts;
        }

        @Override
        public Coded decode(SequencedMap<String, Object> parts) {
            return new Coded((Float) parts.get("real"), (Double) parts.get("wide"));
        }
    }

    /// A NaN of 32 bits and one of 64, or any other number.
    private record Bits(int bits, long wideBits) {
        float real() {
            return Float.intBitsToFloat(bits);
        }

        double wide() {
            return Double.longBitsToDouble(wideBits);
        }

        static Bits ofNan(int payload, long widePayload) {
            return new Bits(payload | 0x7f80_0001, widePayload | 0x7ff0_0000_0000_0001L);
        }
    }

    @Property(tries = 60)
    void aCheckpointKeepsTheBitsOfValues(@ForAll int payload, @ForAll long widePayload) throws IOException {
        Bits nan = Bits.ofNan(payload, widePayload);
        Map<String, Object> state = values(nan.wide());
        state.put("real", nan.real());
        state.put("reals", Collections.nCopies(40, nan.real()));
        state.put("real attribute", typed(nan.real()));
        state.put("real key", new HashMap<>(Map.of(nan.real(), 1L)));
        state.putAll(tensors(nan, DType.values()));
        checkCheckpoint(state);
    }

    @Property(tries = 60)
    void aCheckpointKeepsTheBitsInObjects(@ForAll int payload, @ForAll long widePayload) throws IOException {
        Bits nan = Bits.ofNan(payload, widePayload);
        float real = nan.real();
        double wide = nan.wide();
        Outer outer = new Outer();
        fill(outer, real, wide);
        outer.outerReal = real;
        outer.wides = new double[]{wide, 1, wide};
        Fields fields = new Fields();
        fill(fields, real, wide);
        checkCheckpoint(new ArrayList<>(Arrays.asList(outer, fields, new Coded(real, wide),
                new Numbers(real, wide, new float[]{real, 1}, new double[]{wide}, new float[][]{{real}}),
                new Boxes(real, wide, real, wide, new Object[]{real, wide, 1L}, new ArrayList<>(List.of(real, 1f)),
                        new TreeMap<>(Map.of("a", wide)), Optional.of(real), OptionalDouble.of(wide),
                        new Complex(wide, wide)),
                new ArrayDeque<>(List.of(real, wide)), new float[]{real}, new double[]{1, wide}, new Object[]{real})));
    }

    @Property(tries = 20)
    void otherFormatsKeepTheBitsOfWhatTheyHold(@ForAll int payload, @ForAll long widePayload) throws IOException {
        Bits nan = Bits.ofNan(payload, widePayload);
        for (Dialect dialect : Dialect.values()) {
            try (Scratch scratch = Scratch.make()) {
                Written written = Written.of(dialect, state(dialect, nan), scratch).orElseThrow();
                ForeignLaw.WHAT_IS_OPENED_IS_WHAT_WAS_WRITTEN.check(written);
                ForeignLaw.WRITING_WHAT_WAS_OPENED_GIVES_THE_SAME_BYTES.check(written);
                ForeignLaw.THE_WAY_THROUGH_A_CROFT_FILE_CHANGES_NOTHING.check(written);
            }
        }
    }

    private static Object state(Dialect dialect, Bits nan) {
        return switch (dialect) {
            case TORCH_ZIP -> {
                Map<String, Object> values = values(nan.wide());
                values.putAll(tensors(nan, DType.values()));
                yield values;
            }
            case TORCH7, TORCH7_BIG, TORCH7_SHORT -> {
                Map<String, Object> values = new LinkedHashMap<>(tensors(nan, LUA_TYPES));
                values.put("value", nan.wide());
                values.put("list", new ArrayList<>(List.of(nan.wide(), 1.0)));
                TypedMap object = new TypedMap("torch7:nn.Linear");
                object.put("value", nan.wide());
                values.put("object", object);
                values.put("storage", new TypedStorage(storage(nan), DType.FLOAT64));
                yield values;
            }
            // Text has one NaN: what it keeps are numbers.
            case TORCH7_TEXT -> new LinkedHashMap<>(Map.of("value", Double.longBitsToDouble(nan.wideBits & ~(1L << 62)),
                    "tensor", Tensor.of(Float.intBitsToFloat(nan.bits & ~(1 << 30)))));
            case GGUF -> {
                TypedMap values = new TypedMap("gguf");
                values.attributes().put("real", nan.real());
                values.attributes().put("wide", nan.wide());
                values.attributes().put("reals", new Typed("gguf:array:float32", Arrays.asList(nan.real(), 1f)));
                values.attributes().put("wides", new Typed("gguf:array:float64", Arrays.asList(nan.wide(), 1.0)));
                values.putAll(tensors(nan, List.of(DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64)));
                yield values;
            }
            case NPY -> Tensor.of(storage(nan), DType.FLOAT64, 0, Shape.of(4), 1);
            case NPZ, NPZ_DEFLATED ->
                tensors(nan, List.of(DType.FLOAT16, DType.FLOAT32, DType.FLOAT64, DType.COMPLEX64, DType.COMPLEX128));
            case SAFETENSORS, SAFETENSORS_COPIED -> tensors(nan, List.of(DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32,
                    DType.FLOAT64, DType.FLOAT8_E5M2, DType.COMPLEX64));
        };
    }

    /// Everywhere where a state of Python's values has a number.
    private static Map<String, Object> values(double nan) {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("value", nan);
        state.put("list", new ArrayList<>(Collections.nCopies(40, nan)));
        state.put("mixed list", new ArrayList<>(List.of(1L, nan, "x", List.of(nan))));
        state.put("tuple", Tuple.of(nan, 1.0));
        state.put("set", new LinkedHashSet<>(List.of(nan)));
        state.put("key", new HashMap<>(Map.of(nan, 1L)));
        state.put("complex", new Complex(nan, nan));
        state.put("typed", typed(nan));
        TypedMap map = new TypedMap("collections.OrderedDict");
        map.put("value", nan);
        map.attributes().put("_metadata", nan);
        state.put("typed map", map);
        return state;
    }

    /// A value and an attribute.
    private static Typed typed(Object number) {
        Typed typed = new Typed("torch.nn.parameter.Parameter", Tensor.of(1f));
        typed.attributes().put("note", number);
        typed.attributes().put("notes", new ArrayList<>(List.of(number)));
        return typed;
    }

    private static void fill(Fields fields, float real, double wide) {
        fields.real = real;
        fields.wide = wide;
        fields.box = real;
        fields.any = wide;
        fields.list = new ArrayList<>(List.of(wide));
    }

    /// Tensors of all types of floating-point and complex numbers among some, each in memory as it is and negated.
    private static Map<String, Object> tensors(Bits nan, List<DType> dtypes) {
        boolean isLua = dtypes == LUA_TYPES;
        Map<String, Object> tensors = new LinkedHashMap<>();
        for (DType dtype : dtypes) {
            boolean isReal = dtype.kind() == DType.Kind.FLOATING && dtype.isByteSized();
            if (isReal || dtype.kind() == DType.Kind.COMPLEX) {
                Shape shape = Shape.of(storage(nan).nbytes() / dtype.itemsize());
                Tensor tensor = Tensor.of(storage(nan), dtype, 0, shape, 1);
                tensors.put(dtype.name(), tensor);
                tensors.put(dtype.name() + " part", tensor.narrow(0, 1, 1));
                if (!isLua) {
                    tensors.put(dtype.name() + " negative",
                            Tensor.of(storage(nan), dtype, 0, shape, 1).withFlags(Set.of(Tensor.Flag.NEG)));
                }
            }
        }
        return tensors;
    }

    private static Storage storage(Bits nan) {
        Storage storage = Storage.allocate(4 * Double.BYTES);
        for (int i = 0; i < 2; i++) {
            storage.segment().setAtIndex(ValueLayout.JAVA_LONG, i, nan.wideBits);
        }
        for (int i = 4; i < 8; i++) {
            storage.segment().setAtIndex(ValueLayout.JAVA_INT, i, nan.bits);
        }
        return storage;
    }

    /// Saved, saved again from what was opened, and committed to a file that has another state.
    private static void checkCheckpoint(Object state) throws IOException {
        OpenOptions options = OpenOptions.defaults().classes(CLASSES);
        SaveOptions saving = SaveOptions.defaults().classes(CLASSES);
        try (Scratch scratch = Scratch.make()) {
            Path path = scratch.file("a.croft");
            Checkpoint.save(path, state, saving);
            Path again = scratch.file("b.croft");
            try (Checkpoint opened = Checkpoint.open(path, options)) {
                Sameness.check(state, opened.state());
                Checkpoint.save(again, opened.state(), saving);
            }
            CroftFile.open(path).commit(Map.of("other", 1L), saving);
            CroftFile.open(path).commit(state, saving);
            for (Path file : List.of(path, again)) {
                try (Checkpoint opened = Checkpoint.open(file, options)) {
                    Sameness.check(state, opened.state());
                }
            }
        }
    }
}
