package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.map;
import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.TruncatedMappingException;
import io.undercroft.serializer.state.Typed;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PretendDevice;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Loading into live tensors, in place.
class LoadIntoTest {
    @TempDir
    private Path folder;

    private Path save(Object... entries) throws IOException {
        return saved(map(entries));
    }

    private Path saved(Object state) throws IOException {
        Path file = folder.resolve("model.croft");
        Checkpoint.save(file, state);
        return file;
    }

    private static MatchReport load(Path file, Object state) throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            return c.loadInto(state);
        }
    }

    private static void assertRefused(Path file, Map<String, Object> state, Class<? extends Exception> type,
            String... message) throws IOException {
        Tensor first = (Tensor) state.values().iterator().next();
        double before = first.getDouble();
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThatExceptionOfType(type).isThrownBy(() -> c.loadInto(state)).withMessageContainingAll(message);
        }
        assertThat(first.getDouble()).isEqualTo(before);
    }

    @Test
    void tensorsOfAnyNestingTakeTheElementsInPlace() throws IOException {
        Path file = saved(map("model", map("w", Tensor.of(1f, 2f), "p", new Typed("torch.nn.Parameter", Tensor.of(3L))),
                "list", List.of(Tensor.scalar(4.0)), "step", 5L));
        Tensor w = Tensor.zeros(DType.FLOAT32, 2);
        Tensor p = Tensor.zeros(DType.INT64, 1);
        Tensor scalar = Tensor.scalar(0.0);
        MatchReport report = load(file, map("model", map("w", w, "p", new Typed("torch.nn.Parameter", p)), "list",
                List.of(scalar)));
        assertThat(report.isExact()).isTrue();
        assertThat(w.toFloatArray()).containsExactly(1, 2);
        assertThat(p.toLongArray()).containsExactly(3);
        assertThat(scalar.getDouble()).isEqualTo(4);
    }

    @Test
    void elementsAreConvertedAsCopyDoes() throws IOException {
        Path file = save("a", Tensor.of(1.5, -2.5, 300), "t", Tensor.of(1, 2, 3, 4).view(2, 2));
        Tensor a = Tensor.zeros(DType.INT8, 3);
        Tensor t = Tensor.zeros(DType.FLOAT32, 2, 2).t();
        load(file, map("a", a, "t", t));
        assertThat(a.toLongArray()).containsExactly(1, -2, 44);
        assertThat(t.getFloat(0, 1)).isEqualTo(2);
        assertThat(t.storage().nbytes()).isEqualTo(16);
    }

    @Test
    void whatDoesNotFitIsReportedBeforeAnythingChanges() throws IOException {
        Path file = save("a", Tensor.scalar(1.0), "b", Tensor.of(1, 2), "c", Tensor.of(1));
        assertRefused(file, map("a", Tensor.scalar(9.0), "b", Tensor.of(1, 2, 3), "d", Tensor.of(1)),
                StateMismatchException.class, "1 missing: 'd'", "1 unexpected: 'c'",
                "'b' is int32 [2] and not int32 [3]", "Nothing was changed");
        assertRefused(file, map("a", Tensor.scalar(9.0), "d", Tensor.of(1)), StateMismatchException.class,
                "1 missing: 'd'", "2 unexpected: 'b', 'c'", "or with Checkpoint.loadMatching");
    }

    @Test
    void aPartialLoadLeavesOthersAsTheyAre() throws IOException {
        Path file = save("a", Tensor.of(1, 2), "c", Tensor.of(1));
        Tensor a = Tensor.of(0, 0);
        Tensor d = Tensor.of(7);
        try (Checkpoint c = Checkpoint.open(file)) {
            MatchReport report = c.loadMatching(map("a", a, "d", d));
            assertThat(report.missing()).containsExactly("d");
            assertThat(report.unexpected()).containsExactly("c");
            assertThat(c.tensor("c").storage().isMaterialized()).isFalse();
            assertThatExceptionOfType(StateMismatchException.class).isThrownBy(
                    () -> c.loadMatching(map("a", Tensor.of(1, 2, 3))));
        }
        assertThat(a.toIntArray()).containsExactly(1, 2);
        assertThat(d.toIntArray()).containsExactly(7);
    }

    @Test
    void tensorsThatShareAreLoadedTogether() throws IOException {
        Tensor flat = Tensor.arange(DType.FLOAT32, 12);
        Path file = save("flat", flat, "matrix", flat.view(3, 4), "t", flat.view(3, 4).t(), "part",
                flat.narrow(0, 2, 5), "column", flat.view(3, 4).select(1, 2));
        Tensor live = Tensor.zeros(DType.FLOAT32, 12);
        load(file, map("flat", live, "matrix", live.view(3, 4), "t", live.view(3, 4).t(), "part",
                live.narrow(0, 2, 5), "column", live.view(3, 4).select(1, 2)));
        assertThat(live.contentEquals(flat)).isTrue();
    }

    @Test
    void equalBytesOfTwoStoragesGoIntoOne() throws IOException {
        Path file = save("a", Tensor.of(1, 2), "b", Tensor.of(1, 2), "c", Tensor.of(2L));
        Tensor live = Tensor.of(0, 0);
        load(file, map("a", live, "b", live.view(2), "c", live.narrow(0, 1, 1)));
        assertThat(live.toIntArray()).containsExactly(1, 2);
    }

    @Test
    void differentBytesDoNotGoIntoOne() throws IOException {
        Path file = save("first", Tensor.scalar(1), "a", Tensor.of(1, 2), "b", Tensor.of(1, 3));
        Tensor live = Tensor.of(0, 0);
        assertRefused(file, map("first", Tensor.scalar(5), "a", live, "b", live), StateMismatchException.class,
                "1 in conflict with tensors that share their bytes: 'a'", "Nothing was changed");
        Storage whole = Storage.allocate(16);
        Tensor one = Tensor.of(whole.slice(4, 8), DType.INT32, 0, Shape.of(2), 1);
        Tensor two = Tensor.of(whole, DType.INT32, 2, Shape.of(2), 1);
        assertRefused(file, map("first", Tensor.scalar(5), "a", one, "b", two), StateMismatchException.class,
                "in conflict");
    }

    @Test
    void bytesBetweenTheTensorsStayAsTheyAre() throws IOException {
        Tensor saved = Tensor.arange(DType.INT32, 12).view(3, 4);
        Path file = save("left", saved.narrow(1, 0, 2), "right", saved.narrow(1, 3, 1));
        Tensor live = Tensor.full(DType.INT32, -1L, 3, 4);
        load(file, map("left", live.narrow(1, 0, 2), "right", live.narrow(1, 3, 1)));
        assertThat(live.toIntArray()).containsExactly(0, 1, -1, 3, 4, 5, -1, 7, 8, 9, -1, 11);
    }

    @Test
    void aCheckpointIsNotLoadedOverItself() throws IOException {
        Path file = save("a", Tensor.of(1, 2), "b", Tensor.of(3, 4));
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.loadInto(c.state()).isExact()).isTrue();
            assertThatExceptionOfType(IllegalArgumentException.class)
                    .isThrownBy(() -> c.loadInto(map("a", c.tensor("b"), "b", c.tensor("a"))))
                    .withMessageContainingAll("nothing was loaded", "'a'", "copy it first");
            assertThat(c.tensor("a").toIntArray()).containsExactly(1, 2);
            assertThat(c.tensor("b").toIntArray()).containsExactly(3, 4);
        }
    }

    @Test
    void targetsThatCannotTakeElementsAreRefused() throws IOException {
        Path file = save("first", Tensor.scalar(1), "a", Tensor.of(1, 2));
        Tensor first = Tensor.scalar(5);
        Tensor readOnly = Tensor.of(Storage.wrap(MemorySegment.ofArray(new byte[8]).asReadOnly()), DType.INT32, 0,
                Shape.of(2), 1);
        assertRefused(file, map("first", first, "a", readOnly), UnsupportedOperationException.class, "'a'",
                "read-only", "nothing was loaded");
        assertRefused(file, map("first", first, "a", Tensor.meta(DType.INT32, 2)),
                UnsupportedOperationException.class, "'a'", "meta");
        assertRefused(file, map("first", first, "a", Tensor.scalar(1).expand(2)), IllegalArgumentException.class,
                "'a'", "stride 0");
        Tensor freed = Tensor.of(3, 4);
        freed.storage().release();
        assertRefused(file, map("first", first, "a", freed), IllegalStateException.class, "'a'", "freed",
                "nothing was loaded");
        assertRefused(file, map("first", first, "a", closed()), IllegalStateException.class, "'a'", "closed");
        Tensor small = Tensor.of(3, 4);
        small.storage().resize(4);
        assertRefused(file, map("first", first, "a", small), IllegalStateException.class, "'a'", "too small");
        assertRefused(file, map("first", first, "a", Tensor.zeros(DType.BITS16, 2)), StateMismatchException.class,
                "'a' is int32 [2] and not bits16 [2]");
    }

    private static Tensor closed() {
        try (Arena arena = Arena.ofShared()) {
            return Tensor.of(Storage.wrap(arena.allocate(8)), DType.INT32, 0, Shape.of(2), 1);
        }
    }

    @Test
    void tensorsOnADeviceAreLoadedAlsoIfTheyArePartsOfStorages() throws IOException {
        PretendDevice.Memory memory = PretendDevice.fresh();
        Path file = save("first", Tensor.scalar(1), "a", Tensor.of(1, 2, 3));
        Storage device = Storage.allocate(12, memory);
        Tensor whole = Tensor.of(device, DType.INT32, 0, Shape.of(3), 1);
        load(file, map("first", Tensor.scalar(1), "a", whole));
        assertThat(device.cpu().get(8)).isEqualTo((byte) 3);
        Tensor part = Tensor.of(Storage.allocate(16, memory), DType.INT32, 1, Shape.of(3), 1);
        load(file, map("first", Tensor.scalar(5), "a", part));
        assertThat(part.cpu().toIntArray()).containsExactly(1, 2, 3);
        assertThat(part.storage().cpu().get(0)).isZero();
    }

    @Test
    void overlappingElementsAreTakenIfTheyAgree() throws IOException {
        Tensor windows = Tensor.of(1, 2, 3, 4).unfold(0, 2, 1);
        Tensor apart = Tensor.arange(DType.INT32, 6).view(3, 2);
        Path file = save("a", windows, "b", windows.copy(), "c", apart);
        Tensor live = Tensor.zeros(DType.INT32, 4);
        Tensor other = Tensor.zeros(DType.INT32, 4);
        load(file, map("a", live.unfold(0, 2, 1), "b", other.unfold(0, 2, 1), "c", Tensor.zeros(DType.INT32, 3, 2)));
        assertThat(live.toIntArray()).containsExactly(1, 2, 3, 4);
        assertThat(other.toIntArray()).containsExactly(1, 2, 3, 4);
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThatExceptionOfType(StateMismatchException.class)
                    .isThrownBy(() -> c.loadMatching(map("c", live.unfold(0, 2, 1))))
                    .withMessageContaining("'c'");
        }
        assertThat(live.toIntArray()).containsExactly(1, 2, 3, 4);
    }

    @Test
    void aTensorSavedFromMetaHasNothingToLoad() throws IOException {
        Path file = save("first", Tensor.scalar(1), "a", Tensor.meta(DType.INT32, 2));
        assertRefused(file, map("first", Tensor.scalar(5), "a", Tensor.of(1, 2)), IllegalStateException.class,
                "'a'", "meta device", "nothing was loaded");
    }

    @Test
    void damageIsFoundBeforeAnythingChangesIfThePolicySaysSo() throws IOException {
        CroftImage image = CroftImage.first();
        image.write(noise(100, 1));
        long place = image.tensor("first", 100).write(noise(100, 2));
        byte[] bytes = image.tensor("second", 100).commit();
        bytes[(int) place] ^= 1;
        Path file = Files.write(folder.resolve("damaged.croft"), bytes);
        Tensor first = Tensor.zeros(DType.INT8, 100);
        OpenOptions options = OpenOptions.defaults().checksums(ChecksumPolicy.ON_TOUCH);
        try (Checkpoint c = Checkpoint.open(file, options)) {
            assertThatExceptionOfType(FormatException.class)
                    .isThrownBy(() -> c.loadInto(map("first", first, "second", Tensor.zeros(DType.INT8, 100))))
                    .withMessageContaining("V14-CHECKSUM");
        }
        assertThat(first.toByteArray()).containsOnly(0);
    }

    @Test
    void aFileThatIsCutInTheMidstIsToldWithWhatWasLoaded() throws IOException {
        int numel = 1 << 20;
        Path file = save("a", Tensor.arange(DType.INT32, numel), "b",
                Tensor.arange(DType.INT32, numel, 2 * numel, 1), "c",
                Tensor.arange(DType.INT32, 2 * numel, 3 * numel, 1));
        Tensor a = Tensor.zeros(DType.INT32, numel);
        Tensor c = Tensor.of(Storage.deferred(4L * numel, () -> cutInTheMiddle(file)), DType.INT32, 0, Shape.of(numel),
                1);
        // Else it is noticed before anything is copied.
        OpenOptions unchecked = OpenOptions.defaults().checksums(ChecksumPolicy.NONE);
        try (Checkpoint checkpoint = Checkpoint.open(file, unchecked)) {
            checkpoint.storages().forEach(Storage::segment);
            assertThatExceptionOfType(PartlyLoadedException.class)
                    .isThrownBy(() -> checkpoint.loadInto(map("a", a, "b", Tensor.zeros(DType.INT32, numel), "c", c)))
                    .withMessageContainingAll(file.toString(), "1 tensors are loaded", "'b'")
                    .withCauseInstanceOf(TruncatedMappingException.class)
                    .satisfies(e -> assertThat(e.loaded()).containsExactly("a"));
        }
        assertThat(a.getLong(numel - 1)).isEqualTo(numel - 1);
    }

    /// Cuts the file when the last tensor is looked at, and before any is copied.
    private static Allocation cutInTheMiddle(Path file) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(channel.size() / 2);
            return Allocator.offHeap().allocate(4 << 20);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void aFileThatWasCutBeforeChangesNothing() throws IOException {
        int numel = 1 << 20;
        Path file = save("first", Tensor.scalar(1), "a", Tensor.arange(DType.INT32, numel));
        Tensor first = Tensor.scalar(5);
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            checkpoint.storages().forEach(Storage::segment);
            cutInTheMiddle(file).free();
            assertThatExceptionOfType(TruncatedMappingException.class)
                    .isThrownBy(() -> checkpoint.loadInto(map("first", first, "a", Tensor.zeros(DType.INT32, numel))));
        }
        assertThat(first.getDouble()).isEqualTo(5);
    }

    @Test
    void aClosedCheckpointLoadsNothing() throws IOException {
        Path file = save("a", Tensor.of(1, 2));
        Checkpoint c = Checkpoint.open(file);
        c.close();
        assertThatIllegalStateException().isThrownBy(() -> c.loadInto(map("a", Tensor.of(0, 0))));
        assertThatIllegalStateException().isThrownBy(() -> c.rows("a", 0, 1));
    }
}
