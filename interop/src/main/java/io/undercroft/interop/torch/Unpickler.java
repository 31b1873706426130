package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.numpy.NumpyType.Kind;
import io.undercroft.mmap.MappingException;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.StateMap;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Runs a pickle: a program for a stack machine that builds Python values, and here the Java values that stand for
/// them.
///
/// It never recurses, never looks up a class, and charges what it makes and does to a [ReadBudget]. What a pickle may
/// call is in [Globals]; of what it would make with anything else, an [InertObject] records what the pickle says, or it
/// is refused if the pickle is strict ([ForeignNames]). What it may refer to outside itself, the function `persistent`
/// decides. Made for one pickle and one thread.
final class Unpickler {
    private static final int HIGHEST_PROTOCOL = 5;
    /// Python has no limit, but no real pickle has longer integers.
    private static final long LONGEST_INTEGER = 4096;
    /// The longest line of text that is read, in bytes.
    static final int LONGEST_LINE = 256;
    /// Represents in the memo Python's None, as null there means that nothing was put.
    private static final Object NONE = new Object();
    /// For a set that is not in the memo, or that has other references.
    private static final int NO_SLOT = -1;
    private static final int MANY_SLOTS = -2;

    /// The most slots of the memo.
    private static final long MOST_SLOTS = 1 << 30;

    private final PickleInput input;
    private final ByteReader in;
    private final References references;
    private final ForeignNames names;
    private final Containers containers;
    private final ForeignCalls calls;
    private final ReadBudget budget;
    /// The memo slots of sets that were put there empty.
    private final IdentityHashMap<Object, Integer> emptySets = new IdentityHashMap<>();

    private @Nullable Object[] stack = new @Nullable Object[64];
    private int top;
    /// For each open MARK, how high the stack was.
    private int[] marks = new int[16];
    private int openMarks;
    private @Nullable Object[] memo = new @Nullable Object[64];
    private int memoized;

    /// The references of a pickle to values outside it.
    @FunctionalInterface
    interface References {
        /// The references of a self-contained pickle.
        References NONE = _ -> {
            throw PickleFault.malformed("a persistent id where there is nothing to refer to");
        };

        /// {@return what a persistent id refers to}
        ///
        /// @throws PickleFault if it refers to nothing
        @Nullable
        Object find(@Nullable Object id);

        /// {@return the storage in a file of `torch.save` that is in the pickle as bytes, or null if such are not read}
        ///
        /// @throws IOException if reading fails
        /// @throws FormatException if it is no such file
        default @Nullable Object storage(byte[] save) throws IOException {
            return null;
        }
    }

    /// @param input the pickle
    /// @param references what the pickle refers to
    /// @param names receives the names that are not in the table
    /// @param budget what running the pickle may cost
    Unpickler(PickleInput input, References references, ForeignNames names, ReadBudget budget) {
        this.input = input;
        this.in = input.in();
        this.references = references;
        this.names = names;
        this.containers = new Containers(input.size(), budget, input.name(), !names.isStrict(),
                new PickledArrays(input, names, budget));
        this.calls = new ForeignCalls(names, containers, references);
        this.budget = budget;
    }

    /// Runs the pickle.
    ///
    /// @return what it builds
    /// @throws IOException if reading fails
    /// @throws FormatException if it is malformed, or uses a name that it may not use
    @Nullable
    Object run() throws IOException {
        while (true) {
            long start = in.position();
            Opcode opcode = null;
            try {
                opcode = Opcode.of(in.u8());
                budget.takeSteps(1);
                if (opcode == Opcode.STOP) {
                    return result();
                }
                step(opcode);
            } catch (PickleFault refused) {
                long offset = input.offset(start);
                String place = (opcode == null ? "" : ", opcode " + opcode)
                        + (offset >= 0 ? "" : " at byte " + start + " of the uncompressed pickle");
                throw refused.at(place, offset);
            } catch (MappingException e) {
                throw e;
            } catch (UncheckedIOException e) {
                throw e.getCause();
            }
        }
    }

