package io.undercroft.interop.torch7;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.undercroft.interop.RealPython;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/// Files that go to OpenCV, which reads tensors and networks of Torch7 with code of its own: little-endian with longs
/// of 8 bytes, and text.
class RealTorch7Test {
    private static final SaveOptions BINARY = SaveOptions.defaults();
    private static final SaveOptions ASCII = BINARY.setting("torch7.encoding", "ascii");

    @TempDir
    private Path folder;

    @TestFactory
    List<DynamicTest> openCv() {
        RealPython python = RealPython.with("cv2", "numpy");
        return List.of(
                python.test("tensors of all types and their views, binary", each -> tensorsGoThere(each, BINARY)),
                python.test("tensors of all types and their views, as text", each -> tensorsGoThere(each, ASCII)),
                python.test("every kind of float, as text", this::floatsGoThere),
                python.test("a network with shared weights, binary", each -> aNetworkGoesThere(each, BINARY)),
                python.test("a network with shared weights, as text", each -> aNetworkGoesThere(each, ASCII)));
    }

    // ---- tensors ----

    private void tensorsGoThere(RealPython python, SaveOptions options) throws IOException {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        for (DType dtype : List.of(DType.UINT8, DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.FLOAT32,
                DType.FLOAT64)) {
            // As bits of halves, the shorts are some numbers from -0.18 on.
            int first = dtype.equals(DType.UINT8) ? 0 : dtype.equals(DType.INT16) ? -20_000 : -60;
            Tensor numbers = Tensor.arange(dtype, first, first + 120, 1);
            tensors.put(dtype.name() + "-vector", numbers);
            tensors.put(dtype.name() + "-matrix", numbers.view(10, 12));
            tensors.put(dtype.name() + "-cube", numbers.view(2, 3, 4, 5));
            tensors.put(dtype.name() + "-rows", numbers.view(10, 12).narrow(0, 3, 4));
            tensors.put(dtype.name() + "-block", numbers.view(10, 12).narrow(0, 2, 5).narrow(1, 4, 6));
            tensors.put(dtype.name() + "-slabs", numbers.view(4, 5, 6).narrow(0, 1, 2).narrow(1, 1, 3));
            tensors.put(dtype.name() + "-element", numbers.narrow(0, 77, 1));
        }
        assertThat(read(python, tensors, options)).isEqualToIgnoringWhitespace("49 equal");
    }

    /// OpenCV ignores the last stride, so there are no transposed views; and it makes floats of 32 bits of all
    /// elements.
    private String read(RealPython python, Map<String, Tensor> tensors, SaveOptions options) throws IOException {
        Path files = Files.createTempDirectory(folder, "tensors");
        for (Map.Entry<String, Tensor> each : tensors.entrySet()) {
            Checkpoint.save(files.resolve(each.getKey() + ".t7"), each.getValue(), options);
            Checkpoint.save(files.resolve(each.getKey() + ".npy"), asOpenCvReads(each.getValue()));
        }
        return python.run("""
                import cv2, glob, numpy as np
                folder, binary = sys.argv[1], sys.argv[2] == 'binary'
                names = [name[:-3] for name in glob.glob(folder + '/*.t7')]
                for name in names:
                    got, want = cv2.dnn.readTorchBlob(name + '.t7', binary), np.load(name + '.npy').astype('f4')
                    got = got.reshape(want.shape) if want.ndim == 1 else got
                    assert got.shape == want.shape, (name, got.shape, want.shape)
                    assert np.array_equal(got, want, equal_nan=True), (name, got, want)
                print(len(names), 'equal')
                """, files, options.setting("torch7.encoding").orElse("binary"));
    }

    /// Halves are to it what shorts are to Torch7.
    private static Tensor asOpenCvReads(Tensor tensor) {
        Tensor copy = tensor.contiguous();
        return tensor.dtype().equals(DType.INT16) ? copy.view(DType.FLOAT16) : copy;
    }

    private void floatsGoThere(RealPython python) throws IOException {
        Tensor floats = Tensor.zeros(DType.FLOAT32, 10_000);
        TypedStorage bits = new TypedStorage(floats.storage(), DType.INT32);
        Random random = new Random(7);
        for (long i = 0; i < floats.numel(); i++) {
            bits.setLong(i, random.nextInt());
        }
        assertThat(read(python, Map.of("floats", floats), ASCII)).isEqualToIgnoringWhitespace("1 equal");
    }

    // ---- networks ----

    private static final int INPUTS = 2;
    private static final int PLANES = 3;
    private static final int SIDE = 6;
    private static final int KERNEL = 3;
    private static final int FEATURES = PLANES * SIDE * SIDE;
    private static final int OUTPUTS = 5;

    /// The weights of a network. The last two layers are one; the first biases are part of a larger storage.
    private record Weights(Tensor kernels, Tensor kernelBias, Tensor wide, Tensor wideBias, Tensor square,
            Tensor squareBias) {
        static Weights random(Random random) {
            Tensor biases = normal(random, PLANES + OUTPUTS);
            return new Weights(normal(random, PLANES * INPUTS * KERNEL * KERNEL).view(PLANES, INPUTS, KERNEL, KERNEL),
                    biases.narrow(0, 0, PLANES), normal(random, OUTPUTS * FEATURES).view(OUTPUTS, FEATURES),
                    biases.narrow(0, PLANES, OUTPUTS), normal(random, OUTPUTS * OUTPUTS).view(OUTPUTS, OUTPUTS),
                    normal(random, OUTPUTS));
        }
    }

