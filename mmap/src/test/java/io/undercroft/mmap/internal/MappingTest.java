package io.undercroft.mmap.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.testsupport.Proc;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

@EnabledOnOs(OS.LINUX)
class MappingTest {
    @Test
    void memoryIsPopulatedAlsoWhereTheSystemCannotDoIt() throws Exception {
        Libc libc = Libc.find().orElseThrow();
        try (Arena arena = Arena.ofShared()) {
            MemorySegment segment = Mapping.anonymous(libc, 16 << 20, arena);
            // What is not on a page boundary is refused like a call that the system does not have.
            Mapping.populate(libc, segment.asSlice(64));

            assertThat(Proc.presentBytes(segment)).isEqualTo(16 << 20);
        }
    }
}
