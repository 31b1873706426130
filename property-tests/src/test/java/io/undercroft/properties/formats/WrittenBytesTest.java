package io.undercroft.properties.formats;

import static io.undercroft.testsupport.TestData.map;
import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Recorded;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// The bytes that every format writes for a fixed set of states, by size and digest, and the exceptions for states that
/// it refuses, compared with `written-bytes.txt`. The same state gives the same bytes today and after a change of the
/// code; where a line of that file changes, `CHANGELOG.md` says what it means for readers.
class WrittenBytesTest {
    private static final int DIGITS = 16;

    @TempDir
    private Path folder;

    private static Map<String, Object> states() {
        Map<String, Object> states = new LinkedHashMap<>();
        Tensor weight = Tensor.arange(DType.FLOAT32, 24).view(4, 6);
        states.put("plain", map("fc.weight", weight, "fc.bias", Tensor.of(1f, -2f, Float.NaN)));
        states.put("tied", map("embed", weight, "head", weight, "part", weight.narrow(0, 1, 2)));
        states.put("views", map("t", weight.transpose(0, 1), "e", Tensor.of(7f).expand(3, 4), "s",
                weight.asStrided(Shape.of(3, 3), new long[]{2, 1}, 1)));
        states.put("empty", map("none", Tensor.zeros(DType.FLOAT32, 0, 3), "scalar", Tensor.of(5L).view()));
        states.put("tree", map("epoch", 3L, "lr", 0.1, "name", "tiny", "done", true, "nothing", null, "betas",
                Tuple.of(0.9, 0.999), "list", List.of(1L, weight, "x"), "nested", map("deep", map("w", weight))));
        states.put("symbol", map("w", weight, "layout", new Symbol("torch.strided")));
        states.put("random", map("noise", Tensor.of(noise(3 << 20, 5))));
        states.put("names", map("a/b", weight, "ä.ö", weight.copy(), "with space", Tensor.of(1L)));
        states.put("one", Tensor.of(1.5, 2.5));
        for (DType dtype : DType.values()) {
            states.put(dtype.toString(), map("w", Tensor.zeros(dtype, 8)));
        }
        return states;
    }

    private static Map<String, SaveOptions> writers() {
        Map<String, SaveOptions> writers = new LinkedHashMap<>();
        SaveOptions plain = SaveOptions.defaults();
        for (String name : List.of("a.croft", "a.pt", "a.safetensors", "a.npz", "a.npy", "a.gguf", "a.t7",
                "a.safetensors.index.json")) {
            writers.put(name, plain);
        }
        writers.put("identity/a.croft", plain.sharing(SaveOptions.Sharing.IDENTITY));
        writers.put("in-place/a.croft", plain.writableInPlace());
        writers.put("metadata/a.croft", plain.metadata(Map.of("key", "value")).message("message"));
        writers.put("metadata/a.safetensors", plain.metadata(Map.of("key", "value")));
        writers.put("copy/a.safetensors", plain.setting("safetensors.sharing", "copy"));
        writers.put("ascii/a.t7", plain.setting("torch7.encoding", "ascii"));
        writers.put("big/a.t7", plain.setting("torch7.order", "big"));
        writers.put("longs/a.t7", plain.setting("torch7.longs", "4"));
        writers.put("dcp/.metadata", plain.format("torch-dcp"));
        writers.put("half/a.npy", plain.setting("npy.dtype", "float16"));
        return writers;
    }

    @Test
    void everyFormatWritesTheSameBytesAsBefore() throws Exception {
        List<String> lines = new ArrayList<>();
        for (Map.Entry<String, Object> state : states().entrySet()) {
            for (Map.Entry<String, SaveOptions> writer : writers().entrySet()) {
                Path directory = Files.createDirectories(folder.resolve(state.getKey()).resolve(writer.getKey()));
                Path file = directory.resolve(Path.of(writer.getKey()).getFileName());
                String what = state.getKey() + " as " + writer.getKey() + ": ";
                try {
                    Checkpoint.save(file, state.getValue(), writer.getValue());
                    lines.add(what + written(directory));
                } catch (IllegalArgumentException _) {
                    lines.add(what + "IllegalArgumentException");
                }
            }
        }

        assertThat(lines).containsExactlyElementsOf(Recorded.lines(getClass(), "written-bytes.txt"));
    }

    /// Returns the sizes and digests of the files of a directory.
    private static String written(Path directory) throws IOException, NoSuchAlgorithmException {
        List<String> files = new ArrayList<>();
        try (Stream<Path> all = Files.list(directory)) {
            for (Path file : all.sorted().toList()) {
                byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file));
                files.add(Files.size(file) + " "
                        + HexFormat.of().formatHex(Arrays.copyOf(digest, DIGITS / 2)));
            }
        }
        return String.join(", ", files);
    }
}
