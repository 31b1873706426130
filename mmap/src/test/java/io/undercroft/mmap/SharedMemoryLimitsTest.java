package io.undercroft.mmap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.testsupport.Commands;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Shared memory that is full, read-only, not there, or whose registry cannot be used: in a child that has a `/dev/shm`
/// of its own.
@EnabledOnOs(OS.LINUX)
class SharedMemoryLimitsTest {

    /// They would be between the answers.
    private static final String WITHOUT_WARNINGS = " && exec 2> /dev/null";

    @BeforeEach
    void aChildMayMount() throws Exception {
        assumeTrue(Children.canUnshare());
    }

    @Test
    void moreThanThereIsIsRefusedAtCreation() throws Exception {
        try (PeerJvm peer = in("mount -t tmpfs -o size=2m tmpfs /dev/shm")) {
            assertThat(peer.ask("create big 3000000 WITH_CREATOR"))
                    .startsWith("FULL shared memory /big requires 3000000 bytes")
                    .contains("2097152 are free in /dev/shm").contains("--shm-size");
            assertThat(contents(peer)).isEmpty();
            assertThat(peer.ask("create all 2097152 WITH_CREATOR")).isEqualTo("done");
        }
    }

    @Test
    void whereNotOnePageIsLeftSegmentsAreAttachedListedAndLetGo() throws Exception {
        try (PeerJvm peer = in("mount -t tmpfs -o size=2m tmpfs /dev/shm")) {
            assertThat(peer.ask("create all 2097152 WITH_LAST_HOLDER")).isEqualTo("done");
            assertThat(peer.ask("create more 1 WITH_CREATOR")).startsWith("FULL").contains("but 0 are free");
            assertThat(peer.ask("attach all")).isEqualTo("done");
            assertThat(peer.ask("list")).contains("nbytes=2097152").doesNotContain("more");
            assertThat(peer.ask("close")).isEqualTo("done");
            assertThat(contents(peer)).contains("all");
            assertThat(peer.ask("close")).isEqualTo("done");
            assertThat(contents(peer)).isEmpty();
        }
    }

    @Test
    void aSegmentThatCannotGrowStaysAsItIs() throws Exception {
        try (PeerJvm peer = in("mount -t tmpfs -o size=2m tmpfs /dev/shm && printf abc > /dev/shm/small")) {
            assertThat(peer.ask("storage small 3000000")).startsWith("FULL").contains("requires 3000000 bytes");
            assertThat(shm(peer).resolve("small")).hasContent("abc");
            assertThat(contents(peer)).containsExactly("small");
        }
    }

    @Test
    void aDraftThatIsTooLargeIsRefusedAndGoesWhenItIsClosed() throws Exception {
        try (PeerJvm peer = in("mount -t tmpfs -o size=2m tmpfs /dev/shm")) {
            assertThat(peer.ask("draft 3000000")).startsWith("FULL a draft of shared memory").contains("3000000 bytes");
            assertThat(peer.ask("create rest 2097152 WITH_CREATOR")).as("it has given back what it took")
                    .isEqualTo("done");
            assertThat(peer.ask("close")).isEqualTo("done");
            assertThat(peer.ask("close")).isEqualTo("done");
            assertThat(contents(peer)).isEmpty();
            assertThat(peer.ask("publish late 3000000")).as("what is skipped is there too")
                    .startsWith(
                            "FULL a draft of shared memory (0 bytes so far) requires 3000001 bytes, but 2097152 are"
                                    + " free");
            assertThat(contents(peer)).isEmpty();
        }
    }

    @Test
    void noFileIsLeftWhereTheFileSystemHasNoMore() throws Exception {
        // Of 12 inodes the file system has one itself, and files take the others: from the last one on they are
        // deleted.
        try (PeerJvm peer = in("mount -t tmpfs -o size=2m,nr_inodes=12 tmpfs /dev/shm"
                + " && for i in 0 1 2 3 4 5 6 7 8 9; do touch /dev/shm/$i; done")) {
            List<String> others = new ArrayList<>(contents(peer));
            String answer = peer.ask("create name 10 WITH_CREATOR");
            while (!answer.equals("done")) {
                assertThat(answer).startsWith("FULL").contains("/name");
                assertThat(contents(peer)).isEqualTo(others);
                Files.delete(shm(peer).resolve(others.removeLast()));
                answer = peer.ask("create name 10 WITH_CREATOR");
            }
            assertThat(others).hasSizeLessThan(5);
            assertThat(peer.ask("attach name")).startsWith("FULL").contains("df -i");
            assertThat(peer.ask("close")).as("releasing takes none").isEqualTo("done");
            assertThat(contents(peer)).isEqualTo(others);
        }
    }

    @Test
    void aFileSystemThatIsMountedForReadingIsSaid() throws Exception {
        try (PeerJvm peer = in("mount -t tmpfs tmpfs /dev/shm && printf abc > /dev/shm/there"
                + " && mount -o remount,ro /dev/shm")) {
            assertThat(peer.ask("create name 10 WITH_CREATOR")).startsWith("NOT_PERMITTED")
                    .contains("mounted for reading only");
            assertThat(peer.ask("draft 10")).startsWith("NOT_PERMITTED");
            assertThat(peer.ask("attach-file there")).isEqualTo("done");
            assertThat(peer.ask("list")).isEqualTo("[]");
        }
    }

