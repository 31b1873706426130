package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.BaseRecord;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.mmap.MapMode;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Commands;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/// Files with bytes in others: `model.croft` has tensor `own` in itself, `based` in `lib/base.croft`, `adopted` in
/// `lib/weights.bin`, and `mixed` in all three with zeros between.
class BasesTest {
    private static final int CHUNK = CroftImage.CHUNK;
    private static final byte[] OWN = noise(CHUNK, 1);
    private static final byte[] BASED = noise(CHUNK, 2);
    private static final byte[] ADOPTED = noise(5000, 3);

    @TempDir
    private Path folder;
    private Path lib;
    private Path file;
    private Path base;
    private Path weights;
    private UUID uuid;
    private CroftImage image;

    @BeforeEach
    void write() throws IOException {
        lib = Files.createDirectory(folder.resolve("lib"));
        CroftImage first = CroftImage.first();
        long place = first.write(BASED);
        byte[] bytes = first.tensor("based", CHUNK).commit();
        uuid = CroftImage.snapshot(bytes).header().uuid();
        base = Files.write(lib.resolve("base.croft"), bytes);
        byte[] foreign = new byte[7 + ADOPTED.length];
        System.arraycopy(ADOPTED, 0, foreign, 7, ADOPTED.length);
        weights = Files.write(lib.resolve("weights.bin"), foreign);
        image = model(CroftImage.snapshot(bytes), place, foreign);
        file = Files.write(folder.resolve("model.croft"), image.commit());
    }

    private static CroftImage model(Snapshot base, long place, byte[] foreign) {
        CroftImage image = CroftImage.first();
        int croft = image.base(BaseRecord.croft("lib/base.croft", 0, base.commit()));
        int weights = image.base(BaseRecord.foreign("lib/weights.bin", Digest128.of(MemorySegment.ofArray(foreign)),
                foreign.length));
        image.write(OWN);
        image.tensor("own", CHUNK);
        image.borrow(croft, place, BASED).tensor("based", CHUNK);
        image.borrow(weights, 7, ADOPTED).tensor("adopted", ADOPTED.length);
        image.borrow(croft, place, BASED).zeros(CHUNK).write(Arrays.copyOf(OWN, OWN.length));
        return image.borrow(weights, 7, ADOPTED).tensor("mixed", 3L * CHUNK + ADOPTED.length);
    }

    private OpenOptions rooted() {
        return OpenOptions.defaults().root(folder);
    }

