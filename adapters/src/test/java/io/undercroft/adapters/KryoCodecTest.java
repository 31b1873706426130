package io.undercroft.adapters;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.Serializer;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.StateClasses;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Tries;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KryoCodecTest {
    /// The code of an object that cannot be made of what was saved.
    private static final String OBJECT = "[CROFT-OBJECT]";
    private static final int FLIPS = 500;

    @TempDir
    private Path folder;

    /// What the program has a serializer for.
    static final class Vocabulary {
        private final List<String> words;
        private final Tensor vectors;
        private final Storage frequencies;

        Vocabulary(List<String> words, Tensor vectors, Storage frequencies) {
            this.words = words;
            this.vectors = vectors;
            this.frequencies = frequencies;
        }
    }

    static final class VocabularySerializer extends Serializer<Vocabulary> {
        @Override
        public void write(Kryo kryo, Output output, Vocabulary vocabulary) {
            output.writeString(String.join("\n", vocabulary.words));
            kryo.writeClassAndObject(output, vocabulary.vectors);
            kryo.writeObject(output, vocabulary.frequencies);
        }

        @Override
        public Vocabulary read(Kryo kryo, Input input, Class<? extends Vocabulary> type) {
            return new Vocabulary(List.of(input.readString().split("\n")), (Tensor) kryo.readClassAndObject(input),
                    kryo.readObject(input, Storage.class));
        }
    }

    private static StateClasses classes() {
        Kryo kryo = new Kryo();
        TensorSerializers.register(kryo);
        kryo.register(Vocabulary.class, new VocabularySerializer(), 100);
        return StateClasses.of().with(Vocabulary.class, new KryoCodec<>(kryo, Vocabulary.class));
    }

    private static Vocabulary vocabulary(Tensor vectors) {
        return new Vocabulary(List.of("the", "of"), vectors, vectors.storage().slice(8, 8));
    }

    private Path saved(Object state) throws IOException {
        Path file = folder.resolve("state.croft");
        Checkpoint.save(file, state, SaveOptions.defaults().classes(classes()));
        return file;
    }

    @Test
    void anObjectComesBackAndItsTensorsShareTheStoragesOfTheState() throws IOException {
        Tensor vectors = Tensor.arange(DType.FLOAT32, 4).view(2, 2);
        Vocabulary vocabulary = vocabulary(vectors.t());
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("vocabulary", vocabulary);
        state.put("tied", vectors);
        state.put("same", vocabulary);
        Path file = saved(state);
        try (Checkpoint checkpoint = Checkpoint.open(file, OpenOptions.defaults().classes(classes()))) {
            Map<?, ?> back = checkpoint.state(Map.class);
            Vocabulary read = (Vocabulary) Objects.requireNonNull(back.get("vocabulary"));
            assertThat(back.get("same")).isSameAs(read);
            assertThat(read.words).isEqualTo(vocabulary.words);
            assertThat(read.vectors.stride()).isEqualTo(new long[]{1, 2});
            assertThat(read.vectors.storage()).isSameAs(((Tensor) Objects.requireNonNull(back.get("tied"))).storage());
            assertThat(read.frequencies.toList()).isEqualTo(vocabulary.frequencies.toList());
            assertThat(checkpoint.verify().isIntact()).isTrue();
        }
    }

    @Test
    void aProgramWithoutTheSerializerReadsTheTensors() throws IOException {
        Path file = saved(Map.of("vocabulary", vocabulary(Tensor.arange(DType.FLOAT32, 4))));
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            assertThat(checkpoint.names()).contains("vocabulary/tensors/0");
            assertThat(checkpoint.tensor("vocabulary/tensors/0").getFloat(3)).isEqualTo(3);
            assertThatThrownBy(checkpoint::state)
                    .hasMessageContaining("which is not registered").hasMessageContaining("[CROFT-CLASS]");
        }
    }

    @Test
    void bytesThatTheSerializerDidNotWriteAreReportedWithThePathOfTheObject() throws IOException {
        Path file = saved(Map.of("vocabulary", vocabulary(Tensor.arange(DType.FLOAT32, 4))));
        byte[] whole = (byte[]) Objects.requireNonNull(node(file).get("bytes"));
        for (int length = 0; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            assertThatThrownBy(() -> open(file, "bytes", cut))
                    .hasMessageContaining("'vocabulary' cannot be made").hasMessageContaining(OBJECT);
        }
        byte[] longer = Arrays.copyOf(whole, whole.length + 1);
        assertThatThrownBy(() -> open(file, "bytes", longer))
                .hasMessageContaining("bytes after the end").hasMessageContaining(OBJECT);
        SplittableRandom random = new SplittableRandom(3);
        for (int i = 0; i < Tries.of(FLIPS); i++) {
            byte[] noise = whole.clone();
            noise[random.nextInt(noise.length)] = (byte) random.nextInt();
            try {
                open(file, "bytes", noise);
            } catch (RuntimeException e) {
                assertThat(e).hasMessageContaining("'vocabulary'").hasMessageContaining(OBJECT);
            }
        }
    }

    @Test
    void partsThatAreNotThoseOfACodecAreRefused() throws IOException {
        Path file = saved(Map.of("vocabulary", vocabulary(Tensor.arange(DType.FLOAT32, 4))));
        assertThatThrownBy(() -> open(file, "bytes", "text"))
                .hasMessageContaining("no bytes of Kryo").hasMessageContaining(OBJECT);
        assertThatThrownBy(() -> open(file, "tensors", List.of()))
                .hasMessageContaining("number 0 of 0 parts is no Tensor").hasMessageContaining(OBJECT);
        assertThatThrownBy(() -> open(file, "tensors", List.of(1, 2)))
                .hasMessageContaining("is no Tensor").hasMessageContaining(OBJECT);
    }

    private static TypedMap node(Path file) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            return (TypedMap) Objects.requireNonNull(((Map<?, ?>) checkpoint.tree()).get("vocabulary"));
        }
    }

    /// Saves a state again with another part of the object, and opens that.
    private void open(Path file, String part, Object value) throws IOException {
        Path changed = folder.resolve("changed.croft");
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            Map<?, ?> tree = (Map<?, ?>) checkpoint.tree();
            ((TypedMap) Objects.requireNonNull(tree.get("vocabulary"))).put(part, value);
            Checkpoint.save(changed, tree);
        }
        try (Checkpoint checkpoint = Checkpoint.open(changed, OpenOptions.defaults().classes(classes()))) {
            checkpoint.state();
        }
    }

    @Test
    void aKryoThatLetsAFileChooseClassesIsRefused() {
        Kryo kryo = new Kryo();
        kryo.setRegistrationRequired(false);
        assertThatIllegalArgumentException().isThrownBy(() -> new KryoCodec<>(kryo, Vocabulary.class))
                .withMessageContaining("setRegistrationRequired(true)");
        kryo.setRegistrationRequired(true);
        assertThatIllegalArgumentException().isThrownBy(() -> new KryoCodec<>(kryo, Vocabulary.class))
                .withMessageContaining("not registered");
    }

    @Test
    void anObjectThatTheSerializerDoesNotWriteIsNotSaved() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> saved(Map.of("vocabulary", new Vocabulary(List.of(), Tensor.of(1f), null))))
                .withMessageContaining("cannot save the value at 'vocabulary': the codec of");
    }

    @Test
    void severalThreadsUseOneCodec() {
        StateClasses shared = classes();
        IntStream.range(0, 64).parallel().forEach(i -> {
            Path file = folder.resolve("state-" + i + ".croft");
            try {
                Checkpoint.save(file, vocabulary(Tensor.full(DType.INT32, i, 4)),
                        SaveOptions.defaults().classes(shared));
                try (Checkpoint checkpoint = Checkpoint.open(file, OpenOptions.defaults().classes(shared))) {
                    assertThat(checkpoint.state(Vocabulary.class).vectors.getInt(3)).isEqualTo(i);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }
}
