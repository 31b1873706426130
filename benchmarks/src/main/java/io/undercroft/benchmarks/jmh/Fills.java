package io.undercroft.benchmarks.jmh;

import io.undercroft.storage.Storage;
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

/// Writes one value over all bytes of a storage.
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.SECONDS)
@State(Scope.Benchmark)
@SuppressWarnings("NullAway.Init") // JMH sets the parameter, and calls the set-up, before all else.
public class Fills {
    private static final byte VALUE = 0x5a;

    /// Bytes of the storage.
    @Param("268435456")
    public long nbytes;

    private Storage storage;
    private MemorySegment plain;

    /// Makes the storage.
    @Setup
    public void make() {
        storage = Storage.allocate(nbytes);
        plain = storage.segment();
    }

    /// The storage.
    @Benchmark
    public void ours() {
        storage.fill(VALUE);
    }

    /// Its segment.
    @Benchmark
    public void plain() {
        plain.fill(VALUE);
    }
}
