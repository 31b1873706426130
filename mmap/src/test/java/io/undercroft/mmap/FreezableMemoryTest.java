package io.undercroft.mmap;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.Allocator;
import io.undercroft.storage.Storage;
import io.undercroft.storage.internal.support.Freezable;
import io.undercroft.storage.internal.support.Freezable.Image;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@EnabledOnOs(OS.LINUX)
class FreezableMemoryTest {
    private static final int PAGE = 4096;
    private static final int MEBIBYTE = 1 << 20;

    private static Storage allocate(long nbytes) {
        return Storage.allocate(nbytes, AnonymousMemory.freezableAllocator());
    }

    private static Image freeze(Storage storage) {
        return freezable(storage).freeze().orElseThrow();
    }

    private static Freezable freezable(Storage storage) {
        return (Freezable) storage.origin().orElseThrow();
    }

    private static byte[] bytes(MemorySegment segment) {
        return segment.toArray(JAVA_BYTE);
    }

    @ParameterizedTest
    @ValueSource(longs = {MEBIBYTE, MEBIBYTE + 1, (5 << 20) + 77})
    void memoryIsZeroedAlignedPrivateAndWritable(long nbytes) {
        Storage storage = allocate(nbytes);

        assertThat(storage.nbytes()).isEqualTo(nbytes);
        assertThat(storage.dataPtr() % PAGE).isZero();
        assertThat(bytes(storage.segment())).containsOnly(0);
        assertThat(storage.isShared()).isFalse();
        assertThat(storage.filename()).isEmpty();
        storage.fill((byte) 3);
        assertThat(bytes(storage.segment())).containsOnly(3);
        storage.release();
    }

    @Test
    void whatIsWrittenAfterTheFreezeIsNotInTheImage() {
        Storage storage = allocate(MEBIBYTE);
        storage.fill((byte) 1);
        MemorySegment taken = storage.segment();

        try (Image image = freeze(storage)) {
            taken.set(JAVA_BYTE, 5, (byte) 2);
            storage.set(MEBIBYTE - 1, (byte) 3);

            assertThat(bytes(image.segment())).hasSize(MEBIBYTE).containsOnly(1);
        }
        assertThat(storage.segment()).isSameAs(taken);
        assertThat(List.of(storage.get(4), storage.get(5), storage.get(MEBIBYTE - 1))).containsExactly((byte) 1,
                (byte) 2, (byte) 3);
        storage.release();
    }

    @Test
    void anImageIsReadOnlyAndOverWhenItIsClosed() {
        Storage storage = allocate(MEBIBYTE);
        Image image = freeze(storage);

        assertThat(image.segment().isReadOnly()).isTrue();
        image.close();
        image.close();
        assertThatIllegalStateException().isThrownBy(image::segment);
        storage.release();
    }

    @Test
    void thereIsOneImageAtATime() {
        Storage storage = allocate(MEBIBYTE);
        Image first = freeze(storage);
        storage.set(0, (byte) 1);

        assertThat(freezable(storage).freeze()).isEmpty();
        assertThat(first.segment().get(JAVA_BYTE, 0)).isZero();
        first.close();
        try (Image second = freeze(storage)) {
            assertThat(second.segment().get(JAVA_BYTE, 0)).isEqualTo((byte) 1);
        }
        storage.release();
    }

