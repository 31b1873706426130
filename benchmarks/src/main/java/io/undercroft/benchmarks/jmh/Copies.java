package io.undercroft.benchmarks.jmh;

import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/// Copies a float32 tensor into one that is there already and contiguous.
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.SECONDS)
@State(Scope.Benchmark)
@SuppressWarnings("NullAway.Init") // JMH sets the parameters, and calls the set-up, before all else.
public class Copies {
    /// Bytes of the elements.
    @Param("268435456")
    public long nbytes;
    /// The layout of the elements that are copied.
    @Param
    public Geometry geometry;

    private Tensor source;
    private Tensor target;
    private MemorySegment plainSource;
    private MemorySegment plainTarget;

    /// Makes the tensors, and sees that what is measured is right.
    @Setup
    public void make() {
        source = geometry.make(DType.FLOAT32, nbytes / Float.BYTES);
        target = Tensor.zeros(DType.FLOAT32, source.shape().toArray());
        plainSource = source.storage().segment().asSlice(0, nbytes);
        plainTarget = target.storage().segment();
        ours();
        Counting.check(source, target);
    }

    /// The tensor, element by element.
    @Benchmark
    public void ours() {
        target.copyFrom(source);
    }

    /// The same number of contiguous bytes.
    @Benchmark
    public void plain() {
        plainTarget.copyFrom(plainSource);
    }
}