    /// Python lets a pickle leave values behind, but no pickler does.
    private @Nullable Object result() {
        if (top != 1 || openMarks > 0) {
            throw PickleFault.malformed("the pickle ends with " + top + " values on the stack and not one");
        }
        return pop();
    }

    private void step(Opcode opcode) throws IOException {
        switch (opcode) {
            case PROTO -> protocol();
            case FRAME -> in.require(in.i64());
            case STOP -> throw new AssertionError("handled by run");

            case NONE -> push(null);
            case NEWTRUE -> push(true);
            case NEWFALSE -> push(false);
            case BININT -> push(number(in.i32()));
            case BININT1 -> push((long) in.u8());
            case BININT2 -> push(number(in.u16()));
            case LONG1 -> push(integer(in.u8()));
            case LONG4 -> push(integer(in.i32()));
            case INT -> push(integerLine(textLine(PickleText.LONGEST_NUMBER)));
            case LONG -> push(number(PickleText.integer(withoutSuffix(textLine(PickleText.LONGEST_NUMBER)))));
            case FLOAT -> push(number(PickleText.real(textLine(PickleText.LONGEST_NUMBER))));
            case BINFLOAT -> push(number(Double.longBitsToDouble(Long.reverseBytes(in.i64()))));
            case BINUNICODE -> push(utf8(charged(in.u32())));
            case SHORT_BINUNICODE -> push(utf8(charged(in.u8())));
            case BINUNICODE8 -> push(utf8(charged(in.i64())));
            case BINSTRING -> push(run(in.i32(), ByteString.Kind.STRING));
            case SHORT_BINSTRING -> push(run(in.u8(), ByteString.Kind.STRING));
            case STRING -> push(new ByteString(input, PickleText.quoted(bytesOfLine(Long.MAX_VALUE))));
            case UNICODE -> push(PickleText.unicode(bytesOfLine(Long.MAX_VALUE)));
            case BINBYTES -> push(run(in.u32(), ByteString.Kind.BYTES));
            case SHORT_BINBYTES -> push(run(in.u8(), ByteString.Kind.BYTES));
            case BINBYTES8 -> push(run(in.i64(), ByteString.Kind.BYTES));
            case BYTEARRAY8 -> push(run(in.i64(), ByteString.Kind.BYTEARRAY));

            case EMPTY_TUPLE, TUPLE1, TUPLE2, TUPLE3, TUPLE, EMPTY_LIST, LIST, EMPTY_DICT, DICT, EMPTY_SET,
                    FROZENSET -> {
                budget.takeMemory(ReadBudget.CONTAINER);
                container(opcode);
            }
            case APPEND -> append(pop(1));
            case APPENDS -> append(popToMark());
            case SETITEM -> setItems(pop(2));
            case SETITEMS -> setItems(popToMark());
            case ADDITEMS -> addItems(popToMark());

            case MARK -> mark();
            case POP -> discard();
            case POP_MARK -> popToMark();
            case DUP -> {
                push(peek());
                referAgain(peek());
            }
            case BINPUT -> memoize(in.u8());
            case LONG_BINPUT -> memoize(in.u32());
            case MEMOIZE -> memoize(memoized);
            case PUT -> memoize(slot(textLine(PickleText.LONGEST_NUMBER)));
            case GET -> push(remembered(slot(textLine(PickleText.LONGEST_NUMBER))));
            case BINGET -> push(remembered(in.u8()));
            case LONG_BINGET -> push(remembered(in.u32()));

            case GLOBAL -> push(global(line(), line()));
            case STACK_GLOBAL -> stackGlobal();
            case EXT1 -> push(extension(in.u8()));
            case EXT2 -> push(extension(in.u16()));
            case EXT4 -> push(extension(in.i32()));
            case REDUCE -> reduce(InertObject.ARGUMENTS);
            case NEWOBJ -> reduce(InertObject.NEW_ARGUMENTS);
            case NEWOBJ_EX -> newObject();
            case INST -> instance(global(line(), line()), new Tuple(popToMark()));
            case OBJ -> object();
            case BUILD -> build();
            case PERSID -> persistent(textLine(PickleText.LONGEST_NUMBER));
            case BINPERSID -> persistent(pop());
            case NEXT_BUFFER -> throw PickleFault.malformed("the pickle needs a buffer that is not in it");
            // A value that can be changed or not is the same value here.
            case READONLY_BUFFER -> require(1);
        }
    }

