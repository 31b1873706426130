package io.undercroft.mmap;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.mmap.SharedSegment.Holder;
import io.undercroft.mmap.SharedSegment.Holder.State;
import io.undercroft.storage.Storage;
import io.undercroft.testsupport.PeerJvm;
import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/// Names and their holders in several processes, some of which are killed.
@EnabledOnOs(OS.LINUX)
class SharedMemoryProcessesTest {
    private static final Path HOME = Path.of("/dev/shm");

    private final String name = "undercroft-test-" + UUID.randomUUID();
    private final Path file = HOME.resolve(name);

    @AfterEach
    void removeTheNames() throws IOException {
        for (String each : List.of(name, name + "0", name + "1", name + "2")) {
            SharedMemory.unlink(each);
        }
    }

    @Test
    void theLastOneOutRemovesTheNameInWhateverProcess() throws Exception {
        try (PeerJvm peer = peer()) {
            SharedMemory memory = SharedMemory.create(name, 100, NameLifetime.WITH_LAST_HOLDER);
            assertThat(peer.ask("attach " + name)).isEqualTo("done");
            assertThat(holders()).extracting(Holder::pid).containsExactlyInAnyOrder(ProcessHandle.current().pid(),
                    peer.pid());
            memory.close();
            assertThat(file).exists();
            assertThat(peer.ask("attach-file " + name)).isEqualTo("done");
            assertThat(peer.ask("close")).isEqualTo("done");
            assertThat(file).as("held by its other hold").exists();
            assertThat(peer.ask("close")).isEqualTo("done");
            assertThat(file).doesNotExist();
            assertThat(segment()).isEmpty();
        }
    }

    @Test
    void theNameGoesWithItsCreatorAndStaysWithNone() throws Exception {
        try (PeerJvm peer = peer()) {
            assertThat(peer.ask("create " + name + " 100 WITH_CREATOR")).isEqualTo("done");
            try (SharedMemory memory = SharedMemory.attach(name)) {
                assertThat(peer.ask("close")).isEqualTo("done");
                assertThat(file).doesNotExist();
                memory.segment().set(JAVA_BYTE, 99, (byte) 1);
            }
            assertThat(peer.ask("create " + name + " 100 UNTIL_UNLINKED")).isEqualTo("done");
            assertThat(peer.ask("close")).isEqualTo("done");
            assertThat(holders()).isEmpty();
            assertThat(SharedMemory.gc()).extracting(SharedSegment::name).doesNotContain(name);
            assertThat(file).exists();
            assertThat(SharedMemory.unlink(name)).isTrue();
            assertThat(segment()).isEmpty();
        }
    }

    @Test
    void aKilledProcessIsNoticedAndWhatItHeldIsCollected() throws Exception {
        for (String lifetime : List.of("WITH_CREATOR", "WITH_LAST_HOLDER")) {
            try (PeerJvm peer = peer()) {
                assertThat(peer.ask("create " + name + " 100 " + lifetime)).isEqualTo("done");
                assertThat(peer.ask("draft 100000")).isEqualTo("done");
                assertThat(drafts(peer.pid())).hasSize(1);
                assertThat(holders()).extracting(Holder::state).containsExactly(State.ALIVE);
                assertThat(SharedMemory.gc()).extracting(SharedSegment::name).doesNotContain(name);

                peer.kill();
                assertThat(holders()).extracting(Holder::state).containsExactly(State.DEAD);
                assertThat(SharedMemory.gc()).filteredOn(each -> each.name().equals(name)).singleElement()
                        .satisfies(each -> assertThat(each.nbytes()).isEqualTo(100));
                assertThat(file).doesNotExist();
                assertThat(drafts(peer.pid())).isEmpty();
            }
        }
    }

    @Test
    void whatALiveHolderHasStaysWhenItsCreatorIsKilled() throws Exception {
        try (PeerJvm peer = peer()) {
            assertThat(peer.ask("create " + name + " 100 WITH_LAST_HOLDER")).isEqualTo("done");
            SharedMemory memory = SharedMemory.attach(name);
            peer.kill();
            SharedMemory.gc();
            assertThat(holders()).extracting(Holder::pid).containsExactly(ProcessHandle.current().pid());
            memory.segment().set(JAVA_BYTE, 99, (byte) 7);
            try (SharedMemory again = SharedMemory.attach(name)) {
                assertThat(again.segment().get(JAVA_BYTE, 99)).isEqualTo((byte) 7);
            }
            memory.close();
            assertThat(file).doesNotExist();
        }
    }

