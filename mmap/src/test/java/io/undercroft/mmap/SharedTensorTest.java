package io.undercroft.mmap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Layout;
import io.undercroft.storage.QuantizedTensor;
import io.undercroft.storage.Quantizer.PerChannel;
import io.undercroft.storage.Quantizer.PerTensor;
import io.undercroft.storage.Shape;
import io.undercroft.storage.SparseCompressedTensor;
import io.undercroft.storage.SparseCooTensor;
import io.undercroft.storage.SparseCooTensor.Coalescence;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PeerJvm;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/// Tensors that move to shared memory in place, seen from a second process.
@EnabledOnOs(OS.LINUX)
class SharedTensorTest {
    @Test
    void everyTensorOnTheStorageStaysAndSharesFromThenOn() throws Exception {
        Tensor whole = Tensor.arange(DType.FLOAT64, 6).view(2, 3);
        Tensor column = whole.select(1, 2);
        Storage slice = whole.storage().slice(8, 16);
        long id = whole.storage().id();
        assertThat(whole.isShared()).isFalse();

        assertThat(column.shareMemory()).isSameAs(column);
        assertThat(whole.isShared()).isTrue();
        assertThat(whole.storage().id()).isEqualTo(id);
        assertThat(whole.toDoubleArray()).containsExactly(0, 1, 2, 3, 4, 5);
        addsOneInAnotherProcess(List.of(whole, column));
        assertThat(whole.toDoubleArray()).containsExactly(1, 1, 3, 3, 4, 5);
        assertThat(column.toDoubleArray()).containsExactly(3, 5);
        assertThat(slice.isShared()).isTrue();
        whole.setDouble(0, 1, -1);
        assertThat(Tensor.of(slice, DType.FLOAT64, 0, Shape.of(2), 1).toDoubleArray()).containsExactly(-1, 3);
        slice.release();
        whole.storage().release();
    }

    @Test
    void copiesAndStoragesLikeASharedOneAreNotShared() {
        Storage shared = Tensor.arange(DType.INT64, 8).shareMemory().storage();

        for (Storage other : List.of(shared.copy(), shared.allocateLike(8), shared.shareMemory().copy())) {
            assertThat(other.isShared()).isFalse();
            other.release();
        }
        shared.release();
    }

    @Test
    void aSliceTakesItsBaseWithIt() {
        Tensor base = Tensor.arange(DType.INT64, 8);
        Tensor part = Tensor.of(base.storage().slice(16, 24), DType.INT64, 0, Shape.of(3), 1).shareMemory();

        assertThat(base.isShared()).isTrue();
        part.setLong(0, -7);
        assertThat(base.getLong(2)).isEqualTo(-7);
    }

    @Test
    void sparseTensorsShareAllTheirParts() throws Exception {
        Tensor indices = Tensor.of(0L, 2L, 1L, 0L).view(2, 2);
        SparseCooTensor coordinates = new SparseCooTensor(indices, Tensor.of(5f, 6f), Shape.of(3, 2),
                Coalescence.UNCOALESCED);
        assertThat(coordinates.isShared()).isFalse();
        assertThat(coordinates.shareMemory()).isSameAs(coordinates);
        assertThat(coordinates.isShared()).isTrue();
        addsOneInAnotherProcess(coordinates.components());
        assertThat(coordinates.toDense().toDoubleArray()).containsExactly(0, 0, 0, 6, 6, 0);

        SparseCompressedTensor rows = new SparseCompressedTensor(Layout.SPARSE_CSR, Tensor.of(0L, 1L, 2L),
                Tensor.of(0L, 1L), Tensor.of(5f, 6f), Shape.of(2, 3));
        rows.values().shareMemory();
        assertThat(rows.isShared()).as("one component of three").isFalse();
        rows.shareMemory();
        assertThat(rows.isShared()).isTrue();
        assertThat(rows.components()).hasSize(3).allMatch(Tensor::isShared);
        addsOneInAnotherProcess(List.of(rows.plainIndices(), rows.values()));
        assertThat(rows.toDense().toDoubleArray()).containsExactly(0, 6, 0, 0, 6, 0);
    }

    @Test
    void quantizedTensorsShareTheirParametersToo() throws Exception {
        Tensor bytes = Tensor.of(new byte[]{1, 2, 2, 2}).view(2, 2);
        QuantizedTensor channels = new QuantizedTensor(bytes.copy().view(DType.QINT8),
                new PerChannel(Tensor.of(1.0, 2.0), Tensor.of(0L, 0L), 0));
        assertThat(channels.isShared()).isFalse();
        assertThat(channels.shareMemory()).isSameAs(channels);
        assertThat(channels.components()).hasSize(3).allMatch(Tensor::isShared);
        addsOneInAnotherProcess(channels.components().subList(1, 2));
        assertThat(channels.dequantize().toDoubleArray()).containsExactly(2, 4, 4, 4);

        QuantizedTensor one = new QuantizedTensor(bytes.view(DType.QUINT8), new PerTensor(1, 0)).shareMemory();
        assertThat(one.components()).hasSize(1);
        assertThat(one.isShared()).isTrue();
    }

    @Test
    void whatHasNoBytesOrIsFreedCannotBeShared() {
        Tensor freed = Tensor.zeros(AnonymousMemory.allocator(), DType.INT8, 5);
        freed.storage().release();

        assertThatIllegalStateException().isThrownBy(freed::shareMemory).withMessageContaining("was freed");
        assertThatIllegalStateException().isThrownBy(Tensor.meta(DType.INT8, 5)::shareMemory)
                .withMessageContaining("no bytes");
        assertThat(Tensor.zeros(Allocator.heap(), DType.INT8, 5).shareMemory().isShared()).isTrue();
    }

    private static void addsOneInAnotherProcess(List<Tensor> tensors) throws Exception {
        try (PeerJvm peer = PeerJvm.start(HandlePeer.class)) {
            for (Tensor tensor : tensors) {
                peer.say(SharedTensorHandle.of(tensor).toString());
                assertThat(peer.answer()).contains(Arrays.toString(tensor.toDoubleArray()));
            }
            peer.say("add");
            assertThat(peer.answer()).isEqualTo("added");
            peer.endsWell();
        }
    }
}
