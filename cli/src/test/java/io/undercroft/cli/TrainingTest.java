package io.undercroft.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TrainingTest {
    /// Commands that are not trained: they run for minutes, or start processes.
    private static final Set<String> NOT_TRAINED = Set.of("quickstart", "cuda-check");

    @TempDir
    Path folder;

    @Test
    void everyCommandIsTrained() {
        Training training = new Training(folder);
        Set<String> trained = Stream.concat(training.bulk().stream(), training.small().stream())
                .flatMap(
                        line -> Stream.of(line.getFirst(), String.join(" ", line.subList(0, Math.min(2, line.size())))))
                .collect(Collectors.toSet());

        assertThat(trained).containsAll(Croft.names().stream().filter(name -> !NOT_TRAINED.contains(name)).toList());
    }

    @Test
    void theSecondCommandsWorkOnTheFilesOfTheFirst() {
        assertThat(Invocation.of("train-bulk", folder).code()).isZero();
        Set<List<String>> failed = new Training(folder).small().stream()
                .filter(line -> Invocation.of(line.toArray()).code() != CommandRunner.OK).collect(Collectors.toSet());

        // A missing file, and a name that the first commands have removed, are used on purpose.
        assertThat(failed).hasSize(2)
                .allMatch(line -> line.contains("remove") || line.getLast().endsWith("missing.pt"));
        assertThat(Invocation.of("train-short", folder).code()).isZero();
    }

    @Test
    void trainingLeavesNoSharedMemory() throws Exception {
        Invocation.of("train-bulk", folder);

        assertThat(Invocation.of("shm", "list").out())
                .doesNotContain("croft-training-" + ProcessHandle.current().pid());
        assertThat(Files.exists(folder.resolve("out.croft"))).isTrue();
    }
}
