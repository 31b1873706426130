package io.undercroft.interop.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.Device;
import io.undercroft.testsupport.Sameness;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// A `.croft` file that refers to the bytes of a file of PyTorch instead of copying them.
class AdoptionTest {
    @TempDir
    Path folder;
    private Path torch;
    private Path croft;
    private DedupReport report;

    @BeforeEach
    void adopt() throws IOException {
        torch = Files.copy(Fixtures.PYTORCH.resolve("tied.pt"), folder.resolve("tied.pt"));
        croft = folder.resolve("tied.croft");
        try (Checkpoint source = Checkpoint.open(torch)) {
            report = Checkpoint.save(croft, source.state(), SaveOptions.defaults().base(torch)).dedup().orElseThrow();
        }
    }

    private OpenOptions below() {
        return OpenOptions.defaults().root(folder);
    }

    @Test
    void itIsOpenedOnlyBelowADirectoryThatTheReaderNames() throws IOException {
        try (Checkpoint adopted = Checkpoint.open(croft)) {
            String name = adopted.names().getFirst();
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> adopted.tensor(name).storage().get(0))
                    .withMessageContaining("OpenOptions.root").extracting(FormatException::code).isEqualTo("V18-BASE");
        }
    }

    @Test
    void bytesThatHaveChangedSinceAreRefused() throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(torch.toFile(), "rw")) {
            for (long at = 0; at < file.length(); at++) {
                file.seek(at);
                int value = file.read();
                file.seek(at);
                file.write(value ^ 1);
            }
        }
        try (Checkpoint adopted = Checkpoint.open(croft, below())) {
            String name = adopted.names().getFirst();
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> adopted.tensor(name).storage().get(0))
                    .extracting(FormatException::code).isEqualTo("V14-CHECKSUM");
        }
    }

    @Test
    void aFileThatWasSavedFromAGpuIsAdoptedToo() throws IOException {
        Path saved = Files.copy(Fixtures.PYTORCH.resolve("BAD_location_cuda.pt"), folder.resolve("cuda.pt"));
        Path adopted = folder.resolve("cuda.croft");
        try (Checkpoint source = Checkpoint.open(saved, OpenOptions.defaults().devices(_ -> Device.CPU))) {
            report = Checkpoint.save(adopted, source.state(), SaveOptions.defaults().base(saved)).dedup().orElseThrow();
        }
        assertThat(report.written()).isZero();
        assertThat(report.storages()).isPositive();
    }

    /// Of a directory whose shards are of no format by themselves. Tensors of several chunks are copied.
    @Test
    void shardsOfADistributedCheckpointAreAdopted() throws IOException {
        Path directory = Path.of("..", "test-support", "fixtures", "pytorch", "dcp", "two");
        Path adopted = folder.resolve("two.croft");
        SaveOptions options = SaveOptions.defaults().base(directory).root(directory.resolve("..")).wholeStorages();
        try (Checkpoint source = Checkpoint.open(directory)) {
            report = Checkpoint.save(adopted, source.state(), options).dedup().orElseThrow();
            try (Checkpoint c = Checkpoint.open(adopted, OpenOptions.defaults().root(directory.resolve("..")))) {
                assertThat(c.bases()).hasSize(2);
                Sameness.check(source.state(), c.state());
            }
        }
    }

    @Test
    void externalDataOfAModelIsAdopted() throws IOException {
        Path model = Path.of("..", "test-support", "fixtures", "onnx", "external.onnx");
        Path adopted = folder.resolve("external.croft");
        SaveOptions options = SaveOptions.defaults().base(model).root(model.resolveSibling("")).wholeStorages();
        try (Checkpoint source = Checkpoint.open(model)) {
            report = Checkpoint.save(adopted, source.state(), options).dedup().orElseThrow();
            try (Checkpoint c = Checkpoint.open(adopted, OpenOptions.defaults().root(model.resolveSibling("")))) {
                assertThat(c.bases()).anyMatch(base -> base.path().endsWith("external.onnx.data"));
                Sameness.check(source.state(), c.state());
            }
        }
    }
}
