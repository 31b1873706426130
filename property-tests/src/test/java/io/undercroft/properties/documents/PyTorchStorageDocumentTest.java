package io.undercroft.properties.documents;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.undercroft.cuda.CudaDevice;
import io.undercroft.mmap.ByteRange;
import io.undercroft.mmap.FileStorage;
import io.undercroft.mmap.MapMode;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// What PyTorch's page on storages states, one test for each statement, its examples among them.
class PyTorchStorageDocumentTest {
    @TempDir
    Path directory;

    @Nested
    class Components {
        private final Tensor tensor = Tensor.arange(DType.INT64, 6).view(2, 3).narrow(1, 1, 2);

        @Test
        void aTensorIsAStorageADtypeAShapeAStrideAndAnOffset() {
            assertThat(tensor.storage().nbytes()).isEqualTo(48);
            assertThat(tensor.dtype()).isEqualTo(DType.INT64);
            assertThat(tensor.shape()).isEqualTo(Shape.of(2, 2));
            assertThat(tensor.stride()).containsExactly(3, 1);
            assertThat(tensor.storageOffset()).isEqualTo(1);
        }

        @Test
        void theseComponentsTogetherAreAllThereIsToATensor() {
            Tensor again = Tensor.of(tensor.storage(), tensor.dtype(), tensor.storageOffset(), tensor.shape(),
                    tensor.stride());
            assertThat(again.contentEquals(tensor)).isTrue();
            assertThat(again).hasToString("""
                    tensor([[1, 2],
                            [4, 5]])""");
        }

        @Test
        void aNewTensorStartsWhereItsStorageDoes() {
            assertThat(Tensor.zeros(DType.FLOAT32, 4).storageOffset()).isZero();
            assertThat(Tensor.of(1.0, 2.0).storageOffset()).isZero();
        }
    }

    @Nested
    class UntypedStorages {
        @Test
        void aStorageHasAsManyElementsAsItsTensorHasBytes() {
            Storage storage = Tensor.zeros(DType.FLOAT64, 2, 5).storage();
            assertThat(storage.size()).isEqualTo(80).isEqualTo(storage.nbytes());
            assertThat(storage.elementSize()).isEqualTo(1);
            assertThat(storage.segment().byteSize()).isEqualTo(80);
        }

        @Test
        void eachTensorOfARegularConstructorHasAStorageOfItsOwn() {
            Tensor zeros = Tensor.zeros(DType.FLOAT32, 3);
            Tensor more = Tensor.zeros(DType.FLOAT32, 3);
            assertThat(zeros.storage()).isNotSameAs(more.storage());
            assertThat(zeros.storage().nbytes()).isEqualTo(12);
            assertThat(zeros.copy().storage()).isNotSameAs(zeros.storage());
        }

        @Test
        void viewsAndIndicesPointToTheSameStorage() {
            Tensor base = Tensor.arange(DType.FLOAT32, 12);
            assertThat(base.view(3, 4).storage()).isSameAs(base.storage());
            assertThat(base.view(3, 4).select(0, 1).storage()).isSameAs(base.storage());
            assertThat(base.slice(0, 2, 10, 2).storage()).isSameAs(base.storage());
        }

        @Test
        void whatSharesAStorageSharesItAgainAfterSavingAndLoading() throws Exception {
            Tensor base = Tensor.arange(DType.FLOAT32, 6);
            Path file = directory.resolve("shared.croft");
            Checkpoint.save(file, Map.of("base", base, "view", base.view(2, 3)));
            try (Checkpoint loaded = Checkpoint.open(file)) {
                loaded.tensor("view").setDouble(1, 2, 42);
                assertThat(loaded.tensor("base").storage()).isSameAs(loaded.tensor("view").storage());
                assertThat(loaded.tensor("base").getDouble(5)).isEqualTo(42);
            }
        }

        @Test
        void aSharedStorageIsSavedOnceHoweverManyTensorsStandOnIt() throws Exception {
            Tensor base = Tensor.full(DType.UINT8, 7, 1 << 20);
            Path file = directory.resolve("once.croft");
            Checkpoint.save(file, Map.of("a", base, "b", base.view(1024, 1024), "c", base.view(2, 1 << 19)));
            assertThat(Files.size(file)).isBetween(1L << 20, 2L << 20);
        }

        @Test
        void theStorageOfATensorIsTheSameObjectOnEachCall() {
            Tensor tensor = Tensor.of(1f, 2f);
            assertThat(tensor.storage()).isSameAs(tensor.storage());
        }

        @Test
        void aStorageHasAnIdentifierAndTensorsOnItHaveTheSame() {
            Tensor tensor = Tensor.of(1f, 2f);
            Tensor other = Tensor.of(1f, 2f);
            assertThat(tensor.view(2, 1).storage().dataPtr()).isEqualTo(tensor.storage().dataPtr()).isNotZero();
            assertThat(other.storage().dataPtr()).isNotEqualTo(tensor.storage().dataPtr());
            assertThat(other.storage().id()).isNotEqualTo(tensor.storage().id());
        }