    private void container(Opcode opcode) {
        switch (opcode) {
            case EMPTY_TUPLE -> push(Tuple.of());
            case TUPLE1 -> push(new Tuple(pop(1)));
            case TUPLE2 -> push(new Tuple(areElements(top - 2) ? copyBelow(2) : pop(2)));
            case TUPLE3 -> push(new Tuple(pop(3)));
            case TUPLE -> push(new Tuple(areElements(floor()) ? copyToMark() : popToMark()));
            case EMPTY_LIST -> push(new ArrayList<>());
            case LIST -> push(new ArrayList<>(popToMark()));
            case EMPTY_DICT -> push(new StateMap());
            case DICT -> dict();
            case EMPTY_SET -> push(new LinkedHashSet<>());
            case FROZENSET -> frozenSet(popToMark());
            default -> throw new AssertionError(opcode + " makes no container");
        }
    }

    // ---- values ----

    private void protocol() throws IOException {
        int version = in.u8();
        if (version > HIGHEST_PROTOCOL) {
            throw PickleFault.because("TORCH-PROTOCOL", "the pickle has protocol " + version,
                    "Protocols up to " + HIGHEST_PROTOCOL
                            + " are known; save again with pickle_protocol=2, PyTorch's default");
        }
    }

    private <T extends Number> T number(T value) {
        budget.takeMemory(ReadBudget.NUMBER);
        return value;
    }

    private Long number(long value) {
        return number(Long.valueOf(value));
    }

    /// {@return a length, after what a text or bytes of it take was charged}
    private long charged(long length) {
        in.require(length);
        budget.takeText(length);
        return length;
    }

    private Number integer(long length) throws IOException {
        if (length > LONGEST_INTEGER) {
            throw PickleFault.malformed("an integer of " + length + " bytes");
        }
        byte[] digits = in.bytes(charged(length));
        for (int low = 0, high = digits.length - 1; low < high; low++, high--) {
            byte swapped = digits[low];
            digits[low] = digits[high];
            digits[high] = swapped;
        }
        BigInteger value = digits.length == 0 ? BigInteger.ZERO : new BigInteger(digits);
        return value.bitLength() < Long.SIZE ? (Number) value.longValue() : value;
    }

    private String utf8(long length) throws IOException {
        return PickleText.decode(in.bytes(length));
    }

    private String line() throws IOException {
        long start = in.position();
        while (in.position() - start <= LONGEST_LINE && in.remaining() > 0) {
            if (in.u8() == '\n') {
                long length = in.position() - 1 - start;
                in.at(start);
                String line = utf8(length);
                in.skip(1);
                return line;
            }
        }
        throw PickleFault.malformed("a name does not end");
    }

    /// {@return a string of bytes, which are skipped}
    private ByteString run(long length, ByteString.Kind kind) {
        in.require(length);
        budget.takeMemory(ReadBudget.ENTRY);
        ByteString run = new ByteString(input, in.position(), length, kind);
        in.skip(length);
        return run;
    }

    private String textLine(long longest) throws IOException {
        return PickleText.ascii(bytesOfLine(longest));
    }

    private byte[] bytesOfLine(long longest) throws IOException {
        long start = in.position();
        while (in.remaining() > 0 && in.position() - start <= longest) {
            if (in.u8() == '\n') {
                long length = in.position() - 1 - start;
                in.at(start);
                budget.takeSteps(length);
                byte[] line = in.bytes(charged(length));
                in.skip(1);
                return line;
            }
        }
        throw PickleFault.malformed("a line does not end");
    }

    /// Protocols 0 and 1 had no opcodes for True and False.
    private Object integerLine(String line) {
        return switch (line) {
            case "00" -> false;
            case "01" -> true;
            default -> number(PickleText.integer(line));
        };
    }

