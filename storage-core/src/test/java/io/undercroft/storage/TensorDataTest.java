package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// What goes into tensors and comes out of them in bulk: arrays, buffers, copies, other dtypes and devices.
class TensorDataTest {
    private final Tensor data = Tensor.arange(DType.FLOAT32, 24).view(2, 3, 4);

    @Nested
    class Making {
        @Test
        void tensorsAreMadeOfEveryKindOfJavaNumber() {
            assertThat(Tensor.of((short) 1, (short) -2)).hasToString("tensor([ 1, -2], dtype=torch.int16)");
            assertThat(Tensor.of((byte) 1, (byte) -2)).hasToString("tensor([ 1, -2], dtype=torch.int8)");
            assertThat(Tensor.of(true, false)).hasToString("tensor([ True, False])");
            assertThat(Tensor.of(new Complex(1, -2))).hasToString("tensor([1.-2.j], dtype=torch.complex128)");
            assertThat(Tensor.scalar(2.5)).hasToString("tensor(2.5000, dtype=torch.float64)");
            assertThat(Tensor.scalar(7L)).hasToString("tensor(7)");
        }

        @Test
        void anArrayAndSizesMakeATensorOfThatShape() {
            assertThat(Tensor.of(new float[]{1, 2, 3, 4, 5, 6}, 2, 3).getFloat(1, 0)).isEqualTo(4);
            assertThat(Tensor.of(new double[]{1, 2, 3, 4}, 2, -1).getDouble(1, 1)).isEqualTo(4);
            assertThat(Tensor.of(new long[]{7}, 1, 1).shape()).isEqualTo(Shape.of(1, 1));
            assertThat(Tensor.of(new int[]{1, 2}, 2, 1).dtype()).isEqualTo(DType.INT32);
            assertThatIllegalArgumentException().isThrownBy(() -> Tensor.of(new float[5], 2, 3));
            assertThat(Tensor.zeros(DType.INT8, Shape.of(2, 3)).view(Shape.of(3, 2)).shape()).isEqualTo(Shape.of(3, 2));
        }

        @Test
        void anArrayAndAShapeMakeATensorOfThatShape() {
            Shape shape = Shape.of(2, 1);
            assertThat(Tensor.of(1f, 2f).view(shape)).hasToString(Tensor.of(new float[]{1, 2}, 2, 1).toString());
            assertThatIllegalArgumentException().isThrownBy(() -> Tensor.of(new float[3]).view(shape));
        }

        @Test
        void elementsAreWrittenAsFloats() {
            Tensor row = Tensor.zeros(DType.FLOAT64, 3);
            row.setFloat(1, 0.1f);
            row.setFloat(new long[]{-1}, 2.5f);
            assertThat(row.toDoubleArray()).containsExactly(0, 0.1f, 2.5);
            Tensor table = Tensor.zeros(DType.UINT8, 2, 2);
            table.setFloat(1, 0, 300.7f);
            assertThat(table.getLong(1, 0)).isEqualTo(44);
        }

        @Test
        void theOnlyElementIsANumberOfItsKind() {
            assertThat(Tensor.of(2.5f).item()).isEqualTo(2.5);
            assertThat(Tensor.scalar(7L).item()).isEqualTo(7L);
            assertThat(Tensor.of(true).view(1, 1).item()).isEqualTo(1L);
            assertThatThrownBy(() -> Tensor.of(1f, 2f).item()).isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("2 elements");
            assertThatThrownBy(() -> Tensor.of(new Complex(1, 2)).item())
                    .isInstanceOf(UnsupportedOperationException.class).hasMessageContaining("getComplex");
            assertThat(Tensor.of(1L << 31).getLong(0)).isEqualTo(1L << 31);
            assertThatThrownBy(() -> Tensor.of(1L << 31).getInt(0)).isInstanceOf(ArithmeticException.class);
        }

        @Test
        void tensorsAreFilledWhenMade() {
            assertThat(Tensor.ones(DType.INT8, 2, 2).toByteArray()).containsExactly(1, 1, 1, 1);
            assertThat(Tensor.full(DType.BFLOAT16, 0.1, 2).getDouble(1)).isEqualTo(0.10009765625);
            assertThat(Tensor.full(DType.BOOL, 3, 2).toByteArray()).containsExactly(1, 1);
            assertThat(Tensor.zeros(Allocator.heap(), DType.INT32, 2).storage().allocator()).contains(Allocator.heap());
        }

