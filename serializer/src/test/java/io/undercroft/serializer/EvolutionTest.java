package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Files outlive the classes that they were saved with.
class EvolutionTest {
    private static final String NAME = "training.Optimizer";

    @TempDir
    Path directory;

    /// The first version of a record.
    record Optimizer1(double rate, int steps, Tensor moments) {}

    /// The second one: a component is new, one has another name.
    record Optimizer2(double learningRate, long steps, Tensor moments, boolean amsgrad) {}

    /// A class that is no record any more, or not yet.
    static final class OptimizerClass {
        private double rate;
        private int steps;
        private @Nullable Tensor moments;
        private String note = "new";
    }

    record Noted(double rate, int steps, Tensor moments, String note) {}

    record Wide(double rate, BigInteger steps, Tensor moments) {}

    record Picky(double rate, int steps, Tensor moments) {
        Picky {
            throw new IllegalStateException("never\nhappy");
        }
    }

    enum Phase {
        TRAIN
    }

    enum Renamed {
        TRAINING
    }

    sealed interface Layer permits Dense, Norm {}

    record Dense(Tensor weight) implements Layer {}

    static final class Norm implements Layer {
        private final List<Layer> after = new ArrayList<>();
    }

    /// What a codec takes apart.
    static final class Buffer {
        private final List<Object> held;
        private final int size;

        Buffer(List<Object> held, int size) {
            this.held = held;
            this.size = size;
        }
    }

    static final class BufferCodec implements StateCodec<Buffer> {
        @Override
        public SequencedMap<String, @Nullable Object> encode(Buffer buffer) {
            SequencedMap<String, @Nullable Object> parts = new LinkedHashMap<>();
            parts.put("size", buffer.size);
            parts.put("held", buffer.held);
            return parts;
        }

        @Override
        @SuppressWarnings("unchecked")
        public Buffer decode(SequencedMap<String, @Nullable Object> parts) {
            return new Buffer((List<Object>) Objects.requireNonNull(parts.get("held")),
                    (int) Objects.requireNonNull(parts.get("size")));
        }
    }

    static final class Knot {
        private Object next = "";
    }

    static final class KnotCodec implements StateCodec<Knot> {
        @Override
        public SequencedMap<String, @Nullable Object> encode(Knot knot) {
            return new LinkedHashMap<>(Map.of("next", knot.next));
        }

        @Override
        public Knot decode(SequencedMap<String, @Nullable Object> parts) {
            Knot knot = new Knot();
            knot.next = Objects.requireNonNull(parts.get("next"));
            return knot;
        }
    }

    /// Throws, or returns something else than it should.
    private record Odd(@Nullable Object answer) implements StateCodec<Knot> {
        @Override
        public SequencedMap<String, @Nullable Object> encode(Knot knot) {
            if (answer == null) {
                throw new IllegalStateException("no\nparts");
            }
            return new LinkedHashMap<>();
        }

        @Override
        @SuppressWarnings("unchecked")
        public Knot decode(SequencedMap<String, @Nullable Object> parts) {
            return ((StateCodec<Knot>) (StateCodec<?>) new BufferCodec()).decode(parts);
        }
    }

    private Path saved() throws IOException {
        Path path = directory.resolve("old.croft");
        Checkpoint.save(path,
                Map.of("optimizer", List.of(new Optimizer1(0.5, 7, Tensor.of(1f)))),
                SaveOptions.defaults().classes(StateClasses.of().named(NAME, Optimizer1.class)));
        return path;
    }

    private static Object optimizer(Checkpoint checkpoint) {
        return ((List<?>) ((Map<?, ?>) checkpoint.state()).get("optimizer")).getFirst();
    }

