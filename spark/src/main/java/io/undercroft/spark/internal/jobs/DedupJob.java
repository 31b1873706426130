package io.undercroft.spark.internal.jobs;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.first;
import static org.apache.spark.sql.functions.min;
import static org.apache.spark.sql.functions.sum;

import io.undercroft.format.Digest128;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.analysis.LastBorrowed;
import io.undercroft.serializer.internal.analysis.Sizes;
import io.undercroft.serializer.internal.analysis.StorageChunks;
import io.undercroft.spark.internal.files.DataFile;
import io.undercroft.spark.internal.files.FileAccess;
import io.undercroft.spark.internal.jobs.FileResult.Status;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.storage.StorageLevel;

/// Counts the distinct chunks of the storages of many files: what one pool of extents would store.
final class DedupJob {
    private static final StructType CHUNKS = new StructType().add("file", DataTypes.StringType)
            .add("high", DataTypes.LongType).add("low", DataTypes.LongType).add("length", DataTypes.LongType);

    private DedupJob() {}

    /// The chunks of a file that are not zeros, and what became of it.
    private record FileChunks(FileResult result, List<Row> chunks) implements Serializable {}

    /// Reads the files, and counts. Bytes are read only of storages without digests in their file.
    ///
    /// @return what became of each file; [FileResult#bytes] are those of its storages, and [FileResult#result] those of
    ///     its chunks that no file before it has, in the order of their URIs
    static List<FileResult> run(SparkSession spark, FileAccess access, List<DataFile> files) {
        JavaRDD<FileChunks> perFile = FileTasks.perFile(spark, files).map(new ReadFile(access))
                .persist(StorageLevel.MEMORY_AND_DISK());
        try {
            Dataset<Row> chunks = spark.createDataFrame(perFile.flatMap(each -> each.chunks.iterator()), CHUNKS);
            Map<String, Long> added = new HashMap<>();
            chunks.groupBy("high", "low").agg(min("file").as("file"), first("length").as("length"))
                    .groupBy("file").agg(sum(col("length")).as("bytes")).collectAsList()
                    .forEach(row -> added.put(row.getString(0), row.getLong(1)));
            return perFile.map(FileChunks::result).collect().stream().map(result -> withResult(result, added))
                    .sorted((one, other) -> one.file().compareTo(other.file())).toList();
        } finally {
            perFile.unpersist(false);
        }
    }

    private static FileResult withResult(FileResult result, Map<String, Long> added) {
        return new FileResult(result.file(), result.status(), result.detail(), result.bytes(),
                added.getOrDefault(result.file(), 0L));
    }

    private record ReadFile(FileAccess access) implements Function<DataFile, FileChunks> {
        @Override
        public FileChunks call(DataFile file) {
            List<Row> chunks = new ArrayList<>();
            FileResult result = FileTasks.attempt(file, new ReadChunks(access, chunks));
            return new FileChunks(result, result.status() == Status.OK ? chunks : List.of());
        }
    }

    /// Adds the chunks of a file to a list.
    private record ReadChunks(FileAccess access, List<Row> chunks) implements FileTasks.Task {
        @Override
        public FileResult run(DataFile file) throws IOException {
            return new FileResult(file.toString(), Status.OK, read(file, access, chunks), 0);
        }
    }

    private static long read(DataFile file, FileAccess access, List<Row> chunks) throws IOException {
        long nbytes = 0;
        try (Checkpoint checkpoint = access.open(file, OpenOptions.defaults());
                LastBorrowed borrowed = new LastBorrowed()) {
            for (Storage storage : checkpoint.storages()) {
                if (!storage.isMeta()) {
                    nbytes = Sizes.sum(nbytes, storage.nbytes());
                    StorageChunks.forEach(storage, checkpoint.extents(storage), borrowed, new StorageChunks.Visitor() {
                        @Override
                        public void chunk(Digest128 digest, long length) {
                            chunks.add(RowFactory.create(file.toString(), digest.high(), digest.low(), length));
                        }

                        @Override
                        public void zeros(long length) {
                            // They take no space in a file.
                        }
                    });
                }
            }
        }
        return nbytes;
    }
}
