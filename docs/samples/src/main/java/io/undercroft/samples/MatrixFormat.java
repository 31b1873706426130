package io.undercroft.samples;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.serializer.spi.Output;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;

/// A format of one matrix: `MATRIX1` and a line feed, the number of rows and of columns, and the elements row by row,
/// all little-endian. The elements are mapped, not read.
public final class MatrixFormat implements CheckpointFormat {
    private static final byte[] SIGNATURE = "MATRIX1\n".getBytes(StandardCharsets.US_ASCII);
    private static final ValueLayout.OfLong NUMBER = ValueLayout.JAVA_LONG_UNALIGNED
            .withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int HEADER_BYTES = 24;

    @Override
    public String name() {
        return "matrix";
    }

    @Override
    public Set<Capability> capabilities() {
        return Set.of(Capability.SAVE);
    }

    @Override
    public List<String> suffixes() {
        return List.of(".matrix");
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        return file.startsWith(SIGNATURE);
    }

    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        if (file.size() < HEADER_BYTES) {
            throw new FormatException("MATRIX-HEADER", "the file ends within its header", file.size(),
                    "Check that it was copied completely");
        }
        MemorySegment header = MemorySegment.ofArray(new byte[HEADER_BYTES]);
        file.read(0, header);
        long rows = header.get(NUMBER, 8);
        long columns = header.get(NUMBER, 16);
        long nbytes = file.size() - HEADER_BYTES;
        // Both numbers come from the file, so their product may overflow.
        if (rows < 0 || columns < 0 || nbytes % Float.BYTES != 0 || Math.multiplyHigh(rows, columns) != 0
                || rows * columns != nbytes / Float.BYTES) {
            throw new FormatException("MATRIX-SIZE", rows + " rows of " + columns + " numbers are not "
                    + nbytes + " bytes", 8, "Save the file again");
        }
        FileStorages storages = new FileStorages(file, options);
        Tensor matrix = Tensor.of(storages.stored(HEADER_BYTES, nbytes, Float.BYTES), DType.FLOAT32, 0,
                Shape.of(rows, columns));
        // The format has no checksums, which a verification of the file reports.
        return TreeContents.of(Map.of("matrix", matrix), Map.of(), _ -> List.of()).withUnverified(1, nbytes)
                .only(options);
    }

    @Override
    public Draft draft(Object state, SaveOptions options) {
        if (!(state instanceof Map<?, ?> map && map.size() == 1 && map.get("matrix") instanceof Tensor matrix
                && matrix.dtype().equals(DType.FLOAT32) && matrix.shape().rank() == 2)) {
            throw new IllegalArgumentException("state is not one float32 matrix named 'matrix'");
        }
        return new Draft() {
            @Override
            public long nbytes() {
                return HEADER_BYTES + matrix.nbytes();
            }

            @Override
            public void writeTo(Output output) throws IOException {
                MemorySegment header = MemorySegment.ofArray(new byte[HEADER_BYTES]);
                header.copyFrom(MemorySegment.ofArray(SIGNATURE));
                header.set(NUMBER, 8, matrix.shape().size(0));
                header.set(NUMBER, 16, matrix.shape().size(1));
                output.write(header);
                Tensor elements = matrix.contiguous();
                output.write(elements.storage(), elements.storageOffset() * Float.BYTES, elements.nbytes());
            }
        };
    }
}
