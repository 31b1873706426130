package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;
import io.undercroft.mmap.MapMode;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/// One storage of three chunks, the second of which is damaged, with tensors before it, behind it, on it and around it;
/// and a sound storage.
class ChecksumPolicyTest {
    private static final int CHUNK = CroftImage.CHUNK;
    private static final byte[] SOUND = noise(100, 4);

    @TempDir
    private Path folder;
    private Path file;

    @BeforeEach
    void write() throws IOException {
        CroftImage image = CroftImage.first();
        image.write(noise(CHUNK, 1));
        long second = image.write(noise(CHUNK, 2));
        image.write(noise(CHUNK, 3));
        int storage = image.storage();
        image.tensor("before", storage, 0, CHUNK).tensor("behind", storage, 2 * CHUNK, 10)
                .tensor("on", storage, CHUNK + 5, 5).tensor("around", storage, 0, 3 * CHUNK)
                .tensor("nothing", storage, CHUNK, 0);
        image.write(SOUND);
        byte[] bytes = image.tensor("other", SOUND.length).commit();
        bytes[(int) second + 7] ^= 1;
        file = Files.write(folder.resolve("model.croft"), bytes);
    }

    private Checkpoint open(ChecksumPolicy policy) throws IOException {
        return Checkpoint.open(file, OpenOptions.defaults().checksums(policy));
    }

    @ParameterizedTest
    @EnumSource(names = {"ON_TOUCH", "EAGER"})
    void tensorsThatTheDamageTouchesAreRefusedAndOthersGiven(ChecksumPolicy policy) throws IOException {
        try (Checkpoint checkpoint = open(policy)) {
            for (String name : List.of("on", "around")) {
                assertThat(checkpoint.contains(name)).isTrue();
                assertThatExceptionOfType(FormatException.class).isThrownBy(() -> checkpoint.tensor(name))
                        .withMessageContainingAll(file.toString(), "storage 0", "damages tensors 'on', 'around'")
                        .extracting(FormatException::code).isEqualTo("V14-CHECKSUM");
            }
            assertThat(bytesOf(checkpoint.tensor("before"))).isEqualTo(noise(CHUNK, 1));
            assertThat(checkpoint.tensor("behind").getLong(3)).isEqualTo(noise(CHUNK, 3)[3]);
            assertThat(checkpoint.tensor("nothing").numel()).isZero();
            assertThat(checkpoint.tensor("other").getLong(99)).isEqualTo(SOUND[99]);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"ON_TOUCH", "EAGER"})
    void soundTensorsOnADamagedStorageShareOneStill(ChecksumPolicy policy) throws IOException {
        try (Checkpoint checkpoint = open(policy)) {
            Tensor before = checkpoint.tensor("before");
            assertThat(checkpoint.tensor("before")).isSameAs(before);
            assertThat(checkpoint.tensor("behind").storage()).isSameAs(before.storage());
            before.storage().set(2L * CHUNK, (byte) 1);
            assertThat(checkpoint.tensor("behind").getLong(0)).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"ON_TOUCH", "EAGER"})
    void aDamagedStorageItselfIsRefusedWhenItIsTouched(ChecksumPolicy policy) throws IOException {
        try (Checkpoint checkpoint = open(policy)) {
            Storage storage = checkpoint.storages().getFirst();
            for (int i = 0; i < 2; i++) {
                assertThatExceptionOfType(FormatException.class).isThrownBy(() -> storage.get(0))
                        .withMessageContaining("'on', 'around'");
            }
            assertThat(checkpoint.storages().get(1).get(0)).isEqualTo(SOUND[0]);
        }
    }

    @Test
    void theStateIsGivenWithoutLookingAtAnyElement() throws IOException {
        try (Checkpoint checkpoint = open(ChecksumPolicy.ON_TOUCH)) {
            assertThat(checkpoint.state()).isNotNull();
            assertThat(checkpoint.names()).containsExactly("before", "behind", "on", "around", "nothing", "other");
            assertThat(checkpoint.storages()).noneMatch(Storage::isMaterialized);
            assertThat(checkpoint.damages()).isEmpty();
        }
    }

    @Test
    void aTensorIsTheOneInTheStateIfItsStorageIsSound() throws IOException {
        try (Checkpoint checkpoint = open(ChecksumPolicy.ON_TOUCH)) {
            Tensor other = checkpoint.tensor("other");
            assertThat(checkpoint.state()).isInstanceOfSatisfying(Map.class,
                    state -> assertThat(state.get("other") == other).isTrue());
            assertThat(other.storage()).isSameAs(checkpoint.storages().get(1));
        }
    }

