package io.undercroft.interop.torch;

import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.TypedMap;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// An object of a class that is not in the table [Globals]: what the pickle says of it, and nothing more. It is a
/// [TypedMap] whose type is `python:` and the name of the class.
///
/// Its entries are what BUILD sets, usually the attributes of the object in Python; of a subclass of `dict` with items,
/// they are the items, and the attribute `items` is true. Its attributes are what else the pickle says:
///
/// | attribute | |
/// |---|---|
/// | `arguments` | what the class or function was called with; missing if the object was made without a call |
/// | `new_arguments` | what the method `__new__` of the class was called with, if anything |
/// | `keywords` | the same by keyword |
/// | `items` | true if the entries are the items of a `dict` |
/// | `elements` | the elements of a `list` or `set` |
/// | `state` | what BUILD sets if it is no map, if it is empty, or next to items |
/// | `base`, `value` | of protocols 0 and 1: the class of Python's own that it was made by, and of what |
/// | `text` | of Python's own dates, times, decimals, UUIDs and paths: the text of [ObjectText] |
/// | `callable` | of a call of something that is no class by name: that |
/// | `array` | of an object of a subclass of NumPy's arrays: the array |
/// | `mask`, `fill_value` | of a masked array: where it has no values, and what it is filled with there |
/// | `id` | of a reference to something outside the pickle: its persistent id |
final class InertObject {
    /// The type of a call of an object, or of an object whose class is one.
    static final String CALL = PythonObjects.TYPE + "call";
    /// The type of a reference to something outside the pickle.
    static final String REFERENCE = PythonObjects.TYPE + "persistent_id";

    static final String ARGUMENTS = "arguments";
    static final String NEW_ARGUMENTS = "new_arguments";
    static final String KEYWORDS = "keywords";
    static final String ITEMS = "items";
    static final String ELEMENTS = "elements";
    static final String STATE = "state";
    static final String BASE = "base";
    static final String VALUE = "value";
    static final String TEXT = "text";
    static final String CALLABLE = "callable";
    static final String ID = "id";
    static final String ARRAY = "array";
    static final String MASK = "mask";
    static final String FILL_VALUE = "fill_value";
    /// All attributes that an object can have.
    static final Set<String> ATTRIBUTES = Set.of(ARGUMENTS, NEW_ARGUMENTS, KEYWORDS, ITEMS, ELEMENTS, STATE, BASE,
            VALUE,
            TEXT, CALLABLE, ID, ARRAY, MASK, FILL_VALUE);

    /// The key of the items of a dict whose keys are objects, as a list of pairs: no key of a state can be an object.
    static final Symbol OBJECT_KEYS = new Symbol("python:object_keys");

    private InertObject() {}

    /// Makes an object.
    ///
    /// @param callable a class, a function or an object
    /// @param names counts it
    static TypedMap of(@Nullable Object callable, ForeignNames names, ReadBudget budget) {
        budget.takeMemory(ReadBudget.CONTAINER);
        if (callable instanceof Symbol symbol) {
            return new TypedMap(names.typeOf(symbol.name(), budget));
        }
        TypedMap call = new TypedMap(CALL);
        set(call, CALLABLE, callable, budget);
        return call;
    }

    /// Sets what the pickle says of an object.
    static void set(TypedMap object, String attribute, @Nullable Object value, ReadBudget budget) {
        budget.takeMemory(2 * ReadBudget.ENTRY);
        object.attributes().put(attribute, value);
    }

    /// Makes an object of a class of sets, whose elements may be objects: a set of a state has none, as it compares its
    /// elements.
    ///
    /// @param type the name of the class
    /// @param elements in order
    static TypedMap ofSet(String type, Collection<? extends @Nullable Object> elements, ForeignNames names,
            Containers containers) {
        TypedMap object = of(new Symbol(type), names, containers.budget());
        containers.budget().takeMemory(ReadBudget.CONTAINER + elements.size() * ReadBudget.SLOT);
        set(object, ARGUMENTS, Tuple.of(new ArrayList<>(elements)), containers.budget());
        return object;
    }

