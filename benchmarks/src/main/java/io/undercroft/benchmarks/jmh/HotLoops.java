package io.undercroft.benchmarks.jmh;

import io.undercroft.format.Digest128;
import io.undercroft.format.internal.DTypeRecord;
import io.undercroft.format.internal.ExtentDigester;
import io.undercroft.format.internal.ExtentSums;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.IndexBuilder;
import io.undercroft.format.internal.TensorRecord;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
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
import org.openjdk.jmh.annotations.TearDown;

/// The work that a save or an open does for each tensor, chunk or file.
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.SECONDS)
@State(Scope.Benchmark)
@SuppressWarnings("NullAway.Init") // JMH sets the parameters, and calls the set-up, before all else.
public class HotLoops {
    /// The number of tensors of the small files, and of rows of an index.
    public static final int TENSORS = 10_000;
    /// The number of chunks of the large state.
    public static final int CHUNKS = 64;
    private static final int CHUNK = 1 << 20;
    private static final ExtentSums SUMS = new ExtentSums(1, new Digest128(1, 2));

    /// Where the files are put; removed with the directory.
    @Param("")
    public String directory;

    private final ExtentDigester digester = new ExtentDigester();
    private final MemorySegment chunk = Arena.ofAuto().allocate(CHUNK);
    private final MemorySegment copy = Arena.ofAuto().allocate(CHUNK);
    private final String[] names = new String[TENSORS];
    private Map<String, Tensor> small;
    private Map<String, Tensor> large;
    private Path croft;
    private Path safetensors;
    private Path saved;

    /// Makes the states and files.
    ///
    /// @throws IOException if the files cannot be written
    @Setup
    public void make() throws IOException {
        small = new LinkedHashMap<>();
        for (int number = 0; number < TENSORS; number++) {
            names[number] = "layer." + number + ".weight";
            small.put(names[number], Tensor.full(DType.FLOAT32, number, 2, 4));
        }
        large = new LinkedHashMap<>();
        for (int number = 0; number < CHUNKS; number++) {
            large.put(names[number], Tensor.full(DType.FLOAT32, number, CHUNK / Float.BYTES));
        }
        croft = Path.of(directory, "loops.croft");
        safetensors = Path.of(directory, "loops.safetensors");
        saved = Path.of(directory, "saved.croft");
        Checkpoint.save(croft, small);
        Checkpoint.save(safetensors, small);
    }

    /// Removes the files.
    ///
    /// @throws IOException if that fails
    @TearDown
    public void remove() throws IOException {
        for (Path file : new Path[]{croft, safetensors, saved}) {
            Files.deleteIfExists(file);
        }
    }

    /// Opens a `.croft` file and closes it.
    ///
    /// @return an element of one of its tensors
    /// @throws IOException if it cannot be read
    @Benchmark
    public double open() throws IOException {
        return element(croft);
    }

    /// Opens a `.safetensors` file, which reads its whole header, and closes it.
    ///
    /// @return an element of one of its tensors
    /// @throws IOException if it cannot be read
    @Benchmark
    public double header() throws IOException {
        return element(safetensors);
    }

    private double element(Path file) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            return checkpoint.tensor(names[TENSORS / 2]).getDouble(1, 3);
        }
    }

    /// Copies a chunk and computes both checksums.
    ///
    /// @return the sums
    @Benchmark
    public ExtentSums hash() {
        digester.copy(chunk, copy);
        return digester.finish();
    }

    /// Saves large tensors; an operation is one chunk.
    ///
    /// @throws IOException if writing fails
    @Benchmark
    @OperationsPerInvocation(CHUNKS)
    public void saveChunks() throws IOException {
        Checkpoint.save(saved, large);
    }

    /// Saves small tensors; an operation is one tensor.
    ///
    /// @throws IOException if writing fails
    @Benchmark
    @OperationsPerInvocation(TENSORS)
    public void saveTensors() throws IOException {
        Checkpoint.save(saved, small);
    }

    /// Encodes an index; an operation is one extent, storage, tensor and name.
    ///
    /// @return the index
    @Benchmark
    @OperationsPerInvocation(TENSORS)
    public MemorySegment encodeRows() {
        IndexBuilder index = new IndexBuilder(20);
        index.addDType(new DTypeRecord("float32", Float.SIZE));
        long[] shape = {2, 4};
        long[] stride = {4, 1};
        for (int number = 0; number < TENSORS; number++) {
            index.addRawExtent(FileLayout.DATA_START + 64L * number, 32, SUMS);
            int storage = index.addStorage("cpu");
            index.addName(names[number], index.addTensor(new TensorRecord(0, storage, 0, Set.of(), shape, stride)));
        }
        return index.build(1);
    }

    /// Reads the index of a file; an operation is one tensor of it.
    ///
    /// @return the number of bytes of all tensors
    /// @throws IOException if it cannot be read
    @Benchmark
    @OperationsPerInvocation(TENSORS)
    public long list() throws IOException {
        long nbytes = 0;
        try (Checkpoint checkpoint = Checkpoint.open(croft)) {
            for (Tensor tensor : checkpoint.tensors().values()) {
                nbytes += tensor.nbytes();
            }
        }
        return nbytes;
    }
}
