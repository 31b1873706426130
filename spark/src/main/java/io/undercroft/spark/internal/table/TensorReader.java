package io.undercroft.spark.internal.table;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SnapshotInfo;
import io.undercroft.spark.TensorReadException;
import io.undercroft.spark.internal.files.DataFile;
import io.undercroft.spark.internal.files.FileAccess;
import io.undercroft.spark.internal.table.TableOptions.ReadMode;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/// Reads the rows of some files, one file at a time.
final class TensorReader implements PartitionReader<InternalRow> {
    private final Deque<Source> sources = new ArrayDeque<>();
    private final FileAccess access;
    private final TableOptions options;
    private final List<TensorColumn> columns;
    private final List<Filter> filters;
    private @Nullable OpenTensors open;
    private Iterator<String> names = List.<String>of().iterator();
    private @Nullable InternalRow row;
    private long elementBytes;

    /// A file, or a snapshot of it.
    ///
    /// @param commit the number of the snapshot; null for the newest, after which the others follow if all are read
    private record Source(DataFile file, @Nullable Long commit) {}

    TensorReader(List<DataFile> files, FileAccess access, TableOptions options, List<TensorColumn> columns,
            List<Filter> filters) {
        files.forEach(file -> sources.add(new Source(file, null)));
        this.access = access;
        this.options = options;
        this.columns = columns;
        this.filters = filters;
    }

    @Override
    public boolean next() throws IOException {
        row = null;
        while (row == null) {
            OpenTensors file = open;
            if (file == null) {
                Source source = sources.poll();
                if (source == null) {
                    return false;
                }
                open(source);
            } else {
                advance(file);
            }
        }
        return true;
    }

    private void open(Source source) throws IOException {
        OpenOptions opening = source.commit == null
                ? OpenOptions.defaults()
                : OpenOptions.defaults().snapshot(source.commit);
        try {
            Checkpoint checkpoint = access.open(source.file, opening);
            open = new OpenTensors(source.file, checkpoint, options);
            names = checkpoint.names().iterator();
            if (options.withAllSnapshots() && source.commit == null) {
                addOlder(source.file, checkpoint);
            }
        } catch (IOException | RuntimeException | InternalError e) {
            closeFile();
            row = failed(source.file, null, e);
        }
    }

    private void addOlder(DataFile file, Checkpoint newest) throws IOException {
        List<SnapshotInfo> all = newest.snapshots();
        // The last one added is read first.
        for (SnapshotInfo snapshot : all.reversed()) {
            if (!newest.snapshot().filter(snapshot::equals).isPresent()) {
                sources.addFirst(new Source(file, snapshot.commit()));
            }
        }
    }

    /// Reads the next tensor of the open file, or closes it if there is none.
    private void advance(OpenTensors file) throws IOException {
        String name = null;
        try {
            if (!names.hasNext()) {
                closeFile();
                return;
            }
            name = names.next();
            String ofTensor = name;
            if (RowFilter.accepts(filters, column -> file.value(ofTensor, column))) {
                row = row(file, name);
            }
        } catch (IOException | RuntimeException | InternalError e) {
            if (e instanceof TensorReadException) {
                throw e;
            }
            if (name == null) {
                closeFile();
            }
            row = failed(file.file(), name, e);
        }
    }

    private @Nullable InternalRow row(OpenTensors file, String name) throws IOException {
        @Nullable
        Object[] values = new @Nullable Object[columns.size()];
        Throwable problem = null;
        for (int i = 0; i < values.length; i++) {
            try {
                // The error of a tensor whose description is damaged is found with its dtype.
                Object value = file.value(name,
                        columns.get(i) == TensorColumn.ERROR ? TensorColumn.DTYPE : columns.get(i));
                values[i] = columns.get(i) == TensorColumn.ERROR ? null : value;
            } catch (RuntimeException | InternalError e) {
                if (options.mode() != ReadMode.PERMISSIVE) {
                    return failed(file.file(), name, e);
                }
                problem = problem == null ? e : problem;
            }
        }
        int error = columns.indexOf(TensorColumn.ERROR);
        if (problem != null && error >= 0) {
            values[error] = text(problem);
        }
        return new GenericInternalRow(values);
    }

    /// Returns the row about a file or a tensor that cannot be read, or null if it is skipped.
    private @Nullable InternalRow failed(DataFile file, @Nullable String name, Throwable why)
            throws TensorReadException {
        if (options.mode() == ReadMode.DROPMALFORMED) {
            return null;
        }
        if (options.mode() == ReadMode.FAILFAST) {
            throw new TensorReadException(file.toString(), name, why);
        }
        @Nullable
        Object[] values = new @Nullable Object[columns.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = switch (columns.get(i)) {
                case FILE -> UTF8String.fromString(file.toString());
                case NAME -> name == null ? null : UTF8String.fromString(name);
                case ERROR -> text(why);
                default -> null;
            };
        }
        return new GenericInternalRow(values);
    }

    private static UTF8String text(Throwable why) {
        return UTF8String.fromString(TensorReadException.describe(why));
    }

    @Override
    public InternalRow get() {
        if (row == null) {
            throw new IllegalStateException("there is no row; call next() first");
        }
        return row;
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
        return new CustomTaskMetric[]{new ElementBytes(elementBytes + (open == null ? 0 : open.elementBytes()))};
    }

    private record ElementBytes(long value) implements CustomTaskMetric {
        @Override
        public String name() {
            return ElementBytesMetric.NAME;
        }
    }

    private void closeFile() {
        if (open != null) {
            elementBytes += open.elementBytes();
            open.close();
            open = null;
        }
    }

    @Override
    public void close() {
        closeFile();
    }
}
