package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.serializer.state.Slice;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PretendDevice;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Loading the slices of a set into tensors that exist.
class SetLoadTest {
    private static final SaveOptions RUN = SaveOptions.defaults().run("run 7", 2);

    private final Tensor whole = Tensor.arange(DType.FLOAT32, 48).view(6, 8);

    @TempDir
    private Path folder;

    private static Map<String, Object> map(Object... namesAndValues) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            map.put((String) namesAndValues[i], namesAndValues[i + 1]);
        }
        return map;
    }

    private Path shard(int number) {
        return folder.resolve(number + ".croft");
    }

    /// Two shards, of which each has half of the columns of a matrix, one of a bias, and one of the tensors `0` and
    /// `1`.
    private Path saved() throws IOException {
        List<Path> shards = new ArrayList<>();
        for (int number = 0; number < 2; number++) {
            Slice half = Slice.of(whole.narrow(1, 4L * number, 4), whole.shape(), 0, 4L * number);
            shards.add(shard(number));
            Checkpoint.save(shard(number), map("model", map("weight", half, "tied", half), "bias",
                    Slice.whole(Tensor.of(1L, 2L, 3L)).replica(number, 2), Integer.toString(number),
                    Tensor.arange(DType.INT32, 100)), RUN);
        }
        Path manifest = folder.resolve("set.croftset");
        ShardSet.save(manifest, shards);
        return manifest;
    }

    private static Slice rows(Tensor local, long first) {
        return Slice.of(local, Shape.of(6, 8), first, 0);
    }

    @Test
    void aTrainerLoadsItsSlicesIntoTheMemoryThatItHas() throws IOException {
        try (ShardSet set = ShardSet.open(saved())) {
            Storage storage = Storage.allocate(1 << 16, AnonymousMemory.freezableAllocator());
            Tensor rows = Tensor.of(storage, DType.FLOAT32, 100, Shape.of(2, 8));
            Tensor column = Tensor.zeros(DType.FLOAT64, 3);
            Tensor bias = Tensor.zeros(DType.INT64, 3);
            MatchReport report = set.loadInto(map("model", map("weight", rows(rows, 3), "tied",
                    Slice.of(column.view(3, 1), Shape.of(6, 8), 1, 5)), "bias", bias));

            assertThat(rows.contentEquals(whole.narrow(0, 3, 2))).isTrue();
            assertThat(column.toDoubleArray()).containsExactly(13, 21, 29);
            assertThat(bias.toLongArray()).containsExactly(1, 2, 3);
            assertThat(report.unexpected()).containsExactly("0", "1");
            assertThat(report.isLoadable()).isTrue();
            assertThat(report.missing()).isEmpty();
        }
    }

    @Test
    void anyTensorReceivesItsElementsAndItsNeighboursStay() throws IOException {
        Path manifest = saved();
        for (ShardSet set : List.of(ShardSet.open(manifest), ShardSet.open(FolderStore.uri(manifest)))) {
            try (set) {
                Tensor all = Tensor.full(DType.FLOAT32, -1, 5, 9);
                Tensor place = all.narrow(0, 1, 3).narrow(1, 2, 6);
                set.loadInto(map("model", map("weight", Slice.of(place, whole.shape(), 2, 1))));
                assertThat(place.contentEquals(whole.narrow(0, 2, 3).narrow(1, 1, 6))).isTrue();
                place.fill(-1);
                assertThat(all.contentEquals(Tensor.full(DType.FLOAT32, -1, 5, 9))).isTrue();

                Tensor transposed = Tensor.zeros(DType.FLOAT32, 8, 6).t();
                set.loadInto(map("model", map("weight", transposed)));
                assertThat(transposed.contentEquals(whole)).isTrue();

                Tensor none = Tensor.zeros(DType.FLOAT32, 0, 8);
                assertThat(set.loadInto(map("model", map("weight", rows(none, 6)))).missing()).isEmpty();
            }
        }
    }

    @Test
    void oneTensorUnderTwoNamesIsLoadedOnceAndSharedBytesNeedEqualElements() throws IOException {
        try (ShardSet set = ShardSet.open(saved())) {
            Tensor tied = Tensor.zeros(DType.FLOAT32, 6, 8);
            set.loadInto(map("model", map("weight", tied, "tied", tied)));
            assertThat(tied.contentEquals(whole)).isTrue();

            // Rows 1 and 2 as a slice, and row 2 again under another name.
            Tensor both = Tensor.zeros(DType.FLOAT32, 2, 8);
            set.loadInto(map("model", map("weight", rows(both, 1), "tied", rows(both.narrow(0, 1, 1), 2))));
            assertThat(both.contentEquals(whole.narrow(0, 1, 2))).isTrue();

            // Columns that alternate in memory do not overlap.
            Tensor side = Tensor.zeros(DType.FLOAT32, 6, 4);
            set.loadInto(map("model", map("weight", Slice.of(side.narrow(1, 0, 2), whole.shape(), 0, 3), "tied",
                    Slice.of(side.narrow(1, 2, 2), whole.shape(), 0, 6))));
            assertThat(side.narrow(1, 0, 2).contentEquals(whole.narrow(1, 3, 2))).isTrue();
            assertThat(side.narrow(1, 2, 2).contentEquals(whole.narrow(1, 6, 2))).isTrue();

            Tensor before = both.copy();
            assertThatExceptionOfType(StateMismatchException.class)
                    .isThrownBy(() -> set.loadInto(map("model",
                            map("weight", rows(both, 1), "tied", rows(both.view(2, 8), 2)))))
                    .satisfies(e -> assertThat(e.report().conflicting()).isNotEmpty());
            assertThat(both.contentEquals(before)).isTrue();
        }
    }

    @Test
    void whatTheSetDoesNotHaveIsRefusedBeforeAnythingChanges() throws IOException {
        Tensor bias = Tensor.zeros(DType.INT64, 3);
        try (ShardSet set = ShardSet.open(saved())) {
            Map<String, Object> more = map("bias", bias, "head", Tensor.of(1f));
            assertThatExceptionOfType(StateMismatchException.class).isThrownBy(() -> set.loadInto(more))
                    .withMessageContainingAll("set.croftset", "1 missing: 'head'", "ShardSet.loadMatching",
                            "Nothing was changed");
            assertThat(bias.toLongArray()).containsOnly(0);
            assertThat(set.loadMatching(more).missing()).containsExactly("head");
            assertThat(bias.toLongArray()).containsExactly(1, 2, 3);
            bias.fill(0);

            for (Object other : List.of(Tensor.zeros(DType.FLOAT32, 6, 7), Tensor.zeros(DType.FLOAT32, 48),
                    Slice.of(Tensor.zeros(DType.FLOAT32, 2, 8), Shape.of(7, 8), 0, 0),
                    Tensor.zeros(DType.opaque("some.block", 144), 6, 8))) {
                assertThatExceptionOfType(StateMismatchException.class)
                        .isThrownBy(() -> set.loadMatching(map("bias", bias, "model", map("weight", other))))
                        .withMessageContainingAll("'model/weight' is float32 [6, 8] and not")
                        .satisfies(e -> assertThat(e.report().mismatched()).hasSize(1));
            }
            assertThat(bias.toLongArray()).containsOnly(0);
        }
        try (ShardSet some = ShardSet.open(folder.resolve("set.croftset"), OpenOptions.defaults().only("model/**"))) {
            assertThat(some.loadMatching(map("bias", bias)).missing()).containsExactly("bias");
        }
    }

    @Test
    void aTensorThatCannotReceiveElementsIsRefusedBeforeAnythingChanges() throws IOException {
        try (ShardSet set = ShardSet.open(saved())) {
            Tensor bias = Tensor.zeros(DType.INT64, 3);
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> set.loadInto(
                    map("bias", bias, "0", Tensor.meta(DType.INT32, 100)))).withMessageContaining("meta device");
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> set.loadInto(map("bias",
                    bias, "0",
                    Tensor.of(Storage.wrap(MemorySegment.ofArray(new byte[400]).asReadOnly()), DType.INT32, 0,
                            Shape.of(100)))))
                    .withMessageContaining("read-only");
            assertThatIllegalArgumentException().isThrownBy(() -> set.loadInto(
                    map("bias", bias, "0", Tensor.zeros(DType.INT32, 1).expand(100))))
                    .withMessageContaining("expanded");
            Tensor one = Tensor.zeros(DType.FLOAT32, 2, 8);
            assertThatIllegalArgumentException().isThrownBy(() -> set.loadInto(
                    map("bias", bias, "model", map("weight", rows(one, 0), "tied", rows(one, 1)))))
                    .withMessageContaining("one tensor is two slices");
            Tensor freed = Tensor.zeros(DType.INT32, 100);
            freed.storage().release();
            assertThatIllegalStateException().isThrownBy(() -> set.loadInto(map("bias", bias, "0", freed)));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> set.loadInto(map("bias", bias, "0", new Object())));
            assertThat(bias.toLongArray()).containsOnly(0);
        }
    }

    @Test
    void tensorsOfTheSetItselfStayButDoNotReceiveOthers() throws IOException {
        try (ShardSet set = ShardSet.open(saved())) {
            Tensor view = set.tensor("0");
            view.setLong(5, -7);
            set.loadInto(map("0", view));
            assertThat(view.getInt(5)).isEqualTo(-7);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> set.loadInto(map("0", Slice.of(view.narrow(0, 0, 50), Shape.of(100), 1))))
                    .withMessageContaining("copy it first");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> set.loadInto(map("0", Tensor.zeros(DType.INT32, 100), "1", view)))
                    .withMessageContaining("copy it first");
            set.loadInto(map("1", view));
            assertThat(view.getInt(5)).isEqualTo(5);
        }
    }

    @Test
    void tensorsOnDevicesReceiveTheirElements() throws IOException {
        PretendDevice.Memory device = PretendDevice.fresh();
        try (ShardSet set = ShardSet.open(saved())) {
            Tensor all = Tensor.zeros(DType.FLOAT32, 6, 8).to(device.device());
            Tensor rows = all.narrow(0, 1, 2);
            Tensor column = all.narrow(0, 3, 3).narrow(1, 7, 1);
            Tensor converted = Tensor.zeros(DType.FLOAT64, 3).to(device.device());
            set.loadInto(map("model", map("weight", rows(rows, 4), "tied",
                    Slice.of(column, whole.shape(), 0, 2)), "bias", converted));
            assertThat(rows.cpu().contentEquals(whole.narrow(0, 4, 2))).isTrue();
            assertThat(column.cpu().contentEquals(whole.narrow(0, 0, 3).narrow(1, 2, 1))).isTrue();
            assertThat(converted.cpu().toDoubleArray()).containsExactly(1, 2, 3);
            assertThat(all.narrow(0, 0, 1).cpu().contentEquals(Tensor.zeros(DType.FLOAT32, 1, 8))).isTrue();
            assertThat(all.narrow(0, 3, 3).narrow(1, 0, 7).cpu().contentEquals(Tensor.zeros(DType.FLOAT32, 3, 7)))
                    .isTrue();
            assertThat(rows.device()).isNotEqualTo(Device.CPU);
        }
    }

    @Test
    void aMissingShardChangesNothingAndADamagedOneIsToldWithWhatWasLoaded() throws IOException {
        Path manifest = saved();
        Tensor zero = Tensor.zeros(DType.INT32, 100);
        Tensor one = Tensor.zeros(DType.INT32, 100);
        OpenOptions options = OpenOptions.defaults().checksums(ChecksumPolicy.ON_TOUCH);
        long place;
        try (Checkpoint shard = Checkpoint.open(shard(1))) {
            place = shard.extents(shard.tensor("1").storage()).getFirst().offset();
        }
        byte[] bytes = Files.readAllBytes(shard(1));
        bytes[(int) place] ^= 1;
        Files.write(shard(1), bytes);
        try (ShardSet set = ShardSet.open(manifest, options)) {
            assertThatExceptionOfType(PartlyLoadedException.class)
                    .isThrownBy(() -> set.loadInto(map("0", zero, "1", one)))
                    .withMessageContaining("'1' perhaps in part")
                    .withCauseInstanceOf(FormatException.class)
                    .satisfies(e -> assertThat(e.loaded()).isSubsetOf("0"))
                    .satisfies(e -> assertThat(zero.getInt(99)).isEqualTo(e.loaded().isEmpty() ? 0 : 99));
        }
        zero.fill(0);
        try (ShardSet set = ShardSet.open(manifest, options)) {
            Files.delete(shard(1));
            assertThatExceptionOfType(FormatException.class)
                    .isThrownBy(() -> set.loadInto(map("0", zero, "1", one)))
                    .withMessageContaining("V21-SHARD");
            assertThat(zero.toIntArray()).containsOnly(0);
        }
    }

    @Test
    void ofAStoreOnlyTheRangesAreReadThatTheStateNeeds() throws IOException {
        Tensor large = Tensor.arange(DType.FLOAT32, 1 << 20).view(1024, 1024);
        List<URI> shards = new ArrayList<>();
        for (int number = 0; number < 2; number++) {
            shards.add(FolderStore.uri(folder.resolve("large" + number + ".croft")));
            Checkpoint.save(shards.get(number), map("weight",
                    Slice.of(large.narrow(0, 512L * number, 512), large.shape(), 512L * number, 0)), RUN);
        }
        URI manifest = FolderStore.uri(folder.resolve("large.croftset"));
        ShardSet.create(manifest, shards);
        try (ShardSet set = ShardSet.open(manifest)) {
            Tensor rows = Tensor.zeros(DType.FLOAT32, 20, 1024);
            long before = FolderStore.bytesRead(folder);
            set.loadInto(map("weight", Slice.of(rows, large.shape(), 500, 0)));
            assertThat(rows.contentEquals(large.narrow(0, 500, 20))).isTrue();
            assertThat(FolderStore.bytesRead(folder) - before).isLessThan(large.nbytes() / 4);
        }
    }
}
