package io.undercroft.serializer.internal.graph;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.StateClasses;
import java.time.chrono.ChronoLocalDate;
import java.util.LinkedHashSet;
import java.util.SequencedSet;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// The exceptions for objects that cannot be saved or loaded. Callers prepend the path of the object.
final class ObjectFaults {
    /// The code of a class that is not registered.
    static final String CLASS = "CROFT-CLASS";
    /// The code of an object that cannot be made of what was saved.
    static final String OBJECT = "CROFT-OBJECT";

    private static final String TENSORS_STAY = "its tensors can be read by name all the same";

    /// The maximum number of classes that a message names.
    static final int MOST_NAMED = 30;

    private ObjectFaults() {}

    /// {@return the exception for a class that cannot be saved}
    ///
    /// @param type a class that is not registered, or an array of such
    static IllegalArgumentException unregistered(Class<?> type) {
        return unregistered(new LinkedHashSet<>(Set.of(type)));
    }

    /// {@return the exception for classes that cannot be saved}
    ///
    /// @param types classes that are not registered, or arrays of such; the first one is where saving stopped
    static IllegalArgumentException unregistered(SequencedSet<Class<?>> types) {
        Class<?> type = types.getFirst();
        String instead = ChronoLocalDate.class.isAssignableFrom(type)
                ? "java.time.LocalDate"
                : "maps, lists, plain values and tensors";
        if (type == Checkpoint.class) {
            return new IllegalArgumentException("a Checkpoint is an open file and not a state; save its tree(), with "
                    + "its metadata() in the options");
        }
        String classes = types.stream().map(ObjectFaults::elementOf)
                .filter(known -> known == elementOf(type) || isRegistrable(known)).distinct()
                .map(known -> known.getCanonicalName() == null ? "…" : known.getSimpleName() + ".class")
                .collect(Collectors.joining(", "));
        return new IllegalArgumentException("a value of type " + type.getTypeName()
                + " cannot be in a state unless its class is registered: pass StateClasses.of(" + classes
                + ") to the options, with the other classes; or use " + instead);
    }

    /// {@return whether a class may be one of a program, which it can register}
    ///
    /// @param type a class or an array
    static boolean isRegistrable(Class<?> type) {
        Class<?> element = elementOf(type);
        return !element.getName().startsWith("java.") && !element.isHidden() && element != Checkpoint.class;
    }

    private static Class<?> elementOf(Class<?> type) {
        return type.isArray() ? elementOf(type.componentType()) : type;
    }

    /// {@return the exception for a node whose class is not registered}
    ///
    /// @param name the name of the class
    static FormatException unknown(String name) {
        return new FormatException(CLASS, "is a " + FormatException.quote(name) + ", which is not registered",
                FormatException.NO_OFFSET,
                "Register it: OpenOptions.classes(StateClasses.of(…)); if it was renamed, with StateClasses.formerly; "
                        + TENSORS_STAY);
    }

    /// {@return the exception for a node whose class is not registered, with the other such classes}
    ///
    /// @param unknown the exception without them
    /// @param others their quoted names
    static FormatException unknown(FormatException unknown, SequencedSet<String> others) {
        if (others.isEmpty()) {
            return unknown;
        }
        return new FormatException(CLASS,
                "%s; nor %s %s%s".formatted(unknown.what(), others.size() == 1 ? "is" : "are",
                        others.stream().limit(MOST_NAMED).collect(Collectors.joining(", ")),
                        others.size() > MOST_NAMED ? ", …" : ""),
                unknown.offset(), "Register all of them: OpenOptions.classes(StateClasses.of(…)); those that were "
                        + "renamed, with StateClasses.formerly; " + TENSORS_STAY);
    }

    /// {@return the exception for an object whose class has changed}
    ///
    /// @param what the problem, as a predicate of "the state"
    /// @param remedy the remedy
    static FormatException changed(String what, String remedy) {
        return new FormatException(OBJECT, what, FormatException.NO_OFFSET, remedy);
    }

    /// {@return the exception for a node that no writer makes}
    ///
    /// @param what the problem, as a predicate of "the state"
    static FormatException damaged(String what) {
        return changed(what, "The file was made by something else; " + TENSORS_STAY);
    }

    /// {@return the exception for a node with fields in bytes of Kryo, which versions before the first release wrote}
    static FormatException unsupported() {
        return changed("has fields in bytes of Kryo (the attribute kryo), which this version does not support",
                "Save the state again; " + TENSORS_STAY);
    }

    /// {@return the exception for an object whose class throws when it is made}
    ///
    /// @param what the operation, as a predicate of "the state"
    /// @param cause the exception of the class
    static FormatException failed(String what, @Nullable Throwable cause) {
        return new FormatException(OBJECT, what + ": " + FormatException.quote(String.valueOf(cause)),
                FormatException.NO_OFFSET, "Check the requirements of the class; " + TENSORS_STAY,
                cause == null ? new IllegalStateException(what) : cause);
    }

    /// {@return the problem and its place}
    ///
    /// @param place the path of a value
    /// @param refused without a place
    static FormatException at(String place, FormatException refused) {
        return new FormatException(refused.code(), place + " " + refused.what(), refused.offset(), refused.remedy(),
                refused);
    }
}
