package io.undercroft.hadoop;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.PendingSave;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.StoreOutput;
import io.undercroft.serializer.spi.StoreTarget;
import io.undercroft.serializer.spi.StoreTarget.Creation;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class S3CheckpointTest extends ObjectStoreTest {
    @Override
    Configuration configuration() {
        return S3.configuration();
    }

    @Override
    List<Configuration> refused() {
        Configuration wrong = S3.configuration();
        wrong.set("fs.s3a.secret.key", "guess");
        Configuration none = S3.configuration();
        none.unset("fs.s3a.access.key");
        none.unset("fs.s3a.secret.key");
        none.set("fs.s3a.aws.credentials.provider", "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider");
        return List.of(wrong, none);
    }

    @Override
    Configuration configuration(int port) {
        Configuration other = S3.configuration();
        other.set("fs.s3a.attempts.maximum", "1");
        other.set("fs.s3a.endpoint", "http://127.0.0.1:" + port);
        return other;
    }

    @Override
    FileSystem connect() throws IOException {
        return S3.fileSystem(S3.configuration());
    }

    @Override
    URI uriOf(String path) {
        return S3.uri(path);
    }

    @Override
    URI uriAt(int port) {
        return uri("a.croft");
    }

    @Override
    URI uriElsewhere() {
        return URI.create("s3a://no-such-bucket/a.croft");
    }

    @Override
    long reads() {
        return S3.READS.get();
    }

    @Override
    long bytesRead() {
        return S3.BYTES.get();
    }

    @Test
    void aStateIsUploadedInParts() throws IOException {
        long uploads = counter("multipart_upload_completed");

        Checkpoint.save(HadoopFiles.target(fs, path("a.croft")), Map.of("weight", weight), SaveOptions.defaults());

        assertThat(counter("multipart_upload_completed")).isGreaterThan(uploads);
    }

    @Test
    void aSaveInTheBackgroundFailsIfTheStoreDoesAndLeavesNothing() throws IOException {
        String name = path("a.croft").toUri().getPath().substring(1);
        PendingSave save = Checkpoint.saveAsync(uri("a.croft"),
                Map.of("large", Tensor.arange(DType.INT32, 16 << 20)), saving().progress((done, total) -> {
                    if (done > total / 4) {
                        S3.FAILING.add(name);
                    }
                }));

        assertKind(Kind.UNAVAILABLE, save::close, "a.croft", "nothing of it is visible");
        assertThat(S3.FAILING).contains(name);
        assertThat(fs.exists(path("a.croft"))).isFalse();
    }

    private static Configuration buffering(String buffer) {
        Configuration configuration = S3.configuration();
        configuration.set("fs.s3a.fast.upload.buffer", buffer);
        configuration.set("fs.s3a.audit.execution.interceptors", SlowUpload.class.getName());
        return configuration;
    }

    @ParameterizedTest
    @ValueSource(strings = {"array", "disk"})
    void aSaveAfterOneThatWasAbortedHasItsOwnBytes(String buffer) throws IOException, InterruptedException {
        try (FileSystem other = S3.fileSystem(buffering(buffer))) {
            StoreTarget target = HadoopFiles.target(other, path("a.croft"));
            SlowUpload.stopNext();
            try (StoreOutput aborted = target.create(Creation.REPLACING)) {
                aborted.write(0, MemorySegment.ofArray(new byte[S3.PART + 1]));
                SlowUpload.awaitStop();
            }
            try (StoreOutput next = target.create(Creation.REPLACING)) {
                next.write(0, MemorySegment.ofArray(new byte[]{1, 2}));
                SlowUpload.goOn();
                next.write(2, MemorySegment.ofArray(new byte[]{3, 4}));
                next.commit();
            }
        }
        try (FSDataInputStream in = fs.open(path("a.croft"))) {
            assertThat(in).hasBinaryContent(new byte[]{1, 2, 3, 4});
        }
    }

    @Test
    void aClientThatMixesUpUploadsIsNotUsedForThem() throws IOException {
        try (FileSystem other = S3.fileSystem(buffering("bytebuffer"))) {
            assertKind(Kind.UNSUPPORTED,
                    () -> Checkpoint.save(HadoopFiles.target(other, path("a.croft")), Map.of(), SaveOptions.defaults()),
                    "a.croft", "fs.s3a.fast.upload.buffer", "disk or array");
            assertThat(other.exists(path("a.croft"))).isFalse();
        }
    }
}
