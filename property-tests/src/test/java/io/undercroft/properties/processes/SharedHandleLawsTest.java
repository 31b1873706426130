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
import io.undercroft.properties.Choices;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;
import org.junit.jupiter.api.condition.OS;

/// Handles are what they print, and what others print is never more than refused.
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
    Arbitrary<byte[]> choices() {
        return Arbitraries.bytes().withDistribution(RandomDistribution.uniform()).array(byte[].class).ofMaxSize(60);
    }

    @Property
    void aHandleIsWhatItPrints(@ForAll("storages") SharedStorageHandle handle) {
        assertThat(SharedStorageHandle.parse(handle.toString())).isEqualTo(handle);
    }

    @Property
    void aHandleOfATensorIsWhatItPrints(@ForAll("choices") byte[] bytes) {
        SharedTensorHandle handle = tensor(new Choices(bytes));
        assertThat(SharedTensorHandle.parse(handle.toString())).isEqualTo(handle);
    }

    /// Whatever is done to the text, it is a handle again, which prints itself, or refused with the type for it.
    @Property(tries = 5000)
    void whatIsNoHandleIsRefused(@ForAll("choices") byte[] bytes) {
        Choices choices = new Choices(bytes);
        String text = vandalized(tensor(choices).toString(), choices);
        try {
            SharedTensorHandle handle = SharedTensorHandle.parse(text);
            assertThat(SharedTensorHandle.parse(handle.toString())).isEqualTo(handle);
        } catch (IllegalArgumentException e) {
            assertThat(e.getMessage()).hasLineCount(1).hasSizeLessThan(600);
        }
    }

    /// A handle that says more than there is, or means memory that is gone, opens nothing and changes nothing.
    @Property(tries = 200)
    void whatIsNotThereIsRefused(@ForAll("choices") byte[] bytes) throws IOException {
        if (!OS.LINUX.isCurrentOs()) {
            return;
        }
        Choices choices = new Choices(bytes);
        int nbytes = 1 + choices.below(10_000);
        Storage storage = Storage.allocate(nbytes, SharedMemory.allocator());
        try {
            SharedStorageHandle handle = SharedStorageHandle.of(storage);
            long more = nbytes + 1L + choices.below(1 << 30);
            SharedStorageHandle tooLarge = copy(handle, handle.identity(), more);
            SharedStorageHandle another = copy(handle, handle.identity() + 1 + choices.below(1000), nbytes);
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

    private static SharedTensorHandle tensor(Choices choices) {
        DType dtype = choices.of(List.of(DType.FLOAT32, DType.INT8, DType.BFLOAT16, DType.BOOL, DType.COMPLEX64,
                DType.opaque("float3_e1m1", 24)));
        List<Long> shape = new ArrayList<>();
        List<Long> stride = new ArrayList<>();
        long end = 1;
        for (int d = choices.below(4); d > 0; d--) {
            shape.add(1L + choices.below(20));
            stride.add((long) choices.below(50));
            end += (shape.getLast() - 1) * stride.getLast();
        }
        long offset = choices.below(100);
        ByteRange bytes = ByteRange.bytes((offset + end) * dtype.bits() / Byte.SIZE + choices.below(1000));
        Set<Tensor.Flag> flags = dtype.equals(DType.COMPLEX64) && choices.yes() ? Set.of(Tensor.Flag.CONJ) : Set.of();
        SharedStorageHandle storage = new SharedStorageHandle(Home.SHARED_MEMORY, "name", choices.bits(),
                MapMode.SHARED, bytes, bytes);
        return new SharedTensorHandle(storage, dtype.name() + (DType.find(dtype.name()).isPresent() ? "" : ":24"),
                offset, shape, stride, flags);
    }

    /// Takes runs of characters out, doubles them, and puts pieces of handles and of nothing in.
    private static String vandalized(String text, Choices choices) {
        StringBuilder changed = new StringBuilder(text);
        for (int i = 1 + choices.below(4); i > 0; i--) {
            int start = choices.below(changed.length() + 1);
            int end = Math.min(changed.length(), start + choices.below(12));
            switch (choices.below(4)) {
                case 0 -> changed.delete(start, end);
                case 1 -> changed.insert(start, changed.substring(start, end));
                case 2 -> changed.replace(start, end, choices.of(PIECES));
                default -> changed.insert(start, (char) choices.below(1 << 16));
            }
        }
        return changed.toString();
    }
}
