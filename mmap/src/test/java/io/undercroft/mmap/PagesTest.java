package io.undercroft.mmap;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.undercroft.mmap.internal.Libc;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.QuantizedTensor;
import io.undercroft.storage.Quantizer.PerTensor;
import io.undercroft.storage.Shape;
import io.undercroft.storage.SparseCooTensor;
import io.undercroft.storage.SparseCooTensor.Coalescence;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/// What can be asked of pages, on Linux; what is answered elsewhere is in [FileStorageTest].
@EnabledOnOs(OS.LINUX)
class PagesTest {
    private static final int SIZE = 200_003;

    @TempDir
    Path folder;

    static Optional<?>[] libraries() {
        return new Optional<?>[]{Libc.find(), Optional.empty()};
    }

    @Test
    void aPageHasTheSizeThatTheSystemSays() throws Exception {
        Process getconf = new ProcessBuilder("getconf", "PAGESIZE").start();
        assertThat(Pages.size()).hasValue(Long.parseLong(getconf.inputReader().readLine()));
    }

    @ParameterizedTest
    @EnumSource
    void adviceChangesNoByteWhateverItIsGivenFor(ReadAdvice advice) throws IOException {
        Path path = Files.write(folder.resolve("f"), filled(SIZE, 7));
        Storage mapped = FileStorage.open(path, MapMode.PRIVATE);
        mapped.set(5000, (byte) 9);
        Storage shared = Storage.copyOf(filled(SIZE, 7)).shareMemory();
        Storage anonymous = Storage.allocate(2 << 20, AnonymousMemory.allocator()).fill((byte) 7);
        for (Storage storage : List.of(mapped, shared, anonymous, Storage.allocate(100).fill((byte) 7))) {
            Pages.advise(storage.segment(), advice);
            Pages.advise(storage.segment().asSlice(17, 5), advice);
            Pages.advise(storage.segment().asSlice(17, 0), advice);

            long others = storage.segment().elements(JAVA_BYTE).filter(each -> each.get(JAVA_BYTE, 0) != 7).count();
            assertThat(others).isEqualTo(storage == mapped ? 1 : 0);
            storage.release();
        }
    }

    @Test
    void whatWasTouchedIsInMemory() {
        Storage storage = Storage.allocate(64 << 20, AnonymousMemory.allocator());
        assertThat(Pages.residentBytes(storage.segment())).hasValue(0);

        storage.set(10 << 20, (byte) 1);
        assertThat(Pages.residentBytes(storage.segment()).orElseThrow()).isBetween(4096L, 2L << 20);
        Pages.advise(storage.segment().asSlice(0, 32 << 20), ReadAdvice.POPULATE_WRITE);
        assertThat(Pages.residentBytes(storage.segment().asSlice(0, 32 << 20))).hasValue(32 << 20);
        assertThat(Pages.residentBytes(storage.segment().asSlice(4095, 2))).hasValue(8192);
        assertThat(Pages.residentBytes(storage.segment().asSlice(4095, 0))).hasValue(0);
        storage.release();
    }

    @Test
    void moreThanTheSystemIsAskedAboutAtOnceIsCounted() {
        long nbytes = (256L << 20) + 4096;
        Storage storage = Storage.allocate(nbytes, SharedMemory.allocator());
        assertThat(Pages.residentBytes(storage.segment())).as("set aside, and not filled").hasValue(0);
        storage.fill((byte) 1);
        assertThat(Pages.residentBytes(storage.segment())).hasValue(nbytes);
        storage.release();
    }

    @Test
    void lockedPagesCountAsLockedUntilTheyAreUnlocked() throws IOException {
        Storage storage = Storage.allocate(1 << 20, AnonymousMemory.allocator());
        long before = lockedKilobytes();
        Pages.lock(storage.segment());
        assertThat(lockedKilobytes()).isEqualTo(before + 1024);
        assertThat(Pages.residentBytes(storage.segment())).hasValue(1 << 20);

        Pages.unlock(storage.segment().asSlice(0, 512 << 10));
        assertThat(lockedKilobytes()).isEqualTo(before + 512);
        Pages.unlock(storage.segment());
        Pages.unlock(storage.segment());
        assertThat(lockedKilobytes()).isEqualTo(before);
        Pages.lock(storage.segment().asSlice(0, 0));
        storage.release();
    }