    private static void assertRefused(Path path, StateClasses classes, String code, String... parts)
            throws IOException {
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(classes))) {
            assertThatExceptionOfType(FormatException.class).isThrownBy(c::state)
                    .withMessageStartingWith(path + ": the value at 'optimizer/0' ").withMessageNotContaining("\n")
                    .satisfies(e -> assertThat(e.getMessage()).contains(parts))
                    .extracting(FormatException::code).isEqualTo(code);
            assertThat(c.tensor("optimizer/0/moments").getFloat(0)).isEqualTo(1f);
        }
    }

    @Test
    void anUpgraderBringsARecordToItsPresentVersion() throws IOException {
        StateClasses now = StateClasses.of().named(NAME, Optimizer2.class).upgrading(Optimizer2.class, components -> {
            if (components.containsKey("rate")) {
                components.put("learningRate", components.remove("rate"));
            }
            components.putIfAbsent("amsgrad", false);
        });
        try (Checkpoint c = Checkpoint.open(saved(), OpenOptions.defaults().classes(now))) {
            Optimizer2 upgraded = (Optimizer2) optimizer(c);
            assertThat(upgraded).isEqualTo(new Optimizer2(0.5, 7, c.tensor("optimizer/0/moments"), false));
            Path again = directory.resolve("new.croft");
            Checkpoint.save(again, Map.of("optimizer", List.of(upgraded)), SaveOptions.defaults().classes(now));
            try (Checkpoint second = Checkpoint.open(again, OpenOptions.defaults().classes(now))) {
                assertThat(((Optimizer2) optimizer(second)).learningRate()).isEqualTo(0.5);
            }
        }
    }

    @Test
    void withoutOneTheComponentsThatDifferAreNamed() throws IOException {
        assertRefused(saved(), StateClasses.of().named(NAME, Optimizer2.class), "CROFT-OBJECT",
                "was saved without 'learningRate', 'amsgrad' of the record " + Optimizer2.class.getName()
                        + ", and with 'rate', which it does not have",
                "Register an upgrader that adds it: StateClasses.upgrading(Optimizer2.class");
        assertRefused(saved(),
                StateClasses.of().named(NAME, Optimizer2.class).upgrading(Optimizer2.class, components -> {
                    components.put("learningRate", 1.0);
                    components.put("amsgrad", true);
                }), "CROFT-OBJECT", "was saved with 'rate', which the record");
    }

    @Test
    void anUpgraderThatFailsAndAConstructorThatRefusesAreNamed() throws IOException {
        assertRefused(saved(), StateClasses.of().named(NAME, Optimizer1.class).upgrading(Optimizer1.class, _ -> {
            throw new IllegalStateException("too old");
        }), "CROFT-OBJECT", "upgrader", "too old");
        assertRefused(saved(), StateClasses.of().named(NAME, Picky.class), "CROFT-OBJECT", "constructor of",
                "IllegalStateException: never");
    }

    @Test
    void numbersFitWhatHoldsThemExactly() throws IOException {
        try (Checkpoint c = Checkpoint.open(saved(),
                OpenOptions.defaults().classes(StateClasses.of().named(NAME, Wide.class)))) {
            assertThat(((Wide) optimizer(c)).steps()).isEqualTo(7);
        }
        assertRefused(saved(), StateClasses.of().named(NAME, Optimizer1.class)
                .upgrading(Optimizer1.class, components -> components.put("steps", 1L << 40)), "CROFT-OBJECT",
                "has a component steps that takes int, but was saved with a value of type java.lang.Long");
        assertRefused(saved(), StateClasses.of().named(NAME, Optimizer1.class)
                .upgrading(Optimizer1.class, components -> components.put("steps", null)), "CROFT-OBJECT", "null");
    }

    /// The first version with components that may be absent, and one that has a declared default.
    record Grown(double rate, int steps, Tensor moments, Optional<String> note, @Nullable List<String> tags,
            double decay) {}

    /// One that has lost components.
    record Shrunk(double rate, Tensor moments) {}

    static final class ShrunkClass {
        private double rate;
    }

    @Test
    void aComponentThatARecordHasGotIsAbsentOrHasItsDeclaredDefault() throws IOException {
        StateClasses grown = StateClasses.of().named(NAME, Grown.class);
        assertRefused(saved(), grown, "CROFT-OBJECT",
                "was saved without 'decay' of the record " + Grown.class.getName(),
                "StateClasses.defaulting(Grown.class");
        StateClasses declared = grown.defaulting(Grown.class, "decay", 1L).defaulting(Grown.class, "rate", 9.0);
        try (Checkpoint c = Checkpoint.open(saved(), OpenOptions.defaults().classes(declared))) {
            assertThat(optimizer(c))
                    .isEqualTo(new Grown(0.5, 7, c.tensor("optimizer/0/moments"), Optional.empty(), null, 1));
        }
        assertThat(grown.defaults(Grown.class)).isEmpty();
        assertThatIllegalArgumentException().isThrownBy(() -> grown.defaulting(Grown.class, "decya", 1))
                .withMessageContaining("'decya'");
    }

    @Test
    void aDefaultThatTheComponentCannotHoldIsRefusedWhenItIsDeclared() {
        StateClasses grown = StateClasses.of(Grown.class);
        assertThatIllegalArgumentException().isThrownBy(() -> grown.defaulting(Grown.class, "decay", "none"))
                .withMessage("the component 'decay' of " + Grown.class.getName()
                        + " takes double, and its default is a value of type java.lang.String; declare one that it can"
                        + " hold");
        assertThatIllegalArgumentException().isThrownBy(() -> grown.defaulting(Grown.class, "decay", null))
                .withMessageContaining("its default is null");
        assertThatIllegalArgumentException().isThrownBy(() -> grown.defaulting(Grown.class, "steps", 1L << 40))
                .withMessageContaining("takes int");
        assertThatIllegalArgumentException().isThrownBy(() -> grown.defaulting(Grown.class, "tags", 5))
                .withMessageContaining("takes java.util.List");
        assertThat(grown.defaulting(Grown.class, "tags", null).defaulting(Grown.class, "steps", 5L)
                .defaults(Grown.class)).containsOnlyKeys("tags", "steps");
    }

    @Test
    void whatAClassHasLostIsIgnoredOnlyIfThatIsSaid() throws IOException {
        StateClasses shrunk = StateClasses.of().named(NAME, Shrunk.class);
        assertRefused(saved(), shrunk, "CROFT-OBJECT", "was saved with 'steps'", "StateClasses.ignoringUnknown");
        try (Checkpoint c = Checkpoint.open(saved(),
                OpenOptions.defaults().classes(shrunk.ignoringUnknown(Shrunk.class)))) {
            assertThat(optimizer(c)).isEqualTo(new Shrunk(0.5, c.tensor("optimizer/0/moments")));
        }
        StateClasses asClass = StateClasses.of().named(NAME, ShrunkClass.class);
        assertRefused(saved(), asClass, "CROFT-OBJECT", "was saved with", "StateClasses.ignoringUnknown");
        try (Checkpoint c = Checkpoint.open(saved(),
                OpenOptions.defaults().classes(asClass.ignoringUnknown(ShrunkClass.class)))) {
            assertThat(((ShrunkClass) optimizer(c)).rate).isEqualTo(0.5);
        }
        assertThatIllegalArgumentException().isThrownBy(() -> StateClasses.of().ignoringUnknown(Phase.class))
                .withMessageContaining("is an enum");
    }

    @Test
    void anUnknownClassIsNamedAndItsTensorsStayReadable() throws IOException {
        assertRefused(saved(), StateClasses.of(), "CROFT-CLASS", "'" + NAME + "'", "not registered", "Register it",
                "if it was renamed, with StateClasses.formerly");
    }

    @Test
    void aRecordMayBecomeAnotherClassAndAClassARecord() throws IOException {
        StateClasses asClass = StateClasses.of().named(NAME, OptimizerClass.class);
        Path path = directory.resolve("class.croft");
        try (Checkpoint c = Checkpoint.open(saved(), OpenOptions.defaults().classes(asClass))) {
            OptimizerClass optimizer = (OptimizerClass) optimizer(c);
            assertThat(optimizer.rate).isEqualTo(0.5);
            assertThat(optimizer.steps).isEqualTo(7);
            assertThat(optimizer.moments).isSameAs(c.tensor("optimizer/0/moments"));
            assertThat(optimizer.note).isEqualTo("new");
            Checkpoint.save(path, Map.of("optimizer", List.of(optimizer)), SaveOptions.defaults().classes(asClass));
        }
        try (Checkpoint c = Checkpoint.open(path,
                OpenOptions.defaults().classes(StateClasses.of().named(NAME, Noted.class)))) {
            assertThat(optimizer(c)).isEqualTo(new Noted(0.5, 7, c.tensor("optimizer/0/moments"), "new"));
        }
    }

    static final class Gone {}

    @Test
    void anEmptyClassStandsForOneThatIsGone() throws IOException {
        StateClasses classes = StateClasses.of().named(NAME, Gone.class).upgrading(Gone.class, Map::clear);
        try (Checkpoint c = Checkpoint.open(saved(), OpenOptions.defaults().classes(classes))) {
            assertThat(optimizer(c)).isInstanceOf(Gone.class);
        }
    }

    @Test
    void whatHasNothingToUpgradeGetsNoUpgrader() {
        assertThatIllegalArgumentException().isThrownBy(() -> StateClasses.of().upgrading(Phase.class, _ -> {}))
                .withMessageContaining("is an enum");
    }

    @Test
    void valuesOfTheJdkNeedNoRegistration() {
        for (Class<?> type : List.of(UUID.class, TimeUnit.class, Path.class, Integer.class, String.class,
                BigInteger.class,
                Boolean.class, ArrayList.class, Map.class, Optional.class, Tensor.class, DType.class, Tuple.class)) {
            assertThatIllegalArgumentException().isThrownBy(() -> StateClasses.of(type))
                    .withMessageContaining(type.getName() + " needs no registration");
        }
    }

    @Test
    void aFormerNameIsFound() throws IOException {
        try (Checkpoint c = Checkpoint.open(saved(),
                OpenOptions.defaults().classes(StateClasses.of(Optimizer1.class).formerly(NAME, Optimizer1.class)))) {
            assertThat(optimizer(c)).isInstanceOf(Optimizer1.class);
        }
    }

    @Test
    void aClassUnderAnotherNameIsOnlyFoundUnderThat() throws IOException {
        StateClasses classes = StateClasses.of(Optimizer1.class).named("short", Optimizer1.class);
        assertThat(classes.name(Optimizer1.class)).contains("short");
        assertThat(classes.type(Optimizer1.class.getName())).isEmpty();
        assertRefused(saved(), classes, "CROFT-CLASS", NAME);
    }

    @Test
    void aConstantThatIsGoneIsNamed() throws IOException {
        Path path = directory.resolve("phase.croft");
        Checkpoint.save(path, List.of(Phase.TRAIN),
                SaveOptions.defaults().classes(StateClasses.of().named("phase", Phase.class)));
        try (Checkpoint c = Checkpoint.open(path,
                OpenOptions.defaults().classes(StateClasses.of().named("phase", Renamed.class)))) {
            assertThatExceptionOfType(FormatException.class).isThrownBy(c::state)
                    .withMessageContaining(
                            "the value at '0' is the constant 'TRAIN', which the enum " + Renamed.class.getName());
        }
    }

    @Test
    void aSealedInterfaceStandsForAllThatItPermits() throws IOException {
        StateClasses classes = StateClasses.of(Layer.class);
        assertThat(classes.classes()).containsExactly(Layer.class, Dense.class, Norm.class);
        Norm norm = new Norm();
        norm.after.add(new Dense(Tensor.of(2f)));
        norm.after.add(norm);
        Path path = directory.resolve("layers.croft");
        Checkpoint.save(path, new Layer[]{norm, norm.after.getFirst()}, SaveOptions.defaults().classes(classes));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(classes))) {
            Layer[] back = c.state(Layer[].class);
            assertThat(((Norm) back[0]).after).containsExactly(back[1], back[0]);
            assertThat(((Dense) back[1]).weight()).isSameAs(c.tensor("0/after/0/weight"));
        }
    }

    @Test
    void thePartsOfACodecAreNamedAndShared() throws IOException {
        StateClasses classes = StateClasses.of().with(Buffer.class, new BufferCodec());
        List<Object> shared = new ArrayList<>(List.of(Tensor.of(1f, 2f)));
        Path path = directory.resolve("buffer.croft");
        Checkpoint.save(path, List.of(new Buffer(shared, 3), shared), SaveOptions.defaults().classes(classes));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(classes))) {
            List<?> back = c.state(List.class);
            Buffer buffer = (Buffer) back.getFirst();
            assertThat(buffer.size).isEqualTo(3);
            assertThat(buffer.held).isSameAs(back.get(1));
            assertThat(c.names()).containsExactly("0/held/0");
            assertThat(((List<?>) c.tree()).getFirst()).isInstanceOfSatisfying(TypedMap.class,
                    node -> assertThat(node).containsEntry("size", 3).containsOnlyKeys("size", "held"));
        }
    }

    @Test
    void anObjectThatItsCodecCouldNotMakeAgainIsRefusedWhenItIsSaved() throws IOException {
        StateClasses classes = StateClasses.of(Optimizer1.class).with(Knot.class, new KnotCodec());
        Knot knot = new Knot();
        knot.next = Optional.of(knot);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(directory.resolve("knot.croft"), List.of(knot),
                        SaveOptions.defaults().classes(classes)))
                .withMessageStartingWith("cannot save the value at '0/next").withMessageContaining("holds itself");
        knot.next = List.of(knot);
        Checkpoint.save(directory.resolve("knot.croft"), List.of(knot, knot), SaveOptions.defaults().classes(classes));
        try (Checkpoint c = Checkpoint.open(directory.resolve("knot.croft"), OpenOptions.defaults().classes(classes))) {
            List<?> back = c.state(List.class);
            assertThat(((List<?>) ((Knot) back.getFirst()).next).getFirst()).isSameAs(back.get(1));
        }
    }

    @Test
    void aClassMayGetACodecAndLoseItAgain() throws IOException {
        Knot knot = new Knot();
        knot.next = "text";
        StateClasses byFields = StateClasses.of(Knot.class);
        StateClasses byCodec = byFields.with(Knot.class, new KnotCodec());
        for (List<StateClasses> change : List.of(List.of(byFields, byCodec), List.of(byCodec, byFields))) {
            Path path = directory.resolve("changed.croft");
            Checkpoint.save(path, knot, SaveOptions.defaults().classes(change.getFirst()));
            try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(change.getLast()))) {
                assertThat(c.state(Knot.class).next).isEqualTo("text");
            }
        }
    }

    @Test
    void anUpgraderChangesThePartsOfACodec() throws IOException {
        Path path = directory.resolve("old.croft");
        Checkpoint.save(path, Map.of("optimizer", new TypedMap("java:" + NAME)));
        StateClasses classes = StateClasses.of().named(NAME, Knot.class).with(Knot.class, new KnotCodec())
                .upgrading(Knot.class, parts -> parts.putIfAbsent("next", "none"));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(classes))) {
            assertThat(c.state(Map.class).get("optimizer")).extracting(made -> ((Knot) made).next).isEqualTo("none");
        }
    }

    @Test
    void aCodecThatThrowsOrReturnsAnotherClassIsNamedWithThePlace() throws IOException {
        StateClasses throwing = StateClasses.of().with(Knot.class, new Odd(null));
        Path path = directory.resolve("odd.croft");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(path, List.of(new Knot()), SaveOptions.defaults().classes(throwing)))
                .withMessageStartingWith("cannot save the value at '0': the codec of " + Knot.class.getName()
                        + " threw")
                .withMessageNotContaining("\n");
        StateClasses odd = StateClasses.of().with(Knot.class, new Odd("buffer"));
        Checkpoint.save(path, List.of(new Knot()), SaveOptions.defaults().classes(odd));
        for (SequencedMap<String, Object> parts : List.of(new LinkedHashMap<String, Object>(),
                new LinkedHashMap<String, Object>(Map.of("held", List.of(), "size", 1)))) {
            TypedMap node = new TypedMap("java:" + Knot.class.getName());
            node.putAll(parts);
            Checkpoint.save(path, List.of(node));
            try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(odd))) {
                assertThatExceptionOfType(FormatException.class).isThrownBy(c::state)
                        .withMessageStartingWith(path + ": the value at '0' cannot be made: the codec of")
                        .extracting(FormatException::code).isEqualTo("CROFT-OBJECT");
            }
        }
    }

    @Test
    void aClassOfTheJdkIsSavedByACodec() throws IOException {
        StateClasses classes = StateClasses.of().with(Pattern.class, new StateCodec<Pattern>() {
            @Override
            public SequencedMap<String, @Nullable Object> encode(Pattern pattern) {
                return new LinkedHashMap<>(Map.of("regex", pattern.pattern(), "flags", pattern.flags()));
            }

            @Override
            public Pattern decode(SequencedMap<String, @Nullable Object> parts) {
                return Pattern.compile((String) Objects.requireNonNull(parts.get("regex")),
                        (int) Objects.requireNonNull(parts.get("flags")));
            }
        });
        Path path = directory.resolve("pattern.croft");
        Pattern pattern = Pattern.compile("a+", Pattern.DOTALL);
        Checkpoint.save(path, List.of(pattern, pattern), SaveOptions.defaults().classes(classes));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(classes))) {
            List<?> back = c.state(List.class);
            assertThat(((Pattern) back.getFirst()).pattern()).isEqualTo("a+");
            assertThat(((Pattern) back.getFirst()).flags()).isEqualTo(Pattern.DOTALL);
            assertThat(back.get(1)).isSameAs(back.getFirst());
        }
    }

    @Test
    void aStateOfAnotherClassIsNamed() throws IOException {
        try (Checkpoint c = Checkpoint.open(saved(),
                OpenOptions.defaults().classes(StateClasses.of().named(NAME, Optimizer1.class)))) {
            assertThatExceptionOfType(ClassCastException.class).isThrownBy(() -> c.state(Optimizer1.class))
                    .withMessageContaining(
                            "is of the class java.util.LinkedHashMap, not of " + Optimizer1.class.getName());
        }
    }

    @Test
    void whatHasNoObjectsOrAnothersNameIsNotRegistered() {
        for (Class<?> type : List.of(int.class, int[].class, Runnable.class, Number.class, void.class)) {
            assertThatIllegalArgumentException().isThrownBy(() -> StateClasses.of(type))
                    .withMessageContaining("cannot be registered");
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> StateClasses.of(Phase.class).named(Phase.class.getName(), Renamed.class))
                .withMessageContaining("means " + Phase.class.getName());
        assertThatIllegalArgumentException().isThrownBy(() -> StateClasses.of().named("x[]", Phase.class));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> StateClasses.of().with(Phase.class, new StateCodec<Phase>() {
                    @Override
                    public SequencedMap<String, @Nullable Object> encode(Phase phase) {
                        return new LinkedHashMap<>();
                    }

                    @Override
                    public Phase decode(SequencedMap<String, @Nullable Object> parts) {
                        return Phase.TRAIN;
                    }
                })).withMessageContaining("needs no codec");
    }

    @Test
    void aChangedCopyLeavesTheFormerOneAsItWas() {
        StateClasses before = StateClasses.of(Phase.class);
        StateClasses after = before.with(Renamed.class).formerly("old", Phase.class);
        assertThat(before.classes()).containsExactly(Phase.class);
        assertThat(before.type("old")).isEmpty();
        assertThat(after.classes()).containsExactly(Phase.class, Renamed.class);
        assertThat(after.with(Phase.class)).isSameAs(after);
    }
}