    /// Sets the text of an object that is to be shown as one.
    static void describe(TypedMap object, ReadBudget budget) {
        String text = ObjectText.of(object, budget);
        if (text != null) {
            budget.takeText(text.length());
            set(object, TEXT, text, budget);
        }
    }

    /// Sets the state of an object.
    static void build(TypedMap object, @Nullable Object state, Containers containers) {
        boolean isDict = object.attributes().containsKey(ITEMS);
        if (isDict || PythonObjects.is(state) || !(state instanceof Map<?, ?> map) || map.isEmpty()) {
            set(object, STATE, state, containers.budget());
            return;
        }
        containers.charge(map.size());
        map.forEach((key, value) -> containers.put(object, key, value));
        describe(object, containers.budget());
    }

    /// {@return where the items of an object go that is a dict} Entries that are there are its state.
    static Map<@Nullable Object, @Nullable Object> items(TypedMap object, Containers containers) {
        if (!object.attributes().containsKey(ITEMS)) {
            if (!object.isEmpty()) {
                containers.charge(object.size());
                containers.budget().takeMemory(ReadBudget.CONTAINER + object.size() * ReadBudget.ENTRY);
                set(object, STATE, new LinkedHashMap<>(object), containers.budget());
                object.clear();
            }
            set(object, ITEMS, true, containers.budget());
        }
        return object;
    }

    /// Appends elements to an object that is a list.
    static void append(TypedMap object, List<@Nullable Object> elements, ReadBudget budget) {
        budget.takeMemory(elements.size() * ReadBudget.SLOT);
        begin(object, new ArrayList<@Nullable Object>(), budget).addAll(elements);
    }

    /// Adds elements to an object that is a set.
    static void add(TypedMap object, List<@Nullable Object> elements, Containers containers) {
        if (object.attributes().get(ARGUMENTS) instanceof Tuple parts && parts.size() == 1
                && parts.getFirst() instanceof ArrayList<?> && PythonObjects.className(object).equals(Globals.SET)) {
            containers.budget().takeMemory(elements.size() * ReadBudget.SLOT);
            @SuppressWarnings("unchecked")
            List<@Nullable Object> list = (List<@Nullable Object>) parts.getFirst();
            list.addAll(elements);
            return;
        }
        Set<@Nullable Object> set = begin(object, new LinkedHashSet<@Nullable Object>(), containers.budget());
        elements.forEach(element -> containers.add(set, element));
    }

    /// {@return the elements of an object, to which more are added}
    ///
    /// @param empty what they are in at first
    private static <C extends Collection<@Nullable Object>> C begin(TypedMap object, C empty, ReadBudget budget) {
        Object existing = object.attributes().get(ELEMENTS);
        if (existing == null) {
            budget.takeMemory(ReadBudget.CONTAINER);
            set(object, ELEMENTS, empty, budget);
            return empty;
        }
        if (existing.getClass() != empty.getClass()) {
            throw PickleFault.malformed(CallArguments.describe(object) + " has elements of a list and of a set");
        }
        @SuppressWarnings("unchecked")
        C elements = (C) existing;
        return elements;
    }

    /// {@return whether a value is an object, or a constant that is not in the table}
    private static boolean isForeign(@Nullable Object value) {
        return PythonObjects.is(value) || (value instanceof Symbol symbol && !Globals.isKnown(symbol));
    }

    /// {@return whether a function may be called with objects: an argument is one, or a list of which an element is}
    static boolean isIn(Tuple arguments, ReadBudget budget) {
        for (Object argument : arguments) {
            if (isForeign(argument)) {
                return true;
            }
            if (argument instanceof List<?> list) {
                budget.takeSteps(list.size());
                for (Object element : list) {
                    if (isForeign(element)) {
                        return true;
                    }
                }
            }
        }
        return false;
    }
}
