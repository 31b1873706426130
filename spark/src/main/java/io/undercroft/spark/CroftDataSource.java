package io.undercroft.spark;

import io.undercroft.spark.internal.table.TableOptions;
import io.undercroft.spark.internal.table.TensorTable;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/// The format `croft` of `spark.read()`, which reads files of all formats that
/// [Checkpoint][io.undercroft.serializer.Checkpoint] opens: one row for each tensor.
///
/// ```java
/// Dataset<Row> tensors = spark.read().format("croft").load("/data/checkpoints", "s3a://models/*.safetensors");
/// ```
///
/// Paths are files, directories or globs, of any file system of Hadoop. If one is a directory, all files
/// below it whose names have the suffix of a known format are read; names that begin with `_` or `.` are skipped, and
/// so are indexes of sets, whose files are read one by one. Files of the host are mapped; all others are read by
/// `undercroft-hadoop` with the configuration of the session, and options are added to it.
///
/// **Columns.** `file`, `snapshot` (null for formats without snapshots), `name`, `dtype`, `shape`, `stride`, `offset`
/// (in elements), `storage` (its number in the file: tensors that share one have the same), `bytes`, `digest`, `min`,
/// `max`, `mean`, `nan_count` and `payload`. Nothing of the elements is read unless one of the last six is selected.
/// `digest` is the XXH3-128 digest of the whole storage; it is the same for equal bytes in all files and formats, and a
/// `.croft` file has it without its bytes being read. Statistics leave NaN out; they are null for dtypes without an
/// order, and `min` and `max` are rounded to float64. `payload` is the little-endian bytes of a part of the elements,
/// in row-major order.
///
/// **Options.** `mode` is `FAILFAST` (a file or tensor that cannot be read fails the job; the default),
/// `PERMISSIVE` (it gives a row with the column `error`) or `DROPMALFORMED` (it is skipped). `snapshots` is `newest` or
/// `all`. `payloadStart` is the first element of `payload`, and `maxPayloadBytes` its maximum size (64 KiB unless set).
/// `pathGlobFilter` selects files by a glob for their names. `root` is the directory of the host below which the bases
/// of files are ([OpenOptions.root][io.undercroft.serializer.OpenOptions#root]).
///
/// **Filters.** Spark's filters on the first nine columns are evaluated before any element is read, and those on `file`
/// before any file is opened.
public final class CroftDataSource implements TableProvider, DataSourceRegister {
    /// For `ServiceLoader`.
    public CroftDataSource() {}

    @Override
    public String shortName() {
        return "croft";
    }

    /// {@return the columns, which depend on the mode only}
    ///
    /// @param options the options of the reader
    /// @throws IllegalArgumentException if an option has an invalid value
    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return TableOptions.of(options).schema();
    }

    /// Lists the files.
    ///
    /// @throws java.io.UncheckedIOException if a path matches nothing (with a [java.io.FileNotFoundException]), or a
    ///     directory cannot be listed
    /// @throws IllegalArgumentException if an option has an invalid value
    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return TensorTable.of(new CaseInsensitiveStringMap(properties));
    }
}
