package io.undercroft.spark;

import static org.apache.spark.sql.functions.col;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.FileNotFoundException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.sql.DataFrameReader;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/// The data source, read by two executors.
@ExtendWith(Cluster.class)
class TableTest {
    private static final int MEBIBYTE = 1 << 20;

    @TempDir
    Path directory;

    private static DataFrameReader reader() {
        return SparkSession.active().read().format("croft");
    }

    private static List<String> names(Dataset<Row> rows) {
        return rows.select("name").collectAsList().stream().map(row -> row.getString(0)).sorted().toList();
    }

    @Test
    void eachTensorOfEachFormatIsARow() throws Exception {
        TestFiles.tree(directory);

        Dataset<Row> rows = reader().load(directory.toString());

        assertThat(rows.schema().fieldNames()).containsExactly("file", "snapshot", "name", "dtype", "shape", "stride",
                "offset", "storage", "bytes", "digest", "min", "max", "mean", "nan_count", "payload");
        assertThat(rows.count()).isEqualTo(12);
        Row head = rows.where("file like '%/c.croft' and name = 'head.weight'").first();
        assertThat(head.getString(0)).isEqualTo("file://" + directory.resolve("sub/c.croft").toUri().getRawPath());
        assertThat(head.getLong(1)).isEqualTo(2);
        assertThat(head.getString(3)).isEqualTo("float32");
        assertThat(head.<Long>getList(4)).containsExactly(256L, 256L);
        assertThat(head.<Long>getList(5)).containsExactly(1L, 256L);
        assertThat(head.getLong(6)).isZero();
        assertThat(head.getLong(7)).isZero();
        assertThat(head.getLong(8)).isEqualTo(4 * 256 * 256);
        Row bias = rows.where("snapshot is null and name = 'norm.bias'").first();
        assertThat(bias.getDouble(10)).isEqualTo(-3);
        assertThat(bias.getDouble(11)).isEqualTo(4);
        assertThat(bias.getDouble(12)).isEqualTo(2 / 3.0);
        assertThat(bias.getLong(13)).isEqualTo(1);
        assertThat(ByteBuffer.wrap(bias.getAs("payload")).order(ByteOrder.LITTLE_ENDIAN).getFloat(8)).isEqualTo(-3);
    }

    @Test
    void equalBytesHaveOneDigestInAllFilesAndFormats() throws Exception {
        TestFiles.tree(directory);
        Checkpoint.save(directory.resolve("same.croft"), Map.of("w", TestFiles.random(9, 3 << 18)));
        Checkpoint.save(directory.resolve("same.safetensors"), Map.of("w", TestFiles.random(9, 3 << 18)));
        Checkpoint.save(directory.resolve("compressed.croft"), Map.of("w", TestFiles.random(9, 3 << 18)),
                SaveOptions.defaults().compress(SaveOptions.Compression.ALONE));
        Tensor sparse = Tensor.zeros(DType.FLOAT32, 3 << 18);
        sparse.narrow(0, 5, 1).fill(1.5);
        Checkpoint.save(directory.resolve("sparse.croft"), Map.of("w", sparse));
        Checkpoint.save(directory.resolve("sparse.npz"), Map.of("w", sparse));

        Dataset<Row> rows = reader().load(directory.toString());

        assertThat(rows.where("name = 'steps'").select("digest").distinct().count()).isEqualTo(1);
        assertThat(rows.where("name = 'w'").select("digest").distinct().count()).isEqualTo(2);
        assertThat(rows.where("name = 'embed.weight'").select("digest").distinct().count()).isEqualTo(3);
    }

    /// Writes a file with two tensors of 8 MiB, and lists it as one in a store that counts what is read.
    private Dataset<Row> counted(Path file) throws Exception {
        Checkpoint.save(file, Map.of("a", TestFiles.random(1, 2 * MEBIBYTE), "b", TestFiles.random(2, 2 * MEBIBYTE)));
        return reader().option("fs.count.impl", CountingFileSystem.class.getName()).load("count://" + file);
    }

    @Test
    void descriptionsAreReadWithoutElements() throws Exception {
        for (String name : List.of("m.croft", "m.safetensors", "m.pt", "m.npz")) {
            Path file = directory.resolve(name);
            Dataset<Row> rows = counted(file);

            assertThat(names(rows)).containsExactly("a", "b");
            assertThat(CountingFileSystem.bytesRead(file)).as(name).isBetween(1L, 256L << 10);

            rows.select("file", "snapshot", "name", "dtype", "shape", "stride", "offset", "storage", "bytes")
                    .collectAsList();
            assertThat(CountingFileSystem.bytesRead(file)).as(name).isBetween(1L, 256L << 10);
        }
    }

    @Test
    void aFilterOnNamesLeavesTheOtherTensorsUnread() throws Exception {
        for (String name : List.of("m.croft", "m.safetensors", "m.pt")) {
            Path file = directory.resolve(name);
            Dataset<Row> rows = counted(file);

            assertThat(rows.where("name = 'a'").select("mean").collectAsList()).hasSize(1);
            assertThat(CountingFileSystem.bytesRead(file)).as(name).isBetween(8L * MEBIBYTE, 9L * MEBIBYTE);

        }
    }

