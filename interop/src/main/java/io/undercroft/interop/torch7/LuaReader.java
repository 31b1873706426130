package io.undercroft.interop.torch7;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.Utf8;
import io.undercroft.interop.torch7.Input.Elements;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Typed;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/// Reads the objects of a file, one after the other, each with all that it holds. It never recurses, and charges what
/// it makes to a [ReadBudget]. Belongs to one thread.
final class LuaReader {
    /// Whether a later place of an object has only its number.
    enum References {
        NUMBERED, WRITTEN_OUT
    }

    /// The numbering of the objects of a file.
    enum Numbering {
        /// Each has numbers of its own, so that it may refer to those before it: they were written through one open
        /// file.
        CONTINUED,
        /// The numbers of each begin again: the file was put together of several, or was opened again for each.
        RESTARTED
    }

    /// An object and its fields are two levels here and one in the state, where the depth is limited.
    private static final int MAX_DEPTH = 2 * StateIndex.MAX_DEPTH;
    /// Lua would take any number; ours are those that are printed again as they were.
    private static final Pattern VERSION = Pattern.compile("V (\\d{1,9}(\\.\\d{1,4})?)");
    /// `torch.class` takes any name.
    private static final Pattern CLASS_NAME = Pattern.compile("[\\p{L}\\p{N}\\p{P}\\p{S}]+");
    /// Names without a version are as old as Torch7. Anything could be there.
    private static final Pattern OLD_CLASS_NAME = Pattern.compile("[A-Za-z_]\\w*+(?:\\.\\w++)*+");
    /// The first bytes of the code of a function in every Lua; an L follows.
    private static final byte ESCAPE = 0x1B;
    /// Says that an object was begun and its parts follow.
    private static final Object OPENED = new Object();

    private final Input in;
    private final Torch7Storages storages;
    private final References references;
    private final Numbering numbering;
    private final ReadBudget budget;
    private final Map<Integer, Object> numbered = new HashMap<>();
    private final List<LuaValue> values = new ArrayList<>();
    private final Deque<LuaValue> open = new ArrayDeque<>();
    private int rootTag = -1;
    private boolean hasSignature;
    private boolean hasStrings;
    /// The object of a class that was read last, and where it ends.
    private LuaValue.@Nullable Instance lastObject;
    private long lastObjectEnd;

    LuaReader(Input in, Torch7Storages storages, References references, Numbering numbering) {
        this.in = in;
        this.storages = storages;
        this.references = references;
        this.numbering = numbering;
        this.budget = ReadBudget.of(in.position() + in.remaining());
    }

    /// {@return what reading the file may cost}
    ReadBudget budget() {
        return budget;
    }

    /// Reads the next object of the file.
    ///
    /// @return the object, as it is in the state
    /// @throws FormatException if it is damaged, or encoded in another way
    @Nullable
    Object read() throws IOException {
        rootTag = -1;
        if (numbering == Numbering.RESTARTED) {
            numbered.clear();
            lastObject = null;
        }
        try {
            Object root = root();
            values.forEach(LuaValue::fill);
            values.clear();
            return LuaValue.made(root);
        } catch (FormatException e) {
            throw withClass(e);
        }
    }

    /// {@return whether the last object was found to be a table or an object of a class; false if it was not begun}
    boolean isContainer() {
        return rootTag == ObjectTag.TABLE || rootTag == ObjectTag.TORCH;
    }

    /// {@return whether the version of a class, the name of a class of Torch7 or the code of a function was read, which
    /// no other file has by chance}
    boolean hasSignature() {
        return hasSignature;
    }

    /// {@return whether a string was read}
    boolean hasStrings() {
        return hasStrings;
    }

    /// {@return the class of the object that ends where reading has arrived, if there is one}
    Optional<String> classThatEndsHere() {
        return Optional.ofNullable(lastObject).filter(_ -> lastObjectEnd == in.position())
                .map(LuaValue.Instance::className);
    }

    private @Nullable Object root() throws IOException {
        long start = in.position();
        Object value = next();
        while (!open.isEmpty()) {
            LuaValue top = open.element();
            if (value != OPENED) {
                top.take(value, start);
            }
            if (top.isWhole()) {
                open.pop();
                value = top;
                if (top instanceof LuaValue.Instance object) {
                    lastObject = object;
                    lastObjectEnd = in.position();
                }
            } else {
                start = in.position();
                value = next();
            }
        }
        return value;
    }

    private FormatException withClass(FormatException e) {
        if (lastObject != null && e.offset() == lastObjectEnd) {
            return Torch7Faults.after(lastObject.className(), e);
        }
        return open.stream().filter(LuaValue.Instance.class::isInstance).findFirst()
                .map(object -> Torch7Faults.in(((LuaValue.Instance) object).className(), e, object == open.element()))
                .orElse(e);
    }

