package io.undercroft.serializer;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.internal.graph.FieldConversion;
import io.undercroft.serializer.internal.graph.JdkValues;
import io.undercroft.storage.CheckReturnValue;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// The classes of a program whose objects may be in its states: records, enums and other classes.
///
/// ```java
/// StateClasses classes = StateClasses.of(TrainerState.class, Optimizer.class, RandomState.class);
/// Checkpoint.save(path, new TrainerState(…), SaveOptions.defaults().classes(classes));
/// try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(classes))) {
///     TrainerState state = c.state(TrainerState.class);
/// }
/// ```
///
/// **What needs no registration:** plain values, tensors and all others of [io.undercroft.serializer.state], the
/// collections of `java.util`, arrays, `Optional`, `BigInteger`, and the values of the JDK, which are saved as text
/// that every language reads: `java.time`, `UUID`, `BigDecimal`, `URI`, `Path`, `Locale` and others. Everything else is
/// refused when it is saved unless it is registered, with a message that names what to use where the JDK has a
/// collection that does the same: a `TreeMap` for a `ConcurrentSkipListMap`. A file never chooses a class: the names in
/// it are looked up only here.
///
/// **How an object is saved.** A record is saved by its components and made by its canonical constructor; an enum
/// constant by its name. An object of any other class is saved by all fields that are not `static` or `transient`, and
/// made by the constructor without parameters, or without a constructor if there is none. Register a class with [a
/// codec][StateCodec] if its fields should not be saved as they are. Registering a sealed class or interface registers
/// all that it permits. The contents of an object, tensors above all, have names as in a map:
/// `optimizer/state/exp_avg`.
///
/// **What loading restores.** An object, list, map, set, array or storage that is referenced twice is loaded as one, in
/// cycles too; strings, `byte[]` and numbers are values without identity. Maps and sets keep their order. `TreeMap`,
/// `EnumMap`, `ArrayDeque` and the like are loaded as the same type; other lists, maps and sets are loaded as
/// `ArrayList`, `LinkedHashMap` and `LinkedHashSet`, immutable ones too. Sorted ones are loaded as `TreeMap` or
/// `TreeSet`. Quantized and sparse tensors are loaded as the nodes that
/// [TensorNodes][io.undercroft.serializer.state.TensorNodes] makes tensors of. An object with a component or field of a
/// type that could not hold the restored value is refused when it is saved. Only a constructor that takes part in a
/// cycle may see a list or map that is still being filled. Containers nest at most 128 deep, where a record or other
/// object of a registered class counts twice.
///
/// **Other programs.** Without these classes, a program can still get every tensor by name, and everything else from
/// [Checkpoint#tree]. Only [Checkpoint#state] needs them.
///
/// **Evolution.** A class that was renamed is found by [its former name][#formerly], or has [an explicit name][#named]
/// in files from the start. A component that was added to a record after a file was written is `Optional.empty()`, or
/// null if it is annotated `@Nullable`, or has [a declared default][#defaulting]; others are refused, with their names.
/// Components and fields that were removed from the class are refused, too, unless [they are
/// ignored][#ignoringUnknown]. Fields that were added keep the values that the constructor set. Use [an
/// upgrader][#upgrading] for all other changes, such as renamed components. A class may become a record, and a record
/// another class, and each may get or lose a codec. Numbers fit any component that can hold them exactly. Constants of
/// enums are matched by name. A removed class needs a replacement for as long as files hold its objects: an empty class
/// under its name, with the upgrader `Map::clear`.
///
/// Immutable: each method returns a changed copy. Except for classes with a codec, a named module has to open the
/// packages of the classes to `io.undercroft.serializer`.
@CheckReturnValue
public final class StateClasses {
    private static final StateClasses NONE = new StateClasses(Map.of(), Map.of(), Map.of());

