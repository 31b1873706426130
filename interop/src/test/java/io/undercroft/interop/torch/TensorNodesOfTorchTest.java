package io.undercroft.interop.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.state.TensorNodes;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Quantized and sparse tensors from files of PyTorch.
class TensorNodesOfTorchTest {
    /// What PyTorch 2.13 prints for the one tensor of a file.
    private static final Map<String, String> PRINTED = Map.ofEntries(
            Map.entry("quant_per_channel.pt", """
                    tensor([[-1.,  0.],
                            [ 1.,  2.]], size=(2, 2), dtype=torch.quint8,
                           quantization_scheme=torch.per_channel_affine,
                           scale=tensor([0.1000, 0.0100], dtype=torch.float64),
                           zero_point=tensor([10,  0]), axis=0)"""),
            Map.entry("quant_per_channel_float_qparams.pt", """
                    tensor([[-0.1000,  0.0000],
                            [ 1.0000,  2.0000]], size=(2, 2), dtype=torch.quint8,
                           quantization_scheme=torch.per_channel_affine_float_qparams,
                           scale=tensor([0.1000, 0.0100]), zero_point=tensor([1., 0.]), axis=0)"""),
            Map.entry("quant_per_tensor.pt", """
                    tensor([-1.,  0.,  1.], size=(3,), dtype=torch.quint8,
                           quantization_scheme=torch.per_tensor_affine, scale=0.1, zero_point=10)"""),
            Map.entry("quant_qint32.pt", """
                    tensor([-1.,  0.,  1.], size=(3,), dtype=torch.qint32,
                           quantization_scheme=torch.per_tensor_affine, scale=0.1, zero_point=0)"""),
            Map.entry("quant_qint8.pt", """
                    tensor([-1.,  0.,  1.], size=(3,), dtype=torch.qint8,
                           quantization_scheme=torch.per_tensor_affine, scale=0.1, zero_point=0)"""),
            Map.entry("sparse_bsc.pt", """
                    tensor(ccol_indices=tensor([0, 1, 3]),
                           row_indices=tensor([0, 0, 1]),
                           values=tensor([[[0., 1.],
                                           [3., 0.]],

                                          [[0., 2.],
                                           [0., 0.]],

                                          [[4., 0.],
                                           [0., 5.]]]), size=(4, 4), nnz=3,
                           layout=torch.sparse_bsc)"""),
            Map.entry("sparse_bsr.pt", """
                    tensor(crow_indices=tensor([0, 2, 3]),
                           col_indices=tensor([0, 1, 1]),
                           values=tensor([[[0., 1.],
                                           [3., 0.]],

                                          [[0., 2.],
                                           [0., 0.]],

                                          [[4., 0.],
                                           [0., 5.]]]), size=(4, 4), nnz=3,
                           layout=torch.sparse_bsr)"""),
            Map.entry("sparse_coo_coalesced.pt", """
                    tensor(indices=tensor([[0, 1],
                                           [2, 0]]),
                           values=tensor([3., 4.]),
                           size=(2, 3), nnz=2, layout=torch.sparse_coo)"""),
            Map.entry("sparse_csc.pt", """
                    tensor(ccol_indices=tensor([0, 1, 2, 3, 5]),
                           row_indices=tensor([1, 0, 2, 0, 3]),
                           values=tensor([3., 1., 4., 2., 5.]), size=(4, 4), nnz=5,
                           layout=torch.sparse_csc)"""),
            Map.entry("sparse_csr.pt", """
                    tensor(crow_indices=tensor([0, 2, 3, 4, 5]),
                           col_indices=tensor([1, 3, 0, 2, 3]),
                           values=tensor([1., 2., 3., 4., 5.]), size=(4, 4), nnz=5,
                           layout=torch.sparse_csr)"""));

    static List<String> whatPyTorchPrints() {
        return PRINTED.keySet().stream().sorted().toList();
    }

    @ParameterizedTest
    @MethodSource
    void whatPyTorchPrints(String file) throws IOException {
        Fixtures.open(Fixtures.PYTORCH.resolve(file), contents -> {
            Object state = contents.state();
            Object tensor = file.startsWith("quant")
                    ? TensorNodes.quantized(state).orElseThrow()
                    : TensorNodes.sparse(state).orElseThrow();
            assertThat(tensor).hasToString(PRINTED.get(file));
        });
    }

    @Test
    void everySuchFixtureIsCompared() {
        assertThat(Fixtures.names("(quant|sparse).*(?<!legacy)[.]pt")).containsExactlyElementsOf(whatPyTorchPrints());
    }
}
