package io.undercroft.adapters;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtLoggingLevel;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Follower;
import io.undercroft.serializer.PublishedCheckpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/// The model is `y = reshape((x direct + bias) turned^T * factor, shape)`, made by `onnx_session.py`.
class OnnxSessionTest {
    private static final OrtEnvironment ENVIRONMENT = OnnxModel.environment();
    private static final float[][] X = {{1, 2, 3, 4}};

    @TempDir
    private Path folder;

    private Path model;

    @BeforeEach
    void copyTheModel() throws IOException {
        model = copy("onnx_session.onnx", "model.onnx");
    }

    private Path copy(String name, String to) throws IOException {
        Path copy = folder.resolve(to);
        Files.createDirectories(copy.getParent());
        try (InputStream file = OnnxSessionTest.class.getResourceAsStream(name)) {
            Files.copy(file, copy);
        }
        return copy;
    }

    /// Weights of which none is that of the model.
    private static Map<String, Tensor> weights() {
        Map<String, Tensor> weights = new LinkedHashMap<>();
        weights.put("direct", Tensor.arange(DType.FLOAT32, 16).view(4, 4));
        weights.put("bias", Tensor.of(4f, 3, 2, 1));
        weights.put("turned", Tensor.arange(DType.FLOAT32, 16).view(4, 4).contiguous());
        weights.put("factor", Tensor.full(DType.FLOAT32, 2L));
        return weights;
    }

