package io.undercroft.mmap;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.mmap.spi.RangeSource;
import io.undercroft.storage.Allocation;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Objects of a store, as files: what is fetched, how often, and what happens when that fails.
class FetchedFileTest {
    private static final int PAGE = 4 << 10;
    private static final int BLOCK = 16 << 10;

    @TempDir
    Path directory;

    private record Range(long offset, long length) {}

    /// Bytes that depend on their place, and a record of what was read of them.
    private static final class Source implements RangeSource {
        final long size;
        final int brought;
        final Queue<Range> reads = new ConcurrentLinkedQueue<>();
        final AtomicInteger closed = new AtomicInteger();
        volatile CountDownLatch gate = new CountDownLatch(0);
        volatile IOException failure;
        final AtomicInteger confirmations = new AtomicInteger();
        volatile boolean replaced;

        Source(long size, int brought) {
            this.size = size;
            this.brought = brought;
        }

        @Override
        public String location() {
            return "test://object";
        }

        @Override
        public long size() {
            return size;
        }

        @Override
        public MemorySegment start() {
            return filled(0, brought);
        }

        @Override
        public void read(long offset, MemorySegment into) throws IOException {
            reads.add(new Range(offset, into.byteSize()));
            try {
                gate.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            if (failure != null) {
                throw failure;
            }
            into.copyFrom(filled(offset, into.byteSize()));
        }

        @Override
        public void confirm() throws IOException {
            confirmations.incrementAndGet();
            if (replaced) {
                throw new RemoteFileException(location(), RemoteFileException.Kind.CHANGED, "it was replaced", null);
            }
        }

        @Override
        public boolean isCurrent() {
            return true;
        }

        @Override
        public RangeSource sibling(String path) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void close() {
            closed.incrementAndGet();
        }

        long bytes() {
            return reads.stream().mapToLong(Range::length).sum();
        }
    }

    @Test
    void aReadIsConfirmedBeforeItsBytesAreUsedAndALoadOnceAtItsEnd() throws IOException {
        Source source = new Source(100L * BLOCK, 0);
        try (MappedFile file = MappedFile.open(source, MapMode.READ_ONLY, new MapBudget(), Optional.of(directory));
                Arena arena = Arena.ofConfined()) {
            MemorySegment into = arena.allocate(2 * BLOCK);
            file.readOnce(0, into);
            assertThat(source.confirmations).hasValue(1);

            MappedFile.load(List.of(file), () -> {
                for (int i = 1; i < 10; i++) {
                    file.readOnce(2L * i * BLOCK, into);
                }
                try (MappedFile.Held _ = MappedFile.hold(List.of(file.piece(50L * BLOCK, BLOCK)))) {
                    file.read(50L * BLOCK, into.asSlice(0, BLOCK));
                }
                assertThat(source.confirmations).hasValue(1);
            });
            assertThat(into.asSlice(0, BLOCK).mismatch(filled(50L * BLOCK, BLOCK))).isEqualTo(-1);
            assertThat(source.confirmations).hasValue(2);

            source.replaced = true;
            assertThatExceptionOfType(RemoteFileException.class).isThrownBy(() -> file.readOnce(0, into));
            assertThatExceptionOfType(RemoteFileException.class)
                    .isThrownBy(() -> MappedFile.load(List.of(file), () -> file.readOnce(0, into)))
                    .satisfies(e -> assertThat(e.kind()).isEqualTo(RemoteFileException.Kind.CHANGED));
            assertThatExceptionOfType(RemoteFileException.class)
                    .isThrownBy(() -> MappedFile.load(List.of(file), () -> {
                        throw new IllegalStateException("the bytes make no sense");
                    })).satisfies(e -> assertThat(e.getSuppressed()).hasSize(1));
        }
    }

    private static MemorySegment filled(long offset, long length) {
        byte[] bytes = new byte[(int) length];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = at(offset + i);
        }
        return MemorySegment.ofArray(bytes);
    }

    private static byte at(long place) {
        return (byte) (place * 31 + (place >>> 13));
    }

    private MappedFile open(Source source) throws IOException {
        return MappedFile.open(source, MapMode.PRIVATE, new MapBudget(), Optional.of(directory));
    }

    private static void check(MappedFile file, long offset, int length) throws IOException {
        MemorySegment read = MemorySegment.ofArray(new byte[length]);
        file.read(offset, read);
        assertThat(read.mismatch(filled(offset, length))).isEqualTo(-1);
    }

