package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.tuple;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.SetManifest;
import io.undercroft.format.internal.Shard;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Commands;
import io.undercroft.testsupport.PeerJvm;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.AbstractStringAssert;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// A set of two files: `a.croft`, and `more/b.croft` with two snapshots, of which the newest is meant.
@Isolated("counts the descriptors of the process")
class ShardSetTest {
    @TempDir
    private Path folder;
    private Path manifest;
    private Path a;
    private Path b;

    @BeforeEach
    void save() throws IOException {
        manifest = folder.resolve("model.croftset");
        a = folder.resolve("a.croft");
        b = Files.createDirectory(folder.resolve("more")).resolve("b.croft");
        Checkpoint.save(a, state(1));
        Checkpoint.save(b, state(2));
        CroftFile.open(b).commit(state(3), SaveOptions.defaults());
        ShardSet.save(manifest, List.of(a, b));
    }

    private static Map<String, Tensor> state(long value) {
        return Map.of("rank", Tensor.of(value));
    }

    @Test
    void allShardsOpenInTheirOrderWithTheSameNames() throws IOException {
        try (ShardSet set = ShardSet.open(manifest)) {
            assertThat(ranks(set)).containsExactly(1L, 3L);
            assertThat(set.path()).isEqualTo(manifest);
            assertThat(set.uuid().version()).isEqualTo(8);
        }
    }

    @Test
    void whatIsAppendedLaterIsNotSeenBeforeTheSetIsSavedAgain() throws IOException {
        CroftFile.open(a).commit(state(4), SaveOptions.defaults());
        CroftFile.open(b).commit(state(5), SaveOptions.defaults());
        try (ShardSet set = ShardSet.open(manifest)) {
            assertThat(ranks(set)).containsExactly(1L, 3L);
            assertThat(set.shards().get(1).snapshot().orElseThrow().sequence()).isEqualTo(2);
            assertThat(set.shards().get(1).verify().isIntact()).isTrue();
            ShardSet.save(manifest, List.of(b, a));
            assertThat(ranks(set)).containsExactly(1L, 3L);
        }
        try (ShardSet set = ShardSet.open(manifest)) {
            assertThat(ranks(set)).containsExactly(5L, 4L);
        }
    }

    @Test
    void theSameShardsMakeTheSameManifest() throws IOException {
        byte[] before = Files.readAllBytes(manifest);
        ShardSet.save(manifest, List.of(a, b));
        assertThat(Files.readAllBytes(manifest)).isEqualTo(before);
    }

    @Test
    void aMissingShardIsNamed() throws IOException {
        Files.delete(b);
        assertRefused().contains("'more/b.croft'", "is not in").contains("Fetch the whole set");
    }

    @Test
    void anotherFileInTheShardsPlaceIsRefused() throws IOException {
        Checkpoint.save(a, state(9));
        assertRefused().contains("'a.croft'", "is the file");
    }

