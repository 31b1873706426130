package io.undercroft.interop;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Tries;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// Small files of formats whose headers are text or numbers, damaged in each byte and cut after each.
class DamagedFilesTest {
    /// Which bits of each byte are flipped; if not all tries are made, one of these for each byte.
    private static final List<Integer> FLIPS = List.of(1, 8, 64, 0xFF);

    @TempDir
    private Path folder;

    /// A state that every format keeps, and of GGUF also blocks, text and a list.
    private static Object state(String format) {
        if (format.equals("npy")) {
            return Tensor.of(1f, 2f);
        }
        TypedMap state = new TypedMap("gguf");
        Tensor base = Tensor.of(1f, 2f, 3f, 4f);
        state.put("base", base);
        state.put("view", base.narrow(0, 1, 2));
        state.put("tied", base);
        state.put("other", Tensor.scalar(1.5));
        if (format.equals("gguf")) {
            state.put("blocks", Tensor.of(Storage.allocate(18), DType.opaque("gguf:Q4_0", 144), 0, Shape.of(1), 1));
            state.attributes().putAll(Map.of("general.alignment", new Typed("gguf:uint32", 32L), "text", "text", "list",
                    new Typed("gguf:array:string", List.of("a", "b"))));
            return state;
        }
        return new LinkedHashMap<>(state);
    }

    @ParameterizedTest
    @CsvSource({"gguf,'',''", "npy,'',''", "npz,'',''", "npz,npz.compression,deflate", "safetensors,'',''"})
    void aDamagedFileIsRefusedInOneLineOrRead(String format, String setting, String value) throws IOException {
        Path saved = folder.resolve("saved." + format);
        SaveOptions options = SaveOptions.defaults();
        Checkpoint.save(saved, state(format), setting.isEmpty() ? options : options.setting(setting, value));
        byte[] intact = Files.readAllBytes(saved);
        int refused = 0;
        for (int at = 0; at < intact.length; at++) {
            refused += isRefused(Arrays.copyOf(intact, at), format) ? 1 : 0;
            for (int flip : Tries.ARE_ALL ? FLIPS : List.of(FLIPS.get(at % FLIPS.size()))) {
                byte[] damaged = intact.clone();
                damaged[at] ^= (byte) flip;
                refused += isRefused(damaged, format) ? 1 : 0;
            }
        }
        assertThat(isRefused(intact, format)).isFalse();
        assertThat(refused).isGreaterThan(intact.length);
    }

    private boolean isRefused(byte[] bytes, String format) throws IOException {
        Path path = Files.write(folder.resolve("damaged"), bytes);
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().format(format))) {
            c.names().forEach(name -> assertThat(c.tensor(name).copy().numel()).isNotNegative());
            assertThat(c.verify().damages()).isNotNull();
            return false;
        } catch (FormatException e) {
            assertThat(e.getMessage()).contains(path.toString()).doesNotContain("\n");
            return true;
        }
    }
}