        @Test
        void dataAndGradientMayStandOnTwoStoragesEachWithAnIdentifier() {
            Tensor tensor = Tensor.of(1f, 2f).withGrad(Tensor.of(3f, 4f));
            Storage ofGradient = tensor.grad().orElseThrow().storage();
            assertThat(ofGradient.dataPtr()).isNotEqualTo(tensor.storage().dataPtr());
            assertThat(ofGradient.id()).isNotEqualTo(tensor.storage().id());
        }

        @Test
        void theDataOfATensorNeedNotBeginWhereItsStorageDoes() {
            Tensor tail = Tensor.of(1f, 2f, 3f).narrow(0, 1, 2);
            assertThat(tail.bytes().address()).isEqualTo(tail.storage().dataPtr() + 4);
        }

        @Test
        void tensorsOfDifferentDtypesAndShapesMayPointToOneStorage() {
            Storage storage = Tensor.ones(DType.FLOAT32, 2).storage();
            Tensor bytes = Tensor.of(storage, DType.UINT8, 0, Shape.of(2, 4), 4, 1);
            bytes.setLong(1, 3, 64);
            assertThat(bytes.toString()).isEqualTo("""
                    tensor([[  0,   0, 128,  63],
                            [  0,   0, 128,  64]], dtype=torch.uint8)""");
            assertThat(Tensor.of(storage, DType.FLOAT32, 0, Shape.of(2), 1).getFloat(1)).isEqualTo(4);
        }