    /// What the model makes of [#X] with weights.
    private static float[] expected(Map<String, Tensor> weights) {
        float[] y = new float[4];
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 4; j++) {
                float sum = weights.get("bias").getFloat(j);
                for (int k = 0; k < 4; k++) {
                    sum += X[0][k] * weights.get("direct").getFloat(k, j);
                }
                y[i] += sum * weights.get("turned").getFloat(i, j) * weights.get("factor").getFloat();
            }
        }
        return y;
    }

    private static float[] run(OrtSession session) throws OrtException {
        try (OnnxTensor x = OnnxTensor.createTensor(ENVIRONMENT, X);
                OrtSession.Result result = session.run(Map.of("x", x))) {
            return ((OnnxTensor) result.get(0)).getFloatBuffer().array();
        }
    }

    private OnnxSession open(Map<String, Tensor> weights) throws IOException, OrtException {
        try (SessionOptions options = new SessionOptions()) {
            options.setSessionLogLevel(OrtLoggingLevel.ORT_LOGGING_LEVEL_FATAL);
            return OnnxSession.open(ENVIRONMENT, model, weights, options);
        }
    }

    @Test
    void aModelRunsOnTheWeightsOfAFileInPlaceAndAfterItIsClosed() throws IOException, OrtException {
        Path file = folder.resolve("weights.croft");
        Checkpoint.save(file, weights());
        Tensor bias;
        OnnxSession session;
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            bias = checkpoint.tensor("bias");
            session = open(checkpoint.tensors());
        }
        assertThat(run(session.session())).containsExactly(expected(weights()));
        // Where a test can see whether the memory is the same.
        bias.fill(10);
        Map<String, Tensor> changed = weights();
        changed.put("bias", bias);
        assertThat(run(session.session())).containsExactly(expected(changed));

        session.close();
        session.close();
        assertThat(bias.storage().referenceCount()).isZero();
    }

    @Test
    void namesThatDoNotMatchAreReported() throws IOException, OrtException {
        Map<String, Tensor> weights = weights();
        weights.put("momentum", Tensor.zeros(DType.FLOAT32, 4));
        weights.remove("bias");
        try (OnnxSession session = open(weights)) {
            assertThat(session.sharedInitializers()).containsExactlyInAnyOrder("direct", "turned", "factor");
            assertThat(session.copiedInitializers()).containsExactly("turned");
            assertThat(session.ownInitializers()).containsExactlyInAnyOrder("bias", "shape");
            assertThat(session.unusedTensors()).containsExactly("momentum");
            weights.put("bias", Tensor.of(0f, 1, 2, 3));
            assertThat(run(session.session())).containsExactly(expected(weights));
        }
    }

    @Test
    void tensorsOfWhichNoneHasTheNameOfAnInitializerAreRefused() {
        Map<String, Tensor> prefixed = new LinkedHashMap<>();
        weights().forEach((name, tensor) -> prefixed.put("model." + name, tensor));
        assertThatThrownBy(() -> open(prefixed)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("none of the tensors has the name of an initializer of " + model
                        + ": the tensors are 'model.direct', 'model.bias', 'model.turned', …, and the initializers '")
                .hasMessageContaining("'direct'").hasMessageContaining("'bias'")
                .hasMessageEndingWith("; rename the tensors, for instance 'model.fc1.weight' to 'fc1.weight'");
        assertThat(prefixed.values()).allMatch(tensor -> tensor.storage().referenceCount() == 1);
    }

    @Test
    void withoutTensorsTheModelIsAsItIs() throws IOException, OrtException {
        try (OnnxSession session = open(Map.of());
                OrtSession plain = ENVIRONMENT.createSession(model.toString())) {
            assertThat(run(session.session())).containsExactly(run(plain));
            assertThat(session.sharedInitializers()).isEmpty();
        }
    }

    @Test
    void aTensorThatIsNoSuchInitializerIsRefusedAndNothingIsHeld() {
        Map<String, Tensor> weights = weights();
        weights.put("direct", Tensor.zeros(DType.FLOAT32, 2, 8));
        weights.put("bias", Tensor.zeros(DType.FLOAT64, 4));
        weights.put("turned", weights.get("turned").transpose(0, 1));
        assertThatThrownBy(() -> open(weights)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("direct is float32 of shape [4, 4]")
                .hasMessageContaining("the tensor float64 of shape [4]")
                .hasMessageContaining("turned: the elements").hasMessageContaining("contiguous()");
        assertThat(weights.values()).allMatch(tensor -> tensor.storage().referenceCount() == 1);
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aLeaseMayBeClosedBeforeTheSession() throws IOException, OrtException {
        String name = "undercroft-onnx-" + UUID.randomUUID();
        Map<String, Tensor> second = new HashMap<>(weights());
        second.put("turned", Tensor.ones(DType.FLOAT32, 4, 4));
        try {
            PublishedCheckpoint.publish(name, weights()).close();
            try (Follower follower = PublishedCheckpoint.follow(name); OnnxSession first = open(follower)) {
                PublishedCheckpoint.publish(name, second).close();
                try (OnnxSession next = open(follower)) {
                    assertThat(run(first.session())).containsExactly(expected(weights()));
                    assertThat(run(next.session())).containsExactly(expected(second));
                }
            }
        } finally {
            PublishedCheckpoint.unpublish(name);
        }
    }

    private OnnxSession open(Follower follower) throws IOException, OrtException {
        try (Follower.Lease lease = follower.lease()) {
            return open(lease.checkpoint().tensors());
        }
    }

    /// External data that nobody has is of no interest, if there are tensors for all of it.
    @Test
    void externalDataNeedNotExistForTensors() throws IOException, OrtException {
        Path sample = Path.of("../docs/samples/serve");
        model = Files.copy(sample.resolve("model.onnx"), folder.resolve("alone.onnx"));
        Map<String, Tensor> weights = new HashMap<>(Map.of("hidden.weight", Tensor.ones(DType.FLOAT32, 64, 256),
                "hidden.bias", Tensor.zeros(DType.FLOAT32, 256), "classes.weight",
                Tensor.ones(DType.FLOAT32, 256, 10)));
        assertThatThrownBy(() -> open(weights)).isInstanceOf(OrtException.class)
                .hasMessageContaining("weights.safetensors");
        weights.put("classes.bias", Tensor.ones(DType.FLOAT32, 10));
        try (OnnxSession session = open(weights);
                OnnxTensor image = OnnxTensor.createTensor(ENVIRONMENT, new float[1][64]);
                OrtSession.Result scores = session.session().run(Map.of("image", image))) {
            assertThat(((float[][]) scores.get(0).getValue())[0]).containsOnly(1);
            assertThat(session.copiedInitializers()).isEmpty();
        }
        model = sample.resolve("model.onnx");
        weights.remove("classes.bias");
        open(weights).close();
    }

    @Test
    void weightsThatTheRuntimeCombinesAreThoseOfTheTensorsAlsoByALink() throws IOException, OrtException {
        model = Files.createSymbolicLink(folder.resolve("link.onnx"), copy("onnx_combined.onnx", "cache/1234"));
        Tensor kernel = Tensor.ones(DType.FLOAT32, 64, 64, 4, 4);
        Map<String, Tensor> weights = Map.of("kernel", kernel, "scale", Tensor.full(DType.FLOAT32, 2, 64), "bias",
                Tensor.zeros(DType.FLOAT32, 64), "mean", Tensor.zeros(DType.FLOAT32, 64), "variance",
                Tensor.ones(DType.FLOAT32, 64));
        Tensor ones = Tensor.ones(DType.FLOAT32, 1, 64, 4, 4);
        try (OnnxSession session = open(weights);
                OnnxTensors.Wrapped x = OnnxTensors.wrap(ones, ENVIRONMENT);
                OrtSession.Result y = session.session().run(Map.of("x", x.tensor()))) {
            assertThat(((OnnxTensor) y.get(0)).getFloatBuffer().array()).hasSize(64).containsOnly(2 * 1024);
        }
    }

    @Test
    void filesThatAreNoModelsAreRefused() throws IOException {
        byte[] bytes = Files.readAllBytes(model);
        for (int length = 0; length < bytes.length; length++) {
            Files.write(model, Arrays.copyOf(bytes, length));
            refuses();
        }
        Random random = new Random(1);
        for (int i = 0; i < 300; i++) {
            byte[] changed = bytes.clone();
            changed[random.nextInt(changed.length)] ^= (byte) (1 << random.nextInt(8));
            Files.write(model, changed);
            refuses();
        }
    }

    @Test
    void messagesNameTheFileThatIsNoModelWhatItIsAndWhatToDo() throws IOException {
        byte[] bytes = Files.readAllBytes(model);
        assertRefused(Arrays.copyOf(bytes, bytes.length / 2), "not an ONNX model, or damaged: a field ends behind the "
                + "end of its message; name another file, or get a complete copy of the model");
        assertRefused(new byte[0], "not an ONNX model, or damaged: it is empty; name another file");
        // The version of the format, and nothing else.
        assertRefused(Arrays.copyOf(bytes, 2), "not an ONNX model, or damaged: it has no graph; name another file");
        // An empty graph, which ONNX Runtime refuses.
        Files.write(model, new byte[]{7 << 3 | 2, 0});
        assertThatThrownBy(() -> open(Map.of())).isInstanceOf(OrtException.class)
                .hasMessageMatching("(?s)Error code - \\w+ - message: " + Pattern.quote(model + ": ")
                        + "(?!Error code).*");

        Files.delete(model);
        assertThatThrownBy(() -> open(weights())).isInstanceOf(NoSuchFileException.class)
                .hasMessage(model + ": there is no such file; check the path");
        Files.createDirectory(model);
        assertThatThrownBy(() -> open(weights())).isInstanceOf(FileSystemException.class)
                .hasMessage(model + ": it is a directory; name a file in it");
    }

    private void assertRefused(byte[] bytes, String what) throws IOException {
        Files.write(model, bytes);
        assertThatThrownBy(() -> open(weights())).isInstanceOf(OrtException.class)
                .hasMessageStartingWith("Error code - ORT_INVALID_PROTOBUF - message: " + model + ": " + what);
    }

    /// Opens the file, which may be a model in spite of its damage, and fails for other exceptions than those promised.
    private void refuses() throws IOException {
        Map<String, Tensor> weights = weights();
        try {
            open(weights).close();
        } catch (OrtException | IllegalArgumentException _) {
            assertThat(weights.values()).allMatch(tensor -> tensor.storage().referenceCount() == 1);
        }
    }
}
