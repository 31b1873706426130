package io.undercroft.serializer;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/// How a checkpoint is saved. Immutable: each method returns a changed copy.
public final class SaveOptions {
    private static final SaveOptions DEFAULTS = new SaveOptions(Map.of());

    private final Map<String, String> metadata;

    private SaveOptions(Map<String, String> metadata) {
        this.metadata = metadata;
    }

    /// {@return no metadata; durable, atomic and canonical: the same state gives the same bytes}
    public static SaveOptions defaults() {
        return DEFAULTS;
    }

    /// Adds free-form text about the file.
    ///
    /// @param text replaces what was set before; without nulls, kept in its order
    /// @return the changed options
    public SaveOptions metadata(Map<String, String> text) {
        text.forEach((key, value) -> {
            Objects.requireNonNull(key, "a key of the metadata is null");
            Objects.requireNonNull(value, () -> "the metadata of " + key + " is null");
        });
        return new SaveOptions(Collections.unmodifiableMap(new LinkedHashMap<>(text)));
    }

    /// {@return free-form text about the file}
    public Map<String, String> metadata() {
        return metadata;
    }
}
