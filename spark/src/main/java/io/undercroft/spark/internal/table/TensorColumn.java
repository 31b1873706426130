package io.undercroft.spark.internal.table;

import java.util.Arrays;
import java.util.Locale;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/// The columns of the table.
enum TensorColumn {
    FILE(DataTypes.StringType), SNAPSHOT(DataTypes.LongType), NAME(DataTypes.StringType), DTYPE(
            DataTypes.StringType), SHAPE(DataTypes.createArrayType(DataTypes.LongType, false)), STRIDE(
                    DataTypes.createArrayType(DataTypes.LongType, false)), OFFSET(
                            DataTypes.LongType), STORAGE(DataTypes.LongType), BYTES(DataTypes.LongType), DIGEST(
                                    DataTypes.StringType), MIN(DataTypes.DoubleType), MAX(DataTypes.DoubleType), MEAN(
                                            DataTypes.DoubleType), NAN_COUNT(DataTypes.LongType), PAYLOAD(
                                                    DataTypes.BinaryType), ERROR(DataTypes.StringType);

    private final DataType type;

    TensorColumn(DataType type) {
        this.type = type;
    }

    /// {@return the column of a name}
    static TensorColumn of(String name) {
        return Arrays.stream(values()).filter(column -> column.columnName().equals(name)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("there is no column " + name));
    }

    /// {@return its name in tables}
    String columnName() {
        return name().toLowerCase(Locale.ROOT);
    }

    DataType type() {
        return type;
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