        @Test
        void rangesCountAsThoseOfPyTorch() {
            assertThat(Tensor.arange(DType.INT64, 4).toLongArray()).containsExactly(0, 1, 2, 3);
            assertThat(Tensor.arange(DType.FLOAT32, 0, 1, 0.3).toFloatArray()).containsExactly(0f, 0.3f, 0.6f, 0.9f);
            assertThat(Tensor.arange(DType.INT32, 5, 0, -2).toIntArray()).containsExactly(5, 3, 1);
            assertThat(Tensor.arange(DType.INT32, 5, 5, 1).numel()).isZero();
            assertThatIllegalArgumentException().isThrownBy(() -> Tensor.arange(DType.INT32, 5, 0, 1))
                    .withMessageContaining("5.0").withMessageContaining("1.0");
            assertThatIllegalArgumentException().isThrownBy(() -> Tensor.arange(DType.INT32, 0, 5, 0));
            assertThatIllegalArgumentException().isThrownBy(() -> Tensor.arange(DType.INT32, 0, Double.NaN, 1));
            assertThatIllegalArgumentException().isThrownBy(() -> Tensor.arange(DType.INT32, -1));
        }
    }

    @Nested
    class Properties {
        @Test
        void sizesInBytesCountTheElementsAndNotTheStorage() {
            Tensor row = data.select(0, 1);
            assertThat(row.itemsize()).isEqualTo(4);
            assertThat(row.nbytes()).isEqualTo(48);
            assertThat(Tensor.zeros(DType.QUINT4X2, 3).nbytes()).isEqualTo(2);
        }

        @Test
        void theDataPointerIsThatOfTheFirstElement() {
            assertThat(data.select(0, 1).dataPtr()).isEqualTo(data.storage().dataPtr() + 48);
            assertThat(Tensor.zeros(DType.INT8, 0).dataPtr()).isZero();
            assertThat(Tensor.meta(DType.INT8, 3).dataPtr()).isZero();
            Tensor half = Tensor.zeros(DType.QUINT4X2, 4).narrow(0, 1, 2);
            assertThatThrownBy(half::dataPtr).isInstanceOf(IllegalStateException.class);
        }

        @Test
        void tensorsAreSetToTheSameWindowOrNot() {
            assertThat(data.view(2, 3, 4).isSetTo(data)).isTrue();
            assertThat(data.view(6, 4).isSetTo(data)).isFalse();
            assertThat(data.copy().isSetTo(data)).isFalse();
            assertThat(data.narrow(0, 1, 1).isSetTo(data.narrow(0, 0, 1))).isFalse();
            assertThat(data.isSameSize(data.to(DType.INT32))).isTrue();
            assertThat(data.isSameSize(data.view(24))).isFalse();
        }

        @Test
        void setShowsAllOfAStorage() {
            Tensor tensor = Tensor.zeros(DType.FLOAT64, 0).set(Storage.allocate(20));
            assertThat(tensor.shape()).isEqualTo(Shape.of(2));
            assertThat(tensor.dtype()).isEqualTo(DType.FLOAT64);
        }
    }

    @Nested
    class Gradients {
        @Test
        void aGradientHasAStorageOfItsOwn() {
            Tensor gradient = Tensor.ones(DType.FLOAT32, 2, 3, 4);
            Tensor tensor = data.withGrad(gradient);
            assertThat(tensor.grad()).containsSame(gradient);
            assertThat(tensor.storage()).isSameAs(data.storage());
            assertThat(gradient.storage()).isNotSameAs(data.storage());
            assertThat(data.grad()).isEmpty();
            assertThat(tensor.flags()).as("as in PyTorch").isEmpty();
            assertThat(tensor.withFlags(EnumSet.of(Tensor.Flag.REQUIRES_GRAD)).grad()).containsSame(gradient);
        }

        @Test
        void viewsAndCopiesHaveNoGradient() {
            Tensor tensor = data.withGrad(Tensor.ones(DType.FLOAT32, 2, 3, 4));
            assertThat(tensor.view(24).grad()).isEmpty();
            assertThat(tensor.neg().grad()).isEmpty();
            assertThat(tensor.copy().grad()).isEmpty();
            assertThat(tensor.to(DType.FLOAT64).grad()).isEmpty();
        }

        @Test
        void aGradientFitsItsTensor() {
            assertThatIllegalArgumentException().isThrownBy(() -> data.withGrad(data))
                    .withMessageContaining("its own gradient");
            assertThatIllegalArgumentException().isThrownBy(() -> data.withGrad(Tensor.ones(DType.FLOAT32, 24)))
                    .withMessageContaining("[24]").withMessageContaining("[2, 3, 4]");
            assertThatIllegalArgumentException().isThrownBy(() -> data.withGrad(Tensor.ones(DType.FLOAT64, 2, 3, 4)))
                    .withMessageContaining("float64");
            assertThatIllegalArgumentException().isThrownBy(() -> data.withGrad(Tensor.meta(DType.FLOAT32, 2, 3, 4)))
                    .withMessageContaining("meta");
        }
    }

