package io.undercroft.spark.internal.table;

import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.spark.sql.sources.AlwaysFalse;
import org.apache.spark.sql.sources.AlwaysTrue;
import org.apache.spark.sql.sources.And;
import org.apache.spark.sql.sources.EqualNullSafe;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.IsNotNull;
import org.apache.spark.sql.sources.IsNull;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.sources.Not;
import org.apache.spark.sql.sources.Or;
import org.apache.spark.sql.sources.StringContains;
import org.apache.spark.sql.sources.StringEndsWith;
import org.apache.spark.sql.sources.StringStartsWith;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/// Evaluates filters of Spark on the description of a tensor, with the three values of SQL: true, false and null.
final class RowFilter {
    /// Filters that compare a column with constants.
    private static final Set<Class<? extends Filter>> ON_COLUMNS = Set.of(EqualTo.class, EqualNullSafe.class, In.class,
            GreaterThan.class, GreaterThanOrEqual.class, LessThan.class, LessThanOrEqual.class, IsNull.class,
            IsNotNull.class, StringStartsWith.class, StringEndsWith.class, StringContains.class);

    private RowFilter() {}

    /// {@return whether a filter can be evaluated without reading elements}
    static boolean isSupported(Filter filter) {
        return switch (filter) {
            case And and -> isSupported(and.left()) && isSupported(and.right());
            case Or or -> isSupported(or.left()) && isSupported(or.right());
            case Not not -> isSupported(not.child());
            case AlwaysTrue _,AlwaysFalse _ -> true;
            default -> ON_COLUMNS.contains(filter.getClass())
                    && Arrays.stream(filter.references()).allMatch(RowFilter::isFiltered);
        };
    }

    private static boolean isFiltered(String name) {
        return Arrays.stream(TensorColumn.values())
                .anyMatch(column -> column.isFiltered() && column.columnName().equals(name));
    }

    /// {@return the filters, or parts of them that have to hold too, that concern the file only}
    static List<Filter> onFiles(List<Filter> filters) {
        return filters.stream().flatMap(RowFilter::conjuncts).filter(RowFilter::isSupported)
                .filter(filter -> Arrays.stream(filter.references()).allMatch(TensorColumn.FILE.columnName()::equals))
                .toList();
    }

    private static Stream<Filter> conjuncts(Filter filter) {
        return filter instanceof And and
                ? Stream.concat(conjuncts(and.left()), conjuncts(and.right()))
                : Stream.of(filter);
    }

    /// {@return whether a row is in the result}
    ///
    /// @param filters the filters, all of which have to hold
    /// @param values returns the value of a column; null for none
    static boolean accepts(List<Filter> filters, Function<TensorColumn, @Nullable Object> values) {
        return filters.stream().allMatch(filter -> Boolean.TRUE.equals(test(filter, values)));
    }

    private static @Nullable Boolean test(Filter filter, Function<TensorColumn, @Nullable Object> row) {
        return switch (filter) {
            case AlwaysTrue _ -> true;
            case AlwaysFalse _ -> false;
            case And and -> and(test(and.left(), row), test(and.right(), row));
            case Or or -> not(and(not(test(or.left(), row)), not(test(or.right(), row))));
            case Not not -> not(test(not.child(), row));
            case IsNull is -> value(row, is.attribute()) == null;
            case IsNotNull is -> value(row, is.attribute()) != null;
            case EqualNullSafe same -> isSame(value(row, same.attribute()), of(same.value()));
            case In in -> in(value(row, in.attribute()), in.values());
            case EqualTo compared ->
                compared(value(row, compared.attribute()), compared.value(), sign -> sign == 0);
            case GreaterThan compared ->
                compared(value(row, compared.attribute()), compared.value(), sign -> sign > 0);
            case GreaterThanOrEqual compared ->
                compared(value(row, compared.attribute()), compared.value(), sign -> sign >= 0);
            case LessThan compared -> compared(value(row, compared.attribute()), compared.value(), sign -> sign < 0);
            case LessThanOrEqual compared ->
                compared(value(row, compared.attribute()), compared.value(), sign -> sign <= 0);
            case StringStartsWith text -> text(value(row, text.attribute()), text.value(), UTF8String::startsWith);
            case StringEndsWith text -> text(value(row, text.attribute()), text.value(), UTF8String::endsWith);
            case StringContains text -> text(value(row, text.attribute()), text.value(), UTF8String::contains);
            default -> throw new IllegalArgumentException("not pushed: " + filter);
        };
    }

    private static @Nullable Object value(Function<TensorColumn, @Nullable Object> row, String attribute) {
        return row.apply(TensorColumn.of(attribute));
    }

    private static @Nullable Boolean not(@Nullable Boolean value) {
        return value == null ? null : !value;
    }

    private static @Nullable Boolean and(@Nullable Boolean left, @Nullable Boolean right) {
        if (Boolean.FALSE.equals(left) || Boolean.FALSE.equals(right)) {
            return false;
        }
        return (left == null || right == null) ? null : true;
    }

    private static @Nullable Boolean in(@Nullable Object value, @Nullable Object[] wanted) {
        if (value == null) {
            return null;
        }
        boolean hasNull = false;
        for (Object each : wanted) {
            if (each != null && isSame(value, of(each))) {
                return true;
            }
            hasNull |= each == null;
        }
        return hasNull ? null : false;
    }

    private static boolean isSame(@Nullable Object value, @Nullable Object other) {
        return value == null ? other == null : other != null && compare(value, other) == 0;
    }

    private interface Sign {
        boolean test(int sign);
    }

    private static @Nullable Boolean compared(@Nullable Object value, @Nullable Object other, Sign sign) {
        Object right = of(other);
        return (value == null || right == null) ? null : sign.test(compare(value, right));
    }

    private static int compare(Object value, Object other) {
        return value instanceof UTF8String text
                ? text.compareTo((UTF8String) other)
                : Long.compare((Long) value, (Long) other);
    }

    private interface TextTest {
        boolean test(UTF8String text, UTF8String other);
    }

    private static @Nullable Boolean text(@Nullable Object value, String other, TextTest test) {
        return value == null ? null : test.test((UTF8String) value, UTF8String.fromString(other));
    }

    /// {@return a value of a filter as rows have it}
    private static @Nullable Object of(@Nullable Object value) {
        return switch (value) {
            case String text -> UTF8String.fromString(text);
            case Number number -> number.longValue();
            case null, default -> value;
        };
    }
}