    @Test
    void onlyWhatIsReadIsFetchedAndOnce() throws IOException {
        Source source = new Source(100L << 20, 0);
        try (MappedFile file = open(source)) {
            check(file, 50 << 20, 3 << 20);
            check(file, (50 << 20) + 5, 1000);
            assertThat(source.reads).containsExactly(new Range(50 << 20, 3 << 20));
        }
        assertThat(source.closed).hasValue(1);
    }

    @Test
    void whatOpeningBroughtIsNotFetchedAgain() throws IOException {
        Source source = new Source(1 << 20, 4 * BLOCK);
        try (MappedFile file = open(source)) {
            check(file, 0, 4 * BLOCK);
            assertThat(source.reads).isEmpty();
        }
        Source whole = new Source(BLOCK + 7, BLOCK + 7);
        try (MappedFile file = open(whole)) {
            check(file, 3, BLOCK + 4);
            assertThat(whole.reads).isEmpty();
        }
    }

    @Test
    void aRequestIsForPagesAndForABlockAtLeast() throws IOException {
        Source source = new Source(1 << 20, 100);
        try (MappedFile file = open(source)) {
            MappedFile.fetch(pieces(file, new Range(3 * PAGE + 5, BLOCK)));
            assertThat(source.reads).containsExactly(new Range(3 * PAGE, BLOCK + PAGE));
            check(file, 20 * BLOCK + 100, 10);
            assertThat(source.reads).contains(new Range(20 * BLOCK, BLOCK)).hasSize(2);
            // Of the first block, what is not there already.
            check(file, 90, 20);
            assertThat(source.reads).contains(new Range(100, 3 * PAGE - 100)).hasSize(3);
        }
    }

    @Test
    void aSmallFileIsFetchedAtOnce() throws IOException {
        Source source = new Source(4 * BLOCK, 100);
        try (MappedFile file = open(source)) {
            MappedFile.fetch(pieces(file, new Range(2 * BLOCK, 10)));
            assertThat(source.reads).containsExactly(new Range(100, 4 * BLOCK - 100));
        }
    }

    @Test
    void aFileMayHaveMorePagesThanAnIntCounts() throws IOException {
        Source source = new Source(15L << 40, 0);
        try (MappedFile file = open(source)) {
            check(file, (14L << 40) + 100, 1000);
            check(file, source.size - 10, 10);
            assertThat(source.reads).hasSize(2);
        }
    }

    @Test
    void sequentialSmallReadsFetchMoreEachTime() throws IOException {
        Source source = new Source(8 << 20, 4 * BLOCK);
        try (MappedFile file = open(source)) {
            for (int at = 0; at < 4 << 20; at += 1000) {
                check(file, at, 1000);
            }
            assertThat(source.reads).hasSizeLessThan(10);
            assertThat(source.bytes()).isLessThan(6 << 20);
        }
    }

    @Test
    void theEndIsFetchedBackwards() throws IOException {
        Source source = new Source((8 << 20) + 100, 0);
        try (MappedFile file = open(source)) {
            check(file, source.size - 22, 22);
            check(file, source.size - 3 * BLOCK, 3 * BLOCK - 22);
            assertThat(source.reads).hasSize(1);
        }
    }

    @Test
    void aMappedRangeIsFetchedWhenItIsMapped() throws IOException {
        Source source = new Source(64L << 20, 0);
        try (MappedFile file = open(source)) {
            Allocation window = file.window((20 << 20) + 64, 20 << 20);
            assertThat(window.segment().mismatch(filled((20 << 20) + 64, 20 << 20))).isEqualTo(-1);
            assertThat(window.filename()).contains("test://object");
            assertThat(source.bytes()).isEqualTo((20 << 20) + PAGE);
            assertThat(source.reads).hasSize(3);
            MemorySegment mapped = file.map(1000, 10);
            assertThat(mapped.mismatch(filled(1000, 10))).isEqualTo(-1);
            MemorySegment stitched = file.map(List.of(file.piece(60 << 20, 1 << 20), file.piece(100, 100)));
            assertThat(stitched.asSlice(0, 1 << 20).mismatch(filled(60 << 20, 1 << 20))).isEqualTo(-1);
            assertThat(stitched.asSlice(1 << 20).mismatch(filled(100, 100))).isEqualTo(-1);
            window.free();
            assertThat(source.bytes()).isEqualTo((21 << 20) + PAGE + BLOCK);
        }
    }

