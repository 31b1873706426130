package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import java.util.concurrent.ForkJoinPool;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/// Copies and conversions that are large enough to be shared among threads.
class LargeCopyTest {
    /// Some megabytes of elements, and no round number of tiles, blocks or shares.
    private static final long ROWS = 1031;
    private static final long COLUMNS = 1999;

    static Stream<Arguments> layouts() {
        return Stream.of(layout("contiguous", t -> t), layout("a slice of columns", t -> t.narrow(1, 7, 1500)),
                layout("transposed", t -> t.t()), layout("every second column", t -> t.slice(1, 1, COLUMNS, 2)),
                layout("every second row, transposed", t -> t.slice(0, 0, ROWS, 2).t()),
                layout("every twentieth column", t -> t.slice(1, 3, COLUMNS, 20)),
                layout("one row over and over", t -> t.select(0, 5).expand(ROWS, COLUMNS)));
    }

    private static Arguments layout(String name, UnaryOperator<Tensor> view) {
        return Arguments.of(Named.of(name, view));
    }

    @ParameterizedTest
    @MethodSource("layouts")
    void aLargeCopyIsThatOfItsRows(UnaryOperator<Tensor> view) {
        for (DType dtype : new DType[]{DType.INT8, DType.INT16, DType.FLOAT32, DType.COMPLEX64, DType.COMPLEX128}) {
            Tensor source = view.apply(random(dtype));
            Tensor copy = source.copy();
            for (long row = 0; row < source.size(0); row++) {
                assertThat(copy.select(0, row).contentEquals(source.select(0, row).copy())).isTrue();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("layouts")
    void whatIsCopiedToALayoutIsFoundThere(UnaryOperator<Tensor> view) {
        Tensor target = view.apply(random(DType.INT32));
        if (target.stride(0) == 0) {
            return;
        }
        Tensor source = Tensor.arange(DType.INT32, target.numel()).view(target.shape().toArray());
        target.copyFrom(source);
        assertThat(target.contentEquals(source)).isTrue();
    }

    @ParameterizedTest
    @MethodSource("layouts")
    void aLargeConversionIsThatOfItsRows(UnaryOperator<Tensor> view) {
        Tensor source = view.apply(random(DType.INT32));
        Tensor converted = source.to(DType.BFLOAT16);
        for (long row = 0; row < source.size(0); row++) {
            assertThat(converted.select(0, row).contentEquals(source.select(0, row).to(DType.BFLOAT16))).isTrue();
        }
    }

    @Test
    void elementsSmallerThanAByteAreSharedByWholeBytes() {
        Tensor bytes = Tensor.zeros(DType.UINT8, 5_000_001);
        fill(bytes.storage());
        Tensor nibbles = Tensor.zeros(DType.QUINT4X2, bytes.numel());
        nibbles.copyFrom(bytes);
        Tensor back = nibbles.to(DType.UINT8);
        for (long i = 0; i < bytes.numel(); i += 997) {
            assertThat(back.getLong(i)).isEqualTo(bytes.getLong(i) & 15);
        }
    }

    @Test
    void memoryOfOneThreadIsCopiedByThatThread() {
        Tensor source = random(DType.FLOAT32);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment bytes = arena.allocate(source.nbytes());
            Tensor target = Tensor.of(Storage.wrap(bytes), DType.FLOAT32, 0, source.shape(), source.stride());
            target.copyFrom(source);
            assertThat(target.contentEquals(source)).isTrue();
            assertThat(target.t().copy().t().contentEquals(source)).isTrue();
            assertThat(target.to(DType.FLOAT64).contentEquals(source.to(DType.FLOAT64))).isTrue();
        }
    }

    @Test
    void threadsOfTheCommonPoolShareTheirCopiesToo() {
        Tensor source = random(DType.FLOAT32);
        Tensor expected = source.t().copy();
        boolean same = ForkJoinPool.commonPool()
                .submit(() -> Stream.of(1, 2, 3, 4, 5, 6).parallel()
                        .allMatch(i -> source.t().copy().contentEquals(expected)))
                .join();
        assertThat(same).isTrue();
    }

    @Test
    void whereElementsOfTheTargetOverlapTheLastOneStays() {
        long numel = 3_000_000;
        Tensor target = Tensor.of(Storage.allocate(8 * (numel + 1)), DType.INT64, 0, Shape.of(2, numel), 1, 1);
        Tensor source = Tensor.arange(DType.INT64, 2 * numel).view(2, numel);
        target.copyFrom(source);
        assertThat(target.select(0, 1).contentEquals(source.select(0, 1))).isTrue();
    }

    private static Tensor random(DType dtype) {
        Tensor tensor = Tensor.zeros(dtype, ROWS, COLUMNS);
        fill(tensor.storage());
        return tensor;
    }

    private static void fill(Storage storage) {
        byte[] bytes = new byte[(int) storage.nbytes()];
        new Random(bytes.length).nextBytes(bytes);
        storage.segment().copyFrom(MemorySegment.ofArray(bytes));
    }
}