    @Test
    void whatWasMetIsListed() throws IOException {
        Damage met = new Damage("tensors 'on', 'around'", 2L * CHUNK, CHUNK,
                "V14-CHECKSUM",
                "the checksum of a chunk of storage 0 does not match",
                Remedy.naming("The file is damaged: fetch it again, restore a copy, or save what is intact with {}",
                        "CroftFile.salvage"));
        try (Checkpoint checkpoint = open(ChecksumPolicy.EAGER)) {
            assertThat(checkpoint.damages()).containsExactly(met);
        }
        try (Checkpoint checkpoint = open(ChecksumPolicy.ON_TOUCH)) {
            checkpoint.tensor("other");
            assertThat(checkpoint.damages()).isEmpty();
            checkpoint.tensor("before");
            assertThat(checkpoint.damages()).containsExactly(met);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"NONE", "WHEN_READ_WHOLE"})
    void otherPoliciesLookAtNoSingleElement(ChecksumPolicy policy) throws IOException {
        try (Checkpoint checkpoint = open(policy)) {
            assertThat(bytesOf(checkpoint.tensor("around"))).hasSize(3 * CHUNK);
            assertThat(checkpoint.damages()).isEmpty();
            assertThat(checkpoint.verify().damages()).extracting(Damage::where)
                    .containsExactly("tensors 'on', 'around'");
        }
    }

    @Test
    void whatIsOpenedOnMetaHasNoBytesToCheck() throws IOException {
        OpenOptions options = OpenOptions.defaults().onMeta().checksums(ChecksumPolicy.EAGER);
        try (Checkpoint checkpoint = Checkpoint.open(file, options)) {
            assertThat(checkpoint.tensor("on").storage().isMeta()).isTrue();
            assertThat(checkpoint.damages()).isEmpty();
        }
    }

    @Test
    void readOnlyAndSharedMappingsAreCheckedToo() throws IOException {
        for (MapMode mode : List.of(MapMode.READ_ONLY, MapMode.SHARED)) {
            OpenOptions options = OpenOptions.defaults().mapping(mode).checksums(ChecksumPolicy.ON_TOUCH);
            try (Checkpoint checkpoint = Checkpoint.open(file, options)) {
                assertThat(checkpoint.tensor("other").getLong(0)).isEqualTo(SOUND[0]);
                assertThatExceptionOfType(FormatException.class).isThrownBy(() -> checkpoint.tensor("on"));
            }
        }
    }

    @Test
    void threadsThatMeetAtADamagedStorageGetTheSameTensors() throws Exception {
        for (int round = 0; round < 20; round++) {
            try (Checkpoint checkpoint = open(ChecksumPolicy.ON_TOUCH)) {
                Set<Tensor> given = ConcurrentHashMap.newKeySet();
                AtomicInteger refused = new AtomicInteger();
                List<Thread> threads = IntStream.range(0, 16).mapToObj(i -> Thread.ofPlatform().start(() -> {
                    try {
                        given.add(checkpoint.tensor(i % 2 == 0 ? "before" : "on"));
                    } catch (FormatException e) {
                        refused.incrementAndGet();
                    }
                })).toList();
                for (Thread thread : threads) {
                    thread.join();
                }
                assertThat(given).hasSize(1);
                assertThat(refused).hasValue(8);
                assertThat(checkpoint.damages()).hasSize(1);
            }
        }
    }

    @Test
    void whatCannotBeCheckedIsNoReasonNotToOpenTheFile() throws IOException {
        CroftImage image = CroftImage.first();
        image.write(SOUND);
        image.tensor("far", image.storage("cuda:7"), 0, 1).zeros(100).tensor("zeros", 100).write(SOUND);
        Files.write(file, image.tensor("near", SOUND.length).commit());
        OpenOptions options = OpenOptions.defaults().mapping(MapMode.SHARED).checksums(ChecksumPolicy.EAGER);
        try (Checkpoint checkpoint = Checkpoint.open(file, options)) {
            assertThat(checkpoint.tensor("near").getLong(0)).isEqualTo(SOUND[0]);
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> checkpoint.tensor("far"))
                    .extracting(FormatException::code).isEqualTo("CROFT-DEVICE");
            Tensor zeros = checkpoint.tensor("zeros");
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> zeros.getLong(0))
                    .withMessageContaining("partly zeros");
        }
    }

    @Test
    void closingLetsGoOfADamagedStorageThatSomebodyHolds() throws IOException {
        Storage damaged;
        Storage readable;
        try (Checkpoint checkpoint = open(ChecksumPolicy.ON_TOUCH)) {
            damaged = checkpoint.storages().getFirst().retain();
            readable = checkpoint.tensor("before").storage().retain();
        }
        assertThat(readable.get(0)).isEqualTo(noise(CHUNK, 1)[0]);
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> damaged.get(0));
        damaged.release();
        readable.release();
    }

    private static byte[] bytesOf(Tensor tensor) {
        byte[] bytes = new byte[(int) tensor.numel()];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) tensor.getLong(i);
        }
        return bytes;
    }
}