    /// The name in files of each class, in the order of registration.
    private final SequencedMap<Class<?>, String> names;
    private final Map<String, Class<?>> byName;
    private final Map<Class<?>, Rules> rules;

    /// The declarations for one class.
    ///
    /// @param codec converts its objects, or null
    /// @param upgrader changes what was saved, or null
    /// @param defaults values of components that the file lacks
    /// @param ignoresUnknown whether components or fields that the class lacks are ignored
    private record Rules(@Nullable StateCodec<?> codec, @Nullable Upgrader upgrader,
            Map<String, @Nullable Object> defaults, boolean ignoresUnknown) {
        static final Rules NONE = new Rules(null, null, Map.of(), false);
    }

    /// A conversion of saved components or fields from an old version of a class to the present one.
    @FunctionalInterface
    public interface Upgrader {
        /// Adds, renames and removes components to match the present class. It is called for every record of its class
        /// that is read, also for those of the present version.
        ///
        /// @param components the values by component names, as they were saved; to be changed
        void upgrade(SequencedMap<String, @Nullable Object> components);
    }

    private StateClasses(Map<Class<?>, String> names, Map<String, Class<?>> byName, Map<Class<?>, Rules> rules) {
        this.names = Collections.unmodifiableSequencedMap(new LinkedHashMap<>(names));
        this.byName = Map.copyOf(byName);
        this.rules = Map.copyOf(rules);
    }

    /// {@return the given classes, each under its own name}
    ///
    /// @param classes the classes, as for [#with(Class...)]
    /// @throws IllegalArgumentException as [#with(Class...)]
    public static StateClasses of(Class<?>... classes) {
        return NONE.with(classes);
    }

    /// Adds classes, each under its own name. Classes that are already registered do not change.
    ///
    /// @param classes records, enums, other classes, and sealed classes and interfaces, which add all that they permit
    /// @return the changed classes
    /// @throws IllegalArgumentException if one cannot have direct instances (it is an interface or abstract, and not
    ///     sealed), is an array, a primitive type or a value of the JDK, or has the name of another
    public StateClasses with(Class<?>... classes) {
        Objects.requireNonNull(classes, "classes");
        StateClasses all = this;
        for (Class<?> type : classes) {
            all = all.withPermitted(type);
        }
        return all;
    }

    /// A sealed hierarchy is as deep as a programmer wrote it.
    private StateClasses withPermitted(Class<?> type) {
        StateClasses all = this;
        if (all.names.containsKey(type)) {
            return all;
        }
        if (!type.isSealed() || type.isEnum()) {
            return all.named(type.getName(), type);
        }
        checkType(type);
        // Itself too, since there may be arrays of it.
        return all.add(type.getName(), type).with(type.getPermittedSubclasses());
    }

    /// Adds a class whose objects a codec converts to named parts and back.
    ///
    /// @param <T> the class
    /// @param type the class, no enum; exactly the class that objects have
    /// @param codec the codec, which is called by several threads, possibly at once
    /// @return the changed classes
    /// @throws IllegalArgumentException if the class is an enum, or one that cannot be added
    public <T> StateClasses with(Class<T> type, StateCodec<T> codec) {
        Objects.requireNonNull(codec, "codec");
        if (type.isEnum()) {
            throw new IllegalArgumentException(type.getName() + " is an enum, which needs no codec; add it without");
        }
        Rules before = rules(type);
        return with(type, new Rules(codec, before.upgrader, before.defaults, before.ignoresUnknown));
    }

    /// Adds a class under another name than its own. If the class is already registered, the name replaces its former
    /// one, which is no longer recognised unless [#formerly] adds it.
    ///
    /// @param name the name in files
    /// @param type the class
    /// @return the changed classes
    /// @throws IllegalArgumentException if the class cannot be added, the name is empty, ends with `[]`, or means
    ///     another class, be it one of the JDK that needs no registration
    public StateClasses named(String name, Class<?> type) {
        checkType(type);
        return add(name, type);
    }

