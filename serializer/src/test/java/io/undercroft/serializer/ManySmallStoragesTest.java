package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
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
import org.junit.jupiter.api.parallel.Isolated;

/// A state of very many small storages, loaded into memory.
@Isolated("counts the mappings of the process")
class ManySmallStoragesTest {
    private static final int COUNT = 30_000;

    @TempDir
    private Path folder;

    @Test
    @EnabledOnOs(OS.LINUX)
    void theyTakeFewMappings() throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < COUNT; i++) {
            state.put("t" + i, Tensor.full(DType.INT64, i, 4));
        }
        Path file = folder.resolve("small.croft");
        Checkpoint.save(file, state);
        long before = Proc.mappings("");
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().inMemory())) {
            assertThat(Proc.mappings("") - before).isLessThan(COUNT / 100);
            assertThat(c.storages()).hasSize(COUNT).allMatch(Storage::isMaterialized);
            for (int i = 0; i < COUNT; i += 997) {
                assertThat(c.tensor("t" + i).getLong(3)).isEqualTo(i);
            }
        }
    }

}
