package io.undercroft.mmap;

import static io.undercroft.testsupport.TestData.noise;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.mmap.Piece.ZeroPiece;
import io.undercroft.mmap.internal.Libc;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocation.Sharing;
import io.undercroft.storage.Storage;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/// What a mapped file does, whichever way the system is called.
abstract class MappedFileContract {
    private static final int SIZE = 200_003;

    @TempDir
    Path folder;

    abstract Optional<Libc> libc();

    @Test
    void aPrivateMapTakesWritesThatNeverReachTheFile() throws IOException {
        byte[] bytes = randomBytes(SIZE);
        Path path = write(bytes);
        try (MappedFile file = open(path, MapMode.PRIVATE)) {
            MemorySegment segment = file.map(0, SIZE);
            segment.fill((byte) 7);

            assertThat(segment.get(JAVA_BYTE, SIZE - 1)).isEqualTo((byte) 7);
        }
        assertThat(Files.readAllBytes(path)).isEqualTo(bytes);
    }

    @Test
    void twoPrivateMapsOfTheSameBytesDoNotSeeEachOther() throws IOException {
        try (MappedFile file = open(write(new byte[SIZE]), MapMode.PRIVATE)) {
            MemorySegment one = file.map(0, SIZE);
            MemorySegment two = file.map(0, SIZE);
            one.set(JAVA_BYTE, 5, (byte) 1);

            assertThat(two.get(JAVA_BYTE, 5)).isZero();
        }
    }

    @Test
    void aWindowShowsItsBytesAndHoldsTheFileUntilItIsFreed() throws IOException {
        byte[] bytes = randomBytes(SIZE);
        for (MapMode mode : MapMode.values()) {
            MappedFile file = open(write(bytes), mode);
            Allocation window = file.window(4099, 70_001);
            file.close();
            assertThat(window.segment().toArray(JAVA_BYTE)).isEqualTo(Arrays.copyOfRange(bytes, 4099, 4099 + 70_001));
            assertThat(window.sharing() == Allocation.Sharing.SHARED).isEqualTo(mode == MapMode.SHARED);
            window.free();
            assertThatIllegalStateException().isThrownBy(() -> window.segment().get(JAVA_BYTE, 0));
        }
    }

    @Test
    void aWindowPastTheEndIsRefused() throws IOException {
        try (MappedFile file = open(write(new byte[SIZE]), MapMode.PRIVATE)) {
            assertThatExceptionOfType(MappingException.class).isThrownBy(() -> file.window(SIZE - 5, 6));
            assertThat(file.window(SIZE, 0).segment().byteSize()).isZero();
        }
    }

    @Test
    void aWindowIntoAFileThatWasCutIsRefused() throws IOException {
        Path path = write(new byte[SIZE]);
        try (MappedFile file = open(path, MapMode.READ_ONLY)) {
            file.window(0, 10);
            Files.write(path, new byte[100]);
            assertThatExceptionOfType(MappingException.class).isThrownBy(() -> file.window(50_000, 10));
        }
    }

    @Test
    void whatIsWrittenToASharedMapReachesTheFileAndOtherMaps() throws IOException {
        byte[] bytes = randomBytes(SIZE);
        Path path = write(bytes);
        try (MappedFile file = open(path, MapMode.SHARED); MappedFile other = open(path, MapMode.READ_ONLY)) {
            MemorySegment segment = file.map(5001, 1000);
            segment.set(JAVA_BYTE, 17, (byte) 99);
            Pages.force(segment);

            assertThat(other.map(5018, 1).get(JAVA_BYTE, 0)).isEqualTo((byte) 99);
        }
        bytes[5018] = 99;
        assertThat(Files.readAllBytes(path)).isEqualTo(bytes);
    }