    private StateClasses add(String name, Class<?> type) {
        checkName(name, type);
        Map<String, Class<?>> found = new LinkedHashMap<>(byName);
        String before = names.get(type);
        if (before != null) {
            found.remove(before);
        }
        found.put(name, type);
        return new StateClasses(put(names, type, name), found, rules);
    }

    /// Adds a former name of a class, which older files use.
    ///
    /// @param oldName a name that files have
    /// @param type the class that it means now; added if it is not registered
    /// @return the changed classes
    /// @throws IllegalArgumentException as [#named]
    public StateClasses formerly(String oldName, Class<?> type) {
        Objects.requireNonNull(oldName, "oldName");
        StateClasses all = names.containsKey(type) ? this : named(type.getName(), type);
        checkName(oldName, type);
        return new StateClasses(all.names, put(all.byName, oldName, type), rules);
    }

    /// Sets the upgrader from older versions of a class.
    ///
    /// @param type a record or another class, no enum; added if it is not registered
    /// @param upgrader converts its components, fields or parts; called by several threads
    /// @return the changed classes
    /// @throws IllegalArgumentException if the class is an enum, or cannot be added
    public StateClasses upgrading(Class<?> type, Upgrader upgrader) {
        Objects.requireNonNull(upgrader, "upgrader");
        checkNoEnum(type);
        Rules before = rules(type);
        return with(type, new Rules(before.codec, upgrader, before.defaults, before.ignoresUnknown));
    }

    /// Declares the value of a component of a record for files that were written before it was added. An
    /// [upgrader][#upgrading] is called before. Without a declared default a component that the file lacks is
    /// `Optional.empty()`, or null if it is annotated `@Nullable`, and a file that lacks any other one is refused.
    ///
    /// @param type a record; added if it is not registered
    /// @param component the name of a component
    /// @param value its value, the same object in every record that lacks it; a number may have another width than the
    ///     component, if that holds it exactly
    /// @return the changed classes
    /// @throws IllegalArgumentException if the class is no record, has no such component, or the component cannot hold
    ///     the value
    public StateClasses defaulting(Class<? extends Record> type, String component, @Nullable Object value) {
        Objects.requireNonNull(component, "component");
        RecordComponent[] components = Objects.requireNonNull(type, "type").getRecordComponents();
        Class<?> taken = Stream.ofNullable(components).flatMap(Arrays::stream)
                .filter(known -> known.getName().equals(component)).findFirst().map(RecordComponent::getType)
                .orElseThrow(() -> new IllegalArgumentException(
                        type.getName() + " is no record with a component " + FormatException.quote(component)));
        if (!FieldConversion.fits(taken, value)) {
            throw new IllegalArgumentException("the component " + FormatException.quote(component) + " of "
                    + type.getName() + " takes " + taken.getTypeName() + ", and its default is "
                    + FieldConversion.describe(value) + "; declare one that it can hold");
        }
        Rules before = rules(type);
        Map<String, @Nullable Object> defaults = new LinkedHashMap<>(before.defaults);
        defaults.put(component, value);
        return with(type, new Rules(before.codec, before.upgrader, Collections.unmodifiableMap(defaults),
                before.ignoresUnknown));
    }

    /// Ignores components and fields in files that the classes do not have. A state that is saved again is
    /// saved without them. By default a file with such components is refused.
    ///
    /// @param types records and other classes, no enums; added if they are not registered. A codec sees all parts and
    ///     ignores what it does not read
    /// @return the changed classes
    /// @throws IllegalArgumentException if a class is an enum, or cannot be added
    public StateClasses ignoringUnknown(Class<?>... types) {
        Objects.requireNonNull(types, "types");
        StateClasses all = this;
        for (Class<?> type : types) {
            checkNoEnum(type);
            Rules before = all.rules(type);
            all = all.with(type, new Rules(before.codec, before.upgrader, before.defaults, true));
        }
        return all;
    }

