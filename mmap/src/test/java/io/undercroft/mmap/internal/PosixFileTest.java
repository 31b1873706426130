package io.undercroft.mmap.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.Piece;
import io.undercroft.mmap.Piece.FilePiece;
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
        List<Piece> pieces = List.of(new FilePiece(0, 65_536), new FilePiece(99_999, 2));
        try (Arena arena = Arena.ofShared()) {
            assertThatThrownBy(() -> file.stitch(pieces, 65_538, arena)).isInstanceOf(EOFException.class)
                    .hasMessageContaining("1 bytes early");
            assertThat(Files.readString(Path.of("/proc/self/maps"))).doesNotContain(path.toString());
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
