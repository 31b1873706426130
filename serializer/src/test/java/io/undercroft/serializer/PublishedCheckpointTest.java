package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.NameLifetime;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedMemoryException;
import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.mmap.TrustedOwner;
import io.undercroft.serializer.SaveOptions.Sharing;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/// States in shared memory, in this process and in others.
@EnabledOnOs(OS.LINUX)
@Isolated("looks at what this process has in shared memory")
class PublishedCheckpointTest {
    private static final SaveOptions OPTIONS = SaveOptions.defaults();
    private static final Path SHM = Path.of("/dev/shm");

    private final String name = "croft-test-" + UUID.randomUUID().toString().substring(0, 12);

    @TempDir
    Path folder;

    @AfterEach
    void removeTheName() throws SharedMemoryException {
        SharedMemory.unlink(name);
    }

    /// Tied weights, a view, and a large storage of zeros.
    private static Map<String, Object> state(double first) {
        Tensor weight = Tensor.arange(DType.FLOAT32, 30_000).view(3, 10_000);
        weight.setDouble(0, 0, first);
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("wte", weight.flatten());
        state.put("head", weight.flatten());
        state.put("row", weight.select(0, 1));
        state.put("copy", weight.flatten().copy());
        state.put("zeros", Tensor.zeros(DType.INT64, 10_000));
        return state;
    }

    @Test
    void whatIsPublishedComesBackWithSharingIntact() throws IOException {
        try (PublishedCheckpoint published = PublishedCheckpoint.publish(name, state(1), OPTIONS);
                Checkpoint c = PublishedCheckpoint.attach("/" + name)) {
            assertThat(published.name()).isEqualTo(name);
            assertThat(c.format()).isEqualTo("croft");
            assertThat(c.names()).containsExactly("wte", "head", "row", "copy", "zeros");
            assertThat(c.storages()).hasSize(3).noneMatch(Storage::isMaterialized);
            assertThat(c.tensor("wte").storage()).isSameAs(c.tensor("head").storage())
                    .isSameAs(c.tensor("row").storage()).isNotSameAs(c.tensor("copy").storage());
            assertThat(c.tensor("row").contentEquals((Tensor) state(1).get("row"))).isTrue();
            assertThat(c.verify().isIntact()).isTrue();
        }
    }

    @Test
    void aStateIsPublishedWithoutOptions() throws IOException {
        try (PublishedCheckpoint _ = PublishedCheckpoint.publish(name, state(1));
                Checkpoint c = PublishedCheckpoint.attach(name)) {
            assertThat(c.names()).containsExactly("wte", "head", "row", "copy", "zeros");
        }
    }

    @Test
    void theImageIsTheFileThatSavingWrites() throws IOException {
        Path file = folder.resolve("saved.croft");
        SaveOptions options = OPTIONS.metadata(Map.of("author", "me")).message("epoch 2");
        DedupReport saved = Checkpoint.save(file, state(1), options).dedup().orElseThrow();
        try (PublishedCheckpoint published = PublishedCheckpoint.publish(name, state(1), options)) {
            assertThat(published.report()).isEqualTo(saved);
            assertThat(published.nbytes()).isEqualTo(Files.size(file));
            try (SharedMemory memory = SharedMemory.attach(name, MapMode.READ_ONLY, TrustedOwner.SELF_OR_ROOT)) {
                assertThat(memory.segment().toArray(ValueLayout.JAVA_BYTE))
                        .isEqualTo(Files.readAllBytes(file));
            }
        }
    }

    @Test
    void anOpenCheckpointIsPublishedWithItsMetadata() throws IOException {
        Path file = folder.resolve("saved.croft");
        Checkpoint.save(file, state(1), OPTIONS.metadata(Map.of("author", "me")));
        try (Checkpoint saved = Checkpoint.open(file)) {
            PublishedCheckpoint.publish(name, saved).close();
        }
        Files.delete(file);
        try (Checkpoint c = PublishedCheckpoint.attach(name)) {
            assertThat(c.metadata()).containsExactly(Map.entry("author", "me"));
            assertThat(c.tensor("wte").getDouble(7)).isEqualTo(7);
        }
    }

    record Served(int version, Instant since, Tensor weight) {}

