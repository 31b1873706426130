package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Whatever a file says, a reader takes no more memory than twice its size and 16 MiB (invariant 6).
///
/// Counted is what the thread allocates on the heap, garbage included, and what is reserved off it; of opening, and
/// then of reading and verifying all there is to read.
class AllocationTest {
    private static final byte[] GOLDEN = Golden.resource(Golden.FILE);
    private static final byte[] LARGE = Features.everySection().toByteArray();
    private static final long[] NUMBERS = {0x7FFF_FFFF_FFFF_FFFFL, 0x1_0000_0000L, 0xFFFF_FFFFL, 0x7FFF_FFFFL,
            0x1000_0000L, 0x10_0000L};
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    @BeforeAll
    static void loadWhatIsLoadedOnce() throws IOException {
        WholeRead.of(GOLDEN);
        WholeRead.of(LARGE);
    }

    @ParameterizedTest
    @MethodSource("io.undercroft.format.internal.CorpusTest#files")
    void filesThatBreakARule(Map.Entry<String, byte[]> file) {
        assertModest(file.getKey(), file.getValue());
    }

    @Test
    void aDirectoryWithAnyNumberThatLies() {
        Forgery forgery = new Forgery(GOLDEN);
        for (long at = forgery.indexOffset() + 8; at < forgery.at(SectionType.EXTN, 0); at += Integer.BYTES) {
            for (long number : NUMBERS) {
                assertModest("directory at " + at + ": " + number, new Forgery(GOLDEN).putLong(at, number).sealed());
            }
        }
    }

    @Test
    void recordsWithAnyNumberThatLies() {
        Forgery forgery = new Forgery(GOLDEN);
        for (long at = forgery.at(SectionType.EXTN, 0); at < GOLDEN.length - Long.BYTES; at += Integer.BYTES) {
            for (long number : NUMBERS) {
                assertModest("record at " + at + ": " + number, new Forgery(GOLDEN).putLong(at, number).sealed());
            }
        }
    }

    @Test
    void recordsOfALargeIndexWithAnyNumberThatLies() {
        Forgery forgery = new Forgery(LARGE);
        for (SectionType type : SectionType.values()) {
            for (long at = forgery.at(type, 0); at < forgery.at(type, 2); at += Integer.BYTES) {
                assertModest(type + " at " + at, new Forgery(LARGE).putLong(at, NUMBERS[2]).sealed());
            }
        }
    }

    @Test
    void codingsWithAnyNumberThatLies() {
        byte[] file = Features.coded().toByteArray();
        Forgery forgery = new Forgery(file);
        for (long at = forgery.at(SectionType.CODE, 0); at <= file.length - Long.BYTES; at += Integer.BYTES) {
            for (long number : NUMBERS) {
                assertModest("record at " + at + ": " + number, new Forgery(file).putLong(at, number).sealed());
                assertModest("record at " + at, new Forgery(file).putInt(at, (int) number).sealed());
            }
        }
    }

    @Test
    void pagesWithAnyNumberThatLies() {
        Forgery forgery = new Forgery(GOLDEN);
        for (long page : new long[]{0, forgery.slot()}) {
            for (long field = 8; field < 120; field += Integer.BYTES) {
                for (long number : NUMBERS) {
                    assertModest("page " + page + " at " + field,
                            new Forgery(GOLDEN).putLong(page + field, number).sealedPage(page));
                }
            }
        }
    }

    @Test
    void anIndexThatIsCopiedIsCopiedOnce() {
        byte[] file = OpeningTest.manyTensors(100_000);
        ByteSource readable = new ByteSource() {
            @Override
            public long size() {
                return file.length;
            }

            @Override
            public void read(long offset, MemorySegment into) {
                into.copyFrom(MemorySegment.ofArray(file).asSlice(offset, into.byteSize()));
            }
        };
        long taken = taken(() -> Snapshot.open(readable, Limits.DEFAULT));
        assertThat(taken).isBetween((long) file.length - FileLayout.DATA_START, file.length + (1L << 20));
    }

    private interface Use {
        void run() throws IOException;
    }

    private static void assertModest(String what, byte[] file) {
        assertThat(taken(() -> WholeRead.of(file))).as(what).isLessThan(2L * file.length + (16 << 20));
    }

    private static long taken(Use use) {
        long heap = THREADS.getCurrentThreadAllocatedBytes();
        long direct = direct();
        try {
            use.run();
        } catch (FormatException e) {
            assertThat(e.code()).isNotEmpty();
        } catch (IOException e) {
            throw new AssertionError("memory does not fail", e);
        }
        return THREADS.getCurrentThreadAllocatedBytes() - heap + Math.max(0, direct() - direct);
    }

    private static long direct() {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct")).mapToLong(BufferPoolMXBean::getMemoryUsed).sum();
    }
}
