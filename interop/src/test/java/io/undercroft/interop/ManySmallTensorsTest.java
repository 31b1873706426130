package io.undercroft.interop;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// What each tensor costs in an archive of very many.
class ManySmallTensorsTest {
    private static final int COUNT = 1000;

    @TempDir
    private Path folder;

    @Test
    @EnabledOnOs(OS.LINUX)
    void theHeadersOfSmallStoragesOfPyTorchAreReadSeveralAtATime() throws IOException {
        Path path = folder.resolve("many.pt");
        Checkpoint.save(path, state());
        open(path);
        long before = Proc.readsByThisThread();
        open(path);
        assertThat(Proc.readsByThisThread() - before).isLessThan(COUNT / 4);
    }

    private static void open(Path path) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.names()).hasSize(COUNT);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"many.pt", "many.npz"})
    void savingAnArchiveTakesOneBufferForAllTensors(String name) throws IOException {
        Map<String, Object> state = state();
        Path path = folder.resolve(name);
        Checkpoint.save(path, state);
        long before = Proc.allocatedByThisThread();
        Checkpoint.save(path, state);
        assertThat(Proc.allocatedByThisThread() - before).isLessThan(COUNT * (32L << 10));
    }

    private static Map<String, Object> state() {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < COUNT; i++) {
            state.put("layer." + i, Tensor.full(DType.FLOAT32, i, 8));
        }
        return state;
    }
}
