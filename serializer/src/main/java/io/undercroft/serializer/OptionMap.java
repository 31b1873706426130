package io.undercroft.serializer;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// The values of the options that were set: [OpenOptions] and [SaveOptions] are one map each. Immutable.
final class OptionMap {
    /// No option is set.
    static final OptionMap EMPTY = new OptionMap(Map.of());

    private final Map<Option<?>, Object> values;

    /// An option. Options are compared by identity.
    ///
    /// @param <T> the type of its values
    static final class Option<T> {
        private final String name;
        private final @Nullable T standard;

        /// An option that has no value until it is set.
        ///
        /// @param name the name of the method that sets it
        Option(String name) {
            this.name = name;
            this.standard = null;
        }

        /// An option with a default.
        ///
        /// @param name the name of the method that sets it
        /// @param standard the value until it is set
        Option(String name, T standard) {
            this.name = name;
            this.standard = standard;
        }
    }

    private OptionMap(Map<Option<?>, Object> values) {
        this.values = values;
    }

    /// {@return the options with one more, or another value of one}
    <T> OptionMap with(Option<T> option, T value) {
        Map<Option<?>, Object> changed = new HashMap<>(values);
        changed.put(option, Objects.requireNonNull(value, option.name));
        return new OptionMap(changed);
    }

    /// {@return the value of an option that has a default}
    <T> T get(Option<T> option) {
        return Objects.requireNonNull(value(option), option.name);
    }

    /// {@return the value of an option that has no default, if it was set}
    <T> Optional<T> find(Option<T> option) {
        return Optional.ofNullable(value(option));
    }

    /// {@return the names of those options that have another value than their default}
    List<String> changed(Option<?>... options) {
        return Stream.of(options).filter(option -> !Objects.equals(value(option), option.standard))
                .map(option -> option.name).toList();
    }

    /// Values of another type cannot be put into the map.
    @SuppressWarnings("unchecked")
    private <T> @Nullable T value(Option<T> option) {
        Object value = values.get(option);
        return value == null ? option.standard : (T) value;
    }
}