    /// {@return the next object, as it is in the state; or as a [LuaValue], for what takes parts; or [#OPENED] if
    /// its parts follow}
    private @Nullable Object next() throws IOException {
        long start = in.position();
        budget.takeSteps(1);
        budget.takeMemory(ReadBudget.ENTRY);
        int tag = in.readInt();
        rootTag = rootTag < 0 ? tag : rootTag;
        return switch (tag) {
            case ObjectTag.NIL -> null;
            case ObjectTag.NUMBER -> in.readDouble();
            case ObjectTag.STRING -> string();
            // Every other integer is false.
            case ObjectTag.BOOLEAN -> in.readInt() == 1;
            case ObjectTag.OLD_FUNCTION -> open(function(tag));
            default -> {
                if (!ObjectTag.isNumbered(tag)) {
                    throw Torch7Faults.of("OBJECT", "an object begins with " + tag + ", which says nothing", start);
                }
                yield numbered(tag, start);
            }
        };
    }

    private byte[] bytes() throws IOException {
        long start = in.position();
        int length = in.readInt();
        if (length < 0) {
            throw Torch7Faults.of("STRING", "a string of " + length + " bytes", start);
        }
        if (length <= in.remaining()) {
            budget.takeText(length);
        }
        return in.readBytes(length);
    }

    private Object string() throws IOException {
        hasStrings = true;
        return Utf8.textOrBytes(bytes());
    }

    private Object numbered(int tag, long start) throws IOException {
        int number = in.readInt();
        Object known = known(number);
        if (known != null) {
            // As in Torch7, it does not matter which tag a reference has.
            return checkShared(known, start);
        }
        return switch (tag) {
            case ObjectTag.TABLE -> open(put(number, table(false)));
            case ObjectTag.TORCH -> torch(number);
            default -> open(put(number, function(tag)));
        };
    }

    private LuaValue.Function function(int tag) throws IOException {
        byte[] code = bytes();
        hasSignature |= code.length > 1 && code[0] == ESCAPE && code[1] == 'L';
        return new LuaValue.Function(tag, code);
    }

    private @Nullable Object known(int number) {
        return references == References.NUMBERED ? numbered.get(number) : null;
    }

    private <T> T put(int number, T object) {
        budget.takeMemory(ReadBudget.TENSOR);
        numbered.put(number, object);
        return object;
    }

    private static Object checkShared(Object known, long start) {
        if (known instanceof LuaValue.Table table && table.isBody()) {
            throw Torch7Faults.of("CLASS", "the fields of an object are referred to as a table", start);
        }
        return known;
    }

    private Object open(LuaValue value) {
        values.add(value);
        open.push(value);
        if (open.size() > MAX_DEPTH) {
            throw new FormatException("TORCH7-DEPTH", "objects hold each other more than " + MAX_DEPTH + " deep",
                    in.position(), "In Torch7, save what is deep down by itself");
        }
        return OPENED;
    }

    private LuaValue.Table table(boolean isBody) throws IOException {
        long start = in.position();
        return new LuaValue.Table(entries(in.readInt(), 2, start), isBody, start);
    }

    /// {@return how many entries follow}
    ///
    /// @param parts of how many objects an entry consists
    private int entries(long number, int parts, long start) {
        long most = in.remaining() / ((long) parts * in.smallestObject()) + 1;
        if (number < 0 || number > Math.min(most, Integer.MAX_VALUE)) {
            throw Torch7Faults.of("TABLE", "a table of " + number + " entries, of which the file has at most " + most,
                    start);
        }
        return (int) number;
    }

    // ---- objects of classes ----

    private record ClassHeader(String name, Number version) {}

    private Object torch(int number) throws IOException {
        ClassHeader header = classHeader();
        Optional<TorchClass> known = TorchClass.find(header.name);
        hasSignature |= known.isPresent();
        if (known.isEmpty()) {
            return header.name.equals(TorchClass.GENERATOR)
                    ? put(number, new Typed(NodeNames.GENERATOR, in.readBytes(TorchClass.GENERATOR_BYTES)))
                    : object(number, header);
        }
        return switch (known.get().role()) {
            case STORAGE -> storage(number, known.get().dtype());
            case TENSOR -> tensor(number, known.get().dtype());
        };
    }

    private Object object(int number, ClassHeader header) throws IOException {
        LuaValue.Instance object = new LuaValue.Instance(header.name, header.version);
        open(put(number, object));
        return switch (TdsClass.find(header.name).orElse(null)) {
            case null -> open(fields(number, object));
            case HASH -> open(hash());
            case VECTOR -> open(vector());
            case COUNTER -> {
                object.take(in.readLong(), in.position());
                yield OPENED;
            }
        };
    }

