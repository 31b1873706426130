package io.undercroft.serializer.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Layout;
import io.undercroft.storage.QuantizedTensor;
import io.undercroft.storage.Quantizer;
import io.undercroft.storage.Quantizer.PerChannel;
import io.undercroft.storage.Quantizer.PerChannelFloat;
import io.undercroft.storage.Quantizer.PerTensor;
import io.undercroft.storage.Shape;
import io.undercroft.storage.SparseCompressedTensor;
import io.undercroft.storage.SparseCooTensor;
import io.undercroft.storage.SparseCooTensor.Coalescence;
import io.undercroft.storage.SparseTensor;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TensorNodesTest {
    private static final Tensor INTEGERS = Tensor.of(new byte[]{20, 30, -5, 15}).view(2, 2).view(DType.QINT8);

    @TempDir
    private Path directory;

    @Test
    void quantizedTensorsComeBackFromAFile() throws IOException {
        List<Quantizer> quantizers = List.of(new PerTensor(0.1, 10),
                new PerChannel(Tensor.of(0.1, 0.2), Tensor.of(10L, 20L), 0),
                new PerChannelFloat(Tensor.of(0.1f, 0.2f), Tensor.of(1.5f, 2f), 1));
        for (Quantizer quantizer : quantizers) {
            QuantizedTensor tensor = new QuantizedTensor(INTEGERS, quantizer);
            saveAndOpen(TensorNodes.of(tensor), node -> {
                QuantizedTensor again = TensorNodes.quantized(node).orElseThrow();
                assertThat(again.qscheme()).isEqualTo(tensor.qscheme());
                assertThat(again).hasToString(tensor.toString());
            });
        }
    }

    @Test
    void sparseTensorsComeBackFromAFile() throws IOException {
        Tensor values = Tensor.of(1f, 2f, 3f);
        Tensor starts = Tensor.of(0L, 1L, 3L);
        Tensor places = Tensor.of(1L, 0L, 2L);
        Tensor indices = Tensor.of(0L, 1L, 1L, 1L, 0L, 2L).view(2, 3);
        List<SparseTensor> tensors = List.of(
                new SparseCooTensor(indices, values, Shape.of(2, 3), Coalescence.COALESCED),
                new SparseCooTensor(indices, values, Shape.of(2, 3), Coalescence.UNCOALESCED),
                new SparseCompressedTensor(Layout.SPARSE_CSR, starts, places, values, Shape.of(2, 3)),
                new SparseCompressedTensor(Layout.SPARSE_CSC, starts, places, values, Shape.of(3, 2)),
                new SparseCompressedTensor(Layout.SPARSE_BSR, starts, places, values.view(3, 1, 1), Shape.of(2, 3)),
                new SparseCompressedTensor(Layout.SPARSE_BSC, starts, places, values.view(3, 1, 1), Shape.of(3, 2)));
        for (SparseTensor tensor : tensors) {
            saveAndOpen(TensorNodes.of(tensor), node -> {
                SparseTensor again = TensorNodes.sparse(node).orElseThrow();
                assertThat(again).hasSameClassAs(tensor).hasToString(tensor.toString());
                assertThat(again instanceof SparseCooTensor coo && coo.isCoalesced())
                        .isEqualTo(tensor instanceof SparseCooTensor coo && coo.isCoalesced());
            });
        }
    }

    @Test
    void componentsStandOnTheStoragesOfTheState() {
        QuantizedTensor tensor = new QuantizedTensor(INTEGERS, new PerTensor(0.1, 10));
        Typed node = TensorNodes.of(tensor);
        assertThat(node.value()).isSameAs(tensor.integers());
        assertThat(TensorNodes.quantized(node).orElseThrow().integers()).isSameAs(tensor.integers());
    }

    @Test
    void parametersOfOtherTypesAreConvertedAndListsTaken() {
        Typed node = new Typed(PerChannel.SCHEME, Tensor.zeros(DType.QUINT8, 2));
        node.attributes().put("scales", List.of(0.5, 2L));
        node.attributes().put("zero_points", Tensor.of(1, 2));
        node.attributes().put("axis", 0L);
        assertThat(TensorNodes.quantized(node).orElseThrow().dequantize().contentEquals(Tensor.of(-0.5f, -4f)))
                .isTrue();
    }

    @Test
    void otherValuesAreNoSuchTensors() {
        assertThat(TensorNodes.quantized(INTEGERS)).isEmpty();
        assertThat(TensorNodes.quantized(null)).isEmpty();
        assertThat(TensorNodes.quantized(new Typed("torch.nn.parameter.Parameter", INTEGERS))).isEmpty();
        assertThat(TensorNodes.sparse(INTEGERS)).isEmpty();
        assertThat(TensorNodes.sparse(new TypedMap("collections.OrderedDict"))).isEmpty();
        assertThat(TensorNodes.sparse(new TypedMap("torch.strided"))).isEmpty();
    }

    @Test
    void nodesWithWrongPartsAreRefused() {
        Typed node = new Typed(PerTensor.SCHEME, Tensor.of(1f));
        node.attributes().put("scale", 0.1);
        assertThatIllegalArgumentException().isThrownBy(() -> TensorNodes.quantized(node))
                .withMessage("in a node of type torch.per_tensor_affine, zero_point is missing; it should be of type "
                        + "Number");
        node.attributes().put("zero_point", 10L);
        assertThatIllegalArgumentException().isThrownBy(() -> TensorNodes.quantized(node))
                .withMessageContaining("float32");
        node.value("text");
        assertThatIllegalArgumentException().isThrownBy(() -> TensorNodes.quantized(node))
                .withMessageContaining("value is of type String; it should be of type Tensor");
        TypedMap map = new TypedMap("torch.sparse_csr");
        map.put("values", INTEGERS);
        map.put("size", Shape.of(2));
        assertThatIllegalArgumentException().isThrownBy(() -> TensorNodes.sparse(map))
                .withMessageContaining("crow_indices is missing");
        Typed channels = new Typed(PerChannel.SCHEME, Tensor.zeros(DType.QUINT8, 1));
        channels.attributes().put("scales", Tensor.of(1.0));
        channels.attributes().put("zero_points", Tensor.of(1L));
        channels.attributes().put("axis", 1L << 32);
        assertThatIllegalArgumentException().isThrownBy(() -> TensorNodes.quantized(channels))
                .withMessageContaining("axis 4294967296");
    }

    private void saveAndOpen(Object node, Consumer<Object> check) throws IOException {
        Path file = directory.resolve("node.croft");
        Checkpoint.save(file, List.of(node));
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            check.accept(((List<?>) checkpoint.state()).getFirst());
        }
    }
}
