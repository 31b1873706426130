package io.undercroft.interop.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.serializer.spi.Output;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PretendDevice;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.junit.jupiter.api.Test;

/// Elements come out in row-major order, through little memory.
class TensorBytesTest {
    private static final long SLAB = 1 << 23;

    /// Keeps what is written, and how long the pieces were.
    private static final class Kept extends Output {
        private final MemorySegment all;
        private final List<Long> pieces = new ArrayList<>();

        Kept(long nbytes) {
            this(Storage.allocate(nbytes).segment());
        }

        private Kept(MemorySegment all) {
            super((position, bytes) -> all.asSlice(position, bytes.byteSize()).copyFrom(bytes), all.byteSize());
            this.all = all;
        }

        @Override
        public void write(MemorySegment bytes) throws IOException {
            if (bytes.byteSize() > all.byteSize() - position()) {
                throw new IOException("full");
            }
            pieces.add(bytes.byteSize());
            super.write(bytes);
            flush();
        }
    }

    private static Kept written(Tensor tensor) throws IOException {
        Kept kept = new Kept(tensor.nbytes());
        TensorBytes.write(tensor, kept);
        assertThat(kept.position()).isEqualTo(tensor.nbytes());
        return kept;
    }

    private static void comesOut(Tensor tensor) throws IOException {
        Kept kept = written(tensor);
        assertThat(kept.all.mismatch(tensor.copy().bytes())).as(tensor.shape().toString()).isEqualTo(-1);
        long most = tensor.dim() > 0 && tensor.stride(-1) > 1 && tensor.size(-1) > SLAB / 64 ? 8 * SLAB : SLAB;
        assertThat(kept.pieces).allMatch(piece -> piece <= most)
                .hasSizeLessThan((int) (2 + 3 * tensor.nbytes() / SLAB));
    }

    private static Tensor numbers(DType dtype, long... sizes) {
        long nbytes = Shape.of(sizes).numel() * dtype.itemsize();
        Storage storage = Storage.allocate((nbytes + 7) / 8 * 8);
        for (long i = 0; i < storage.nbytes() / 8; i++) {
            storage.segment().setAtIndex(ValueLayout.JAVA_LONG, i, i * 0x9E3779B97F4A7C15L);
        }
        return Tensor.of(storage, dtype, 0, Shape.of(sizes), Shape.of(sizes).contiguousStride());
    }

    @Test
    void whateverIsTurnedRound() throws IOException {
        comesOut(numbers(DType.FLOAT32, 2000, 1500).t());
        comesOut(numbers(DType.FLOAT64, 3, 400_000).t());
        comesOut(numbers(DType.FLOAT64, 1_100_000, 9).t());
        comesOut(numbers(DType.UINT8, 17_000_000).slice(0, 1, 17_000_000, 2));
        comesOut(numbers(DType.UINT8, 3, 5, 7, 100_000).permute(1, 0, 3, 2));
        comesOut(numbers(DType.UINT8, 100_000, 5, 7, 3).permute(3, 1, 2, 0));
        comesOut(numbers(DType.INT16, 2, 3, 1_500_000).narrow(2, 1, 1_450_000));
        comesOut(numbers(DType.INT32, 10, 10).narrow(1, 2, 3));
        comesOut(numbers(DType.COMPLEX64, 600_000, 2).conj());
    }

    @Test
    void whatHasFewElements() throws IOException {
        comesOut(Tensor.full(DType.COMPLEX64, new Complex(1, 2)).conj());
        assertThat(written(Tensor.zeros(DType.INT8, 0, 3).t()).pieces).isEmpty();
        assertThat(written(Tensor.zeros(DType.INT8, 3, 1L << 40, 0).permute(2, 1, 0)).pieces).isEmpty();
        Tensor halves = Tensor.of(Storage.copyOf((byte) 0x21, (byte) 0x43), DType.opaque("four", 4), 0,
                Shape.of(2, 2), 1, 2);
        assertThat(written(halves).all.mismatch(MemorySegment.ofArray(new byte[]{0x31, 0x42}))).isEqualTo(-1);
    }

    @Test
    void oneElementThatStandsForManyNeedsNoMemoryForThem() {
        Kept kept = new Kept(5 * SLAB);
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> TensorBytes.write(Tensor.of(7f).expand(1L << 40), kept)).withMessage("full");
        assertThat(kept.pieces).hasSize(5).containsOnly(SLAB);
        assertThat(kept.all.getAtIndex(ValueLayout.JAVA_FLOAT, SLAB)).isEqualTo(7);
    }

    @Test
    void elementsAreConvertedInPieces() throws IOException {
        Tensor columns = numbers(DType.INT32, 2000, 1500).t();
        Kept kept = new Kept(columns.numel() * 8);
        TensorBytes.write(columns, DType.FLOAT64, kept);
        assertThat(kept.position()).isEqualTo(columns.numel() * 8);
        assertThat(kept.all.mismatch(columns.to(DType.FLOAT64).bytes())).isEqualTo(-1);

        Kept repeated = new Kept(6 * SLAB);
        assertThatExceptionOfType(IOException.class).isThrownBy(
                () -> TensorBytes.write(Tensor.of(7f).expand(1L << 40), DType.FLOAT64, repeated)).withMessage("full");
        assertThat(repeated.pieces).hasSize(3).containsOnly(2 * SLAB);
        assertThat(repeated.all.getAtIndex(ValueLayout.JAVA_DOUBLE, SLAB / 2)).isEqualTo(7);
    }

    @Test
    void whatIsOnADeviceIsFetchedInPieces() throws IOException {
        PretendDevice.Memory device = PretendDevice.fresh();
        Queue<Long> fetched = device.fetches;
        Tensor near = numbers(DType.INT32, 3000, 2000);
        Tensor whole = near.to(device.device());
        fetched.clear();
        Tensor rows = whole.narrow(0, 10, 2500);
        assertThat(written(rows).all.mismatch(near.narrow(0, 10, 2500).bytes())).isEqualTo(-1);
        assertThat(fetched).hasSize(5).allMatch(piece -> piece <= SLAB);
        fetched.clear();
        assertThat(written(whole.t()).all.mismatch(near.t().copy().bytes())).isEqualTo(-1);
        assertThat(fetched).containsExactly(near.nbytes());
        fetched.clear();
        Tensor columns = whole.narrow(0, 100, 10).t();
        assertThat(written(columns).all.mismatch(near.narrow(0, 100, 10).t().copy().bytes())).isEqualTo(-1);
        assertThat(fetched).containsExactly(10L * 2000 * 4);
    }
}
