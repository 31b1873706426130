package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.StateToken;
import io.undercroft.format.internal.StateTreeReader;
import io.undercroft.serializer.internal.graph.HashBudget;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Makes the objects of a state out of its tree.
///
/// A container is made when it opens, so that what lies in it may refer to it, and handed to its parent when it is
/// complete, so that a tuple can be a key. Open containers are on a stack of [Frame]s; nothing recurses.
final class StateDecoder {
    /// What the numbers in a tree stand for; each method throws [FormatException] for a number that the file does not
    /// have.
    interface Tables {
        Tensor tensor(int number);

        Storage storage(int number);

        DType dtype(int number);
    }

    /// An open container.
    private interface Frame {
        /// The container, to be handed to its parent.
        @Nullable
        Object object();

        /// Ends the container.
        default void complete() {}

        /// Takes the next value in it.
        void add(@Nullable Object value);
    }

    /// A power of two.
    private static final int TEXTS = 1 << 10;

    private final StateTreeReader in;
    private final Tables tables;
    private final TreeCost cost;
    private final HashBudget budget = new HashBudget();
    /// Texts that were read last, by their hashes: one that comes again is one string in memory.
    private final @Nullable String[] texts = new @Nullable String[TEXTS];
    private final List<@Nullable Object> containers = new ArrayList<>();
    private final Deque<Frame> open = new ArrayDeque<>();

    private StateDecoder(StateTreeReader in, Tables tables, TreeCost cost) {
        this.in = in;
        this.tables = tables;
        this.cost = cost;
    }

    /// Decodes a tree.
    ///
    /// @param in at its start
    /// @param tables what its numbers stand for
    /// @param cost what charges for it
    /// @return the state
    /// @throws FormatException if the tree breaks a rule, or takes more memory than its size justifies
    static @Nullable Object decode(StateTreeReader in, Tables tables, TreeCost cost) {
        return new StateDecoder(in, tables, cost).decode();
    }

    private @Nullable Object decode() {
        ListFrame root = new ListFrame(new ArrayList<>(1));
        open.push(root);
        for (StateToken token = in.next(); token != StateToken.DONE; token = in.next()) {
            cost.take(in, token);
            switch (token) {
                case LIST, TUPLE, SET, MAP, OBJECT -> open(token);
                case END -> {
                    Frame complete = open.pop();
                    complete.complete();
                    open.element().add(complete.object());
                }
                default -> {
                    if (open.element() instanceof ObjectFrame frame) {
                        frame.expectPlainValue();
                    }
                    open.element().add(plainValue(token));
                }
            }
        }
        return root.object.getFirst();
    }

    private void open(StateToken token) {
        Frame parent = open.element();
        int number = containers.size();
        containers.add(null);
        Frame frame = switch (token) {
            case LIST -> new ListFrame(new ArrayList<>(in.count()));
            case TUPLE -> new TupleFrame(new Tuple.Builder(in.count()));
            case SET -> new SetFrame(in.count());
            case MAP -> parent instanceof ObjectFrame object
                    ? object.openMap()
                    : new MapFrame(LinkedHashMap.newLinkedHashMap(in.count()), in.count());
            default -> new ObjectFrame(number, in.text());
        };
        if (parent instanceof ObjectFrame object && token != StateToken.MAP) {
            object.expectPlainValue();
        }
        containers.set(number, frame.object());
        open.push(frame);
    }

    private @Nullable Object plainValue(StateToken token) {
        return switch (token) {
            case NULL -> null;
            case BOOLEAN -> in.booleanValue();
            case INTEGER -> in.longValue();
            case INT32 -> (int) in.longValue();
            case INT16 -> (short) in.longValue();
            case INT8 -> (byte) in.longValue();
            case BIG_INTEGER -> in.bigIntegerValue();
            case FLOAT -> in.doubleValue();
            case FLOAT32 -> in.floatValue();
            case COMPLEX -> new Complex(in.doubleValue(), in.imaginaryValue());
            case STRING -> text();
            case BYTES -> bytes();
            case TENSOR -> tables.tensor(in.index());
            case STORAGE -> storage();
            case DTYPE -> tables.dtype(in.index());
            case DEVICE -> device();
            case SHAPE -> shape();
            case SYMBOL -> new Symbol(in.text());
            case REFERENCE -> containers.get(in.index());
            case LIST, TUPLE, SET, MAP, OBJECT, END, DONE ->
                throw new IllegalStateException(token + " is no plain value");
        };
    }

    /// Not by toArray, which makes five objects: a tree may have half a million of them.
    private byte[] bytes() {
        byte[] copy = new byte[Math.toIntExact(in.length())];
        MemorySegment.copy(in.bytes(), ValueLayout.JAVA_BYTE, 0, copy, 0, copy.length);
        return copy;
    }

    private String text() {
        if (in.length() == 0) {
            return "";
        }
        String text = in.text();
        int slot = text.hashCode() & (TEXTS - 1);
        String known = texts[slot];
        if (text.equals(known)) {
            return known;
        }
        texts[slot] = text;
        return text;
    }

    private Object storage() {
        Storage storage = tables.storage(in.index());
        if (in.storageDType() < 0) {
            return storage;
        }
        DType dtype = tables.dtype(in.storageDType());
        try {
            return new TypedStorage(storage, dtype);
        } catch (IllegalArgumentException e) {
            throw malformed("has a typed storage of which " + e.getMessage());
        }
    }