    @Test
    void aPayloadOfACroftFileIsReadInItsChunksOnly() throws Exception {
        Path file = directory.resolve("m.croft");

        assertThat(counted(file).where("name = 'b'").select("payload").collectAsList()).hasSize(1);

        assertThat(CountingFileSystem.bytesRead(file)).isLessThan(2L * MEBIBYTE);
    }

    @Test
    void repeatedElementsAreCountedWithoutReadingThemAgain() throws Exception {
        Path file = directory.resolve("m.pt");
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("expanded", Tensor.of(1f, 3f, Float.NaN).view(3, 1).expand(3, 1L << 40));
        state.put("overlapping",
                Tensor.arange(DType.FLOAT32, 1 << 18).asStrided(Shape.of(1 << 17, 1 << 17), new long[]{1, 1}, 0));
        Checkpoint.save(file, state);

        assertThat(reader().load(file.toString()).sort("name").select("min", "max", "mean", "nan_count")
                .collectAsList()).hasToString("[[1.0,3.0,2.0,1099511627776], [null,null,null,null]]");
    }

    @Test
    void elementsOfAnySizeCostNothingIfThereAreNone() throws Exception {
        byte[] header = "{'descr': '|V2147483647', 'fortran_order': False, 'shape': (3, 0), }\n"
                .getBytes(StandardCharsets.US_ASCII);
        ByteBuffer array = ByteBuffer.allocate(10 + header.length).order(ByteOrder.LITTLE_ENDIAN)
                .put(new byte[]{(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0}).putShort((short) header.length)
                .put(header);
        Files.write(directory.resolve("w.npy"), array.array());

        List<Row> rows = reader().option("mode", "PERMISSIVE").load(directory.resolve("w.npy").toString())
                .select("error", "min", "digest", "payload").collectAsList();

        assertThat(rows).hasSize(1).allMatch(row -> row.isNullAt(0));
    }

    @Test
    void digestsOfCroftFilesAreReadWithoutElements() throws Exception {
        Path file = directory.resolve("m.croft");

        assertThat(counted(file).select("digest").distinct().count()).isEqualTo(2);

        assertThat(CountingFileSystem.bytesRead(file)).isLessThan(256L << 10);
    }

    @Test
    void filtersGiveTheRowsThatSparkAloneGives() throws Exception {
        TestFiles.tree(directory);
        Dataset<Row> rows = reader().load(directory.toString()).drop("payload");
        Dataset<Row> local = SparkSession.active().createDataFrame(rows.collectAsList(), rows.schema());
        List<String> conditions = List.of("name = 'steps'", "name <> 'steps'", "name in ('steps', 'norm.bias', null)",
                "not name in ('steps')", "name like 'embed%' or dtype = 'int64'", "name like '%ias'",
                "name like '%or%'", "snapshot > 1", "snapshot is null and bytes <= 48", "snapshot <=> null",
                "snapshot <=> 2", "not (snapshot = 2)", "not (snapshot = 2 and bytes > 48)", "bytes >= 48",
                "bytes < 48", "offset = 0 and storage = 1", "name > 'head.weight'", "file like '%.pt'",
                "file like '%.pt' and name = 'steps'", "mean > 0 and name <> 'steps'", "nan_count = 1", "false");
        for (String condition : conditions) {
            assertThat(rows.where(condition).select("file", "name").collectAsList()).as(condition)
                    .containsExactlyInAnyOrderElementsOf(
                            local.where(condition).select("file", "name").collectAsList());
        }
    }

    @Test
    void filesThatAFilterExcludesAreNotOpened() throws Exception {
        TestFiles.tree(directory);
        Files.writeString(directory.resolve("broken.pt"), "no checkpoint");
        Dataset<Row> rows = reader().load(directory.toString());

        assertThat(rows.where("file not like '%broken.pt'").select("name").collectAsList()).hasSize(12);
        assertThat(rows.where(col("file").endsWith("a.pt")).toJavaRDD().getNumPartitions()).isEqualTo(1);
    }

    @Test
    void aFileThatCannotBeReadFailsTheJobOrIsARowOrIsSkipped() throws Exception {
        TestFiles.tree(directory);
        Path broken = directory.resolve("broken.pt");
        Files.writeString(broken, "no checkpoint");

        assertThatThrownBy(() -> names(reader().load(directory.toString())))
                .hasStackTraceContaining(TensorReadException.class.getName())
                .hasStackTraceContaining("broken.pt cannot be read").hasStackTraceContaining("mode=PERMISSIVE");
        Dataset<Row> rows = reader().option("mode", "permissive").load(directory.toString());
        assertThat(rows.count()).isEqualTo(13);
        Row error = rows.where("error is not null").select("file", "name", "error").first();
        assertThat(error.getString(0)).endsWith("/broken.pt");
        assertThat(error.isNullAt(1)).isTrue();
        assertThat(error.getString(2)).contains("FORMAT-UNKNOWN");
        assertThat(reader().option("mode", "DROPMALFORMED").load(directory.toString()).count()).isEqualTo(12);
    }

    @Test
    void aBaseMayBeInAnotherDirectory() throws Exception {
        Path base = Files.createDirectories(directory.resolve("base")).resolve("base.croft");
        Path tuned = Files.createDirectories(directory.resolve("tuned")).resolve("tuned.croft");
        Map<String, Object> state = Map.of("a", TestFiles.random(1, MEBIBYTE));
        Checkpoint.save(base, state);
        Checkpoint.save(tuned, state, SaveOptions.defaults().base(base).root(directory));

        assertThatThrownBy(() -> reader().load(tuned.toString()).select("max").collectAsList())
                .hasStackTraceContaining("it is not there").hasStackTraceContaining("the option root");
        assertThat(reader().option("root", directory.toString()).load(tuned.toString()).select("max").first()
                .isNullAt(0)).isFalse();
    }

    @Test
    void aDamagedTensorIsAnErrorOnlyWhereItsElementsAreRead() throws Exception {
        Path file = directory.resolve("m.croft");
        Checkpoint.save(file, Map.of("a", TestFiles.random(1, MEBIBYTE), "b", TestFiles.random(2, MEBIBYTE)));
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(new byte[4096]), channel.size() / 2 - MEBIBYTE);
        }

