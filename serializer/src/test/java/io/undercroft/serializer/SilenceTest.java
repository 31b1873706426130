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
        private static final StateClasses CLASSES = StateClasses.of(Schedule.class);

        /// Made without a constructor.
        static final class Schedule {
            private final double rate;

            Schedule(double rate) {
                this.rate = rate;
            }
        }

        public static void main(String... arguments) throws IOException {
            Path path = Path.of(arguments[0]);
            Map<String, Object> state = Map.of("weight", Tensor.arange(DType.FLOAT32, 4), "step", List.of(1, "two"),
                    "schedule", new Schedule(0.5));
            Checkpoint.save(path, state, SaveOptions.defaults().classes(CLASSES));
            CroftFile.open(path).commit(state, SaveOptions.defaults().classes(CLASSES));
            try (Checkpoint checkpoint = Checkpoint.open(path, OpenOptions.defaults().classes(CLASSES))) {
                System.out.println(checkpoint.tensor("weight").getFloat(3));
                System.out.println(((Schedule) checkpoint.state(Map.class).get("schedule")).rate);
            }
        }
    }

    @Test
    void aProgramThatSavesAndOpensPrintsItsOwnLinesOnly() throws Exception {
        try (PeerJvm peer = PeerJvm.startWith(List.of("--enable-native-access=ALL-UNNAMED"), Program.class,
                folder.resolve("state.croft").toString())) {
            assertThat(peer.lines()).containsExactly("3.0", "0.5");
        }
    }
}
