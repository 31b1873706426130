package io.undercroft.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class QuickstartTest {
    @Test
    void everyStepHoldsAndNothingStaysBehind() throws IOException {
        Invocation run = Invocation.of("quickstart");

        assertThat(run.err()).isEmpty();
        assertThat(run.code()).isZero();
        assertThat(run.out()).contains("torch-zip, 1.6 MiB", "113 tensors on 112 storages",
                "one storage of 128.0 KiB, used by: model/transformer.wte.weight, model/lm_head.weight",
                "only this storage was mapped, and the file on disk has not changed",
                "113 tensors, 1.7 MiB: equal in SHA-256",
                "it attached and found 113 tensors equal in SHA-256",
                "it wrote lm_head.weight[0, 0]; here transformer.wte.weight[0, 0] = 42.0",
                "two processes read and write the same storages");
        String mine = "croft-quickstart-" + ProcessHandle.current().pid() + "-";
        try (Stream<Path> segments = Files.list(Path.of("/dev/shm"))) {
            assertThat(segments.map(file -> file.getFileName().toString())).noneMatch(name -> name.startsWith(mine));
        }
    }

    @Test
    void aPeerWithoutADescriptionFailsCleanly() {
        Invocation run = Invocation.of("quickstart-peer", "unexpected");

        assertThat(run.code()).isEqualTo(2);
        assertThat(run.err()).startsWith("croft: ");
    }
}
