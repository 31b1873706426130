package io.undercroft.properties.formats;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Repository;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.StateClasses;
import io.undercroft.serializer.TensorSpec;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.StorageCopier;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Sameness;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// The training checkpoint of a real GPT-2, from PyTorch's file to ours, to records of a program, and back.
class TrainingCheckpointTest {
    private static final Path TRAINING = Repository.path("test-support/fixtures/models/tiny-gpt2-training.pt");
    private static final String EMBEDDING = "transformer.wte.weight";
    private static final String HEAD = "lm_head.weight";
    private static final StateClasses CLASSES = StateClasses.of(GptTraining.class, AdamW.class, Moments.class);

    @TempDir
    private Path folder;

    /// What a program makes of the checkpoint.
    record GptTraining(Map<String, Tensor> model, AdamW optimizer, long step, double loss, Map<String, Object> config) {
        static GptTraining of(Map<?, ?> state) {
            return new GptTraining(mapped(state.get("model"), (_, tensor) -> (Tensor) tensor),
                    AdamW.of((Map<?, ?>) state.get("optimizer")), (Long) state.get("step"), (Double) state.get("loss"),
                    mapped(state.get("config"), (_, value) -> value));
        }

        /// Puts what may have changed into the tree that PyTorch knows.
        void putInto(Map<String, Object> state) {
            cast(state.get("model")).putAll(model);
            optimizer.putInto(cast(state.get("optimizer")));
            state.put("step", step);
            state.put("loss", loss);
            state.put("config", config);
        }
    }

    record AdamW(Map<Long, Moments> state, List<?> groups) {
        static AdamW of(Map<?, ?> optimizer) {
            return new AdamW(mapped(optimizer.get("state"), (_, moments) -> Moments.of((Map<?, ?>) moments)),
                    (List<?>) optimizer.get("param_groups"));
        }

        void putInto(Map<String, Object> optimizer) {
            Map<Long, Object> states = new LinkedHashMap<>();
            state.forEach((parameter, moments) -> states.put(parameter, moments.toMap()));
            optimizer.put("state", states);
            optimizer.put("param_groups", groups);
        }
    }

    record Moments(Tensor step, Tensor average, Tensor square) {
        static Moments of(Map<?, ?> moments) {
            return new Moments((Tensor) moments.get("step"), (Tensor) moments.get("exp_avg"),
                    (Tensor) moments.get("exp_avg_sq"));
        }

        Map<String, Object> toMap() {
            Map<String, Object> map = new LinkedHashMap<>();
            map.put("step", step);
            map.put("exp_avg", average);
            map.put("exp_avg_sq", square);
            return map;
        }
    }

    @SuppressWarnings("unchecked")
    private static <K> Map<K, Object> cast(Object map) {
        return (Map<K, Object>) map;
    }

    private static <K, V> Map<K, V> mapped(Object map, BiFunction<K, Object, V> change) {
        Map<K, V> changed = new LinkedHashMap<>();
        TrainingCheckpointTest.<K>cast(map).forEach((key, value) -> changed.put(key, change.apply(key, value)));
        return changed;
    }

    private static void assertTied(Map<?, ?> model) {
        Tensor embedding = (Tensor) model.get(EMBEDDING);
        Tensor head = (Tensor) model.get(HEAD);
        assertThat(embedding.storage()).isSameAs(head.storage());
    }

    @Test
    void itGoesToOurFormatToRecordsAndBack() throws IOException {
        Path croft = folder.resolve("training.croft");
        Path records = folder.resolve("records.croft");
        Path back = folder.resolve("back.croft");
        try (Checkpoint pt = Checkpoint.open(TRAINING)) {
            Checkpoint.save(croft, pt.state());
            try (Checkpoint ours = Checkpoint.open(croft)) {
                Sameness.check(pt.state(), ours.state());
                Checkpoint.save(records, GptTraining.of(cast(ours.state())), SaveOptions.defaults().classes(CLASSES));
            }
            try (Checkpoint ours = Checkpoint.open(records, OpenOptions.defaults().classes(CLASSES))) {
                GptTraining training = ours.state(GptTraining.class);
                assertTied(training.model());
                assertThat(training.step()).isEqualTo(3);
                assertThat(training.optimizer().state()).hasSize(28).containsKey(27L);
                assertThat(ours.names()).hasSameSizeAs(pt.names())
                        .contains("model/" + EMBEDDING, "model/" + HEAD, "optimizer/state/0/average");
                try (Checkpoint tree = Checkpoint.open(croft)) {
                    Map<String, Object> state = cast(tree.state());
                    training.putInto(state);
                    Checkpoint.save(back, state);
                }
            }
            try (Checkpoint again = Checkpoint.open(back)) {
                assertTied(cast(TrainingCheckpointTest.<String>cast(again.state()).get("model")));
                Sameness.check(pt.state(), again.state());
            }
        }
    }

    @Test
    void aProgramWithLiveRecordsTakesIt() throws IOException {
        Path records = folder.resolve("records.croft");
        try (Checkpoint pt = Checkpoint.open(TRAINING)) {
            GptTraining saved = GptTraining.of(cast(pt.state()));
            Checkpoint.save(records, saved, SaveOptions.defaults().classes(CLASSES));
            Map<String, Tensor> live = new LinkedHashMap<>();
            StorageCopier copy = StorageCopier.into(Allocator.offHeap());
            saved.model().forEach((name, tensor) -> live.put(name, copy.copy(tensor)));
            live.values().forEach(tensor -> tensor.storage().fill((byte) 0));
            OpenOptions onlyModel = OpenOptions.defaults().only("model/*")
                    .strict(TensorSpec.ofState(Map.of("model", live)));
            try (Checkpoint ours = Checkpoint.open(records, onlyModel.inMemory())) {
                assertThat(ours.loadInto(Map.of("model", live)).isExact()).isTrue();
            }
            assertTied(live);
            live.forEach((name, tensor) -> assertThat(tensor.contentEquals(saved.model().get(name))).as(name).isTrue());
        }
    }
}
