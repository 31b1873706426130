package io.undercroft.interop.gguf;

import java.util.Locale;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/// The types of metadata.
enum ValueType {
    UINT8(0, 1), //
    INT8(1, 1), //
    UINT16(2, 2), //
    INT16(3, 2), //
    UINT32(4, 4), //
    INT32(5, 4), //
    FLOAT32(6, 4), //
    BOOL(7, 1), //
    STRING(8, 0), //
    ARRAY(9, 0), //
    UINT64(10, 8), //
    INT64(11, 8), //
    FLOAT64(12, 8);

    private static final String PREFIX = "gguf:";
    private static final String ARRAY_PREFIX = "gguf:array:";

    private final int code;
    private final int nbytes;

    /// @param code its number in files
    /// @param nbytes the size of a value in bytes, or 0 if sizes differ
    ValueType(int code, int nbytes) {
        this.code = code;
        this.nbytes = nbytes;
    }

    /// {@return the type of a code, or null}
    static @Nullable ValueType of(int code) {
        return find(type -> type.code == code);
    }

    /// {@return the type of a name in a state, or null}
    static @Nullable ValueType ofScalar(String name) {
        return name.startsWith(PREFIX) ? ofName(name.substring(PREFIX.length())) : null;
    }

    /// {@return the type of the elements of an array of a name in a state, or null}
    static @Nullable ValueType ofElements(String name) {
        return name.startsWith(ARRAY_PREFIX) ? ofName(name.substring(ARRAY_PREFIX.length())) : null;
    }

    private static @Nullable ValueType ofName(String name) {
        return find(type -> type.lowerCase().equals(name));
    }

    private static @Nullable ValueType find(Predicate<ValueType> wanted) {
        for (ValueType type : values()) {
            if (wanted.test(type)) {
                return type;
            }
        }
        return null;
    }

    int code() {
        return code;
    }

    /// {@return the size of a value in bytes, or 0 if sizes differ}
    int nbytes() {
        return nbytes;
    }

    boolean isUnsigned() {
        return this == UINT8 || this == UINT16 || this == UINT32 || this == UINT64;
    }

    /// {@return the name of a single value in a state}
    String scalarName() {
        return PREFIX + lowerCase();
    }

    /// {@return the name of an array of such values in a state}
    String arrayName() {
        return ARRAY_PREFIX + lowerCase();
    }

    private String lowerCase() {
        return name().toLowerCase(Locale.ROOT);
    }
}