    @Nested
    class OnMeta {
        private final Tensor huge = Tensor.meta(DType.FLOAT64, 1L << 30, 1L << 27);

        @Test
        void shapesAreCountedWithoutAllocating() {
            assertThat(huge.nbytes()).isEqualTo(1L << 60);
            assertThat(huge.t().shape()).isEqualTo(Shape.of(1L << 27, 1L << 30));
            assertThat(huge.view(-1).size(0)).isEqualTo(1L << 57);
            assertThat(huge.view(DType.UINT8).size(-1)).isEqualTo(1L << 30);
            assertThat(huge.select(0, 5).storageOffset()).isEqualTo(5L << 27);
            assertThat(huge.t().contiguous().stride()).containsExactly(1L << 30, 1);
            assertThat(huge.t().reshape(-1).device()).isEqualTo(Device.META);
            assertThat(huge.to(DType.INT8).nbytes()).isEqualTo(1L << 57);
            assertThat(huge.eq(huge).dtype()).isEqualTo(DType.BOOL);
            assertThat(huge.isClose(huge).device()).isEqualTo(Device.META);
            assertThat(huge).hasToString(
                    "tensor(..., device='meta', size=(1073741824, 134217728), dtype=torch.float64)");
        }

        @Test
        void writingAllElementsDoesNothing() {
            assertThat(huge.fill(1)).isSameAs(huge);
            assertThat(huge.copyFrom(Tensor.scalar(1.0))).isSameAs(huge);
        }

        @SuppressWarnings("CheckReturnValue")
        @Test
        void readingSaysThatThereIsNothing() {
            Stream.<Consumer<Tensor>>of(t -> t.getDouble(0, 0), t -> t.setDouble(0, 0, 1), Tensor::bytes, Tensor::cpu,
                    t -> t.equal(t), t -> t.allClose(t), t -> t.select(0, 0).narrow(0, 0, 9).toFloatArray(),
                    t -> Tensor.zeros(DType.FLOAT64, 9).copyFrom(t.select(0, 0).narrow(0, 0, 9)))
                    .forEach(read -> assertThatThrownBy(() -> read.accept(huge))
                            .isInstanceOf(IllegalStateException.class).hasMessageContaining("no bytes"));
        }

        @Test
        void aTensorGoesToMetaWithItsShapeAndStrides() {
            Tensor meta = data.transpose(0, 2).to(Device.META);
            assertThat(meta.shape()).isEqualTo(Shape.of(4, 3, 2));
            assertThat(meta.stride()).containsExactly(data.transpose(0, 2).stride());
            assertThat(meta.isContiguous()).isFalse();
            assertThat(meta.dtype()).isEqualTo(DType.FLOAT32);
            assertThat(meta.to(Device.META)).isSameAs(meta);
        }
    }

    @Nested
    class OnAShrunkStorage {
        private final Tensor tensor = Tensor.arange(DType.INT32, 6).view(2, 3);

        @SuppressWarnings("CheckReturnValue")
        static Stream<Consumer<Tensor>> everyAccessThrows() {
            return Stream.of(Tensor::dataPtr, t -> t.getLong(1, 2), t -> t.getLong(0, 0), t -> t.setLong(0, 0, 1),
                    Tensor::bytes,
                    Tensor::copy, t -> t.t().contiguous(), Tensor::toIntArray, t -> t.fill(1), t -> t.t().fill(1),
                    t -> t.to(DType.INT64), t -> t.copyTo(MemorySegment.ofArray(new byte[24])),
                    t -> t.equal(t), t -> t.contentEquals(t), t -> t.copyFrom(Tensor.zeros(DType.INT32, 2, 3)),
                    t -> Tensor.zeros(DType.INT32, 2, 3).copyFrom(t), Tensor::asByteBuffer, t -> t.isClose(t),
                    t -> t.getComplex(1, 1), t -> t.select(0, 1).getLong(0));
        }

        @ParameterizedTest
        @MethodSource
        void everyAccessThrows(Consumer<Tensor> access) {
            tensor.storage().resize(20);
            assertThatThrownBy(() -> access.accept(tensor)).isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("24 bytes").hasMessageContaining("resized to 20");
        }