    private static String withoutSuffix(String line) {
        return line.endsWith("L") ? line.substring(0, line.length() - 1) : line;
    }

    private static long slot(String line) {
        if (!(PickleText.integer(line) instanceof Long slot && slot >= 0)) {
            throw PickleFault.malformed("a slot of the memo is no number from 0 on");
        }
        return slot;
    }

    // ---- containers ----

    private void append(List<@Nullable Object> items) {
        if (peek() instanceof ArrayList<?>) {
            @SuppressWarnings("unchecked")
            ArrayList<@Nullable Object> list = (ArrayList<@Nullable Object>) peek();
            list.addAll(items);
            return;
        }
        if (peek() instanceof TypedMap object && PythonObjects.is(object)) {
            InertObject.append(object, items, budget);
            return;
        }
        throw PickleFault.malformed("only lists can be appended to, not " + CallArguments.describe(peek()));
    }

    private void dict() {
        List<@Nullable Object> items = popToMark();
        push(new StateMap());
        setItems(items);
    }

    private void setItems(List<@Nullable Object> items) {
        if (!(peek() instanceof StateMap || peek() instanceof TypedMap)) {
            throw PickleFault.malformed("only dicts have items, not " + CallArguments.describe(peek()));
        }
        if (items.size() % 2 != 0) {
            throw PickleFault.malformed("a key without a value");
        }
        @SuppressWarnings("unchecked")
        Map<@Nullable Object, @Nullable Object> map = peek() instanceof TypedMap object && PythonObjects.is(object)
                ? InertObject.items(object, containers)
                : (Map<@Nullable Object, @Nullable Object>) peek();
        for (int i = 0; i < items.size(); i += 2) {
            containers.put(map, items.get(i), items.get(i + 1));
        }
    }

    private void addItems(List<@Nullable Object> items) {
        if (peek() instanceof TypedMap object && PythonObjects.is(object)) {
            InertObject.add(object, items, containers);
            return;
        }
        if (!(peek() instanceof LinkedHashSet<?>)) {
            throw PickleFault.malformed("only sets can be added to, not " + CallArguments.describe(peek()));
        }
        @SuppressWarnings("unchecked")
        LinkedHashSet<@Nullable Object> set = (LinkedHashSet<@Nullable Object>) peek();
        if (containers.hasObject(items)) {
            replace(set, items);
        } else {
            items.forEach(item -> containers.add(set, item));
        }
    }

    /// Puts an object that contains objects in the place of a set.
    private void replace(Set<@Nullable Object> set, List<@Nullable Object> more) {
        Integer slot = emptySets.getOrDefault(set, NO_SLOT);
        if (slot == MANY_SLOTS) {
            throw PickleFault.because("TORCH-UNSUPPORTED", "a set contains an object that refers to the set",
                    "In Python, save a list in its place");
        }
        containers.charge(set.size());
        TypedMap object = InertObject.ofSet(Globals.SET, set, names, containers);
        InertObject.add(object, more, containers);
        stack[top - 1] = object;
        if (slot != NO_SLOT) {
            memo[slot] = object;
        }
    }

    private void frozenSet(List<@Nullable Object> elements) {
        push(containers.hasObject(elements)
                ? InertObject.ofSet(Globals.FROZENSET, elements, names, containers)
                : new Typed(Globals.FROZENSET, containers.set(elements)));
    }

    // ---- calls ----

    private void stackGlobal() {
        List<@Nullable Object> names = pop(2);
        if (!(names.get(0) instanceof String module && names.get(1) instanceof String name)) {
            throw PickleFault.malformed("a global's name is no string");
        }
        // The same two strings may come again and again.
        budget.takeSteps(module.length() + name.length());
        push(global(module, name));
    }

    private Object global(String module, String name) {
        budget.takeText(module.length() + name.length());
        Object known = Globals.find(module, name);
        if (known != null && !(names.isStrict() && Globals.isOfNumpy(known))) {
            return known;
        }
        if (names.isStrict() && !isClassOfSubclass()) {
            throw PickleFault.global(module + "." + name);
        }
        return names.symbol(module, name, budget);
    }

