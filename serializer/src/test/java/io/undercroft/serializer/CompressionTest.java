package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.NameLifetime;
import io.undercroft.serializer.SaveOptions.Compression;
import io.undercroft.serializer.SaveOptions.Sharing;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Files with compressed chunks.
class CompressionTest {
    private static final SaveOptions ALONE = SaveOptions.defaults().compress(Compression.ALONE).chunkSize(1 << 16);
    private static final SaveOptions AGAINST_BASE = SaveOptions.defaults().compress(Compression.AGAINST_BASE)
            .chunkSize(1 << 16);

    @TempDir
    private Path folder;

    private static Storage weights(long seed, int count, DType dtype) {
        Random random = new Random(seed);
        Storage storage = Storage.allocate(dtype.nbytes(count));
        for (int i = 0; i < count; i++) {
            float value = (float) random.nextGaussian() * 0.02f;
            if (dtype.equals(DType.FLOAT32)) {
                storage.segment().setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
            } else {
                storage.segment().setAtIndex(ValueLayout.JAVA_SHORT, i, (short) (Float.floatToIntBits(value) >>> 16));
            }
        }
        return storage;
    }

    /// Every element changes a little.
    private static Storage tuned(Storage of, long seed) {
        Random random = new Random(seed);
        Storage storage = of.copy();
        for (long i = 0; i < storage.nbytes() / 2; i++) {
            short value = storage.segment().getAtIndex(ValueLayout.JAVA_SHORT, i);
            storage.segment().setAtIndex(ValueLayout.JAVA_SHORT, i, (short) (value + random.nextInt(3) - 1));
        }
        return storage;
    }

    private static Map<String, Tensor> state(Storage weights, DType dtype) {
        long count = weights.nbytes() * 8 / dtype.bits();
        Map<String, Tensor> state = new LinkedHashMap<>();
        state.put("weight", Tensor.of(weights, dtype, 0, Shape.of(count / 100, 100)));
        state.put("bias", Tensor.of(Storage.copyOf((byte) 1, (byte) 2, (byte) 3, (byte) 4), DType.UINT8, 0,
                Shape.of(4)));
        return state;
    }

