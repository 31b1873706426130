package io.undercroft.properties.documents;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/// What the notes on `Tensor`, `TensorImpl`, `Storage` and `StorageImpl` of PyTorch 1.0 state: each member of their
/// classes, and each example with what it prints.
class TensorImplNotesTest {
    private final Tensor data = Tensor.arange(DType.FLOAT32, 24).view(2, 3, 4);

    @Nested
    class TensorAndTensorImpl {
        @Test
        void aTensorHasTheSizesStridesAndOffsetThatManageItsStorage() {
            Tensor window = data.select(0, 1);
            assertThat(window.shape().toArray()).containsExactly(3, 4);
            assertThat(window.dim()).isEqualTo(2);
            assertThat(window.stride()).containsExactly(4, 1);
            assertThat(window.storageOffset()).isEqualTo(12);
            assertThat(window.numel()).isEqualTo(12);
            assertThat(window.dtype().itemsize()).isEqualTo(4);
        }

        @Test
        void aTensorOfNoDimensionHasOneElementAtOffsetZero() {
            Tensor scalar = Tensor.zeros(DType.FLOAT32);
            assertThat(scalar.numel()).isEqualTo(1);
            assertThat(scalar.storageOffset()).isZero();
        }

        @Test
        void aTensorIsContiguousIfItsElementsFollowOneAnother() {
            assertThat(data.isContiguous()).isTrue();
            assertThat(data.transpose(0, 2).isContiguous()).isFalse();
        }

        @Test
        void theTypeOfATensorIsItsDtypeAndItsDevice() {
            assertThat(data.dtype()).isEqualTo(DType.FLOAT32);
            assertThat(data.device().isCpu()).isTrue();
        }

        @Test
        void aTensorPointsToTheStorageThatHoldsTheData() {
            assertThat(data.storage().nbytes()).isEqualTo(24 * 4);
            assertThat(data.select(0, 1).storage()).isSameAs(data.storage());
        }
    }

    @Nested
    class StorageAndStorageImpl {
        private final Storage storage = data.storage();

        @Test
        void aStorageOfATypeCountsItsElements() {
            assertThat(new TypedStorage(storage, DType.FLOAT32).size()).isEqualTo(24);
            assertThat(new TypedStorage(storage, DType.FLOAT32).dtype()).isEqualTo(DType.FLOAT32);
            assertThat(storage.size()).isEqualTo(96);
        }

        @Test
        void theDataOfAStorageAreReadAsAType() {
            assertThat(storage.segment().get(JAVA_FLOAT_UNALIGNED, 5 * 4)).isEqualTo(5);
            assertThat(new TypedStorage(storage, DType.FLOAT32).getDouble(5)).isEqualTo(5);
        }

        @Test
        void theDataPointerIsTheAddressOfTheFirstByte() {
            assertThat(storage.dataPtr()).isEqualTo(storage.segment().address());
        }

        @Test
        void aStorageKnowsItsAllocatorAndWhetherItCanBeResized() {
            assertThat(Storage.allocate(4, Allocator.offHeap()).allocator()).isPresent();
            assertThat(storage.isResizable()).isTrue();
            assertThat(storage.slice(0, 4).isResizable()).isFalse();
        }
    }

    @Nested
    class Examples {
        @Test
        void aTensorOfThreeDimensionsIsPrintedInBlocks() {
            assertThat(data).hasToString("""
                    tensor([[[ 0.,  1.,  2.,  3.],
                             [ 4.,  5.,  6.,  7.],
                             [ 8.,  9., 10., 11.]],

                            [[12., 13., 14., 15.],
                             [16., 17., 18., 19.],
                             [20., 21., 22., 23.]]])""");
        }
    }
}