    @Test
    void aStaleShardIsRefused() throws IOException {
        byte[] old = Files.readAllBytes(b);
        CroftFile.open(b).commit(state(4), SaveOptions.defaults());
        ShardSet.save(manifest, List.of(a, b));
        Files.write(b, old);
        assertRefused().contains("'more/b.croft'", "has no snapshot 3");
        CroftFile.open(b).commit(state(7), SaveOptions.defaults());
        assertRefused().contains("'more/b.croft'", "has another snapshot 3");
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    void shardsOutsideTheDirectoryOfTheManifestAreNotOpened() throws IOException {
        Path inner = Files.createDirectory(folder.resolve("inner"));
        Path moved = Files.move(manifest, inner.resolve("model.croftset"));
        Files.createSymbolicLink(inner.resolve("a.croft"), a);
        manifest = moved;
        assertRefused().contains("'a.croft'", "is not below");
        Files.delete(inner.resolve("a.croft"));
        Files.createDirectory(inner.resolve("a.croft"));
        assertRefused().contains("'a.croft'", "is not a regular file");
        Files.delete(inner.resolve("a.croft"));
        Files.createSymbolicLink(inner.resolve("a.croft"), Path.of("/proc/self/mem"));
        assertRefused().contains("'a.croft'", "is not below");
        assertThatIllegalArgumentException().isThrownBy(() -> ShardSet.save(moved, List.of(a)))
                .withMessageContaining("not below the directory");
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    void aLinkThatLeadsToItselfIsNoShard() throws IOException {
        Files.delete(b);
        Files.createSymbolicLink(b, b.getFileName());
        assertRefused().contains("'more/b.croft'", "cannot be accessed");
    }

    @Test
    void aManifestThatNamesItselfOrAnotherOneIsRefused() throws IOException {
        CommitRecord commit = CroftImage.snapshot(Files.readAllBytes(a)).commit();
        Path other = folder.resolve("other.croftset");
        for (Map.Entry<Path, Path> names : Map.of(manifest, manifest, other, manifest).entrySet()) {
            Shard named = Shard.of(String.valueOf(names.getValue().getFileName()), commit);
            Files.write(names.getKey(), SetManifest.canonical(List.of(named), Optional.empty()).encode());
        }
        for (Path each : List.of(manifest, other)) {
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> ShardSet.open(each))
                    .extracting(FormatException::file).isEqualTo(manifest.toRealPath().toString());
        }
    }

    /// As many as there are, or as many as the process may have open.
    @Test
    @EnabledOnOs(OS.LINUX)
    @Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void ofThousandsOfShardsNothingStaysOpen() throws IOException {
        List<Path> shards = new ArrayList<>();
        for (int number = 0; number < 2000; number++) {
            shards.add(Files.createLink(folder.resolve(number + ".croft"), a));
        }
        ShardSet.save(manifest, shards);
        long before = Proc.descriptors();
        try (ShardSet set = ShardSet.open(manifest)) {
            assertThat(set.shards()).hasSize(shards.size());
        } catch (FileSystemException e) {
            assertThat(e).hasMessageContaining("ulimit -n");
        }
        assertThat(Proc.descriptors()).isLessThan(before + 10);
        Files.delete(shards.getLast());
        assertRefused().contains("'1999.croft'", "is not in");
        assertThat(Proc.descriptors()).isLessThan(before + 10);
    }

    @ParameterizedTest
    @ValueSource(strings = {"mapped", "inMemory"})
    @EnabledOnOs(OS.LINUX)
    @Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void aSetOfMoreShardsThanAProcessMayHaveOpenIsReadAsOneFile(String how) throws Exception {
        int count = 800;
        List<Path> shards = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            Path shard = folder.resolve(number + ".croft");
            Checkpoint.save(shard, Map.of("layer." + number, Tensor.of((long) number, 1L)));
            shards.add(shard);
        }
        ShardSet.save(manifest, shards);
        List<String> arguments = how.equals("mapped")
                ? List.of(manifest.toString())
                : List.of(manifest.toString(), how);

        List<String> lines = PeerJvm.startAfter("ulimit -n 500", ManyShardsPeer.class,
                arguments.toArray(String[]::new)).lines();

        assertThat(lines).containsExactly((count + 1) + " files, " + count + " tensors, sum "
                + count * (count - 1L) / 2);
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    @Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void aPipeIsNoShard() throws Exception {
        Files.delete(a);
        Commands.makePipe(a);

        assertRefused().contains("'a.croft'", "is not a regular file");
        assertThatExceptionOfType(FileSystemException.class)
                .isThrownBy(() -> ShardSet.save(folder.resolve("other.croftset"), List.of(a)));
        assertThatExceptionOfType(FileSystemException.class).isThrownBy(() -> ShardSet.open(a));
        assertThatExceptionOfType(FileSystemException.class)
                .isThrownBy(() -> ShardSet.save(a, List.of(b)));
    }

    /// On another system they may lead elsewhere, and are refused there.
    @Test
    @DisabledOnOs(OS.WINDOWS)
    void shardsHaveNamesAsPosixAllows() throws IOException {
        Path odd = Files.move(a, folder.resolve("a:1\\2\n.croft"));

        ShardSet.save(manifest, List.of(odd, b));

        try (ShardSet set = ShardSet.open(manifest)) {
            assertThat(set.shards().getFirst().path().getFileName()).isEqualTo(odd.getFileName());
        }
    }

    @Test
    void aManifestThatIsDamagedOrNoneIsRefused() throws IOException {
        byte[] bytes = Files.readAllBytes(manifest);
        for (int i = 0; i < bytes.length; i++) {
            byte[] flipped = bytes.clone();
            flipped[i] ^= 1;
            Files.write(manifest, flipped);
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> ShardSet.open(manifest))
                    .extracting(FormatException::file).isEqualTo(manifest.toString());
            Files.write(manifest, Arrays.copyOf(bytes, i));
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> ShardSet.open(manifest));
        }
        Files.delete(manifest);
        assertThatExceptionOfType(NoSuchFileException.class).isThrownBy(() -> ShardSet.open(manifest));
    }

    @Test
    void onlyFilesThatOpenAreSavedInASet() throws IOException {
        byte[] before = Files.readAllBytes(manifest);
        Files.writeString(folder.resolve("text.croft"), "text");
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> ShardSet.save(manifest, List.of(a, folder.resolve("text.croft"))))
                .withMessageContaining("text.croft");
        assertThatIllegalArgumentException().isThrownBy(() -> ShardSet.save(manifest, List.of(a, a)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ShardSet.open(manifest, OpenOptions.defaults().snapshot(1)));
        assertThat(Files.readAllBytes(manifest)).isEqualTo(before);
    }

    @Test
    void closingTheSetClosesItsShards() throws IOException {
        ShardSet set = ShardSet.open(manifest);
        Tensor tensor = set.shards().getFirst().tensor("rank");
        set.close();
        assertThatIllegalStateException().isThrownBy(() -> tensor.getLong(0));
    }

    @Test
    void verifyingASetNamesTheDamagedShardAndTheMissingBasesOfOthers() throws IOException {
        Path base = folder.resolve("base.croft");
        Map<String, Tensor> large = Map.of("rank", Tensor.full(DType.INT64, 7, 1 << 14));
        Checkpoint.save(base, large);
        Checkpoint.save(a, large, SaveOptions.defaults().base(base));
        ShardSet.save(manifest, List.of(a, b));
        Files.delete(base);
        long offset;
        try (Checkpoint shard = Checkpoint.open(b)) {
            offset = shard.extents(shard.tensor("rank").storage()).getFirst().offset();
        }
        try (FileChannel channel = FileChannel.open(b, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(new byte[]{9}), offset);
        }

        try (Checkpoint set = Checkpoint.open(manifest)) {
            Verification verified = set.verify();
            assertThat(verified.damages()).extracting(Damage::where, Damage::code).containsExactly(
                    tuple("the file in the shard a.croft", "V18-BASE"),
                    tuple("tensor 'rank' in the shard more/b.croft", "V14-CHECKSUM"));
            assertThat(verified.missingBases()).extracting(BaseFile::path).containsExactly("base.croft");
            assertThat(verified.isComplete()).isFalse();
        }
    }

    @Test
    void aShardThatIsCutWhileTheSetIsOpenIsDamaged() throws IOException {
        try (Checkpoint set = Checkpoint.open(manifest)) {
            try (FileChannel channel = FileChannel.open(b, StandardOpenOption.WRITE)) {
                channel.truncate(100);
            }
            assertThat(set.verify().damages()).singleElement().extracting(Damage::where)
                    .isEqualTo("the file in the shard more/b.croft");
        }
    }

    @Test
    void settingsOfNoFormatAreRefused() {
        OpenOptions misspelt = OpenOptions.defaults().setting("torch.stric", "true");
        assertThatIllegalArgumentException().isThrownBy(() -> ShardSet.open(manifest, misspelt))
                .withMessageContaining("torch.stric");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> CroftFile.open(a, SaveOptions.defaults(), misspelt).salvage())
                .withMessageContaining("torch.stric");
    }

    @Test
    void anInterruptedThreadWritesNoManifest() throws IOException {
        Path other = folder.resolve("other.croftset");
        for (Callable<?> write : List.<Callable<?>>of(() -> {
            ShardSet.save(other, List.of(a, b));
            return null;
        }, () -> {
            ShardSet.create(FolderStore.uri(other), List.of(FolderStore.uri(a), FolderStore.uri(b)));
            return null;
        })) {
            Thread.currentThread().interrupt();
            assertThatExceptionOfType(IOException.class).isThrownBy(write::call)
                    .withMessageContaining("other.croftset").withMessageContaining("interrupted");
            assertThat(Thread.interrupted()).isTrue();
            assertThat(other).doesNotExist();
        }
    }

    /// Views need an open shard; those of further ones would need more open files than a process may have.
    @Test
    @EnabledOnOs(OS.LINUX)
    void viewsOfManyShardsKeepSomeOpenAndTheOthersAreCopied() throws IOException {
        List<Path> shards = new ArrayList<>();
        for (int number = 0; number < 200; number++) {
            Path shard = folder.resolve(number + ".croft");
            Checkpoint.save(shard, Map.of("layer." + number, Tensor.of((long) number, 1L)));
            shards.add(shard);
        }
        ShardSet.save(manifest, shards);
        long before = Proc.descriptors();
        try (ShardSet set = ShardSet.open(manifest)) {
            List<Tensor> all = new ArrayList<>();
            for (int number = 0; number < shards.size(); number++) {
                all.add(set.tensor("layer." + number));
            }
            for (int number = 0; number < shards.size(); number++) {
                assertThat(all.get(number).getLong(0)).isEqualTo(number);
            }
            assertThat(all.stream().filter(tensor -> tensor.storage().filename().isPresent())).hasSize(128);
        }
        assertThat(Proc.descriptors()).isLessThan(before + 10);
    }

    private static List<Long> ranks(ShardSet set) {
        return set.shards().stream().map(shard -> shard.tensor("rank").getLong(0)).toList();
    }

    private AbstractStringAssert<?> assertRefused() {
        return assertThatExceptionOfType(FormatException.class).isThrownBy(() -> ShardSet.open(manifest))
                .satisfies(e -> assertThat(e.code()).isEqualTo("V21-SHARD")).extracting(Throwable::getMessage)
                .asString();
    }
}
