package io.undercroft.mmap.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.internal.StitchedMapping.Run;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@EnabledOnOs(OS.LINUX)
class PosixFileTest {
    @TempDir
    Path folder;

    @Test
    void aStitchThatFailsHalfwayLeavesNothingMapped() throws IOException {
        Path path = Files.write(folder.resolve("bytes"), new byte[100_000]);
        PosixFile file = PosixFile.open(Libc.find().orElseThrow(), path, MapMode.PRIVATE);
        // As if the file had been cut after its size was asked: the second piece is out of step, so it is read.
        List<Run> runs = List.of(new Run(file, 0, 65_536), new Run(file, 99_999, 2));
        MapBudget budget = new MapBudget(10);
        try (Arena arena = Arena.ofShared()) {
            assertThatThrownBy(() -> file.stitch(runs, 65_538, budget, arena)).isInstanceOf(EOFException.class)
                    .hasMessageContaining("ends at byte 100000");
            assertThat(Files.readString(Path.of("/proc/self/maps"))).doesNotContain(path.toString());
            assertThat(budget.left()).isEqualTo(10);
        } finally {
            file.close();
        }
    }

    @Test
    void whatIsCutOffBeforeItIsMappedIsNoticedAfter() throws IOException {
        Path path = Files.write(folder.resolve("bytes"), new byte[100_000]);
        PosixFile file = PosixFile.open(Libc.find().orElseThrow(), path, MapMode.PRIVATE);
        // As if the file had been cut after its size was asked. The system maps what is not there.
        List<Run> runs = List.of(new Run(file, 131_072, 65_536), new Run(file, 0, 65_536));
        MapBudget budget = new MapBudget(10);
        try (Arena arena = Arena.ofShared()) {
            assertThatThrownBy(() -> file.stitch(runs, 131_072, budget, arena)).isInstanceOf(EOFException.class);
            assertThatThrownBy(() -> file.map(131_072, 65_536, arena)).isInstanceOf(EOFException.class);
            assertThat(Files.readString(Path.of("/proc/self/maps"))).doesNotContain(path.toString());
            assertThat(budget.left()).isEqualTo(10);
        } finally {
            file.close();
        }
    }

    @Test
    void aStitchIntoAClosedArenaLeavesNothingMappedAndTheBudgetWhole() throws IOException {
        Path path = Files.write(folder.resolve("bytes"), new byte[200_000]);
        PosixFile file = PosixFile.open(Libc.find().orElseThrow(), path, MapMode.PRIVATE);
        List<Run> runs = List.of(new Run(file, 65_536, 65_536), new Run(file, 0, 65_536));
        MapBudget budget = new MapBudget(10);
        Arena arena = Arena.ofShared();
        arena.close();
        try {
            assertThatThrownBy(() -> file.stitch(runs, 131_072, budget, arena))
                    .isInstanceOf(IllegalStateException.class);
            assertThat(Files.readString(Path.of("/proc/self/maps"))).doesNotContain(path.toString());
            assertThat(budget.left()).isEqualTo(10);
        } finally {
            file.close();
        }
    }

    @Test
    void aMapIntoAClosedArenaLeavesNothingMapped() throws IOException {
        Path path = Files.write(folder.resolve("bytes"), new byte[100_000]);
        PosixFile file = PosixFile.open(Libc.find().orElseThrow(), path, MapMode.READ_ONLY);
        Arena arena = Arena.ofShared();
        arena.close();
        try {
            assertThatThrownBy(() -> file.map(0, 100_000, arena)).isInstanceOf(IllegalStateException.class);
            assertThat(Files.readString(Path.of("/proc/self/maps"))).doesNotContain(path.toString());
        } finally {
            file.close();
        }
    }
}
