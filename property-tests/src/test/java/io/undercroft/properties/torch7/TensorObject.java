package io.undercroft.properties.torch7;

import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.util.List;

/// What Lua holds of a tensor: one of ours, which Torch7's `resize` replaces, and the object of its storage. It is no
/// reference to the storage, as our tensors are none.
final class TensorObject implements LuaObject {
    private final String type;
    private final StorageObject storage;
    private Tensor tensor;

    /// The object of a tensor of one dimension.
    ///
    /// @param offset the first element, from 0
    TensorObject(String type, StorageObject storage, long offset, long size) {
        this.type = type;
        this.storage = storage;
        this.tensor = on(storage, offset, size);
    }

    Tensor tensor() {
        return tensor;
    }

    StorageObject storage() {
        return storage;
    }

    @Override
    public String type() {
        return type;
    }

    @Override
    public Object get(Object key) {
        return switch (LuaValues.print(key)) {
            case "size" -> LuaFunction.of(arguments -> (double) tensor.size((int) arguments.integer(2) - 1));
            case "resize" -> LuaFunction.of(arguments -> resize(arguments.integer(2)));
            case "storage" -> LuaFunction
                    .of(_ -> storage.storageClass().hold(storage.typed().retain()));
            default -> null;
        };
    }

    @Override
    public List<Object> references() {
        return List.of(storage);
    }

    /// Torch7's tensors grow their storage where it is too small; it never shrinks.
    private TensorObject resize(long size) {
        long end = tensor.storageOffset() + size;
        if (end > storage.typed().size()) {
            storage.typed().resize(end);
        }
        tensor = on(storage, tensor.storageOffset(), size);
        return this;
    }

    private static Tensor on(StorageObject storage, long offset, long size) {
        return Tensor.of(storage.typed().untyped(), storage.typed().dtype(), offset, Shape.of(size), 1);
    }
}
