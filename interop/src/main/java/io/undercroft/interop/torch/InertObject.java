package io.undercroft.interop.torch;

import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.TypedMap;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
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
/// | `callable` | of a call of something that is no class by name: that |
/// | `id` | of a reference to something outside the pickle: its persistent id |
final class InertObject {
    /// What the types of these nodes begin with.
    static final String TYPE = "python:";
    /// The type of a call of an object, or of an object whose class is one.
    static final String CALL = "python:call";
    /// The type of a reference to something outside the pickle.
    static final String REFERENCE = "python:persistent_id";

    static final String ARGUMENTS = "arguments";
    static final String NEW_ARGUMENTS = "new_arguments";
    static final String KEYWORDS = "keywords";
    static final String ITEMS = "items";
    static final String ELEMENTS = "elements";
    static final String STATE = "state";
    static final String CALLABLE = "callable";
    static final String ID = "id";

    /// The key of the items of a dict whose keys are objects, as a list of pairs: no key of a state can be an object.
    static final Symbol OBJECT_KEYS = new Symbol("python:object_keys");

    private InertObject() {}

    /// {@return whether a value is such an object}
    static boolean is(@Nullable Object value) {
        return value instanceof TypedMap map && map.type().startsWith(TYPE);
    }

    /// {@return the name of the class of an object, as [ForeignNames] has it}
    static String className(TypedMap object) {
        return object.type().substring(TYPE.length());
    }

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

    /// Sets the state of an object.
    static void build(TypedMap object, @Nullable Object state, Containers containers) {
        boolean isDict = object.attributes().containsKey(ITEMS);
        if (isDict || is(state) || !(state instanceof Map<?, ?> map) || map.isEmpty()) {
            set(object, STATE, state, containers.budget());
            return;
        }
        containers.charge(map.size());
        map.forEach((key, value) -> containers.put(object, key, value));
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
        if (!(object.attributes().get(ELEMENTS) instanceof ArrayList<?>)) {
            requireNone(object);
            budget.takeMemory(ReadBudget.CONTAINER);
            set(object, ELEMENTS, new ArrayList<>(), budget);
        }
        budget.takeMemory(elements.size() * ReadBudget.SLOT);
        @SuppressWarnings("unchecked")
        ArrayList<@Nullable Object> list = (ArrayList<@Nullable Object>) object.attributes().get(ELEMENTS);
        if (list != null) {
            list.addAll(elements);
        }
    }

    /// Adds elements to an object that is a set.
    static void add(TypedMap object, List<@Nullable Object> elements, Containers containers) {
        if (!(object.attributes().get(ELEMENTS) instanceof LinkedHashSet<?>)) {
            requireNone(object);
            containers.budget().takeMemory(ReadBudget.CONTAINER);
            set(object, ELEMENTS, new LinkedHashSet<>(), containers.budget());
        }
        @SuppressWarnings("unchecked")
        LinkedHashSet<@Nullable Object> set = (LinkedHashSet<@Nullable Object>) object.attributes().get(ELEMENTS);
        if (set != null) {
            elements.forEach(element -> containers.add(set, element));
        }
    }

    private static void requireNone(TypedMap object) {
        if (object.attributes().containsKey(ELEMENTS)) {
            throw PickleFault.malformed(Arguments.describe(object) + " has elements of a list and of a set");
        }
    }

    /// {@return whether a value is an object, or a constant that is not in the table}
    private static boolean isForeign(@Nullable Object value) {
        return is(value) || (value instanceof Symbol symbol && !Globals.isKnown(symbol));
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