    /// {@return whether the next value is the second argument of `_rebuild_from_type_v2`} The class of a tensor
    /// subclass is there and is only carried; in every other place of a strict pickle an unknown name is refused at
    /// once.
    private boolean isClassOfSubclass() {
        int floor = floor();
        return openMarks > 0 && top == floor + 1 && floor > 0 && stack[floor - 1] == Globals.REBUILD_FROM_TYPE;
    }

    private Symbol extension(long code) {
        if (names.isStrict()) {
            throw PickleFault.global("extension " + code);
        }
        return names.extension(code, budget);
    }

    /// @param recordedAs the attribute of an inert object that has the arguments
    private void reduce(String recordedAs) throws IOException {
        require(2);
        Object arguments = pop();
        Object callable = pop();
        Globals.Function function = Globals.function(callable);
        if (function != null && arguments instanceof Tuple values) {
            budget.takeMemory(ReadBudget.TENSOR);
            budget.takeSteps(values.size());
            push(called(function, callable, values));
            return;
        }
        Object known = !names.isStrict() && callable instanceof Symbol symbol && arguments instanceof Tuple values
                ? calls.call(symbol, values)
                : null;
        if (known != null) {
            push(known);
            return;
        }
        boolean hasArguments = arguments instanceof Tuple || PythonObjects.is(arguments);
        if (!hasArguments || !isRecorded(callable)) {
            throw notCalled(callable, arguments);
        }
        TypedMap object = InertObject.of(callable, names, budget);
        if (arguments instanceof Tuple values && recordedAs.equals(InertObject.ARGUMENTS)) {
            names.call(callable, values, budget);
        }
        if (recordedAs.equals(InertObject.ARGUMENTS) || !(arguments instanceof Tuple none && none.isEmpty())) {
            InertObject.set(object, recordedAs, arguments, budget);
            InertObject.describe(object, budget);
        }
        push(object);
    }

    private static PickleFault notCalled(@Nullable Object callable, @Nullable Object arguments) {
        return callable instanceof Symbol symbol && !Globals.isKnown(symbol)
                ? PickleFault.global(symbol.name())
                : PickleFault.malformed("only functions can be called with tuples, not "
                        + CallArguments.describe(callable) + " with " + CallArguments.describe(arguments));
    }

    /// {@return whether a call of something is recorded}
    private boolean isRecorded(@Nullable Object callable) {
        return !names.isStrict() && (callable instanceof Symbol || PythonObjects.is(callable));
    }

    /// A function that does not take an inert object is not called with it; then the call is recorded.
    private @Nullable Object called(Globals.Function function, @Nullable Object callable, Tuple values) {
        try {
            return function.call(values, containers);
        } catch (PickleFault refused) {
            if (names.isStrict() || !(InertObject.isIn(values, budget) || isSetOfObjects(function, values))) {
                throw refused;
            }
            Typed distributed = function.name().equals(TensorRebuilder.FROM_TYPE)
                    ? DistributedTensor.of(values, names, containers)
                    : null;
            if (distributed != null) {
                return distributed;
            }
            TypedMap object = InertObject.of(callable, names, budget);
            InertObject.set(object, InertObject.ARGUMENTS, values, budget);
            return object;
        }
    }

    private boolean isSetOfObjects(Globals.Function function, Tuple values) {
        return (function.name().equals(Globals.SET) || function.name().equals(Globals.FROZENSET))
                && values.size() == 1 && values.getFirst() instanceof List<?> elements
                && containers.hasObject(elements);
    }

    /// Makes an object of a class with arguments by position and by keyword.
    private void newObject() throws IOException {
        require(3);
        Object keywords = pop();
        if (keywords instanceof Map<?, ?> none && none.isEmpty() && !PythonObjects.is(keywords)) {
            reduce(InertObject.NEW_ARGUMENTS);
            return;
        }
        Object arguments = pop();
        Object callable = pop();
        if (!isRecorded(callable)) {
            throw notCalled(callable, arguments);
        }
        TypedMap object = InertObject.of(callable, names, budget);
        InertObject.set(object, InertObject.NEW_ARGUMENTS, arguments, budget);
        InertObject.set(object, InertObject.KEYWORDS, keywords, budget);
        push(object);
    }