    /// Whatever is written where and how much of it, an image is what the storage was, and stays that.
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6})
    void imagesAreWhatTheStorageWas(long seed) {
        Random random = new Random(seed);
        int nbytes = MEBIBYTE + random.nextInt(4 * MEBIBYTE);
        byte[] model = new byte[nbytes];
        Storage storage = allocate(nbytes);
        for (int round = 0; round < 12; round++) {
            write(random, storage.segment(), model);
            try (Image image = freeze(storage)) {
                byte[] before = model.clone();
                write(random, storage.segment(), model);
                assertThat(bytes(image.segment())).isEqualTo(before);
            }
            assertThat(bytes(storage.segment())).isEqualTo(model);
        }
        storage.release();
    }

    private static void write(Random random, MemorySegment segment, byte[] model) {
        int most = random.nextBoolean() ? 3 * PAGE : model.length;
        for (int writes = random.nextInt(5); writes > 0; writes--) {
            byte[] noise = new byte[1 + random.nextInt(most)];
            random.nextBytes(noise);
            int at = random.nextInt(model.length - noise.length + 1);
            System.arraycopy(noise, 0, model, at, noise.length);
            MemorySegment.copy(MemorySegment.ofArray(noise), 0, segment, at, noise.length);
        }
    }

    @Test
    void anImageOutlivesItsStorage() throws IOException {
        Storage storage = allocate(4 * MEBIBYTE);
        long address = storage.dataPtr();
        storage.fill((byte) 1);
        Image image = freeze(storage);
        storage.fill((byte) 2);
        Freezable freezable = freezable(storage);
        storage.release();

        assertThat(Proc.isMapped(address)).isFalse();
        assertThat(bytes(image.segment())).containsOnly(1);
        long seen = image.segment().address();
        image.close();
        assertThat(Proc.isMapped(seen)).isFalse();
        assertThatIllegalStateException().isThrownBy(freezable::freeze);
    }

    @Test
    void memoryGoesBackToTheSystem() throws Exception {
        long before = fileBytes();
        Storage freed = allocate(16 * MEBIBYTE);
        Storage frozen = allocate(16 * MEBIBYTE);
        assertThat(fileBytes()).isEqualTo(before + 32 * MEBIBYTE);

        freed.release();
        Image image = freeze(frozen);
        frozen.release();
        assertThat(fileBytes()).isEqualTo(before + 16 * MEBIBYTE);
        image.close();
        assertThat(fileBytes()).isEqualTo(before);
    }

    /// How much memory the file behind all of this takes. Descriptors of it are links that say so.
    private static long fileBytes() throws Exception {
        for (Path descriptor : files()) {
            Process stat = new ProcessBuilder("stat", "-L", "-c", "%b", "/proc/" + ProcessHandle.current().pid()
                    + "/fd/" + descriptor.getFileName()).redirectErrorStream(true).start();
            String said = new String(stat.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            assertThat(stat.waitFor()).as(said).isZero();
            return Long.parseLong(said) * 512;
        }
        return 0;
    }

    private static List<Path> files() throws IOException {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.filter(FreezableMemoryTest::isOurs).toList();
        }
    }

    private static boolean isOurs(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString().contains("memfd:undercroft ");
        } catch (IOException gone) {
            return false;
        }
    }

    @Test
    void manyStoragesShareOneDescriptor() throws IOException {
        List<Storage> storages = new ArrayList<>();
        List<Image> images = new ArrayList<>();
        allocate(MEBIBYTE).release();
        long before = Proc.descriptors();
        for (int i = 0; i < 100; i++) {
            storages.add(allocate(MEBIBYTE).fill((byte) i));
            images.add(freeze(storages.getLast()));
        }

        assertThat(Proc.descriptors()).isLessThan(before + 10);
        assertThat(files()).hasSize(1);
        for (int i = 0; i < 100; i++) {
            assertThat(images.get(i).segment().get(JAVA_BYTE, MEBIBYTE / 2)).isEqualTo((byte) i);
        }
        images.forEach(Image::close);
        storages.forEach(Storage::release);
    }

    @Test
    void whatNobodyFreesIsCollected() throws Exception {
        long address = freezeAndForget();

        assertThat(PosixMappedFileTest.becomesTrue(() -> {
            System.gc();
            return !Proc.isMapped(address);
        })).isTrue();
    }

    private static long freezeAndForget() {
        Storage storage = allocate(8 * MEBIBYTE);
        freeze(storage).close();
        return storage.dataPtr();
    }

    @Test
    void aStorageIsResizedCopiedAndSlicedAsAnyOther() {
        Storage storage = allocate(MEBIBYTE).fill((byte) 1);
        Image image = freeze(storage);
        Storage slice = storage.slice(PAGE, PAGE);
        Storage copy = storage.copy();
        slice.fill((byte) 2);
        storage.resize(2 * MEBIBYTE);

        assertThat(freezable(slice)).isSameAs(freezable(storage));
        assertThat(bytes(image.segment())).containsOnly(1);
        assertThat(bytes(copy.segment())).containsOnly(1);
        assertThat(storage.get(PAGE)).isEqualTo((byte) 2);
        image.close();
        try (Image next = freeze(storage)) {
            assertThat(next.segment().byteSize()).isEqualTo(2 * MEBIBYTE);
        }
        Stream.of(slice, copy, storage).forEach(Storage::release);
    }

    /// That is against the rules, and costs what is written meanwhile, but never the JVM.
    @Test
    void whoWritesWhileItIsFrozenHarmsNobodyElse() throws InterruptedException {
        Storage storage = allocate(8 * MEBIBYTE);
        AtomicBoolean over = new AtomicBoolean();
        List<Thread> writers = Stream.of(0L, 8L).map(at -> Thread.ofPlatform().start(() -> {
            MemorySegment segment = storage.segment();
            for (long value = 1; !over.get(); value++) {
                for (long offset = at; offset < segment.byteSize(); offset += PAGE) {
                    segment.set(JAVA_LONG, offset, value);
                }
            }
        })).toList();
        for (int round = 0; round < 50; round++) {
            try (Image image = freeze(storage)) {
                byte[] seen = bytes(image.segment());
                assertThat(seen[16]).isZero();
                assertThat(image.segment().mismatch(MemorySegment.ofArray(seen))).isEqualTo(-1);
            }
        }
        over.set(true);
        for (Thread writer : writers) {
            writer.join();
        }
        try (Image image = freeze(storage)) {
            assertThat(image.segment().mismatch(storage.segment())).isEqualTo(-1);
        }
        storage.release();
    }

    @Test
    void pagesThatAreLockedInMemoryAreFrozenToo() throws IOException {
        Storage storage = allocate(MEBIBYTE);
        freeze(storage).close();
        Pages.lock(storage.segment().asSlice(0, 4 * PAGE));
        storage.set(0, (byte) 1);
        freeze(storage).close();
        storage.set(0, (byte) 2);
        try (Image image = freeze(storage)) {
            storage.set(0, (byte) 3);
            assertThat(image.segment().get(JAVA_BYTE, 0)).isEqualTo((byte) 2);
        }
        storage.release();
    }

    @Test
    void smallMemoryIsThatOfTheJdk() {
        Storage storage = allocate(MEBIBYTE - 1);

        assertThat(storage.origin()).isEmpty();
        assertThat(allocate(0).nbytes()).isZero();
    }

    @ParameterizedTest
    @ValueSource(longs = {1L << 45, 1L << 50, 1L << 62, Long.MAX_VALUE})
    void moreMemoryThanThereCanBeIsAnOutOfMemoryError(long nbytes) {
        Allocator allocator = AnonymousMemory.freezableAllocator();

        assertThatThrownBy(() -> allocator.allocate(nbytes)).isInstanceOf(OutOfMemoryError.class)
                .hasMessageContaining(String.valueOf(nbytes)).hasMessageContaining("ulimit");
    }
}