        @Test
        void viewsCanStillBeMadeAndReadWhereThereAreBytes() {
            tensor.storage().resize(20);
            Tensor first = tensor.select(0, 0);
            assertThat(first.toIntArray()).containsExactly(0, 1, 2);
            assertThat(tensor.narrow(1, 0, 2).toIntArray()).containsExactly(0, 1, 3, 4);
            assertThat(tensor.t().shape()).isEqualTo(Shape.of(3, 2));
            assertThatIllegalArgumentException().isThrownBy(() -> tensor.asStrided(Shape.of(6), new long[]{1}, 0));
        }

        @Test
        void itIsPrintedWithoutElements() {
            tensor.storage().resize(0);
            assertThat(tensor)
                    .hasToString("tensor(..., size=(2, 3), dtype=torch.int32, storage=too small)");
        }

        @Test
        void grownAgainItShowsWhatThereIs() {
            tensor.storage().resize(8).resize(24);
            assertThat(tensor.toIntArray()).containsExactly(0, 1, 0, 0, 0, 0);
        }
    }

    @Nested
    class Arrays {
        @Test
        void elementsComeInRowMajorOrderAndConverted() {
            Tensor turned = Tensor.of(1.5, -2.5, 300.0, 4.0).view(2, 2).t();
            assertThat(turned.toDoubleArray()).containsExactly(1.5, 300, -2.5, 4);
            assertThat(turned.toFloatArray()).containsExactly(1.5f, 300f, -2.5f, 4f);
            assertThat(turned.toLongArray()).containsExactly(1, 300, -2, 4);
            assertThat(turned.toIntArray()).containsExactly(1, 300, -2, 4);
            assertThat(turned.toShortArray()).containsExactly((short) 1, (short) 300, (short) -2, (short) 4);
            assertThat(turned.toByteArray()).containsExactly(1, 44, -2, 4);
            assertThat(turned.neg().toFloatArray()).containsExactly(-1.5f, -300f, 2.5f, -4f);
        }

        @Test
        void moreElementsThanAnArrayHoldsAreRefused() {
            Tensor many = Tensor.scalar(1L).expand(1L << 31);
            assertThatIllegalArgumentException().isThrownBy(many::toByteArray).withMessageContaining("2147483648");
        }

        @Test
        void buffersShareTheBytes() {
            data.asByteBuffer().asFloatBuffer().put(5, 99f);
            assertThat(data.getFloat(0, 1, 1)).isEqualTo(99f);
            assertThat(data.select(0, 1).asByteBuffer().getFloat(0)).isEqualTo(12f);
            assertThat(Tensor.of(0x01020304).asByteBuffer().get(0)).isEqualTo((byte) 4);
        }

        @Test
        void buffersNeedOneRun() {
            assertThatThrownBy(() -> data.transpose(0, 1).asByteBuffer()).isInstanceOf(IllegalStateException.class);
            Storage large = Storage.deferred(1L << 31, () -> Allocation.collected(
                    MemorySegment.ofArray(new byte[0])));
            assertThatThrownBy(() -> Tensor.zeros(DType.UINT8, 0).set(large).asByteBuffer())
                    .isInstanceOf(IllegalStateException.class);
        }
    }

    @Nested
    class Copying {
        @Test
        void elementsAreExpandedAndConverted() {
            Tensor target = Tensor.zeros(DType.UINT8, 2, 3);
            target.copyFrom(Tensor.of(1.9, 300.7, -1.0));
            assertThat(target.toIntArray()).containsExactly(1, 44, 255, 1, 44, 255);
            assertThatIllegalArgumentException().isThrownBy(() -> target.copyFrom(Tensor.of(1, 2)))
                    .withMessageContaining("[2]").withMessageContaining("[2, 3]");
        }

        @Test
        void targetsMayBeStridedAndNegated() {
            Tensor target = Tensor.zeros(DType.FLOAT32, 3, 2);
            target.t().copyFrom(Tensor.of(1, 2, 3, 4, 5, 6).view(2, 3));
            assertThat(target.toIntArray()).containsExactly(1, 4, 2, 5, 3, 6);
            target.neg().copyFrom(Tensor.ones(DType.FLOAT32, 3, 2));
            assertThat(target.toIntArray()).containsOnly(-1);
        }

        @Test
        void overlappingElementsAreReadBeforeTheyAreWritten() {
            Tensor line = Tensor.of(1, 2, 3, 4, 5);
            line.narrow(0, 1, 4).copyFrom(line.narrow(0, 0, 4));
            assertThat(line.toIntArray()).containsExactly(1, 1, 2, 3, 4);
            Tensor square = Tensor.of(1, 2, 3, 4).view(2, 2);
            square.copyFrom(square.t());
            assertThat(square.toIntArray()).containsExactly(1, 3, 2, 4);
            square.copyFrom(square);
            square.copyFrom(square.neg());
            assertThat(square.toIntArray()).containsExactly(-1, -3, -2, -4);
        }

