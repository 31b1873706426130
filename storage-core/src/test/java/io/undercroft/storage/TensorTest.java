package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class TensorTest {
    /// `torch.arange(24, dtype=torch.float32).view(2, 3, 4)`, the tensor that the notes on TensorImpl take apart.
    private final Tensor data = arange(24).view(2, 3, 4);

    @Nested
    class AsInTheNotesOnTensorImpl {
        @Test
        void nothingIsAllocatedForACopyOfRepeatedElementsThatCannotBeRead() {
            Tensor tensor = Tensor.of(Storage.deferred(1, () -> {
                throw new IllegalStateException("damaged");
            }), DType.UINT8, 0, Shape.of(1), 1).expand(1L << 60);

            assertThatIllegalStateException().isThrownBy(tensor::copy).withMessage("damaged");
            assertThatIllegalStateException().isThrownBy(() -> tensor.copy(Allocator.heap())).withMessage("damaged");
            assertThatIllegalStateException().isThrownBy(tensor::contiguous).withMessage("damaged");
        }

        @Test
        void theTensorHasDimSizeAndStride() {
            assertThat(data.dim()).isEqualTo(3);
            assertThat(data.shape()).isEqualTo(Shape.of(2, 3, 4)).hasToString("[2, 3, 4]");
            assertThat(data.stride()).containsExactly(12, 4, 1);
            assertThat(data.storageOffset()).isZero();
            assertThat(data.numel()).isEqualTo(24);
            assertThat(data.isContiguous()).isTrue();
            assertThat(data.size(-1)).isEqualTo(4);
            assertThat(data.stride(-3)).isEqualTo(12);
        }

        @Test
        void anElementIsFoundByItsStrides() {
            Tensor element = data.select(0, 1).select(0, 2).select(0, 2);
            assertThat(element).hasToString("tensor(22.)");
            assertThat(element.storageOffset()).isEqualTo(22);
            assertThat(data.getFloat(1, 2, 2)).isEqualTo(22f);
        }

        @Test
        void aSliceHasTheSizeOfTheStrideOfItsDimension() {
            assertThat(data.select(0, 0).numel()).isEqualTo(12).isEqualTo(data.stride(0));
            assertThat(data.select(0, 0).select(0, 0).numel()).isEqualTo(4).isEqualTo(data.stride(1));
        }

        @Test
        void setMakesOverlappingWindows() {
            Tensor window = Tensor.zeros(DType.FLOAT32, 0).set(data.storage(), 3, Shape.of(2, 3), 5, 2);
            assertThat(window).hasToString("""
                    tensor([[ 3.,  5.,  7.],
                            [ 8., 10., 12.]])""");
            assertThat(window.storage()).isSameAs(data.storage());
            assertThat(window.isContiguous()).isFalse();
        }
    }

    @Nested
    class Views {
        static Stream<Function<Tensor, Tensor>> everyViewSharesTheBytesOfItsBase() {
            return Stream.of(t -> t.select(1, 0), t -> t.narrow(2, 0, 3), t -> t.transpose(0, 2),
                    t -> t.permute(1, 2, 0),
                    t -> t.view(4, 6), t -> t.view(-1), t -> t.expand(5, 2, 3, 4),
                    t -> t.asStrided(Shape.of(2, 2), new long[]{1, 1}, 0), t -> t.set(t.storage(), 0, Shape.SCALAR));
        }

        @ParameterizedTest
        @MethodSource
        void everyViewSharesTheBytesOfItsBase(Function<Tensor, Tensor> view) {
            Tensor base = arange(24).view(2, 3, 4);
            Tensor seen = view.apply(base);
            seen.setDouble(new long[seen.dim()], -7);
            assertThat(seen.storage()).isSameAs(base.storage());
            assertThat(base.getDouble(0, 0, 0)).isEqualTo(-7);
        }

        @Test
        void dimensionsAndIndicesCountFromTheEndToo() {
            assertThat(data.select(-1, -1).getDouble(-1, 0)).isEqualTo(15);
            assertThat(data.narrow(-1, -2, 2).getDouble(0, 0, 0)).isEqualTo(2);
            assertThat(data.transpose(-1, 0).getDouble(3, 0, 1)).isEqualTo(15);
            assertThat(data.getDouble(-1, -1, -1)).isEqualTo(23);
        }

        @Test
        void anExpandedDimensionRepeatsOneElement() {
            Tensor expanded = arange(3).view(3, 1).expand(-1, 4);
            assertThat(expanded.stride()).containsExactly(1, 0);
            assertThat(expanded).hasToString("""
                    tensor([[0., 0., 0., 0.],
                            [1., 1., 1., 1.],
                            [2., 2., 2., 2.]])""");
        }

        @Test
        void aWindowMayOverlapItself() {
            Tensor windows = arange(6).asStrided(Shape.of(4, 3), new long[]{1, 1}, 0);
            windows.setDouble(0, 2, 9);
            assertThat(windows.getDouble(1, 1)).isEqualTo(9);
            assertThat(windows.getDouble(2, 0)).isEqualTo(9);
        }

        @Test
        void flagsStayWithViews() {
            Tensor negated = data.withFlags(EnumSet.of(Tensor.Flag.NEG));
            assertThat(negated.select(0, 1).flags()).containsExactly(Tensor.Flag.NEG);
            assertThat(negated.select(0, 1).getDouble(0, 0)).isEqualTo(-12);
        }

        @Test
        void aTensorWithoutDimensionsCanBeTransposed() {
            assertThat(Tensor.zeros(DType.INT8).transpose(0, -1).dim()).isZero();
        }

        @Test
        void errorsNameTheNumbers() {
            assertThatThrownBy(() -> data.select(1, 3)).isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessage("index 3 of dimension 1 that has size 3");
            assertThatThrownBy(() -> data.select(3, 0)).isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessage("dimension 3 of a tensor that has 3");
            assertThatThrownBy(() -> data.narrow(2, 2, 3)).isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessage("start 2 and length 3 of dimension 2 that has size 4");
            assertThatThrownBy(() -> data.narrow(2, Long.MIN_VALUE, 1)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> data.narrow(2, 1, Long.MAX_VALUE)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> data.permute(0, 1)).isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("an order of 2 dimensions for a tensor that has 3");
            assertThatThrownBy(() -> data.permute(0, 1, -2)).isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("dimension 1 twice in [0, 1, -2]");
            assertThatThrownBy(() -> data.expand(2, 3, 5)).isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("cannot expand [2, 3, 4] to [2, 3, 5]");
            assertThatThrownBy(() -> data.expand(3, 4)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> data.expand(-1, 2, 3, 4)).isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("size -1 of dimension 0 is negative");
        }
    }

    @Nested
    class Geometry {
        private final Storage twelveBytes = Storage.allocate(12);

        @Test
        void theLastElementMustLieInTheStorage() {
            assertThat(Tensor.of(twelveBytes, DType.FLOAT32, 1, Shape.of(2), 1).numel()).isEqualTo(2);
            assertThatThrownBy(() -> Tensor.of(twelveBytes, DType.FLOAT32, 2, Shape.of(2), 1))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(
                            "shape [2], stride [1] and offset 2 of float32 reach byte 16"
                                    + " of a storage of 12 bytes");
        }

        @Test
        void nothingOverflowsIntoTheStorage() {
            long huge = Long.MAX_VALUE;
            assertRefused(() -> Tensor.of(twelveBytes, DType.UINT8, huge, Shape.of(1), 1));
            assertRefused(() -> Tensor.of(twelveBytes, DType.UINT8, 0, Shape.of(3), huge));
            assertRefused(() -> Tensor.of(twelveBytes, DType.UINT8, 1, Shape.of(2), huge));
            assertRefused(() -> Tensor.of(twelveBytes, DType.INT64, 1L << 61, Shape.of(1), 1));
            assertRefused(() -> Tensor.of(twelveBytes, DType.UINT8, 0, Shape.of(huge), 1));
            assertRefused(() -> Tensor.of(Storage.meta(huge), DType.INT64, huge / 2, Shape.of(2), huge));
            assertRefused(() -> Tensor.zeros(DType.FLOAT64, huge));
        }

        @Test
        void offsetsAndStridesAreNotNegative() {
            assertThatThrownBy(() -> Tensor.of(twelveBytes, DType.UINT8, -1, Shape.of(1), 1))
                    .isInstanceOf(IllegalArgumentException.class).hasMessage("the storage offset -1 is negative");
            assertThatThrownBy(() -> Tensor.of(twelveBytes, DType.UINT8, 2, Shape.of(2), -1))
                    .isInstanceOf(IllegalArgumentException.class).hasMessage("the stride -1 is negative");
        }

        @Test
        void everyDimensionHasAStride() {
            assertThatThrownBy(() -> Tensor.of(twelveBytes, DType.UINT8, 0, Shape.of(2, 2), 1))
                    .isInstanceOf(IllegalArgumentException.class).hasMessage("1 strides for the shape [2, 2]");
        }

        @Test
        void withoutStridesItIsInRowMajorOrder() {
            assertThat(Tensor.of(twelveBytes, DType.UINT8, 0, Shape.of(3, 4)).stride()).containsExactly(4, 1);
            assertThat(Tensor.of(twelveBytes, DType.UINT8, 5, Shape.of()).numel()).isEqualTo(1);
        }

        @Test
        void anEmptyArrayOfStridesIsNotTakenForNoStrides() {
            assertThatThrownBy(() -> Tensor.of(twelveBytes, DType.UINT8, 0, Shape.of(3, 4), new long[0]))
                    .isInstanceOf(IllegalArgumentException.class).hasMessage("0 strides for the shape [3, 4]");
        }

        @Test
        void anEmptyTensorMayHaveAnyOffsetButReadsNothing() {
            Tensor empty = Tensor.of(twelveBytes, DType.FLOAT32, 1000, Shape.of(0, 3), 3, 1);
            assertThat(empty.bytes().byteSize()).isZero();
            assertThat(empty.copy().storageOffset()).isZero();
            assertThat(empty).hasToString("tensor([], size=(0, 3))");
            assertThatThrownBy(() -> empty.getDouble(0, 0)).isInstanceOf(IndexOutOfBoundsException.class);
        }

        @Test
        void anOffsetThatNoLongHoldsIsRefusedEvenOfAnEmptyTensor() {
            Tensor empty = Tensor.of(twelveBytes, DType.UINT8, 0, Shape.of(3, 0), Long.MAX_VALUE, 1);
            assertThatThrownBy(() -> empty.select(0, 2)).isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("2^63-1");
        }

        @Test
        void stridesOfDimensionsOfSizeOneDoNotMatter() {
            assertThat(Tensor.of(twelveBytes, DType.UINT8, 0, Shape.of(1, 3), Long.MAX_VALUE, 1).isContiguous())
                    .isTrue();
            assertThat(data.narrow(0, 0, 1).isContiguous()).isTrue();
            assertThat(data.narrow(1, 0, 1).isContiguous()).isFalse();
        }

        @Test
        void elementsNarrowerThanAByteCountInBits() {
            assertThat(Tensor.of(twelveBytes, DType.QUINT4X2, 1, Shape.of(23), 1).numel()).isEqualTo(23);
            assertRefused(() -> Tensor.of(twelveBytes, DType.QUINT4X2, 1, Shape.of(24), 1));
        }

        private static void assertRefused(ThrowingCallable call) {
            assertThatThrownBy(call).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Nested
    class ElementAccess {
        @Test
        void indicesOutsideNameTheDimension() {
            assertThatThrownBy(() -> data.getDouble(0, 3, 0)).isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessage("index 3 of dimension 1 that has size 3");
            assertThatThrownBy(() -> data.setDouble(new long[]{0, -4, 0}, 1))
                    .isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessage("index -4 of dimension 1 that has size 3");
            assertThatThrownBy(() -> data.getDouble(0, Long.MIN_VALUE, 0))
                    .isInstanceOf(IndexOutOfBoundsException.class);
        }

        @Test
        void everyDimensionNeedsAnIndex() {
            assertThatThrownBy(() -> data.getDouble(1, 2)).isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessage("2 indices for a tensor with 3 dimensions");
        }

        @Test
        void negatedTensorsReadAndWriteNegatives() {
            Tensor stored = Tensor.of(1.5, -2.0);
            Tensor negated = stored.withFlags(EnumSet.of(Tensor.Flag.NEG));
            assertThat(negated.getDouble(0)).isEqualTo(-1.5);
            assertThat(negated.getLong(1)).isEqualTo(2);
            negated.setDouble(0, 4);
            assertThat(stored.getDouble(0)).isEqualTo(-4);
            negated.setLong(0, 5);
            assertThat(stored.getDouble(0)).isEqualTo(-5);
        }

        @Test
        void negatedIntegersStayInTheirWidth() {
            Tensor signed = Tensor.of(Storage.copyOf((byte) -128), DType.INT8, 0, Shape.SCALAR)
                    .withFlags(EnumSet.of(Tensor.Flag.NEG));
            assertThat(signed.getLong()).isEqualTo(-128);
            Tensor unsigned = Tensor.of(Storage.copyOf((byte) 1), DType.UINT8, 0, Shape.SCALAR)
                    .withFlags(EnumSet.of(Tensor.Flag.NEG));
            assertThat(unsigned.getDouble()).isEqualTo(255);
            unsigned.setLong(new long[0], 3);
            assertThat(unsigned.storage().get(0)).isEqualTo((byte) -3);
        }

        @Test
        void conjugatedTensorsReadAndWriteConjugates() {
            Tensor stored = Tensor.zeros(DType.COMPLEX128, 1);
            stored.setComplex(0, new Complex(1, 2));
            Tensor conjugated = stored.withFlags(EnumSet.of(Tensor.Flag.CONJ));
            assertThat(conjugated.getComplex(0)).isEqualTo(new Complex(1, -2));
            Tensor both = stored.withFlags(EnumSet.of(Tensor.Flag.CONJ, Tensor.Flag.NEG));
            assertThat(both.getComplex(0)).isEqualTo(new Complex(-1, 2));
            both.setComplex(0, new Complex(3, 4));
            assertThat(stored.getComplex(0)).isEqualTo(new Complex(-3, 4));
        }

        @Test
        void aFreedStorageIsNeverRead() {
            Tensor tensor = Tensor.of(1f, 2f);
            tensor.storage().release();
            assertThatThrownBy(() -> tensor.getDouble(0)).isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("#" + tensor.storage().id()).hasMessageContaining("was freed");
            assertThatThrownBy(() -> tensor.setDouble(0, 1)).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(tensor::bytes).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(tensor::copy).isInstanceOf(IllegalStateException.class);
            assertThat(tensor).hasToString("tensor(..., size=(2,), storage=freed)");
        }

        @Test
        void aReadOnlyStorageIsNotWritten() {
            Storage storage = Storage.wrap(MemorySegment.ofArray(new byte[4]).asReadOnly());
            Tensor tensor = Tensor.of(storage, DType.INT32, 0, Shape.SCALAR);
            assertThat(tensor.getLong()).isZero();
            assertThat(tensor.bytes().isReadOnly()).isTrue();
            assertThatThrownBy(() -> tensor.setLong(new long[0], 1)).isInstanceOf(UnsupportedOperationException.class)
                    .hasMessageContaining("read-only").hasMessageContaining("copy");
            tensor.copy().setLong(new long[0], 1);
        }

        @Test
        void aMetaTensorHasAShapeButNoElements() {
            Tensor meta = Tensor.of(Storage.meta(24), DType.FLOAT32, 0, Shape.of(2, 3), 3, 1);
            assertThat(meta.transpose(0, 1).shape()).isEqualTo(Shape.of(3, 2));
            assertThat(meta.device()).isEqualTo(Device.META);
            assertThatThrownBy(() -> meta.getDouble(0, 0)).isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("no bytes");
            Tensor copy = meta.transpose(0, 1).copy();
            assertThat(copy.device()).isEqualTo(Device.META);
            assertThat(copy.storage()).isNotSameAs(meta.storage());
            assertThat(copy.stride()).containsExactly(2, 1);
        }
    }

    @Nested
    class Copies {
        static Stream<TorchCases.Printing> aCopyHoldsTheSameElementsInRowMajorOrder() {
            return TorchCases.printing().stream();
        }

        @ParameterizedTest
        @MethodSource
        void aCopyHoldsTheSameElementsInRowMajorOrder(TorchCases.Printing printing) {
            Tensor copy = printing.tensor().copy();
            assertThat(copy).hasToString(printing.expected());
            assertThat(copy.storage()).isNotSameAs(printing.tensor().storage());
            assertThat(copy.storage().nbytes()).isEqualTo(copy.dtype().nbytes(copy.numel()));
            assertThat(copy.isContiguous()).isTrue();
            assertThat(copy.is(Tensor.Flag.NEG) || copy.is(Tensor.Flag.CONJ)).isFalse();
        }

        static Stream<DType> stridedElementsOfEveryTypeAreCopiedBitForBit() {
            return Stream.concat(DType.values().stream(),
                    Stream.of(DType.opaque("wide", 24), DType.opaque("odd", 12), DType.opaque("bit", 1)));
        }

        @ParameterizedTest
        @MethodSource
        void stridedElementsOfEveryTypeAreCopiedBitForBit(DType dtype) {
            Storage storage = Storage.allocate(dtype.nbytes(120));
            for (long i = 0; i < storage.nbytes(); i++) {
                storage.set(i, (byte) (i * 37 + 11));
            }
            Tensor base = Tensor.of(storage, dtype, 0, Shape.of(5, 4, 6), 24, 6, 1);
            for (Tensor view : new Tensor[]{base.permute(2, 0, 1), base.narrow(2, 1, 3), base.transpose(1, 2),
                    base.select(1, 3), base.select(2, 5), base.select(0, 2).expand(2, 4, 6), base.narrow(0, 1, 2)}) {
                assertThat(bits(view.copy())).isEqualTo(bits(view));
            }
        }

        @Test
        void contiguousCopiesOnlyWhatIsNotContiguous() {
            assertThat(data.contiguous()).isSameAs(data);
            Tensor turned = data.transpose(0, 2);
            assertThat(turned.contiguous().storage()).isNotSameAs(data.storage());
            assertThat(turned.contiguous().contentEquals(turned)).isTrue();
            assertThat(data.withFlags(EnumSet.of(Tensor.Flag.NEG)).contiguous().getDouble(0, 0, 1)).isEqualTo(-1);
        }

        @Test
        void aTensorThatStartsInsideAByteIsCopiedToStartOnOne() {
            Tensor tensor = Tensor.of(Storage.copyOf((byte) 0x21, (byte) 0x43), DType.QUINT4X2, 1, Shape.of(2), 1);
            assertThatThrownBy(tensor::bytes).isInstanceOf(IllegalStateException.class);
            assertThat(tensor.contiguous().storage().get(0)).isEqualTo((byte) 0x32);
        }

        @Test
        void bytesAreThoseOfTheStorage() {
            Tensor part = Tensor.of(1, 2, 3).narrow(0, 1, 2);
            assertThat(part.bytes().byteSize()).isEqualTo(8);
            part.bytes().fill((byte) 0);
            assertThat(part.getLong(1)).isZero();
        }

        @Test
        void bytesOfScatteredElementsAreRefused() {
            assertThatThrownBy(() -> data.transpose(0, 1).bytes()).isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("[3, 2, 4]").hasMessageContaining("contiguous()");
            assertThatThrownBy(() -> data.withFlags(EnumSet.of(Tensor.Flag.NEG)).bytes())
                    .isInstanceOf(IllegalStateException.class).hasMessageContaining("NEG");
        }

        @Test
        void requiresGradSurvivesACopy() {
            assertThat(data.withFlags(EnumSet.of(Tensor.Flag.REQUIRES_GRAD)).copy().flags())
                    .containsExactly(Tensor.Flag.REQUIRES_GRAD);
        }
    }

    @Nested
    class ContentEquality {
        @Test
        void equalElementsAreEqualWhateverTheirStrides() {
            Tensor rowMajor = data.transpose(0, 2).copy();
            assertThat(rowMajor.contentEquals(data.transpose(0, 2))).isTrue();
            rowMajor.setDouble(new long[]{3, 2, 1}, 99);
            assertThat(rowMajor.contentEquals(data.transpose(0, 2))).isFalse();
        }

        @Test
        void dtypeAndShapeCount() {
            assertThat(data.contentEquals(data.view(24))).isFalse();
            assertThat(Tensor.zeros(DType.INT32, 1).contentEquals(Tensor.zeros(DType.FLOAT32, 1))).isFalse();
        }

        @Test
        void bitsAreComparedAndNotNumbers() {
            assertThat(Tensor.of(Double.NaN).contentEquals(Tensor.of(Double.NaN))).isTrue();
            assertThat(Tensor.of(0.0).contentEquals(Tensor.of(-0.0))).isFalse();
        }

        @Test
        void bitsThatNoElementFillsDoNotCount() {
            Tensor one = Tensor.of(Storage.copyOf((byte) 0xA5), DType.QUINT4X2, 0, Shape.of(1), 1);
            Tensor other = Tensor.of(Storage.copyOf((byte) 0x05), DType.QUINT4X2, 0, Shape.of(1), 1);
            assertThat(one.contentEquals(other)).isTrue();
        }
    }

    @Test
    void tensorsAreMadeOfJavaNumbers() {
        assertThat(Tensor.of(1f, 2.5f)).hasToString("tensor([1.0000, 2.5000])");
        assertThat(Tensor.of(1.0)).hasToString("tensor([1.], dtype=torch.float64)");
        assertThat(Tensor.of(1L, 2L)).hasToString("tensor([1, 2])");
        assertThat(Tensor.of(1, 2)).hasToString("tensor([1, 2], dtype=torch.int32)");
        assertThat(Tensor.zeros(DType.BOOL, 2)).hasToString("tensor([False, False])");
    }

    @Test
    void theCallersArraysAreNotKept() {
        long[] stride = {1};
        Tensor tensor = Tensor.of(Storage.allocate(8), DType.UINT8, 0, Shape.of(4), stride);
        stride[0] = 100;
        tensor.stride()[0] = 100;
        assertThat(tensor.stride()).containsExactly(1);
    }

    @Test
    void flagsAreASetOfTheirOwn() {
        Set<Tensor.Flag> flags = EnumSet.of(Tensor.Flag.REQUIRES_GRAD);
        Tensor tensor = data.withFlags(flags);
        flags.add(Tensor.Flag.NEG);
        assertThat(tensor.flags()).containsExactly(Tensor.Flag.REQUIRES_GRAD);
        assertThatThrownBy(() -> tensor.flags().clear()).isInstanceOf(UnsupportedOperationException.class);
        assertThat(tensor.withFlags(Set.of()).flags()).isEmpty();
    }

    private static Tensor arange(int n) {
        float[] values = new float[n];
        IntStream.range(0, n).forEach(i -> values[i] = i);
        return Tensor.of(values);
    }

    /// The bits of all elements in row-major order, found one by one from shape, strides and offset.
    private static String bits(Tensor tensor) {
        StringBuilder bits = new StringBuilder();
        long[] index = new long[tensor.dim()];
        for (long n = 0; n < tensor.numel(); n++) {
            long rest = n;
            for (int d = tensor.dim() - 1; d >= 0; d--) {
                index[d] = rest % tensor.size(d);
                rest /= tensor.size(d);
            }
            long position = tensor.storageOffset()
                    + IntStream.range(0, index.length).mapToLong(d -> index[d] * tensor.stride(d)).sum();
            for (long bit = position * tensor.dtype().bits(); bit < (position + 1) * tensor.dtype().bits(); bit++) {
                bits.append((tensor.storage().get(bit / 8) >> (bit % 8)) & 1);
            }
            Arrays.fill(index, 0);
        }
        return bits.toString();
    }

    @Test
    void flagsThatMakeNoSenseForTheDtypeAreRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Tensor.zeros(DType.FLOAT32, 2).withFlags(Set.of(Tensor.Flag.CONJ)))
                .withMessageContaining("float32");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Tensor.zeros(DType.BITS8, 2).withFlags(Set.of(Tensor.Flag.NEG)))
                .withMessageContaining("bits8");
    }

    @Test
    void tensorsWithoutElementsAreCopiedWhateverTheirStrides() {
        assertThat(Tensor.zeros(DType.FLOAT32, 2, 0, 4, 2).contiguous(MemoryFormat.CHANNELS_LAST).shape())
                .isEqualTo(Shape.of(2, 0, 4, 2));
        Tensor repeated = Tensor.of(Storage.allocate(8), DType.FLOAT32, 0, Shape.of(2, 0), 0, 1);
        assertThat(repeated.copyFrom(Tensor.zeros(DType.FLOAT32, 2, 0)).numel()).isZero();
    }

    @Test
    void negatedNumbersBeyondALongHaveTheLimitOfTheirSign() {
        assertThat(Tensor.of(1e30, -1e30).neg().getLong(0)).isEqualTo(Long.MIN_VALUE);
        assertThat(Tensor.of(1e30, -1e30).neg().getLong(1)).isEqualTo(Long.MAX_VALUE);
        Tensor negated = Tensor.zeros(DType.FLOAT64, 1).neg();
        negated.setLong(0, Long.MIN_VALUE);
        assertThat(negated.getDouble(0)).isEqualTo(-0x1p63);
    }

    @Test
    void fullKeepsEveryBitOfALong() {
        assertThat(Tensor.full(DType.INT64, Long.MAX_VALUE, 1)).hasToString("tensor([9223372036854775807])");
        assertThat(Tensor.full(DType.COMPLEX64, new Complex(1, -2), 1)).hasToString("tensor([1.-2.j])");
    }

    @Test
    void sizesBeyondALongAreRefusedWithTheNumbers() {
        Tensor repeated = Tensor.zeros(DType.FLOAT32, 1).expand(Long.MAX_VALUE);
        assertThatThrownBy(repeated::nbytes).isInstanceOf(ArithmeticException.class)
                .hasMessage("9223372036854775807 elements of float32 take more than 2^63-1 bytes");
        assertThatThrownBy(() -> DType.FLOAT32.nbytes(-5)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("-5");
    }

    @Test
    void aTensorOnOneStorageIsStrided() {
        assertThat(Tensor.zeros(DType.FLOAT32, 2, 3).t().layout()).isEqualTo(Layout.STRIDED);
    }
}
