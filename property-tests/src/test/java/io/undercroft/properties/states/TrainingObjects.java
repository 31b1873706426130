package io.undercroft.properties.states;

import io.undercroft.serializer.StateClasses;
import io.undercroft.serializer.StateCodec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;

/// Classes as a program that trains a model has them: one of each kind that a state may hold.
public final class TrainingObjects {
    public static final StateClasses CLASSES = StateClasses
            .of(Phase.class, StageKey.class, Trainer.class, Schedule.class,
                    Module.class, Wrapper.class)
            .with(Bundle.class, new BundleCodec()).named("block", Block.class);

    private TrainingObjects() {}

    public enum Phase {
        WARMUP, TRAIN {
            @Override
            boolean learns() {
                return true;
            }
        },
        DONE;

        boolean learns() {
            return false;
        }
    }

    /// What maps have for keys.
    public record StageKey(String name, int id, Phase phase) {}

    @SuppressWarnings("ArrayRecordComponent")
    public record Trainer(String name, Object model, Object optimizer, long step, float rate, Phase phase,
            Object[] extra) {}

    public sealed interface Schedule {}

    public record Constant(double rate) implements Schedule {}

    record Cosine(double from, double to, Duration period, Object tail) implements Schedule {}

    /// Saved by its fields.
    static class Module {
        final String name;
        private Object weight;
        Object parent;
        Optional<Object> bias = Optional.empty();
        int calls;
        List<Object> children = new ArrayList<>();
        transient Object cache = "none";

        Module(String name) {
            this.name = name;
        }

        public void weight(Object held) {
            this.weight = held;
        }

        public Object weight() {
            return weight;
        }
    }

    /// Has a field of a name that its super class has, too.
    public static final class Wrapper extends Module {
        private Object weight;
        Phase phase = Phase.WARMUP;
        Object anything;

        public Wrapper(String name, Object weight) {
            super(name);
            this.weight = weight;
        }

        Object outerWeight() {
            return weight;
        }

        void outerWeight(Object held) {
            this.weight = held;
        }
    }

    /// Has a constructor without parameters, and in files another name.
    public static final class Block {
        public Object first = List.of();
        public Object second;
        boolean open = true;
        char letter = 'x';
    }

    /// Saved by a codec.
    public static final class Bundle {
        final String label;
        public final Object first;
        public final Object second;

        Bundle(String label, Object first, Object second) {
            this.label = label;
            this.first = first;
            this.second = second;
        }
    }

    private static final class BundleCodec implements StateCodec<Bundle> {
        @Override
        public SequencedMap<String, Object> encode(Bundle bundle) {
            SequencedMap<String, Object> parts = new LinkedHashMap<>();
            parts.put("label", bundle.label);
            parts.put("first", bundle.first);
            parts.put("second", bundle.second);
            return parts;
        }

        @Override
        public Bundle decode(SequencedMap<String, Object> parts) {
            return new Bundle((String) parts.get("label"), parts.get("first"), parts.get("second"));
        }
    }
}
