package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/// Opening and closing a checkpoint leaves nothing in this process.
@Isolated("counts the mappings and descriptors of the process")
@EnabledOnOs(OS.LINUX)
class OpenCloseCyclesTest {
    private static final int CYCLES = 2000;
    /// What the JVM may map meanwhile for itself, of the thousands that would be there if one was left each time.
    private static final long NOISE = 50;

    @TempDir
    Path folder;

    @FunctionalInterface
    private interface Opening {
        Checkpoint open() throws IOException;
    }

    @Test
    void thousandsOfCyclesLeaveAsManyMapsAndDescriptorsAsBefore() throws IOException {
        Map<String, Object> state = Map.of("weight", Tensor.arange(DType.FLOAT32, 100_000));
        Path file = folder.resolve("cycles.croft");
        String name = "croft-cycles-" + UUID.randomUUID();
        Checkpoint.save(file, state);
        PublishedCheckpoint.publish(name, state, SaveOptions.defaults()).close();
        try {
            assertNothingStays(() -> Checkpoint.open(file));
            assertNothingStays(() -> PublishedCheckpoint.attach(name));
        } finally {
            PublishedCheckpoint.unpublish(name);
        }
    }

    private static void assertNothingStays(Opening opening) throws IOException {
        cycle(opening, CYCLES / 10);
        long maps = Proc.mappings("");
        long descriptors = Proc.descriptors();
        cycle(opening, CYCLES);
        // The garbage collector may close what tests before left to it.
        assertThat(Proc.descriptors()).isLessThanOrEqualTo(descriptors);
        assertThat(Proc.mappings("")).isBetween(maps - NOISE, maps + NOISE);
    }

    private static void cycle(Opening opening, int count) throws IOException {
        for (int i = 0; i < count; i++) {
            try (Checkpoint c = opening.open()) {
                assertThat(c.tensor("weight").getDouble(i)).isEqualTo(i);
            }
        }
    }

}
