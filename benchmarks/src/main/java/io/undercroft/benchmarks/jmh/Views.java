package io.undercroft.benchmarks.jmh;

import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/// Makes a view of a tensor of three dimensions and keeps it.
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.SECONDS)
@State(Scope.Benchmark)
public class Views {
    private final Tensor base = Tensor.zeros(DType.FLOAT32, 8, 16, 32);
    /// Kept, because an array that the caller makes for each call is no part of the view.
    private final long[] sizes = {128, 32};
    private long index;

    /// {@return a matrix of the stack}
    @Benchmark
    public Tensor select() {
        return base.select(0, index++ & 7);
    }

    /// {@return some rows of each matrix}
    @Benchmark
    public Tensor narrow() {
        return base.narrow(1, index++ & 7, 8);
    }

    /// {@return every matrix with rows and columns swapped}
    @Benchmark
    public Tensor transpose() {
        return base.transpose(1, 2);
    }

    /// {@return all rows in one matrix}
    @Benchmark
    public Tensor view() {
        return base.view(sizes);
    }
}