    @Test
    void theNameOfADeadCreatorIsTakenOver() throws Exception {
        try (PeerJvm peer = peer()) {
            assertThat(peer.ask("storage " + name + " 10")).isEqualTo("done");
            peer.kill();
            Files.write(file, new byte[]{9});
        }
        // As Torch7's: creates, or attaches what is there; but what the dead left is not there.
        Storage storage = FileStorage.openSharedMemory(name, ByteRange.bytes(10));
        assertThat(storage.get(0)).isZero();
        storage.release();
        assertThat(file).doesNotExist();
    }

    @Test
    void attachingWhatTheDeadLeftFindsNothing() throws Exception {
        try (PeerJvm peer = peer()) {
            assertThat(peer.ask("create " + name + " 10 WITH_CREATOR")).isEqualTo("done");
            peer.kill();
        }
        try (PeerJvm next = peer()) {
            assertThat(next.ask("attach " + name)).startsWith("NOT_FOUND");
            assertThat(file).doesNotExist();
        }
    }

    @Test
    void aProcessCollectsWhatTheDeadLeftWhenItHoldsSomethingFirst() throws Exception {
        try (PeerJvm peer = peer()) {
            assertThat(peer.ask("create " + name + "0 10 WITH_LAST_HOLDER")).isEqualTo("done");
            peer.kill();
        }
        assertThat(HOME.resolve(name + "0")).exists();
        try (PeerJvm next = peer()) {
            assertThat(next.ask("create " + name + " 10 WITH_LAST_HOLDER")).isEqualTo("done");
            assertThat(HOME.resolve(name + "0")).doesNotExist();
        }
    }

    @Test
    void anOrderlyEndLetsGoOfEverything() throws Exception {
        try (PeerJvm peer = peer()) {
            assertThat(peer.ask("create " + name + " 10 WITH_LAST_HOLDER")).isEqualTo("done");
            assertThat(peer.ask("draft 10")).isEqualTo("done");
            peer.endsWell();
            assertThat(file).doesNotExist();
            assertThat(segment()).isEmpty();
            assertThat(drafts(peer.pid())).isEmpty();
        }
    }

    @Test
    void anotherCopyOfTheLibraryInThisProcessIsLikeAnotherProcess() throws Exception {
        try (PeerJvm peer = peer();
                URLClassLoader loader = new URLClassLoader(classPath(), ClassLoader.getPlatformClassLoader());
                SharedMemory mine = SharedMemory.create(name, 10, NameLifetime.WITH_LAST_HOLDER)) {
            AutoCloseable theirs = (AutoCloseable) loader.loadClass(SharedMemory.class.getName())
                    .getMethod("attach", String.class).invoke(null, name);
            assertThat(holders()).hasSize(2).doesNotHaveDuplicates();
            theirs.close();
            assertThat(holders()).extracting(Holder::state).containsExactly(State.ALIVE);
            assertThat(peer.ask("gc")).doesNotContain(name);
            assertThat(file).exists();
            assertThat(mine.nbytes()).isEqualTo(10);
        }
        assertThat(file).doesNotExist();
    }

    private static URL[] classPath() throws IOException {
        List<URL> urls = new ArrayList<>();
        for (String each : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            urls.add(Path.of(each).toUri().toURL());
        }
        return urls.toArray(URL[]::new);
    }

    @Test
    void processesThatAreKilledAtRandomMomentsLeaveNothingAfterACollection() throws Exception {
        Random random = new Random(20_261_121);
        try (SharedMemory kept = SharedMemory.create(name, 100_000, NameLifetime.WITH_LAST_HOLDER)) {
            kept.segment().fill((byte) 1);
            for (int round = 0; round < 5; round++) {
                try (PeerJvm one = peer(); PeerJvm two = peer()) {
                    assertThat(one.ask("attach " + name)).isEqualTo("done");
                    one.say("churn " + name + " " + random.nextLong());
                    two.say("churn " + name + " " + random.nextLong());
                    assertThat(one.answer()).isEqualTo("churning");
                    assertThat(two.answer()).isEqualTo("churning");
                    Thread.sleep(random.nextInt(100));
                    one.kill();
                    two.kill();
                }
                SharedMemory.gc();
                assertThat(ours()).as("round %s", round).containsExactly(name);
                assertThat(holders()).extracting(Holder::state).containsExactly(State.ALIVE);
            }
            assertThat(kept.segment().get(JAVA_BYTE, 99_999)).isEqualTo((byte) 1);
        }
        assertThat(ours()).isEmpty();
    }

    @Test
    void twoProcessesThatRaceForOneNameNeverSeeItHalfMadeAndLeaveNothing() throws Exception {
        try (PeerJvm one = peer(); PeerJvm two = peer()) {
            one.say("race " + name + " 500 1");
            two.say("race " + name + " 500 2");
            CompletableFuture<String> first = CompletableFuture.supplyAsync(one::answerOrError);
            assertThat(two.answer()).matches("raced [1-9]\\d* [1-9]\\d*");
            assertThat(first.join()).matches("raced [1-9]\\d* [1-9]\\d*");
            assertThat(file).doesNotExist();
            assertThat(segment()).isEmpty();
        }
    }

