package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.BaseRecord;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.Limits;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Commands;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Bases that name each other or themselves, in chains of thousands, and as many of them as a file may have. A file
/// says itself which bytes of which files it has, so that nothing is followed, and nothing is opened twice.
@Isolated("counts the descriptors of the process")
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HostileBasesTest {
    private static final int LENGTH = 4096;
    private static final int LONG_CHAIN = 2000;
    private static final int MOST_BASES = Limits.DEFAULT.maxBases();
    /// Threads of the JVM may open something meanwhile.
    private static final int NOISE = 5;

    @TempDir
    Path folder;

    private Path file(Object name) {
        return folder.resolve(name + ".croft");
    }

    private static byte[] bytes(int seed) {
        return noise(LENGTH, seed);
    }

    private static byte[] bytes(Checkpoint checkpoint, String name) {
        return checkpoint.tensor(name).storage().segment().toArray(ValueLayout.JAVA_BYTE);
    }

    /// How often this process has read something from a file.
    private static long reads() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/io")).stream().filter(line -> line.startsWith("syscr: "))
                .mapToLong(line -> Long.parseLong(line.substring(7))).sum();
    }

    private static Map<String, Object> state(int tensors) {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int number = 1; number <= tensors; number++) {
            state.put("w" + number, Tensor.of(bytes(number)));
        }
        return state;
    }

    private static void assertHolds(Path file, int tensors) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            assertThat(checkpoint.verify()).isEqualTo(Verification.ofAll(List.of()));
            for (int number = 1; number <= tensors; number++) {
                assertThat(bytes(checkpoint, "w" + number)).isEqualTo(bytes(number));
            }
        }
    }

    @Test
    void filesThatNameEachOtherAreReadVerifiedCopiedAndAppendedToUpToALimit() throws IOException {
        Path a = file("a");
        Path b = file("b");
        Checkpoint.save(a, state(1));
        Checkpoint.save(b, state(2), SaveOptions.defaults().base(a));
        List<Path> turns = new ArrayList<>(List.of(a, b));
        int tensors = 3;
        try {
            for (; tensors < 20; tensors++) {
                CroftFile.open(turns.getFirst()).commit(state(tensors),
                        SaveOptions.defaults().base(turns.getLast()));
                turns = turns.reversed();
            }
        } catch (IllegalArgumentException e) {
            assertThat(e).hasMessageContaining("copy it with its bases");
        }
        assertThat(tensors).isBetween(8, 12);

        assertHolds(turns.getLast(), tensors - 1);
        assertHolds(turns.getFirst(), tensors - 2);
        CroftFile.open(turns.getLast()).copyWithBases(file("flat"));
        try (Checkpoint _ = Checkpoint.open(a)) {
            assertThatExceptionOfType(ReferencedFileException.class).isThrownBy(() -> Checkpoint.save(a, state(1)));
            assertThatExceptionOfType(ReferencedFileException.class).isThrownBy(() -> Checkpoint.save(b, state(1)));
        }
        Files.delete(a);
        Files.delete(b);
        assertHolds(file("flat"), tensors - 1);
    }

    @Test
    void aFileThatNamesItselfIsReadOnce() throws IOException {
        Path self = file("self");
        CroftImage first = CroftImage.first();
        long place = first.write(bytes(1));
        byte[] before = first.tensor("w1", LENGTH).commit();
        CroftImage next = CroftImage.after(before);
        int base = next.base(BaseRecord.croft("self.croft", 0, CroftImage.snapshot(before).commit()));
        Files.write(self, next.borrow(base, place, bytes(1)).tensor("w1", LENGTH).commit());

        assertHolds(self, 1);

        try (Checkpoint checkpoint = Checkpoint.open(self)) {
            assertThat(checkpoint.bases()).singleElement().matches(BaseFile::isFound);
        }
        CroftFile.open(self).copyWithBases(file("flat"));
        Files.delete(self);
        assertHolds(file("flat"), 1);
    }

    /// Each of them needs the one before, and claims another depth than it has.
    @Test
    @EnabledOnOs(OS.LINUX)
    void aChainOfThousandsOfFilesIsNotFollowed() throws IOException {
        CroftImage first = CroftImage.first();
        long place = first.write(bytes(0));
        byte[] image = first.tensor("own", LENGTH).commit();
        Files.write(file(0), image);
        for (int number = 1; number <= LONG_CHAIN; number++) {
            CommitRecord before = CroftImage.snapshot(image).commit();
            CroftImage next = CroftImage.first();
            int base = next.base(BaseRecord.croft(number - 1 + ".croft", number % 8, before));
            next.write(bytes(number));
            next.tensor("own", LENGTH);
            image = next.borrow(base, place, bytes(number - 1)).tensor("before", LENGTH).commit();
            Files.write(file(number), image);
        }
        Path last = file(LONG_CHAIN);
        long descriptors = Proc.descriptors();
        long reads = reads();

        try (Checkpoint checkpoint = Checkpoint.open(last)) {
            assertThat(bytes(checkpoint, "before")).isEqualTo(bytes(LONG_CHAIN - 1));
            assertThat(checkpoint.verify().damages()).singleElement()
                    .matches(
                            damage -> damage.what().endsWith("has depth 8, not 0") && damage.code().equals("V18-BASE"));
            assertThat(checkpoint.bases()).singleElement().matches(BaseFile::isFound);
            assertThat(Proc.descriptors()).isLessThan(descriptors + 2 + NOISE);
            assertThatExceptionOfType(ReferencedFileException.class)
                    .isThrownBy(() -> Checkpoint.save(file(LONG_CHAIN - 3), state(1)));
        }
        CroftFile.open(last).copyWithBases(file("flat"));
        assertThat(reads() - reads).isLessThan(300);
        assertThatIllegalArgumentException().isThrownBy(
                () -> Checkpoint.save(file("new"), state(1), SaveOptions.defaults().base(file(7))))
                .withMessageContaining("copy it with its bases");
    }

    /// Each names all, itself included.
    @Test
    @EnabledOnOs(OS.LINUX)
    void filesOfWhichEachNamesAllAreLookedAtOnce() throws IOException {
        List<byte[]> images = new ArrayList<>();
        List<CommitRecord> commits = new ArrayList<>();
        long place = 0;
        List<byte[]> owns = IntStream.range(0, MOST_BASES).mapToObj(HostileBasesTest::bytes).toList();
        for (byte[] own : owns) {
            CroftImage image = CroftImage.first();
            place = image.write(own);
            images.add(image.tensor("own", LENGTH).commit());
            commits.add(CroftImage.snapshot(images.getLast()).commit());
        }
        for (int number = 0; number < MOST_BASES; number++) {
            CroftImage image = CroftImage.after(images.get(number));
            for (int base = 0; base < MOST_BASES; base++) {
                image.base(BaseRecord.croft(base + ".croft", 0, commits.get(base)));
                // One that is read of.
                if (number == 0) {
                    image.borrow(base + 1, place, owns.get(base)).tensor("w" + base, LENGTH);
                }
            }
            Files.write(file(number), image.commit());
        }
        Path other = file("other");
        Checkpoint.save(other, state(1));
        long descriptors = Proc.descriptors();
        try (Checkpoint checkpoint = Checkpoint.open(file(0))) {
            for (int base = 0; base < MOST_BASES; base++) {
                assertThat(bytes(checkpoint, "w" + base)).isEqualTo(owns.get(base));
            }
            assertThat(checkpoint.verify()).isEqualTo(Verification.ofAll(List.of()));
            assertThat(Proc.descriptors()).isLessThan(descriptors + 1 + MOST_BASES + NOISE);
            long reads = reads();

            Checkpoint.save(other, state(2));

            assertThat(reads() - reads).isLessThan(100L * MOST_BASES);
            assertThatExceptionOfType(ReferencedFileException.class)
                    .isThrownBy(() -> Checkpoint.save(file(1), state(1)));
        }
        assertThat(Proc.descriptors()).isLessThan(descriptors + NOISE);
    }

    @ParameterizedTest
    @DisabledOnOs(OS.WINDOWS)
    @ValueSource(strings = {"fifo", "directory", "loop", "/proc/self/mem", "/proc/self/environ", "/dev/zero",
            "/dev/null", "/dev/tty", "/proc/self/fd/0"})
    void whatIsNoFileIsNoAdoptedFile(String kind) throws Exception {
        byte[] foreign = bytes(1);
        CroftImage image = CroftImage.first();
        int base = image.base(
                BaseRecord.foreign("weights.bin", Digest128.of(MemorySegment.ofArray(foreign)), foreign.length));
        image.write(bytes(2));
        image.tensor("own", LENGTH);
        Path file = Files.write(file("a"), image.borrow(base, 0, foreign).tensor("adopted", LENGTH).commit());
        Path occupied = occupy(folder.resolve("weights.bin"), kind);

        for (OpenOptions options : List.of(OpenOptions.defaults(), OpenOptions.defaults().root(folder),
                OpenOptions.defaults().root(folder).base(occupied), OpenOptions.defaults().base(Path.of("/dev/zero")),
                OpenOptions.defaults().base(folder))) {
            try (Checkpoint checkpoint = Checkpoint.open(file, options)) {
                assertThatExceptionOfType(FormatException.class).isThrownBy(() -> bytes(checkpoint, "adopted"))
                        .withMessageContaining("'weights.bin'").extracting(FormatException::code)
                        .isEqualTo("V18-BASE");
                assertThat(bytes(checkpoint, "own")).isEqualTo(bytes(2));
                assertThat(checkpoint.verify().missingBases()).hasSize(1);
                assertThat(checkpoint.bases()).singleElement().matches(each -> !each.isFound());
            }
            assertThatExceptionOfType(FormatException.class)
                    .isThrownBy(() -> CroftFile.open(file, SaveOptions.defaults(), options)
                            .copyWithBases(file("flat")));
        }
        assertThatExceptionOfType(IOException.class).isThrownBy(
                () -> Checkpoint.save(file("b"), state(1), SaveOptions.defaults().base(occupied).root(folder)));
        assertThat(file("flat")).doesNotExist();
        assertThat(file("b")).doesNotExist();
    }

    private static Path occupy(Path name, String kind) throws Exception {
        switch (kind) {
            case "fifo" -> Commands.makePipe(name);
            case "directory" -> Files.createDirectory(name);
            case "loop" -> Files.createSymbolicLink(name, name.getFileName());
            default -> {
                assumeTrue(Files.exists(Path.of(kind)));
                Files.createSymbolicLink(name, Path.of(kind));
            }
        }
        return name;
    }
}
