package io.undercroft.serializer;

import io.undercroft.storage.Allocation;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/// Storages that are decoded on demand, and how many bytes of them were in memory at once.
final class CountedDecoding {
    private final AtomicLong live = new AtomicLong();
    private final AtomicLong most = new AtomicLong();
    private final AtomicLong decoded = new AtomicLong();

    /// {@return tensors by name, each on a storage of its own}
    Map<String, Tensor> state(int count, int nbytes) {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) {
            byte value = (byte) (i + 1);
            Storage storage = Storage.decoded(nbytes, () -> decode(value, nbytes), "a test");
            state.put("t" + i, Tensor.of(storage, DType.UINT8, 0, Shape.of(nbytes), 1));
        }
        return state;
    }

    private Allocation decode(byte value, int nbytes) {
        decoded.addAndGet(nbytes);
        long now = live.addAndGet(nbytes);
        most.accumulateAndGet(now, Math::max);
        MemorySegment bytes = MemorySegment.ofArray(new byte[nbytes]).fill(value);
        return new Allocation(bytes, Allocation.Sharing.PRIVATE, null, () -> live.addAndGet(-nbytes));
    }

    /// {@return the bytes that are in memory}
    long live() {
        return live.get();
    }

    /// {@return the most bytes that were in memory at once}
    long most() {
        return most.get();
    }

    /// {@return all bytes that were decoded}
    long decoded() {
        return decoded.get();
    }
}
