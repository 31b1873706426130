package io.undercroft.benchmarks.jmh;

import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TensorAccessor;
import io.undercroft.storage.TypedStorage;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/// Adds up or writes the float32 elements of a tensor or typed storage that fits the cache, one by one.
///
/// A program may read tensors of many dtypes through the same methods, and what the JVM has seen of them decides how it
/// compiles them. So before anything is measured, these methods are called with tensors of [#dtypes] dtypes.
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.SECONDS)
@OperationsPerInvocation(ElementLoops.ROWS * ElementLoops.COLUMNS)
@State(Scope.Benchmark)
public class ElementLoops {
    static final int ROWS = 64;
    static final int COLUMNS = 128;

    private static final int NUMEL = ROWS * COLUMNS;
    private static final List<DType> DTYPES = List.of(DType.FLOAT32, DType.FLOAT64, DType.BFLOAT16, DType.INT32,
            DType.UINT8, DType.FLOAT16);
    private static final int ENCOUNTERS = 200;

    /// The number of dtypes that the program uses.
    @Param({"1", "6"})
    public int dtypes;

    private final Tensor vector = counted(DType.FLOAT32);
    private final Tensor matrix = vector.view(ROWS, COLUMNS);
    private final TypedStorage typed = typed(vector);
    private final MemorySegment plain = vector.bytes();

    private static Tensor counted(DType dtype) {
        Tensor tensor = Tensor.zeros(dtype, NUMEL);
        StorageLoops.fill(tensor);
        return tensor;
    }

    private static TypedStorage typed(Tensor tensor) {
        return new TypedStorage(tensor.storage(), tensor.dtype());
    }

    /// Lets every method that is measured see all those dtypes, many times.
    ///
    /// @throws IllegalStateException if a sum is not that of the plain elements
    @Setup
    public void meetManyDtypes() {
        float wanted = plainSum();
        for (int encounter = 0; encounter < ENCOUNTERS; encounter++) {
            for (DType dtype : DTYPES.subList(0, dtypes)) {
                Tensor tensor = counted(dtype);
                Tensor rows = tensor.view(ROWS, COLUMNS);
                write(tensor);
                writeAccessor(tensor);
                StorageLoops.fill(tensor);
                if (sum(tensor) != wanted || sumOfMatrix(rows) != wanted || sumOfStorage(typed(tensor)) != wanted
                        || sumOfAccessor(tensor) != wanted || sumOfMatrixAccessor(rows) != wanted) {
                    throw new IllegalStateException("elements of " + dtype + " come to something else");
                }
            }
        }
    }

    /// One index an element.
    @Benchmark
    public float vector() {
        return sum(vector);
    }

    /// Two indices an element.
    @Benchmark
    public float matrix() {
        return sumOfMatrix(matrix);
    }

    /// One index an element of a typed storage.
    @Benchmark
    public float storage() {
        return sumOfStorage(typed);
    }

    /// Writes.
    @Benchmark
    public void write() {
        write(vector);
    }

    /// One index an element, through an accessor.
    @Benchmark
    public float accessor() {
        return sumOfAccessor(vector);
    }

    /// Two indices an element, through an accessor.
    @Benchmark
    public float accessorMatrix() {
        return sumOfMatrixAccessor(matrix);
    }

    /// Writes through an accessor.
    @Benchmark
    public void accessorWrite() {
        writeAccessor(vector);
    }

    /// The segment, by element number.
    @Benchmark
    public float plainVector() {
        return plainSum();
    }

    /// The segment, by row and column.
    @Benchmark
    public float plainMatrix() {
        float sum = 0;
        for (long row = 0; row < ROWS; row++) {
            for (long column = 0; column < COLUMNS; column++) {
                sum += plain.getAtIndex(ValueLayout.JAVA_FLOAT, row * COLUMNS + column);
            }
        }
        return sum;
    }

    /// Writes to the segment, of doubles as the tensor's method takes them.
    @Benchmark
    public void plainWrite() {
        for (long i = 0; i < NUMEL; i++) {
            plain.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) (double) i);
        }
    }

    private float plainSum() {
        float sum = 0;
        for (long i = 0; i < NUMEL; i++) {
            sum += plain.getAtIndex(ValueLayout.JAVA_FLOAT, i);
        }
        return sum;
    }

    private static float sum(Tensor tensor) {
        float sum = 0;
        for (long i = 0; i < NUMEL; i++) {
            sum += tensor.getFloat(i);
        }
        return sum;
    }

    private static float sumOfMatrix(Tensor tensor) {
        float sum = 0;
        for (long row = 0; row < ROWS; row++) {
            for (long column = 0; column < COLUMNS; column++) {
                sum += tensor.getFloat(row, column);
            }
        }
        return sum;
    }

    private static float sumOfStorage(TypedStorage storage) {
        float sum = 0;
        for (long i = 0; i < NUMEL; i++) {
            sum += (float) storage.getDouble(i);
        }
        return sum;
    }

    private static void write(Tensor tensor) {
        for (long i = 0; i < NUMEL; i++) {
            tensor.setDouble(i, (double) i);
        }
    }

    private static float sumOfAccessor(Tensor tensor) {
        TensorAccessor accessor = tensor.accessor();
        float sum = 0;
        for (long i = 0; i < NUMEL; i++) {
            sum += accessor.getFloat(i);
        }
        return sum;
    }

    private static float sumOfMatrixAccessor(Tensor tensor) {
        TensorAccessor accessor = tensor.accessor();
        float sum = 0;
        for (long row = 0; row < ROWS; row++) {
            for (long column = 0; column < COLUMNS; column++) {
                sum += accessor.getFloat(row, column);
            }
        }
        return sum;
    }

    private static void writeAccessor(Tensor tensor) {
        TensorAccessor accessor = tensor.accessor();
        for (long i = 0; i < NUMEL; i++) {
            accessor.setDouble(i, (double) i);
        }
    }
}