    @Test
    void objectsOfTheProgramArePublishedToo() throws IOException {
        StateClasses classes = StateClasses.of(Served.class);
        Served served = new Served(3, Instant.EPOCH, Tensor.of(1f, 2f));
        try (PublishedCheckpoint published = PublishedCheckpoint.publish(name, served, OPTIONS.classes(classes));
                Checkpoint c = PublishedCheckpoint.attach(name, OpenOptions.defaults().classes(classes))) {
            assertThat(published.name()).isEqualTo(name);
            assertThat(c.state(Served.class)).isEqualTo(new Served(3, Instant.EPOCH, c.tensor("weight")));
            assertThat(c.tensor("weight").getFloat(1)).isEqualTo(2f);
        }
    }

    @Test
    void anotherProcessReadsTheSameBytesAndItsWritesStayItsOwn() throws Exception {
        PublishedCheckpoint.publish(name, state(1), OPTIONS).close();
        try (Checkpoint c = PublishedCheckpoint.attach(name);
                PeerJvm peer = PeerJvm.start(PublishedPeer.class, name, "PRIVATE")) {
            assertThat(peer.answer()).isEqualTo("attached");
            assertThat(peer.ask("tied wte head")).isEqualTo("true");
            assertThat(peer.ask("tied wte copy")).isEqualTo("false");
            assertThat(peer.ask("sound wte")).isEqualTo("true");
            assertThat(peer.ask("sum wte")).isEqualTo("" + PublishedPeer.sum(c.tensor("wte")));
            assertThat(peer.ask("set wte 42")).isEqualTo("42.0");
            assertThat(peer.ask("get head")).isEqualTo("42.0");
            assertThat(c.tensor("wte").getDouble(0)).isEqualTo(1);
            c.tensor("wte").setDouble(0, 5);
            assertThat(peer.ask("get head")).isEqualTo("42.0");
            try (Checkpoint later = PublishedCheckpoint.attach(name)) {
                assertThat(later.tensor("wte").getDouble(0)).isEqualTo(1);
            }
            peer.endsWell();
        }
    }

    @Test
    void writesReachOtherProcessesWhereThatIsAskedFor() throws Exception {
        PublishedCheckpoint.publish(name, state(1), OPTIONS.writableInPlace()).close();
        OpenOptions shared = OpenOptions.defaults().mapping(MapMode.SHARED);
        try (Checkpoint c = PublishedCheckpoint.attach(name, shared);
                PeerJvm peer = PeerJvm.start(PublishedPeer.class, name, "SHARED")) {
            assertThat(peer.answer()).isEqualTo("attached");
            assertThat(peer.ask("set head 42")).isEqualTo("42.0");
            assertThat(c.tensor("wte").getDouble(0)).isEqualTo(42);
            assertThat(c.tensor("copy").getDouble(0)).isEqualTo(1);
            c.tensor("zeros").setLong(0, 3);
            assertThat(peer.ask("get zeros")).isEqualTo("3.0");
            peer.endsWell();
        }
    }

    @Test
    void aStorageWithoutBytesOfItsOwnCannotBeSharedAndSaysSo() throws IOException {
        PublishedCheckpoint.publish(name, state(1), OPTIONS).close();
        try (Checkpoint c = PublishedCheckpoint.attach(name, OpenOptions.defaults().mapping(MapMode.SHARED))) {
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(() -> c.tensor("zeros").getLong(0)).withMessageContaining("partly zeros");
        }
    }

    @Test
    void readersOfTheOldVersionKeepItAndNewOnesGetTheNew() throws Exception {
        PublishedCheckpoint.publish(name, state(1), OPTIONS).close();
        try (Checkpoint old = PublishedCheckpoint.attach(name);
                PeerJvm peer = PeerJvm.start(PublishedPeer.class, name, "PRIVATE")) {
            assertThat(peer.answer()).isEqualTo("attached");
            String sum = "" + PublishedPeer.sum((Tensor) state(1).get("wte"));
            PublishedCheckpoint.publish(name, state(2), OPTIONS).close();
            // Touched for the first time now.
            assertThat(old.tensor("wte").getDouble(0)).isEqualTo(1);
            assertThat(peer.ask("sum wte")).isEqualTo(sum);
            assertThat(peer.ask("sound wte")).isEqualTo("true");
            try (Checkpoint c = PublishedCheckpoint.attach(name);
                    PeerJvm later = PeerJvm.start(PublishedPeer.class, name, "READ_ONLY")) {
                assertThat(c.tensor("wte").getDouble(0)).isEqualTo(2);
                assertThat(later.answer()).isEqualTo("attached");
                assertThat(later.ask("get head")).isEqualTo("2.0");
                later.endsWell();
            }
            assertThat(PublishedCheckpoint.unpublish(name)).isTrue();
            assertThat(old.verify().isIntact()).isTrue();
            assertThat(peer.ask("get copy")).isEqualTo("1.0");
            peer.endsWell();
        }
    }

