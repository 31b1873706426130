package io.undercroft.interop.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// A tensor that breaks a rule of its own does not keep the others of its file from being read.
class OneBadTensorTest {
    @TempDir
    Path folder;

    /// Of a storage of 4 elements: one tensor of the elements 2 to 4, which it has not, and one of the first two.
    private Path torch() throws IOException {
        PickleBuilder pickle = new PickleBuilder().ops("}(").text("bad");
        tensor(pickle, 2, 3).text("good");
        return TorchZips.write(folder.resolve("a.pt"), tensor(pickle, 0, 2).ops("u").stop(), ZipEntry.STORED,
                new byte[16]);
    }

    private static PickleBuilder tensor(PickleBuilder pickle, int offset, int size) {
        return pickle.global("torch._utils", "_rebuild_tensor").ops("(").storage("0", 4).integer(offset).integer(size)
                .bytes(0x85).integer(1).bytes(0x85).ops("tR");
    }

    @Test
    void ofPyTorch() throws IOException {
        check(torch(), "TORCH-TENSOR");
    }

    @Test
    void ofNumPy() throws IOException {
        Path arrays = folder.resolve("a.npz");
        try (var zip = new ZipOutputStream(Files.newOutputStream(arrays))) {
            zip.putNextEntry(new ZipEntry("bad.npy"));
            zip.write(new byte[20]);
            Path good = folder.resolve("good.npy");
            Checkpoint.save(good, Tensor.of(0f, 0f));
            zip.putNextEntry(new ZipEntry("good.npy"));
            zip.write(Files.readAllBytes(good));
        }
        check(arrays, "NPY");
    }

    private void check(Path path, String code) throws IOException {
        for (OpenOptions options : new OpenOptions[]{OpenOptions.defaults(), OpenOptions.defaults().inMemory(),
                OpenOptions.defaults().onMeta()}) {
            try (Checkpoint opened = Checkpoint.open(path, options)) {
                assertThat(opened.names()).containsExactly("bad", "good");
                assertThat(opened.tensor("good").numel()).isEqualTo(2);
                assertThatThrownBy(() -> opened.tensor("bad")).isInstanceOf(FormatException.class)
                        .hasMessageStartingWith(path + ": ").hasMessageContaining(code);
                Tensor bad = (Tensor) ((Map<?, ?>) opened.state()).get("bad");
                assertThatThrownBy(() -> bad.storage().get(0)).isInstanceOf(FormatException.class)
                        .hasMessageStartingWith(path + ": ").hasMessageContaining(code);
                assertThatThrownBy(() -> opened.rows("bad", 0, 1)).isInstanceOf(FormatException.class)
                        .hasMessageStartingWith(path + ": ").hasMessageContaining(code);
                assertThat(opened.verify().damages()).anyMatch(damage -> damage.where().equals("tensor 'bad'"));
                assertThat(opened.storages()).hasSize(1);
                for (String name : new String[]{"b.croft", "b.pt", "b.safetensors", "b.npz"}) {
                    assertThatThrownBy(() -> Checkpoint.save(folder.resolve(name), opened.tree()))
                            .isInstanceOf(FormatException.class)
                            .hasMessageContaining("'bad' cannot be saved");
                }
            }
        }
        try (Checkpoint part = Checkpoint.open(path, OpenOptions.defaults().only("good"::equals))) {
            assertThat(part.tensor("good").toFloatArray()).containsExactly(0, 0);
        }
    }
}