    /// Makes an object of the class behind the last mark, with the arguments behind it.
    private void object() throws IOException {
        List<@Nullable Object> values = popToMark();
        if (values.isEmpty()) {
            throw PickleFault.malformed("the stack lacks a class");
        }
        instance(values.getFirst(), new Tuple(values.subList(1, values.size())));
    }

    /// Without arguments, Python calls the method `__new__` of a class only.
    private void instance(@Nullable Object callable, Tuple arguments) throws IOException {
        budget.takeMemory(ReadBudget.CONTAINER);
        push(callable);
        push(arguments);
        reduce(arguments.isEmpty() ? InertObject.NEW_ARGUMENTS : InertObject.ARGUMENTS);
    }

    /// An id that names no storage is recorded.
    private void persistent(@Nullable Object id) {
        budget.takeMemory(ReadBudget.TENSOR);
        try {
            push(references.find(id));
            referAgain(peek());
        } catch (PickleFault refused) {
            if (names.isStrict() || !namesNoStorage(id)) {
                throw refused;
            }
            TypedMap reference = new TypedMap(InertObject.REFERENCE);
            InertObject.set(reference, InertObject.ID, id, budget);
            push(reference);
        }
    }

    private boolean namesNoStorage(@Nullable Object id) {
        return id instanceof Tuple parts
                ? !parts.isEmpty() && (!"storage".equals(parts.getFirst()) || InertObject.isIn(parts, budget))
                : PythonObjects.is(id);
    }

    private void build() {
        require(2);
        Object state = pop();
        switch (peek()) {
            case UnbuiltObject blank -> {
                Object filled = blank.build(state, containers);
                stack[top - 1] = filled;
                // Not where another value was put since.
                blank.memoSlots().stream().filter(slot -> memo[slot] == blank).forEach(slot -> memo[slot] = filled);
                // If the blank one is on the stack once more, these slots do not refer to it any longer.
                blank.memoSlots().clear();
            }
            case Typed type when containers.arrays().isType(type) -> containers.arrays().setState(type, state);
            case TypedMap object when PythonObjects.is(object) -> {
                InertObject.build(object, state, containers);
                if (PickledArrays.isWrapper(object)) {
                    stack[top - 1] = containers.arrays().wrapped(object, containers);
                }
            }
            case TypedMap map when !map.type().equals(Kind.RECORD.type()) ->
                containers.setAttributes(map.attributes(), state);
            case Typed typed when state instanceof Tuple values ->
                TensorRebuilder.setState(typed, new CallArguments(typed.type() + ".__setstate__", values, containers));
            case Symbol symbol when isRecorded(symbol) -> {
                // The state of a class, not of an object of it.
                TypedMap object = new TypedMap(InertObject.CALL);
                InertObject.set(object, InertObject.CALLABLE, symbol, budget);
                InertObject.set(object, InertObject.STATE, state, budget);
                budget.takeMemory(ReadBudget.CONTAINER);
                stack[top - 1] = object;
            }
            case null, default ->
                throw PickleFault.malformed("no state can be set on " + CallArguments.describe(peek()));
        }
    }

    // ---- stack and memo ----

    private void push(@Nullable Object value) {
        if (top == stack.length) {
            budget.takeMemory(2L * top * ReadBudget.SLOT);
            stack = Arrays.copyOf(stack, 2 * top);
        }
        stack[top++] = value;
    }

    private @Nullable Object pop() {
        require(1);
        return value(stack[--top]);
    }

    /// {@return the value of a state for a value of the pickle}
    private @Nullable Object value(@Nullable Object value) {
        return value instanceof ByteString run ? run.value(budget) : value;
    }

    /// {@return whether the values from a place on are for a function or an array that takes the elements of arrays}
    /// These stay where they are in the file.
    private boolean areElements(int place) {
        Object below = place > 0 && place <= top ? stack[place - 1] : null;
        return below instanceof UnbuiltObject.OfNumpy || Globals.takesElements(below);
    }