    private Device device() {
        try {
            return Device.parse(in.text());
        } catch (IllegalArgumentException _) {
            throw malformed("has the device '" + FormatException.quote(in.text()) + "'");
        }
    }

    private Shape shape() {
        try {
            return Shape.of(in.shape());
        } catch (IllegalArgumentException e) {
            throw malformed("has a shape of which " + e.getMessage());
        }
    }

    private FormatException malformed(String what) {
        return Rule.V16_TREE.broken("the state tree " + what, in.offset());
    }

    private record ListFrame(List<@Nullable Object> object) implements Frame {
        @Override
        public void add(@Nullable Object value) {
            object.add(value);
        }
    }

    private record TupleFrame(Tuple.Builder builder) implements Frame {
        @Override
        public Object object() {
            return builder.tuple();
        }

        @Override
        public void add(@Nullable Object value) {
            builder.add(value);
        }
    }

    /// Checks keys, or elements of a set, before they are put into it. Of plain keys of one class those that come twice
    /// show when they are put.
    private void checkKeys(List<@Nullable Object> keys, String what) {
        if (keys.isEmpty()) {
            return;
        }
        budget.check(keys).ifPresent(wrong -> {
            throw switch (wrong) {
                case NO_KEY -> malformed("has " + what + " that cannot be one");
                case TWICE -> twice(what);
                case TOO_MUCH -> new FormatException("CROFT-KEYS", "the state tree has a map or set of " + keys.size()
                        + " keys, of which too many would be compared with each other", in.offset(),
                        "The file was made to be slow; its tensors can be read by name all the same");
            };
        });
    }

    private FormatException twice(String what) {
        return malformed("has " + what + " twice");
    }

    private final class SetFrame implements Frame {
        private static final String WHAT = "a set with an element";

        private final Set<@Nullable Object> set;
        private final List<@Nullable Object> elements;

        SetFrame(int count) {
            this.set = LinkedHashSet.newLinkedHashSet(count);
            this.elements = new ArrayList<>(count);
        }

        @Override
        public Object object() {
            return set;
        }

        @Override
        public void add(@Nullable Object value) {
            elements.add(value);
        }

        @Override
        public void complete() {
            checkKeys(elements, WHAT);
            set.addAll(elements);
            if (set.size() < elements.size()) {
                throw twice(WHAT);
            }
        }
    }

    private class MapFrame implements Frame {
        private static final String WHAT = "a map with a key";

        private final Map<@Nullable Object, @Nullable Object> map;
        private final List<@Nullable Object> keys;
        private final List<@Nullable Object> values;

        MapFrame(Map<@Nullable Object, @Nullable Object> map, int count) {
            this.map = map;
            this.keys = new ArrayList<>(count);
            this.values = new ArrayList<>(count);
        }

        @Override
        public Object object() {
            return map;
        }

        @Override
        public void add(@Nullable Object value) {
            (keys.size() > values.size() ? values : keys).add(value);
        }

        @Override
        public void complete() {
            check(keys);
            for (int i = 0; i < keys.size(); i++) {
                map.put(keys.get(i), values.get(i));
            }
            if (map.size() < keys.size()) {
                throw twice(WHAT);
            }
        }

        void check(List<@Nullable Object> candidates) {
            checkKeys(candidates, WHAT);
        }
    }

    /// Attributes have names, so their keys are strings.
    private final class AttributesFrame extends MapFrame {
        @SuppressWarnings("unchecked")
        AttributesFrame(Map<String, @Nullable Object> attributes, int count) {
            super((Map<@Nullable Object, @Nullable Object>) (Map<?, ?>) attributes, count);
        }

        @Override
        void check(List<@Nullable Object> candidates) {
            if (!candidates.stream().allMatch(String.class::isInstance)) {
                throw malformed("has an attribute whose name is no string");
            }
            super.check(candidates);
        }
    }

    /// An object: first its value, then its attributes. If the value is a map, the object is a [TypedMap] and both are
    /// one; else it is a [Typed].
    private final class ObjectFrame implements Frame {
        private final int number;
        private final String type;
        private @Nullable TypedMap typedMap;
        private @Nullable Typed typed;
        private boolean valueRead;

        ObjectFrame(int number, String type) {
            this.number = number;
            this.type = type;
        }

        @Override
        public @Nullable Object object() {
            return typedMap != null ? typedMap : typed;
        }

        /// A map comes: the value's entries go straight into the object, and the attributes into its attributes.
        MapFrame openMap() {
            if (valueRead) {
                return new AttributesFrame(
                        typedMap != null ? typedMap.attributes() : Objects.requireNonNull(typed).attributes(),
                        in.count());
            }
            typedMap = new TypedMap(type);
            containers.set(number, typedMap);
            return new MapFrame(typedMap, in.count());
        }

        /// Something else comes: the object must be there before it, in case it refers to the object.
        void expectPlainValue() {
            if (!valueRead) {
                typed = new Typed(type, null);
                containers.set(number, typed);
            }
        }

        @Override
        public void add(@Nullable Object value) {
            if (!valueRead && typed != null) {
                if (value instanceof Map) {
                    throw malformed("has an object whose value is a map of another object");
                }
                typed.value(value);
            }
            valueRead = true;
        }
    }
}
