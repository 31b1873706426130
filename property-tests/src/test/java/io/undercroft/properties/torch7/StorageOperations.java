package io.undercroft.properties.torch7;

import io.undercroft.mmap.ByteRange;
import io.undercroft.mmap.FileStorage;
import io.undercroft.mmap.MapMode;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/// Torch7's constructors and methods of storages and tensors, each carried out by one of ours. Only that positions
/// count from 1 is done here. Each storage that is made is held by one reference until it is released.
final class StorageOperations implements AutoCloseable {
    private final Path directory;
    /// By identity: several may be on the same untyped storage.
    private final Set<TypedStorage> held = Collections.newSetFromMap(new IdentityHashMap<>());

    StorageOperations(Path directory) {
        this.directory = directory;
    }

    /// Releases what is still held, as Lua does at its end.
    @Override
    public void close() {
        List.copyOf(held).forEach(this::release);
    }

    TypedStorage make(DType dtype, Arguments arguments) {
        return hold(switch (arguments.get(1)) {
            case null -> TypedStorage.allocate(dtype, 0);
            case Number size when arguments.has(2) ->
                TypedStorage.ofAddress(dtype, arguments.integer(2), size.longValue());
            case Number size -> TypedStorage.allocate(dtype, size.longValue());
            case String name -> map(dtype, name, arguments);
            case List<?> elements -> TypedStorage.of(dtype, Arguments.numbers(elements));
            case TypedStorage base -> view(as(base, dtype), arguments);
            case Allocator allocator -> TypedStorage.allocate(dtype, arguments.integer(2), allocator);
            case Object other -> throw new ClassCastException("a number expected, got " + other);
        });
    }

    /// A tensor on a storage, from an offset on and with sizes: without both, all of the storage; with an offset
    /// alone, nothing, as in Torch7. Without a storage, a tensor on a new one.
    Tensor makeTensor(DType dtype, Arguments arguments) {
        boolean isGiven = arguments.get(1) instanceof TypedStorage;
        TypedStorage storage = isGiven ? arguments.get(1, TypedStorage.class) : make(dtype, arguments);
        boolean isWhole = !isGiven || !arguments.has(2);
        double[] sizes = arguments.has(3)
                ? Arguments.numbers(arguments.get(3, List.class))
                : new double[]{isWhole ? storage.size() : 0};
        return Tensor.of(storage.untyped(), dtype, isWhole ? 0 : arguments.integer(2) - 1,
                Shape.of(Arrays.stream(sizes).mapToLong(size -> (long) size).toArray()));
    }

    Object apply(Tensor self, String operation, Arguments arguments) {
        return switch (operation) {
            case "size" -> self.size((int) arguments.integer(1) - 1);
            case "storage" -> hold(new TypedStorage(self.storage(), self.dtype()).retain());
            default -> throw new ClassCastException("no method " + operation);
        };
    }

    Object apply(TypedStorage self, String operation, Arguments arguments) {
        return switch (operation) {
            case "size" -> self.size();
            case "elementSize" -> self.elementSize();
            case "get" -> self.getDouble(arguments.integer(1) - 1);
            case "long" -> self.getLong(arguments.integer(1) - 1) + "LL";
            case "set" -> set(self, arguments.integer(1) - 1, arguments.get(2, Number.class));
            case "fill" -> arguments.get(1, Number.class) instanceof Long integer
                    ? self.fill(integer)
                    : self.fill(arguments.get(1, Double.class));
            case "copy" -> self.copyFrom(arguments.get(1, TypedStorage.class));
            case "resize" -> self.resize(arguments.integer(1));
            case "string" -> arguments.has(1)
                    ? self.string(arguments.get(1, String.class), StandardCharsets.ISO_8859_1)
                    : self.string(StandardCharsets.ISO_8859_1);
            case "totable" -> self.toList();
            case "id" -> self.untyped().id();
            case "dataPtr" -> self.untyped().dataPtr();
            case "flag" -> flag(self.untyped());
            case "refcount" -> self.referenceCount();
            case "retain" -> self.retain();
            case "free" -> free(self);
            case "release" -> release(self);
            case "as" -> as(self, TypedStorage.dtypeOf(arguments.get(1, String.class)));
            case "method" -> method(arguments.get(1, String.class));
            default -> throw new ClassCastException("no method " + operation);
        };
    }

    private TypedStorage hold(TypedStorage made) {
        held.add(made);
        return made;
    }

    private TypedStorage release(TypedStorage storage) {
        held.remove(storage);
        return storage.referenceCount() > 0 ? free(storage) : storage;
    }

    private static TypedStorage free(TypedStorage storage) {
        storage.release();
        return storage;
    }

    private static TypedStorage as(TypedStorage storage, DType dtype) {
        if (!storage.dtype().equals(dtype)) {
            throw new ClassCastException(dtype + " expected, got " + storage.dtype());
        }
        return storage;
    }

    private static TypedStorage view(TypedStorage base, Arguments arguments) {
        long offset = arguments.has(2) ? arguments.integer(2) - 1 : 0;
        return arguments.has(3) ? base.slice(offset, arguments.integer(3)) : base.slice(offset);
    }

    private static TypedStorage set(TypedStorage self, long index, Number value) {
        if (value instanceof Long) {
            self.setLong(index, value.longValue());
        } else {
            self.setDouble(index, value.doubleValue());
        }
        return self;
    }

    /// A storage on a file, or on shared memory. A size of 0 or less means as many elements as there are.
    private TypedStorage map(DType dtype, String name, Arguments arguments) {
        boolean shared = arguments.isTrue(2);
        long nbytes = arguments.has(3) ? dtype.nbytes(Math.max(arguments.integer(3), 0)) : 0;
        ByteRange range = nbytes > 0 ? ByteRange.bytes(nbytes) : ByteRange.whole();
        try {
            Storage untyped = shared && arguments.isTrue(4)
                    ? FileStorage.openSharedMemory(name, range)
                    : FileStorage.open(directory.resolve(name), shared ? MapMode.SHARED : MapMode.PRIVATE, range);
            return new TypedStorage(untyped, dtype);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// The public method of that name, or null.
    private static Method method(String name) {
        return Stream.of(TypedStorage.class.getMethods()).filter(method -> method.getName().equals(name)).findFirst()
                .orElse(null);
    }

    /// The bits of `THStorage.flag`, as far as they can be seen: 1 counted, 2 resizable, 4 owns its memory, 8 a view.
    private static int flag(Storage untyped) {
        boolean ownsMemory = untyped.base().isEmpty()
                && (untyped.allocator().isPresent() || untyped.filename().isPresent());
        return 1 + (untyped.isResizable() ? 2 : 0) + (ownsMemory ? 4 : 0) + (untyped.base().isPresent() ? 8 : 0);
    }
}
