package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatRuntimeException;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import io.undercroft.storage.Tensor;
import java.util.Map;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.junit.jupiter.api.io.TempDir;

/// A file of 100 storages, of which the second and the last are damaged.
class ScrubTest {
    private static final int COUNT = 100;

    @TempDir
    private Path folder;
    private Path file;
    private byte[] bytes;

    @BeforeEach
    void write() throws IOException {
        CroftImage image = CroftImage.first();
        List<Long> places = new ArrayList<>();
        for (int i = 0; i < COUNT; i++) {
            places.add(image.write(noise(1000, i)));
            image.tensor("t" + i, 1000);
        }
        bytes = image.commit();
        bytes[places.get(1).intValue()] ^= 1;
        bytes[places.getLast().intValue()] ^= 1;
        file = Files.write(folder.resolve("model.croft"), bytes);
    }

    @Test
    void allDamageIsReportedAsItIsFound() throws IOException {
        List<Damage> told = new ArrayList<>();
        try (Checkpoint checkpoint = Checkpoint.open(file); Scrub scrub = checkpoint.scrub(told::add)) {
            assertThat(scrub.join()).extracting(Damage::where).containsExactly("tensor 't1'", "tensor 't99'");
            assertThat(scrub.isDone()).isTrue();
            assertThat(told).isEqualTo(scrub.join());
        }
    }

    @Test
    void whatWasWrittenToInMemoryIsNotLookedAt() throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            checkpoint.tensor("t0").storage().set(0, (byte) 77);
            assertThat(checkpoint.scrub(_ -> {}).join()).hasSize(2);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void closingEndsItBeforeEverythingWasRead(boolean isSet) throws Exception {
        Path opened = file;
        if (isSet) {
            Path other = folder.resolve("other.croft");
            Checkpoint.save(other, Map.of("of another name", Tensor.of(1L)));
            opened = folder.resolve("model.croftset");
            ShardSet.save(opened, List.of(file, other));
        }
        CountDownLatch found = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        try (Checkpoint checkpoint = Checkpoint.open(opened)) {
            Scrub scrub = checkpoint.scrub(_ -> {
                found.countDown();
                await(goOn);
            });
            found.await();
            assertThat(scrub.isDone()).isFalse();
            Thread closer = Thread.ofVirtual().start(scrub::close);
            while (closer.getState() != Thread.State.WAITING) {
                Thread.onSpinWait();
            }
            goOn.countDown();
            closer.join();
            assertThatExceptionOfType(CancellationException.class).isThrownBy(scrub::join);
            scrub.close();
        }
    }

    @Test
    void theListenerMayEndItAtTheFirstDamage() throws Exception {
        CompletableFuture<Scrub> started = new CompletableFuture<>();
        List<Damage> told = new ArrayList<>();
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            Scrub scrub = checkpoint.scrub(damage -> {
                told.add(damage);
                started.join().close();
            });
            started.complete(scrub);
            assertThatExceptionOfType(CancellationException.class).isThrownBy(scrub::join);
            assertThat(told).hasSize(1);
        }
    }

    @Test
    void closingTheCheckpointEndsItToo() throws Exception {
        CountDownLatch found = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Checkpoint checkpoint = Checkpoint.open(file);
        Scrub scrub = checkpoint.scrub(_ -> {
            found.countDown();
            await(goOn);
        });
        found.await();
        Thread closer = Thread.ofVirtual().start(checkpoint::close);
        while (closer.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        goOn.countDown();
        closer.join();
        assertThatExceptionOfType(CancellationException.class).isThrownBy(scrub::join);
        assertThatIllegalStateException().isThrownBy(() -> checkpoint.scrub(_ -> {}));
    }

    @Test
    void aFileThatWasCutMeanwhileIsAFailureToRead() throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                channel.truncate(bytes.length / 2);
            }
            Scrub scrub = checkpoint.scrub(_ -> {});
            assertThatExceptionOfType(IOException.class).isThrownBy(scrub::join);
        }
    }

    @Test
    void whatTheListenerThrowsIsPassedOn() throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            Scrub scrub = checkpoint.scrub(_ -> {
                throw new IllegalArgumentException("enough");
            });
            assertThatRuntimeException().isThrownBy(scrub::join).withMessage("enough");
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