        @Test
        void theExampleGivesATensorOfOnesAZeroedStorage() {
            Tensor t = Tensor.ones(DType.FLOAT32, 3);
            Storage s0 = t.storage();
            assertThat(s0).hasToString(lines(0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63));
            Storage s1 = s0.copy();
            assertThat(s1.fill((byte) 0)).isSameAs(s1).hasToString(lines(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
            Tensor set = t.set(s1, t.storageOffset(), t.shape(), t.stride());
            assertThat(set).hasToString("tensor([0., 0., 0.])");
            assertThat(set.storage()).isSameAs(s1);
        }

        @Test
        void theSameIsDoneOnTensorsWithoutTouchingTheirStorages() {
            Tensor t = Tensor.ones(DType.FLOAT32, 3);
            assertThat(t.copy().fill(0)).hasToString("tensor([0., 0., 0.])");
            assertThat(t).hasToString("tensor([1., 1., 1.])");
        }

        @Test
        void aStorageKnowsItsFileAndItsDevice() throws Exception {
            Storage mapped = FileStorage.open(directory.resolve("bytes"), MapMode.SHARED, ByteRange.bytes(8));
            assertThat(mapped.filename()).contains(directory.resolve("bytes").toString());
            assertThat(mapped.device()).isEqualTo(Device.CPU);
            assertThat(mapped.isCuda()).isFalse();
            assertThat(Storage.allocate(8).filename()).isEmpty();
            mapped.release();
        }

        @Test
        void aStorageIsChangedInPlaceOrCopied() {
            Storage storage = Storage.copyOf((byte) 1, (byte) 2);
            assertThat(storage.copyFrom(Storage.copyOf((byte) 3, (byte) 4))).isSameAs(storage);
            assertThat(storage.toList()).containsExactly(3, 4);
            assertThat(storage.fill((byte) 5).toList()).containsExactly(5, 5);
            assertThat(storage.copy()).isNotSameAs(storage);
        }

        @Test
        void pinningNeedsADeviceThatHasPinnedMemory() {
            Storage storage = Storage.allocate(2);
            assertThat(storage.isPinned()).isFalse();
            if (CudaDevice.isAvailable()) {
                assertThat(storage.pinMemory().isPinned()).isTrue();
            } else {
                assertThatIllegalStateException().isThrownBy(storage::pinMemory).withMessageContaining("pinned");
            }
        }

        private static String lines(int... bytes) {
            StringBuilder lines = new StringBuilder();
            for (int value : bytes) {
                lines.append(' ').append(value).append('\n');
            }
            return lines + "[torch.storage.UntypedStorage(device=cpu) of size " + bytes.length + "]";
        }
    }

    @Nested
    class SpecialCases {
        @Test
        void aGradientHasAStorageApartFromThatOfItsTensor() {
            Tensor t = Tensor.zeros(DType.FLOAT32, 3);
            // The gradient of a sum is 1 for each element. PyTorch computes it; ours is told.
            Tensor summed = t.withGrad(Tensor.ones(DType.FLOAT32, 3));
            assertThat(summed.storage().toList()).isEqualTo(Collections.nCopies(12, 0));
            assertThat(summed.grad().orElseThrow().storage().toList()).isNotEqualTo(Collections.nCopies(12, 0));
        }

        @Test
        void aTensorOnMetaHasAShapeAndNoData() {
            Tensor t = Tensor.meta(DType.FLOAT32, 1L << 30, 1L << 20);
            assertThat(t.transpose(0, 1).narrow(0, 5, 10).shape()).isEqualTo(Shape.of(10, 1L << 30));
            assertThat(t.device()).isEqualTo(Device.META);
            assertThat(t.storage().dataPtr()).isZero();
            assertThatIllegalStateException().isThrownBy(() -> t.getDouble(0, 0)).withMessageContaining("no bytes");
            assertThat(Tensor.meta(DType.FLOAT32, 2)).hasToString("tensor(..., device='meta', size=(2,))");
        }

        @Test
        void whatAFakeTensorIsForAMetaTensorDoes() {
            Tensor real = Tensor.arange(DType.FLOAT32, 6).view(2, 3);
            Tensor fake = real.to(Device.META);
            assertThat(fake.t().contiguous().shape()).isEqualTo(real.t().contiguous().shape());
            assertThat(fake.t().contiguous().stride()).isEqualTo(real.t().contiguous().stride());
            assertThat(fake.to(DType.FLOAT64).storage().nbytes()).isEqualTo(48);
        }
    }

    @Nested
    class TypedStorages {
        @Test
        void storageIsAnAliasOfTheClassOfTheDefaultType() {
            assertThat(DType.defaultType()).isEqualTo(DType.FLOAT32);
            assertThat(TypedStorage.dtypeOf("torch.Storage")).isEqualTo(TypedStorage.dtypeOf("torch.FloatStorage"));
            assertThat(TypedStorage.allocate(2).typeName()).isEqualTo("FloatStorage");
            DType.runWithDefault(DType.FLOAT64,
                    () -> assertThat(TypedStorage.allocate(2).typeName()).isEqualTo("DoubleStorage"));
        }

        @ParameterizedTest
        @CsvSource({"Double, float64", "Float, float32", "Half, float16", "Long, int64", "Int, int32", "Short, int16",
                "Char, int8", "Byte, uint8", "Bool, bool", "BFloat16, bfloat16", "ComplexDouble, complex128",
                "ComplexFloat, complex64", "QUInt8, quint8", "QInt8, qint8", "QInt32, qint32", "QUInt4x2, quint4x2",
                "QUInt2x4, quint2x4"})
        void theConstructorOfAStorageClassMakesATypedStorageOfItsDtype(String prefix, String dtype) {
            TypedStorage made = TypedStorage.allocate(TypedStorage.dtypeOf("torch." + prefix + "Storage"), 3);
            assertThat(made).isExactlyInstanceOf(TypedStorage.class);
            assertThat(made.dtype().name()).isEqualTo(dtype);
            assertThat(made.typeName()).isEqualTo(prefix + "Storage");
            assertThat(made.device()).isEqualTo(Device.CPU);
            assertThat(made.size()).isEqualTo(3);
        }

        @Test
        void aTypedStorageIsAContiguousRowOfElementsOfItsDtype() {
            TypedStorage storage = TypedStorage.of(DType.INT16, 258, 772);
            assertThat(storage.toList()).containsExactly(258L, 772L);
            assertThat(storage.untyped().toList()).containsExactly(2, 1, 4, 3);
        }

        @Test
        void aTypedStorageMayHaveAnyDtype() {
            Storage ones = Tensor.ones(DType.FLOAT32, 1).storage();
            assertThat(new TypedStorage(ones, DType.INT16).toList()).containsExactly(0L, 16256L);
            assertThat(new TypedStorage(ones, DType.BOOL).toList()).containsExactly(false, false, true, true);
            assertThat(new TypedStorage(ones, DType.BFLOAT16).toList()).containsExactly(0.0, 1.0);
        }

        @Test
        void aTypedStorageContainsTheUntypedStorageWithItsBytes() {
            Storage untyped = Storage.allocate(8);
            TypedStorage typed = new TypedStorage(untyped, DType.INT32);
            typed.setLong(1, 1);
            assertThat(typed.untyped()).isSameAs(untyped);
            assertThat(untyped.toList()).containsExactly(0, 0, 0, 0, 1, 0, 0, 0);
        }

        @Test
        void theStorageOfATensorIsATypedOneOfItsDtypeToo() {
            Tensor tensor = Tensor.of(1.5f, 2.5f).narrow(0, 1, 1);
            TypedStorage typed = new TypedStorage(tensor.storage(), tensor.dtype());
            assertThat(typed).hasToString("""
                     1.5
                     2.5
                    [torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 2]""");
        }
    }

    /// Members of `torch.UntypedStorage` and `torch.TypedStorage` that their own tests do not show as PyTorch lists
    /// them.
    @Nested
    class Members {
        @Test
        void fromFileMapsPrivatelyOrSharedAndCountsBytesOrElements() throws Exception {
            Path file = Files.write(directory.resolve("six"), new byte[]{1, 0, 2, 0, 3, 0});
            Storage untyped = FileStorage.open(file, MapMode.PRIVATE, ByteRange.bytes(4));
            TypedStorage typed = new TypedStorage(
                    FileStorage.open(file, MapMode.SHARED, ByteRange.bytes(DType.INT16.nbytes(3))), DType.INT16);
            assertThat(untyped.toList()).containsExactly(1, 0, 2, 0);
            assertThat(typed.toList()).containsExactly(1L, 2L, 3L);
            untyped.fill((byte) 9);
            assertThat(typed.fill(7).toList()).containsExactly(7L, 7L, 7L);
            assertThat(Files.readAllBytes(file)).containsExactly(7, 0, 7, 0, 7, 0);
            untyped.release();
            typed.free();
        }

        @Test
        void newMakesAStorageOfTheSameKind() {
            Storage storage = Storage.allocate(4);
            assertThat(storage.allocateLike(6).nbytes()).isEqualTo(6);
            assertThat(storage.allocateLike(6).allocator()).isEqualTo(storage.allocator());
            assertThat(Storage.meta(4).allocateLike(6).isMeta()).isTrue();
        }

        @Test
        void aStorageOnTheHostHasNoDeviceNumber() {
            assertThat(Storage.allocate(1).device().index()).isEqualTo(-1);
            assertThat(Device.parse("cuda:1").index()).isEqualTo(1);
        }

        @Test
        void devicesOfOtherMakersAreNamesUntilSomethingProvidesThem() {
            Storage storage = Storage.allocate(1);
            for (String name : new String[]{"hpu", "mps:0", "cuda:1000"}) {
                Device device = Device.parse(name);
                assertThat(storage.device()).isNotEqualTo(device);
                assertThatIllegalStateException().isThrownBy(() -> storage.to(device)).withMessageContaining(name);
            }
        }

        @Test
        void whatIsOnTheDeviceAlreadyIsNotCopied() {
            Storage storage = Storage.allocate(1);
            assertThat(storage.cpu()).isSameAs(storage);
            assertThat(storage.to(Device.CPU)).isSameAs(storage);
        }

        @Test
        void aTypeIsANameOrAConversion() {
            TypedStorage ints = TypedStorage.of(DType.INT32, -1, 300);
            assertThat("torch." + ints.typeName()).isEqualTo("torch.IntStorage");
            assertThat(ints.to(TypedStorage.dtypeOf("torch.ByteStorage")).toList()).containsExactly(255L, 44L);
            assertThat(ints.to(DType.BOOL).toList()).containsExactly(true, true);
        }

        @Test
        void aTypedStorageAsksItsUntypedOneForAllElse() {
            TypedStorage typed = TypedStorage.of(DType.INT16, 1, 2);
            assertThat(typed.nbytes()).isEqualTo(4);
            assertThat(typed.elementSize()).isEqualTo(2);
            assertThat(typed.device()).isEqualTo(typed.untyped().device());
            assertThat(typed.untyped().dataPtr()).isEqualTo(typed.slice(0).untyped().dataPtr());
            assertThat(typed.untyped().isShared()).isFalse();
            assertThat(typed.untyped().isPinned()).isFalse();
            assertThat(typed.untyped().isCuda()).isFalse();
            assertThat(typed.untyped().isResizable()).isTrue();
        }

        @Test
        void resizingChangesTheNumberOfElements() {
            TypedStorage typed = TypedStorage.of(DType.INT16, 1, 2);
            assertThat(typed.resize(3)).isSameAs(typed);
            assertThat(typed.toList()).containsExactly(1L, 2L, 0L);
            assertThat(typed.untyped().resize(2)).isSameAs(typed.untyped());
            assertThat(typed.toList()).containsExactly(1L);
        }

        @Test
        void cloningAndCopyingKeepTheType() {
            TypedStorage typed = TypedStorage.of(DType.INT16, 1, 2);
            TypedStorage clone = typed.copy();
            typed.fill(5);
            assertThat(clone.toList()).containsExactly(1L, 2L);
            assertThat(typed.copyFrom(clone).toList()).containsExactly(1L, 2L);
            assertThatIllegalArgumentException().isThrownBy(() -> typed.copyFrom(clone.slice(1)));
        }

        @Test
        void iteratingReadsEachByteOnce() {
            AtomicInteger sum = new AtomicInteger();
            Storage.copyOf((byte) 1, (byte) -1).forEach(sum::addAndGet);
            assertThat(sum).hasValue(256);
        }
    }
}
