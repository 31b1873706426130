package io.undercroft.interop.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.state.TensorNodes;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Quantized and sparse tensors from files of PyTorch.
class TensorNodesOfTorchTest {
    private static final List<Double> MATRIX = List.of(0., 1., 0., 2., 3., 0., 0., 0., 0., 0., 4., 0., 0., 0., 0., 5.);

    /// The elements that PyTorch 2.13 shows for the one tensor of a file.
    private static final Map<String, List<Double>> SHOWN = Map.of("quant_per_channel.pt", List.of(-1., 0., 1., 2.),
            "quant_per_channel_float_qparams.pt", List.of(-0.1, 0., 1., 2.), "quant_per_tensor.pt",
            List.of(-1., 0., 1.), "quant_qint32.pt", List.of(-1., 0., 1.), "quant_qint8.pt", List.of(-1., 0., 1.),
            "sparse_bsc.pt", MATRIX, "sparse_bsr.pt", MATRIX, "sparse_coo_coalesced.pt",
            List.of(0., 0., 3., 4., 0., 0.), "sparse_csc.pt",
            MATRIX, "sparse_csr.pt", MATRIX);

    static List<String> theElementsAreThoseOfPyTorch() {
        return SHOWN.keySet().stream().sorted().toList();
    }

    @ParameterizedTest
    @MethodSource
    void theElementsAreThoseOfPyTorch(String file) throws IOException {
        Fixtures.open(Fixtures.PYTORCH.resolve(file), contents -> {
            Object state = contents.state();
            Tensor tensor = file.startsWith("quant")
                    ? TensorNodes.quantized(state).orElseThrow().dequantize()
                    : TensorNodes.sparse(state).orElseThrow().toDense();
            assertThat(Arrays.stream(tensor.toDoubleArray()).mapToObj(each -> Math.rint(each * 1e5) / 1e5))
                    .containsExactlyElementsOf(SHOWN.get(file));
        });
    }

    @Test
    void everySuchFixtureIsCompared() {
        assertThat(Fixtures.names("(quant|sparse).*(?<!legacy)[.]pt"))
                .containsExactlyElementsOf(theElementsAreThoseOfPyTorch());
    }
}