    @Test
    void writesToAPrivateMappingStayInIt() throws IOException {
        Source source = new Source(1 << 20, 0);
        try (MappedFile file = open(source)) {
            MemorySegment mapped = file.map(0, 100);
            mapped.fill((byte) 1);
            check(file, 0, 100);
        }
    }

    @Test
    void threadsThatNeedTheSameBytesFetchThemOnce() throws Exception {
        Source source = new Source(32L << 20, 0);
        source.gate = new CountDownLatch(1);
        try (MappedFile file = open(source); ExecutorService threads = Executors.newFixedThreadPool(8)) {
            List<Future<Void>> readers = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                Callable<Void> read = () -> {
                    check(file, 5 << 20, 12 << 20);
                    return null;
                };
                readers.add(threads.submit(read));
            }
            while (source.reads.size() < 2) {
                Thread.onSpinWait();
            }
            source.gate.countDown();
            for (Future<Void> reader : readers) {
                reader.get();
            }
            assertThat(source.bytes()).isEqualTo(12 << 20);
            assertThat(source.reads).hasSize(2);
        }
    }

    @Test
    void anInterruptedThreadStopsWaitingAndTheOthersGetTheirBytes() throws Exception {
        Source source = new Source(1 << 20, 0);
        source.gate = new CountDownLatch(1);
        try (MappedFile file = open(source); ExecutorService threads = Executors.newFixedThreadPool(2)) {
            Future<Void> patient = threads.submit(() -> {
                check(file, 0, 1 << 20);
                return null;
            });
            while (source.reads.isEmpty()) {
                Thread.onSpinWait();
            }
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> check(file, 0, 1 << 20)).isInstanceOf(InterruptedIOException.class);
            assertThatThrownBy(() -> file.map(0, 100)).isInstanceOf(MappingException.class)
                    .hasCauseInstanceOf(InterruptedIOException.class);
            assertThat(Thread.interrupted()).isTrue();
            source.gate.countDown();
            patient.get();
            Thread.currentThread().interrupt();
            check(file, 0, 1 << 20);
            assertThat(Thread.interrupted()).isTrue();
        }
    }

    @Test
    void aFileOpensInAnInterruptedThread() throws IOException {
        Source source = new Source(1 << 20, 4 * BLOCK);
        Thread.currentThread().interrupt();
        try (MappedFile file = open(source)) {
            check(file, 0, 4 * BLOCK);
            assertThat(Thread.interrupted()).isTrue();
            check(file, 4 * BLOCK, 4 * BLOCK);
        }
    }

    @Test
    void aFailureIsThrownAndTheNextReadTriesAgain() throws IOException {
        Source source = new Source(64L << 20, 0);
        source.failure = new RemoteFileException("test://object", Kind.CHANGED, "it was replaced; open it again", null);
        try (MappedFile file = open(source)) {
            assertThatThrownBy(() -> check(file, 0, 60 << 20)).isSameAs(source.failure);
            assertThatThrownBy(() -> file.map(0, 100)).isInstanceOf(MappingException.class).hasCause(source.failure)
                    .hasMessageStartingWith("test://object: cannot be mapped: it was replaced; open it again");
            source.failure = null;
            check(file, 1 << 20, 100);
        }
    }

    @Test
    void nothingStaysInTheTemporaryDirectory() throws IOException {
        MappedFile file = open(new Source(1 << 20, 0));
        check(file, 0, 100);
        MemorySegment mapped = file.map(0, 100);
        file.close();
        assertThatThrownBy(() -> mapped.get(JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
        try (Stream<Path> files = Files.list(directory)) {
            assertThat(files).isEmpty();
        }
    }

    @Test
    void aDirectoryThatCannotBeWrittenToIsNamed() {
        Source source = new Source(1 << 20, 0);
        Path missing = directory.resolve("missing");
        assertThatThrownBy(() -> MappedFile.open(source, MapMode.PRIVATE, new MapBudget(), Optional.of(missing)))
                .isInstanceOfSatisfying(RemoteFileException.class, e -> assertThat(e.kind()).isEqualTo(Kind.NO_SPACE))
                .hasMessageContaining(missing.toString()).hasMessageContaining("OpenOptions.temporaryDirectory");
        assertThat(source.closed).hasValue(1);
    }

    @Test
    void anObjectIsNotMappedShared() {
        Source source = new Source(1 << 20, 0);
        assertThatThrownBy(() -> MappedFile.open(source, MapMode.SHARED, new MapBudget(), Optional.empty()))
                .isInstanceOf(UnsupportedOperationException.class).hasMessageContaining("test://object");
        assertThat(source.closed).hasValue(1);
    }

    @Test
    void anObjectHasALocationAndNoPath() throws IOException {
        try (MappedFile file = open(new Source(0, 0))) {
            assertThat(file.location()).isEqualTo("test://object");
            assertThat(file.source()).isPresent();
            assertThat(file.isCurrent()).isTrue();
            assertThat(file.size()).isZero();
            assertThatThrownBy(file::path).isInstanceOf(UnsupportedOperationException.class);
        }
    }

    private static List<Piece> pieces(MappedFile file, Range... ranges) {
        return Stream.of(ranges).<Piece>map(range -> file.piece(range.offset, range.length)).toList();
    }

    @Test
    void rangesThatAreCloseToEachOtherAreOneRequest() throws IOException {
        Source source = new Source(100L << 20, 0);
        try (MappedFile file = open(source)) {
            // The gap of 64 KiB is an eighth of what is wanted, that of 80 KiB is too large for any.
            MappedFile.fetch(pieces(file, new Range(16 * BLOCK, 16 * BLOCK), new Range(36 * BLOCK, 16 * BLOCK),
                    new Range(0, 15 * BLOCK), new Range(57 * BLOCK, 64 * BLOCK)));

            assertThat(source.reads).containsExactlyInAnyOrder(new Range(0, 52 * BLOCK),
                    new Range(57 * BLOCK, 64 * BLOCK));
            check(file, 0, 52 * BLOCK);
            assertThat(source.reads).hasSize(2);
        }
    }

    @Test
    void gapsAreAtMostAnEighthOfWhatIsWanted() throws IOException {
        Source source = new Source(100L << 20, 0);
        Range[] ranges = new Range[40];
        for (int i = 0; i < ranges.length; i++) {
            ranges[i] = new Range(i * 4L * BLOCK, BLOCK);
        }
        try (MappedFile file = open(source)) {
            MappedFile.fetch(pieces(file, ranges));

            assertThat(source.bytes()).isLessThanOrEqualTo(40L * BLOCK * 9 / 8);
        }
    }

    @Test
    void bytesThatAreHeldAreReadFromMemoryAndNotStored() throws IOException {
        Source source = new Source(100L << 20, 0);
        try (MappedFile file = open(source)) {
            try (MappedFile.Held _ = MappedFile.hold(pieces(file, new Range(1000, 5000), new Range(6000, 3 << 20)))) {
                assertThat(source.reads).containsExactly(new Range(1000, 5000 + (3 << 20)));
                check(file, 1000, 5000);
                check(file, 5000, 2 << 20);
                MemorySegment once = MemorySegment.ofArray(new byte[2 << 20]);
                file.readOnce(7000, once);
                assertThat(once.mismatch(filled(7000, 2 << 20))).isEqualTo(-1);
                MappedFile.fetch(pieces(file, new Range(1500, 100)));
                assertThat(source.reads).hasSize(1);
                assertThat(file.isFetched(1000, 5000)).isFalse();
            }
            check(file, 1000, 5000);
            assertThat(source.reads).hasSize(2);
        }
    }

    @Test
    void whatIsStoredIsNotHeld() throws IOException {
        Source source = new Source(1 << 20, 4 * BLOCK);
        try (MappedFile file = open(source);
                MappedFile.Held _ = MappedFile.hold(pieces(file, new Range(0, 2 * BLOCK), new Range(100, BLOCK)))) {
            assertThat(source.reads).isEmpty();
        }
    }

    @Test
    void ifOneOfSeveralRangesCannotBeHeldNoneIs() throws IOException {
        Source source = new Source(100L << 20, 0);
        source.failure = new RemoteFileException("test://object", Kind.UNAVAILABLE, "is away", null);
        try (MappedFile file = open(source)) {
            List<Piece> pieces = pieces(file, new Range(0, 10), new Range(50 << 20, 10));
            assertThatThrownBy(() -> MappedFile.hold(pieces)).isSameAs(source.failure);
            source.failure = null;
            check(file, 0, 10);
            // The request for the other range may begin after the first one has failed.
            assertThat(source.reads).filteredOn(range -> range.length > 10).hasSize(1);
        }
    }
}
