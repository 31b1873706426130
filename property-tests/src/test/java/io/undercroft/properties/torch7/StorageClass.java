package io.undercroft.properties.torch7;

import io.undercroft.mmap.ByteRange;
import io.undercroft.mmap.FileStorage;
import io.undercroft.mmap.MapMode;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.DoubleConsumer;
import java.util.function.LongConsumer;

/// One of Torch7's storage classes, `torch.IntStorage` and so on: its constructors and methods, each carried out by one
/// of ours. Only the conversion of arguments, which is Lua's, is done here, and that offsets count from 1.
final class StorageClass implements LuaObject {
    private final DType dtype;
    private final String type;
    private final LuaHeap heap;
    private final Path directory;
    private final LuaTable methods = new LuaTable();

    StorageClass(DType dtype, LuaHeap heap, Path directory) {
        this.dtype = dtype;
        this.type = "torch." + TypedStorage.allocate(dtype, 0).typeName();
        this.heap = heap;
        this.directory = directory;
        returnsValue("size", (self, _) -> (double) self.size());
        returnsValue("elementSize", (self, _) -> (double) self.elementSize());
        returnsValue("totable", (self, _) -> LuaTable.array(numbers(self)));
        returnsValue("data", (self, _) -> new StorageData(self));
        returnsValue("cdata", (self, _) -> cdata(self));
        returnsSelf("fill", StorageClass::fill);
        returnsSelf("copy", StorageClass::copy);
        returnsSelf("resize", (self, arguments) -> self.resize(arguments.integer(2)));
        methods.set("string", method(this::string));
        methods.set("new", LuaFunction.of(this::make));
        methods.set("retain", LuaFunction.does(arguments -> self(arguments).typed().retain()));
        methods.set("free", LuaFunction.does(arguments -> self(arguments).typed().free()));
    }

    @Override
    public String type() {
        return type;
    }

    @Override
    public Object get(Object key) {
        return methods.get(key);
    }

    @Override
    public List<Object> call(LuaArguments arguments) {
        return List.of(make(arguments));
    }

    /// The object for a storage that has a reference for it.
    StorageObject hold(TypedStorage typed) {
        return heap.keep(new StorageObject(this, typed));
    }

    /// Reads an argument as Lua does for a storage of this type: a text means an integer as in C if the elements are
    /// integers, and a number as in Lua if not.
    static void writing(TypedStorage target, LuaArguments arguments, int number, LongConsumer integers,
            DoubleConsumer reals) {
        boolean wholeNumbers = switch (target.dtype().kind()) {
            case SIGNED, UNSIGNED -> true;
            default -> false;
        };
        if (wholeNumbers && arguments.get(number) instanceof String text) {
            integers.accept(Numbers.strtoll(text));
        } else {
            reals.accept(arguments.number(number));
        }
    }

    // ---- constructors ----

    private StorageObject make(LuaArguments arguments) {
        return hold(switch (arguments.get(1)) {
            case null -> TypedStorage.allocate(dtype, 0);
            case Double _ when arguments.get(2) != null ->
                TypedStorage.ofAddress(dtype, arguments.integer(2), arguments.integer(1));
            case Double _ -> TypedStorage.allocate(dtype, arguments.integer(1));
            case String name -> map(name, arguments);
            case LuaTable table -> TypedStorage.of(dtype, numbers(table));
            case StorageObject _ -> view(self(arguments).typed(), arguments);
            case AllocatorObject(Allocator allocator) ->
                TypedStorage.allocate(dtype, arguments.integer(2), allocator);
            default -> throw arguments.bad(1, "number expected");
        });
    }

    private static TypedStorage view(TypedStorage base, LuaArguments arguments) {
        long offset = arguments.get(2) == null ? 0 : arguments.integer(2) - 1;
        return arguments.get(3) == null ? base.slice(offset) : base.slice(offset, arguments.integer(3));
    }

    private static double[] numbers(LuaTable table) {
        LuaArguments elements = new LuaArguments(table.elements());
        double[] numbers = new double[elements.values().size()];
        for (int i = 1; i <= numbers.length; i++) {
            int index = i;
            numbers[i - 1] = LuaValues.toNumber(elements.get(i))
                    .orElseThrow(() -> new LuaError("element at index " + index + " is not a number"));
        }
        return numbers;
    }