    @Test
    void bytesInOtherFilesAreThereAsIfTheyWereInThisOne() throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file, rooted())) {
            assertThat(bytes(checkpoint, "based")).isEqualTo(BASED);
            assertThat(bytes(checkpoint, "adopted")).isEqualTo(ADOPTED);
            byte[] mixed = bytes(checkpoint, "mixed");
            assertThat(Arrays.copyOf(mixed, CHUNK)).isEqualTo(BASED);
            assertThat(Arrays.copyOfRange(mixed, CHUNK, 2 * CHUNK)).containsOnly(0);
            assertThat(Arrays.copyOfRange(mixed, 2 * CHUNK, 3 * CHUNK)).isEqualTo(OWN);
            assertThat(Arrays.copyOfRange(mixed, 3 * CHUNK, mixed.length)).isEqualTo(ADOPTED);
            assertThat(checkpoint.verify()).isEqualTo(Verification.ofAll(List.of()));
        }
    }

    @Test
    void writingToBorrowedBytesShowsNowhereElse() throws IOException {
        byte[] croft = Files.readAllBytes(base);
        byte[] foreign = Files.readAllBytes(weights);
        try (Checkpoint checkpoint = Checkpoint.open(file, rooted())) {
            checkpoint.tensor("based").storage().set(0, (byte) (BASED[0] + 1));
            checkpoint.tensor("adopted").storage().set(0, (byte) (ADOPTED[0] + 1));
            assertThat(checkpoint.tensor("mixed").storage().get(0)).isEqualTo(BASED[0]);
        }
        assertThat(Files.readAllBytes(base)).isEqualTo(croft);
        assertThat(Files.readAllBytes(weights)).isEqualTo(foreign);
    }

    @Test
    void noOtherFileIsOpenedBeforeOneOfItsBytesIsAskedFor() throws IOException {
        Files.delete(base);
        Files.delete(weights);
        try (Checkpoint checkpoint = Checkpoint.open(file, rooted())) {
            assertThat(bytes(checkpoint, "own")).isEqualTo(OWN);
            assertThat(checkpoint.names()).containsExactly("own", "based", "adopted", "mixed");
            assertThat(checkpoint.tensor("mixed").numel()).isEqualTo(3L * CHUNK + ADOPTED.length);
        }
    }

    @Test
    void aCroftBaseIsLookedForBesideTheFileAndAnAdoptedOneNowhereUnlessItIsSaidWhere() throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            assertThat(bytes(checkpoint, "based")).isEqualTo(BASED);
            assertRefused(() -> bytes(checkpoint, "adopted"), "'lib/weights.bin'", "OpenOptions.root");
            Verification verified = checkpoint.verify();
            assertThat(verified.damages()).isEmpty();
            assertThat(verified.unverifiedExtents()).isOne();
            assertThat(verified.unverifiedBytes()).isEqualTo(ADOPTED.length);
            assertThat(verified.isComplete()).isFalse();
            assertThat(verified.missingBases()).singleElement().satisfies(missing -> {
                assertThat(missing.path()).isEqualTo("lib/weights.bin");
                assertThat(missing.problem()).hasValueSatisfying(
                        why -> assertThat(why).contains("a base of another format is opened only"));
            });
        }
    }

    @Test
    void theOtherFilesThatAFileNeedsAreListedWhetherTheyAreThereOrNot() throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file, rooted())) {
            assertThat(checkpoint.bases()).containsExactly(
                    new BaseFile(BaseFile.Kind.CROFT, "lib/base.croft", Optional.of(uuid), OptionalLong.empty(),
                            Optional.of(base.toRealPath()), Optional.empty()),
                    new BaseFile(BaseFile.Kind.ADOPTED, "lib/weights.bin", Optional.empty(), OptionalLong.of(5007),
                            Optional.of(weights.toRealPath()), Optional.empty()));
            assertThat(checkpoint.verify().isComplete()).isTrue();
        }
        Path root = folder.toRealPath();
        Files.delete(base);
        Files.delete(weights);
        try (Checkpoint checkpoint = Checkpoint.open(file, rooted())) {
            assertThat(checkpoint.bases()).extracting(BaseFile::isFound, BaseFile::problem).containsExactly(
                    tuple(false,
                            Optional.of("it is not there, as there is no '" + root.resolve("lib/base.croft") + "'")),
                    tuple(false,
                            Optional.of("it is not there, as there is no '" + root.resolve("lib/weights.bin") + "'")));
            assertThat(checkpoint.verify().missingBases()).isEqualTo(checkpoint.bases());
        }
        try (Checkpoint checkpoint = Checkpoint.open(Files.write(file, CroftImage.first().commit()))) {
            assertThat(checkpoint.bases()).isEmpty();
        }
    }

    @Test
    void filesThatWereRenamedAreFoundIfTheyAreNamed() throws IOException {
        Path elsewhere = Files.createTempDirectory(folder, "else");
        Path croft = Files.move(base, elsewhere.resolve("a"));
        Path adopted = Files.move(weights, elsewhere.resolve("b"));
        Path sameSize = Files.write(elsewhere.resolve("c"), new byte[5007]);
        OpenOptions named = OpenOptions.defaults().base(elsewhere.resolve("missing")).base(elsewhere).base(sameSize)
                .base(croft).base(adopted);
        assertThat(named.bases()).hasSize(5);
        try (Checkpoint checkpoint = Checkpoint.open(file, named)) {
            assertThat(bytes(checkpoint, "based")).isEqualTo(BASED);
            assertThat(bytes(checkpoint, "adopted")).isEqualTo(ADOPTED);
            assertThat(checkpoint.bases()).extracting(BaseFile::file).containsExactly(Optional.of(croft),
                    Optional.of(adopted));
            assertThat(checkpoint.verify()).isEqualTo(Verification.ofAll(List.of()));
        }
        try (Checkpoint checkpoint = Checkpoint.open(file, OpenOptions.defaults().base(sameSize))) {
            assertRefused(() -> bytes(checkpoint, "adopted"), "'lib/weights.bin'", "OpenOptions.base");
            assertRefused(() -> bytes(checkpoint, "based"), "'lib/base.croft'", "OpenOptions.base");
        }
    }

    /// The same name in another directory need not be read to be known; the checksums of what is used tell.
    @Test
    void anAdoptedFileThatWasMovedIsFoundByItsNameAndSize() throws IOException {
        Path moved = Files.move(weights, folder.resolve("weights.bin"));
        try (Checkpoint checkpoint = Checkpoint.open(file, OpenOptions.defaults().base(moved))) {
            assertThat(bytes(checkpoint, "adopted")).isEqualTo(ADOPTED);
        }
        Files.write(moved, new byte[5007]);
        try (Checkpoint checkpoint = Checkpoint.open(file, OpenOptions.defaults().base(moved))) {
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> checkpoint.tensor("adopted"))
                    .extracting(FormatException::code).isEqualTo("V14-CHECKSUM");
        }
    }

    /// They hold bytes of the storages, and a flip in them is as bad.
    @Test
    void aPointerOfGitLfsInPlaceOfABaseIsRefusedAsOne() throws IOException {
        Files.writeString(base, "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n");
        try (Checkpoint checkpoint = Checkpoint.open(file, rooted())) {
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> bytes(checkpoint, "based"))
                    .withMessageContainingAll("base.croft", "a pointer of Git LFS", "git lfs pull");
        }
    }

    @Test
    void damageInABaseIsFoundByWhatReadsItAsAWhole() throws IOException {
        byte[] bytes = Files.readAllBytes(base);
        bytes[indexOf(bytes, Arrays.copyOf(BASED, 32)) + 9] ^= 1;
        Files.write(base, bytes);
        Path copy = folder.resolve("copy.croft");
        try (Checkpoint checkpoint = Checkpoint.open(file, rooted())) {
            assertThatExceptionOfType(FormatException.class)
                    .isThrownBy(() -> Checkpoint.save(copy, checkpoint.tree()))
                    .withMessageContainingAll("in the file 'lib/base.croft'", "damages tensor")
                    .extracting(FormatException::code).isEqualTo("V14-CHECKSUM");
            assertThat(copy).doesNotExist();
            Checkpoint.save(copy, Map.of("own", checkpoint.tensor("own"), "adopted", checkpoint.tensor("adopted")));
        }
    }

    @Test
    void aBaseThatIsCutWhileItIsOpenIsDamage() throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file, rooted())) {
            assertThat(bytes(checkpoint, "adopted")).isEqualTo(ADOPTED);
            long size = Files.size(weights);
            try (FileChannel channel = FileChannel.open(weights, StandardOpenOption.WRITE)) {
                channel.truncate(100);
            }
            assertThat(checkpoint.verify().damages()).anySatisfy(damage -> {
                assertThat(damage.code()).isEqualTo("V18-BASE");
                assertThat(damage.what()).contains("lib/weights.bin", "has 100 bytes, not " + size);
            });
        }
    }

    private static int indexOf(byte[] all, byte[] part) {
        int at = 0;
        while (!Arrays.equals(all, at, at + part.length, part, 0, part.length)) {
            at++;
        }
        return at;
    }

    @Test
    void theCallerMaySayWhereABaseIs() throws IOException {
        Path elsewhere = Files.move(base, Files.createTempDirectory(folder, "else").resolve("moved.croft"));
        Files.writeString(base, "not this one");
        try (Checkpoint checkpoint = Checkpoint.open(file, rooted().base(uuid, elsewhere))) {
            assertThat(bytes(checkpoint, "based")).isEqualTo(BASED);
            assertThat(checkpoint.verify().damages()).isEmpty();
        }
        OpenOptions wrong = rooted().base(uuid, file);
        try (Checkpoint checkpoint = Checkpoint.open(file, wrong)) {
            assertRefused(() -> bytes(checkpoint, "based"), "is not the file " + uuid, "what was found is");
        }
    }

    @Test
    void aMissingBaseIsNamedAndWhatToDo() throws IOException {
        Files.delete(base);
        try (Checkpoint checkpoint = Checkpoint.open(file, rooted())) {
            assertRefused(() -> bytes(checkpoint, "based"), "'lib/base.croft'", "is not there", "OpenOptions.root",
                    "OpenOptions.base with the id " + uuid);
            assertThat(bytes(checkpoint, "adopted")).isEqualTo(ADOPTED);
            assertThat(checkpoint.verify().damages()).extracting(Damage::code)
                    .contains("V18-BASE");
        }
    }

    @Test
    void aBaseThatBecameShorterOrAnotherFileIsRefused() throws IOException {
        byte[] bytes = Files.readAllBytes(base);
        Files.write(base, Arrays.copyOf(bytes, bytes.length - 1));
        assertRefused("based", "has " + (bytes.length - 1) + " bytes");
        Files.write(base, Arrays.copyOf("text".getBytes(StandardCharsets.UTF_8), bytes.length));
        assertRefused("based", "is not the file " + uuid);
        CroftImage other = CroftImage.first();
        other.write(noise(CHUNK, 9));
        byte[] sameSize = other.tensor("based", CHUNK).commit();
        assertThat(sameSize).hasSameSizeAs(bytes);
        Files.write(base, sameSize);
        assertRefused("based", "is not the file " + uuid);
    }

    @Test
    void anAdoptedFileOfAnotherSizeIsRefused() throws IOException {
        Files.write(weights, new byte[ADOPTED.length]);
        assertRefused("adopted", "has 5000 bytes, not 5007");
    }

    @Test
    void anAdoptedFileWithOtherBytesOfTheSameSizeIsFoundOutUnlessNothingIsToBeChecked() throws IOException {
        Files.write(weights, new byte[7 + ADOPTED.length]);
        try (Checkpoint checkpoint = Checkpoint.open(file, rooted())) {
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> checkpoint.tensor("adopted"))
                    .withMessageContainingAll("damages tensor 'adopted'", "in the file 'lib/weights.bin'")
                    .extracting(FormatException::code).isEqualTo("V14-CHECKSUM");
        }
        try (Checkpoint checkpoint = Checkpoint.open(file, rooted().checksums(ChecksumPolicy.NONE))) {
            assertThat(bytes(checkpoint, "adopted")).containsOnly(0);
        }
    }

    @Test
    void pathsThatLeadUpAreRefusedByTheirForm() throws IOException {
        for (String path : List.of("../base.croft_", "/lib/base.crof", "lib/../ba.crof",
                "lib//base.crof", "lib/base.crof\u0000", "./lib/ba.croft")) {
            assertThat(path).hasSameSizeAs("lib/base.croft");
            Files.write(file, image.forge("lib/base.croft", path).commit());
            try (Checkpoint checkpoint = Checkpoint.open(file, rooted())) {
                assertThatExceptionOfType(FormatException.class).isThrownBy(() -> bytes(checkpoint, "based"))
                        .extracting(FormatException::code).isEqualTo("V6-NAME");
            }
        }
    }

    @Test
    void aBaseThatTheCallerNamesAndThatIsMissingIsNamed() throws IOException {
        Files.move(base, folder.resolve("moved.croft"));
        try (Checkpoint checkpoint = Checkpoint.open(file, rooted().base(folder.resolve("mooved.croft")))) {
            assertRefused(() -> bytes(checkpoint, "based"), "/mooved.croft'");
        }
        try (Checkpoint checkpoint = Checkpoint.open(file, rooted().base(uuid, folder.resolve("mooved.croft")))) {
            assertRefused(() -> bytes(checkpoint, "based"), "as there is no '" + folder.resolve("mooved.croft") + "'");
        }
        try (Checkpoint checkpoint = Checkpoint.open(file, rooted().base(folder.resolve("moved.croft")))) {
            assertThat(bytes(checkpoint, "based")).isNotEmpty();
        }
    }

    /// On another system they may lead elsewhere, and are refused there.
    @Test
    @DisabledOnOs(OS.WINDOWS)
    void namesThatPosixHasAreTakenAsTheyAre() throws IOException {
        for (String path : List.of("lib\\base.croft", "C:/base.croft_", "..\\..\\ba.croft", "lib/base\n.crof")) {
            assertThat(path).hasSameSizeAs("lib/base.croft");
            Files.write(file, image.forge("lib/base.croft", path).commit());
            try (Checkpoint checkpoint = Checkpoint.open(file, rooted())) {
                assertRefused(() -> bytes(checkpoint, "based"), "it is not there");
            }
            Path there = folder.resolve(path);
            Files.createDirectories(there.getParent());
            Files.copy(base, there);
            try (Checkpoint checkpoint = Checkpoint.open(file, rooted())) {
                assertThat(bytes(checkpoint, "based")).isEqualTo(BASED);
            }
        }
    }

    /// Files that the system makes up have no size, and some never end.
    @Test
    @EnabledOnOs(OS.LINUX)
    @Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void nothingOfTheSystemIsABase() throws IOException {
        for (String target : List.of("/proc/self/mem", "/proc/self/environ", "/proc/kmsg", "/dev/zero", "/dev/null")) {
            Files.delete(base);
            Files.createSymbolicLink(base, Path.of(target));
            assertRefused("based", "lead from it out of");
            OpenOptions everywhere = OpenOptions.defaults().base(uuid, Path.of(target));
            try (Checkpoint checkpoint = Checkpoint.open(file, everywhere)) {
                assertRefused(() -> bytes(checkpoint, "based"), "lib/base.croft");
            }
        }
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    void linksThatLeadOutOfTheRootAreNotFollowed() throws IOException {
        Path outside = Files.createTempDirectory(folder, "outside");
        Files.move(base, outside.resolve("base.croft"));
        Files.createSymbolicLink(base, outside.resolve("base.croft"));
        try (Checkpoint checkpoint = Checkpoint.open(file, OpenOptions.defaults())) {
            assertThat(bytes(checkpoint, "based")).as("inside the directory of the file, links are fine")
                    .isEqualTo(BASED);
        }
        Path inner = Files.createDirectory(folder.resolve("inner"));
        Files.move(lib, inner.resolve("lib"));
        OpenOptions options = OpenOptions.defaults().root(inner);
        try (Checkpoint checkpoint = Checkpoint.open(file, options)) {
            assertRefused(() -> bytes(checkpoint, "based"), "lead from it out of", inner.toRealPath().toString());
        }
        Files.move(inner.resolve("lib"), outside.resolve("lib"));
        Files.createSymbolicLink(inner.resolve("lib"), outside.resolve("lib"));
        try (Checkpoint checkpoint = Checkpoint.open(file, options)) {
            assertRefused(() -> bytes(checkpoint, "adopted"), "lead from it out of");
        }
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    void directoriesAndPipesAreNoBases() throws Exception {
        Files.delete(base);
        Files.createDirectory(base);
        assertRefused("based", "is not a regular file");
        Files.delete(base);
        Commands.makePipe(base);
        assertTimeoutPreemptively(Duration.ofMinutes(5), () -> assertRefused("based", "is not a regular file"));
    }

    @Test
    void aDirectoryThatIsNotThereIsNoRoot() throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file, OpenOptions.defaults().root(folder.resolve("nowhere")))) {
            assertRefused(() -> bytes(checkpoint, "based"), "is not there");
        }
    }

    @Test
    void whatCannotBeWrittenThroughIsNotMappedShared() throws IOException {
        CroftImage next = CroftImage.after(Files.readAllBytes(file));
        next.write(OWN);
        next.zeros(CHUNK).tensor("holes", 2L * CHUNK).write(OWN);
        Files.write(file, next.tensor("own", CHUNK).commit());
        OpenOptions shared = rooted().mapping(MapMode.SHARED);
        try (Checkpoint checkpoint = Checkpoint.open(file, shared)) {
            checkpoint.tensor("own").storage().set(0, (byte) 1);
            assertThatThrownBy(() -> bytes(checkpoint, "holes")).isInstanceOf(UnsupportedOperationException.class)
                    .hasMessageContaining("partly zeros");
        }
        try (Checkpoint checkpoint = Checkpoint.open(file, shared.snapshot(1))) {
            assertThatThrownBy(() -> bytes(checkpoint, "based")).isInstanceOf(UnsupportedOperationException.class)
                    .hasMessageContaining("in another file");
        }
    }

    @Test
    void aStorageThatSomebodyHoldsOutlivesTheCheckpoint() throws IOException {
        Storage based;
        Tensor adopted;
        try (Checkpoint checkpoint = Checkpoint.open(file, rooted())) {
            based = checkpoint.tensor("based").storage().retain();
            adopted = checkpoint.tensor("adopted");
        }
        assertThat(based.segment().toArray(ValueLayout.JAVA_BYTE)).isEqualTo(BASED);
        based.release();
        assertThatIllegalStateException().isThrownBy(() -> adopted.storage().get(0));
    }

    @Test
    void basesOfDifferentSnapshotsAreDifferentFiles() throws IOException {
        byte[] otherForeign = noise(100, 77);
        Files.write(lib.resolve("second.bin"), otherForeign);
        CroftImage next = CroftImage.after(Files.readAllBytes(file));
        int second = next.base(BaseRecord.foreign("lib/second.bin",
                Digest128.of(MemorySegment.ofArray(otherForeign)), otherForeign.length));
        Files.write(file, next.borrow(second, 0, otherForeign).tensor("second", otherForeign.length).commit());
        try (Checkpoint checkpoint = Checkpoint.open(file, rooted())) {
            assertThat(bytes(checkpoint, "second")).isEqualTo(otherForeign);
            assertThat(checkpoint.verify()).isEqualTo(Verification.ofAll(List.of()));
        }
    }

    private void assertRefused(String tensor, String... parts) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file, rooted())) {
            assertRefused(() -> bytes(checkpoint, tensor), parts);
            assertThat(bytes(checkpoint, "own")).isEqualTo(OWN);
        }
    }

    private static void assertRefused(ThrowingCallable access, String... parts) {
        assertThatExceptionOfType(FormatException.class).isThrownBy(access).withMessageContainingAll(parts)
                .extracting(FormatException::code).isEqualTo("V18-BASE");
    }

    private static byte[] bytes(Checkpoint checkpoint, String name) {
        return checkpoint.tensor(name).storage().segment().toArray(ValueLayout.JAVA_BYTE);
    }
}
