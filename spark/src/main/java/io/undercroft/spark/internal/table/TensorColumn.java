package io.undercroft.spark.internal.table;

import java.util.Arrays;
import java.util.Locale;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/// The columns of the table.
enum TensorColumn {
    FILE, SNAPSHOT, NAME, DTYPE, SHAPE, STRIDE, OFFSET, STORAGE, BYTES, DIGEST,
    // These need elements.
    MIN, MAX, MEAN, NAN_COUNT, PAYLOAD,
    // This one is about the file.
    ERROR;

    /// {@return the column of a name}
    static TensorColumn of(String name) {
        return Arrays.stream(values()).filter(column -> column.columnName().equals(name)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("there is no column " + name));
    }

    /// {@return its name in tables}
    String columnName() {
        return name().toLowerCase(Locale.ROOT);
    }

    /// {@return its type in tables}
    DataType type() {
        return switch (this) {
            case FILE, NAME, DTYPE, DIGEST, ERROR -> DataTypes.StringType;
            case SNAPSHOT, OFFSET, STORAGE, BYTES, NAN_COUNT -> DataTypes.LongType;
            case SHAPE, STRIDE -> DataTypes.createArrayType(DataTypes.LongType, false);
            case MIN, MAX, MEAN -> DataTypes.DoubleType;
            case PAYLOAD -> DataTypes.BinaryType;
        };
    }

    /// {@return whether its values are found without reading elements}
    boolean isDescription() {
        return compareTo(DIGEST) < 0;
    }

    /// {@return whether filters on it are evaluated before elements are read}
    boolean isFiltered() {
        return isDescription() && this != SHAPE && this != STRIDE;
    }
}
