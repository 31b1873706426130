package io.undercroft.hadoop;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.StoreTarget;
import java.io.IOException;
import java.net.URI;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

@EnabledIfEnvironmentVariable(named = Azure.VARIABLE, matches = ".+", disabledReason = Azure.MISSING)
class AzureCheckpointTest extends ObjectStoreTest {
    @Override
    Configuration configuration() {
        return Azure.configuration();
    }

    @Override
    List<Configuration> refused() {
        Configuration wrong = Azure.configuration();
        wrong.set(Azure.keyOf(uri("")), "bm90IHRoZSBrZXk=");
        Configuration none = Azure.configuration();
        none.unset(Azure.keyOf(uri("")));
        return List.of(wrong, none);
    }

    @Override
    Configuration configuration(int port) {
        Configuration other = Azure.configuration();
        other.set(Azure.keyOf(uriAt(port)), "a2V5");
        return other;
    }

    @Override
    FileSystem connect() throws IOException {
        return Azure.fileSystem();
    }

    @Override
    URI uriOf(String path) {
        return Azure.uri(path);
    }

    @Override
    URI uriAt(int port) {
        return Azure.uri(Azure.CONTAINER, port, "/a.croft");
    }

    @Override
    URI uriElsewhere() {
        return Azure.uri("no-such-bucket", "/a.croft");
    }

    /// The client counts the requests of a file system.
    @Override
    Checkpoint openCounted(String name) throws IOException {
        return Checkpoint.open(HadoopFiles.source(fs, path(name)), OpenOptions.defaults());
    }

    @Override
    long reads() {
        return counter("get_responses") - counter("op_get_file_status");
    }

    @Override
    long bytesRead() {
        return counter("bytes_received");
    }

    @Test
    void savesLeaveNoThreadsOfClientsBehind() throws IOException {
        StoreTarget target = HadoopFiles.target(fs, path("a.croft"));
        Checkpoint.save(target, Map.of("weight", weight), SaveOptions.defaults());
        long before = threadsOfPools();

        for (int i = 0; i < 6; i++) {
            Checkpoint.save(target, Map.of("weight", weight), SaveOptions.defaults());
        }

        assertThat(threadsOfPools()).isLessThan(before + 6);
    }

    private static long threadsOfPools() {
        return Thread.getAllStackTraces().keySet().stream().filter(thread -> thread.getName().startsWith("pool-"))
                .count();
    }
}