    private static long lockedKilobytes() throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/status"))) {
            return lines.filter(line -> line.startsWith("VmLck:")).findFirst()
                    .map(line -> Long.parseLong(line.replaceAll("\\D", ""))).orElseThrow();
        }
    }

    @Test
    void whatIsForcedIsInTheFile() throws IOException {
        Path path = folder.resolve("f");
        Storage storage = FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(SIZE));
        storage.fill((byte) 3);
        Pages.force(storage.segment());
        Pages.force(storage.segment().asSlice(5000, 1));
        Pages.force(storage.segment().asSlice(5000, 0));

        assertThat(path).hasBinaryContent(filled(SIZE, 3));
        storage.release();
        Storage mine = FileStorage.open(path, MapMode.PRIVATE).fill((byte) 4);
        Pages.force(mine.segment());
        assertThat(path).hasBinaryContent(filled(SIZE, 3));
        mine.release();
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void whatCanBeReadPassesTheProbe(Optional<Libc> libc) throws IOException {
        Path path = Files.write(folder.resolve("f"), filled(SIZE, 1));
        for (MapMode mode : MapMode.values()) {
            Storage storage = FileStorage.open(path, mode, ByteRange.whole().from(4095));
            Pages.probe(storage.segment(), libc);
            Pages.probe(storage.segment().asSlice(7, 0), libc);
            assertThat(storage.get(0)).isEqualTo((byte) 1);
            storage.release();
        }
        try (Arena arena = Arena.ofShared()) {
            Pages.probe(arena.allocate(5), libc);
        }
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void aFileThatWasCutFailsTheProbeWithBothSizes(Optional<Libc> libc) throws IOException {
        for (MapMode mode : MapMode.values()) {
            Path path = Files.write(folder.resolve("f"), filled(SIZE, 1));
            Storage storage = FileStorage.open(path, mode, ByteRange.whole().from(5000));
            MemorySegment segment = storage.segment();
            cut(path, 100_000);

            assertThatExceptionOfType(TruncatedMappingException.class).isThrownBy(() -> Pages.probe(segment, libc))
                    .withMessageStartingWith(path + ": ").withMessageContaining("cut to 100000 bytes")
                    .withMessageContaining(SIZE + " bytes");
            Pages.probe(segment.asSlice(0, 95_000), libc);
            storage.release();
        }
    }

    @Test
    void aFileThatWasCutAndRemovedFailsTheProbeToo() throws IOException {
        Path path = Files.write(folder.resolve("f"), filled(SIZE, 1));
        Storage storage = FileStorage.open(path, MapMode.PRIVATE);
        cut(path, 8192);
        Files.delete(path);

        assertThatExceptionOfType(MappingException.class).isThrownBy(() -> Pages.probe(storage.segment()))
                .withMessageStartingWith(path + " (deleted): read error: mapped bytes could not be read")
                .withMessageContaining(" at byte 0x2000)").withCauseInstanceOf(FileReadException.class);
        assertThatExceptionOfType(MappingException.class).isThrownBy(() -> Pages.lock(storage.segment()));
        storage.release();
    }

    @Test
    void elementLoopsOverAFileThatWasCutAreTranslatedByAGuard() throws IOException {
        for (Consumer<Tensor> loop : List.<Consumer<Tensor>>of(PagesTest::sum, t -> t.getFloat(-1),
                t -> t.setDouble(-1, 1), t -> t.storage().get(t.nbytes() - 1))) {
            Tensor tensor = cutTensor();
            assertThatExceptionOfType(TruncatedMappingException.class)
                    .isThrownBy(() -> Pages.guard(tensor.storage().segment(), () -> {
                        loop.accept(tensor);
                        return 0;
                    })).withMessageContaining("cut to 8192 bytes while 1048576");
            tensor.storage().release();
        }
    }

    @Test
    void bulkWorkOverAFileThatWasCutSaysSoItself() throws IOException {
        Tensor whole = Tensor.zeros(DType.FLOAT32, 1 << 18);
        for (Consumer<Tensor> use : bulkWork(whole)) {
            Tensor intact = Tensor.zeros(DType.FLOAT32, 1 << 18);
            for (int i = 0; i < 20; i++) {
                use.accept(intact);
            }
            Tensor tensor = cutTensor();
            assertThatExceptionOfType(TruncatedMappingException.class).isThrownBy(() -> use.accept(tensor))
                    .withMessageContaining("the file was cut to 8192 bytes");
            tensor.storage().release();
        }
    }

    /// Behind the cut the last page shows zeros, and nothing faults.
    @Test
    void bulkWorkOverAFileThatWasCutWithinAPageSaysSoToo() throws IOException {
        Tensor whole = Tensor.zeros(DType.FLOAT32, 1 << 18);
        for (Consumer<Tensor> use : bulkWork(whole)) {
            Path path = Files.write(folder.resolve("f"), new byte[1 << 20]);
            Tensor tensor = tensor(path);
            use.accept(tensor.view(DType.FLOAT32));
            Tensor again = tensor(path);
            cut(path, (1 << 20) - 10);
            assertThatExceptionOfType(TruncatedMappingException.class).isThrownBy(() -> use.accept(again))
                    .withMessageContaining("the file was cut to 1048566 bytes");
            again.storage().release();
        }
    }

    @Test
    void partsOfAFileBeforeACutAreUsedOn() throws IOException {
        Path path = Files.write(folder.resolve("f"), filled(10_000, 1));
        try (MappedFile file = MappedFile.open(path, MapMode.PRIVATE);
                MappedFile other = MappedFile.open(Files.write(folder.resolve("g"), filled(5000, 2)),
                        MapMode.PRIVATE)) {
            Storage before = Storage.over(file.window(0, 5000));
            Storage behind = Storage.over(file.window(5000, 5000));
            Storage stitched = Storage.over(other.allocation(List.of(other.piece(0, 4096), file.piece(0, 9000))));
            cut(path, 9999);

            assertThat(before.copy().get(4999)).isEqualTo((byte) 1);
            assertThat(stitched.copy().get(13_095)).isEqualTo((byte) 1);
            assertThatExceptionOfType(TruncatedMappingException.class).isThrownBy(behind::copy);
            cut(path, 8999);
            assertThatExceptionOfType(TruncatedMappingException.class).isThrownBy(stitched::copy)
                    .withMessageStartingWith(path.toString());
        }
    }

    @Test
    void aFileThatTookTheNameOfAMappedOneIsNotAsked() throws IOException {
        Path path = Files.write(folder.resolve("f"), filled(10_000, 1));
        Storage storage = FileStorage.open(path, MapMode.PRIVATE);
        Files.move(Files.write(folder.resolve("g"), new byte[5]), path, StandardCopyOption.REPLACE_EXISTING);
        assertThat(storage.copy().get(9999)).isEqualTo((byte) 1);
        Files.delete(path);
        assertThat(storage.copy().get(9999)).isEqualTo((byte) 1);
        storage.release();
    }

    @SuppressWarnings("CheckReturnValue")
    private static List<Consumer<Tensor>> bulkWork(Tensor whole) {
        return List.of(Tensor::copy, t -> t.fill(3), t -> t.equal(whole), t -> whole.equal(t),
                t -> t.contentEquals(whole), t -> t.allClose(whole), t -> t.to(DType.FLOAT64), whole::copyFrom,
                t -> t.copyFrom(whole), Tensor::toFloatArray, t -> t.view(512, 512).t().copy(),
                t -> t.storage().contentEquals(whole.storage()), t -> t.storage().copy(),
                t -> t.storage().byteswap(DType.FLOAT32), t -> t.storage().fill((byte) 1),
                t -> t.storage().copyFrom(whole.storage()), t -> t.storage().slice(5, 1 << 19).copy(),
                t -> new TypedStorage(t.storage(), DType.FLOAT32).fill(5), t -> t.storage().to(DType.FLOAT32),
                t -> t.copyTo(whole.bytes()), t -> t.storage().moveTo(Allocator.offHeap()),
                t -> t.storage().shareMemory(), PagesTest::print, t -> print(t.storage()),
                t -> middle(t).toList(), t -> print(new TypedStorage(middle(t), DType.FLOAT32)),
                t -> new TypedStorage(middle(t), DType.FLOAT32).toList(),
                t -> new TypedStorage(middle(t), DType.FLOAT32).toTorch7String(),
                t -> new TypedStorage(middle(t), DType.INT8).string(), t -> print(sparse(t)),
                t -> print(new QuantizedTensor(t.view(DType.QINT8), new PerTensor(1, 0))));
    }

    @Test
    void aStorageThatCannotBeMovedStaysWhereItIs() throws IOException {
        Path path = Files.write(folder.resolve("f"), filled(SIZE, 7));
        Iterator<Allocator> memory = List.of(mapping(path), Allocator.offHeap()).iterator();
        Storage storage = Storage.allocate(SIZE, nbytes -> memory.next().allocate(nbytes));
        cut(path, 4096);
        for (Consumer<Storage> move : List.<Consumer<Storage>>of(s -> s.resize(SIZE - 1), Storage::shareMemory,
                s -> s.moveTo(Allocator.heap()))) {
            assertThatExceptionOfType(TruncatedMappingException.class).isThrownBy(() -> move.accept(storage));
            assertThat(storage.filename()).contains(path.toString());
            assertThat(storage.nbytes()).isEqualTo(SIZE);
            assertThat(storage.get(4095)).isEqualTo((byte) 7);
        }
        storage.release();
    }

    private static Allocator mapping(Path path) {
        return nbytes -> {
            try (MappedFile file = MappedFile.open(path, MapMode.PRIVATE)) {
                return file.allocation(0, nbytes);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        };
    }

    private static void print(Object what) {
        assertThat(what.toString()).isNotEmpty();
    }

    private static Storage middle(Tensor tensor) {
        return tensor.storage().slice(1 << 19, 4000);
    }

    private static SparseCooTensor sparse(Tensor values) {
        Tensor indices = Tensor.arange(DType.INT64, values.numel()).view(1, -1);
        return new SparseCooTensor(indices, values, values.shape(), Coalescence.COALESCED);
    }

    /// Of a file that was cut after loops over it were compiled.
    private Tensor cutTensor() throws IOException {
        Path path = Files.write(folder.resolve("f"), new byte[1 << 20]);
        Tensor tensor = tensor(path);
        for (int i = 0; i < 20; i++) {
            sum(tensor);
        }
        cut(path, 8192);
        return tensor;
    }

    private static Tensor tensor(Path path) throws IOException {
        return Tensor.of(FileStorage.open(path, MapMode.PRIVATE), DType.FLOAT32, 0, Shape.of(1 << 18), 1);
    }

    private static double sum(Tensor tensor) {
        double sum = 0;
        for (long i = 0; i < tensor.numel(); i++) {
            sum += tensor.getFloat(i);
        }
        return sum;
    }

    @Test
    void aGuardLeavesResultsAndOtherErrorsAlone() {
        MemorySegment segment = Storage.allocate(5).segment();

        assertThat(Pages.guard(segment, () -> 5)).isEqualTo(5);
        assertThatExceptionOfType(InternalError.class).isThrownBy(() -> Pages.guard(segment, () -> {
            throw new InternalError("something else");
        })).withMessage("something else");
        assertThatIllegalStateException().isThrownBy(() -> Pages.guard(segment, () -> {
            throw new IllegalStateException();
        }));
    }

    @Test
    void withoutNativeAccessHintsAreIgnoredAndTheRestSaysWhatItNeeds() throws Exception {
        Path path = folder.resolve("f");
        try (PeerJvm peer = PeerJvm.startWith(List.of("--illegal-native-access=deny"), PagesWithoutNativeAccess.class,
                path.toString())) {
            assertThat(peer.answer()).isEqualTo("OptionalLong.empty OptionalLong.empty 1");
            assertThat(peer.answer()).contains("--enable-native-access");
            assertThat(peer.answer()).contains("--enable-native-access");
            peer.endsWell();
        }
        assertThat(path).hasBinaryContent(filled(10_000, 1));
    }

    @Test
    void theHeapAndWhatIsClosedHaveNoPages() {
        Arena arena = Arena.ofShared();
        MemorySegment closed = arena.allocate(10);
        arena.close();
        MemorySegment heap = MemorySegment.ofArray(new byte[10]);
        for (Question question : List.<Question>of(s -> Pages.advise(s, ReadAdvice.RANDOM), Pages::lock, Pages::unlock,
                Pages::residentBytes, Pages::force, Pages::probe)) {
            assertThatIllegalStateException().isThrownBy(() -> question.ask(closed));
            assertThatIllegalArgumentException().isThrownBy(() -> question.ask(heap)).withMessageContaining("heap");
        }
    }

    interface Question {
        void ask(MemorySegment segment) throws IOException;
    }

    private static byte[] filled(int size, int value) {
        byte[] bytes = new byte[size];
        Arrays.fill(bytes, (byte) value);
        return bytes;
    }

    private static void cut(Path path, long size) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
            channel.truncate(size);
        }
    }
}