    /// A storage on a file, or on shared memory. A size of 0 or less means as many elements as there are.
    private TypedStorage map(String name, LuaArguments arguments) {
        try {
            return new TypedStorage(open(name, arguments), dtype);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Storage open(String name, LuaArguments arguments) throws IOException {
        boolean shared = isGiven(arguments, 2);
        long nbytes = arguments.get(3) == null ? 0 : dtype.nbytes(Math.max(arguments.integer(3), 0));
        Path path = directory.resolve(name);
        ByteRange range = nbytes > 0 ? ByteRange.bytes(nbytes) : ByteRange.whole();
        return shared && isGiven(arguments, 4)
                ? FileStorage.openSharedMemory(name, range)
                : FileStorage.open(path, shared ? MapMode.SHARED : MapMode.PRIVATE, range);
    }

    private static boolean isGiven(LuaArguments arguments, int number) {
        if (arguments.get(number) != null && !(arguments.get(number) instanceof Boolean)) {
            throw arguments.bad(number, "boolean expected");
        }
        return LuaValues.isTrue(arguments.get(number));
    }

    // ---- methods ----

    private StorageObject self(LuaArguments arguments) {
        StorageObject self = arguments.object(1, StorageObject.class, type);
        if (self.storageClass() != this) {
            throw arguments.bad(1, type + " expected");
        }
        return self;
    }

    private LuaFunction method(BiFunction<StorageObject, LuaArguments, Object> body) {
        return LuaFunction.of(arguments -> body.apply(self(arguments), arguments));
    }

    private void returnsValue(String name, BiFunction<TypedStorage, LuaArguments, Object> body) {
        methods.set(name, method((self, arguments) -> body.apply(self.typed(), arguments)));
    }

    /// A method that returns the storage: ours says that it did, and Lua gets the object it had.
    private void returnsSelf(String name, BiFunction<TypedStorage, LuaArguments, TypedStorage> body) {
        methods.set(name, method((self, arguments) -> {
            TypedStorage returned = body.apply(self.typed(), arguments);
            return returned.equals(self.typed()) ? self : hold(returned);
        }));
    }

    private static TypedStorage fill(TypedStorage self, LuaArguments arguments) {
        writing(self, arguments, 2, self::fill, self::fill);
        return self;
    }

    private static TypedStorage copy(TypedStorage self, LuaArguments arguments) {
        return self.copyFrom(arguments.object(2, StorageObject.class, "torch.*Storage").typed());
    }

    /// With a text (or number), writes it; without, reads one. Lua's texts are bytes.
    private Object string(StorageObject self, LuaArguments arguments) {
        return LuaValues.toText(arguments.get(2))
                .<Object>map(text -> {
                    self.typed().string(text, StandardCharsets.ISO_8859_1);
                    return self;
                })
                .orElseGet(() -> self.typed().string(StandardCharsets.ISO_8859_1));
    }

    private static List<Double> numbers(TypedStorage self) {
        return self.toList().stream().map(element -> ((Number) element).doubleValue()).toList();
    }

    /// What C code sees of a storage: the count of its references, and Torch7's flags as far as they can be told.
    private static LuaTable cdata(TypedStorage self) {
        Storage untyped = self.untyped();
        boolean ownsMemory = untyped.base().isEmpty()
                && (untyped.allocator().isPresent() || untyped.filename().isPresent());
        double flags = TorchFlag.REFCOUNTED
                + (untyped.isResizable() ? TorchFlag.RESIZABLE : 0)
                + (ownsMemory ? TorchFlag.FREEMEM : 0)
                + (untyped.base().isPresent() ? TorchFlag.VIEW : 0);
        return new LuaTable().with("refcount", (double) self.referenceCount()).with("flag", flags);
    }

    /// The bits of `THStorage.flag`.
    private static final class TorchFlag {
        static final int REFCOUNTED = 1;
        static final int RESIZABLE = 2;
        static final int FREEMEM = 4;
        static final int VIEW = 8;
    }
}