    @Test
    void aNameGoesWithItsCreatorAndNotWithThatOfAnOlderVersion() throws IOException {
        PublishedCheckpoint first = PublishedCheckpoint.publish(name, state(1), OPTIONS, NameLifetime.WITH_CREATOR);
        try (Checkpoint old = PublishedCheckpoint.attach(name)) {
            try (PublishedCheckpoint _ = PublishedCheckpoint.publish(name, state(2), OPTIONS,
                    NameLifetime.WITH_CREATOR)) {
                first.close();
                first.close();
                try (Checkpoint c = PublishedCheckpoint.attach(name)) {
                    assertThat(c.tensor("wte").getDouble(0)).isEqualTo(2);
                }
            }
            assertIsGone();
            assertThat(old.tensor("wte").getDouble(0)).isEqualTo(1);
        }
    }

    @Test
    void aNameStaysWithItsLastHolderInWhateverProcess() throws Exception {
        try (PeerJvm peer = startWhileItIsHeldHere()) {
            try (Checkpoint c = PublishedCheckpoint.attach(name)) {
                assertThat(c.tensor("wte").getDouble(0)).isEqualTo(1);
            }
            assertThat(peer.ask("get wte")).isEqualTo("1.0");
            peer.kill();
        }
        SharedMemory.gc();
        assertIsGone();
    }

    private PeerJvm startWhileItIsHeldHere() throws IOException {
        try (PublishedCheckpoint _ = PublishedCheckpoint.publish(name, state(1), OPTIONS,
                NameLifetime.WITH_LAST_HOLDER)) {
            PeerJvm peer = PeerJvm.start(PublishedPeer.class, name, "PRIVATE");
            assertThat(peer.answer()).isEqualTo("attached");
            return peer;
        }
    }

    private void assertIsGone() {
        assertThatExceptionOfType(SharedMemoryException.class).isThrownBy(() -> PublishedCheckpoint.attach(name))
                .extracting(SharedMemoryException::reason).isEqualTo(Reason.NOT_FOUND);
    }

    @Test
    void aStorageThatIsRetainedOutlivesTheCheckpointAndTheName() throws IOException {
        PublishedCheckpoint.publish(name, state(7), OPTIONS).close();
        Tensor kept;
        Tensor gone;
        try (Checkpoint c = PublishedCheckpoint.attach(name)) {
            kept = c.tensor("wte");
            gone = c.tensor("copy");
            kept.storage().retain();
        }
        PublishedCheckpoint.unpublish(name);
        assertThat(kept.getDouble(0)).isEqualTo(7);
        kept.storage().release();
        assertThatIllegalStateException().isThrownBy(() -> gone.getDouble(0));
        assertThatIllegalStateException().isThrownBy(() -> kept.getDouble(0));
    }

    @Test
    void aNameThatNothingHasIsToldAsSuch() throws IOException {
        for (var attaching : List.<Attaching>of(PublishedCheckpoint::attach, PublishedCheckpoint::follow)) {
            assertThatExceptionOfType(SharedMemoryException.class).isThrownBy(() -> attaching.to(name))
                    .withMessageContaining(name).withMessageContaining("create it")
                    .extracting(SharedMemoryException::reason).isEqualTo(Reason.NOT_FOUND);
        }
        assertThat(PublishedCheckpoint.unpublish(name)).isFalse();
    }

