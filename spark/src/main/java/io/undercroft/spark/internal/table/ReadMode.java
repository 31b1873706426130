package io.undercroft.spark.internal.table;

import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/// What happens to files and tensors that cannot be read, as for other data sources of Spark.
enum ReadMode {
    /// The job fails.
    FAILFAST,
    /// They give a row with an error.
    PERMISSIVE,
    /// They are skipped.
    DROPMALFORMED;

    /// {@return the mode with a name; the first one for none}
    ///
    /// @throws IllegalArgumentException if there is none
    static ReadMode of(@Nullable String name) {
        String wanted = name == null ? FAILFAST.name() : name.toUpperCase(Locale.ROOT);
        return Arrays.stream(values()).filter(mode -> mode.name().equals(wanted)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("the option mode is " + name
                        + "; it may be FAILFAST, PERMISSIVE or DROPMALFORMED"));
    }
}