    /// Reads an object written without a function of its class: a table whose number follows that of the object. All
    /// else was written by such a function, which is not here to read it.
    private LuaValue.Table fields(int number, LuaValue.Instance object) throws IOException {
        long start = in.position();
        int tag = in.readInt();
        int body = tag == ObjectTag.TABLE ? in.readInt() : number;
        if (body <= number || known(body) != null) {
            throw Torch7Faults.ofOwnWay(object.className(), "does not begin with a table of its fields", start);
        }
        return put(body, table(true));
    }

    private LuaValue.Table hash() throws IOException {
        long start = in.position();
        return new LuaValue.Table(entries(in.readLong(), 2, start), true, start);
    }

    private LuaValue.Vector vector() throws IOException {
        long start = in.position();
        return new LuaValue.Vector(entries(in.readLong(), 1, start));
    }

    /// Before there were versions, the name was where the version is now.
    private ClassHeader classHeader() throws IOException {
        long start = in.position();
        String first = className(start);
        Matcher version = VERSION.matcher(first);
        if (!version.matches()) {
            return new ClassHeader(checked(first, false, start), NodeNames.NO_VERSION);
        }
        hasSignature = true;
        String digits = version.group(1);
        start = in.position();
        return new ClassHeader(checked(className(start), true, start),
                version.group(2) == null ? (Number) Long.valueOf(digits) : Double.valueOf(digits));
    }

    /// {@return whether a text can be the name of a class}
    ///
    /// @param hasVersion whether there is a version before it
    static boolean isClassName(String text, boolean hasVersion) {
        return (hasVersion ? CLASS_NAME : OLD_CLASS_NAME).matcher(text).matches();
    }

    private static String checked(String name, boolean hasVersion, long start) {
        if (!isClassName(name, hasVersion)) {
            throw Torch7Faults.of("CLASS", FormatException.quote(name) + " is no name of a class", start);
        }
        return name;
    }

    private String className(long start) throws IOException {
        return Utf8.decode(bytes())
                .orElseThrow(() -> Torch7Faults.of("CLASS", "the name of a class is no text", start));
    }

    private TypedStorage storage(int number, DType dtype) throws IOException {
        long start = in.position();
        long size = in.readLong();
        if (size < 0) {
            throw Torch7Faults.of("STORAGE", "a storage of " + size + " elements", start);
        }
        Elements elements = in.skipElements(dtype, size);
        return put(number, storages.add(elements, dtype));
    }

    private Tensor tensor(int number, DType dtype) throws IOException {
        long start = in.position();
        int rank = in.readInt();
        if (rank < 0 || rank > Shape.MAX_RANK) {
            throw Torch7Faults.of("TENSOR", "a tensor of " + rank + " dimensions; 0 to " + Shape.MAX_RANK + " are read",
                    start);
        }
        long[] sizes = in.readLongs(rank);
        long[] strides = in.readLongs(rank);
        long offset = in.readLong();
        Storage storage = storageOf(dtype);
        try {
            // A tensor without dimensions is empty in Torch7, and not a single number.
            Tensor tensor = rank == 0
                    ? Tensor.of(storage, dtype, Math.subtractExact(offset, 1), Shape.of(0), emptyStride(storage))
                    : Tensor.of(storage, dtype, Math.subtractExact(offset, 1), Shape.of(sizes), strides);
            return put(number, tensor);
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw Torch7Faults.of("TENSOR", "a tensor that does not fit its storage: " + e.getMessage(), start);
        }
    }

    /// {@return the stride of a tensor without dimensions} It has no meaning, but distinguishes a tensor on a storage
    /// without elements from one without a storage, which are written differently.
    private long emptyStride(Storage storage) {
        return storage.nbytes() == 0 && !storages.isNothing(storage) ? NodeNames.STRIDE_ON_STORAGE : 1;
    }

    /// The storage of a tensor holds nothing in turn, so it is read at once.
    private Storage storageOf(DType dtype) throws IOException {
        long start = in.position();
        int tag = in.readInt();
        if (tag == ObjectTag.NIL) {
            return storages.addNothing(start);
        }
        if (ObjectTag.isNumbered(tag)) {
            int number = in.readInt();
            Object known = known(number);
            Object storage = known == null && tag == ObjectTag.TORCH ? newStorage(number, start) : known;
            if (storage instanceof TypedStorage typed && typed.dtype().equals(dtype)) {
                return typed.untyped();
            }
        }
        throw Torch7Faults.of("TENSOR", "a tensor uses something that is no storage of " + dtype.name(), start);
    }

    private TypedStorage newStorage(int number, long start) throws IOException {
        ClassHeader header = classHeader();
        TorchClass known = TorchClass.find(header.name).filter(each -> each.role() == TorchClass.Role.STORAGE)
                .orElseThrow(() -> Torch7Faults.of("TENSOR", "a tensor uses an object of class "
                        + FormatException.quote(header.name), start));
        return storage(number, known.dtype());
    }
}
