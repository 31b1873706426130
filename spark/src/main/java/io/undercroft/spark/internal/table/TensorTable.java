package io.undercroft.spark.internal.table;

import io.undercroft.spark.internal.files.DataFile;
import io.undercroft.spark.internal.files.FileAccess;
import io.undercroft.spark.internal.files.FileList;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/// The tensors of the files that were listed when the table was created.
public final class TensorTable implements SupportsRead {
    private final TableOptions options;
    private final List<DataFile> files;
    private final FileAccess access;

    private TensorTable(TableOptions options, List<DataFile> files, FileAccess access) {
        this.options = options;
        this.files = files;
        this.access = access;
    }

    /// Lists the files.
    ///
    /// @param options the options of the reader
    /// @return the table
    /// @throws UncheckedIOException if a path matches nothing, or a directory cannot be listed
    /// @throws IllegalArgumentException if an option has an invalid value, or there is no path
    public static TensorTable of(CaseInsensitiveStringMap options) {
        TableOptions parsed = TableOptions.of(options);
        if (parsed.paths().isEmpty()) {
            throw new IllegalArgumentException("no path is given; give files, directories or globs to load()");
        }
        // Options may configure the file systems, as those of other data sources do.
        Configuration configuration = new Configuration(
                SparkSession.active().sparkContext().hadoopConfiguration());
        options.asCaseSensitiveMap().forEach(configuration::set);
        try {
            return new TensorTable(parsed, new FileList(configuration, parsed.glob(), false).of(parsed.paths()),
                    new FileAccess(configuration, parsed.root()));
        } catch (IOException e) {
            throw new UncheckedIOException(e.getMessage(), e);
        }
    }

    @Override
    public String name() {
        return "croft " + String.join(", ", options.paths());
    }

    @Override
    public Column[] columns() {
        return Arrays.stream(options.schema().fields()).map(field -> Column.create(field.name(), field.dataType()))
                .toArray(Column[]::new);
    }

    @Override
    public Set<TableCapability> capabilities() {
        return Set.of(TableCapability.BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap ofScan) {
        return new TensorScan.Builder(options, files, access);
    }
}
