package io.undercroft.mmap.internal;

import static io.undercroft.testsupport.TestData.noise;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.internal.StitchedMapping.Part;
import io.undercroft.mmap.internal.StitchedMapping.Reservation;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@EnabledOnOs(OS.LINUX)
class StitchedMappingTest {
    private static final int PART = 1 << 16;
    private static final int FLAGS = LinuxConstants.MAP_PRIVATE;

    @TempDir
    Path folder;

    private final Arena arena = Arena.ofConfined();
    private final Libc libc = Libc.find().orElseThrow();
    private byte[] bytes;
    private Path path;
    private PosixFile file;

    @BeforeEach
    void open() throws IOException {
        bytes = noise(4 * PART, 1);
        path = Files.write(folder.resolve("bytes"), bytes);
        file = PosixFile.open(libc, path, MapMode.READ_ONLY);
    }

    @AfterEach
    void close() {
        file.close();
        arena.close();
    }

    @Test
    void bothWaysOfLayingFilesOverItGiveTheSameBytes() throws IOException {
        List<Part> parts = List.of(part(2, 1), part(0, 2), part(3, 3), part(1, 5));
        byte[] expected = new byte[6 * PART];
        for (Part part : parts) {
            System.arraycopy(bytes, (int) part.offset(), expected, (int) part.at(), PART);
        }
        Reservation over = reserve();
        over.mapOver(parts, Mapping.READ_WRITE, FLAGS);
        assertThat(over.bytes().toArray(JAVA_BYTE)).isEqualTo(expected);
        Reservation gaps = reserve();
        gaps.mapIntoGaps(parts, Mapping.READ_WRITE, FLAGS);
        assertThat(gaps.bytes().toArray(JAVA_BYTE)).isEqualTo(expected);

        over.unmap();
        gaps.unmap();
        assertThat(Files.readString(Path.of("/proc/self/maps"))).doesNotContain(path.toString());
    }

    @Test
    void whatSomebodyElseMappedIntoTheGapStays() throws IOException {
        Reservation range = reserve();
        // The second call fails, since a file cannot be mapped from within a page: the gap is open then.
        List<Part> parts = List.of(part(0, 1), new Part(file, 5, 2 * PART, PART), part(1, 3));
        assertThatThrownBy(() -> range.mapIntoGaps(parts, Mapping.READ_WRITE, FLAGS))
                .isInstanceOf(ErrnoException.class);
        long gap = range.bytes().address() + 2 * PART;
        assertThat(Proc.isMapped(gap)).isFalse();
        int fixed = LinuxConstants.MAP_PRIVATE | LinuxConstants.MAP_ANONYMOUS | LinuxConstants.MAP_FIXED_NOREPLACE;
        assertThat(libc.mmap(gap, PART, Mapping.READ_WRITE, fixed, -1, 0)).isEqualTo(gap);

        range.unmap();
        assertThat(Proc.isMapped(gap)).isTrue();
        for (long part : List.of(0L, 1L, 4L, 5L)) {
            assertThat(Proc.isMapped(range.bytes().address() + part * PART)).as("part %s", part).isFalse();
        }
        libc.munmap(gap, PART);
        assertThat(Proc.isMapped(gap)).isFalse();
    }

    @Test
    void nothingIsMappedOverWhatSomebodyElseHas() throws IOException {
        MemorySegment taken = Mapping.anonymous(libc, PART, arena);
        taken.fill((byte) 1);
        MemorySegment state = NativeFunction.state(arena);
        assertThatThrownBy(() -> libc.mmap(state, taken.address(), PART, Mapping.READ_WRITE,
                FLAGS | LinuxConstants.MAP_FIXED_NOREPLACE, file.descriptor(), 0))
                .isInstanceOfSatisfying(ErrnoException.class,
                        e -> assertThat(e.errno()).isEqualTo(ErrnoException.EEXIST));
        byte[] ones = new byte[PART];
        Arrays.fill(ones, (byte) 1);
        assertThat(taken.toArray(JAVA_BYTE)).isEqualTo(ones);
    }

    private Reservation reserve() throws ErrnoException {
        return Reservation.of(libc, 6 * PART, NativeFunction.state(arena));
    }

    private Part part(int ofFile, int ofRange) {
        return new Part(file, (long) ofFile * PART, (long) ofRange * PART, PART);
    }
}
