package io.undercroft.properties.processes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.mmap.ByteRange;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedMemoryException;
import io.undercroft.mmap.SharedStorageHandle;
import io.undercroft.mmap.SharedStorageHandle.Home;
import io.undercroft.mmap.SharedTensorHandle;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.condition.OS;

/// A handle of shared memory is what it prints, and any other text is refused.
class SharedHandleLawsTest {
    private static final List<String> PIECES = List.of("undercroft:", "shm/", "fd/", "file/", "?", "&", "=", ",", "%",
            "%00", "%zz", "..", "/", "nbytes=", "id=", "at=", "slice=", "access=read", "dtype=", "shape=", "stride=",
            "offset=", "flags=conj", "-1", "0", "18446744073709551616", "9223372036854775807", "\0", "\n", "é", "😀");

    @Provide
    Arbitrary<SharedStorageHandle> storages() {
        Arbitrary<String> names = Arbitraries.strings().ofMinLength(1).ofMaxLength(20)
                .filter(name -> name.chars().noneMatch(c -> c == '/' || Character.isISOControl(c)
                        || Character.isSurrogate((char) c)));
        Arbitrary<ByteRange> slices = Combinators.combine(Arbitraries.longs().between(0, 1000),
                Arbitraries.longs().between(0, 1000)).as(ByteRange::new);
        return Combinators.combine(names, Arbitraries.longs(), Arbitraries.of(MapMode.SHARED, MapMode.READ_ONLY),
                slices, Arbitraries.longs().between(0, 1L << 40))
                .as((name, id, mode, slice, more) -> new SharedStorageHandle(Home.SHARED_MEMORY, name, id, mode,
                        ByteRange.bytes(slice.offset() + slice.nbytes() + more), slice));
    }

    @Provide
    Arbitrary<SharedTensorHandle> tensors() {
        Arbitrary<DType> dtypes = Arbitraries.of(DType.FLOAT32, DType.INT8, DType.BFLOAT16, DType.BOOL, DType.COMPLEX64,
                DType.opaque("float3_e1m1", 24));
        return Combinators.combine(dtypes, Arbitraries.longs().between(1, 20).list().ofMaxSize(3),
                Arbitraries.longs().between(0, 49).list().ofSize(3), Arbitraries.longs().between(0, 99),
                Arbitraries.longs().between(0, 999), Arbitraries.of(false, true), Arbitraries.longs())
                .as(SharedHandleLawsTest::tensor).withoutEdgeCases();
    }

    /// What is done to a text.
    ///
    /// @param way how
    /// @param start where; the remainder counts
    /// @param length for how many characters
    /// @param piece what is put there
    private record Strike(Way way, int start, int length, String piece) {
        enum Way {
            DELETE, DOUBLE, REPLACE, INSERT
        }

        void on(StringBuilder text) {
            int from = start % (text.length() + 1);
            int to = Math.min(text.length(), from + length);
            switch (way) {
                case DELETE -> text.delete(from, to);
                case DOUBLE -> text.insert(from, text.substring(from, to));
                case REPLACE -> text.replace(from, to, piece);
                case INSERT -> text.insert(from, piece);
            }
        }
    }

    /// Runs of characters are taken out or doubled, and pieces of handles and of nothing put in.
    @Provide
    Arbitrary<List<Strike>> strikes() {
        Arbitrary<String> pieces = Arbitraries.oneOf(Arbitraries.of(PIECES),
                Arbitraries.chars().all().map(String::valueOf));
        return Combinators.combine(Arbitraries.of(Strike.Way.values()), Arbitraries.integers().between(0, 999),
                Arbitraries.integers().between(0, 11), pieces).as(Strike::new).list().ofMinSize(1).ofMaxSize(4)
                .withoutEdgeCases();
    }

    @Property
    void aHandleIsWhatItPrints(@ForAll("storages") SharedStorageHandle handle) {
        assertThat(SharedStorageHandle.parse(handle.toString())).isEqualTo(handle);
    }

    @Property
    void aHandleOfATensorIsWhatItPrints(@ForAll("tensors") SharedTensorHandle handle) {
        assertThat(SharedTensorHandle.parse(handle.toString())).isEqualTo(handle);
    }

    /// Whatever is done to the text, it is a handle again, which prints itself, or refused with the type for it.
    @Property(tries = 5000)
    void whatIsNoHandleIsRefused(@ForAll("tensors") SharedTensorHandle sound,
            @ForAll("strikes") List<Strike> strikes) {
        StringBuilder text = new StringBuilder(sound.toString());
        strikes.forEach(strike -> strike.on(text));
        try {
            SharedTensorHandle handle = SharedTensorHandle.parse(text.toString());
            assertThat(SharedTensorHandle.parse(handle.toString())).isEqualTo(handle);
        } catch (IllegalArgumentException e) {
            assertThat(e.getMessage()).hasLineCount(1).hasSizeLessThan(600);
        }
    }

    /// A handle that says more than there is, or means memory that is gone, opens nothing and changes nothing.
    @Property(tries = 200)
    void whatIsNotThereIsRefused(@ForAll @IntRange(min = 1, max = 10_000) int nbytes,
            @ForAll @IntRange(min = 1, max = 1 << 30) int larger, @ForAll @IntRange(min = 1, max = 1000) int other)
            throws IOException {
        if (!OS.LINUX.isCurrentOs()) {
            return;
        }
        Storage storage = Storage.allocate(nbytes, SharedMemory.allocator());
        try {
            SharedStorageHandle handle = SharedStorageHandle.of(storage);
            SharedStorageHandle tooLarge = copy(handle, handle.identity(), (long) nbytes + larger);
            SharedStorageHandle another = copy(handle, handle.identity() + other, nbytes);
            assertThatThrownBy(tooLarge::open).isInstanceOf(SharedMemoryException.class);
            assertThatThrownBy(another::open).isInstanceOf(SharedMemoryException.class);
            try (SharedMemory memory = SharedMemory.attach(handle.name())) {
                assertThat(memory.nbytes()).isEqualTo(nbytes);
            }
        } finally {
            storage.release();
        }
    }

    private static SharedStorageHandle copy(SharedStorageHandle handle, long identity, long nbytes) {
        return new SharedStorageHandle(handle.home(), handle.name(), identity, handle.mode(), ByteRange.bytes(nbytes),
                ByteRange.bytes(nbytes));
    }

    private static SharedTensorHandle tensor(DType dtype, List<Long> shape, List<Long> strides, long offset, long more,
            boolean isConjugated, long identity) {
        List<Long> stride = strides.subList(0, shape.size());
        long end = 1;
        for (int d = 0; d < shape.size(); d++) {
            end += (shape.get(d) - 1) * stride.get(d);
        }
        ByteRange bytes = ByteRange.bytes((offset + end) * dtype.bits() / Byte.SIZE + more);
        Set<Tensor.Flag> flags = dtype.equals(DType.COMPLEX64) && isConjugated ? Set.of(Tensor.Flag.CONJ) : Set.of();
        SharedStorageHandle storage = new SharedStorageHandle(Home.SHARED_MEMORY, "name", identity, MapMode.SHARED,
                bytes, bytes);
        return new SharedTensorHandle(storage, dtype.name() + (DType.find(dtype.name()).isPresent() ? "" : ":24"),
                offset, shape, stride, flags);
    }
}