    /// {@return the uppermost values, the lowest first}
    private List<@Nullable Object> pop(int count) {
        return values(copyBelow(count));
    }

    private List<@Nullable Object> copyBelow(int count) {
        require(count);
        top -= count;
        return copy(top, top + count);
    }

    private List<@Nullable Object> values(List<@Nullable Object> items) {
        items.replaceAll(this::value);
        return items;
    }

    private @Nullable Object peek() {
        require(1);
        return stack[top - 1];
    }

    private void require(int count) {
        if (top - floor() < count) {
            throw PickleFault.malformed("the stack lacks a value");
        }
    }

    /// POP takes a mark away where there is no value above it.
    private void discard() {
        if (openMarks > 0 && top == floor()) {
            openMarks--;
        } else {
            pop();
        }
    }

    private void mark() {
        if (openMarks == marks.length) {
            budget.takeMemory(2L * openMarks * Integer.BYTES);
            marks = Arrays.copyOf(marks, 2 * openMarks);
        }
        marks[openMarks++] = top;
    }

    /// {@return how high the stack was at the last mark}
    private int floor() {
        return openMarks == 0 ? 0 : marks[openMarks - 1];
    }

    private List<@Nullable Object> popToMark() {
        return values(copyToMark());
    }

    private List<@Nullable Object> copyToMark() {
        if (openMarks == 0) {
            throw PickleFault.malformed("the stack lacks a mark");
        }
        int count = top - floor();
        budget.takeMemory(2L * count * ReadBudget.SLOT);
        budget.takeSteps(count);
        List<@Nullable Object> items = copy(floor(), top);
        top = floor();
        openMarks--;
        return items;
    }

    private List<@Nullable Object> copy(int from, int to) {
        return Arrays.asList(Arrays.copyOfRange(stack, from, to));
    }

    private void memoize(long slot) {
        // A pickle writes at least one byte for every slot, so this bounds the memo.
        if (slot >= Math.min(input.size(), MOST_SLOTS)) {
            throw PickleFault.malformed("memo slot " + slot + " in a pickle of " + input.size() + " bytes");
        }
        int index = (int) slot;
        if (index >= memo.length) {
            int length = Math.max(2 * memo.length, index + 1);
            budget.takeMemory(length * ReadBudget.SLOT);
            memo = Arrays.copyOf(memo, length);
        }
        Object value = peek();
        if (memo[index] == null) {
            memoized++;
        }
        memo[index] = value == null ? NONE : value;
        if (value instanceof UnbuiltObject blank) {
            budget.takeMemory(ReadBudget.NUMBER);
            blank.memoSlots().add(index);
        }
        if (value instanceof LinkedHashSet<?> set && set.isEmpty()) {
            budget.takeMemory(ReadBudget.ENTRY);
            emptySets.merge(set, index, (_, _) -> MANY_SLOTS);
        }
    }

    private @Nullable Object remembered(long slot) {
        Object value = slot < memo.length ? memo[(int) slot] : null;
        if (value == null) {
            throw PickleFault.malformed("nothing was put into memo slot " + slot);
        }
        referAgain(value);
        return value == NONE ? null : value;
    }

    /// Takes note of another reference to a value.
    private void referAgain(@Nullable Object value) {
        if (value instanceof Symbol symbol) {
            names.refer(symbol);
        } else if (value instanceof Tuple tuple && tuple.size() == DangerousNames.OF_SETTER.size()) {
            // The arguments of a call, perhaps. Longer ones may be referred to very often.
            tuple.forEach(each -> {
                if (each instanceof Symbol symbol) {
                    names.refer(symbol);
                }
            });
        } else if (value instanceof TypedMap made && DangerousNames.isSetter(made)) {
            names.refer(DangerousNames.DILL);
        } else if (value instanceof LinkedHashSet<?> set && set.isEmpty()) {
            emptySets.put(set, MANY_SLOTS);
        }
    }
}
