package io.undercroft.mmap;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.undercroft.mmap.Piece.ZeroPiece;
import io.undercroft.mmap.internal.Libc;
import io.undercroft.mmap.internal.MappingLimitPeer;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import io.undercroft.testsupport.PeerJvm;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/// Mapped files through libc.
@DisabledOnOs(OS.WINDOWS)
class PosixMappedFileTest extends MappedFileContract {
    private static final long GIB = 1L << 30;

    @Override
    Optional<Libc> libc() {
        return Optional.of(Libc.find().orElseThrow());
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void openingMappingAndClosingLeavesNothingBehind() throws IOException {
        Path path = write(randomBytes(100_000));
        openMapClose(path, 100);
        long mappings = Proc.mappings("");
        long descriptors = Proc.descriptors();
        openMapClose(path, 10_000);

        assertThat(Proc.mappings(path.toString())).isZero();
        // The JVM maps and opens a few things of its own meanwhile.
        assertThat(Proc.mappings("")).isLessThan(mappings + 50);
        assertThat(Proc.descriptors()).isLessThan(descriptors + 50);
    }

    @Test
    void aFileLargerThanTheMemoryMapsPrivatelyWithoutBeingRead() throws IOException {
        Path path = folder.resolve("sparse.bin");
        try (RandomAccessFile sparse = new RandomAccessFile(path.toFile(), "rw")) {
            sparse.setLength(70 * GIB);
            sparse.seek(69 * GIB);
            sparse.write(11);
        }
        try (MappedFile file = open(path, MapMode.PRIVATE)) {
            MemorySegment segment = file.map(0, 70 * GIB);

            // A mapping that read ahead would have pages in memory.
            assertThat(Pages.residentBytes(segment).orElse(0)).isLessThan(1 << 20);
            assertThat(segment.get(JAVA_BYTE, 69 * GIB)).isEqualTo((byte) 11);
            segment.set(JAVA_BYTE, 70 * GIB - 1, (byte) 12);
            assertThat(segment.get(JAVA_BYTE, 70 * GIB - 1)).isEqualTo((byte) 12);
        }
    }

    @Test
    void aStitchedRangeMayBeLargerThanTheMemory() throws IOException {
        byte[] bytes = randomBytes(100_000);
        try (MappedFile file = open(write(bytes), MapMode.PRIVATE)) {
            MemorySegment segment = file.map(List.of(new ZeroPiece(70 * GIB), file.piece(0, 100_000)));

            assertThat(segment.get(JAVA_BYTE, 35 * GIB)).isZero();
            assertThat(segment.asSlice(70 * GIB).toArray(JAVA_BYTE)).isEqualTo(bytes);
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void piecesInStepAreMappedNotCopied() throws IOException {
        Path path = write(randomBytes(1 << 20));
        try (MappedFile file = open(path, MapMode.PRIVATE)) {
            file.map(List.of(file.piece(64, 65_536), new ZeroPiece(65_536), file.piece(131_136, 65_536)));
            assertThat(Proc.mappings(path.toString())).isEqualTo(2);

            file.map(List.of(file.piece(0, 65_536), new ZeroPiece(1), file.piece(131_072, 60_000)));
            assertThat(Proc.mappings(path.toString())).as("the second is out of step").isEqualTo(3);
        }
        assertThat(Proc.mappings(path.toString())).isZero();
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void stitchedRangesTakeTheirMappingsOutOfTheBudgetAndGiveThemBackOnce() throws IOException {
        MapBudget budget = new MapBudget(10);
        Path path = write(randomBytes(1 << 20));
        MappedFile file = MappedFile.open(path, MapMode.PRIVATE, budget);
        MappedFile other = MappedFile.open(path, MapMode.PRIVATE, budget);
        file.map(outOfOrder(file));
        assertThat(budget.left()).as("three runs and the zeros between them").isEqualTo(6);
        assertThat(Proc.mappings(path.toString())).isEqualTo(3);
        other.map(outOfOrder(other));
        assertThat(budget.left()).isEqualTo(2);

        MemorySegment copy = file.map(outOfOrder(file));
        assertThat(budget.left()).isEqualTo(2);
        assertThat(Proc.mappings(path.toString())).isEqualTo(6);
        assertThat(copy.mismatch(other.map(outOfOrder(other)))).isEqualTo(-1);

        other.close();
        assertThat(budget.left()).isEqualTo(6);
        other.close();
        file.close();
        assertThat(budget.left()).isEqualTo(10);
        assertThat(Proc.mappings(path.toString())).isZero();
    }

    private static List<Piece> outOfOrder(MappedFile file) {
        return List.of(file.piece(131_072, 65_536), file.piece(0, 65_536), new ZeroPiece(65_536),
                file.piece(262_144, 65_536), file.piece(327_680, 65_536));
    }

    @Test
    void aStitchedRangeThatNobodyClosesGivesItsMappingsBack() throws Exception {
        MapBudget budget = new MapBudget(10);
        MappedFile file = MappedFile.open(write(randomBytes(1 << 20)), MapMode.PRIVATE, budget);
        file.map(outOfOrder(file));
        assertThat(budget.left()).isEqualTo(6);
        file = null;

        assertThat(becomesTrue(() -> {
            System.gc();
            return budget.left() == 10;
        })).isTrue();
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void zerosTakeMemoryOnlyWhereTheyAreWritten() throws IOException {
        try (MappedFile file = open(write(randomBytes(1 << 20)), MapMode.PRIVATE)) {
            MemorySegment segment = file
                    .map(List.of(new ZeroPiece(16 << 20), new ZeroPiece(16 << 20), file.piece(0, 1 << 20)));
            MemorySegment zeros = segment.asSlice(0, 32 << 20);
            assertThat(Proc.presentBytes(zeros)).isZero();
            zeros.set(JAVA_BYTE, 20 << 20, (byte) 1);

            assertThat(Proc.presentBytes(zeros)).isBetween(1L, 2L << 20);
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void manyThousandPiecesOutOfOrderAreMapped() throws IOException {
        int count = 4096;
        byte[] bytes = randomBytes(count << 14);
        Path path = write(bytes);
        List<Integer> order = IntStream.range(0, count).boxed().collect(Collectors.toList());
        Collections.shuffle(order, new Random(3));
        try (MappedFile file = open(path, MapMode.READ_ONLY)) {
            MemorySegment segment = file.map(order.stream().<Piece>map(i -> file.piece(i << 14, 1 << 14)).toList());
            for (int i = 0; i < count; i++) {
                int from = order.get(i) << 14;
                assertThat(Arrays.equals(segment.asSlice((long) i << 14, 1 << 14).toArray(JAVA_BYTE),
                        Arrays.copyOfRange(bytes, from, from + (1 << 14)))).isTrue();
            }
        }
        assertThat(Proc.mappings(path.toString())).isZero();
    }

    /// Mapping leaves gaps for a moment, into which the system may put what other threads map.
    @Test
    @EnabledOnOs(OS.LINUX)
    void threadsThatMapAndUnmapMeanwhileDoNotGetInEachOthersWay() throws Exception {
        int count = 256;
        byte[] bytes = randomBytes(count << 14);
        Path path = write(bytes);
        List<Integer> order = IntStream.range(0, count).boxed().collect(Collectors.toList());
        Collections.shuffle(order, new Random(4));
        List<CompletableFuture<Void>> threads = new ArrayList<>();
        for (int thread = 0; thread < 4; thread++) {
            byte mark = (byte) (thread + 1);
            threads.add(CompletableFuture.runAsync(() -> stitchRepeatedly(path, order, bytes, mark),
                    task -> Thread.ofPlatform().daemon().start(task)));
        }
        for (CompletableFuture<Void> thread : threads) {
            thread.get(5, TimeUnit.MINUTES);
        }
        assertThat(Proc.mappings(path.toString())).isZero();
    }

    private void stitchRepeatedly(Path path, List<Integer> order, byte[] bytes, byte mark) {
        Allocator memory = AnonymousMemory.allocator();
        for (int round = 0; round < 40; round++) {
            Allocation own = memory.allocate(1 << 20);
            own.segment().fill(mark);
            try (MappedFile file = open(path, MapMode.PRIVATE)) {
                MemorySegment segment = file.map(order.stream().<Piece>map(i -> file.piece(i << 14, 1 << 14)).toList());
                for (int i = 0; i < order.size(); i++) {
                    int at = order.get(i) << 14;
                    assertThat(segment.get(JAVA_BYTE, ((long) i << 14) + 5)).isEqualTo(bytes[at + 5]);
                    segment.set(JAVA_BYTE, (long) i << 14, mark);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            for (long i = 0; i < 1 << 20; i += 512) {
                assertThat(own.segment().get(JAVA_BYTE, i)).isEqualTo(mark);
            }
            own.free();
        }
    }

    @Test
    void aStitchedRangeIsAlignedAsItsPiecesAre() throws IOException {
        try (MappedFile file = open(write(randomBytes(1 << 20)), MapMode.PRIVATE)) {
            MemorySegment segment = file
                    .map(List.of(file.piece(64 * 77, 64 * 3), new ZeroPiece(64), file.piece(64 * 1111, 100_032)));
            assertThat(segment.address() % 64).isZero();
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void whatCannotBeUnmappedForLackOfMappingsIsUnmappedLater() throws Exception {
        assumeThat(Long.parseLong(Files.readAllLines(Path.of("/proc/sys/vm/max_map_count")).getFirst()))
                .isLessThan(300_000);
        try (PeerJvm peer = PeerJvm.start(MappingLimitPeer.class)) {
            assertThat(peer.answer()).isEqualTo("it stayed, and was unmapped then");
            peer.endsWell();
        }
    }

    @Test
    void moreAddressesThanThereAreSaysWhichLimitsToRaise() throws IOException {
        try (MappedFile file = open(write(new byte[1]), MapMode.PRIVATE)) {
            assertThatThrownBy(() -> file.map(List.of(new ZeroPiece(1L << 60)))).isInstanceOf(MappingException.class)
                    .hasMessageContaining("ENOMEM").hasMessageContaining("vm.max_map_count");
        }
    }

    @Test
    void closingDoesNotWaitForANativeCallAndUnmapsAfterIt() throws Exception {
        Pipe pipe = Pipe.open();
        try (Pipe.SourceChannel source = pipe.source(); Pipe.SinkChannel sink = pipe.sink()) {
            MappedFile file = open(write(new byte[1 << 20]), MapMode.PRIVATE);
            MemorySegment segment = file.map(0, 1 << 20);
            CompletableFuture<Integer> writing = CompletableFuture.supplyAsync(() -> {
                try {
                    return sink.write(segment.asByteBuffer());
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            ByteBuffer drained = ByteBuffer.allocate(1 << 20);
            // A pipe holds 64 KiB, so once something has come through, the write is under way and blocked.
            source.read(drained.limit(1));
            file.close();
            assertThatThrownBy(() -> file.map(0, 1)).isInstanceOf(IllegalStateException.class);
            assertThat(writing).isNotDone();
            assertThat(segment.get(JAVA_BYTE, 0)).isZero();

            drained.limit(1 << 20);
            while (drained.hasRemaining()) {
                source.read(drained);
            }
            assertThat(writing.get(5, TimeUnit.MINUTES)).isEqualTo(1 << 20);
            assertThat(becomesTrue(() -> !segment.scope().isAlive())).isTrue();
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aFileThatNobodyClosesIsCollected() throws Exception {
        Path path = write(randomBytes(100_000));
        long descriptors = Proc.descriptors();
        MemorySegment segment = open(path, MapMode.PRIVATE).map(0, 100_000);
        System.gc();
        assertThat(segment.get(JAVA_BYTE, 0)).isEqualTo(randomBytes(100_000)[0]);
        segment = null;

        assertThat(becomesTrue(() -> {
            System.gc();
            return Proc.mappings(path.toString()) == 0 && Proc.descriptors() <= descriptors;
        })).isTrue();
    }

    private static void openMapClose(Path path, int times) throws IOException {
        for (int i = 0; i < times; i++) {
            try (MappedFile file = MappedFile.open(path, MapMode.PRIVATE)) {
                file.map(5, 50_000).set(JAVA_BYTE, i, (byte) i);
                file.map(List.of(file.piece(0, 40_000), new ZeroPiece(10_000), file.piece(50_000, 40_000)));
            }
        }
    }

    interface Condition {
        boolean holds() throws IOException;
    }

    static boolean becomesTrue(Condition condition) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(5);
        while (!condition.holds()) {
            if (System.nanoTime() > deadline) {
                return false;
            }
            Thread.sleep(5);
        }
        return true;
    }
}
