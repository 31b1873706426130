package io.undercroft.serializer.internal.planning;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.serializer.internal.graph.ObjectEncoder;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.BorrowedBytes;
import io.undercroft.storage.DType;
import io.undercroft.storage.DType.Kind;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/// Copies a tree whose floating-point numbers and blocks are to be saved as another dtype. Storages are converted as a
/// whole, each when its bytes are written, so that tensors that share a storage share the converted one.
final class Converted {
    private final DType dtype;
    /// The dtype of each storage that is converted.
    private final Map<Storage, DType> from = new HashMap<>();
    private final Map<Storage, Storage> storages = new HashMap<>();
    private final IdentityHashMap<Tensor, Tensor> tensors = new IdentityHashMap<>();

    private Converted(DType dtype) {
        this.dtype = dtype;
    }

    /// Converts a tree.
    ///
    /// @param tree a tree of tensors and storages that can be read
    /// @param names its names
    /// @param dtype a floating-point type
    /// @return a copy of the tree
    /// @throws IllegalArgumentException if a storage cannot be converted; the message has the path of a tensor on it
    static @Nullable Object of(@Nullable Object tree, StateIndex names, DType dtype) {
        Converted converted = new Converted(dtype);
        names.tensors().forEach((name, tensor) -> {
            if (tensor.dtype().kind() == Kind.QUANTIZED) {
                throw refused(name, "is quantized by a scale of the tensor; save its dequantize()");
            }
            if (converted.converts(tensor.dtype())) {
                converted.from.putIfAbsent(tensor.storage(), tensor.dtype());
            }
        });
        names.tensors().forEach((name, tensor) -> {
            DType ofStorage = converted.from.get(tensor.storage());
            if (ofStorage != null && !ofStorage.equals(tensor.dtype())) {
                throw refused(name, "shares its storage with a tensor of " + ofStorage
                        + ", and a storage is converted as a whole; copy() it");
            }
            int block = tensor.dtype().blockSize();
            if (ofStorage != null && block > 1 && tensor.numel() > 0 && tensor.dim() > 0 && tensor.size(-1) > 1
                    && tensor.stride(-1) != 1) {
                throw refused(name, "has rows of blocks that are not adjacent; copy() it");
            }
        });
        return ObjectEncoder.copyOf(tree, converted::leaf);
    }

    private static IllegalArgumentException refused(String name, String why) {
        return new IllegalArgumentException("the tensor " + FormatException.quote(name) + " " + why);
    }

    private boolean converts(DType other) {
        return !other.equals(dtype) && (other.kind() == Kind.FLOATING || other.blockSize() > 1);
    }

    private Object leaf(Object leaf) {
        return switch (leaf) {
            case Tensor tensor when from.containsKey(tensor.storage()) -> tensors.computeIfAbsent(tensor,
                    this::converted);
            case TypedStorage typed when from.containsKey(typed.untyped()) || converts(typed.dtype()) -> {
                DType other = from.computeIfAbsent(typed.untyped(), _ -> typed.dtype());
                if (!other.equals(typed.dtype())) {
                    throw new IllegalArgumentException(
                            "a storage of " + typed.dtype() + " is that of a tensor of " + other);
                }
                yield new TypedStorage(converted(typed.untyped()), dtype);
            }
            case Storage storage when from.containsKey(storage) -> throw new IllegalArgumentException(
                    "the storage of a tensor of " + from.get(storage)
                            + " is in the state as bytes, which have no dtype");
            default -> leaf;
        };
    }

    private Tensor converted(Tensor tensor) {
        int block = tensor.dtype().blockSize();
        long[] stride = tensor.stride();
        for (int dim = 0; dim < stride.length - 1; dim++) {
            stride[dim] *= block;
        }
        // Blocks in the last dimension are adjacent, and so are the numbers of each.
        return Tensor.of(converted(tensor.storage()), dtype, tensor.storageOffset() * block, tensor.shapeAs(dtype),
                block > 1 && stride.length == 0 ? new long[]{1} : stride).withFlags(tensor.flags());
    }

    private Storage converted(Storage storage) {
        return storages.computeIfAbsent(storage, _ -> {
            DType other = Objects.requireNonNull(from.get(storage));
            long elements = storage.nbytes() / other.itemsize();
            long nbytes = dtype.nbytes(Math.multiplyExact(elements, (long) other.blockSize()));
            Supplier<Allocation> bytes = () -> convert(storage, other, elements, nbytes);
            return storage.isMeta()
                    ? Storage.meta(nbytes)
                    : storage.location().map(location -> Storage.decoded(nbytes, bytes, location))
                            .orElseGet(() -> Storage.decoded(nbytes, bytes));
        });
    }

    private Allocation convert(Storage storage, DType other, long elements, long nbytes) {
        Allocation allocation = AnonymousMemory.allocator().allocate(nbytes);
        try (BorrowedBytes bytes = storage.borrow()) {
            Tensor source = Tensor.of(bytes.storage(), other, 0, Shape.of(elements));
            Tensor _ = Tensor.of(Storage.wrap(allocation.segment()), dtype, 0, source.shapeAs(dtype)).copyFrom(source);
            return allocation;
        } catch (RuntimeException | Error e) {
            allocation.free();
            throw e;
        }
    }
}