        @Test
        void anElementThatIsShownTwiceIsNotWritten() {
            Tensor repeated = Tensor.of(1).expand(3);
            assertThatIllegalArgumentException().isThrownBy(() -> repeated.copyFrom(Tensor.of(1, 2, 3)))
                    .withMessageContaining("dimension 0").withMessageContaining("3");
            assertThatIllegalArgumentException().isThrownBy(() -> repeated.fill(1));
        }

        @Test
        void bytesAreCopiedIn() {
            Tensor target = Tensor.zeros(DType.INT16, 2, 2);
            target.t().copyFrom(MemorySegment.ofArray(new byte[]{1, 0, 2, 0, 3, 0, 4, 0}));
            assertThat(target.toIntArray()).containsExactly(1, 3, 2, 4);
            assertThatIllegalArgumentException().isThrownBy(() -> target.copyFrom(MemorySegment.ofArray(new byte[7])))
                    .withMessageContaining("7").withMessageContaining("8");
        }

        @Test
        void everyElementIsFilled() {
            Tensor target = Tensor.zeros(DType.INT32, 10_000);
            target.slice(0, 1, Long.MAX_VALUE, 2).fill(7L);
            assertThat(target.narrow(0, 9_998, 2).toIntArray()).containsExactly(0, 7);
            target.fill(-3L);
            assertThat(target.equal(Tensor.full(DType.INT32, -3, 10_000))).isTrue();
            assertThat(Tensor.zeros(DType.INT64, 2).fill(Long.MAX_VALUE).toLongArray())
                    .containsOnly(Long.MAX_VALUE);
            assertThat(Tensor.zeros(DType.COMPLEX64, 3).fill(new Complex(1, 2)).getComplex(2))
                    .isEqualTo(new Complex(1, 2));
            assertThat(Tensor.zeros(DType.QUINT4X2, 3).fill(9).toIntArray()).containsOnly(9);
            assertThat(Tensor.zeros(DType.FLOAT32, 2).neg().fill(2).toFloatArray()).containsOnly(2f);
        }

        @Test
        void readOnlyStoragesAreNotWritten() {
            Storage storage = Storage.wrap(MemorySegment.ofArray(new byte[4]).asReadOnly());
            Tensor tensor = Tensor.of(storage, DType.INT32, 0, Shape.of(1), 1);
            assertThatThrownBy(() -> tensor.fill(1)).isInstanceOf(UnsupportedOperationException.class);
            assertThatThrownBy(() -> tensor.copyFrom(Tensor.of(1))).isInstanceOf(UnsupportedOperationException.class);
        }

        @Test
        void copiesComeFromTheAllocatorThatIsAskedFor() {
            Tensor copy = data.transpose(0, 1).copy(Allocator.heap());
            assertThat(copy.storage().allocator()).contains(Allocator.heap());
            assertThat(copy.equal(data.transpose(0, 1))).isTrue();
        }
    }

    @Nested
    class Converting {
        @Test
        void theSameTypeIsTheSameTensor() {
            assertThat(data.to(DType.FLOAT32)).isSameAs(data);
            assertThat(data.to(Device.CPU)).isSameAs(data);
            assertThat(data.cpu()).isSameAs(data);
        }

        @Test
        void anotherTypeIsACopy() {
            Tensor converted = data.transpose(0, 2).to(DType.INT64);
            assertThat(converted.isContiguous()).isTrue();
            assertThat(converted.toLongArray()).startsWith(0, 12, 4);
            assertThat(Tensor.of(new Complex(1, 2)).conj().to(DType.FLOAT32).getFloat(0)).isEqualTo(1f);
            assertThatThrownBy(() -> data.to(DType.BITS8)).isInstanceOf(UnsupportedOperationException.class);
        }

        @Test
        void elementsGoToADeviceAndBackWithoutTheRestOfTheirStorage() {
            Tensor row = data.select(0, 1).transpose(0, 1);
            Tensor there = row.to(PretendDevice.DEVICE);
            assertThat(there.device()).isEqualTo(PretendDevice.DEVICE);
            assertThat(there.storage().nbytes()).isEqualTo(48);
            assertThat(there.cpu().equal(row)).isTrue();
            assertThat(there.narrow(0, 1, 2).cpu().equal(row.narrow(0, 1, 2))).isTrue();
            assertThat(there.select(0, 0)).hasToString("tensor([12., 16., 20.], device='xpu:0')");
            assertThatThrownBy(() -> there.getFloat(0, 0)).isInstanceOf(IllegalStateException.class);
        }
    }
}
