package io.undercroft.mmap.internal;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

@EnabledOnOs(OS.LINUX)
class FreezableRangeTest {
    private static final long NBYTES = 8 << 20;

    private final Libc libc = Libc.find().orElseThrow();
    private final long page = libc.pageSize();
    private FreezableRange range;
    private MemorySegment segment;

    @BeforeEach
    void allocate() throws ErrnoException {
        range = FreezableRange.allocate(NBYTES);
        segment = range.segment();
    }

    @AfterEach
    void release() {
        range.release();
    }

    private long copies() {
        return PageMap.copies(segment).stream().mapToLong(PageMap.Span::length).sum();
    }

    private void freeze() {
        range.freeze().orElseThrow().close();
    }

    @Test
    void beforeTheFirstFreezeNothingIsCopied() {
        segment.fill((byte) 1);

        assertThat(copies()).isZero();
    }

    @Test
    void onlyWhatIsWrittenIsCopied() {
        segment.fill((byte) 1);
        freeze();
        assertThat(copies()).isZero();
        segment.asSlice(3 * page, 2 * page).fill((byte) 2);
        segment.asSlice(NBYTES - 1).fill((byte) 2);
        assertThat(segment.get(JAVA_BYTE, 7 * page)).isEqualTo((byte) 1);

        assertThat(PageMap.copies(segment)).containsExactly(new PageMap.Span(3 * page, 2 * page),
                new PageMap.Span(NBYTES - page, page));
    }

    @Test
    void whereLittleWasWrittenCopiesAreGivenUp() {
        freeze();
        segment.asSlice(0, NBYTES / 16).fill((byte) 1);
        assertThat(copies()).isEqualTo(NBYTES / 16);
        freeze();

        assertThat(copies()).isZero();
    }

    @Test
    void whereMuchWasWrittenCopiesAreKept() {
        freeze();
        segment.asSlice(0, NBYTES / 4).fill((byte) 1);
        freeze();

        assertThat(copies()).isEqualTo(NBYTES / 4);
    }
}
