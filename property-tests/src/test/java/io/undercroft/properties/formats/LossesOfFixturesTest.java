package io.undercroft.properties.formats;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.FormatException;
import io.undercroft.properties.Repository;
import io.undercroft.properties.Scratch;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Files of real programs, each converted to every format: the losses that are reported are those that there are.
class LossesOfFixturesTest {
    private static final String DISTRIBUTED = ".metadata";
    private static final Map<String, String> SUFFIXES = Map.of("pt", ".pt", "safetensors", ".safetensors", "sets",
            ".safetensors.index.json", "npy", ".npy", "npz", ".npz", "gguf", ".gguf", "torch7", ".t7", "croft",
            ".croft", "dcp", DISTRIBUTED);

    static List<Path> folders() throws IOException {
        try (Stream<Path> folders = Files.list(Repository.path("test-support/fixtures"))) {
            return folders.filter(Files::isDirectory).sorted().toList();
        }
    }

    @ParameterizedTest
    @MethodSource("folders")
    void theLossesOfEveryConversionAreWhatReadingDoesNotGiveBack(Path folder) throws IOException {
        int saved = 0;
        try (Stream<Path> files = Files.list(folder); Scratch scratch = Scratch.make()) {
            for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                saved += convert(file, scratch);
            }
        }
        assertThat(saved).isPositive();
    }

    private static int convert(Path file, Scratch scratch) throws IOException {
        int saved = 0;
        try (Checkpoint source = Checkpoint.open(file)) {
            for (String suffix : SUFFIXES.values()) {
                saved += convert(source, suffix, scratch) ? 1 : 0;
            }
            Path between = scratch.file("between.croft");
            Optional<SaveReport> report = save(between, source);
            if (report.isPresent()) {
                try (Checkpoint through = Checkpoint.open(between)) {
                    for (String suffix : SUFFIXES.values()) {
                        saved += convert(through, suffix, scratch) ? 1 : 0;
                    }
                }
            }
        } catch (FormatException _) {
            // Some are damaged on purpose.
        }
        return saved;
    }

    private static Optional<SaveReport> save(Path target, Checkpoint source) throws IOException {
        try {
            SaveOptions options = SaveOptions.defaults().leavingOutUnreadable().metadata(source.metadata());
            return Optional.of(Checkpoint.save(target, source.state(),
                    target.endsWith(DISTRIBUTED) ? options.format("torch-dcp") : options));
        } catch (IllegalArgumentException | FormatException _) {
            return Optional.empty();
        }
    }

    private static boolean convert(Checkpoint source, String suffix, Scratch scratch) throws IOException {
        Path target = scratch.file(suffix.equals(DISTRIBUTED) ? suffix : "target" + suffix);
        Optional<SaveReport> report = save(target, source);
        if (report.isEmpty()) {
            return false;
        }
        try (Checkpoint opened = Checkpoint.open(target)) {
            if (report.get().loss(SaveReport.Kind.UNREADABLE).isEmpty()) {
                ActualLosses.check(source.state(), source.metadata(), report.get(), opened);
            }
        } catch (AssertionError e) {
            throw new AssertionError(source.location() + " -> " + suffix + ": " + e.getMessage(), e);
        }
        for (Path written : report.get().files()) {
            Files.delete(written);
        }
        return true;
    }
}
