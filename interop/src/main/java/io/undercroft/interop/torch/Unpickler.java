package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.Utf8;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/// Runs a pickle: a program for a stack machine that builds Python values, and here the Java values that stand for
/// them.
///
/// It never recurses, never looks up a class, and charges what it makes and does to a [ReadBudget]. What a pickle may
/// call is in [Globals]; what it may refer to outside itself, the function `persistent` decides. Made for one pickle
/// and one thread.
final class Unpickler {
    private static final int HIGHEST_PROTOCOL = 5;
    /// Python has no limit, but no real pickle has longer integers.
    private static final long LONGEST_INTEGER = 4096;
    /// The longest line of text that is read, in bytes.
    static final int LONGEST_LINE = 256;
    /// Represents in the memo Python's None, as null there means that nothing was put.
    private static final Object NONE = new Object();

    private final ByteReader in;
    private final Function<@Nullable Object, ? extends @Nullable Object> persistent;
    private final Containers containers;
    private final ReadBudget budget;

    private @Nullable Object[] stack = new @Nullable Object[64];
    private int top;
    /// For each open MARK, how high the stack was.
    private int[] marks = new int[16];
    private int openMarks;
    private @Nullable Object[] memo = new @Nullable Object[64];
    private int memoized;

    /// @param pickle the pickle; other bytes may follow
    /// @param persistent gives what a persistent id refers to; throws [PickleFault]
    /// @param budget what running the pickle may cost
    /// @param file the name of the file that the pickle is in
    Unpickler(MemorySegment pickle, Function<@Nullable Object, ? extends @Nullable Object> persistent,
            ReadBudget budget, String file) {
        this.in = new ByteReader(pickle, (due, _, left) -> PickleFault.malformed("the pickle ends too early: "
                + Long.toUnsignedString(due) + " bytes are due and " + left + " are left"));
        this.persistent = persistent;
        this.containers = new Containers(pickle.byteSize(), budget, file);
        this.budget = budget;
    }