    private static void assertHas(Path file, Storage expected, OpenOptions options) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file, options)) {
            assertThat(checkpoint.tensor("weight").storage().contentEquals(expected)).isTrue();
            assertThat(checkpoint.tensor("bias").toByteArray()).containsExactly(1, 2, 3, 4);
            assertThat(checkpoint.verify().damages()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"float32", "bfloat16"})
    void whatIsCompressedAloneIsSmallerAndReadsBack(String name) throws IOException {
        DType dtype = DType.find(name).orElseThrow();
        Storage weights = weights(1, 500_000, dtype);
        Path file = folder.resolve("a.croft");

        SaveReport report = Checkpoint.save(file, state(weights, dtype), ALONE);

        assertThat(Files.size(file)).isLessThan(weights.nbytes() * 9 / 10);
        assertThat(report.dedup().orElseThrow().compressed()).isGreaterThan(weights.nbytes() / 10);
        assertHas(file, weights, OpenOptions.defaults());
        assertHas(file, weights, OpenOptions.defaults().inMemory());
        assertHas(file, weights, OpenOptions.defaults().checksums(ChecksumPolicy.NONE));
        assertHas(file, weights, OpenOptions.defaults().checksums(ChecksumPolicy.EAGER));
    }

    @Test
    void aFineTuneTakesAFractionOfItsBase() throws IOException {
        Storage weights = weights(2, 500_000, DType.BFLOAT16);
        Storage tuned = tuned(weights, 3);
        Path base = folder.resolve("base.croft");
        Path file = folder.resolve("tuned.croft");
        Checkpoint.save(base, state(weights, DType.BFLOAT16), SaveOptions.defaults().chunkSize(1 << 16));

        Checkpoint.save(file, state(tuned, DType.BFLOAT16), AGAINST_BASE.base(base));

        assertThat(Files.size(file)).isLessThan(weights.nbytes() * 35 / 100);
        assertHas(file, tuned, OpenOptions.defaults());
    }

    /// The fine-tune itself is intact.
    @ParameterizedTest
    @EnumSource(names = {"NONE", "AGAINST_BASE"})
    void damageOfABaseIsNotTakenForDamageOfTheFileThatNeedsIt(Compression compression) throws IOException {
        Storage weights = weights(2, 500_000, DType.BFLOAT16);
        Path base = folder.resolve("base.croft");
        Path file = folder.resolve("tuned.croft");
        Checkpoint.save(base, state(weights, DType.BFLOAT16), SaveOptions.defaults().chunkSize(1 << 16));
        Storage tuned = compression == Compression.NONE ? weights : tuned(weights, 3);
        Checkpoint.save(file, state(tuned, DType.BFLOAT16), AGAINST_BASE.compress(compression).base(base));
        try (FileChannel channel = FileChannel.open(base, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(new byte[]{1, 2, 3, 4, 5, 6, 7, 8}), 300_000);
        }

        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().checksums(ChecksumPolicy.ON_TOUCH))) {
            Damage damage = c.verify().damages().getFirst();
            assertThat(damage.what()).endsWith("does not match in the file 'base.croft'");
            assertThat(damage.where()).startsWith("tensor '");
            assertThat(damage.remedy().text()).startsWith("Verify the other file first");
            assertThatThrownBy(() -> c.tensors().values().stream().map(Tensor::copy).toList())
                    .isInstanceOf(FormatException.class).hasMessageContaining("the file 'base.croft'")
                    .hasMessageContaining("Verify the other file first");
        }
    }

    @Test
    void eachSnapshotIsCodedAgainstTheOneBeforeAndSharesWhatHasNotChanged() throws IOException {
        Storage weights = weights(4, 500_000, DType.BFLOAT16);
        Storage tuned = tuned(weights, 5);
        Path path = folder.resolve("steps.croft");
        CroftFile file = CroftFile.open(path);
        file.commit(state(weights, DType.BFLOAT16), SaveOptions.defaults().chunkSize(1 << 16));
        long first = Files.size(path);
        file.commit(state(tuned, DType.BFLOAT16), AGAINST_BASE);
        long second = Files.size(path);
        file.commit(state(tuned, DType.BFLOAT16), AGAINST_BASE);
        long third = Files.size(path);
        assertThat(second - first).isLessThan(weights.nbytes() * 35 / 100);
        assertThat(third - second).isLessThan(weights.nbytes() / 100);
        assertHas(path, tuned, OpenOptions.defaults());
        assertHas(path, weights, OpenOptions.defaults().snapshot(1));
    }

    @Test
    void rowsAreReadFromTheirChunksOnly() throws IOException {
        Storage weights = weights(6, 500_000, DType.FLOAT32);
        Path path = folder.resolve("rows.croft");
        Checkpoint.save(path, state(weights, DType.FLOAT32), ALONE);
        damage(path, Files.size(path) / 2);

        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            Tensor rows = checkpoint.rows("weight", 3, 5);
            assertThat(rows.toFloatArray())
                    .isEqualTo(state(weights, DType.FLOAT32).get("weight").narrow(0, 3, 2).toFloatArray());
            assertThat(checkpoint.storages()).noneMatch(Storage::isMaterialized);
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> checkpoint.rows("weight", 0, 5000))
                    .withMessageContaining("checksum of a chunk of storage 0 does not match");
        }
    }

    @ParameterizedTest
    @EnumSource(ChecksumPolicy.class)
    void damagedChunksAreNeverReturned(ChecksumPolicy policy) throws IOException {
        Storage weights = weights(7, 500_000, DType.BFLOAT16);
        Path path = folder.resolve("damaged.croft");
        Checkpoint.save(path, state(weights, DType.BFLOAT16), ALONE);
        damage(path, Files.size(path) / 2);

        try (Checkpoint checkpoint = Checkpoint.open(path, OpenOptions.defaults().checksums(policy))) {
            assertThatExceptionOfType(FormatException.class)
                    .isThrownBy(() -> checkpoint.tensor("weight").toFloatArray())
                    .withMessageContaining("[V14-CHECKSUM]");
            assertThat(checkpoint.tensor("bias").toByteArray()).containsExactly(1, 2, 3, 4);
            assertThat(checkpoint.verify().damages()).singleElement()
                    .satisfies(damage -> assertThat(damage.toString()).contains("weight"));
        }
    }

    private static void damage(Path path, long at) throws IOException {
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer one = ByteBuffer.allocate(1);
            file.read(one, at);
            file.write(one.put(0, (byte) ~one.get(0)).flip(), at);
        }
    }

    @Test
    void aDamagedOrMissingReferenceIsFoundAndTheOtherTensorsAreRead() throws IOException {
        Storage weights = weights(8, 500_000, DType.BFLOAT16);
        Path base = folder.resolve("base.croft");
        Path path = folder.resolve("tuned.croft");
        Checkpoint.save(base, state(weights, DType.BFLOAT16), SaveOptions.defaults().chunkSize(1 << 16));
        Checkpoint.save(path, state(tuned(weights, 9), DType.BFLOAT16), AGAINST_BASE.base(base));
        damage(base, Files.size(base) / 2);

        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThatExceptionOfType(FormatException.class)
                    .isThrownBy(() -> checkpoint.tensor("weight").toFloatArray())
                    .withMessageContaining("[V14-CHECKSUM]");
            assertThat(checkpoint.tensor("bias").toByteArray()).containsExactly(1, 2, 3, 4);
            assertThat(checkpoint.verify().damages()).isNotEmpty();
        }
        Files.delete(base);
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThatExceptionOfType(FormatException.class)
                    .isThrownBy(() -> checkpoint.tensor("weight").toFloatArray())
                    .withMessageContaining("[V18-BASE]");
            assertThat(checkpoint.verify().unverifiedExtents()).isPositive();
        }
    }

    @Test
    void aCopyWithItsBasesHasTheReferencesAndNeedsNoOtherFile() throws IOException {
        Storage weights = weights(10, 500_000, DType.BFLOAT16);
        Storage tuned = tuned(weights, 11);
        Path base = folder.resolve("base.croft");
        Path path = folder.resolve("tuned.croft");
        Path same = folder.resolve("same.croft");
        Path whole = folder.resolve("whole.croft");
        Checkpoint.save(base, state(weights, DType.BFLOAT16), SaveOptions.defaults().chunkSize(1 << 16));
        Checkpoint.save(path, state(tuned, DType.BFLOAT16), AGAINST_BASE.base(base));

        CroftFile.open(path).copy(same);
        CroftFile.open(path).copyWithBases(whole);

        assertHas(same, tuned, OpenOptions.defaults());
        Files.delete(base);
        assertHas(whole, tuned, OpenOptions.defaults());
    }

    @Test
    void compactingKeepsWhatTheRemainingSnapshotsAreCodedAgainst() throws IOException {
        Storage weights = weights(12, 500_000, DType.BFLOAT16);
        Storage tuned = tuned(weights, 13);
        Path path = folder.resolve("steps.croft");
        CroftFile file = CroftFile.open(path);
        file.commit(state(weights, DType.BFLOAT16), SaveOptions.defaults().chunkSize(1 << 16));
        file.commit(state(tuned, DType.BFLOAT16), AGAINST_BASE);

        file.compact(snapshot -> snapshot.commit() == 2);

        assertHas(path, tuned, OpenOptions.defaults());
        assertThat(file.snapshots()).hasSize(1);
    }

    @ParameterizedTest
    @EnumSource(Compression.class)
    void compactingCompressesTheOlderSnapshotsAgainstTheNewest(Compression compression) throws IOException {
        Storage weights = weights(19, 500_000, DType.BFLOAT16);
        Storage second = tuned(weights, 20);
        Storage third = tuned(second, 21);
        Path path = folder.resolve("steps.croft");
        SaveOptions plain = SaveOptions.defaults().chunkSize(1 << 16);
        CroftFile file = CroftFile.open(path, plain.compress(compression), OpenOptions.defaults());
        file.commit(state(weights, DType.BFLOAT16), plain);
        file.commit(state(second, DType.BFLOAT16), plain);
        file.commit(state(third, DType.BFLOAT16), plain);

        file.compact(snapshot -> true);

        double size = Files.size(path) / (double) weights.nbytes();
        switch (compression) {
            case NONE -> assertThat(size).isGreaterThan(3);
            case ALONE -> assertThat(size).isBetween(2.3, 2.5);
            case AGAINST_BASE -> assertThat(size).isBetween(1.25, 1.4);
        }
        assertHas(path, third, OpenOptions.defaults());
        assertHas(path, second, OpenOptions.defaults().snapshot(2));
        assertHas(path, weights, OpenOptions.defaults().snapshot(1));
        try (Checkpoint newest = Checkpoint.open(path)) {
            assertThat(newest.extents(newest.tensor("weight").storage())).noneMatch(Extent::isCompressed);
        }
        file.compact(snapshot -> snapshot.commit() != 3);
        assertHas(path, second, OpenOptions.defaults());
        assertHas(path, weights, OpenOptions.defaults().snapshot(1));
    }

    @Test
    void aModelIsCodedAgainstAFileOfAnotherCroftThatIsItselfCoded() throws IOException {
        Storage weights = weights(14, 500_000, DType.BFLOAT16);
        Storage first = tuned(weights, 15);
        Storage second = tuned(first, 16);
        Path base = folder.resolve("base.croft");
        Path one = folder.resolve("one.croft");
        Path two = folder.resolve("two.croft");
        Checkpoint.save(base, state(weights, DType.BFLOAT16), SaveOptions.defaults().chunkSize(1 << 16));
        Checkpoint.save(one, state(first, DType.BFLOAT16), AGAINST_BASE.base(base));

        Checkpoint.save(two, state(second, DType.BFLOAT16), AGAINST_BASE.base(base).base(one));

        assertHas(two, second, OpenOptions.defaults());
        assertThat(Files.size(two)).isLessThan(weights.nbytes() * 45 / 100);
        Path again = folder.resolve("again.croft");
        Checkpoint.save(again, state(first, DType.BFLOAT16), AGAINST_BASE.base(base).base(one));
        assertThat(Files.size(again)).as("the coded chunks of a base are shared").isLessThan(20_000);
        assertHas(again, first, OpenOptions.defaults());
    }

    @ParameterizedTest
    @EnumSource(Sharing.class)
    void equalStoragesAreStoredOnceIfTheyMayBe(Sharing sharing) throws IOException {
        Storage weights = weights(17, 500_000, DType.BFLOAT16);
        Map<String, Tensor> state = state(weights, DType.BFLOAT16);
        state.put("copy", Tensor.of(weights.copy(), DType.BFLOAT16, 0, Shape.of(500_000)));
        Path path = folder.resolve("twice.croft");

        Checkpoint.save(path, state, ALONE.sharing(sharing));

        long once = weights.nbytes() * 7 / 10;
        assertThat(Files.size(path)).isBetween(once * (sharing == Sharing.CONTENT ? 9 : 19) / 10,
                once * (sharing == Sharing.CONTENT ? 11 : 21) / 10);
        assertHas(path, weights, OpenOptions.defaults());
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.tensor("copy").storage().contentEquals(weights)).isTrue();
        }
    }

    @Test
    void bytesThatDoNotGetSmallerAreStoredAsTheyAre() throws IOException {
        byte[] noise = new byte[300_000];
        new Random(18).nextBytes(noise);
        Path plain = folder.resolve("plain.croft");
        Path path = folder.resolve("noise.croft");
        Map<String, Tensor> state = state(Storage.copyOf(noise), DType.UINT8);
        Checkpoint.save(plain, state, SaveOptions.defaults().chunkSize(1 << 16));

        SaveReport report = Checkpoint.save(path, state, ALONE);

        assertThat(report.dedup().orElseThrow().compressed()).isZero();
        assertThat(Files.readAllBytes(path)).isEqualTo(Files.readAllBytes(plain));
    }

    /// The gap after a compressed chunk, where the next one has to be aligned, takes at most what the chunk saves.
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void aCompressedFileIsAtMostAThousandthLargerThanThePlainOne(long seed) throws IOException {
        Random random = new Random(seed);
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < 6; i++) {
            Storage storage = Storage.allocate(8 + random.nextInt(1 << 19));
            byte[] part = new byte[1 << 12];
            // Whole chunks and parts of them are random, and the rest saves little or much.
            for (long at = 0; at < storage.nbytes(); at += part.length) {
                random.nextBytes(part);
                if (random.nextInt(3) > 0) {
                    for (int k = 0; k < part.length; k += 1 + random.nextInt(8)) {
                        part[k] = 0;
                    }
                }
                MemorySegment.copy(part, 0, storage.segment(), ValueLayout.JAVA_BYTE, at,
                        (int) Math.min(part.length, storage.nbytes() - at));
            }
            state.put("t" + i, Tensor.of(storage, DType.UINT8, 0, Shape.of(storage.nbytes())));
        }
        Path plain = folder.resolve("plain.croft");
        Path compressed = folder.resolve("compressed.croft");
        for (int log2 = 16; log2 <= 20; log2 += 2) {
            Checkpoint.save(plain, state, SaveOptions.defaults().chunkSize(1 << log2));

            DedupReport report = Checkpoint.save(compressed, state, ALONE.chunkSize(1 << log2)).dedup().orElseThrow();

            assertThat(report.compressed()).isPositive();
            assertThat(Files.size(compressed)).isLessThan(Files.size(plain) * 1001 / 1000);
        }
    }

    @Test
    void otherFormatsRefuseTheOption() {
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> Checkpoint.save(folder.resolve("a.raw"), Map.of(), ALONE.format("raw")))
                .withMessageContaining("SaveOptions.chunkSize, compress");
    }

    @Test
    void withoutSharingNothingIsADifference() throws IOException {
        Storage weights = weights(22, 500_000, DType.BFLOAT16);
        Storage tuned = tuned(weights, 23);
        Path path = folder.resolve("steps.croft");
        CroftFile file = CroftFile.open(path);
        file.commit(state(weights, DType.BFLOAT16), SaveOptions.defaults().chunkSize(1 << 16));

        file.commit(state(tuned, DType.BFLOAT16), AGAINST_BASE.sharing(Sharing.IDENTITY));

        assertHas(path, tuned, OpenOptions.defaults());
        assertThat(Files.size(path)).isBetween(weights.nbytes() * 16 / 10, weights.nbytes() * 18 / 10);
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aPublishedStateIsNotCompressed() throws IOException {
        Storage weights = weights(24, 500_000, DType.BFLOAT16);
        String name = "undercroft-compression-" + ProcessHandle.current().pid();
        try (PublishedCheckpoint published = PublishedCheckpoint.publish(name, state(weights, DType.BFLOAT16), ALONE,
                NameLifetime.WITH_CREATOR)) {
            assertThat(published.report().compressed()).isZero();
        }
    }
}