    /// The other user has the name of this user's registry, of a segment, and reads what this user lets all read.
    @Test
    void anotherUserCannotPassOffItsSegmentsNorStopThisOneFromMakingSome() throws Exception {
        List<String> nobody = List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups");
        assumeTrue(PeerJvm.canStartBy(nobody), "only root can be another user, by setpriv");
        try (PeerJvm other = PeerJvm.startBy(nobody, RegistryPeer.class)) {
            assumeTrue(other.answer().startsWith("ready"), "another user cannot read the classes of this build");
            assertThat(other.ask("create " + name + " 100 UNTIL_UNLINKED")).isEqualTo("done");
            failsToAttach(name, "belongs to user 65534");
            try (SharedMemory theirs = SharedMemory.attach(name, MapMode.SHARED, TrustedOwner.ANYBODY);
                    SharedMemory mine = SharedMemory.create(name + "0", 100, NameLifetime.WITH_CREATOR)) {
                assertThat(theirs.nbytes()).isEqualTo(100);
                assertThat(other.ask("attach " + mine.name())).startsWith("NOT_PERMITTED");
                Files.setPosixFilePermissions(HOME.resolve(mine.name()), PosixFilePermissions.fromString("rw-r--r--"));
                assertThat(other.ask("attach-read-only " + mine.name())).as("of root").isEqualTo("done");
            }
            SharedMemory.unlink(name);
            other.endsWell();
        }
    }

    private static void failsToAttach(String name, String words) {
        assertThatExceptionOfType(SharedMemoryException.class).isThrownBy(() -> SharedMemory.attach(name))
                .withMessageContaining(words).satisfies(e -> assertThat(e.reason()).isEqualTo(Reason.NOT_PERMITTED));
        assertThatExceptionOfType(SharedMemoryException.class)
                .isThrownBy(
                        () -> MappedFile.attach(name, MapMode.READ_ONLY, new MapBudget(), TrustedOwner.SELF_OR_ROOT))
                .withMessageContaining(words);
        assertThatExceptionOfType(SharedMemoryException.class)
                .isThrownBy(() -> FileStorage.openSharedMemory(name, ByteRange.whole())).withMessageContaining(words);
    }

    @Test
    void aProcessThatIsNumberOneOfItsOwnContainerIsSeenAliveAndThenDead() throws Exception {
        assumeTrue(Children.canUnshare());
        try (PeerJvm peer = PeerJvm.startBy(
                List.of("unshare", "--pid", "--fork", "--kill-child", "--mount-proc"), RegistryPeer.class)) {
            assertThat(peer.answer()).as("its number in there").isEqualTo("ready 1");
            assertThat(peer.ask("create " + name + " 10 WITH_LAST_HOLDER")).isEqualTo("done");
            assertThat(holders()).singleElement().satisfies(holder -> {
                assertThat(holder.pid()).isEqualTo(1);
                assertThat(holder.state()).isEqualTo(State.ALIVE);
            });
            SharedMemory.gc();
            assertThat(file).exists();
            try (SharedMemory memory = SharedMemory.attach(name)) {
                assertThat(peer.ask("list " + name)).as("and it sees us")
                        .contains("pid=" + ProcessHandle.current().pid())
                        .doesNotContain("DEAD");
                assertThat(memory.nbytes()).isEqualTo(10);
            }
            peer.killAll();
            assertThat(holders()).extracting(Holder::state).containsExactly(State.DEAD);
            assertThat(SharedMemory.gc()).extracting(SharedSegment::name).contains(name);
            assertThat(file).doesNotExist();
        }
    }

    private static PeerJvm peer() throws IOException {
        PeerJvm peer = PeerJvm.start(RegistryPeer.class);
        assertThat(peer.answer()).isEqualTo("ready " + peer.pid());
        return peer;
    }

    private Optional<SharedSegment> segment() throws SharedMemoryException {
        return SharedMemory.list().stream().filter(each -> each.name().equals(name)).findFirst();
    }

    private List<Holder> holders() throws SharedMemoryException {
        return segment().orElseThrow().holders();
    }

    private List<String> ours() throws IOException {
        try (Stream<Path> files = Files.list(HOME)) {
            return files.map(each -> each.getFileName().toString()).filter(each -> each.startsWith(name)).toList();
        }
    }

    private static List<Path> drafts(long pid) throws IOException {
        Path drafts = Children.registry().resolve("drafts");
        if (Files.notExists(drafts)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(drafts)) {
            return files.filter(each -> each.getFileName().toString().startsWith(pid + "-")).toList();
        }
    }
}