    @Test
    void aReadOnlyMapRejectsWrites() throws IOException {
        try (MappedFile file = open(write(randomBytes(SIZE)), MapMode.READ_ONLY)) {
            for (MemorySegment segment : List.of(file.map(1, 10), file.map(0, 0),
                    file.map(List.of(new ZeroPiece(10), file.piece(0, 10))))) {
                assertThat(segment.isReadOnly()).isTrue();
                assertThatThrownBy(() -> segment.fill((byte) 1)).isInstanceOf(IllegalArgumentException.class);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void mapsStartAndEndAtAnyByte(MapMode mode) throws IOException {
        byte[] bytes = randomBytes(SIZE);
        try (MappedFile file = open(write(bytes), mode)) {
            int[][] ranges = {{0, SIZE}, {1, SIZE - 1}, {4095, 2}, {4096, 4096}, {4097, 100_000}, {SIZE - 1, 1},
                    {77_777, 3}, {131_072, SIZE - 131_072}, {SIZE, 0}, {0, 0}};
            for (int[] range : ranges) {
                MemorySegment segment = file.map(range[0], range[1]);
                assertThat(segment.toArray(JAVA_BYTE))
                        .isEqualTo(Arrays.copyOfRange(bytes, range[0], range[0] + range[1]));
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"0, 200004", "200003, 1", "200004, 1", "9223372036854775807, 1", "1, 9223372036854775807"})
    void mappingPastTheEndSaysWhereTheFileEnds(long offset, long length) throws IOException {
        Path path = write(new byte[SIZE]);
        try (MappedFile file = open(path, MapMode.PRIVATE)) {
            assertThatExceptionOfType(MappingException.class).isThrownBy(() -> file.map(offset, length))
                    .withMessageStartingWith(path + ": cannot be mapped: the ").withMessageNotContaining("\n")
                    .withMessageContaining("at byte 0x" + Long.toHexString(offset).toUpperCase(Locale.ROOT))
                    .withMessageContaining("Check that the file is complete").satisfies(e -> {
                        assertThat(e.file()).isEqualTo(path.toString());
                        assertThat(e.offset()).isEqualTo(offset);
                        assertThat(e.length()).isEqualTo(length);
                        assertThat(e.remedy()).isNotBlank();
                    });
        }
        assertThat(path).hasSize(SIZE);
    }

    @Test
    void mappingPastTheEndOfASharedFileDoesNotGrowIt() throws IOException {
        Path path = write(new byte[10]);
        try (MappedFile file = open(path, MapMode.SHARED)) {
            assertThatThrownBy(() -> file.map(0, 11)).isInstanceOf(MappingException.class);
        }
        assertThat(path).hasSize(10);
    }

    @Test
    void piecesThatAddUpToMoreThanALongAreRefused() throws IOException {
        try (MappedFile file = open(write(new byte[10]), MapMode.PRIVATE)) {
            List<Piece> pieces = List.of(new ZeroPiece(Long.MAX_VALUE), new ZeroPiece(1), file.piece(0, 1));
            assertThatThrownBy(() -> file.map(pieces)).isInstanceOf(MappingException.class)
                    .hasMessageContaining("2^63 - 1");
        }
    }

    @Test
    void aPieceHasNoNegativeNumbers() throws IOException {
        try (MappedFile file = open(write(new byte[10]), MapMode.PRIVATE)) {
            assertThatThrownBy(() -> file.piece(-1, 5)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> file.piece(5, -1)).isInstanceOf(IllegalArgumentException.class);
        }
        assertThatThrownBy(() -> new ZeroPiece(-1)).isInstanceOf(IllegalArgumentException.class);
    }

    @ParameterizedTest
    @EnumSource
    void anEmptyFileMapsToNothing(MapMode mode) throws IOException {
        try (MappedFile file = open(write(new byte[0]), mode)) {
            assertThat(file.size()).isZero();
            assertThat(file.map(0, 0).byteSize()).isZero();
            assertThat(file.map(List.of()).byteSize()).isZero();
            file.read(0, MemorySegment.ofArray(new byte[0]));
            assertThatThrownBy(() -> file.map(0, 1)).isInstanceOf(MappingException.class);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"READ_ONLY", "PRIVATE"})
    void stitchedPiecesEqualTheirConcatenation(MapMode mode) throws IOException {
        byte[] bytes = randomBytes(3_000_001);
        Path path = write(bytes);
        Random random = new Random(20_250_101);
        try (MappedFile file = open(path, mode)) {
            for (int round = 0; round < 300; round++) {
                List<Piece> pieces = randomPieces(random, file, bytes.length);
                MemorySegment segment = file.map(pieces);
                assertThat(segment.mismatch(MemorySegment.ofArray(concatenation(pieces, bytes)))).as("%s", pieces)
                        .isEqualTo(-1);
            }
        }
    }

    @Test
    void aStitchedMapTakesWritesThatNeverReachTheFile() throws IOException {
        byte[] bytes = randomBytes(SIZE);
        Path path = write(bytes);
        try (MappedFile file = open(path, MapMode.PRIVATE)) {
            List<Piece> pieces = List.of(file.piece(65_536, 65_536), new ZeroPiece(8192), file.piece(3, 50_000));
            MemorySegment segment = file.map(pieces);
            segment.fill((byte) 1);

            assertThat(file.map(pieces).mismatch(MemorySegment.ofArray(concatenation(pieces, bytes)))).isEqualTo(-1);
        }
        assertThat(Files.readAllBytes(path)).isEqualTo(bytes);
    }

    @Test
    void piecesOfSeveralFilesMakeOneRange() throws IOException {
        byte[] bytes = randomBytes(1_000_000);
        byte[] others = randomBytes(1_000_001);
        Random random = new Random(7);
        for (int round = 0; round < 50; round++) {
            MappedFile other = open(write(others), MapMode.READ_ONLY);
            try (MappedFile file = open(write(bytes), MapMode.PRIVATE)) {
                List<Piece> ours = randomPieces(random, file, bytes.length);
                List<Piece> theirs = randomPieces(random, other, bytes.length);
                List<Piece> all = Stream.of(ours, theirs, ours).flatMap(List::stream).toList();
                MemorySegment segment = file.map(all);
                other.close();

                byte[] expected = concat(concatenation(ours, bytes), concatenation(theirs, others),
                        concatenation(ours, bytes));
                assertThat(segment.mismatch(MemorySegment.ofArray(expected))).as("%s", all).isEqualTo(-1);
            }
        }
    }

    @Test
    void whatIsWrittenToAStitchedRangeIsSeenByNobodyElse() throws IOException {
        byte[] bytes = randomBytes(SIZE);
        Path path = write(bytes);
        Path base = write(bytes);
        try (MappedFile file = open(path, MapMode.PRIVATE); MappedFile other = open(base, MapMode.SHARED)) {
            List<Piece> pieces = List.of(file.piece(65_536, 65_536), new ZeroPiece(65_536), other.piece(0, 65_536),
                    file.piece(65_536, 65_536));
            byte[] expected = concatenation(pieces, bytes);
            MemorySegment seen = file.map(pieces);
            MemorySegment written = file.map(pieces);
            written.asSlice(0, 65_536).fill((byte) 1);
            assertThat(written.asSlice(196_608).toArray(JAVA_BYTE)).as("the same bytes of the file, in another place")
                    .isEqualTo(Arrays.copyOfRange(bytes, 65_536, 131_072));
            written.fill((byte) 2);

            assertThat(seen.toArray(JAVA_BYTE)).isEqualTo(expected);
            assertThat(other.map(0, SIZE).toArray(JAVA_BYTE)).isEqualTo(bytes);
        }
        assertThat(Files.readAllBytes(path)).isEqualTo(bytes);
        assertThat(Files.readAllBytes(base)).isEqualTo(bytes);
    }

    @Test
    void aClosedFileCannotBeStitchedIntoAnother() throws IOException {
        MappedFile file = open(write(new byte[SIZE]), MapMode.PRIVATE);
        MappedFile other = open(write(new byte[SIZE]), MapMode.PRIVATE);
        List<Piece> pieces = List.of(file.piece(0, 65_536), other.piece(0, 65_536));
        MemorySegment segment = file.map(0, 1);
        other.close();
        assertThatIllegalStateException().isThrownBy(() -> file.map(pieces)).withMessageContaining("is closed");

        file.close();
        assertThatIllegalStateException().as("nobody holds it").isThrownBy(() -> segment.get(JAVA_BYTE, 0));
    }

    @Test
    void theFileOfSeveralThatWasCutIsNamed() throws IOException {
        Path base = write(new byte[SIZE]);
        try (MappedFile file = open(write(new byte[SIZE]), MapMode.PRIVATE);
                MappedFile other = open(base, MapMode.READ_ONLY)) {
            List<Piece> pieces = List.of(file.piece(0, 65_536), other.piece(131_072, 65_536));
            MemorySegment segment = file.map(pieces);
            assertThat(other.guard(() -> segment.get(JAVA_BYTE, 70_000))).isZero();
            cut(base, 65_536);

            assertThatExceptionOfType(MappingException.class).isThrownBy(() -> file.map(pieces))
                    .withMessageStartingWith(base.toString()).withMessageContaining("the file ends at byte 65536");
            assertThatExceptionOfType(TruncatedMappingException.class)
                    .isThrownBy(() -> other.guard(() -> segment.get(JAVA_BYTE, 0)))
                    .withMessageStartingWith(base.toString());
        }
    }

    @Test
    void aSharedFileTakesNoPiecesOfOthers() throws IOException {
        try (MappedFile file = open(write(new byte[SIZE]), MapMode.SHARED);
                MappedFile other = open(write(new byte[SIZE]), MapMode.SHARED)) {
            assertThatThrownBy(() -> file.map(List.of(other.piece(0, 65_536))))
                    .isInstanceOf(UnsupportedOperationException.class);
        }
    }

    @Test
    void whatTheBudgetDoesNotAllowIsCopied() throws IOException {
        byte[] bytes = randomBytes(SIZE);
        MapBudget budget = new MapBudget(1);
        for (MapMode mode : List.of(MapMode.PRIVATE, MapMode.READ_ONLY)) {
            try (MappedFile file = MappedFile.open(write(bytes), mode, budget, libc())) {
                List<Piece> pieces = List.of(file.piece(65_536, 65_536), new ZeroPiece(65_536), file.piece(0, 65_536));
                assertThat(file.map(pieces).toArray(JAVA_BYTE)).isEqualTo(concatenation(pieces, bytes));
                assertThat(budget.left()).isEqualTo(1);
            }
        }
        assertThat(budget.left()).isEqualTo(1);
    }

    @Test
    void aSharedFileTakesAdjacentPiecesOnly() throws IOException {
        byte[] bytes = randomBytes(SIZE);
        try (MappedFile file = open(write(bytes), MapMode.SHARED)) {
            assertThat(file.map(List.of(file.piece(10, 5), new ZeroPiece(0), file.piece(15, 5)))
                    .toArray(JAVA_BYTE)).isEqualTo(Arrays.copyOfRange(bytes, 10, 20));
            assertThatThrownBy(() -> file.map(List.of(file.piece(10, 5), file.piece(16, 5))))
                    .isInstanceOf(UnsupportedOperationException.class);
            assertThatThrownBy(() -> file.map(List.of(new ZeroPiece(5))))
                    .isInstanceOf(UnsupportedOperationException.class);
        }
    }

    @Test
    void readingFillsTheWholeSegmentOnOrOffTheHeap() throws IOException {
        byte[] bytes = randomBytes(3_000_001);
        try (MappedFile file = open(write(bytes), MapMode.READ_ONLY); Arena arena = Arena.ofConfined()) {
            byte[] heap = new byte[2_500_000];
            file.read(1234, MemorySegment.ofArray(heap));
            assertThat(heap).isEqualTo(Arrays.copyOfRange(bytes, 1234, 1234 + heap.length));

            MemorySegment nativeBytes = arena.allocate(2_500_000);
            file.read(500_001, nativeBytes);
            assertThat(nativeBytes.toArray(JAVA_BYTE)).isEqualTo(Arrays.copyOfRange(bytes, 500_001, bytes.length));
        }
    }

    @Test
    void readingPastTheEndSaysWhereTheFileEnds() throws IOException {
        Path path = write(new byte[SIZE]);
        try (MappedFile file = open(path, MapMode.READ_ONLY); Arena arena = Arena.ofConfined()) {
            for (MemorySegment into : List.of(MemorySegment.ofArray(new byte[8]), arena.allocate(8))) {
                assertThatThrownBy(() -> file.read(SIZE - 7, into)).isInstanceOf(EOFException.class)
                        .hasMessageContaining("ends at byte " + SIZE).hasMessageStartingWith(path.toString());
            }
            assertThatThrownBy(() -> file.read(-1, MemorySegment.ofArray(new byte[8])))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void whatIsNotAFileIsNamedInOneLine() {
        assertThatThrownBy(() -> open(folder, MapMode.PRIVATE)).isInstanceOf(IOException.class)
                .hasMessage(folder + ": it is a directory; name a file in it");
        assertThatThrownBy(() -> open(folder.resolve("none"), MapMode.PRIVATE))
                .isInstanceOf(NoSuchFileException.class)
                .hasMessage(folder.resolve("none") + ": there is no such file; check the path");
        assertThatThrownBy(() -> open(Path.of("/dev/null"), MapMode.PRIVATE)).isInstanceOf(IOException.class)
                .hasMessageContaining("only regular files");
    }

    @Test
    void aFileThatMayNotBeReadIsNamedInOneLine() throws IOException {
        Path path = write(new byte[10]);
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("---------"));
        assumeFalse(Files.isReadable(path), "this user may read everything");

        assertThatThrownBy(() -> open(path, MapMode.PRIVATE)).isInstanceOf(AccessDeniedException.class)
                .hasMessageStartingWith(path.toString());
    }

    @Test
    void aFileWithAnOddNameIsFound() throws IOException {
        Path path = folder.resolve("50% of #1 ?;weights\u0001 & 'more'.bin");
        Files.write(path, new byte[]{42});
        try (MappedFile file = open(path, MapMode.PRIVATE)) {
            assertThat(file.map(0, 1).get(JAVA_BYTE, 0)).isEqualTo((byte) 42);
        }
    }

    @Test
    void everyHolderKeepsTheMappingsUntilItCloses() throws IOException {
        MappedFile file = open(write(randomBytes(SIZE)), MapMode.PRIVATE);
        MemorySegment segment = file.map(0, SIZE);
        MappedFile held = file.retain();

        file.close();
        assertThat(segment.get(JAVA_BYTE, 0)).isEqualTo(held.map(0, 1).get(JAVA_BYTE, 0));

        held.close();
        assertThatThrownBy(() -> segment.get(JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> file.map(0, 1)).isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("is closed; close it later, or open it again");
        assertThatThrownBy(() -> file.map(0, 0)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> file.read(0, MemorySegment.ofArray(new byte[1])))
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(file::retain).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> file.guard(() -> 1)).isInstanceOf(IllegalStateException.class);
        file.close();
    }

    @Test
    void anAllocationHoldsTheFileUntilItIsFreed() throws IOException {
        Path path = write(randomBytes(SIZE));
        MappedFile file = open(path, MapMode.PRIVATE);
        Allocation allocation = file.allocation(100, 50);
        Storage storage = Storage.over(allocation);
        file.close();

        assertThat(allocation.sharing()).isEqualTo(Sharing.PRIVATE);
        assertThat(storage.filename()).contains(path.toString());
        assertThat(storage.nbytes()).isEqualTo(50);
        MemorySegment segment = storage.segment();
        assertThat(segment.get(JAVA_BYTE, 0)).isEqualTo(Files.readAllBytes(path)[100]);

        storage.release();
        assertThatThrownBy(() -> segment.get(JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void stitchedBytesAreFreedWithTheirAllocation() throws IOException {
        MapBudget budget = new MapBudget(100);
        byte[] bytes = randomBytes(SIZE);
        try (MappedFile file = MappedFile.open(write(bytes), MapMode.PRIVATE, budget, libc())) {
            List<Piece> pieces = List.of(file.piece(4096, 20_000), new ZeroPiece(50), file.piece(100, 30_000));
            for (int i = 0; i < 100; i++) {
                Allocation allocation = file.allocation(pieces);
                MemorySegment segment = allocation.segment();
                assertThat(segment.get(JAVA_BYTE, 20_050)).isEqualTo(bytes[100]);
                allocation.free();
                assertThat(segment.scope().isAlive()).isFalse();
                assertThat(budget.left()).isEqualTo(100);
            }
        }
    }

    @Test
    void anAllocationOfASharedFileIsShared() throws IOException {
        try (MappedFile file = open(write(new byte[SIZE]), MapMode.SHARED)) {
            Storage storage = Storage.over(file.allocation(List.of(file.piece(0, 5), file.piece(5, 5))));

            assertThat(storage.isShared()).isTrue();
            assertThat(storage.isReadOnly()).isFalse();
            storage.release();
            assertThat(file.map(0, 1).get(JAVA_BYTE, 0)).isZero();
        }
    }

    @Test
    void anAllocationThatFailsHoldsNothing() throws IOException {
        MappedFile file = open(write(new byte[SIZE]), MapMode.PRIVATE);
        MemorySegment segment = file.map(0, 1);
        assertThatThrownBy(() -> file.allocation(SIZE, 1)).isInstanceOf(MappingException.class);

        file.close();
        assertThatThrownBy(() -> segment.get(JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void closingWhileOthersReadEndsThemWithAnException() throws Exception {
        Path path = write(randomBytes(1 << 20));
        for (int round = 0; round < 20; round++) {
            MappedFile file = open(path, MapMode.PRIVATE);
            MemorySegment segment = file.map(0, 1 << 20);
            CountDownLatch reading = new CountDownLatch(2);
            List<CompletableFuture<Throwable>> readers = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                readers.add(CompletableFuture.supplyAsync(() -> readUntilItFails(segment, reading),
                        task -> Thread.ofPlatform().daemon().start(task)));
            }
            assertThat(reading.await(5, TimeUnit.MINUTES)).isTrue();
            file.close();
            for (CompletableFuture<Throwable> reader : readers) {
                assertThat(reader.get(5, TimeUnit.MINUTES)).isInstanceOf(IllegalStateException.class);
            }
        }
    }

    @Test
    void anInterruptedThreadMapsAndReadsAndDoesNotHarmOthers() throws IOException {
        byte[] bytes = randomBytes(SIZE);
        try (MappedFile file = open(write(bytes), MapMode.PRIVATE)) {
            Thread.currentThread().interrupt();
            byte[] read = new byte[10];
            file.read(50, MemorySegment.ofArray(read));
            MemorySegment mapped = file.map(50, 10);

            assertThat(Thread.interrupted()).isTrue();
            assertThat(mapped.toArray(JAVA_BYTE)).isEqualTo(read).isEqualTo(Arrays.copyOfRange(bytes, 50, 60));
            assertThat(file.map(SIZE - 1, 1).get(JAVA_BYTE, 0)).isEqualTo(bytes[SIZE - 1]);
        }
    }

    @Test
    void aFileCutBehindItsMappingIsNamed() throws IOException {
        Path path = write(new byte[SIZE]);
        try (MappedFile file = open(path, MapMode.READ_ONLY)) {
            MemorySegment segment = file.map(0, SIZE);
            assertThat(file.guard(() -> segment.get(JAVA_BYTE, SIZE - 1))).isZero();
            cut(path, 4096);

            assertThatExceptionOfType(TruncatedMappingException.class)
                    .isThrownBy(() -> file.guard(() -> segment.get(JAVA_BYTE, SIZE - 1)))
                    .withMessageStartingWith(path + ": the file was cut to 4096 bytes while 200003 bytes")
                    .withMessageContaining("renaming");
            assertThatThrownBy(() -> file.map(0, SIZE)).isInstanceOf(MappingException.class);
            assertThat(file.map(0, 4096).get(JAVA_BYTE, 4095)).isZero();
        }
    }

    @Test
    void aFileCutWithinItsLastPageIsNoticedThoughNoPageIsGone() throws IOException {
        byte[] ones = new byte[100];
        Arrays.fill(ones, (byte) 1);
        Path path = write(ones);
        try (MappedFile file = open(path, MapMode.READ_ONLY)) {
            MemorySegment segment = file.map(0, 100);
            cut(path, 10);

            assertThatThrownBy(() -> file.guard(() -> segment.get(JAVA_BYTE, 99)))
                    .isInstanceOf(TruncatedMappingException.class);
        }
    }

    @Test
    void guardingPassesOtherFailuresOn() throws IOException {
        try (MappedFile file = open(write(new byte[SIZE]), MapMode.READ_ONLY)) {
            InternalError error = new InternalError("of another kind");
            assertThatThrownBy(() -> file.guard(() -> {
                throw error;
            })).isSameAs(error);
        }
    }

    MappedFile open(Path path, MapMode mode) throws IOException {
        return MappedFile.open(path, mode, new MapBudget(), libc());
    }

    Path write(byte[] bytes) throws IOException {
        return Files.write(Files.createTempFile(folder, "bytes", ".bin"), bytes);
    }

    static byte[] randomBytes(int size) {
        return noise(size, size);
    }

    static void cut(Path path, long size) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
            channel.truncate(size);
        }
    }

    private static Throwable readUntilItFails(MemorySegment segment, CountDownLatch reading) {
        reading.countDown();
        try {
            long sum = 0;
            while (sum != Long.MIN_VALUE) {
                for (long i = 0; i < segment.byteSize(); i++) {
                    sum += segment.get(JAVA_BYTE, i) & 0xFF;
                }
            }
            return new AssertionError("the sum of positive numbers is never that");
        } catch (IllegalStateException e) {
            return e;
        }
    }

    /// Pieces in and out of step with pages, short and long, adjacent and apart, up to the end of the file.
    private static List<Piece> randomPieces(Random random, MappedFile file, int fileSize) {
        List<Piece> pieces = new ArrayList<>();
        int step = random.nextBoolean() ? 4096 : 1;
        long next = 0;
        for (int i = random.nextInt(1, 9); i > 0; i--) {
            long offset = random.nextInt(4) == 0 ? next : random.nextLong(fileSize) / step * step;
            long longest = Math.min(fileSize - offset, random.nextBoolean() ? 300_000 : 10_000);
            long length = random.nextInt(5) == 0 ? longest : random.nextLong(longest + 1) / step * step;
            if (random.nextInt(3) == 0) {
                pieces.add(new ZeroPiece(length));
            } else {
                pieces.add(file.piece(offset, length));
                next = offset + length;
            }
        }
        return pieces;
    }

    private static byte[] concat(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }

    private static byte[] concatenation(List<Piece> pieces, byte[] bytes) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (Piece piece : pieces) {
            switch (piece) {
                case FilePiece(MappedFile _, long offset, long length) -> all.write(bytes, (int) offset, (int) length);
                case ZeroPiece(long length) -> all.write(new byte[(int) length], 0, (int) length);
                case Piece.DecodedPiece _ -> throw new AssertionError(piece);
            }
        }
        return all.toByteArray();
    }
}