    @Test
    void aSystemWithoutSharedMemoryIsSaid() throws Exception {
        try (PeerJvm peer = in("old=$(mktemp -d) && mount --bind /dev $old && mount -t tmpfs tmpfs /dev"
                + " && for f in null zero random urandom; do touch /dev/$f; mount --bind $old/$f /dev/$f; done"
                + " && umount -l $old && rmdir $old")) {
            assertThat(peer.ask("create name 10 WITH_CREATOR")).startsWith("UNSUPPORTED")
                    .contains("no /dev/shm; mount a tmpfs there");
            assertThat(peer.ask("attach name")).startsWith("UNSUPPORTED");
            assertThat(peer.ask("list")).isEqualTo("[]");
            assertThat(peer.ask("gc")).isEqualTo("[]");
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"touch R | is no directory | done",
            "ln -s /tmp R | is no directory | done",
            "mkdir -m 777 R && chmod 777 R | may be written by others | REGISTRY"})
    void aRegistryThatIsNotOursIsNotUsed(String made, String said, String attached) throws Exception {
        String folder = Children.registry().toString();
        try (PeerJvm peer = in("mount -t tmpfs tmpfs /dev/shm && printf abc > /dev/shm/there && "
                + made.replace("R", folder))) {
            for (String command : List.of("create name 10 WITH_CREATOR", "list", "gc", "draft 10")) {
                assertThat(peer.ask(command)).as(command).startsWith("REGISTRY").contains(folder).contains(said);
            }
            assertThat(peer.ask("attach there")).startsWith(attached);
            assertThat(contents(peer)).containsExactlyInAnyOrder("there", Children.registry().getFileName().toString());
        }
    }

    @Test
    void aProcessThatHasNoDescriptorLeftIsToldAndLeavesNothing() throws Exception {
        String name = "undercroft-test-" + UUID.randomUUID();
        try (PeerJvm peer = in("mount -t tmpfs tmpfs /dev/shm && ulimit -n 300")) {
            assertThat(peer.ask("create " + name + " 10 WITH_LAST_HOLDER")).isEqualTo("done");
            assertThat(peer.ask("attach " + name)).isEqualTo("done");
            // So that no class is to be loaded any more.
            assertThat(peer.ask("create " + name + " 10 WITH_LAST_HOLDER")).startsWith("EXISTS");
            assertThat(peer.ask("anonymous 10")).matches("\\d+");
            assertThat(peer.ask("draft 10")).isEqualTo("done");
            assertThat(peer.ask("list")).contains(name);
            assertThat(peer.ask("gc")).isEqualTo("[]");
            List<String> before = contents(peer);
            assertThat(peer.ask("exhaust")).isEqualTo("done");
            for (String command : List.of("create new 10 WITH_CREATOR", "attach " + name, "list", "gc", "draft 10",
                    "anonymous 10")) {
                assertThat(peer.ask(command)).as(command).startsWith("SYSTEM").contains("too many files are open")
                        .contains("ulimit -n");
            }
            assertThat(contents(peer)).isEqualTo(before);
        }
    }

    @Test
    void whatIsClosedWithoutADescriptorLeftGoesWhenThereIsOneAgain() throws Exception {
        try (PeerJvm peer = in("mount -t tmpfs tmpfs /dev/shm && ulimit -n 300" + WITHOUT_WARNINGS)) {
            assertThat(peer.ask("create name 10 WITH_LAST_HOLDER")).isEqualTo("done");
            assertThat(peer.ask("create other 10 WITH_LAST_HOLDER")).isEqualTo("done");
            assertThat(peer.ask("attach name")).isEqualTo("done");
            assertThat(peer.ask("close")).isEqualTo("done");
            assertThat(peer.ask("exhaust")).isEqualTo("done");
            assertThat(peer.ask("close-first")).as("nothing is thrown, and nothing said here").isEqualTo("done");
            assertThat(contents(peer)).contains("name");
            assertThat(peer.ask("recover")).isEqualTo("done");
            assertThat(peer.ask("attach other")).isEqualTo("done");
            assertThat(contents(peer)).contains("other").doesNotContain("name");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"mkdir R && chown 1234 R", "touch R && chown 1234 R", "ln -s /tmp R && chown -h 1234 R"})
    void aRegistryWhoseNameAnotherUserHasIsMadeUnderAnotherName(String made) throws Exception {
        String folder = Children.registry().toString();
        String name = Children.registry().getFileName().toString();
        try (PeerJvm peer = in("mount -t tmpfs tmpfs /dev/shm && " + made.replace("R", folder))) {
            assertThat(peer.ask("list")).isEqualTo("[]");
            assertThat(peer.ask("gc")).isEqualTo("[]");
            assertThat(peer.ask("create name 10 WITH_CREATOR")).isEqualTo("done");
            assertThat(peer.ask("attach name")).isEqualTo("done");
            assertThat(peer.ask("list")).contains("name=name").containsOnlyOnce("SharedSegment[")
                    .contains("holders=[Holder[", "], Holder[");
            assertThat(contents(peer)).hasSize(3).contains("name", name).anyMatch(each -> each.startsWith(name + "-"));
            peer.ask("close");
            peer.ask("close");
            assertThat(contents(peer)).containsExactly(name);
            peer.endsWell();
        }
    }