    private Rules rules(Class<?> type) {
        return rules.getOrDefault(type, Rules.NONE);
    }

    private StateClasses with(Class<?> type, Rules changed) {
        StateClasses all = names.containsKey(type) ? this : named(type.getName(), type);
        return new StateClasses(all.names, all.byName, put(rules, type, changed));
    }

    private static void checkNoEnum(Class<?> type) {
        if (Objects.requireNonNull(type, "type").isEnum()) {
            throw new IllegalArgumentException(
                    type.getName() + " has no components or fields to upgrade: it is an enum");
        }
    }

    private static void checkType(Class<?> type) {
        if (JdkValues.isValue(type)) {
            throw new IllegalArgumentException(
                    type.getName() + " needs no registration: any state may hold its objects");
        }
        boolean hasObjects = type.isEnum() || type.isSealed()
                || (!type.isPrimitive() && !Modifier.isAbstract(type.getModifiers()) && !type.isHidden());
        if (type.isArray() || !hasObjects) {
            throw new IllegalArgumentException(type.getTypeName()
                    + " cannot be registered: it has no instances; register the classes of the objects, "
                    + "or a sealed class");
        }
    }

    private void checkName(String name, Class<?> type) {
        if (name.isEmpty() || name.endsWith("[]")) {
            throw new IllegalArgumentException("'" + name + "' is no name for " + type.getName());
        }
        if (JdkValues.isKnown(name) && !name.equals(type.getName())) {
            throw new IllegalArgumentException("the name " + name + " means a class of the JDK in every file; give "
                    + type.getName() + " another one");
        }
        Class<?> existing = byName.get(name);
        if (existing != null && existing != type) {
            throw new IllegalArgumentException("the name " + name + " means " + existing.getName() + " (of "
                    + existing.getClassLoader() + ") already; give " + type.getName() + " another one");
        }
    }

    private static <K, V> Map<K, V> put(Map<K, V> map, K key, V value) {
        Map<K, V> more = new LinkedHashMap<>(map);
        more.put(key, value);
        return more;
    }

    /// {@return all classes, in the order in which they were added}
    public SequencedSet<Class<?>> classes() {
        return names.sequencedKeySet();
    }

    /// {@return the name of a class in files, if it is registered}
    ///
    /// @param type any class
    public Optional<String> name(Class<?> type) {
        Objects.requireNonNull(type, "type");
        return Optional.ofNullable(names.get(type));
    }

    /// {@return the class that a name in a file means, now or formerly, if there is one}
    ///
    /// @param name the name
    public Optional<Class<?>> type(String name) {
        Objects.requireNonNull(name, "name");
        return Optional.ofNullable(byName.get(name));
    }

    /// {@return the codec that a class was registered with, if there was one}
    ///
    /// @param type any class
    public Optional<StateCodec<?>> codec(Class<?> type) {
        Objects.requireNonNull(type, "type");
        return Optional.ofNullable(rules(type).codec);
    }

    /// {@return the upgrader of a record, if it has one}
    ///
    /// @param type any class
    public Optional<Upgrader> upgrader(Class<?> type) {
        Objects.requireNonNull(type, "type");
        return Optional.ofNullable(rules(type).upgrader);
    }

    /// {@return the declared values of components that a file may lack, by name}
    ///
    /// @param type any class
    public Map<String, @Nullable Object> defaults(Class<?> type) {
        Objects.requireNonNull(type, "type");
        return rules(type).defaults;
    }

    /// {@return whether components and fields that a class does not have are ignored}
    ///
    /// @param type any class
    public boolean ignoresUnknown(Class<?> type) {
        Objects.requireNonNull(type, "type");
        return rules(type).ignoresUnknown;
    }

    /// {@return the names of the classes}
    @Override
    public String toString() {
        return names.values().toString();
    }
}