    /// Runs the pickle.
    ///
    /// @param base where in the file the pickle starts, or [FormatException#NO_OFFSET] if it is compressed there
    /// @return what it builds
    /// @throws FormatException if it is malformed or uses anything that is not in the table
    @Nullable
    Object run(long base) {
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
                String place = (opcode == null ? "" : ", opcode " + opcode)
                        + (base >= 0 ? "" : " at byte " + start + " of the uncompressed pickle");
                throw refused.at(place, base >= 0 ? base + start : FormatException.NO_OFFSET);
            } catch (IOException e) {
                throw new AssertionError("a pickle in memory is read without I/O", e);
            }
        }
    }

    /// {@return how many bytes of the pickle have been read}
    long position() {
        return in.position();
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
            case BINFLOAT -> push(number(Double.longBitsToDouble(Long.reverseBytes(in.i64()))));
            case BINUNICODE -> push(utf8(charged(in.u32())));
            case SHORT_BINUNICODE -> push(utf8(charged(in.u8())));
            case BINUNICODE8 -> push(utf8(charged(in.i64())));
            case BINSTRING -> push(python2String(in.i32()));
            case SHORT_BINSTRING -> push(python2String(in.u8()));
            case BINBYTES -> push(in.bytes(charged(in.u32())));
            case SHORT_BINBYTES -> push(in.bytes(charged(in.u8())));
            case BINBYTES8 -> push(in.bytes(charged(in.i64())));
            case BYTEARRAY8 -> {
                budget.takeMemory(ReadBudget.CONTAINER);
                push(new Typed(Globals.BYTEARRAY, in.bytes(charged(in.i64()))));
            }

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
            case DUP -> push(peek());
            case BINPUT -> memoize(in.u8());
            case LONG_BINPUT -> memoize(in.u32());
            case MEMOIZE -> memoize(memoized);
            case BINGET -> push(remembered(in.u8()));
            case LONG_BINGET -> push(remembered(in.u32()));

            case GLOBAL -> push(global(line(), line()));
            case STACK_GLOBAL -> stackGlobal();
            case REDUCE, NEWOBJ -> reduce();
            case BUILD -> build();
            case BINPERSID -> {
                budget.takeMemory(ReadBudget.TENSOR);
                push(persistent.apply(pop()));
            }
        }
    }

    private void container(Opcode opcode) {
        switch (opcode) {
            case EMPTY_TUPLE -> push(Tuple.of());
            case TUPLE1 -> push(new Tuple(pop(1)));
            case TUPLE2 -> push(new Tuple(pop(2)));
            case TUPLE3 -> push(new Tuple(pop(3)));
            case TUPLE -> push(new Tuple(popToMark()));
            case EMPTY_LIST -> push(new ArrayList<>());
            case LIST -> push(new ArrayList<>(popToMark()));
            case EMPTY_DICT -> push(new LinkedHashMap<>());
            case DICT -> dict();
            case EMPTY_SET -> push(new LinkedHashSet<>());
            case FROZENSET -> push(new Typed(Globals.FROZENSET, containers.set(popToMark())));
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
        return Utf8.decode(in.bytes(length))
                .orElseThrow(() -> PickleFault.malformed("a string is not valid UTF-8"));
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

    /// Python 2 had one type for text and bytes. As PyTorch does, it is taken as UTF-8 text; what is not stays bytes.
    private Object python2String(long length) throws IOException {
        byte[] bytes = in.bytes(charged(length));
        Optional<String> text = Utf8.decode(bytes);
        return text.isPresent() ? text.get() : bytes;
    }

    // ---- containers ----

    private void append(List<@Nullable Object> items) {
        if (peek() instanceof ArrayList<?>) {
            @SuppressWarnings("unchecked")
            ArrayList<@Nullable Object> list = (ArrayList<@Nullable Object>) peek();
            list.addAll(items);
            return;
        }
        throw PickleFault.malformed("only lists can be appended to, not " + Arguments.describe(peek()));
    }

    private void dict() {
        List<@Nullable Object> items = popToMark();
        push(new LinkedHashMap<>());
        setItems(items);
    }

    private void setItems(List<@Nullable Object> items) {
        if (!(peek() instanceof LinkedHashMap<?, ?> || peek() instanceof TypedMap)) {
            throw PickleFault.malformed("only dicts have items, not " + Arguments.describe(peek()));
        }
        if (items.size() % 2 != 0) {
            throw PickleFault.malformed("a key without a value");
        }
        @SuppressWarnings("unchecked")
        Map<@Nullable Object, @Nullable Object> map = (Map<@Nullable Object, @Nullable Object>) peek();
        for (int i = 0; i < items.size(); i += 2) {
            containers.put(map, items.get(i), items.get(i + 1));
        }
    }

    private void addItems(List<@Nullable Object> items) {
        if (!(peek() instanceof LinkedHashSet<?>)) {
            throw PickleFault.malformed("only sets can be added to, not " + Arguments.describe(peek()));
        }
        @SuppressWarnings("unchecked")
        LinkedHashSet<@Nullable Object> set = (LinkedHashSet<@Nullable Object>) peek();
        items.forEach(item -> containers.add(set, item));
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
        if (known != null) {
            return known;
        }
        if (isClassOfSubclass()) {
            return ForeignClass.of(module, name);
        }
        throw PickleFault.global(module + "." + name);
    }

    /// {@return whether the next value is the second argument of `_rebuild_from_type_v2`} The class of a tensor
    /// subclass is there and is only carried; in every other place an unknown name is refused at once.
    private boolean isClassOfSubclass() {
        int floor = floor();
        return openMarks > 0 && top == floor + 1 && floor > 0 && stack[floor - 1] == Globals.REBUILD_FROM_TYPE;
    }

    private void reduce() {
        List<@Nullable Object> call = pop(2);
        if (call.get(0) instanceof ForeignClass foreign) {
            throw PickleFault.global(foreign.name());
        }
        if (!(call.get(0) instanceof PickleFunction function && call.get(1) instanceof Tuple values)) {
            throw PickleFault.malformed(
                    "only functions can be called with tuples, not " + Arguments.describe(call.get(0)) + " with "
                            + Arguments.describe(call.get(1)));
        }
        budget.takeMemory(ReadBudget.TENSOR);
        budget.takeSteps(values.size());
        push(function.call(values, containers));
    }

    private void build() {
        Object state = pop();
        switch (peek()) {
            case BlankTensor blank -> {
                Object tensor = blank.build(state, containers);
                stack[top - 1] = tensor;
                blank.memoSlots().forEach(slot -> memo[slot] = tensor);
                // If the blank tensor is on the stack once more, these slots do not refer to it any longer.
                blank.memoSlots().clear();
            }
            case TypedMap map -> containers.setAttributes(map.attributes(), state);
            case Typed typed when state instanceof Tuple values ->
                Rebuild.setState(typed, new Arguments(typed.type() + ".__setstate__", values, containers));
            case null, default -> throw PickleFault.malformed("no state can be set on " + Arguments.describe(peek()));
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
        return stack[--top];
    }

    /// {@return the uppermost values, the lowest first}
    private List<@Nullable Object> pop(int count) {
        require(count);
        top -= count;
        return copy(top, top + count);
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
        if (slot >= in.end()) {
            throw PickleFault.malformed("memo slot " + slot + " in a pickle of " + in.end() + " bytes");
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
        if (value instanceof BlankTensor blank) {
            budget.takeMemory(ReadBudget.NUMBER);
            blank.memoSlots().add(index);
        }
    }

    private @Nullable Object remembered(long slot) {
        Object value = slot < memo.length ? memo[(int) slot] : null;
        if (value == null) {
            throw PickleFault.malformed("nothing was put into memo slot " + slot);
        }
        return value == NONE ? null : value;
    }
}