    @Test
    void aSegmentOfAnotherUserIsAttachedOnlyIfThatIsAskedFor() throws Exception {
        try (PeerJvm peer = in(
                "mount -t tmpfs tmpfs /dev/shm && printf abc > /dev/shm/theirs && chmod 666 /dev/shm/theirs"
                        + " && chown 1234 /dev/shm/theirs")) {
            for (int round = 0; round < 2; round++) {
                for (String command : List.of("attach theirs", "attach-file theirs", "storage theirs 3")) {
                    assertThat(peer.ask(command)).as(command).startsWith("NOT_PERMITTED").contains("user 1234",
                            "TrustedOwner.ANYBODY");
                }
                assertThat(peer.ask("attach-of-anybody theirs")).isEqualTo("done");
                // Now there is a registry, too.
                peer.ask("create own 10 WITH_CREATOR");
            }
            assertThat(contents(peer)).contains("theirs");
        }
    }

    @Test
    void whatIsNoMemoryIsRefusedAndNotWaitedFor() throws Exception {
        try (PeerJvm peer = in("mount -t tmpfs tmpfs /dev/shm && mkfifo /dev/shm/pipe && mkdir /dev/shm/folder"
                + " && mknod /dev/shm/device c 1 3 && ln -s device /dev/shm/link")) {
            for (int round = 0; round < 2; round++) {
                for (String each : List.of("pipe", "folder", "device", "link")) {
                    assertThat(peer.ask("attach-file " + each)).startsWith("NOT_MEMORY shared memory /" + each);
                    assertThat(peer.ask("attach " + each)).startsWith("NOT_MEMORY shared memory /" + each);
                    assertThat(peer.ask("create " + each + " 10 WITH_CREATOR")).startsWith("EXISTS");
                }
                assertThat(peer.ask("create registered 10 UNTIL_UNLINKED")).startsWith(round == 0 ? "done" : "EXISTS");
            }
            peer.endsWell();
        }
    }

    @Test
    void whatIsCollectedIsUnmappedWhileSomebodyKeepsTheLock() throws Exception {
        try (PeerJvm peer = in("mount -t tmpfs tmpfs /dev/shm")) {
            for (String each : List.of("collect1", "collect2", "collect3")) {
                assertThat(peer.ask("create " + each + " 10000 WITH_LAST_HOLDER")).isEqualTo("done");
            }
            Process lock = new ProcessBuilder("flock", shm(peer).resolve(Children.registry().getFileName()).toString(),
                    "sh", "-c", "echo locked; read wait").start();
            try {
                assertThat(lock.inputReader().readLine()).isEqualTo("locked");
                assertThat(peer.ask("forget /dev/shm/collect")).isEqualTo("unmapped");
                assertThat(contents(peer)).contains("collect1", "collect2", "collect3");
            } finally {
                lock.outputWriter().close();
                assertThat(lock.waitFor()).isEqualTo(1);
            }
            assertThat(PosixMappedFileTest.becomesTrue(() -> contents(peer).isEmpty())).isTrue();
        }
    }

    @Test
    void whereFilesAreNotInMemoryNoNameIsRemovedForTheDead(@TempDir Path disk) throws Exception {
        assumeThat(Files.getFileStore(disk).type()).isNotEqualTo("tmpfs");
        String mount = "mount --bind " + Commands.quoted(disk) + " /dev/shm" + WITHOUT_WARNINGS;
        try (PeerJvm peer = in(mount)) {
            assertThat(peer.ask("create name 10 WITH_LAST_HOLDER")).isEqualTo("done");
            peer.kill();
        }
        try (PeerJvm peer = in(mount)) {
            assertThat(peer.ask("gc")).isEqualTo("[]");
            assertThat(contents(peer)).containsExactly("name");
            assertThat(peer.ask("create other 10 WITH_LAST_HOLDER")).isEqualTo("done");
            assertThat(peer.ask("close")).isEqualTo("done");
            assertThat(contents(peer)).containsExactly("name");
        }
    }

    /// A peer that has a mount namespace of its own, after some commands in there.
    private static PeerJvm in(String commands) throws IOException {
        PeerJvm peer = PeerJvm.startMounting(commands, RegistryPeer.class);
        assertThat(peer.answer()).isEqualTo("ready " + peer.pid());
        return peer;
    }

    /// The `/dev/shm` that the peer sees.
    private static Path shm(PeerJvm peer) {
        return Path.of("/proc", Long.toString(peer.pid()), "root", "dev", "shm");
    }

    private static List<String> contents(PeerJvm peer) throws IOException {
        try (Stream<Path> files = Files.list(shm(peer))) {
            return files.map(each -> each.getFileName().toString()).sorted().toList();
        }
    }
}
