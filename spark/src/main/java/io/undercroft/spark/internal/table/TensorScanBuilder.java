package io.undercroft.spark.internal.table;

import io.undercroft.spark.internal.files.DataFile;
import io.undercroft.spark.internal.files.FileAccess;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;

/// Collects the columns and filters of a query.
final class TensorScanBuilder implements SupportsPushDownRequiredColumns, SupportsPushDownFilters {
    private final TableOptions options;
    private final List<DataFile> files;
    private final FileAccess access;
    private StructType schema;
    private List<Filter> filters = List.of();

    TensorScanBuilder(TableOptions options, List<DataFile> files, FileAccess access) {
        this.options = options;
        this.files = files;
        this.access = access;
        this.schema = options.schema();
    }

    @Override
    public void pruneColumns(StructType required) {
        schema = required;
    }

    /// Spark evaluates all filters again, as for Parquet: here they only save reading.
    @Override
    public Filter[] pushFilters(Filter[] all) {
        filters = Arrays.stream(all).filter(RowFilter::isSupported).toList();
        return all;
    }

    @Override
    public Filter[] pushedFilters() {
        return filters.toArray(Filter[]::new);
    }

    @Override
    public Scan build() {
        return new TensorScan(options, files, access, schema, filters);
    }
}
