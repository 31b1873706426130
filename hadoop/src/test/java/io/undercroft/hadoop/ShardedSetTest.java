package io.undercroft.hadoop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.ShardSet;
import io.undercroft.serializer.ShardSet.Request;
import io.undercroft.serializer.state.Slice;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/// Sets of shards in HDFS and in object stores.
class ShardedSetTest {
    private static final int WRITERS = 4;

    private final String folder = "/" + UUID.randomUUID();
    private final Tensor matrix = Tensor.arange(DType.INT64, 1 << 19).view(256, 2048);

    @Test
    void shardsInHdfsAreReadInAnotherLayout() throws Exception {
        Hdfs.fileSystem().mkdirs(new Path(folder));
        check(name -> Hdfs.uri(folder + "/" + name), SaveOptions.defaults(), OpenOptions.defaults(),
                Hdfs.fileSystem());
    }

    @Test
    void shardsInS3AreReadInAnotherLayout() throws Exception {
        String configuration = ConfigurationFile.of(S3.configuration());
        try (FileSystem fs = S3.fileSystem(S3.configuration())) {
            check(name -> S3.uri(folder + "/" + name), SaveOptions.defaults().setting("hadoop.conf", configuration),
                    OpenOptions.defaults().setting("hadoop.conf", configuration), fs);
        }
    }

    @Test
    @EnabledIfEnvironmentVariable(named = Azure.VARIABLE, matches = ".+", disabledReason = Azure.MISSING)
    void shardsInAzureAreReadInAnotherLayout() throws Exception {
        String configuration = ConfigurationFile.of(Azure.configuration());
        try (FileSystem fs = Azure.fileSystem()) {
            check(name -> Azure.uri(folder + "/" + name), SaveOptions.defaults().setting("hadoop.conf", configuration),
                    OpenOptions.defaults().setting("hadoop.conf", configuration), fs);
        }
    }

    private void check(Function<String, URI> uris, SaveOptions saving, OpenOptions opening, FileSystem fs)
            throws Exception {
        List<URI> shards = new ArrayList<>();
        long rows = 256 / WRITERS;
        for (int rank = 0; rank < WRITERS; rank++) {
            shards.add(uris.apply("shards/" + rank + ".croft"));
            Checkpoint.save(shards.getLast(),
                    Map.of("weight", Slice.of(matrix.narrow(0, rank * rows, rows), matrix.shape(), rank * rows, 0),
                            "bias", Slice.whole(matrix.select(0, 0)).replica(rank, WRITERS)),
                    saving.run("job", WRITERS));
        }
        URI manifest = uris.apply("all.croftset");
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> ShardSet.create(manifest, shards.subList(0, 3), opening, saving))
                .extracting(FormatException::code).isEqualTo("V21-SHARD");

        assertThat(createdByOneOf(WRITERS, manifest, shards, saving, opening)).isEqualTo(1);
        assertThat(isCreated(manifest, shards, saving, opening)).isFalse();

        try (ShardSet set = ShardSet.open(manifest, opening)) {
            List<Tensor> read = set.tensors(List.of(
                    new Request("weight", new long[]{0, 512}, Shape.of(256, 1024), Device.CPU),
                    new Request("bias", new long[]{7}, Shape.of(100), Device.CPU)));
            assertThat(read.get(0).contentEquals(matrix.narrow(1, 512, 1024))).isTrue();
            assertThat(read.get(1).contentEquals(matrix.select(0, 0).narrow(0, 7, 100))).isTrue();
        }
        fs.delete(new Path(shards.get(2)), false);
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> ShardSet.open(manifest, opening))
                .withMessageContaining("'shards/2.croft'").extracting(FormatException::code).isEqualTo("V21-SHARD");
    }

    /// {@return how many of several writers made the manifest}
    private static long createdByOneOf(int count, URI manifest, List<URI> shards, SaveOptions saving,
            OpenOptions opening) throws Exception {
        CyclicBarrier start = new CyclicBarrier(count);
        long made = 0;
        try (var threads = Executors.newFixedThreadPool(count)) {
            List<Future<Boolean>> all = IntStream.range(0, count).mapToObj(_ -> threads.submit(() -> {
                start.await();
                return isCreated(manifest, shards, saving, opening);
            })).toList();
            for (Future<Boolean> each : all) {
                made += each.get() ? 1 : 0;
            }
        }
        return made;
    }

    private static boolean isCreated(URI manifest, List<URI> shards, SaveOptions saving, OpenOptions opening)
            throws IOException {
        try {
            ShardSet.create(manifest, shards, opening, saving);
            return true;
        } catch (RemoteFileException e) {
            assertThat(e.kind()).isEqualTo(Kind.CONFLICT);
            return false;
        }
    }
}
