package io.undercroft.spark.internal.table;

import io.undercroft.spark.internal.files.Bins;
import io.undercroft.spark.internal.files.DataFile;
import io.undercroft.spark.internal.files.FileAccess;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/// A query: which columns of which files are read, and by which filters.
final class TensorScan implements Scan, Batch {
    private final TableOptions options;
    private final List<DataFile> files;
    private final FileAccess access;
    private final StructType schema;
    private final List<Filter> filters;

    TensorScan(TableOptions options, List<DataFile> files, FileAccess access, StructType schema,
            List<Filter> filters) {
        this.options = options;
        this.access = access;
        this.schema = schema;
        this.filters = filters;
        List<Filter> onFiles = RowFilter.onFiles(filters);
        this.files = files.stream()
                .filter(file -> RowFilter.accepts(onFiles, _ -> UTF8String.fromString(file.toString()))).toList();
    }

    @Override
    public StructType readSchema() {
        return schema;
    }

    @Override
    public String description() {
        return "croft, files: " + files.size() + ", pushed filters: "
                + filters.stream().map(Filter::toString).collect(Collectors.joining(", ", "[", "]"));
    }

    @Override
    public Batch toBatch() {
        return this;
    }

    @Override
    public CustomMetric[] supportedCustomMetrics() {
        return new CustomMetric[]{new ElementBytesMetric()};
    }

    /// Files are opened only, unless elements are read: then those with more bytes take longer.
    @Override
    public InputPartition[] planInputPartitions() {
        boolean isOfElements = columns().stream()
                .anyMatch(column -> !column.isDescription() && column != TensorColumn.ERROR);
        SparkSession session = SparkSession.active();
        long most = JavaUtils.byteStringAsBytes(session.conf().get("spark.sql.files.maxPartitionBytes"));
        return Bins.divide(files, file -> isOfElements ? file.nbytes() : 0, session.sparkContext().defaultParallelism(),
                most).stream().map(Partition::new).toArray(InputPartition[]::new);
    }

    private List<TensorColumn> columns() {
        return Arrays.stream(schema.fieldNames()).map(TensorColumn::of).toList();
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return new Factory(options, access, List.copyOf(columns()), filters);
    }

    private record Factory(TableOptions options, FileAccess access, List<TensorColumn> columns, List<Filter> filters)
            implements
                PartitionReaderFactory {
        @Override
        public PartitionReader<InternalRow> createReader(InputPartition partition) {
            return new TensorReader(((Partition) partition).files(), access, options, columns, filters);
        }
    }

    /// The files of a task.
    private record Partition(List<DataFile> files) implements InputPartition {}

    /// Collects the columns and filters of a query.
    static final class Builder implements SupportsPushDownRequiredColumns, SupportsPushDownFilters {
        private final TableOptions options;
        private final List<DataFile> files;
        private final FileAccess access;
        private StructType schema;
        private List<Filter> filters = List.of();

        Builder(TableOptions options, List<DataFile> files, FileAccess access) {
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
}
