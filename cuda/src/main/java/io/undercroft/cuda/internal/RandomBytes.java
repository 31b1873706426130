package io.undercroft.cuda.internal;

import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.SplittableRandom;

/// Random bytes of the host, the same in each run, for checks and measurements of devices.
public final class RandomBytes {
    private static final int CHUNK = 1 << 20;

    private final SplittableRandom random = new SplittableRandom(42);
    private final byte[] chunk = new byte[CHUNK];

    /// Starts with the first byte.
    public RandomBytes() {}

    /// {@return a storage of random bytes}
    ///
    /// @param nbytes its size in bytes
    public Storage storage(long nbytes) {
        return storage(nbytes, Allocator.offHeap());
    }

    /// {@return a storage of random bytes}
    ///
    /// @param nbytes its size in bytes
    /// @param allocator of memory of the host
    public Storage storage(long nbytes, Allocator allocator) {
        Storage storage = Storage.allocate(nbytes, allocator);
        fill(storage.segment());
        return storage;
    }

    /// Overwrites bytes with random ones.
    ///
    /// @param bytes memory of the host
    public void fill(MemorySegment bytes) {
        for (long done = 0; done < bytes.byteSize(); done += CHUNK) {
            random.nextBytes(chunk);
            int length = (int) Math.min(CHUNK, bytes.byteSize() - done);
            MemorySegment.copy(MemorySegment.ofArray(chunk), 0, bytes, done, length);
        }
    }

    /// {@return a tensor on random bytes}
    ///
    /// @param dtype its dtype; elements of `bool` are 0 or 1
    /// @param sizes its shape
    public Tensor tensor(DType dtype, long... sizes) {
        Tensor tensor = Tensor.zeros(dtype, sizes);
        Storage storage = tensor.storage();
        storage.copyFrom(storage(storage.nbytes()));
        if (dtype.kind() == DType.Kind.BOOLEAN) {
            for (long i = 0; i < storage.nbytes(); i++) {
                storage.set(i, (byte) (storage.get(i) & 1));
            }
        }
        return tensor;
    }
}
