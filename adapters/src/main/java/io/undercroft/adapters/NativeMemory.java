package io.undercroft.adapters;

import io.undercroft.storage.Allocation;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// Checks the memory of tensors before it is passed to native code, and makes storages on memory of other libraries.
final class NativeMemory {
    private NativeMemory() {}

    /// Returns the bytes of a tensor, which are contiguous, off the heap, writable and aligned to the elements.
    ///
    /// @throws IllegalArgumentException if they are not
    static MemorySegment bytes(Tensor tensor) {
        boolean isAsStored = !tensor.is(Flag.CONJ) && !tensor.is(Flag.NEG);
        if (!tensor.isContiguous() || !isAsStored) {
            throw new IllegalArgumentException("the elements of the tensor, of shape " + tensor.shape() + ", stride "
                    + Arrays.toString(tensor.stride()) + " and flags " + tensor.flags()
                    + ", are not one run in row-major order; call contiguous() first");
        }
        MemorySegment bytes = writable(tensor.bytes(), "tensor");
        int alignment = alignment(tensor.dtype());
        if (bytes.address() % alignment != 0) {
            throw new IllegalArgumentException("the tensor lies at address 0x" + Long.toHexString(bytes.address())
                    + ", which is no multiple of the " + alignment + " bytes of " + tensor.dtype()
                    + "; copy() it first");
        }
        return bytes;
    }

    /// Returns the bytes of a tensor for a library that takes memory as a buffer.
    ///
    /// @throws UnsupportedOperationException if there are more than a buffer can have
    static ByteBuffer buffer(Tensor tensor) {
        bytes(tensor);
        return tensor.asByteBuffer();
    }

    /// Returns the bytes of a tensor that is not empty, for a library that takes memory by its address.
    static MemorySegment someBytes(Tensor tensor) {
        MemorySegment bytes = bytes(tensor);
        checkNotEmpty(bytes);
        return bytes;
    }

    /// Returns the bytes of a storage that is not empty, for a library that takes memory by its address.
    static MemorySegment someBytes(Storage storage) {
        MemorySegment bytes = writable(storage.segment(), "storage");
        checkNotEmpty(bytes);
        return bytes;
    }

    private static void checkNotEmpty(MemorySegment bytes) {
        if (bytes.byteSize() == 0) {
            throw new IllegalArgumentException(
                    "there are no bytes, and empty memory has no address; create an empty array in the library");
        }
    }

    /// Returns bytes that native code can write: it does not know that memory is read-only, and crashes the JVM if it
    /// writes there.
    private static MemorySegment writable(MemorySegment bytes, String what) {
        if (!bytes.isNative()) {
            throw new IllegalArgumentException(
                    "the " + what + " lies on the heap, where native code cannot access it; copy() it first");
        }
        if (bytes.isReadOnly()) {
            throw new IllegalArgumentException("the " + what + " is read-only, which a library does not know; open it"
                    + " copy-on-write, or copy() it first");
        }
        return bytes;
    }

    private static int alignment(DType dtype) {
        return dtype.kind() == DType.Kind.COMPLEX ? dtype.itemsize() / 2 : dtype.itemsize();
    }

    /// Returns the type of a library that corresponds to the dtype of a tensor.
    ///
    /// @throws IllegalArgumentException if the library has none
    static <T> T typeOf(Tensor tensor, Map<DType, T> types, String library) {
        @Nullable
        T type = types.get(tensor.dtype());
        if (type == null) {
            throw new IllegalArgumentException(
                    library + " has no elements of " + tensor.dtype() + "; convert them with to(), to one of "
                            + types.keySet().stream().map(DType::name).sorted().toList());
        }
        return type;
    }

    /// Returns the dtype that corresponds to a type of a library.
    ///
    /// @throws IllegalArgumentException if there is none
    static <T> DType dtypeOf(T type, Map<DType, T> types, String library) {
        return types.entrySet().stream().filter(entry -> entry.getValue().equals(type)).map(Map.Entry::getKey)
                .findFirst().orElseThrow(() -> new IllegalArgumentException(
                        "elements of " + type + " of " + library
                                + " have no dtype here; convert them in the library first"));
    }

    /// Returns memory of a library as a segment.
    ///
    /// @param address the address of the first byte
    /// @param nbytes the size in bytes
    @SuppressWarnings("restricted")
    static MemorySegment memory(long address, long nbytes) {
        return MemorySegment.ofAddress(address).reinterpret(nbytes);
    }

    /// Creates a storage on memory of a library.
    ///
    /// @param bytes the memory
    /// @param owner the owner of the memory; reachable as long as the storage is
    /// @param release run once the storage is freed
    static Storage storage(MemorySegment bytes, Object owner, Runnable release) {
        return Storage.over(new Allocation(bytes, Allocation.Sharing.PRIVATE, null, () -> {
            try {
                release.run();
            } finally {
                Reference.reachabilityFence(owner);
            }
        }));
    }
}
