package io.undercroft.interop.internal;

import io.undercroft.format.FormatException;
import java.util.Arrays;
import java.util.Optional;

/// The settings of a format, checked: those of [io.undercroft.serializer.OpenOptions#setting(String)] or of
/// [io.undercroft.serializer.SaveOptions#setting(String)].
@FunctionalInterface
public interface FormatSettings {
    /// The values of a setting that is read by [#ordinal], for [io.undercroft.serializer.spi.Setting].
    String ORDINALS = "1, 2 and so on";

    /// {@return the value of a setting, if it was set}
    ///
    /// @param name the name of the setting
    Optional<String> get(String name);

    /// {@return the value of a setting, if it was set}
    ///
    /// @param name the name of the setting
    /// @param values those that it may have
    /// @throws IllegalArgumentException if it is none of these
    default Optional<String> oneOf(String name, String... values) {
        Optional<String> set = get(name);
        if (set.isPresent() && !Arrays.asList(values).contains(set.get())) {
            throw new IllegalArgumentException("the setting " + name + " is " + String.join(" or ", values) + ", not "
                    + FormatException.quote(set.get()));
        }
        return set;
    }

    /// {@return whether a setting was set to its second value}
    ///
    /// @param name the name of the setting
    /// @param usual the value that it has if it is not set
    /// @param other the other value
    /// @throws IllegalArgumentException if it is neither
    default boolean isOther(String name, String usual, String other) {
        return oneOf(name, usual, other).equals(Optional.of(other));
    }

    /// {@return the number of the state to open in a file with several, from 1; 1 if it was not set}
    ///
    /// @param name the name of the setting
    /// @throws IllegalArgumentException if it is set to anything else
    default int ordinal(String name) {
        String number = get(name).orElse("1");
        if (!number.matches("[1-9]\\d{0,8}")) {
            throw new IllegalArgumentException(
                    "the setting " + name + " is a number from 1, not " + FormatException.quote(number));
        }
        return Integer.parseInt(number);
    }
}
