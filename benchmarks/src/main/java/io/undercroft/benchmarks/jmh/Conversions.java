package io.undercroft.benchmarks.jmh;

import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/// Copies a contiguous tensor into one of another dtype that is there already.
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.SECONDS)
@State(Scope.Benchmark)
@SuppressWarnings("NullAway.Init") // JMH sets the parameters, and calls the set-up, before all else.
public class Conversions {
    /// Bytes of the elements that are converted.
    @Param("268435456")
    public long nbytes;
    /// The name of their dtype.
    @Param("float32")
    public String from;
    /// The name of the dtype that they are converted to.
    @Param("bfloat16")
    public String to;

    private Tensor source;
    private Tensor target;

    /// Makes the tensors, and sees that what is measured is right.
    @Setup
    public void make() {
        DType dtype = DType.of(from);
        source = Geometry.CONTIGUOUS.make(dtype, nbytes / dtype.itemsize());
        target = Tensor.zeros(DType.of(to), source.numel());
        ours();
        Counting.check(source, target);
    }

    /// The tensor.
    @Benchmark
    public void ours() {
        target.copyFrom(source);
    }
}
