package io.undercroft.properties.documents;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.undercroft.cuda.CudaDevice;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.nio.file.Files;
import java.nio.file.Path;
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
    class SpecialCases {}

    @Nested
    class TypedStorages {
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
        void aTypedStorageAsksItsUntypedOneForAllElse() {
            TypedStorage typed = TypedStorage.of(DType.INT16, 1, 2);
            assertThat(typed.nbytes()).isEqualTo(4);
            assertThat(typed.elementSize()).isEqualTo(2);
            assertThat(typed.device()).isEqualTo(typed.untyped().device());
            assertThat(typed.dataPtr()).isEqualTo(typed.untyped().dataPtr()).isEqualTo(typed.slice(0).dataPtr());
            assertThat(typed.isShared()).isFalse();
            assertThat(typed.filename()).isEmpty();
            assertThat(typed.isPinned()).isFalse();
            assertThat(typed.isCuda()).isFalse();
            assertThat(typed.isResizable()).isTrue();
            assertThat(typed.slice(0).isResizable()).isFalse();
        }

        @Test
        void iteratingReadsEachByteOnce() {
            AtomicInteger sum = new AtomicInteger();
            Storage.copyOf((byte) 1, (byte) -1).forEach(sum::addAndGet);
            assertThat(sum).hasValue(256);
        }
    }
}
