package io.undercroft.cli;

import static io.undercroft.cli.Invocation.TRAINING;
import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.cli.internal.Sha256;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.Retention;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.analysis.ElementBudget;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Operations that read or write all bytes of a file report their progress.
class ProgressTest {
    @TempDir
    Path folder;

    private final List<Long> done = new ArrayList<>();
    private long total;

    private void report(long now, long all) {
        assertThat(now).isBetween(done.isEmpty() ? 0 : done.getLast(), all);
        done.add(now);
        total = all;
    }

    private void assertReported(long least) {
        assertThat(done).hasSizeGreaterThan(1);
        assertThat(done.getLast()).isEqualTo(total).isGreaterThanOrEqualTo(least);
        done.clear();
    }

    @Test
    void verifyingAndSalvagingReportProgress() throws IOException {
        Path croft = folder.resolve("a.croft");
        Path thin = folder.resolve("thin.croft");
        Invocation.of("convert", TRAINING, croft);
        Invocation.of("convert", croft, thin, "--base", croft);
        for (Path file : new Path[]{croft, thin, TRAINING, Invocation.FIXTURES.resolve("numpy/deflated.npz")}) {
            try (Checkpoint checkpoint = Checkpoint.open(file,
                    OpenOptions.defaults().root(folder).progress(this::report))) {
                assertThat(done).isEmpty();
                assertThat(checkpoint.verify().damages()).isEmpty();
            }
            assertThat(done.getFirst()).isZero();
            assertReported(file.toString().endsWith(".npz") ? 1 : 1_600_000);
        }
        try (CroftFile file = CroftFile.open(croft, SaveOptions.defaults(),
                OpenOptions.defaults().progress(this::report))) {
            file.salvage().close();
        }
        assertReported(1_600_000);
    }

    @Test
    void compactingAndCopyingReportProgress() throws IOException {
        Path croft = folder.resolve("a.croft");
        Invocation.of("convert", TRAINING, croft);
        Invocation.of("append", croft, Invocation.torch("tied.pt"));
        try (CroftFile file = CroftFile.open(croft, SaveOptions.defaults().progress(this::report),
                OpenOptions.defaults())) {
            file.copy(folder.resolve("copy.croft"), 1);
            assertReported(1_600_000);
            file.compact(Retention.last(1));
        }
        assertReported(20);
    }

    @Test
    void computingDigestsReportsProgress() throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(TRAINING);
                Sha256 digests = new Sha256(ElementBudget.of(checkpoint))) {
            digests.computeAll(checkpoint.storages(), checkpoint.tensors().values(), this::report);
        }
        assertReported(1_600_000);
        try (Checkpoint checkpoint = Checkpoint.open(Invocation.torch("views.pt"));
                Sha256 digests = new Sha256(ElementBudget.of(checkpoint))) {
            digests.computeAll(List.of(), checkpoint.tensors().values(), this::report);
        }
        assertReported(100);
    }
}
