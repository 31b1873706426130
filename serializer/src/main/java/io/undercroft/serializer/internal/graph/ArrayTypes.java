package io.undercroft.serializer.internal.graph;

import io.undercroft.serializer.StateClasses;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// The names of array classes in files: those of their elements, and `[]` for each dimension.
///
/// @param classes the registered classes
record ArrayTypes(StateClasses classes) {
    private static final String DIMENSION = "[]";
    /// Each level is a class that the JDK makes.
    private static final int MAX_DIMENSIONS = 16;

    private static final Map<String, Class<?>> KNOWN = Stream
            .of(boolean.class, byte.class, char.class, short.class, int.class, long.class, float.class, double.class,
                    Object.class, String.class, CharSequence.class, Number.class, Comparable.class, Enum.class,
                    Record.class, Optional.class, Collection.class, List.class, ArrayList.class, Set.class, Map.class,
                    HashMap.class, LinkedHashMap.class, Tensor.class, Storage.class, TypedStorage.class, DType.class,
                    Device.class, Shape.class, Complex.class)
            .collect(Collectors.toUnmodifiableMap(Class::getTypeName, Function.identity()));

    /// {@return the name of an array's class in files, or nothing if the class of its elements is not registered}
    ///
    /// @param type the class
    /// @throws IllegalArgumentException if it has too many dimensions
    Optional<String> name(Class<?> type) {
        StringBuilder dimensions = new StringBuilder();
        Class<?> element = type;
        while (element.isArray()) {
            element = element.componentType();
            dimensions.append(DIMENSION);
        }
        Optional<String> name = KNOWN.containsKey(element.getTypeName())
                ? Optional.of(element.getTypeName())
                : classes.name(element).or(valueName(element));
        if (dimensions.length() > MAX_DIMENSIONS * DIMENSION.length()) {
            throw new IllegalArgumentException("an array has more than " + MAX_DIMENSIONS + " dimensions");
        }
        return name.map(known -> known + dimensions);
    }

    private static Supplier<Optional<String>> valueName(Class<?> element) {
        return () -> JdkValues.typeOf(element).map(Class::getName);
    }

    /// {@return the class of an array, or nothing if a file means something else or a class that is not registered}
    ///
    /// @param name the name in a file
    Optional<Class<?>> named(String name) {
        String element = name;
        int dimensions = 0;
        while (element.endsWith(DIMENSION) && dimensions <= MAX_DIMENSIONS) {
            element = element.substring(0, element.length() - DIMENSION.length());
            dimensions++;
        }
        if (dimensions == 0 || dimensions > MAX_DIMENSIONS) {
            return Optional.empty();
        }
        String wanted = element;
        Optional<Class<?>> found = Optional.<Class<?>>ofNullable(KNOWN.get(element))
                .or(() -> classes.type(wanted)).or(() -> JdkValues.named(wanted));
        for (; dimensions > 0; dimensions--) {
            found = found.map(Class::arrayType);
        }
        return found;
    }
}
