package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.Pages;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/// Loading all bytes when a checkpoint is opened.
class InMemoryTest {
    private static final OpenOptions IN_MEMORY = OpenOptions.defaults().inMemory();
    private static final int LARGE = 5 << 20;

    @TempDir
    private Path folder;
    private Path file;
    private Map<String, Object> state;

    @BeforeEach
    void save() throws IOException {
        file = folder.resolve("model.croft");
        Tensor weight = Tensor.arange(DType.INT32, LARGE).view(LARGE / 4, 4);
        state = new LinkedHashMap<>();
        state.put("wte", weight);
        state.put("head", weight.transpose(0, 1));
        for (int i = 0; i < 100; i++) {
            state.put("small" + i, Tensor.arange(DType.INT64, 1 + i));
        }
        state.put("zeros", Tensor.zeros(DType.FLOAT32, LARGE));
        state.put("nothing", Tensor.zeros(DType.FLOAT32, 0));
        Checkpoint.save(file, state);
    }

    @Test
    void allBytesAreThereAndAsTheyWereSaved() throws IOException {
        try (Checkpoint c = Checkpoint.open(file, IN_MEMORY)) {
            assertThat(c.storages()).allMatch(Storage::isMaterialized);
            assertThat(c.names()).containsExactlyElementsOf(state.keySet());
            c.names().forEach(name -> assertThat(c.tensor(name).contentEquals((Tensor) state.get(name))).as(name)
                    .isTrue());
            assertThat(c.tensor("head").storage()).isSameAs(c.tensor("wte").storage());
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void nothingIsMapped() throws IOException {
        try (Checkpoint _ = Checkpoint.open(file, IN_MEMORY)) {
            assertThat(Proc.mappings(file.toString())).isZero();
        }
    }

    @Test
    void whatHappensToTheFileAfterwardsDoesNotShow() throws IOException {
        try (Checkpoint c = Checkpoint.open(file, IN_MEMORY)) {
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                channel.truncate(0);
            }
            assertThat(c.tensor("wte").getLong(LARGE / 4 - 1, 3)).isEqualTo(LARGE - 1);
        }
    }

    @Test
    void writesStayInMemory() throws IOException {
        byte[] before = Files.readAllBytes(file);
        try (Checkpoint c = Checkpoint.open(file, IN_MEMORY)) {
            c.tensor("wte").setLong(0, 1, -7);
            assertThat(c.tensor("head").getLong(1, 0)).isEqualTo(-7);
        }
        assertThat(Files.readAllBytes(file)).isEqualTo(before);
    }

    @Test
    void zerosThatStandNowhereTakeNoMemory() throws IOException {
        try (Checkpoint c = Checkpoint.open(file, IN_MEMORY)) {
            Storage zeros = c.tensor("zeros").storage();
            assertThat(Pages.residentBytes(zeros.segment()).orElse(0)).isLessThanOrEqualTo(LARGE);
            assertThat(c.tensor("zeros").getFloat(LARGE - 1)).isZero();
        }
    }

    @Test
    void theCallerMayBringTheMemory() throws IOException {
        AtomicLong asked = new AtomicLong();
        AtomicLong freed = new AtomicLong();
        Allocator counting = nbytes -> {
            asked.addAndGet(nbytes);
            return new Allocation(Arena.ofAuto().allocate(nbytes), Allocation.Sharing.PRIVATE, null,
                    () -> freed.addAndGet(nbytes));
        };
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().inMemory(counting))) {
            assertThat(c.tensor("wte").contentEquals((Tensor) state.get("wte"))).isTrue();
            assertThat(asked).hasValue(c.storages().stream().mapToLong(Storage::nbytes).sum());
            assertThat(freed).hasValue(0);
        }
        assertThat(freed).hasValue(asked.get());
    }

    @Test
    void aReadOnlyOneCannotBeWrittenAndASharedOneIsRefused() throws IOException {
        try (Checkpoint c = Checkpoint.open(file, IN_MEMORY.mapping(MapMode.READ_ONLY))) {
            assertThat(c.storages()).allMatch(Storage::isReadOnly);
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.open(file, IN_MEMORY.mapping(MapMode.SHARED)))
                .withMessageContaining("writes would not reach the file");
    }

    @Test
    void aStorageThatWasRetainedOutlivesTheCheckpoint() throws IOException {
        Storage kept;
        Storage other;
        try (Checkpoint c = Checkpoint.open(file, IN_MEMORY)) {
            kept = c.tensor("small9").storage().retain();
            other = c.tensor("small8").storage();
        }
        assertThat(kept.get(8 * 9)).isEqualTo((byte) 9);
        kept.release();
        assertThatIllegalStateException().isThrownBy(() -> other.get(0));
    }

    @Test
    void aFileThatIsCutWhileItIsReadIsToldByName() {
        OpenOptions cutting = IN_MEMORY.devices(device -> {
            cut(1 << 20);
            return device;
        });
        assertThatExceptionOfType(EOFException.class).isThrownBy(() -> Checkpoint.open(file, cutting))
                .withMessageContainingAll(file.toString(), "is it complete?");
    }

    private void cut(long size) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(size);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void moreThanThereIsMemoryForIsToldWithItsSize() throws IOException {
        long most = 1L << 46;
        CroftImage image = CroftImage.first();
        image.zeros(most);
        Files.write(file, image.tensor("huge", most).commit());
        assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> Checkpoint.open(file, IN_MEMORY))
                .withMessageContainingAll(file.toString(), Long.toString(most), "OpenOptions.inMemory",
                        "OpenOptions.only");
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.tensor("huge").numel()).isEqualTo(most);
        }
    }

    @Test
    void damageIsMetWhenTheCheckpointIsOpenedUnlessNothingIsToBeChecked() throws IOException {
        CroftImage image = CroftImage.first();
        long place = image.write(noise(3 * CroftImage.CHUNK, 1));
        int storage = image.storage();
        image.tensor("sound", storage, 0, 10).tensor("hit", storage, CroftImage.CHUNK, 10);
        byte[] bytes = image.commit();
        bytes[(int) place + CroftImage.CHUNK + 3] ^= 1;
        Files.write(file, bytes);
        try (Checkpoint c = Checkpoint.open(file, IN_MEMORY)) {
            assertThat(c.damages()).hasSize(1);
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> c.tensor("hit"))
                    .withMessageContaining("V14-CHECKSUM");
            assertThat(c.tensor("sound").getLong(9)).isEqualTo(noise(10, 1)[9]);
        }
        try (Checkpoint c = Checkpoint.open(file, IN_MEMORY.checksums(ChecksumPolicy.NONE))) {
            assertThat(c.tensor("hit").getLong(4)).isEqualTo(bytes[(int) place + CroftImage.CHUNK + 4]);
        }
    }

    @Test
    void storagesOfSeveralExtentsAreReadOneAfterTheOther() throws IOException {
        CroftImage image = CroftImage.first();
        byte[] first = noise(CroftImage.CHUNK, 1);
        long place = image.write(first);
        image.zeros(CroftImage.CHUNK).write(noise(50, 2));
        image.tensor("mixed", 2 * CroftImage.CHUNK + 50).reuse(place, first);
        Files.write(file, image.tensor("again", CroftImage.CHUNK).commit());
        try (Checkpoint lazy = Checkpoint.open(file); Checkpoint c = Checkpoint.open(file, IN_MEMORY)) {
            assertThat(c.tensor("mixed").contentEquals(lazy.tensor("mixed"))).isTrue();
            c.tensor("mixed").setLong(0, first[0] + 1);
            assertThat(c.tensor("again").contentEquals(lazy.tensor("again"))).isTrue();
        }
    }
}
