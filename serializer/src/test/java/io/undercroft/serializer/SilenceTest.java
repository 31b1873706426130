package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Neither the library nor what it uses prints anything in the process of its user.
class SilenceTest {
    @TempDir
    private Path folder;

    static final class Program {
        public static void main(String... arguments) throws IOException {
            Path path = Path.of(arguments[0]);
            Map<String, Object> state = Map.of("weight", Tensor.arange(DType.FLOAT32, 4), "step", List.of(1, "two"));
            Checkpoint.save(path, state);
            CroftFile.open(path).commit(state, "again");
            try (Checkpoint checkpoint = Checkpoint.open(path)) {
                System.out.println(checkpoint.tensor("weight").getFloat(3));
            }
        }
    }

    @Test
    void aProgramThatSavesAndOpensPrintsItsOwnLinesOnly() throws Exception {
        try (PeerJvm peer = PeerJvm.startWith(List.of("--enable-native-access=ALL-UNNAMED"), Program.class,
                folder.resolve("state.croft").toString())) {
            assertThat(peer.lines()).containsExactly("3.0");
        }
    }
}
