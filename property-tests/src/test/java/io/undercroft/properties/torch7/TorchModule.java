package io.undercroft.properties.torch7;

import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// The table `torch`, as far as the observed cases use it.
final class TorchModule {
    private static final List<String> TYPES = List.of("Byte", "Char", "Short", "Int", "Long", "Float", "Half",
            "Double");
    /// The version that Torch7 writes into files with each of its classes.
    private static final double CLASS_VERSION = 1;

    private final Map<DType, StorageClass> classes = new HashMap<>();
    private DType defaultType = DType.of("Double");

    /// The module, whose storages are kept on a heap and whose files are in a directory.
    static LuaTable in(Path directory, LuaHeap heap) {
        return new TorchModule(directory, heap).table();
    }

    private TorchModule(Path directory, LuaHeap heap) {
        TYPES.forEach(type -> classes.put(DType.of(type), new StorageClass(DType.of(type), heap, directory)));
    }

    private LuaTable table() {
        LuaTable torch = new LuaTable();
        for (String type : TYPES) {
            torch.set(type + "Storage", classes.get(DType.of(type)));
            torch.set(type + "Tensor", LuaFunction.of(arguments -> tensor(DType.of(type), arguments)));
        }
        return torch.with("Storage", LuaFunction.of(this::defaultStorage))
                .with("Tensor", LuaFunction.of(arguments -> tensor(defaultType, arguments)))
                .with("Allocator", new AllocatorObject(Allocator.offHeap()))
                .with("setdefaulttensortype", LuaFunction.does(this::setDefaultType))
                .with("getdefaulttensortype", LuaFunction.of(_ -> tensorType(defaultType)))
                .with("typename", LuaFunction.of(arguments -> LuaValues.type(arguments.get(1))))
                .with("type", LuaFunction.of(arguments -> LuaValues.type(arguments.get(1))))
                .with("version", LuaFunction.of(_ -> CLASS_VERSION))
                .with("isStorage", LuaFunction.of(arguments -> arguments.get(1) instanceof StorageObject))
                .with("isTensor", LuaFunction.of(arguments -> arguments.get(1) instanceof TensorObject))
                .with("isequal", LuaFunction.of(arguments -> LuaValues.equal(arguments.get(1), arguments.get(2))))
                .with("pointer", LuaFunction.of(arguments -> (double) storage(arguments).typed().untyped().id()))
                .with("data", LuaFunction.of(arguments -> (double) storage(arguments).typed().untyped().dataPtr()));
    }

    private Object defaultStorage(LuaArguments arguments) {
        return DType.callWithDefault(defaultType,
                () -> classes.get(DType.defaultType()).call(arguments).getFirst());
    }

    private void setDefaultType(LuaArguments arguments) {
        String name = LuaValues.print(arguments.get(1));
        defaultType = DType.of(name.substring("torch.".length(), name.length() - "Tensor".length()));
    }

    /// `Tensor(size)`, `Tensor(table)` or `Tensor(storage, offset, sizes)`.
    private TensorObject tensor(DType dtype, LuaArguments arguments) {
        StorageClass storageClass = classes.get(dtype);
        if (!(arguments.get(1) instanceof StorageObject storage)) {
            StorageObject made = (StorageObject) storageClass.call(arguments).getFirst();
            return new TensorObject(tensorType(dtype), made, 0, made.typed().size());
        }
        long offset = arguments.get(2) == null ? 0 : arguments.integer(2) - 1;
        return new TensorObject(tensorType(dtype), storage, offset, size(storage, arguments));
    }

    /// The product of the given sizes. Without any, all of the storage; with an offset alone, nothing, as in Torch7.
    private static long size(StorageObject storage, LuaArguments arguments) {
        if (arguments.get(3) == null) {
            return arguments.get(2) == null ? storage.typed().size() : 0;
        }
        return arguments.object(3, StorageObject.class, "torch.LongStorage").elements().stream()
                .mapToLong(Double::longValue).reduce(1, Math::multiplyExact);
    }

    private String tensorType(DType dtype) {
        return classes.get(dtype).type().replace("Storage", "Tensor");
    }

    private static StorageObject storage(LuaArguments arguments) {
        return arguments.object(1, StorageObject.class, "torch.*Storage");
    }
}
