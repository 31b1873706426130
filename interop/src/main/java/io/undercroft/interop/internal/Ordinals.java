package io.undercroft.interop.internal;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.OpenOptions;

/// Settings that select one of several states in a file.
public final class Ordinals {
    /// The values of such a setting, for [io.undercroft.serializer.spi.Setting].
    public static final String VALUES = "1, 2 and so on";

    private Ordinals() {}

    /// {@return the number that a setting has, from 1 on; 1 if it was not set}
    ///
    /// @param options how a file is opened
    /// @param setting the name of the setting
    /// @throws IllegalArgumentException if it is set to anything else
    public static int of(OpenOptions options, String setting) {
        String number = options.request().setting(setting).orElse("1");
        if (!number.matches("[1-9]\\d{0,8}")) {
            throw new IllegalArgumentException(
                    "the setting " + setting + " is a number from 1, not " + FormatException.quote(number));
        }
        return Integer.parseInt(number);
    }
}