    @Test
    void whatIsNoPublishedStateIsNotTakenAway() throws IOException {
        try (SharedMemory foreign = SharedMemory.create(name, 100)) {
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> PublishedCheckpoint.unpublish(name))
                    .withMessageContaining(name).withMessageContaining("no published state");
            assertThat(foreign.nbytes()).isEqualTo(100);
        }
        assertThat(SharedMemory.unlink(name)).isTrue();
    }

    @Test
    void whatIsWritableInPlaceIsSoInWhateverOrderItIsAskedFor() {
        SaveOptions writable = SaveOptions.defaults().writableInPlace();
        for (SaveOptions options : List.of(writable, writable.wholeStorages(), writable.sharing(Sharing.CONTENT),
                SaveOptions.defaults().wholeStorages().sharing(Sharing.CONTENT).writableInPlace())) {
            assertThat(options.savesZeros()).isTrue();
            assertThat(options.savesWholeStorages()).isTrue();
            assertThat(options.sharing()).isEqualTo(Sharing.IDENTITY);
        }
    }

    @Test
    void aNameThatCannotBeOneIsRefused() {
        for (String bad : List.of("", "/", "a/b", "..", "x".repeat(256))) {
            for (var attaching : List.<Attaching>of(PublishedCheckpoint::attach, PublishedCheckpoint::follow,
                    any -> PublishedCheckpoint.publish(any, state(1), OPTIONS), PublishedCheckpoint::unpublish)) {
                assertThatExceptionOfType(SharedMemoryException.class).isThrownBy(() -> attaching.to(bad))
                        .extracting(SharedMemoryException::reason).isEqualTo(Reason.BAD_NAME);
            }
        }
    }

    @FunctionalInterface
    private interface Attaching {
        Object to(String name) throws IOException;
    }

    @Test
    void sharedMemoryThatIsNoStateIsToldAsSuch() throws IOException {
        try (SharedMemory memory = SharedMemory.create(name, 100_000)) {
            memory.segment().fill((byte) 1);
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> PublishedCheckpoint.attach(name))
                    .withMessageContaining(name).withMessageContaining("no published state")
                    .extracting(FormatException::code).isEqualTo("CROFT-PUBLISHED");
            assertThatExceptionOfType(FormatException.class)
                    .isThrownBy(() -> PublishedCheckpoint.publish(name, state(1), OPTIONS))
                    .withMessageContaining(name).withMessageContaining("Choose another name");
            assertThat(memory.segment().get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 1);
        }
        SharedMemory.unlink(name);
        SharedMemory.create(name, 0).close();
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> PublishedCheckpoint.attach(name));
    }

    @Test
    void aStateThatCannotBeSavedLeavesTheOldVersionAndNothingElse() throws IOException {
        PublishedCheckpoint.publish(name, state(1), OPTIONS).close();
        List<String> before = files();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PublishedCheckpoint.publish(name, Map.of("a", new Object()), OPTIONS))
                .withMessageContaining("a");
        assertThat(files()).isEqualTo(before);
        try (Checkpoint c = PublishedCheckpoint.attach(name)) {
            assertThat(c.tensor("wte").getDouble(0)).isEqualTo(1);
        }
    }

    /// What this test left in `/dev/shm`; others may work there at the same time.
    private List<String> files() throws IOException {
        try (Stream<Path> files = Files.walk(SHM)) {
            String pid = "" + ProcessHandle.current().pid();
            return files.map(SHM::relativize).map(Path::toString)
                    .filter(file -> file.contains(name) || file.contains(pid)).sorted().toList();
        }
    }

    /// Publishes something too large and says what became of it, then something that fits.
    static final class Ambitious {
        @SuppressWarnings("SystemOut")
        public static void main(String[] args) throws IOException {
            String name = args[0];
            PublishedCheckpoint.publish(name, state(1), OPTIONS).close();
            List<Path> before = everything();
            try {
                PublishedCheckpoint.publish(name, Map.of("big", Tensor.arange(DType.INT64, 2 << 20)), OPTIONS);
                System.out.println("published");
            } catch (SharedMemoryException e) {
                System.out.println(e.reason() + " " + e.getMessage());
            }
            System.out.println("left " + before.equals(everything()));
            try (Checkpoint c = PublishedCheckpoint.attach(name)) {
                System.out.println("old " + c.tensor("wte").getDouble(0));
            }
            PublishedCheckpoint.publish(name, state(2), OPTIONS).close();
            try (Checkpoint c = PublishedCheckpoint.attach(name)) {
                System.out.println("new " + c.tensor("wte").getDouble(0));
            }
            PublishedCheckpoint.unpublish(name);
            System.out.println("left " + everything());
        }

        private static List<Path> everything() throws IOException {
            try (Stream<Path> files = Files.walk(SHM)) {
                return files.filter(Files::isRegularFile).sorted().toList();
            }
        }
    }

    @Test
    void fullSharedMemoryIsAnErrorThatLeavesTheOldVersionAndNothingElse() throws Exception {
        assumeTrue(PeerJvm.canMount(), "may not mount a /dev/shm for one process");
        try (PeerJvm peer = PeerJvm.startMounting("mount -t tmpfs -o size=4m tmpfs /dev/shm",
                Ambitious.class, name)) {
            assertThat(peer.answer()).startsWith("FULL ").contains("--shm-size",
                    name + ": there is no space for this state, whose storages have 16777216 bytes");
            assertThat(peer.answer()).isEqualTo("left true");
            assertThat(peer.answer()).isEqualTo("old 1.0");
            assertThat(peer.answer()).isEqualTo("new 2.0");
            assertThat(peer.answer()).isEqualTo("left []");
            peer.endsWell();
        }
    }
}
