package io.undercroft.properties.formats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.TensorSpec;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/// What holds of every state that is written in a format of others.
enum ForeignLaw {
    WHAT_IS_OPENED_IS_WHAT_WAS_WRITTEN("what is opened is what was written, as far as the format can tell it") {
        @Override
        void check(Written written) throws IOException {
            try (Checkpoint opened = written.open()) {
                written.dialect().check(written.state(), opened);
            }
        }
    },
    TENSORS_KEEP_THEIR_NAMES(
            "tensors by name are found by the names that they have in the state, however its maps nest") {
        @Override
        void check(Written written) throws IOException {
            if (!Set.of("safetensors", "npz", "gguf").contains(written.dialect().format())) {
                return;
            }
            try (Checkpoint opened = written.open(OpenOptions::onMeta)) {
                // What is set on maps as attributes is not written.
                assertThat(opened.compare(TensorSpec.ofState(written.state())).unexpected()).isEmpty();
                for (String name : opened.names()) {
                    assertThat(opened.contains(name)).as(name).isTrue();
                    assertThat(StateIndex.escape(StateIndex.rawName(name))).isEqualTo(name);
                }
            }
        }
    },
    BYTES_ARE_CANONICAL("the same state written twice gives the same bytes") {
        @Override
        void check(Written written) throws IOException {
            written.checkSameBytes(written.state());
        }
    },
    WRITING_WHAT_WAS_OPENED_GIVES_THE_SAME_BYTES("writing what was opened gives the same bytes again") {
        @Override
        void check(Written written) throws IOException {
            try (Checkpoint opened = written.open()) {
                written.checkSameBytes(opened.state());
            }
        }
    },
    THE_WAY_THROUGH_A_CROFT_FILE_CHANGES_NOTHING("what was saved as .croft in between gives the same bytes again") {
        @Override
        void check(Written written) throws IOException {
            Path between = written.scratch().file("between.croft");
            try (Checkpoint opened = written.open()) {
                Checkpoint.save(between, opened.state(), SaveOptions.defaults().wholeStorages());
            }
            try (Checkpoint opened = Checkpoint.open(between)) {
                written.checkSameBytes(opened.state());
            }
            Files.delete(between);
        }
    },
    WAYS_OF_OPENING_AGREE("mapped, in memory, as meta and in part, a file has the same tensors") {
        @Override
        void check(Written written) throws IOException {
            try (Checkpoint mapped = written.open();
                    Checkpoint inMemory = written.open(OpenOptions::inMemory);
                    Checkpoint meta = written.open(OpenOptions::onMeta)) {
                assertThat(inMemory.names()).containsExactlyElementsOf(mapped.names());
                assertThat(meta.names()).containsExactlyElementsOf(mapped.names());
                for (String name : mapped.names()) {
                    checkSame(mapped.tensor(name), inMemory.tensor(name));
                    checkSpecs(mapped.tensor(name), meta.tensor(name));
                    assertThat(meta.tensor(name).device().isMeta()).as(name).isTrue();
                }
                checkPart(written, mapped);
            }
        }
    },
    A_FILE_IS_OF_ONE_FORMAT("a file is taken for one format, whatever its name ends in") {
        @Override
        void check(Written written) throws IOException {
            String format = written.dialect().format();
            List<String> takers = takers(written.path());
            // A lone number of Torch7's could be anything.
            boolean isNothing = format.equals("torch7") && !(written.state() instanceof Map) && takers.isEmpty();
            if (isNothing) {
                return;
            }
            assertThat(takers).containsExactly(format);
            for (String suffix : List.of(".croft", ".pt", ".npz", ".json")) {
                Path renamed = Files.move(written.path(), written.scratch().file("renamed" + suffix));
                try (Checkpoint opened = Checkpoint.open(renamed)) {
                    assertThat(opened.format()).as(suffix).isEqualTo(format);
                    written.dialect().check(written.state(), opened);
                } finally {
                    Files.move(renamed, written.path());
                }
            }
        }
    },
    A_SOUND_FILE_VERIFIES("a file that was just written has no damage") {
        @Override
        void check(Written written) throws IOException {
            try (Checkpoint opened = written.open()) {
                assertThat(opened.verify().damages()).isEmpty();
            }
        }
    },
    LOSSES_ARE_WHAT_IS_NOT_READ_BACK("the losses that a save reports are what reading the file does not give back") {
        @Override
        void check(Written written) throws IOException {
            try (Checkpoint opened = written.open()) {
                ActualLosses.check(written.state(), Dialect.TEXT, written.report(), opened);
            }
        }
    },
    WHAT_NO_FORMAT_HOLDS_IS_REFUSED_BY_ITS_PATH("what no format holds is refused, and the message has its path") {
        @Override
        void check(Written written) throws IOException {
            if (!(written.state() instanceof Map<?, ?> map) || map.containsKey("po/son")) {
                return;
            }
            boolean isNested = map.values().stream().anyMatch(Map.class::isInstance);
            for (Object poison : List.of(new Object(), Tensor.zeros(DType.opaque("float6_e3m2", 8), 1))) {
                Map<Object, Object> poisoned = new LinkedHashMap<>(map);
                poisoned.put("po/son", isNested ? Map.of("in it", poison) : poison);
                Path path = written.scratch().file("poisoned");
                assertThatThrownBy(() -> written.dialect().write(path, poisoned))
                        .isInstanceOf(IllegalArgumentException.class)
                        .message().containsPattern("po(/|~1)son").contains(isNested ? "in it" : "");
                assertThat(path).doesNotExist();
            }
        }
    };

    private final String text;

    ForeignLaw(String text) {
        this.text = text;
    }

    /// Throws an [AssertionError] if the law does not hold of a file.
    abstract void check(Written written) throws IOException;

    /// {@return the law in words}
    @Override
    public String toString() {
        return text;
    }

    private static List<String> takers(Path path) throws IOException {
        List<String> takers = new ArrayList<>();
        try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
            for (CheckpointFormat format : Checkpoint.formats()) {
                if (format.matches(file)) {
                    takers.add(format.name());
                }
            }
        }
        return takers;
    }

    /// Every second tensor only.
    private static void checkPart(Written written, Checkpoint whole) throws IOException {
        List<String> names = List.copyOf(whole.names());
        Set<String> chosen = new LinkedHashSet<>();
        for (int i = 0; i < names.size(); i += 2) {
            chosen.add(names.get(i));
        }
        try (Checkpoint part = written.open(options -> options.only(chosen::contains))) {
            assertThat(part.names()).containsExactlyElementsOf(chosen);
            chosen.forEach(name -> checkSame(whole.tensor(name), part.tensor(name)));
        }
    }

    private static void checkSame(Tensor expected, Tensor actual) {
        checkSpecs(expected, actual);
        assertThat(actual.device()).isEqualTo(expected.device());
        assertThat(expected.device().isMeta() || actual.contentEquals(expected)).isTrue();
    }

    private static void checkSpecs(Tensor expected, Tensor actual) {
        assertThat(TensorSpec.of(actual)).isEqualTo(TensorSpec.of(expected));
        assertThat(actual.stride()).isEqualTo(expected.stride());
        assertThat(actual.storageOffset()).isEqualTo(expected.storageOffset());
        assertThat(actual.storage().nbytes()).isEqualTo(expected.storage().nbytes());
    }
}