    private static Tensor normal(Random random, int count) {
        Tensor tensor = Tensor.zeros(DType.FLOAT32, count);
        for (int i = 0; i < count; i++) {
            tensor.setDouble(i, random.nextGaussian() / 2);
        }
        return tensor;
    }

    private void aNetworkGoesThere(RealPython python, SaveOptions options) throws IOException {
        Weights weights = Weights.random(new Random(11));
        Tensor input = normal(new Random(13), INPUTS * SIDE * SIDE).view(1, INPUTS, SIDE, SIDE);
        Path network = folder.resolve("network.t7");
        Path image = folder.resolve("image.npy");
        Checkpoint.save(network, network(weights), options);
        Checkpoint.save(image, input);

        String printed = python.run("""
                import cv2, numpy as np
                net = cv2.dnn.readNetFromTorch(sys.argv[1], sys.argv[2] == 'binary')
                net.setInput(np.load(sys.argv[3]))
                print(*net.forward().ravel().tolist())
                """, network, options.setting("torch7.encoding").orElse("binary"), image);

        double[] theirs = Arrays.stream(printed.strip().split(" ")).mapToDouble(Double::parseDouble).toArray();
        double[] ours = forward(weights, input);
        assertThat(theirs).hasSize(OUTPUTS);
        for (int i = 0; i < OUTPUTS; i++) {
            assertThat(theirs[i]).as("output %d", i)
                    .isCloseTo(ours[i], within(1e-4 * (1 + Math.abs(ours[i]))));
        }
    }

    private static TypedMap network(Weights weights) {
        TypedMap convolution = module("SpatialConvolution",
                Map.of("nInputPlane", INPUTS, "nOutputPlane", PLANES, "kW", KERNEL, "kH", KERNEL, "dW", 1, "dH", 1,
                        "padW", 1, "padH", 1, "weight", weights.kernels, "bias", weights.kernelBias));
        TypedMap reshape = module("Reshape", Map.of("size", longs(FEATURES), "nelement", FEATURES, "batchMode", true));
        TypedMap square = linear(weights.square, weights.squareBias);
        // Another object on the same weights, as Torch7 makes with share() and as a model has that was cloned.
        TypedMap again = linear(weights.square.view(OUTPUTS, OUTPUTS), weights.squareBias);
        return module("Sequential", Map.of("train", false, "modules", List.of(convolution, module("ReLU",
                Map.of("threshold", 0, "val", 0, "inplace", false)), reshape,
                linear(weights.wide, weights.wideBias), square, again)));
    }

    private static TypedMap linear(Tensor weight, Tensor bias) {
        return module("Linear", Map.of("weight", weight, "bias", bias));
    }

    private static TypedStorage longs(long... values) {
        return new TypedStorage(Tensor.of(values).storage(), DType.INT64);
    }

    private static TypedMap module(String type, Map<String, Object> fields) {
        TypedMap module = new TypedMap("torch7:nn." + type);
        module.put("_type", "torch.FloatTensor");
        module.putAll(fields);
        return module;
    }

    private static double[] forward(Weights weights, Tensor input) {
        double[] hidden = times(weights.wide, weights.wideBias, convolved(weights, input));
        return times(weights.square, weights.squareBias, times(weights.square, weights.squareBias, hidden));
    }

    /// The convolution, with zeros around the input, and what of it is positive.
    private static double[] convolved(Weights weights, Tensor input) {
        double[] output = new double[FEATURES];
        for (int plane = 0; plane < PLANES; plane++) {
            for (int y = 0; y < SIDE; y++) {
                for (int x = 0; x < SIDE; x++) {
                    double sum = weights.kernelBias.getFloat(plane) + at(weights.kernels.select(0, plane), input, y, x);
                    output[(plane * SIDE + y) * SIDE + x] = Math.max(0, sum);
                }
            }
        }
        return output;
    }

    private static double at(Tensor kernel, Tensor input, int y, int x) {
        double sum = 0;
        for (int channel = 0; channel < INPUTS; channel++) {
            for (int dy = -1; dy <= 1; dy++) {
                for (int dx = -1; dx <= 1; dx++) {
                    boolean inside = y + dy >= 0 && y + dy < SIDE && x + dx >= 0 && x + dx < SIDE;
                    sum += inside
                            ? kernel.getFloat(channel, dy + 1, dx + 1) * input.getFloat(0, channel, y + dy, x + dx)
                            : 0;
                }
            }
        }
        return sum;
    }

    private static double[] times(Tensor weight, Tensor bias, double[] input) {
        double[] output = new double[OUTPUTS];
        for (int row = 0; row < OUTPUTS; row++) {
            output[row] = bias.getFloat(row);
            for (int i = 0; i < input.length; i++) {
                output[row] += weight.getFloat(row, i) * input[i];
            }
        }
        return output;
    }
}