        assertThat(names(reader().load(file.toString()))).containsExactly("a", "b");
        assertThatThrownBy(() -> reader().load(file.toString()).select("max").collectAsList())
                .hasStackTraceContaining(TensorReadException.class.getName());
        List<Row> rows = reader().option("mode", "PERMISSIVE").load(file.toString()).select("name", "max", "error")
                .collectAsList();
        assertThat(rows).hasSize(2);
        assertThat(rows).filteredOn(row -> row.isNullAt(1)).hasSize(1)
                .allMatch(row -> row.getString(2).contains("checksum"));
        assertThat(reader().option("mode", "DROPMALFORMED").load(file.toString()).select("name", "max")
                .collectAsList()).hasSize(1);
    }

    @Test
    void aPayloadIsAPartOfTheElements() throws Exception {
        Tensor tensor = Tensor.arange(DType.INT32, 24).view(4, 6);
        Checkpoint.save(directory.resolve("m.croft"), Map.of("rows", tensor, "columns", tensor.transpose(0, 1)));

        Dataset<Row> rows = reader().option("payloadStart", 3).option("maxPayloadBytes", 11)
                .load(directory.toString());

        assertThat(rows.where("name = 'rows'").select("payload").first().<byte[]>getAs(0))
                .containsExactly(3, 0, 0, 0, 4, 0, 0, 0);
        assertThat(rows.where("name = 'columns'").select("payload").first().<byte[]>getAs(0))
                .containsExactly(18, 0, 0, 0, 1, 0, 0, 0);
    }

    @Test
    void allSnapshotsAreReadIfThatIsAskedFor() throws Exception {
        TestFiles.tree(directory);

        Dataset<Row> rows = reader().option("snapshots", "all").load(directory.toString());

        assertThat(rows.where("snapshot = 1").count()).isEqualTo(4);
        assertThat(rows.where("snapshot = 2").count()).isEqualTo(4);
        assertThat(rows.count()).isEqualTo(16);
    }

    @Test
    void pathsAreFilesDirectoriesAndGlobs() throws Exception {
        TestFiles.tree(directory);
        Path odd = Files.createDirectories(directory.resolve("ünusual dir")).resolve("100% [x].pt");
        Files.copy(directory.resolve("a.pt"), odd);
        Files.copy(odd, directory.resolve("named-without-suffix"));

        assertThat(reader().load(directory + "/*.pt", directory + "/sub").count()).isEqualTo(12);
        assertThat(reader().load(directory + "/named-without-suffix").count()).isEqualTo(4);
        assertThat(reader().load(directory + "/ünusual dir").count()).isEqualTo(4);
        assertThat(reader().option("pathGlobFilter", "*.{pt,croft}").load(directory.toString()).count())
                .isEqualTo(12);
        assertThat(reader().load(directory + "/a.pt", directory.toString()).count()).isEqualTo(16);
    }

    @Test
    void whatIsWrongWithPathsAndOptionsIsSaidWhenTheTableIsMade() {
        String absent = directory + "/absent.pt";
        assertThatThrownBy(() -> reader().load(absent)).isInstanceOf(UncheckedIOException.class)
                .hasCauseInstanceOf(FileNotFoundException.class).hasMessageContaining("absent.pt matches no file");
        assertThatThrownBy(() -> reader().load()).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no path is given");
        Stream.of("mode", "snapshots", "maxPayloadBytes", "payloadStart")
                .forEach(option -> assertThatThrownBy(() -> reader().option(option, "-1").load(directory.toString()))
                        .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("option " + option));
    }
}
